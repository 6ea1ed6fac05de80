import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanText, foldCase, foldCaseAndAccents } from '../../src/offers/text.ts'
import { toRunCount } from '../helpers/property-runs.ts'
import { anyText } from '../helpers/any-text.ts'

const code = (...codes: number[]): string => String.fromCodePoint(...codes)

describe('clean text', () => {
  it.each([
    ['plain', 'Lumen Arc', 'Lumen Arc'],
    ['white space', '  a\t\n\r b\u00a0\u3000c  ', 'a b c'],
    ['NUL and controls', 'a\u0000b\u0007c\u001bd\u007fe\u0085f\u009fg', 'a b c d e f g'],
    ['line separators', 'a\u2028b\u2029c', 'a b c'],
    ['bidi overrides', 'gpj\u202eexe.\u202c', 'gpjexe.'],
    ['bidi embeddings and isolates', 'a\u202a\u202b\u202db\u2066\u2067\u2068c\u2069', 'abc'],
    ['zero width within a word', 'Kop\u200bje\u2060\ufeff', 'Kopje'],
    ['replacement and object characters', 'a\ufffdb\ufffcc', 'a b c'],
    ['noncharacters', 'a\ufffeb\uffffc\ufdd0d\ufdefe\u{1fffe}f\u{10ffff}g', 'a b c d e f g'],
    ['letters beside noncharacters', '\ufdcf\ufdf0\u{1fffd}\u{20000}', '\ufdcf\ufdf0\u{1fffd}\u{20000}'],
    ['lone high surrogate', 'a\ud83db', 'a b'],
    ['lone low surrogate', 'a\ude00b', 'a b'],
    ['nothing visible', '\u200b\u202e\u2066\ufeff \u0000', ''],
    ['empty', '', ''],
    ['markup', '<b>&amp;</b>', '<b>&amp;</b>'],
  ])('%s', (_name, text, expected) => {
    expect(cleanText(text, 100)).toBe(expected)
  })

  it.each([
    ['family joined by ZWJ', '👨‍👩‍👧‍👦'],
    ['flag', '🇦🇹'],
    ['skin tone', '👍🏽'],
    ['keycap', '1️⃣'],
    ['rainbow flag', '🏳️‍🌈'],
    ['Persian with a non-joiner', 'می‌خواهم'],
    ['Arabic', 'مصباح مكتبي'],
    ['Hindi conjunct', 'क्षत्रिय'],
    ['Vietnamese, decomposed', 'Tie\u0302\u0301ng'],
    ['Thai', 'โคมไฟตั้งโต๊ะ'],
  ])('%s - is unchanged', (_name, text) => {
    expect(cleanText(text, 100)).toBe(text)
  })

  it('zalgo - at most three marks on a letter', () => {
    const zalgo = `H${'\u0315\u031b\u0340'.repeat(40)}i${'\u0489'.repeat(9)}`
    expect(cleanText(zalgo, 100)).toMatch(/^H\p{M}{3}i\p{M}{3}$/u)
  })

  it('longer than allowed - cut, with an ellipsis, within the limit', () => {
    expect(cleanText('abcdef', 5)).toBe('abcd…')
    expect(cleanText('abcde', 5)).toBe('abcde')
    expect(cleanText('abc def', 5)).toBe('abc…')
    expect(cleanText('x'.repeat(1_000_000), 300)).toHaveLength(300)
  })

  it('cut at an emoji - never half of it', () => {
    expect(cleanText('abc😀def', 5)).toBe('abc…')
    expect(cleanText('abc😀def', 6)).toBe('abc😀…')
    expect(cleanText('😀'.repeat(500), 10).isWellFormed()).toBe(true)
  })

  it('any text - well-formed, within the limit, no control, and cleaning again changes nothing', () => {
    const broken = fc.array(
      fc.constantFrom('\ud83d', '\ude00', '\u202e', '\u0301', ' ', 'a', '\u200d', '\u0000'),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          anyText({ maxLength: 60 }),
          broken.map((parts) => parts.join('')),
        ),
        fc.integer({ min: 2, max: 40 }),
        (text, max) => {
          const clean = cleanText(text, max)
          expect(clean.isWellFormed()).toBe(true)
          expect(clean.length).toBeLessThanOrEqual(max)
          // oxlint-disable-next-line no-control-regex -- asserts their absence
          expect(clean).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|^\s|\s$|\s\s/)
          expect(clean).not.toMatch(/\p{Noncharacter_Code_Point}/u)
          expect(cleanText(clean, max)).toBe(clean)
        },
      ),
      { numRuns: toRunCount(2_000) },
    )
  })

  it('a megabyte of repeated text - takes no longer than other text', () => {
    for (const piece of [' ', '\u0301', '\u202e', 'a\u0301', '\ud83d']) {
      // With a backtracking pattern, repeated text would take minutes.
      const startedAtMs = performance.now()
      cleanText(piece.repeat(1_000_000), 300)
      foldCaseAndAccents(piece.repeat(2_000))
      expect(performance.now() - startedAtMs).toBeLessThan(60_000)
    }
  })
})

describe('folding', () => {
  it.each([
    ['Crème Brûlée', 'creme brulee'],
    ['STRASSE', 'strasse'],
    ['Straße', 'strasse'],
    ['  Two \n words ', 'two words'],
    ['ﬁne', 'fine'],
    ['①', '1'],
    ['Ｗｉｄｅ', 'wide'],
    ['', ''],
  ])('text %s - %s', (text, expected) => {
    expect(foldCaseAndAccents(text)).toBe(expected)
  })

  it.each([
    ['Shop.Example', 'shop.example'],
    ['Cre\u0300me', 'cr\u00e8me'],
    [' A  B ', 'a b'],
  ])('case %s - %s', (text, expected) => {
    expect(foldCase(text)).toBe(expected)
  })

  it('case - folded again - changes nothing', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('J\u030c', '\u0130', 'ẞ')),
        (text) => {
          expect(foldCase(foldCase(text))).toBe(foldCase(text))
        },
      ),
    )
  })

  it('case - accents are preserved', () => {
    expect(foldCase('Crème')).not.toBe(foldCase('Creme'))
    expect(foldCaseAndAccents('Crème')).toBe(foldCaseAndAccents(`Cre${code(0x300)}me`))
  })
})

describe('fast path', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '9', ' ', '  ', 'ß', 'É', 'ſ', '\u0301', '\u00a0', '&', '\t'),
    maxLength: 12,
  })

  it('any text - has the same result as the slow path', () => {
    fc.assert(
      fc.property(text, (any) => {
        // The added characters avoid the fast path and are removed.
        expect(cleanText(any, 100)).toBe(cleanText(`${any}\u200b`, 100))
        expect(foldCaseAndAccents(any)).toBe(foldCaseAndAccents(`${any}\u3000`))
        expect(foldCase(any)).toBe(foldCase(`${any}\u3000`))
      }),
    )
  })
})
