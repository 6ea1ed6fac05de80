import { describe, expect, test } from 'vitest'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { explainHiddenBox, explainHiddenGrid } from '../../src/widgets/hidden-reasons.ts'
import { classifyOffers } from '../../src/widgets/offer-selection.ts'
import { parseBoxOptions, parseGridOptions } from '../../src/widgets/options.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

const GTIN = toGtin(1)
const shops = createShopBook([
  { merchant: 'Zeta DE', aliases: ['zeta'], shop: { name: 'Zeta & Co', logoPath: null, terms: null } },
])
const soldOut = (merchant: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, availability: 'sold_out', ...over })

function explain(
  product: Partial<Product> | null,
  query = '',
  { gtin = GTIN, currency = null }: Readonly<{ gtin?: string; currency?: string | null }> = {},
): string {
  const defaults = { locale: 'en', currency }
  const options = parseBoxOptions(new URLSearchParams(query), defaults, 'fragment')
  return explainHiddenBox(gtin, product === null ? null : makeProduct(product), { options, defaults, shops })
}

describe('reason of a hidden sentence', () => {
  const A = makeParsedOffer({ merchant: 'A' })
  const B = makeParsedOffer({ merchant: 'B', currency: 'GBP' })
  const NOT_INLINE =
    'The layout inline shows one price, and no offer that the options allow is in stock with a current price.'

  test.each([
    [
      'merchant=A&currency=GBP',
      [A, B],
      /^The option merchant=a and the option currency=GBP together hide all 2/,
    ],
    ['merchant=C', [A, B], /^The option merchant=c hides all 2 offers/],
    ['merchant=A', [soldOut('A'), B], NOT_INLINE],
    ['', [soldOut('A'), soldOut('B')], NOT_INLINE],
    ['stock=in', [soldOut('A'), soldOut('B')], /^The option stock=in hides all 2 offers/],
    // In stock, but its price is too old.
    ['merchant=A', [A, soldOut('B')], NOT_INLINE],
  ])('"%s" - names the options only if they hide all offers', (query, offers, reason) => {
    expect(explain({ offers }, `layout=inline&${query}`)).toMatch(reason)
  })
})

test.each([
  ['merchant=Zeta+%26+Co', 'The option merchant=zeta & co and the option currency=SEK each hide'],
  ['exclude=zeta', 'The option exclude=zeta and the option currency=SEK each hide'],
])('%s of the shop file - means all names of the shop, and is named as in the address', (query, reason) => {
  const offers = query.startsWith('merchant') ? [soldOut('Kopje')] : [soldOut('ZETA'), soldOut('Zeta DE')]
  expect(explain({ offers }, `${query}&currency=SEK`)).toContain(reason)
})

test('shops of the shop file - have their shown name, once', () => {
  expect(explain({ offers: [soldOut('ZETA'), soldOut('Zeta DE'), soldOut('Kopje')] }, 'merchant=x')).toBe(
    'The option merchant=x hides all 3 offers of this product. Its shops: Kopje, Zeta & Co.',
  )
})

describe('reason of a hidden box', () => {
  const offers = [soldOut('Maison'), soldOut('Kopje', { currency: 'USD' }), soldOut('Ärger & Söhne')]

  test.each([
    ['stock=in', 'The option stock=in hides all 3 offers of this product.'],
    [
      'merchant=Nobody&merchant=other',
      'The option merchant=nobody, other hides all 3 offers of this product. Its shops: Ärger & Söhne, Kopje, Maison.',
    ],
    [
      'exclude=maison&exclude=kopje&exclude=ärger+%26+söhne',
      'The option exclude=kopje, maison, ärger & söhne hides all 3 offers of this product. Its shops: Ärger & Söhne, Kopje, Maison.',
    ],
    [
      'currency=SEK',
      'The option currency=SEK hides all 3 offers of this product. Its prices are in EUR, USD.',
    ],
    [
      'stock=in&currency=SEK',
      'The option stock=in and the option currency=SEK each hide all 3 offers of this product. Its prices are in EUR, USD.',
    ],
    [
      'merchant=Kopje&currency=EUR',
      'The option merchant=kopje and the option currency=EUR together hide all 3 offers of this product. Its shops: Ärger & Söhne, Kopje, Maison. Its prices are in EUR, USD.',
    ],
  ])('%s - names the option and the existing shops or currencies', (query, reason) => {
    expect(explain({ offers }, query)).toBe(reason)
  })

  test('currency of the settings - names the setting, also if the address has the same currency', () => {
    const reason =
      'The setting VITRINE_CURRENCY=SEK hides all 3 offers of this product. Its prices are in EUR, USD.'
    expect(explain({ offers }, '', { currency: 'SEK' })).toBe(reason)
    expect(explain({ offers }, 'currency=SEK', { currency: 'SEK' })).toBe(reason)
    expect(explain({ offers }, 'currency=NOK', { currency: 'SEK' })).toContain('The option currency=NOK')
  })

  test('twenty shops and twenty names - lists five of each and counts the rest', () => {
    const many = Array.from({ length: 20 }, (_, index) => soldOut(`Shop ${String(index).padStart(2, '0')}`))
    const names = many.map((_, index) => `merchant=x${String(index).padStart(2, '0')}`)
    expect(explain({ offers: many }, names.join('&'))).toBe(
      'The option merchant=x00, x01, x02, x03, x04 and 15 more hides all 20 offers of this product. Its shops: Shop 00, Shop 01, Shop 02, Shop 03, Shop 04 and 15 more.',
    )
  })

  test('malformed offers - are described, alone or with valid offers', () => {
    expect(explain({ offers: [], drops: { link: 1, price: 3 } })).toBe(
      'The catalog sent 4 offers of this product, all of them malformed: 1 offer without a usable link, 3 offers without a usable price.',
    )
    expect(explain({ offers: [], drops: { price: 1 } })).toContain(
      'one offer of this product, but it is malformed',
    )
    expect(explain({ offers, drops: { price: 2 } }, 'stock=in')).toBe(
      'The option stock=in hides all 3 offers of this product. The catalog also sent malformed offers: 2 offers without a usable price.',
    )
  })

  test('product without offers, GTIN that no shop sells, mistyped GTIN - have different reasons', () => {
    expect(explain({ offers: [] })).toBe(
      'The catalog lists this product, but no shop of this channel has an offer for it.',
    )
    expect(explain(null)).toBe(
      'No shop of this channel sells the product with this GTIN. Check the GTIN and the channel.',
    )
    expect(explain(null, '', { gtin: '09520001001025' })).toBe(
      'The last digit of this GTIN is wrong (it should be 4): check the GTIN for a typing error. No shop of this channel sells it.',
    )
  })
})

const explainGrid = (query: string, currency: string | null = null): string => {
  const defaults = { locale: 'en', currency }
  return explainHiddenGrid(parseGridOptions(new URLSearchParams(query), defaults, 'fragment'), defaults)
}

describe('reason of a hidden grid', () => {
  test.each([
    ['', 'No product of this channel has an offer that is on sale and in stock.'],
    ['stock=any', 'No product of this channel has an offer that is on sale.'],
    ['theme=dark&limit=3', 'No product of this channel has an offer that is on sale and in stock.'],
    [
      'merchant=A&exclude=B&currency=SEK&min_discount=50&max_price=9.99&brand=Lumen&q=arc+lamp',
      'No offer that is on sale and in stock matches the option merchant=a, the option exclude=b, the option currency=SEK, the option min_discount=50, the option max_price=9.99, the option brand=Lumen and the option q=arc lamp. Remove or change a filter.',
    ],
    [
      'page=3',
      'Page 3 is empty: too few products have an offer that is on sale and in stock. Use a lower page number.',
    ],
    [
      'page=3&q=arc',
      'Page 3 is empty: too few products have an offer that is on sale and in stock and matches the option q=arc. Use a lower page number.',
    ],
  ])('"%s" - names the active filters', (query, reason) => {
    expect(explainGrid(query)).toBe(reason)
  })

  test.each([
    ['', 'No product of this channel has an offer in stock with an observed price drop.'],
    ['&stock=any', 'No product of this channel has an offer with an observed price drop.'],
    [
      '&stock=any&q=arc',
      'No offer with an observed price drop matches the option q=arc. Remove or change a filter.',
    ],
    [
      '&page=3',
      'Page 3 is empty: too few products have an offer in stock with an observed price drop. Use a lower page number.',
    ],
  ])('"evidence=observed%s" - also says which days must be observed', (query, reason) => {
    expect(explainGrid(`evidence=observed${query}`)).toBe(
      `${reason} A price has dropped if it is below the lowest price of the 30 days before it began. This server must have observed at least 25 of these days.`,
    )
  })

  test('currency of the settings - is named as the setting', () => {
    expect(explainGrid('', 'SEK')).toContain('matches the setting VITRINE_CURRENCY=SEK.')
  })
})

test('offers - have the filters that exclude them, shown offers first', () => {
  const offers = [
    soldOut('A'),
    makeParsedOffer({ merchant: 'B', price: '9.00' }),
    makeParsedOffer({ merchant: 'b', price: '8.00' }),
    makeParsedOffer({ merchant: 'C', price: '7.00', currency: 'USD' }),
    soldOut('D', { currency: 'USD' }),
  ]
  const classify = (query: string): unknown => {
    const options = parseBoxOptions(new URLSearchParams(query), { locale: 'en', currency: null }, 'fragment')
    return classifyOffers(offers, options, { isPriced: () => true, shops: createShopBook([]) }).map(
      ({ offer, excludedBy }) => [offer.merchant, excludedBy],
    )
  }
  expect(classify('exclude=D')).toEqual([
    ['b', null],
    ['A', null],
    ['B', 'better-offer'],
    ['C', 'other-currency'],
    ['D', ['exclude']],
  ])
  expect(classify('stock=in&currency=USD&merchant=C')).toEqual([
    ['C', null],
    ['A', ['stock', 'merchant', 'currency']],
    ['B', ['merchant', 'currency']],
    ['b', ['merchant', 'currency']],
    ['D', ['stock', 'merchant']],
  ])
})
