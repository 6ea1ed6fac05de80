import { assert, integer, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderAccentCss } from '../../src/widgets/accent.ts'
import { getContrastRatio } from '../helpers/contrast.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const LIGHT_SURFACE = '#faf8f4'
const DARK_SURFACE = '#1b1a18'

function readColour(css: string, name: string): string {
  return new RegExp(`${name}:(#[0-9a-f]{6})[;}]`).exec(css)?.[1] ?? ''
}

describe('renderAccentCss', () => {
  test('orange - the accent is unchanged, with black text on it and separate text variants', () => {
    const css = renderAccentCss('FF6600')
    expect(css).toMatch(/^\.vitrine\[data-accent="ff6600"\]\{/)
    expect(readColour(css, '--vitrine-accent')).toBe('#ff6600')
    expect(readColour(css, '--vitrine-on-accent')).toBe('#000000')
    expect(readColour(css, '--vitrine-accent-text')).not.toBe('#ff6600')
    expect(readColour(css, '--vitrine-accent-text-dark')).toBe('#ff6600')
  })

  test('any colour - text on the accent is readable, and text in the accent on both backgrounds', () => {
    const isReadable = property(integer({ min: 0, max: 0xffffff }), (colour) => {
      const hex = colour.toString(16).padStart(6, '0')
      const css = renderAccentCss(hex)
      const pairs = [
        [readColour(css, '--vitrine-on-accent'), `#${hex}`],
        [readColour(css, '--vitrine-accent-text'), LIGHT_SURFACE],
        [readColour(css, '--vitrine-accent-text-dark'), DARK_SURFACE],
      ] as const
      return pairs.every(([one, other]) => getContrastRatio(one, other) >= 4.5)
    })
    expect(() => assert(isReadable, { numRuns: toRunCount(300) })).not.toThrow()
  })
})
