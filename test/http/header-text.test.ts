import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { toHeaderText } from '../../src/http/response.ts'
import { anyText } from '../helpers/any-text.ts'

test('names with accents, other scripts and typographic signs - become plain letters', () => {
  expect(toHeaderText('Its shops: Ärger & Söhne, Žižkov, 北京.')).toBe(
    'Its shops: Arger & Sohne, Zizkov, ??.',
  )
  expect(toHeaderText('a shop’s name')).toBe("a shop's name")
})

test('any text - becomes printable ASCII of limited length', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 2_000 }), (text) => {
      expect(toHeaderText(text)).toMatch(/^[ -~]{0,500}$/)
    }),
  )
  // Truncated to a byte, the first letter is a line feed.
  expect(toHeaderText('\u010a\u010d\r\nX: y')).toBe('Cc??X: y')
})
