import * as fc from 'fast-check'
import { removeSubSlots } from '../../src/lib/sub-template.ts'
import { describe, expect, test } from 'vitest'
import { type GridData, toDealQuery, toGridView } from '../../src/widgets/grid.ts'
import { parseGridOptions } from '../../src/widgets/options.ts'
import type { GridView } from '../../src/widgets/grid.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, toGtin } from '../helpers/products.ts'
import { VIEW_CONTEXT } from '../helpers/shown-views.ts'
import { type DealEntry, isShortRead, toIndexedSort } from '../../src/storage/store.ts'

const DEFAULTS = { locale: 'en', currency: null }
const PATH = `https://widgets.example/embeds/${CHANNEL_ID}/deals`
const PAGES = { path: PATH, defaults: DEFAULTS }

const parse = (query: string): ReturnType<typeof parseGridOptions> =>
  parseGridOptions(new URLSearchParams(query), DEFAULTS, 'embed')

const makeEntry = (over: Partial<DealEntry> = {}): DealEntry => ({
  gtin: toGtin(1),
  title: 'Lumen Arc desk lamp',
  brand: 'Lumen',
  imageUrl: 'https://pictures.example/lamp.jpg',
  offer: makeParsedOffer({ oldPrice: '99.80' }),
  hasFall: false,
  firstSeenMs: NOON_MS,
  asOfMs: NOON_MS,
  ...over,
})

function view(
  query = '',
  over: Partial<GridData> = {},
  pages: Parameters<typeof toGridView>[2]['pages'] = PAGES,
): GridView | undefined {
  const data = { deals: [makeEntry()], hasNext: false, asOfMs: NOON_MS, ...over }
  return toGridView(data, parse(query), { viewContext: VIEW_CONTEXT, pages })
}

describe('query of the stored copy', () => {
  test('no options - the first page plus one deal, only offers in stock', () => {
    expect(toDealQuery(CHANNEL_ID, 'EUR', parse(''))).toEqual({
      channelId: CHANNEL_ID,
      currency: 'EUR',
      isInStockOnly: true,
      merchants: [],
      excluded: [],
      networks: null,
      minDiscountPercent: 1,
      maxPrice: null,
      brand: null,
      searchText: null,
      evidence: 'shop',
      sort: 'discount',
      limit: 13,
      offset: 0,
    })
  })

  test('every option - sets its field', () => {
    const query =
      'stock=any&merchant=A&exclude=B&min_discount=7&max_price=9.5&brand=Br&q=two+words&evidence=observed&sort=newest&limit=60&page=1000'
    expect(toDealQuery('c', 'USD', parse(query))).toEqual({
      channelId: 'c',
      currency: 'USD',
      isInStockOnly: false,
      merchants: ['a'],
      excluded: ['b'],
      networks: null,
      minDiscountPercent: 7,
      maxPrice: '9.5',
      brand: 'Br',
      searchText: 'two words',
      evidence: 'observed',
      sort: 'newest',
      limit: 61,
      offset: 59_940,
    })
  })

  test('sort=drop - says its order only if a price has fallen', () => {
    const orders = [true, false].map(
      (hasFall) => view('sort=drop', { deals: [makeEntry({ hasFall }), makeEntry()] })?.notices.order[0],
    )
    expect(orders).toEqual(['Largest observed price drop first', 'Largest discount first'])
  })

  test('sort=drop - has the index of the discount where the discount is the observed fall', () => {
    const toSort = (query: string): string => toIndexedSort(toDealQuery('c', 'EUR', parse(query)))
    expect([toSort('sort=drop'), toSort('sort=drop&evidence=observed')]).toEqual(['drop', 'discount'])
    expect(isShortRead(toDealQuery('c', 'EUR', parse('sort=drop&evidence=observed&min_discount=20')))).toBe(
      true,
    )
  })

  test('any limit - consecutive pages have no gap or overlap', () => {
    const pages = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 999 }))
    fc.assert(
      fc.property(pages, ([limit, page]) => {
        const here = toDealQuery('c', 'EUR', parse(`limit=${limit}&page=${page}`))
        const next = toDealQuery('c', 'EUR', parse(`limit=${limit}&page=${page + 1}`))
        expect(next.offset - here.offset).toBe(limit)
        expect(here.limit).toBe(limit + 1)
      }),
    )
  })
})

describe('view of a grid', () => {
  test('no deal - no view', () => {
    expect(view('', { deals: [] })).toBeUndefined()
    expect(view('page=2', { deals: [] })).toBeUndefined()
  })

  test('card - product, shop, unchanged link and both prices', () => {
    expect(view()?.deals).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        firstSeen: new Date(NOON_MS).toISOString(),
        title: 'Lumen Arc desk lamp',
        // The title contains it.
        brand: null,
        picture: { src: 'https://pictures.example/lamp.jpg', srcset: null, sizes: null },
        gtin: expect.stringMatching(/^\d{14}$/),
        countedMerchant: 'Kopje',
        merchant: 'Kopje',
        logo: { url: null, initial: 'K' },
        terms: null,
        merchantParts: [
          { text: 'at\u00A0', placeholder: null },
          { text: 'Kopje', placeholder: 'merchant' },
        ],
        href: 'https://links.example/c?shop=Kopje',
        price: {
          exact: {
            amount: '49.90',
            oldAmount: '99.80',
            currency: 'EUR',
            evidence: 'shop',
            discountPercent: 50,
          },
          price: '€49.90',
          digits: null,
          priceHint: 'now',
          oldPrice: '€99.80',
          oldPriceHint: 'Shop’s former price',
          discount: '−50%',
        },
        seePrice: 'See price at shop',
        availability: { text: 'In stock', kind: 'in' },
        linkLabel: 'Buy at Kopje for €49.90',
        redirectPath: null,
      },
    ])
  })

  test('one price older than the limit by a millisecond - only its card omits the price', () => {
    const ages = [0, 3_600_000, 3_600_001]
    const deals = ages.map((ageMs) => makeEntry({ asOfMs: NOON_MS - ageMs }))
    const cards = view('', { deals })?.deals ?? []
    expect(cards.map(({ price }) => price?.price ?? null)).toEqual(['€49.90', '€49.90', null])
    expect(cards[2]).toMatchObject({
      linkLabel: 'See the price at Kopje',
      href: 'https://links.example/c?shop=Kopje',
    })
  })

  test('price that was checked before the response - its age counts from the check', () => {
    const times = [NOON_MS - 3_600_000, NOON_MS - 3_600_001]
    const deals = times.map((checkedAtMs) => makeEntry({ offer: makeParsedOffer({ checkedAtMs }) }))
    expect(view('', { deals })?.deals.map(({ price }) => price?.price ?? null)).toEqual(['€49.90', null])
  })

  test('date - is the given one, not that of a card', () => {
    expect(view('', { asOfMs: NOON_MS - 60_000 })?.notices.checkedAt?.iso).toBe('2026-11-21T11:59:00.000Z')
  })

  test.each([
    ['discount', 'Largest discount first'],
    ['saving', 'Largest saving first'],
    ['price', 'Lowest price first'],
    ['newest', 'Newest deals first'],
  ])('sort=%s - the notice is "%s"', (sort, order) => {
    expect(view(`sort=${sort}`)?.notices.order[0]).toBe(order)
  })

  test('locale=de - German texts and prices', () => {
    const shown = view('locale=de')
    expect(shown).toMatchObject({
      label: 'Angebote',
      header: { heading: 'Angebote' },
      wrapper: { lang: 'de' },
    })
    expect(shown?.deals[0]?.price?.price.replace('\u00a0', ' ')).toBe('49,90 €')
  })
})

const listLinks = (query: string, hasNext: boolean): unknown => {
  const paging = view(query, { hasNext })?.paging
  return paging && [paging.previous, paging.next].map((link) => link && removeSubSlots(link.href))
}

describe('pages of a grid', () => {
  test('single page - no links', () => {
    expect(listLinks('', false)).toBeNull()
  })

  test('first, middle and last page - links to existing pages, page 1 without a query', () => {
    expect(listLinks('', true)).toEqual([null, `${PATH}?page=2`])
    expect(listLinks('page=2', true)).toEqual([PATH, `${PATH}?page=3`])
    expect(listLinks('page=3', false)).toEqual([`${PATH}?page=2`, null])
  })

  test('page 1000 - has no next page', () => {
    expect(listLinks('page=999', true)).toEqual([`${PATH}?page=998`, `${PATH}?page=1000`])
    expect(listLinks('page=1000', true)).toEqual([`${PATH}?page=999`, null])
  })

  test('options - are part of the links', () => {
    const query = 'theme=dark&merchant=a%26b&limit=3&sort=price&q=two+words'
    expect(listLinks(`${query}&page=2`, true)).toEqual([`${PATH}?${query}`, `${PATH}?${query}&page=3`])
  })

  test('texts of the links - are localized', () => {
    expect(view('locale=de&page=2', { hasNext: true })?.paging).toMatchObject({
      previous: { text: 'Vorherige Seite' },
      next: { text: 'Nächste Seite' },
      label: 'Seiten mit Angeboten',
    })
  })

  test('fragment - has no links, even if there are more pages', () => {
    expect(view('page=2', { hasNext: true }, null)?.paging).toBeNull()
  })
})
