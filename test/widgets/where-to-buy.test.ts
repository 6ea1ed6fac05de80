import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { comparePrices } from '../../src/offers/money.ts'
import { type PriceSeries, toDay } from '../../src/offers/price-history.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { OPTION_LIST } from '../../src/widgets/option-list.ts'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import { type DatedProduct, selectOffers } from '../../src/widgets/offer-selection.ts'
import { VIEW_CONTEXT, toBoxHistory, toBoxView } from '../helpers/shown-views.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'

const renderer = createRenderer()

/** Enough observed prices for every option to have an effect. */
const SERIES: readonly PriceSeries[] = [
  {
    merchantKey: 'quillhaven',
    currency: 'EUR',
    days: Array.from({ length: 40 }, (_, index) => ({
      day: toDay(NOON_MS) - 40 + index,
      low: 12_500,
      last: 12_500,
      isImported: false,
    })),
  },
]

const ALL_PRICED = { isPriced: () => true, shops: createShopBook([]) }

const makePricedOffer = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, price, ...over })
const toDated = (...offers: readonly Offer[]): DatedProduct => ({
  product: makeProduct({ offers }),
  asOfMs: NOON_MS,
})
const parse = (query: string, currency: string | null = null): ReturnType<typeof parseBoxOptions> =>
  parseBoxOptions(new URLSearchParams(query), { locale: 'en', currency }, 'fragment')
const select = (offers: readonly Offer[], query = '', currency: string | null = null): string[] =>
  selectOffers(offers, parse(query, currency), ALL_PRICED).map(
    ({ merchant, price }) => `${merchant} ${price}`,
  )

function view(
  offers: readonly Offer[],
  query = '',
  over: Partial<Product> & { ageMs?: number } = {},
): BoxView {
  const { ageMs = 0, ...product } = over
  const data = { product: makeProduct({ offers, ...product }), asOfMs: NOON_MS - ageMs }
  const history = toBoxHistory({ ...data, series: SERIES }, parse(query), VIEW_CONTEXT)
  const found = toBoxView({ ...data, history }, parse(query), VIEW_CONTEXT)
  if (found === undefined) throw new Error('the box is hidden')
  return found
}

/** List the shown offers with normalized prices and names. */
const outline = (offers: readonly Offer[]): unknown =>
  selectOffers(offers, parse(''), ALL_PRICED).map(({ network, affiliateUrl, price, merchant }) => ({
    network,
    affiliateUrl,
    price: Number(price),
    merchant: merchant.toLowerCase(),
  }))

describe('offers of a box', () => {
  test('main currency - is determined after the filters', () => {
    const offers = [
      makePricedOffer('a', '1', { availability: 'out_of_stock' }),
      makePricedOffer('b', '2', { availability: 'out_of_stock' }),
      makePricedOffer('c', '3', { currency: 'USD' }),
    ]
    expect(select(offers)).toEqual(['a 1', 'b 2'])
    expect(select(offers, 'stock=in')).toEqual(['c 3'])
    expect(select(offers, 'exclude=a&exclude=b')).toEqual(['c 3'])
  })

  test('currency of the server - overrides the main currency, and may exclude every offer', () => {
    const offers = [
      makePricedOffer('a', '1'),
      makePricedOffer('b', '2'),
      makePricedOffer('c', '3', { currency: 'USD' }),
    ]
    expect(select(offers, '', 'USD')).toEqual(['c 3'])
    expect(select(offers, '', 'CHF')).toEqual([])
    expect(select(offers, 'currency=eur', 'USD')).toEqual(['a 1', 'b 2'])
  })

  test('merchant with several currencies - is shown with its offer in the selected one', () => {
    const offers = [
      makePricedOffer('a', '9'),
      makePricedOffer('a', '1', { currency: 'USD' }),
      makePricedOffer('b', '5'),
    ]
    expect(select(offers)).toEqual(['b 5', 'a 9'])
    expect(select(offers, 'currency=USD')).toEqual(['a 1'])
  })

  test('merchant without stock - is shown with its cheapest offer, after merchants in stock', () => {
    const out = { availability: 'out_of_stock' }
    const offers = [
      makePricedOffer('a', '3', out),
      makePricedOffer('a', '2', out),
      makePricedOffer('b', '99'),
      makePricedOffer('c', '1', { availability: 'x' }),
    ]
    expect(select(offers)).toEqual(['b 99', 'c 1', 'a 2'])
  })

  test('merchant and exclude - match whole names only', () => {
    const offers = [
      makePricedOffer('Kopje', '1'),
      makePricedOffer('Kopje Outlet', '2'),
      makePricedOffer('Crème', '3'),
      makePricedOffer('Creme', '4'),
    ]
    expect(select(offers, 'merchant=kopje')).toEqual(['Kopje 1'])
    expect(select(offers, 'exclude=KOPJE&exclude=CR%C3%88ME')).toEqual(['Kopje Outlet 2', 'Creme 4'])
    expect(select(offers, 'merchant=nobody')).toEqual([])
  })

  const offers = fc.array(
    fc
      .record({
        merchant: fc.constantFrom('a', 'A', 'b', 'c'),
        network: fc.constantFrom('x', 'y'),
        price: fc.constantFrom('1', '1.0', '2.5', '10'),
        currency: fc.constantFrom('EUR', 'USD'),
        availability: fc.constantFrom('in_stock', 'out_of_stock', 'preorder'),
        affiliateUrl: fc.constantFrom('https://links.example/1', 'https://links.example/2'),
      })
      .map((over) => makeParsedOffer(over)),
    { maxLength: 12 },
  )

  test('any offers - one currency, one offer per merchant, in stock first, then by price', () => {
    fc.assert(
      fc.property(offers, (given) => {
        const shown = selectOffers(given, parse(''), ALL_PRICED)
        expect(new Set(shown.map(({ currency }) => currency)).size).toBe(given.length === 0 ? 0 : 1)
        const merchants = shown.map(({ merchant }) => merchant.toLowerCase())
        expect(new Set(merchants).size).toBe(merchants.length)
        for (const [index, offer] of shown.slice(1).entries()) {
          const before = shown[index] ?? offer
          const [is, was] = [offer, before].map(({ availability }) => Number(availability === 'in_stock'))
          const isCheaper = comparePrices(offer.price, before.price) < 0
          expect(is === was ? isCheaper : Number(is) > Number(was)).toBe(false)
        }
      }),
    )
  })

  test('any order of the response - the same offers in the same order', () => {
    const mixed = offers.chain((given) =>
      fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
    )
    fc.assert(
      fc.property(mixed, ([given, shuffled]) => {
        expect(outline(shuffled)).toEqual(outline(given))
      }),
    )
  })
})

const listBest = (offers: readonly Offer[]): boolean[] => {
  const { offers: shown, more } = view(offers, 'limit=2')
  return [...shown, ...more].map(({ isBest }) => isBest)
}

describe('view of a box', () => {
  test('no offer left - no view', () => {
    const data = { product: makeProduct({ offers: [] }), asOfMs: NOON_MS }
    expect(toBoxView(data, parse(''), VIEW_CONTEXT)).toBeUndefined()
    const one = { product: makeProduct(), asOfMs: NOON_MS }
    expect(toBoxView(one, parse('merchant=nobody'), VIEW_CONTEXT)).toBeUndefined()
  })

  test('product - title, brand, first picture, and a label with the title', () => {
    const images = ['https://pictures.example/1.jpg', 'https://pictures.example/2.jpg']
    expect(view([makePricedOffer('a', '1')], '', { images })).toMatchObject({
      label: 'Where to buy Lumen Arc desk lamp',
      header: { head: 'full', heading: 'Where to buy', disclosure: expect.stringContaining('commission') },
      title: 'Lumen Arc desk lamp',
      // The title contains it.
      brand: null,
      picture: { src: images[0], srcset: null, sizes: null },
      lowestLabel: 'Lowest listed price',
      schema: null,
      // One offer has no order.
      notices: { order: [], shipping: 'Shipping not included' },
    })
    expect(view([makePricedOffer('a', '1')], '', { brand: 'Other', images: [] })).toMatchObject({
      brand: 'Other',
      picture: null,
    })
  })

  test.each([
    ['Philips Kettle', 'LIP', 'LIP'],
    ['LIP Kettle', 'lip', null],
    ['Kettle by Le-Bon, 2 l', 'Le Bon', null],
    ['Cloudmonster', 'On', 'On'],
  ])('%s of the brand %s - the brand line is %s', (title, brand, shown) => {
    expect(view([makePricedOffer('a', '1')], '', { title, brand }).brand).toBe(shown)
  })

  test('all shops in stock - said once, with the order that remains', () => {
    const inStock = [makePricedOffer('a', '1'), makePricedOffer('b', '2')]
    expect(view(inStock).notices.order).toEqual(['All in stock', 'Lowest price first'])
    const mixed = [...inStock, makePricedOffer('c', '3', { availability: 'out_of_stock' })]
    expect(view(mixed).notices.order).toEqual(['In stock first, then by price'])
  })

  test('variant that is sold out - not all shops are in stock', () => {
    const main = toDated(makePricedOffer('a', '1'), makePricedOffer('b', '2'))
    const readFirstTerm = (variant: Offer): string | undefined =>
      toBoxView({ ...main, variants: [toDated(variant)] }, parse(''), VIEW_CONTEXT)?.notices.order[0]
    expect(readFirstTerm(makePricedOffer('c', '3'))).toBe('All in stock')
    expect(readFirstTerm(makePricedOffer('c', '3', { availability: 'out_of_stock' }))).toBe(
      'In stock first, then by price',
    )
  })

  test('heading=Our pick - replaces the heading, also in the accessible name', () => {
    expect(view([makePricedOffer('a', '1')], 'heading=Our%20pick')).toMatchObject({
      header: { heading: 'Our pick' },
      label: 'Our pick: Lumen Arc desk lamp',
    })
  })

  test('row - shop, unchanged link, price, stock and labels', () => {
    expect(view([makePricedOffer('a', '7.5', { oldPrice: '10' })], 'locale=en').offers).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        gtin: expect.stringMatching(/^\d{14}$/),
        countedMerchant: 'a',
        merchant: 'a',
        logo: { url: null, initial: 'A' },
        terms: null,
        href: 'https://links.example/c?shop=a',
        price: {
          exact: { amount: '7.5', oldAmount: '10', currency: 'EUR', evidence: 'shop', discountPercent: 25 },
          price: '€7.50',
          digits: null,
          priceHint: 'now',
          oldPrice: '€10.00',
          oldPriceHint: 'Shop’s former price',
          discount: '−25%',
        },
        seePrice: 'See price at shop',
        availability: { text: 'In stock', kind: 'in' },
        isBest: false,
        linkLabel: 'Buy at a for €7.50',
        linkText: 'To the shop',
        redirectPath: null,
      },
    ])
  })

  const five = ['a', 'b', 'c', 'd', 'e'].map((name, index) => makePricedOffer(name, String(index + 1)))

  test.each([
    [1, 'a', 'bcde'],
    [4, 'abcd', 'e'],
    [5, 'abcde', ''],
    [50, 'abcde', ''],
  ])('limit %i - shows "%s", folds "%s"', (limit, shown, folded) => {
    const { offers, more } = view(five, `limit=${limit}`)
    expect(offers.map(({ merchant }) => merchant).join('')).toBe(shown)
    expect(more.map(({ merchant }) => merchant).join('')).toBe(folded)
  })

  test('folded offers - are counted in the label', () => {
    expect(view(five, 'limit=1').moreLabel).toBe('4 more shops')
    expect(view(five, 'limit=4').moreLabel).toBe('1 more shop')
  })

  test('best price - only the first of at least two offers in stock, folded offers included', () => {
    const out = { availability: 'out_of_stock' }
    expect(listBest([makePricedOffer('a', '1')])).toEqual([false])
    expect(listBest([makePricedOffer('a', '1'), makePricedOffer('b', '2', out)])).toEqual([false, false])
    expect(listBest([makePricedOffer('a', '1', out), makePricedOffer('b', '2', out)])).toEqual([false, false])
    expect(listBest([makePricedOffer('a', '1'), makePricedOffer('b', '2')])).toEqual([true, false])
    expect(
      listBest([makePricedOffer('a', '1', out), makePricedOffer('b', '3'), makePricedOffer('c', '2')]),
    ).toEqual([true, false, false])
  })

  test('prices at the maximum age - are shown; a millisecond older - no price, no "best" mark, no markup', () => {
    const limit = view(five, 'markup=schema', { ageMs: 3_600_000 })
    expect(limit.offers[0]).toMatchObject({ isBest: true, price: { price: '€1.00' } })
    expect(limit.schema).toMatchObject({ offers: { lowPrice: '1' } })
    const old = view(five, 'markup=schema', { ageMs: 3_600_001 })
    for (const offer of old.offers)
      expect(offer).toMatchObject({
        price: null,
        isBest: false,
        linkLabel: `See the price at ${offer.merchant}`,
      })
    expect(old.offers.map(({ merchant }) => merchant).join('')).toBe('abcde')
    expect(old.schema).toBeNull()
  })

  test('some prices not shown - rank last in their stock group, and are not in the markup', () => {
    const sold = { availability: 'out_of_stock' }
    const offers = [
      makePricedOffer('ended', '1', { saleEndsAtMs: NOON_MS }),
      makePricedOffer('old', '2', { checkedAtMs: NOON_MS - 3_600_001 }),
      makePricedOffer('older', '0.5', { checkedAtMs: 0, ...sold }),
      makePricedOffer('sale', '9', { saleEndsAtMs: NOON_MS + 2, checkedAtMs: NOON_MS - 5 }),
      makePricedOffer('plain', '8', { saleEndsAtMs: NOON_MS + 7 }),
      makePricedOffer('out', '7', sold),
    ]
    const shown = view(offers, 'markup=schema')
    expect(
      shown.offers.concat(shown.more).map(({ merchant, price, isBest }) => [merchant, price?.price, isBest]),
    ).toEqual([
      ['plain', '€8.00', true],
      ['sale', '€9.00', false],
      ['ended', undefined, false],
      ['old', undefined, false],
      ['out', '€7.00', false],
      ['older', undefined, false],
    ])
    expect(shown.schema).toMatchObject({
      offers: {
        lowPrice: '7',
        highPrice: '9',
        offerCount: 3,
        priceValidUntil: new Date(NOON_MS + 2).toISOString(),
      },
    })
    expect(shown.notices.checkedAt?.iso).toBe(new Date(NOON_MS - 5).toISOString())
  })

  test('one shown price in stock - is not the best price', () => {
    expect(
      listBest([makePricedOffer('a', '2'), makePricedOffer('b', '1', { saleEndsAtMs: NOON_MS })]),
    ).toEqual([false, false])
  })

  test('shop with an ended sale and a regular offer - shows the regular one', () => {
    const offers = [
      makePricedOffer('a', '1', { saleEndsAtMs: NOON_MS }),
      makePricedOffer('a', '2', { network: 'z' }),
    ]
    expect(view(offers).offers.map(({ price }) => price?.price)).toEqual(['€2.00'])
  })

  test('no shown price - the date of the oldest offer', () => {
    const offers = [
      makePricedOffer('a', '1', { saleEndsAtMs: NOON_MS, checkedAtMs: NOON_MS - 7 }),
      makePricedOffer('b', '1', { saleEndsAtMs: NOON_MS }),
    ]
    const { notices, schema } = view(offers, 'markup=schema')
    expect([notices.checkedAt?.iso, schema]).toEqual([new Date(NOON_MS - 7).toISOString(), null])
  })

  test('markup=schema - includes folded offers', () => {
    expect(view(five, 'markup=schema&limit=1').schema).toMatchObject({ offers: { offerCount: 5 } })
  })

  // Stand-ins have an effect only on a hidden box, and the id of the placement only on the sent response.
  const WITHOUT_EFFECT = new Set(['layout', 'sub', 'else'])

  test.each(
    OPTION_LIST.filter(
      ({ name, widget }) => ['all', 'where-to-buy'].includes(widget) && !WITHOUT_EFFECT.has(name),
    ),
  )(
    'layout=inline, $example - has an effect only if the list of options does not deny it',
    ({ example, isUnusedInSentence = false }) => {
      const offers = [
        makePricedOffer('Quillhaven', '1'),
        makePricedOffer('Brava', '2'),
        makePricedOffer('Kopje', '0.5', { availability: 'out_of_stock' }),
        makePricedOffer('Nordhem', '4', { currency: 'GBP' }),
      ]
      const render = (query: string): string => renderer.renderWidget(view(offers, `layout=inline&${query}`))
      // The style sheet of an accent colour has no rule for the layout.
      const isSame = render(example).replace(/<link [^>]*accents[^>]*>/, '') === render('')
      expect(isSame).toBe(isUnusedInSentence)
    },
  )

  test('markup=schema, layout=inline - has only the offer of the sentence', () => {
    const { schema, sentence } = view(five, 'markup=schema&layout=inline')
    expect(sentence).toContainEqual({ text: '€1.00', placeholder: 'price' })
    expect(schema).toMatchObject({ offers: { lowPrice: '1', highPrice: '1', offerCount: 1 } })
  })
})
