import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { parseProductPage } from '../../src/catalog/parse.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, begin } from '../storage/conformance/subject.ts'
import { toRunCount } from '../helpers/property-runs.ts'

/** Walks over real page bodies: a product that matches the copy is not written again. */

type Item = Readonly<{ gtin: string; title: string }>
type CopyFixture = Readonly<{ copy: StoredCopy; query<T>(text: string): Promise<readonly T[]> }>

let folder: string
let opened = 0

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitrine-known-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
})

async function withCopy(use: (opened: CopyFixture) => Promise<void>): Promise<void> {
  opened += 1
  const database = { kind: 'sqlite', path: join(folder, `${opened}.db`) } as const
  const copy = await openStoredCopy({ database, catalog: 'https://one.example' })
  const { writer, close } = await openCopyDatabase(database)
  try {
    await use({ copy, query: async <T>(text: string) => (await sql.raw<T>(text).execute(writer)).rows })
  } finally {
    await close()
    await copy.close()
  }
}

/** Walk a catalog in pages of three. */
async function walk(copy: StoredCopy, items: readonly Item[], nowMs: number): Promise<void> {
  const number = await begin(copy, nowMs)
  let afterGtin = ''
  for (let start = 0; start === 0 || start < items.length; start += 3) {
    const cursor = start + 3 < items.length ? 'more' : null
    const page = parseProductPage(
      { items: items.slice(start, start + 3), next_cursor: cursor },
      { ownOrigin: 'http://127.0.0.1:1' },
    )
    const { products, drops, nextCursor } = page
    await copy.applyPage(CHANNEL, { walk: number, afterGtin, products, nextCursor, asOfMs: nowMs, drops })
    afterGtin = products.at(-1)?.gtin ?? afterGtin
  }
  await copy.completeWalk(CHANNEL, number, { nowMs, isMalformed: false })
}

const OFFER = {
  merchant: { name: 'Kopje' },
  network: 'brightlink',
  price: '10.00',
  old_price: '20.00',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://shop.example/1',
}

const makeItem = (index: number, over: object = {}): Item => {
  const product = { gtin: toGtin(index), title: `Lamp ${index}`, brand: 'Lumen', images: [], offers: [OFFER] }
  return { ...product, ...over }
}

const readShown = async ({ query }: CopyFixture): Promise<unknown> => ({
  products: await query(`select gtin, title, brand, search_text, images, offers, until_walk from products
    order by gtin`),
  deals: await query(`select d.gtin, offer, d.until_walk, d.from_walk = p.from_walk as is_same from deals d
    join products p on p.id = d.product_id order by d.gtin, offer_index`),
  drops: await query('select drops, product_count, deal_count from copies'),
})

const readStored = async (opened: CopyFixture): Promise<unknown> => [
  await readShown(opened),
  await opened.query('select digest, from_walk from products order by gtin'),
]

const catalog = fc
  .uniqueArray(
    fc.record({
      index: fc.nat(9),
      title: fc.constantFrom('Lamp', 'Kettle'),
      brand: fc.constantFrom('Lumen', 'Lumen', null),
      isBad: fc.integer({ min: 0, max: 5 }).map((value) => value === 0),
      note: fc.constantFrom('', 'x'),
    }),
    { selector: ({ index }) => index, maxLength: 10 },
  )
  .map((list) =>
    list
      .sort((a, b) => a.index - b.index)
      .map(({ index, isBad, ...over }) => makeItem(index, { ...over, ...(isBad && { offers: [{}] }) })),
  )

describe('consecutive walks', () => {
  test('any sequence of catalogs with look-ups in between - equals one walk of the last catalog', async () => {
    const lookups = fc.array(fc.nat(9), { maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(catalog, lookups), { maxLength: 4 }),
        catalog,
        async (before, last) => {
          // Known brands are retained by design, so this test excludes them.
          const branded = last.map((item) => ({ ...item, brand: 'Lumen' }))
          await withCopy(async (used) => {
            let nowMs = 100
            for (const [items, indexes] of before) {
              await walk(used.copy, items, (nowMs += 100))
              for (const index of indexes) {
                const product = makeProduct({ gtin: toGtin(index), offers: [makeParsedOffer()] })
                const entry = { product, asOfMs: nowMs + 10 }
                await used.copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(index), entry }])
              }
            }
            await walk(used.copy, branded, 10_000)
            await withCopy(async (fresh) => {
              await walk(fresh.copy, branded, 10_000)
              expect(await readShown(used)).toEqual(await readShown(fresh))
            })
          })
        },
      ),
      { numRuns: toRunCount(40) },
    )
  })

  test('unchanged catalog - writes no product; one of three changed - writes only that one', () =>
    withCopy(async ({ copy, query }) => {
      const items = [makeItem(1), makeItem(2), makeItem(3), makeItem(4)]
      await walk(copy, items, 100)
      await walk(copy, items, 200)
      expect(await query('select distinct from_walk from products')).toEqual([{ from_walk: 1 }])
      const changed = [makeItem(1), makeItem(2, { title: 'Kettle' }), makeItem(3), makeItem(4)]
      await walk(copy, changed, 300)
      expect(await query('select gtin, title from products where from_walk = 3')).toEqual([
        { gtin: toGtin(2), title: 'Kettle' },
      ])
    }))

  test.each([
    ['other bytes with the same meaning', makeItem(1, { seen: 2 })],
    ['a brand that the response no longer has', makeItem(1, { brand: null })],
  ])('%s - nothing is written', (_name, item) =>
    withCopy(async (opened) => {
      await walk(opened.copy, [makeItem(1)], 100)
      const before = await readStored(opened)
      await walk(opened.copy, [item], 200)
      expect(await readStored(opened)).toEqual(before)
    }),
  )

  test('look-up without a change - keeps the version and updates its time', () =>
    withCopy(async (opened) => {
      const item = makeItem(1)
      await walk(opened.copy, [item], 100)
      const before = await readStored(opened)
      const { product } = (await opened.copy.findProduct(CHANNEL, item.gtin)) ?? {}
      if (!product) throw new Error('the product is missing')
      await opened.copy.putLookups([{ channelId: CHANNEL, gtin: item.gtin, entry: { product, asOfMs: 150 } }])
      expect(await readStored(opened)).toEqual(before)
      expect(await opened.copy.findProduct(CHANNEL, item.gtin)).toMatchObject({ product, asOfMs: 150 })
      await walk(opened.copy, [item], 200)
      expect(await readStored(opened)).toEqual(before)
    }))

  test('digest of a release with another product format - the product is rewritten once', () =>
    withCopy(async (opened) => {
      const readVersions = (): Promise<unknown> => opened.query('select from_walk from products')
      await walk(opened.copy, [makeItem(1)], 100)
      await opened.query("update products set digest = 'of another release'")
      await walk(opened.copy, [makeItem(1)], 200)
      expect(await readVersions()).toEqual([{ from_walk: 2 }])
      await walk(opened.copy, [makeItem(1)], 300)
      expect(await readVersions()).toEqual([{ from_walk: 2 }])
    }))
})
