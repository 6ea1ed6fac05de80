import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasRepeatedName } from '../../../src/catalog-service/import/json-items.ts'
import { readFeedText } from './read-feed-text.ts'

const check = (text: string): boolean => hasRepeatedName(text, JSON.parse(text))

describe('repeated names of JSON', () => {
  it.each([
    '{"a":1,"a":1}',
    '{ "a" : 1, "b" : { "a" : 2, "a" : 3 } }',
    '[{"a":[{"b":1,"b":2}]}]',
    String.raw`{"a\\":1,"a\\":2}`,
    '{"a":1,"\\u0061":2}',
  ])('%s - are found', (text) => {
    expect(check(text)).toBe(true)
  })

  it('JSON without them, in any layout - none is found', () => {
    const property = fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t'), (json, indent) => {
      const text = JSON.stringify(json, null, indent)
      expect(check(text)).toBe(false)
      expect(check(text.replaceAll(/"(?=:)/g, '" '))).toBe(false)
    })
    fc.assert(property)
  })

  it('deep nesting - is no problem', () => {
    const depth = 100_000
    const text = `${'['.repeat(depth)}{"a" :1}${']'.repeat(depth)}`
    expect(check(text)).toBe(false)
  })

  it.each([
    ['lines', (items: string) => items],
    ['an array', (items: string) => `[${items.trim().replaceAll('\n', ',')}]`],
  ])('%s without the piece between two items - both are rejected', async (_, toText) => {
    const items = ['9520001001024', '9520001001031', '9520001001048'].map((gtin, index) =>
      JSON.stringify({
        gtin,
        title: `Lamp ${index}`,
        link: `https://kopje.example/${index}`,
        price: `${index + 1}.00 EUR`,
      }),
    )
    const text = toText(items.join('\n') + '\n').replace(/00 EUR"\}.\{"gtin":"9520(?=001001031)/s, '')
    const { products, rejects } = await readFeedText(text)
    expect(products).toMatchObject([{ title: 'Lamp 2', offers: [{ price: '3.00' }] }])
    expect(rejects).toMatchObject([{ reason: 'repeats a name: a piece of the file may be missing' }])
  })
})
