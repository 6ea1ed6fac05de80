import { describe, expect, it } from 'vitest'
import { parseProduct, parseProductPage } from '../../src/catalog/parse.ts'
import { isCheckDigitValid } from '../../src/offers/gtin.ts'
import { isOnSale } from '../../src/offers/sale.ts'
import { importBench } from './bench-library.ts'

type Data = Readonly<{
  changedCount: number
  findIndex(gtin: string): number | undefined
  toProduct(index: number, generation?: number): Buffer
  toPage(wanted: Readonly<{ first: number; limit: number; generation?: number }>): Buffer
}>
type CatalogData = Readonly<{
  createCatalogData(wanted: Readonly<{ count: number; seed?: number }>): Data
  toGtin(index: number): string
}>
type Page = Readonly<{ items: readonly unknown[]; next_cursor: string | null }>

const { createCatalogData, toGtin } = await importBench<CatalogData>('lib/catalog-data.mjs')

const COUNT = 2_500
const data = createCatalogData({ count: COUNT })
const readPage = (first: number, generation = 0): Page =>
  JSON.parse(data.toPage({ first, limit: 200, generation }).toString()) as Page

function readAll(generation = 0): unknown[] {
  const items: unknown[] = []
  for (let cursor: string | null = '0'; cursor !== null;) {
    const page: Page = readPage(Number(cursor), generation)
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}

describe('benchmark catalog', () => {
  it('pages - read as a walk does - contain every product once, in order, and nothing is dropped', () => {
    expect(readAll()).toHaveLength(COUNT)
    const page = parseProductPage(readPage(2_400), { ownOrigin: 'http://127.0.0.1:1' })
    expect(page).toMatchObject({ nextCursor: null })
    expect(page.products).toHaveLength(100)
    expect(Object.values(page.drops).reduce((sum, count) => sum + count, 0)).toBe(0)
    const gtins = page.products.map(({ gtin }) => gtin)
    expect(gtins).toEqual([...gtins].sort())
  })

  it('GTINs - have 14 digits with a valid check digit, and map back to their index', () => {
    for (const index of [0, 1, 999, COUNT - 1]) {
      expect(toGtin(index)).toMatch(/^\d{14}$/)
      expect(isCheckDigitValid(toGtin(index))).toBe(true)
      expect(data.findIndex(toGtin(index))).toBe(index)
    }
    expect(data.findIndex(toGtin(COUNT))).toBeUndefined()
    expect(data.findIndex('00000000000017')).toBeUndefined()
  })

  it('one product - looked up - equals the product on its page', () => {
    expect(JSON.parse(data.toProduct(205).toString())).toEqual(readPage(200).items[5])
  })

  it('products - have about 1.2 kB and four offers, and a third of them are on sale', () => {
    const products = Array.from({ length: COUNT }, (_, index) => data.toProduct(index))
    const bytes = products.reduce((sum, product) => sum + product.length, 0) / COUNT
    expect(bytes).toBeGreaterThan(1_000)
    expect(bytes).toBeLessThan(1_400)
    const parsed = products.map((product, index) =>
      parseProduct(JSON.parse(product.toString()), toGtin(index), { ownOrigin: 'http://127.0.0.1:1' }),
    )
    const offers = parsed.reduce((sum, product) => sum + product.offers.length, 0) / COUNT
    expect(offers).toBeGreaterThan(3.5)
    expect(offers).toBeLessThan(4.5)
    const onSale = parsed.filter((product) => product.offers.some((offer) => isOnSale(offer))).length / COUNT
    expect(onSale).toBeGreaterThan(0.28)
    expect(onSale).toBeLessThan(0.39)
  })

  it('another generation - changes one product in a hundred, and reports the number', () => {
    const before = readAll()
    const changed = readAll(1).filter(
      (product, index) => JSON.stringify(product) !== JSON.stringify(before[index]),
    )
    expect(changed).toHaveLength(data.changedCount)
    expect(data.changedCount).toBe(25)
  })

  it('seed - the same one gives the same bytes, another one different bytes', () => {
    const page = { first: 0, limit: 200 }
    expect(createCatalogData({ count: COUNT }).toPage(page).equals(data.toPage(page))).toBe(true)
    expect(createCatalogData({ count: COUNT, seed: 2 }).toPage(page).equals(data.toPage(page))).toBe(false)
  })
})
