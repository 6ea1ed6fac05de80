import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type RankableOffer,
  compareForBox,
  compareTexts,
  createBoxOrder,
  findMainCurrency,
  isInStock,
  pickOnePerMerchant,
} from '../../src/offers/ranking.ts'
import type { OfferTimes } from '../../src/offers/price-age.ts'
import { closePrice, toExactSteps } from './price-arbitraries.ts'

function createOffer(over: Partial<RankableOffer> = {}): RankableOffer {
  return {
    merchant: 'Kopje',
    network: 'n',
    price: '10',
    oldPrice: null,
    currency: 'EUR',
    availability: 'in_stock',
    affiliateUrl: 'https://a.example/',
    ...over,
  }
}

type TimedOffer = RankableOffer & OfferTimes

const anyOffer: fc.Arbitrary<RankableOffer> = fc.record({
  merchant: fc.constantFrom('Kopje', 'KOPJE', 'Arc', 'Zoë', 'zoë'),
  network: fc.constantFrom('a', 'b'),
  price: closePrice,
  oldPrice: fc.option(closePrice),
  currency: fc.constantFrom('EUR', 'USD'),
  availability: fc.constantFrom('in_stock', 'out_of_stock', '', 'IN_STOCK'),
  affiliateUrl: fc.constantFrom('https://a.example/', 'https://b.example/'),
})
const anyOffers = fc.array(anyOffer, { maxLength: 20 })

const isOrdered = (
  offers: readonly RankableOffer[],
  compare: (a: RankableOffer, b: RankableOffer) => number,
): boolean =>
  offers.every((offer, index) => {
    const next = offers[index + 1]
    return next === undefined || compare(offer, next) <= 0
  })

describe('in stock', () => {
  it.each([
    ['in_stock', true],
    ['IN_STOCK', false],
    ['in stock', false],
    ['out_of_stock', false],
    ['', false],
  ])('availability "%s" - %s', (availability, expected) => {
    expect(isInStock({ availability })).toBe(expected)
  })
})

const withTimes = (over: Partial<RankableOffer>, checkedAtMs: number | null): TimedOffer => ({
  ...createOffer(over),
  checkedAtMs,
  saleEndsAtMs: null,
})

describe('order of a box', () => {
  it('in stock, price, merchant, network, link, currency - in this order of weight', () => {
    const ranked = [
      createOffer({ price: '10', merchant: 'arc' }),
      createOffer({ price: '10.0', merchant: 'Kopje', network: 'a' }),
      createOffer({ price: '10.00', merchant: 'kopje', network: 'b', affiliateUrl: 'https://a.example/' }),
      createOffer({ price: '10.00', merchant: 'kopje', network: 'b', affiliateUrl: 'https://b.example/' }),
      createOffer({ price: '10.0001', merchant: 'Aaa' }),
      createOffer({ price: '100', merchant: 'Aaa' }),
      createOffer({ price: '0.01', merchant: 'Aaa', availability: 'preorder' }),
      createOffer({ price: '0.01', merchant: 'Aaa', availability: 'preorder', currency: 'USD' }),
    ]
    expect(ranked.toReversed().sort(compareForBox)).toEqual(ranked)
  })

  it('offers without a shown price - after those with one and the same stock, in their order', () => {
    const ranked = [
      withTimes({ price: '10' }, 3),
      withTimes({ price: '10' }, 2),
      withTimes({ price: '12' }, 1),
      withTimes({ price: '9' }, null),
      withTimes({ price: '11' }, null),
      withTimes({ price: '2', availability: 'sold_out' }, 1),
      withTimes({ price: '1', availability: 'sold_out' }, null),
    ]
    const order = createBoxOrder<TimedOffer>(({ checkedAtMs }) => checkedAtMs !== null)
    expect(ranked.toReversed().sort(order)).toEqual(ranked)
    expect(pickOnePerMerchant(ranked.toReversed(), order)).toEqual(ranked.slice(0, 1))
  })

  it('any offers in any order - in stock before the rest, each by ascending price', () => {
    fc.assert(
      fc.property(anyOffers, (offers) => {
        const sorted = offers.toSorted(compareForBox)
        expect(isOrdered(sorted, (a, b) => Number(isInStock(b)) - Number(isInStock(a)))).toBe(true)
        for (const stock of [true, false]) {
          const part = sorted.filter((offer) => isInStock(offer) === stock)
          expect(isOrdered(part, (a, b) => (toExactSteps(a.price) <= toExactSteps(b.price) ? 0 : 1))).toBe(
            true,
          )
        }
        const second = offers.toReversed().sort(compareForBox)
        expect(second).toEqual(sorted)
      }),
    )
  })
})

/** Return the picked offers in a canonical order. */
function describePicked(offers: readonly RankableOffer[]): string[] {
  return pickOnePerMerchant(offers)
    .map((offer) => JSON.stringify(offer))
    .sort()
}

const keyOf = (offer: RankableOffer): string => `${offer.currency} ${offer.merchant.toLowerCase()}`

describe('one offer per merchant and currency', () => {
  it('any offers in another order - the same ones are picked', () => {
    const orders = anyOffers.chain((offers) =>
      fc.tuple(fc.constant(offers), fc.shuffledSubarray(offers, { minLength: offers.length })),
    )
    fc.assert(
      fc.property(orders, ([offers, shuffled]) => {
        expect(describePicked(shuffled)).toEqual(describePicked(offers))
      }),
    )
  })

  it.each([
    ['a former price', { price: '1.50', oldPrice: '2' }, { price: '1.5' }],
    ['an old price that is no sale', { price: '1.50' }, { price: '1.5', oldPrice: '1.5' }],
    ['a sale and their networks', { network: 'z', oldPrice: '11' }, { network: 'a' }],
    [
      'a sale and their links',
      { affiliateUrl: 'https://b.example/', oldPrice: '11' },
      { affiliateUrl: 'https://a.example/', oldPrice: '9' },
    ],
    [
      'a sale, both not in stock',
      { network: 'z', oldPrice: '11', availability: 'sold_out' },
      { availability: 'gone' },
    ],
    ['a higher former price', { oldPrice: '13' }, { oldPrice: '100' }],
    ['the wording of its price', { price: '1.5' }, { price: '1.50' }],
    ['the wording of its former price', { oldPrice: '12' }, { oldPrice: '12.0' }],
    ['the case of its merchant', { merchant: 'KOPJE' }, { merchant: 'Kopje' }],
    ['the reason for not being in stock', { availability: 'gone' }, { availability: 'sold_out' }],
  ])(
    'two that differ in %s - the first by rule, in any order: on sale, then the smaller claimed discount',
    (_what, first, second) => {
      const [selected, other] = [createOffer(first), createOffer(second)]
      expect(pickOnePerMerchant([selected, other])).toEqual([selected])
      expect(pickOnePerMerchant([other, selected])).toEqual([selected])
    },
  )

  it('only the more expensive offer is in stock - is picked', () => {
    const inStock = createOffer({ price: '20' })
    expect(pickOnePerMerchant([createOffer({ availability: 'sold_out' }), inStock])).toEqual([inStock])
  })

  it('on sale but more expensive, or not in stock - the cheapest in stock is picked', () => {
    const plain = createOffer({ network: 'z' })
    const onSale = [
      createOffer({ price: '10.01', oldPrice: '20' }),
      createOffer({ availability: 'x', oldPrice: '20' }),
    ]
    expect(pickOnePerMerchant([...onSale, plain])).toEqual([plain])
  })

  it('none in stock - the cheapest', () => {
    const cheap = createOffer({ price: '9.99', availability: 'x' })
    expect(pickOnePerMerchant([createOffer({ availability: 'y' }), cheap])).toEqual([cheap])
  })

  it('currencies - one each; merchants are equal without case, not without accents', () => {
    const offers = [
      createOffer({ currency: 'USD', price: '1' }),
      createOffer({ merchant: 'KOPJE' }),
      createOffer({ merchant: 'kopje', price: '5' }),
      createOffer({ merchant: 'Köpje' }),
      createOffer({ merchant: 'Ko\u0308pje', price: '6' }),
    ]
    expect(
      pickOnePerMerchant(offers)
        .map(({ currency, price }) => `${currency} ${price}`)
        .toSorted(),
    ).toEqual(['EUR 5', 'EUR 6', 'USD 1'])
  })

  it('any offers - each merchant and currency once, with its best offer', () => {
    fc.assert(
      fc.property(anyOffers, (offers) => {
        const picked = pickOnePerMerchant(offers)
        expect(new Set(picked.map(keyOf))).toEqual(new Set(offers.map(keyOf)))
        expect(picked).toHaveLength(new Set(offers.map(keyOf)).size)
        for (const offer of offers) {
          const selected = picked.find((other) => keyOf(other) === keyOf(offer)) ?? offer
          expect(compareForBox(selected, offer)).toBeLessThanOrEqual(0)
        }
      }),
    )
  })
})

describe('main currency', () => {
  it.each([
    [[], undefined],
    [['EUR'], 'EUR'],
    [['USD', 'EUR', 'USD'], 'USD'],
    [['USD', 'EUR'], 'EUR'],
    [['USD', 'SEK', 'EUR', 'USD', 'EUR', 'SEK'], 'EUR'],
  ])('%j - %s', (currencies, expected) => {
    expect(findMainCurrency(currencies.map((currency) => ({ currency })))).toBe(expected)
  })
})

describe('texts', () => {
  it('compared by code units, the same everywhere', () => {
    expect(['b', 'a', 'Z', 'ä', '10', '9'].sort(compareTexts)).toEqual(['10', '9', 'Z', 'a', 'b', 'ä'])
    expect(compareTexts('a', 'a')).toBe(0)
  })
})
