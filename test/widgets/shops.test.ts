import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Offer } from '../../src/catalog/contract.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { classifyOffers, expandShops, selectOffers } from '../../src/widgets/offer-selection.ts'
import { joinTextParts } from '../../src/widgets/locales/index.ts'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import type { ViewContext } from '../../src/widgets/view-parts.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import { VIEW_CONTEXT, toBoxView } from '../helpers/shown-views.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'

const makePricedOffer = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, price, ...over })
const parse = (query: string): ReturnType<typeof parseBoxOptions> =>
  parseBoxOptions(new URLSearchParams(query), { locale: 'en', currency: null }, 'fragment')

function view(offers: readonly Offer[], query: string): BoxView | undefined {
  return toBoxView({ product: makeProduct({ offers }), asOfMs: NOON_MS }, parse(query), VIEW_CONTEXT)
}

const readSentence = (offers: readonly Offer[], query: string): string =>
  joinTextParts(view(offers, query)?.sentence ?? [])

describe('layout inline', () => {
  const soldOut = { availability: 'out_of_stock' }

  test('several shops in stock - from the lowest price', () => {
    const offers = [
      makePricedOffer('b', '2'),
      makePricedOffer('a', '1.5'),
      makePricedOffer('c', '1', soldOut),
    ]
    expect(readSentence(offers, 'layout=inline')).toBe('from €1.50 at a')
    expect(view(offers, 'layout=inline')?.disclosureMark).toBe('Ad')
    expect(readSentence(offers, 'layout=inline&locale=de')).toBe('ab 1,50\u00a0€ bei a')
  })

  test('any layout - the sentence of JSON has the lowest price in stock, or is empty', () => {
    const mixed = [makePricedOffer('a', '199'), makePricedOffer('b', '150', soldOut)]
    for (const layout of ['inline', 'list', 'table', 'card', 'button']) {
      expect(readSentence(mixed, `layout=${layout}`)).toBe('€199.00 at a')
      expect(readSentence(mixed.slice(1), `layout=${layout}`)).toBe('')
    }
  })

  test('one shop in stock - its price, without "from"', () => {
    const offers = [makePricedOffer('b', '2'), makePricedOffer('c', '1', soldOut)]
    expect(readSentence(offers, 'layout=inline')).toBe('€2.00 at b')
  })

  test('most offers in a currency without stock - the price of the other currency', () => {
    const offers = [
      makePricedOffer('a', '1', soldOut),
      makePricedOffer('b', '2', soldOut),
      makePricedOffer('c', '3', { currency: 'USD' }),
    ]
    expect(readSentence(offers, 'layout=inline')).toBe('$3.00 at c')
  })

  test('explained - one offer is shown, the others are left out', () => {
    const offers = [makePricedOffer('a', '1'), makePricedOffer('b', '2'), makePricedOffer('c', '3', soldOut)]
    const rules = { isPriced: () => true, shops: createShopBook([]) }
    expect(classifyOffers(offers, parse('layout=inline'), rules).map(({ excludedBy }) => excludedBy)).toEqual(
      [null, 'not-inline', 'not-inline'],
    )
  })

  test('nothing shown, explained - the layout leaves every offer out, whatever its currency', () => {
    const offers = [makePricedOffer('a', '1', soldOut), makePricedOffer('b', '2', { currency: 'USD' })]
    const rules = { isPriced: () => false, shops: createShopBook([]) }
    const classified = classifyOffers(offers, parse('layout=inline'), rules)
    expect(classified.map(({ excludedBy }) => excludedBy)).toEqual(['not-inline', 'not-inline'])
  })

  test('nothing in stock, or only prices that are too old - hidden', () => {
    const product = makeProduct({ offers: [makePricedOffer('c', '1', soldOut)] })
    const options = parse('layout=inline')
    expect(toBoxView({ product, asOfMs: NOON_MS }, options, VIEW_CONTEXT)).toBeUndefined()
    const old = { product: makeProduct({ offers: [makePricedOffer('a', '1')] }), asOfMs: NOON_MS - 3_600_001 }
    expect(toBoxView(old, options, VIEW_CONTEXT)).toBeUndefined()
  })
})

describe('shop book', () => {
  const shops = createShopBook([
    {
      merchant: 'Zeta DE',
      aliases: ['ZETA.example', 'zeta outlet'],
      shop: { name: 'Zeta', logoPath: '/logos/z.svg', terms: 'Free delivery' },
    },
  ])
  const viewWithBook = (offers: readonly Offer[], query = ''): BoxView | undefined => {
    const options = expandShops(parse(query), shops)
    return toBoxView({ product: makeProduct({ offers }), asOfMs: NOON_MS }, options, {
      ...VIEW_CONTEXT,
      shops,
    })
  }
  const offers = [
    makePricedOffer('zeta.EXAMPLE', '3'),
    makePricedOffer('Zeta Outlet', '2'),
    makePricedOffer('Beta', '2.5'),
    makePricedOffer('Zeta DE', '4'),
  ]

  test('aliases - are one shop with its cheapest offer, name, logo and terms', () => {
    const box = viewWithBook(offers)
    expect(box?.hasLogos).toBe(true)
    expect(box?.offers).toMatchObject([
      {
        merchant: 'Zeta',
        logo: { url: 'https://widgets.example/logos/z.svg' },
        terms: 'Free delivery',
        linkLabel: 'Buy at Zeta for €2.00',
      },
      { merchant: 'Beta', logo: { url: null, initial: 'B' }, terms: null },
    ])
  })

  test.each(['zeta%20de', 'ZETA.example', 'Zeta'])(
    'merchant=%s and exclude - mean all names of the shop',
    (name) => {
      expect(viewWithBook(offers, `merchant=${name}`)?.offers.map(({ merchant }) => merchant)).toEqual([
        'Zeta',
      ])
      expect(viewWithBook(offers, `exclude=${name}`)?.offers.map(({ merchant }) => merchant)).toEqual([
        'Beta',
      ])
    },
  )

  test('a merchant outside the book with the shown name of a shop - is selected, too', () => {
    const all = [...offers, makePricedOffer('zeta', '9')]
    const names = (query: string): unknown =>
      selectOffers(all, expandShops(parse(query), shops), { isPriced: () => true, shops }).map(
        ({ merchant }) => merchant,
      )
    expect(names('merchant=Zeta')).toEqual(['Zeta Outlet', 'zeta'])
    expect(names('exclude=Zeta')).toEqual(['Beta'])
  })

  test('any names and terms - the order of the prices is the same as without the book', () => {
    const merchants = fc.constantFrom('Zeta DE', 'Beta', 'Alpha', 'Gamma')
    const prices = fc.integer({ min: 1, max: 5 }).map(String)
    const lists = fc.array(fc.tuple(merchants, prices), { minLength: 1 })
    fc.assert(
      fc.property(lists, fc.string({ minLength: 1 }), (list, name) => {
        const book = createShopBook([
          { merchant: 'Zeta DE', aliases: [], shop: { name, logoPath: null, terms: name } },
        ])
        const some = list.map(([merchant, price]) => makePricedOffer(merchant, price))
        const select = (shops: ViewContext['shops']): readonly Offer[] =>
          selectOffers(some, parse(''), { isPriced: () => true, shops })
        expect(select(book)).toEqual(select(createShopBook([])))
      }),
    )
  })
})
