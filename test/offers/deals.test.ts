import { describe, expect, it } from 'vitest'
import { collectDeals, toOfferKey } from '../../src/offers/deals.ts'
import type { RankableOffer } from '../../src/offers/ranking.ts'

type Priced = RankableOffer & { oldPrice: string | null }

function createOffer(over: Partial<Priced> = {}): Priced {
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

/** Return the merchants in the order of the deals; the best is marked. */
const merchants = (offers: Priced[]): string[] =>
  collectDeals(offers).map(({ offer, isBest }) => `${offer.merchant}${isBest ? '!' : ''}`)

describe('deals of a product', () => {
  it.each([
    ['no former price', null],
    ['the same price', '80.00'],
    ['a lower former price', '79'],
  ])('%s - no deal', (_name, oldPrice) => {
    expect(collectDeals([createOffer({ oldPrice })])).toEqual([])
  })

  it('a sale - with the keys that grids sort by', () => {
    const offer = createOffer()
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

  it('a more expensive offer on sale, while the merchant sells for less - is no deal', () => {
    expect(collectDeals([createOffer({ price: '70', oldPrice: null }), createOffer()])).toEqual([])
  })

  it('the same price on sale in one network and not in another - is a deal', () => {
    const onSale = createOffer({ network: 'b' })
    for (const network of ['a', 'c']) {
      const plain = createOffer({ network, price: '80.00', oldPrice: null })
      expect(collectDeals([plain, onSale]).map(({ offer }) => offer)).toEqual([onSale])
    }
  })

  it('best - the highest exact discount, then the lowest price, then merchant and network', () => {
    expect(
      merchants([
        createOffer({ merchant: 'twenty' }),
        createOffer({ merchant: 'more', price: '79.9999' }),
        createOffer({ merchant: 'less', price: '80.0001' }),
      ]),
    ).toEqual(['more!', 'twenty', 'less'])
    expect(
      merchants([
        createOffer({ merchant: 'expensive' }),
        createOffer({ merchant: 'cheap', price: '8', oldPrice: '10' }),
      ]),
    ).toEqual(['cheap!', 'expensive'])
    expect(merchants([createOffer({ merchant: 'b' }), createOffer({ merchant: 'a' })])).toEqual(['a!', 'b'])
  })

  it('best in stock - separate from the best, one of each per currency', () => {
    const offers = [
      createOffer({ merchant: 'gone', price: '10', availability: 'sold_out' }),
      createOffer({ merchant: 'here', price: '50' }),
      createOffer({ merchant: 'there', price: '60' }),
      createOffer({ merchant: 'dollar', currency: 'USD', price: '90' }),
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

  it('a discount that rounds to 0 - is still a deal', () => {
    expect(collectDeals([createOffer({ price: '99.9999' })])).toMatchObject([{ discountPercent: 0 }])
  })
})

describe('offer key', () => {
  it('network, merchant and currency - distinguish offers, price and link do not', () => {
    const key = toOfferKey(createOffer())
    expect(toOfferKey(createOffer({ price: '1', affiliateUrl: 'https://b.example/' }))).toBe(key)
    const others = [{ network: 'm' }, { merchant: 'Kop' }, { currency: 'USD' }].map((over) =>
      toOfferKey(createOffer(over)),
    )
    expect(new Set([key, ...others]).size).toBe(4)
    expect(toOfferKey({ network: 'a"', merchant: 'b', currency: 'EUR' })).not.toBe(
      toOfferKey({ network: 'a', merchant: '"b', currency: 'EUR' }),
    )
  })
})
