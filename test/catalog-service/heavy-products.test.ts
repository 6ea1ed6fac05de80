import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { toGtin } from '../helpers/products.ts'
import { makeHeavyProduct, makeLongPictureUrls } from '../helpers/heavy-products.ts'
import { type ServiceUnderTest, createProduct, importRows, startTestService } from './harness.ts'

/** What a client accepts by default is twice as much. */
const MAX_PAGE_BYTES: number = 5 * 1024 * 1024
const MAX_PRODUCT_BYTES: number = 1024 * 1024

const GTINS = Array.from({ length: 100 }, (_, index) => toGtin(index + 1))

const images = makeLongPictureUrls(20).map((url) => ({ url }))

/** Read all pages of a channel; expect each to hold the bound. */
async function walk({ get }: ServiceUnderTest, channelId: string): Promise<WireProduct[][]> {
  const pages: WireProduct[][] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const { text } = await get(`/v0/channels/${channelId}/products?limit=200${query}`)
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_PAGE_BYTES)
    const body = JSON.parse(text) as { items: WireProduct[]; next_cursor: string | null }
    pages.push(body.items)
    cursor = body.next_cursor
  } while (cursor !== null)
  return pages
}

describe('heavy products', () => {
  test('100 products with 20 long picture addresses - five are stored, the others counted', async () => {
    const service = await startTestService()
    const rows = GTINS.map((gtin) => createProduct(gtin, { images }))
    const summary = await importRows(service, rows)
    expect(summary).toMatchObject({ products: 100, rejected: 0, leftOutPictures: 1_500 })
    const pages = await walk(service, summary.channelId)
    expect(pages.flat().map(({ gtin }) => gtin)).toEqual(GTINS)
    expect(pages.flat().every((product) => product.images.length === 5)).toBe(true)
  })

  test('20 products with 500 long links - pages end early, and the import names what it leaves out', async () => {
    const service = await startTestService()
    const gtins = GTINS.slice(0, 20)
    const summary = await importRows(
      service,
      gtins.map((gtin) => makeHeavyProduct(gtin, 500)),
    )
    expect(summary).toMatchObject({ products: 20, rejected: 20 })
    expect(readFileSync(summary.rejectsPath ?? '', 'utf8')).toContain(
      `more than 512 kB of offers of one product: ${500 - summary.offers / 20} others are left out, the most expensive ones first`,
    )
    const pages = await walk(service, summary.channelId)
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.flat().map(({ gtin }) => gtin)).toEqual(gtins)
  })

  test('stored offers above the bounds of a product - the cheapest are sent', async () => {
    const service = await startTestService()
    const gtins = GTINS.slice(0, 20)
    const { channelId } = await importRows(
      service,
      gtins.map((gtin) => createProduct(gtin)),
    )
    await service.store.write(async (database) => {
      const [offer] = await database.selectFrom('offers').selectAll().limit(1).execute()
      if (offer === undefined) throw new Error('there is no offer')
      for (const gtin of gtins) {
        const offers = Array.from({ length: 200 }, (_, index) => ({
          ...offer,
          gtin,
          variant: index,
          price: String(1_000 - index),
          url: `https://shop.example/${index}/${'u'.repeat(3_900)}`,
        }))
        await database.deleteFrom('offers').where('gtin', '=', gtin).execute()
        for (let start = 0; start < offers.length; start += 100)
          await database
            .insertInto('offers')
            .values(offers.slice(start, start + 100))
            .execute()
      }
    })
    const products = (await walk(service, channelId)).flat()
    expect(products.map(({ gtin }) => gtin)).toEqual(gtins)
    for (const product of products) {
      expect(Buffer.byteLength(JSON.stringify(product))).toBeLessThan(MAX_PRODUCT_BYTES)
      const prices = product.offers.map(({ price }) => Number(price)).toSorted((a, b) => a - b)
      expect(prices).toEqual(Array.from(prices, (_, index) => 801 + index))
    }
  })

  test.each([
    ['title', { title: 't'.repeat(1_001) }, 'title', 'the title is cut'],
    ['brand', { brand: 'b'.repeat(101) }, 'brand', 'the brand is left out'],
    [
      'picture address',
      { images: [{ url: `https://p.example/${'p'.repeat(4_096)}` }] },
      'images[0]',
      'address',
    ],
  ])('JSON with a too long %s - the product stays, with a reject', async (_name, change, field, reason) => {
    const service = await startTestService()
    const summary = await importRows(service, [createProduct(GTINS[0] ?? '', change)])
    expect(summary).toMatchObject({ products: 1, rejected: 1 })
    const reject = readFileSync(summary.rejectsPath ?? '', 'utf8')
    expect(reject).toContain(field)
    expect(reject).toContain(reason)
  })
})
