import { Kysely, SqliteDialect, sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Product } from '../../src/catalog/contract.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { createLookupWriter } from '../../src/storage/lookup-writer.ts'
import { NO_HISTORY } from '../../src/storage/price-history.ts'
import { searchProducts } from '../../src/storage/search.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { createWalkStore } from '../../src/storage/walks.ts'
import { createSearchIndex } from '../../src/storage/search-index.ts'
import { COPY_MIGRATIONS } from '../../src/storage/tables.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, makePage, makeQuery, walkAll } from './conformance/subject.ts'
import { connect as openOn } from '../helpers/connect.ts'

/** The largest number of products or deals that are scanned where no index can be used. */
const BOUND = 20_000

let path: string

beforeEach(async () => {
  const file = await makeCopyFile()
  path = file.path
  onTestFinished(file.remove)
})

async function openStore(): Promise<StoredCopy> {
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: 'c' })
  onTestFinished(() => store.close())
  return store
}

/** Open a separate connection for the test. */
function connect(): Kysely<CopyTables> {
  const database = openSqlite({ path, role: 'writer' })
  const connection = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database }) })
  onTestFinished(() => connection.destroy())
  return connection
}

const makeNamed = (index: number, title: string): Product =>
  makeProduct({ gtin: toGtin(index), title, brand: null, offers: [makeParsedOffer({ oldPrice: '99.00' })] })

const makeLamps = (count: number): Product[] =>
  Array.from({ length: count }, (_, index) => makeNamed(index, `Lamp x${index}`))

/** Create a walked database whose word index is new and empty, as after its repair. */
async function makeUnindexedDatabase(products: readonly Product[]): Promise<void> {
  const database = connect()
  await migrateDatabase(database, COPY_MIGRATIONS)
  const store = createWalkStore(await openOn(database), 'c', { clock: systemClock, history: NO_HISTORY })
  const { walk } = await store.beginWalk(CHANNEL, { nowMs: 100, resumableSinceMs: 100 })
  await store.applyPage(CHANNEL, makePage(walk, products, { asOfMs: 100 }))
  await store.completeWalk(CHANNEL, walk, { nowMs: 100, isMalformed: false })
  for (const name of ['added', 'removed', 'changed'])
    await sql`drop trigger ${sql.ref(`product_words_${name}`)}`.execute(database)
  for (const name of ['product_words', 'search_backlog'])
    await sql`drop table ${sql.ref(name)}`.execute(database)
  await createSearchIndex(database)
}

/** Count the index entries without a product, and the products without an entry. */
async function countStray(database: Kysely<CopyTables>): Promise<unknown> {
  await sql`insert into product_words(product_words) values ('integrity-check')`.execute(database)
  const { rows } = await sql`select
    (select count(*) from product_words_docsize where id not in (select copy_id << 40 | id from products)) as entries,
    (select count(*) from products where copy_id << 40 | id not in (select id from product_words_docsize)) as products`.execute(
    database,
  )
  return rows[0]
}

const search = async (store: StoredCopy, text: string): Promise<(string | undefined)[]> =>
  (await store.searchProducts(CHANNEL, text, 50)).map(({ product }) => product?.title)

async function waitUntilFilled(database: Kysely<CopyTables>): Promise<void> {
  await vi.waitFor(
    async () => expect(await database.selectFrom('search_backlog').selectAll().execute()).toEqual([]),
    { timeout: 20_000, interval: 20 },
  )
}

describe('word index', () => {
  test('walks, look-ups, removals - each product has one entry, and no other entry exists', async () => {
    const store = await openStore()
    await walkAll(store, makeLamps(30), 100)
    await walkAll(store, [...makeLamps(10), makeNamed(12, 'Kettle'), makeNamed(40, 'Torch')], 200)
    await store.putLookups([
      { channelId: CHANNEL, gtin: toGtin(3), entry: { product: makeNamed(3, 'Renamed'), asOfMs: 300 } },
    ])
    await store.putLookups([{ channelId: CHANNEL, gtin: toGtin(4), entry: { product: null, asOfMs: 300 } }])
    expect(await countStray(connect())).toEqual({ entries: 0, products: 0 })
    expect([await search(store, 'x3'), await search(store, 'rena')]).toEqual([[], ['Renamed']])
  })

  test('product of a writer that does not defer words - is indexed by the trigger', async () => {
    const store = await openStore()
    await walkAll(store, makeLamps(3), 100)
    const database = connect()
    await sql`insert into products (copy_id, gtin, from_walk, digest, title, search_text, images, offers, as_of_ms)
      select copy_id, ${toGtin(9)}, from_walk, digest, 'Other', 'other', images, offers, as_of_ms
      from products limit 1`.execute(database)
    expect(await countStray(database)).toEqual({ entries: 0, products: 0 })
    expect(await search(store, 'other')).toEqual(['Other'])
    expect(await database.selectFrom('deferred_words').selectAll().execute()).toEqual([])
  })

  test('database whose index is empty - opened - the index is filled step by step, and existing products are found', async () => {
    await makeUnindexedDatabase(makeLamps(450))
    const store = await openStore()
    expect(await search(store, 'x449')).toEqual(['Lamp x449'])
    const database = connect()
    await waitUntilFilled(database)
    expect(await countStray(database)).toEqual({ entries: 0, products: 0 })
    expect(await search(store, 'lam x12')).toEqual([
      'Lamp x12',
      ...Array.from({ length: 10 }, (_, last) => `Lamp x12${last}`),
    ])
  })

  test('products that change before the index is filled - have one entry, with their new words', async () => {
    await makeUnindexedDatabase(makeLamps(450))
    const database = connect()
    const putLookups = createLookupWriter(await openOn(database), 'c', {
      clock: systemClock,
      history: NO_HISTORY,
    })
    const put = (index: number, product: Product | null): Promise<void> =>
      putLookups([{ channelId: CHANNEL, gtin: toGtin(index), entry: { product, asOfMs: 200 } }])
    await put(1, makeNamed(1, 'Renamed'))
    await put(2, null)
    await put(500, makeNamed(500, 'New one'))
    const store = await openStore()
    await waitUntilFilled(database)
    expect(await countStray(database)).toEqual({ entries: 0, products: 0 })
    expect([await search(store, 'x1'), await search(store, 'renamed')]).toEqual([
      expect.not.arrayContaining(['Renamed']),
      ['Renamed'],
    ])
    expect([await search(store, 'x2'), await search(store, 'new')]).toEqual([
      expect.not.arrayContaining(['Lamp x2']),
      ['New one'],
    ])
  })

  test('store closed - while its index is being filled - the next store continues filling it', async () => {
    await makeUnindexedDatabase(makeLamps(450))
    const first = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: 'c' })
    await first.close()
    await openStore()
    const database = connect()
    await waitUntilFilled(database)
    expect(await countStray(database)).toEqual({ entries: 0, products: 0 })
  })
})

/** Multiply the one product and its deal by SQL, because walking as many would take a minute. Titles contain the number. */
async function multiply(database: Kysely<CopyTables>, count: number): Promise<void> {
  const list = async (table: 'products' | 'deals'): Promise<string[]> =>
    (
      await sql<{ name: string }>`select name from pragma_table_info(${table}) where name <> 'id'`.execute(
        database,
      )
    ).rows.map(({ name }) => name)
  const numbers = sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})`
  const gtin = sql`printf('%014d', 90000000000000 + n)`
  for (const table of ['products', 'deals'] as const) {
    const names = await list(table)
    const values = names.map((name) => {
      if (name === 'gtin') return gtin
      if (name === 'title' || name === 'search_text') return sql`'alamp x' || n || 'y'`
      return name === 'product_id'
        ? sql`(select id from products p where p.copy_id = deals.copy_id and p.gtin = ${gtin})`
        : sql.ref(name)
    })
    await sql`${numbers} insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
      select ${sql.join(values)} from ${sql.table(table)}, numbers where ${sql.table(table)}.id = 1`.execute(
      database,
    )
  }
}

describe('copy with many products', () => {
  test('search - existing and missing words and digits - finds existing ones, and within words only up to the scan limit', async () => {
    const store = await openStore()
    await walkAll(store, [makeNamed(1, 'Lamp')], 100)
    await multiply(connect(), 30_000)
    const database = connect()
    const copy = { id: 1, currentWalk: 1, runningWalk: 1, visibleWalk: 1, dealCurrency: 'EUR', nowMs: 200 }
    const find = async (text: string): Promise<unknown[]> =>
      (await searchProducts(database, copy, { text, limit: 8 }))
        .slice(0, 3)
        .map(({ product }) => product?.title)
    expect(await find('x29999')).toEqual(['alamp x29999y'])
    expect(await find('90000000029999')).toEqual(['alamp x29999y'])
    expect(await find('nothing')).toEqual([])
    expect(await find('77777')).toEqual([])
    // Within words, the search scans only the first products.
    expect(await find('1y')).toEqual(['alamp x1y', 'alamp x11y', 'alamp x21y'])
    expect([await find('19998y'), await find('20001y')]).toEqual([['alamp x19998y'], []])
  })

  test('counts - deals at the scan limit, and one more - are exact, and marked as bounded', async () => {
    const store = await openStore()
    await walkAll(store, [makeNamed(1, 'Lamp')], 100)
    const database = connect()
    await multiply(database, BOUND - 1)
    expect(await store.countDeals(makeQuery(), new Map())).toMatchObject({ total: BOUND, isBounded: false })
    expect(await store.countDeals(makeQuery({ searchText: 'x77y' }), new Map())).toMatchObject({
      total: 1,
      isBounded: false,
    })
    await store.putLookups([
      { channelId: CHANNEL, gtin: toGtin(2), entry: { product: makeNamed(2, 'Another'), asOfMs: 200 } },
    ])
    expect(await store.countDeals(makeQuery(), new Map())).toMatchObject({
      total: BOUND,
      isBounded: true,
      merchants: [{ name: 'Kopje', count: BOUND }],
    })
  })
})
