/** Colours of one variant: a calm ground and three tones of one hue, with ink for small dark parts. */
export type Tone = Readonly<{
  background: string
  /** The large disc behind the product. */
  disc: string
  /** What the product throws on the ground. */
  shadow: string
  main: string
  dark: string
  light: string
  ink: string
  /** Paper, enamel, soles: an off-white that goes with the hue. */
  pale: string
}>

/** The variants of every picture, by the number in its name, from 1: clay, sage, slate, sand, plum, graphite. */
export const TONES: readonly Tone[] = [
  {
    background: '#f6ebe3',
    disc: '#fbf5f0',
    shadow: '#e3cfc2',
    main: '#c9704f',
    dark: '#a25237',
    light: '#e5a88c',
    ink: '#3b2f2b',
    pale: '#fffaf5',
  },
  {
    background: '#e8eee3',
    disc: '#f4f8f1',
    shadow: '#cfdac7',
    main: '#74946d',
    dark: '#53734f',
    light: '#aec6a5',
    ink: '#2c352b',
    pale: '#fbfdf8',
  },
  {
    background: '#e5ebf2',
    disc: '#f3f6fa',
    shadow: '#cad5e2',
    main: '#56749b',
    dark: '#3b5577',
    light: '#9fb6d3',
    ink: '#262e3a',
    pale: '#fafcff',
  },
  {
    background: '#f5efdf',
    disc: '#fbf8ee',
    shadow: '#e3d8bd',
    main: '#d6b06a',
    dark: '#ae8743',
    light: '#ecd6a6',
    ink: '#3d3527',
    pale: '#fffdf6',
  },
  {
    background: '#f0e7ee',
    disc: '#f9f4f8',
    shadow: '#dccddb',
    main: '#8a5d85',
    dark: '#65405f',
    light: '#c2a0be',
    ink: '#33272f',
    pale: '#fefaff',
  },
  {
    background: '#e9e9e7',
    disc: '#f5f5f3',
    shadow: '#d0d0cd',
    main: '#4b4f57',
    dark: '#32353b',
    light: '#8d939c',
    ink: '#1f2125',
    pale: '#fdfdfb',
  },
]
