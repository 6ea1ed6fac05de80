import { describe, expect, it } from 'vitest'
import { collectDeals, toOfferKey } from '../../src/offers/deals.ts'
import type { Rankable } from '../../src/offers/ranking.ts'

type Priced = Rankable & { oldPrice: string | null }

function makeOffer(over: Partial<Priced> = {}): Priced {
  return {
    merchant: 'Kopje',
    network: 'n',
    price: '80',
    oldPrice: '100',
    currency: 'EUR',
    availability: 'in_stock',
    affiliateUrl: 'https://a.example/',
    ...over,
  }
}

/** Merchants in the order of the deals; the best is marked. */
const merchants = (offers: Priced[]): string[] =>
  collectDeals(offers).map(({ offer, isBest }) => `${offer.merchant}${isBest ? '!' : ''}`)

describe('deals of a product', () => {
  it.each([
    ['no former price', null],
    ['the same price', '80.00'],
    ['a lower former price', '79'],
  ])('%s - none', (_name, oldPrice) => {
    expect(collectDeals([makeOffer({ oldPrice })])).toEqual([])
  })

  it('a sale - with the keys that grids sort by', () => {
    const offer = makeOffer()
    expect(collectDeals([offer])).toEqual([
      {
        offer,
        isInStock: true,
        isBest: true,
        isBestInStock: true,
        discountPercent: 20,
        ratioKey: `08${'0'.repeat(33)}`,
        priceKey: '0000000000800000',
        savingKey: '0000000000200000',
      },
    ])
  })

  it('a dearer offer on sale of a shop that sells for less - is no deal', () => {
    expect(collectDeals([makeOffer({ price: '70', oldPrice: null }), makeOffer()])).toEqual([])
  })

  it('a sale of a shop that asks the same price without one in another network - is a deal, whichever network it is', () => {
    const onSale = makeOffer({ network: 'b' })
    for (const network of ['a', 'c']) {
      const plain = makeOffer({ network, price: '80.00', oldPrice: null })
      expect(collectDeals([plain, onSale]).map(({ offer }) => offer)).toEqual([onSale])
    }
  })

  it('best - the highest exact discount, then the lowest price, then merchant and network', () => {
    expect(
      merchants([
        makeOffer({ merchant: 'twenty' }),
        makeOffer({ merchant: 'more', price: '79.9999' }),
        makeOffer({ merchant: 'less', price: '80.0001' }),
      ]),
    ).toEqual(['more!', 'twenty', 'less'])
    expect(
      merchants([
        makeOffer({ merchant: 'dear' }),
        makeOffer({ merchant: 'cheap', price: '8', oldPrice: '10' }),
      ]),
    ).toEqual(['cheap!', 'dear'])
    expect(merchants([makeOffer({ merchant: 'b' }), makeOffer({ merchant: 'a' })])).toEqual(['a!', 'b'])
  })

  it('best in stock - apart from the best, one of each a currency', () => {
    const offers = [
      makeOffer({ merchant: 'gone', price: '10', availability: 'sold_out' }),
      makeOffer({ merchant: 'here', price: '50' }),
      makeOffer({ merchant: 'there', price: '60' }),
      makeOffer({ merchant: 'dollar', currency: 'USD', price: '90' }),
    ]
    const marks = collectDeals(offers).map(({ offer, isBest, isBestInStock }) => [
      offer.merchant,
      isBest,
      isBestInStock,
    ])
    expect(marks).toEqual([
      ['gone', true, false],
      ['here', false, true],
      ['there', false, false],
      ['dollar', true, true],
    ])
  })

  it('a discount that rounds to nothing - is still a deal', () => {
    expect(collectDeals([makeOffer({ price: '99.9999' })])).toMatchObject([{ discountPercent: 0 }])
  })
})

describe('offer key', () => {
  it('network, merchant and currency - tell offers apart, price and link do not', () => {
    const key = toOfferKey(makeOffer())
    expect(toOfferKey(makeOffer({ price: '1', affiliateUrl: 'https://b.example/' }))).toBe(key)
    const others = [{ network: 'm' }, { merchant: 'Kop' }, { currency: 'USD' }].map((over) =>
      toOfferKey(makeOffer(over)),
    )
    expect(new Set([key, ...others]).size).toBe(4)
    expect(toOfferKey({ network: 'a"', merchant: 'b', currency: 'EUR' })).not.toBe(
      toOfferKey({ network: 'a', merchant: '"b', currency: 'EUR' }),
    )
  })
})
