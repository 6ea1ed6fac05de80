import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { type Kysely, sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, type Copy, begin, makePage, walkAll } from './conformance/subject.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const CATALOG = 'https://one.example'
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitrine-pages-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
})

type CopyFixture = Readonly<{ copy: Copy; database: Kysely<CopyTables>; close(): Promise<void> }>

async function open(name: string): Promise<CopyFixture> {
  const database = { kind: 'sqlite', path: join(folder, name) } as const
  const copy = await openStoredCopy({ database, catalog: CATALOG })
  const opened = await openCopyDatabase(database)
  const close = async (): Promise<void> => {
    await opened.close()
    await copy.close()
  }
  return { copy, database: opened.writer, close }
}

/** Walk a catalog in pages of a given size: each page twice if `isRepeated`, with `between` after each. */
async function walkInPages(
  copy: Copy,
  products: readonly Product[],
  options: Readonly<{ nowMs: number; size: number; isRepeated: boolean; between?: () => Promise<void> }>,
): Promise<void> {
  const walk = await begin(copy, options.nowMs)
  let afterGtin = ''
  for (let start = 0; start === 0 || start < products.length; start += options.size) {
    const page = products.slice(start, start + options.size)
    const nextCursor = start + options.size < products.length ? 'more' : null
    for (let time = 0; time < (options.isRepeated ? 2 : 1); time += 1)
      await copy.applyPage(CHANNEL, makePage(walk, page, { afterGtin, nextCursor, asOfMs: options.nowMs }))
    afterGtin = page.at(-1)?.gtin ?? afterGtin
    await options.between?.()
  }
  await copy.completeWalk(CHANNEL, walk, { nowMs: options.nowMs, isMalformed: false })
}

/** Read everything that readers could see, without the numbers of rows and walks. */
async function readTables({ database }: CopyFixture): Promise<unknown> {
  const products = await sql`select gtin, digest, title, brand, search_text, images, offers, checked_at,
    until_walk from products order by gtin`.execute(database)
  const deals =
    await sql`select d.gtin, d.offer_index, d.offer, d.offer_key, d.currency, d.merchant_key, d.brand_key, d.network_key,
    d.search_text, d.is_in_stock, d.is_best, d.is_best_in_stock, d.discount_percent, d.ratio_key, d.price_key, d.saving_key,
    d.sale_ends_ms, d.until_walk, d.from_walk = p.from_walk as is_same from deals d join products p on p.id = d.product_id
    order by d.gtin, d.offer_index`.execute(database)
  const words =
    await sql`select p.gtin from product_words w join products p on w.rowid = (p.copy_id << 40 | p.id)
    where product_words match 'lamp' order by p.gtin`.execute(database)
  return { products: products.rows, deals: deals.rows, words: words.rows }
}

const offers = fc.array(
  fc
    .record({
      merchant: fc.constantFrom('Kopje', 'Zaal', 'alpha'),
      price: fc.constantFrom('5.00', '7.5', '9'),
      oldPrice: fc.constantFrom(null, '8.00', '12'),
      availability: fc.constantFrom('in_stock', 'out_of_stock'),
      checkedAtMs: fc.constantFrom(null, 1, 2),
      saleEndsAtMs: fc.constantFrom(null, 1),
    })
    .map((over) => makeParsedOffer(over)),
  { maxLength: 4 },
)
const products = fc
  .uniqueArray(
    fc.record({ index: fc.nat(11), title: fc.constantFrom('Lamp', 'Blue Lamp', 'Kettle'), offers }),
    { selector: ({ index }) => index, maxLength: 12 },
  )
  .map((list) =>
    list
      .sort((a, b) => a.index - b.index)
      .map(({ index, ...over }) => makeProduct({ ...over, gtin: toGtin(index), brand: 'Lumen' })),
  )
const lookup = fc.record({ index: fc.nat(11), product: fc.option(offers) })
const walks = fc.array(
  fc.record({
    products,
    size: fc.integer({ min: 1, max: 5 }),
    isRepeated: fc.boolean(),
    lookups: fc.array(lookup, { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
)

const makeChecked = (checkedAtMs: number): Product[] =>
  Array.from({ length: 300 }, (_, index) =>
    makeProduct({ gtin: toGtin(index), offers: [makeParsedOffer({ oldPrice: '99.00', checkedAtMs })] }),
  )

/** One more product than one read returns versions; one of them has this title. */
const makeWithTitle = (changed: number, title: string): Product[] =>
  Array.from({ length: 1_001 }, (_, index) =>
    makeProduct({ gtin: toGtin(index), title: index === changed ? title : 'Lamp' }),
  )

describe('pages of walks', () => {
  test('any catalogs one after the other, with look-ups between - same result as one walk of the last catalog', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(walks, products, async (before, last) => {
        run += 1
        const [used, fresh] = [await open(`used${run}.db`), await open(`fresh${run}.db`)]
        try {
          let nowMs = 100
          for (const walk of before) {
            nowMs += 100
            const remaining = [...walk.lookups]
            await walkInPages(used.copy, walk.products, {
              ...walk,
              nowMs,
              async between() {
                const one = remaining.pop()
                if (one === undefined) return
                const gtin = toGtin(one.index)
                const product = one.product && makeProduct({ gtin, brand: 'Lumen', offers: one.product })
                await used.copy.putLookups([
                  { channelId: CHANNEL, gtin, entry: { product, asOfMs: nowMs + 1 } },
                ])
              },
            })
          }
          await walkInPages(used.copy, last, { nowMs: nowMs + 100, size: 3, isRepeated: false })
          await walkInPages(fresh.copy, last, { nowMs: 100, size: 200, isRepeated: false })
          expect(await readTables(used)).toEqual(await readTables(fresh))
        } finally {
          await used.close()
          await fresh.close()
        }
      }),
      { numRuns: toRunCount(25) },
    )
  })

  test('second walk with 3 of 300 products changed - writes only the rows of these three', async () => {
    const { copy, database, close } = await open('copy.db')
    onTestFinished(close)
    const sale = [makeParsedOffer({ oldPrice: '99.00' })]
    const make = (changed: readonly number[]): Product[] =>
      Array.from({ length: 300 }, (_, index) =>
        makeProduct({ gtin: toGtin(index), title: changed.includes(index) ? 'New' : 'Old', offers: sale }),
      )
    await walkAll(copy, make([]), 100)
    await sql`create table written (gtin text)`.execute(database)
    for (const table of ['products', 'deals'])
      for (const [event, row] of [
        ['insert', 'new'],
        ['update', 'new'],
        ['delete', 'old'],
      ] as const)
        await sql`create trigger ${sql.ref(`watch_${table}_${event}`)} after ${sql.raw(event)} on ${sql.table(table)}
          begin insert into written values (${sql.ref(`${row}.gtin`)}); end`.execute(database)
    const listWritten = async (): Promise<unknown> => {
      const { rows } = await sql<{ gtin: string }>`select distinct gtin from written order by gtin`.execute(
        database,
      )
      return rows.map(({ gtin }) => gtin)
    }
    await walkAll(copy, make([]), 200)
    expect(await listWritten()).toEqual([])
    await walkAll(copy, make([0, 150, 299]), 300)
    expect(await listWritten()).toEqual([toGtin(0), toGtin(150), toGtin(299)])
    const { rows } = await sql<{ count: number }>`select count(*) as count from written`.execute(database)
    // The new version and its deal are inserted; the old ones are ended, then removed.
    expect(rows[0]?.count).toBe(3 * 2 * 3)
  })

  test('second walk in which only the times of checks differ - writes only that column', async () => {
    const { copy, database, close } = await open('checked.db')
    onTestFinished(close)
    await walkAll(copy, makeChecked(5), 100)
    await sql`create table written (what text)`.execute(database)
    const columns = await sql<{ name: string }>`select name from pragma_table_info('products')`.execute(
      database,
    )
    const others = columns.rows.map(({ name }) => name).filter((name) => name !== 'checked_at')
    for (const [name, event] of [
      ['checked', 'update of checked_at on products'],
      ['other', `update of ${others.join(', ')} on products`],
      ['insert', 'insert on products'],
      ['delete', 'delete on products'],
      ['deal insert', 'insert on deals'],
      ['deal update', 'update on deals'],
      ['deal delete', 'delete on deals'],
    ] as const)
      await sql`create trigger ${sql.ref(`watch ${name}`)} after ${sql.raw(event)}
        begin insert into written values (${sql.lit(name)}); end`.execute(database)
    const countWritten = async (): Promise<unknown> => {
      const { rows } = await sql`select what, count(*) as count from written group by what`.execute(database)
      return rows
    }
    await walkAll(copy, makeChecked(5), 200)
    expect(await countWritten()).toEqual([])
    await walkAll(copy, makeChecked(6), 300)
    expect(await countWritten()).toEqual([{ what: 'checked', count: 300 }])
    await copy.putLookups([
      { channelId: CHANNEL, gtin: toGtin(0), entry: { product: makeChecked(7)[0] ?? null, asOfMs: 400 } },
    ])
    expect(await countWritten()).toEqual([
      { what: 'checked', count: 301 },
      { what: 'other', count: 1 },
    ])
  })

  test('page again, with one more version than one read returns - each product has one current version', async () => {
    const { copy, database, close } = await open('edge.db')
    onTestFinished(close)
    await walkAll(copy, makeWithTitle(-1, ''), 100)
    const walk = await begin(copy, 200)
    // The last product of the first read has two versions, and the read ends between them.
    for (const title of ['first', 'second', 'third'])
      await copy.applyPage(
        CHANNEL,
        makePage(walk, makeWithTitle(999, title), { nextCursor: null, asOfMs: 200 }),
      )
    await copy.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
    const current = database.selectFrom('products').where('until_walk', 'is', null)
    expect(await current.select('gtin').execute()).toHaveLength(1_001)
    expect(await current.where('gtin', '=', toGtin(999)).select('title').execute()).toEqual([
      { title: 'third' },
    ])
    expect(await copy.findProduct(CHANNEL, toGtin(999))).toMatchObject({ product: { title: 'third' } })
  })

  test('gap of more products than one step handles - all of them are removed', async () => {
    const { copy, database, close } = await open('gap.db')
    onTestFinished(close)
    const many = Array.from({ length: 1_201 }, (_, index) => makeProduct({ gtin: toGtin(index) }))
    await walkAll(copy, many, 100)
    await walkAll(copy, [...many.slice(0, 1), ...many.slice(-1)], 200)
    const remaining = await database.selectFrom('products').select('gtin').orderBy('gtin').execute()
    expect(remaining.map(({ gtin }) => gtin)).toEqual([toGtin(0), toGtin(1_200)])
  })
})

test('grid indexes - are missing during the first walk, and are restored as migrated once it is complete', async () => {
  const { copy, database, close } = await open('indexes.db')
  onTestFinished(close)
  const readIndexes = async (): Promise<readonly unknown[]> => {
    const { rows } =
      await sql`select i.name, x.seqno, x.name as column, x.desc from sqlite_master i, pragma_index_xinfo(i.name) x
      where i.type = 'index' and i.name like 'deals_by_%' and x.key order by i.name, x.seqno`.execute(
        database,
      )
    return rows
  }
  const migrated = await readIndexes()
  const walk = await begin(copy, 100)
  expect([migrated.length > 0, await readIndexes()]).toEqual([true, []])
  await copy.completeWalk(CHANNEL, walk, { nowMs: 100, isMalformed: false })
  expect(await readIndexes()).toEqual(migrated)
  await copy.beginWalk('00000000-0000-4000-8000-000000000002', { nowMs: 200, resumableSinceMs: 200 })
  expect(await readIndexes()).toEqual(migrated)
})
