type Rgb = readonly [red: number, green: number, blue: number]

/** Minimum contrast of WCAG 2.2 AA for normal text. */
const TEXT_CONTRAST_RATIO = 4.5

/** Backgrounds of the themes in public/styles/vitrine.css, on which accents must be readable. */
const LIGHT_SURFACE: Rgb = [0xfa, 0xf8, 0xf4]
const DARK_SURFACE: Rgb = [0x1b, 0x1a, 0x18]
const WHITE: Rgb = [255, 255, 255]
const BLACK: Rgb = [0, 0, 0]

/** Steps from the accent to black or white. */
const MIX_STEPS = 50

/**
 * Render `/accents/{hex}.css`: the accent, black or white text on it, and a text colour for each theme, moved towards black
 * or white until its contrast is 4.5:1. The rules apply only to widgets with that accent.
 *
 * @param hex six hexadecimal digits without `#`, in any case, validated by the caller
 */
export function renderAccentCss(hex: string): string {
  const light = toAccentColours(hex, 'light')
  const dark = toAccentColours(hex, 'dark')
  return [
    `.vitrine[data-accent="${hex.toLowerCase()}"]{`,
    `--vitrine-accent:${light.accent};`,
    `--vitrine-accent-dark:${dark.accent};`,
    `--vitrine-on-accent:${light.onAccent};`,
    `--vitrine-on-accent-dark:${dark.onAccent};`,
    `--vitrine-accent-text:${light.accentText};`,
    `--vitrine-accent-text-dark:${dark.accentText}`,
    '}\n',
  ].join('')
}

/** An accent, text on it, and text in it, such as `#0f5257`. */
export type AccentColours = Readonly<{ accent: string; onAccent: string; accentText: string }>

/** Compute the colours of an accent in a theme. `hex`: as above. */
export function toAccentColours(hex: string, theme: 'light' | 'dark'): AccentColours {
  const accent = toRgb(hex)
  const onAccent = computeContrastRatio(accent, WHITE) >= computeContrastRatio(accent, BLACK) ? WHITE : BLACK
  const text =
    theme === 'light' ? toReadable(accent, LIGHT_SURFACE, BLACK) : toReadable(accent, DARK_SURFACE, WHITE)
  return { accent: toHex(accent), onAccent: toHex(onAccent), accentText: toHex(text) }
}

function toReadable(colour: Rgb, surface: Rgb, target: Rgb): Rgb {
  for (let step = 0; step < MIX_STEPS; step += 1) {
    const mixed = mixColours(colour, target, step / MIX_STEPS)
    if (computeContrastRatio(mixed, surface) >= TEXT_CONTRAST_RATIO) return mixed
  }
  return target
}

function mixColours(from: Rgb, to: Rgb, fraction: number): Rgb {
  const channel = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * fraction)
  return [channel(0), channel(1), channel(2)]
}

/** Compute the contrast ratio of WCAG 2.2, 1 to 21. */
function computeContrastRatio(one: Rgb, other: Rgb): number {
  const [darker = 0, lighter = 0] = [computeLuminance(one), computeLuminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function computeLuminance([red, green, blue]: Rgb): number {
  return 0.2126 * toLinear(red) + 0.7152 * toLinear(green) + 0.0722 * toLinear(blue)
}

function toLinear(channel: number): number {
  const fraction = channel / 255
  return fraction <= 0.04045 ? fraction / 12.92 : ((fraction + 0.055) / 1.055) ** 2.4
}

function toRgb(hex: string): Rgb {
  const channel = (start: number): number => Number.parseInt(hex.slice(start, start + 2), 16)
  return [channel(0), channel(2), channel(4)]
}

function toHex(colour: Rgb): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}
