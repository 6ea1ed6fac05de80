import { describe, expect, test } from 'vitest'
import { findMessages } from '../../src/widgets/locales/index.ts'

describe('findMessages', () => {
  test.each([
    ['en', 'en'],
    ['en-GB', 'en'],
    ['de', 'de'],
    ['DE-at', 'de'],
    ['de-Latn-CH', 'de'],
    ['xx', 'en'],
    ['', 'en'],
    ['__proto__', 'en'],
  ])('%s – the words of %s', (tag, lang) => {
    const found = findMessages(tag)
    expect(found.lang).toBe(lang)
    expect(found.dir).toBe('ltr')
    expect(found.messages).toBe(findMessages(lang).messages)
  })

  test.each([
    ['en', 1, '1 more shop'],
    ['en', 12, '12 more shops'],
    ['de', 1, '1 weiterer Shop'],
    ['de', 12, '12 weitere Shops'],
  ])('%s, %i folded offers – %s', (tag, count, words) => {
    expect(findMessages(tag).messages.countMoreShops({ count, shown: String(count) })).toBe(words)
  })

  test.each(['en', 'de'])('%s – every message says something, names stay as they are', (tag) => {
    const { messages } = findMessages(tag)
    const texts = [
      messages.nameBox('A & B'),
      messages.nameLinkWithPrice({ merchant: 'A & B', price: '€1' }),
      messages.nameLinkWithoutPrice('A & B'),
      messages.placeAt('A & B'),
    ]
    for (const text of texts) expect(text).toContain('A & B')
    const collect = (value: unknown): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value).flatMap(collect) : [value]
    const fixed = collect(messages).filter((value) => typeof value === 'string')
    expect(fixed.length).toBeGreaterThan(25)
    for (const text of fixed) expect(text).not.toMatch(/undefined|^\s+$/)
  })

  test('German disclosure – says Anzeige', () => {
    expect(findMessages('de').messages.disclosure).toMatch(/^Anzeige/)
  })
})
