import { describe, expect, test } from 'vitest'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { DealCounts } from '../../src/storage/store.ts'
import { toDealsPanel } from '../../src/studio/fields.ts'
import { COUNTS } from '../helpers/studio-view.ts'

type DealsPanelView = ReturnType<typeof toDealsPanel>

const toPanel = (
  rawOptions = '',
  over: Partial<DealCounts> = {},
  shopBook = createShopBook([]),
): DealsPanelView =>
  toDealsPanel(
    { ...COUNTS, ...over },
    {
      rawOptions: new URLSearchParams(rawOptions),
      shopBook,
      toHref: (query) => `?${query.toString()}`,
    },
  )

/** Entries of a filter as `text count`, `*text count` when selected. */
const listEntries = ({ facets }: DealsPanelView, title: string): string[] | undefined =>
  facets
    .find((facet) => facet.title === title)
    ?.entries.map(({ text, count, isSelected }) => `${isSelected ? '*' : ''}${text} ${count}`)

const listHrefs = ({ facets }: DealsPanelView, title: string): string[] | undefined =>
  facets.find((facet) => facet.title === title)?.entries.map(({ href }) => href)

describe('deals panel', () => {
  test('counts - come from the copy, in its order, grouped by filter', () => {
    const panel = toPanel()
    expect(panel.total).toBe('7')
    expect(panel.facets.map(({ title }) => title)).toEqual(['Discount', 'Brand', 'Shop'])
    expect(listEntries(panel, 'Discount')).toEqual(['from 10 % 6', 'from 50 % 1'])
    expect(listEntries(panel, 'Brand')).toEqual(['Lumen 4', 'Nordhem 3'])
    expect(listEntries(panel, 'Shop')).toEqual(['Kopje 5', 'Quillhaven 2'])
  })

  test('more deals than are counted - every count ends with "+"', () => {
    const panel = toPanel('', { total: 20_000, isBounded: true })
    expect(panel.total).toBe('20,000+')
    expect(listEntries(panel, 'Shop')).toEqual(['Kopje 5+', 'Quillhaven 2+'])
  })

  test('unselected entries - link to the selection with them, on its first page', () => {
    const panel = toPanel('brand=Lumen&page=3&sort=price')
    expect(listHrefs(panel, 'Discount')).toEqual([
      '?brand=Lumen&sort=price&min_discount=10',
      '?brand=Lumen&sort=price&min_discount=50',
    ])
    expect(listHrefs(panel, 'Brand')).toEqual(['?sort=price', '?sort=price&brand=Nordhem'])
    expect(listHrefs(panel, 'Shop')?.[0]).toBe('?brand=Lumen&sort=price&merchant=Kopje')
  })

  test('selected entries - are marked regardless of case, and link to the selection without them', () => {
    const panel = toPanel('brand=LUMEN&min_discount=50')
    expect(listEntries(panel, 'Brand')).toEqual(['*Lumen 4', 'Nordhem 3'])
    expect(listEntries(panel, 'Discount')).toEqual(['from 10 % 6', '*from 50 % 1'])
    expect(listHrefs(panel, 'Brand')?.[0]).toBe('?min_discount=50')
    expect(listHrefs(panel, 'Discount')).toEqual(['?brand=LUMEN&min_discount=10', '?brand=LUMEN'])
  })

  test('one of several selected shops - its link removes only that shop', () => {
    const panel = toPanel('merchant=quillhaven&merchant=Kopje&merchant=Elsewhere')
    expect(listEntries(panel, 'Shop')).toEqual(['*Kopje 5', '*Quillhaven 2'])
    expect(listHrefs(panel, 'Shop')).toEqual([
      '?merchant=quillhaven&merchant=Elsewhere',
      '?merchant=Kopje&merchant=Elsewhere',
    ])
  })

  test('shops of the shop file - have their shown name, and any of their names selects them', () => {
    const shop = { name: 'Kopje & Co', logoPath: null, terms: null }
    const book = createShopBook([{ merchant: 'Kopje', aliases: ['kopje.example'], shop }])
    const merchants = [{ name: 'KOPJE.example', count: 5 }]
    const toPanelWith = (query: string): DealsPanelView => toPanel(query, { merchants }, book)
    expect(listEntries(toPanelWith(''), 'Shop')).toEqual(['Kopje & Co 5'])
    expect(listHrefs(toPanelWith(''), 'Shop')).toEqual(['?merchant=Kopje'])
    for (const name of ['kopje', 'Kopje.Example', 'Kopje %26 Co']) {
      const panel = toPanelWith(`merchant=${name}&merchant=Quillhaven`)
      expect(listEntries(panel, 'Shop')).toEqual(['*Kopje & Co 5'])
      expect(listHrefs(panel, 'Shop')).toEqual(['?merchant=Quillhaven'])
    }
  })

  test('long lists - are cut at twelve entries, products without a brand are omitted', () => {
    const many = Array.from({ length: 30 }, (_, index) => ({ name: `N${index}`, count: 30 - index }))
    const panel = toPanel('', { brands: [{ name: '', count: 99 }, ...many], merchants: many })
    expect(listEntries(panel, 'Brand')).toHaveLength(12)
    expect(listEntries(panel, 'Brand')?.[0]).toBe('N0 30')
    expect(listEntries(panel, 'Shop')?.at(-1)).toBe('N11 19')
  })

  test('filters without entries - are left out', () => {
    expect(
      toPanel('', { brands: [{ name: '', count: 2 }], discounts: [] }).facets.map(({ title }) => title),
    ).toEqual(['Shop'])
  })

  test('names with URL delimiters - are encoded and decode to the same name', () => {
    const name = 'A & B=C+"<ß'
    const [href = ''] = listHrefs(toPanel('', { merchants: [{ name, count: 1 }] }), 'Shop') ?? []
    expect(new URLSearchParams(href).get('merchant')).toBe(name)
  })
})
