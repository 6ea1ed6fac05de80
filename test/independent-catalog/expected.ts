import { expect } from 'vitest'
import type { Freedoms } from './catalog.ts'
import type { Observation, Setup, Shown } from './observe.ts'

/** `expected`: what differs from a catalog that keeps the interface. */
export type Case = readonly [
  name: string,
  freedoms: Partial<Freedoms>,
  expected?: Partial<Observation>,
  setup?: Setup,
]

const ZWART = 'Zwart €45.00 https://links.example/c?shop=Zwart'
const KOPJE = 'Kopje €49.90 was €99.80 −50% https://links.example/c?shop=Kopje'
const MAISON = 'Maison €39.90 https://links.example/c?shop=Maison'
const LAMP = 'Lumen Arc desk lamp €49.90 was €99.80 −50% https://links.example/c?shop=Kopje'
const KETTLE_2 = 'Kettle 2 €20.00 was €60.00 −67% https://links.example/c?shop=Kopje'
const KETTLE_5 = 'Kettle 5 €50.00 was €60.00 −17% https://links.example/c?shop=Kopje'

const HEAD = 'Lumen Arc desk lamp, https://pictures.example/1.jpg'

const show = (rows: readonly string[], calls = '', head = HEAD): Shown => ({
  state: 'shown',
  head,
  rows,
  calls,
})
const BOX = [ZWART, KOPJE, MAISON]

const COPY = show(
  ['Kopje €30.00 https://links.example/c?shop=Kopje'],
  '',
  'Kettle 3, https://pictures.example/3.jpg',
)

/** What every catalog that keeps the interface gives: nothing is missing, and nothing is asked twice. */
export const GOOD: Observation = {
  cold: show(BOX, 'channels look-up'),
  warm: show(BOX),
  walk: { outcome: 'complete', calls: 'channels page' },
  grid: show([KETTLE_2, LAMP, KETTLE_5], '', ''),
  copy: COPY,
  check: { wrong: [], calls: 'channels' },
  explain: { says: 'A box is shown: 3 offers.', calls: 'look-up' },
  complaints: [],
}

export const UNAVAILABLE: Shown = { state: 'unavailable', head: '', rows: [], calls: '' }

const HIDDEN: Shown = { ...UNAVAILABLE, state: expect.stringMatching(/^hidden: /) }

/** A walk of several pages. */
export const expectPages = (count: number): Partial<Observation> => ({
  walk: { outcome: 'complete', calls: `channels page x${count}` },
})

/** Look-ups work and walks fail: boxes are shown, grids are not. `reason`: in the log and in `check`. */
export function expectFailedWalk(reason: string, calls: string): Partial<Observation> {
  return {
    walk: { outcome: `failed, ${reason}`, calls },
    grid: UNAVAILABLE,
    copy: { ...COPY, calls: 'look-up' },
    check: { wrong: [toProblem(reason)], calls: 'channels' },
  }
}

/** Walks work and look-ups fail: the box is unavailable until it is in the stored copy. */
export const FAILED_LOOK_UP: Partial<Observation> = {
  cold: { ...UNAVAILABLE, calls: 'channels look-up' },
  warm: UNAVAILABLE,
}

/** The catalog answers look-ups with 404: the box is hidden until a walk finds the product. */
export const NOT_FOUND: Partial<Observation> = {
  cold: { ...HIDDEN, calls: 'channels look-up' },
  warm: HIDDEN,
}

/** A problem of `check`. An answer of the catalog must not be taken for another server, unless it is none of a catalog at all. */
const toProblem = (reason: string): string =>
  expect.stringMatching(`^(?!.*is not a product catalog).*${reason}`)

/** No call gives anything usable. `reason`: in `check`; `calls`: of the walk. The command `explain` tries the list of channels twice. */
export function expectNothing(
  reason: string,
  calls: string,
  explainCalls = 'channels x2',
): Partial<Observation> {
  return {
    cold: { ...UNAVAILABLE, calls: 'channels' },
    warm: UNAVAILABLE,
    walk: { outcome: 'none', calls },
    grid: UNAVAILABLE,
    copy: UNAVAILABLE,
    check: { wrong: [expect.stringMatching(reason)], calls: 'channels' },
    explain: {
      says: expect.stringMatching(/^Nothing is shown\. .* has not sent its list of channels yet\. -> ./),
      calls: explainCalls,
    },
  }
}
