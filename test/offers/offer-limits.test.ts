import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_OFFERS, MAX_OFFERS_BYTES, limitOffers } from '../../src/offers/offer-limits.ts'
import { parseProduct, parseProductPage } from '../../src/catalog/parse.ts'
import { findMainCurrency } from '../../src/offers/ranking.ts'
import { LONG_LINK, makeHeavyProduct } from '../helpers/heavy-products.ts'
import { makeParsedOffer, toGtin } from '../helpers/products.ts'

const OPTIONS = { ownOrigin: 'http://127.0.0.1:3000' }
const HEAVY = makeHeavyProduct(toGtin(1), 500)

/** `count` offers of different shops, the most expensive first. */
const makeOffers = (count: number, affiliateUrl: string, currency = 'EUR') =>
  Array.from({ length: count }, (_, index) => {
    const price = String(1_000 - index)
    return makeParsedOffer({ merchant: `${currency} ${index}`, currency, price, affiliateUrl })
  })

describe('size limit of a product', () => {
  test('500 offers with links of 400 characters - all stay, in their order', () => {
    const offers = makeOffers(500, `https://links.example/${'x'.repeat(378)}`)
    expect(limitOffers(offers)).toEqual({ offers, tooMany: 0, tooLarge: 0 })
  })

  test('500 offers with long links, as look-up and page - the cheapest stay, the others are counted', () => {
    const product = parseProduct(HEAVY, HEAVY.gtin, OPTIONS)
    const { length } = product.offers
    const prices = product.offers.map(({ price }) => Number(price)).toSorted((a, b) => a - b)
    expect(prices).toEqual(Array.from(prices, (_, index) => 11 + index))
    expect(length).toBeGreaterThan(50)
    expect(JSON.stringify(product).length).toBeLessThan(1.2 * MAX_OFFERS_BYTES)
    expect(product.drops).toEqual({ too_large: 500 - length })
    const page = parseProductPage({ items: [HEAVY], next_cursor: null }, OPTIONS)
    expect(page).toMatchObject({ products: [product], drops: { too_large: 500 - length } })
    expect(page.droppedGtins).toEqual({ too_large: [HEAVY.gtin] })
  })

  test('shop with many cheap offers - does not displace the other shops', () => {
    const greedy = makeOffers(400, LONG_LINK).map((offer) => ({ ...offer, merchant: 'Greedy', price: '1' }))
    const others = makeOffers(50, LONG_LINK)
    const kept = limitOffers([...greedy, ...others]).offers
    expect(kept.filter(({ merchant }) => merchant !== 'Greedy')).toEqual(others)
  })

  test('more than 500 offers - the most expensive ones are dropped', () => {
    const { offers, tooMany } = limitOffers(makeOffers(520, 'https://links.example/'))
    expect([offers.length, tooMany]).toEqual([MAX_OFFERS, 20])
    expect(Math.max(...offers.map(({ price }) => Number(price)))).toBe(980)
  })

  test('two currencies - the main one stays the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 120 }), fc.integer({ min: 5, max: 60 }), (main, lead) => {
        const others = Math.max(1, main - lead)
        const offers = [...makeOffers(others, LONG_LINK, 'AUD'), ...makeOffers(main, LONG_LINK, 'EUR')]
        expect(findMainCurrency(limitOffers(offers).offers)).toBe('EUR')
      }),
    )
  })
})
