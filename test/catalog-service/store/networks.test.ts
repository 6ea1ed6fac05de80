import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAffiliateLink } from '../../../src/catalog-service/store/networks.ts'

const PARTS = {
  template: 'https://track.example/c?to={url}&shop={merchant}&site={publisher}',
  merchantUrl: 'https://shop.example/p?a=1&b=2',
  merchant: 'Shop & Sons',
  publisher: 'pub-1',
}

describe('affiliate link', () => {
  test('template with all three placeholders - filled in, percent-encoded', () => {
    expect(createAffiliateLink(PARTS)).toBe(
      'https://track.example/c?to=https%3A%2F%2Fshop.example%2Fp%3Fa%3D1%26b%3D2&shop=Shop%20%26%20Sons&site=pub-1',
    )
  })

  test.each([
    ['https://track.example/{publisher}/{publisher}', 'https://track.example/pub-1/pub-1'],
    ['https://track.example/fixed', 'https://track.example/fixed'],
    ['{url}', 'https%3A%2F%2Fshop.example%2Fp%3Fa%3D1%26b%3D2'],
    ['https://track.example/{{publisher}}', 'https://track.example/{pub-1}'],
    ['https://track.example/?ref={sub}&to={publisher}', 'https://track.example/?ref=&to=pub-1'],
  ])('template %s - %s', (template, expected) => {
    expect(createAffiliateLink({ ...PARTS, template })).toBe(expected)
  })

  test.each(['{URL}', '{ url }', '{}', '{price}', '{toString}', '{url', 'url}', '%7Burl%7D', '$&', '$1'])(
    'template with %s - not a placeholder - stays unchanged',
    (text) => {
      const template = `https://track.example/${text}`
      expect(createAffiliateLink({ ...PARTS, template })).toBe(template)
    },
  )

  test('value that looks like a placeholder or a replacement pattern - is plain text', () => {
    const parts = { ...PARTS, merchant: '{publisher}', publisher: "$& $1 $' {url}" }
    expect(createAffiliateLink({ ...parts, template: '{merchant}/{publisher}' })).toBe(
      "%7Bpublisher%7D/%24%26%20%241%20%24'%20%7Burl%7D",
    )
  })

  test('lone surrogate - becomes the replacement character, no exception', () => {
    expect(createAffiliateLink({ ...PARTS, template: '{merchant}', merchant: 'a\ud83d' })).toBe('a%EF%BF%BD')
  })

  test('any values - the query of the link has exactly these values', () => {
    const text = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(text, text, text, (merchantUrl, merchant, publisher) => {
        const link = createAffiliateLink({ template: PARTS.template, merchantUrl, merchant, publisher })
        const { origin, pathname, searchParams, hash } = new URL(link)
        expect([origin, pathname, hash]).toEqual(['https://track.example', '/c', ''])
        expect([...searchParams]).toEqual([
          ['to', merchantUrl],
          ['shop', merchant],
          ['site', publisher],
        ])
      }),
    )
  })
})
