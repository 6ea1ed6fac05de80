import { Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement, sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DAY_MS, DAY_SECONDS, systemClock } from '../../src/clock.ts'
import type { Product } from '../../src/catalog/contract.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { type HistoryRules, NO_HISTORY } from '../../src/storage/price-history.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { createWalkStore } from '../../src/storage/walks.ts'
import type { WalkStore } from '../../src/storage/store.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, type Copy, makePage, readBox, readGrid, walkAll } from './conformance/subject.ts'
import { connect } from '../helpers/connect.ts'

/** The largest number of rows that a transaction of a walk may write. */
const MAX_ROWS = 500

const CATALOG = 'https://one.example'
let path: string
let copy: Copy
let database: Kysely<CopyTables>

beforeEach(async () => {
  const file = await makeCopyFile()
  path = file.path
  copy = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: CATALOG })
  const opened = await openCopyDatabase({ kind: 'sqlite', path })
  database = opened.writer
  onTestFinished(async () => {
    await opened.close()
    await copy.close()
    await file.remove()
  })
})

/** Count the rows that each transaction, or statement outside of one, writes. */
function watchWrites(inner: SqliteDatabase, rowCounts: number[]): SqliteDatabase {
  let isOpen = false
  const count = (rows: number): void => {
    if (!isOpen) rowCounts.push(0)
    rowCounts.push((rowCounts.pop() ?? 0) + rows)
  }
  return {
    close: () => inner.close(),
    prepare(text) {
      const statement = inner.prepare(text)
      const isWrite = /^\s*(?:insert|update|delete)\b/i.test(text)
      const watched: SqliteStatement = {
        reader: statement.reader,
        iterate: (parameters) => statement.iterate(parameters),
        all(parameters) {
          const rows = statement.all(parameters)
          if (isWrite) count(rows.length)
          return rows
        },
        run(parameters) {
          if (text === 'begin') rowCounts.push(0)
          if (text === 'begin' || text === 'commit' || text === 'rollback') isOpen = text === 'begin'
          const result = statement.run(parameters)
          if (isWrite) count(Number(result.changes))
          return result
        },
      }
      return watched
    },
  }
}

/** Open a walk store on a separate connection that records how many rows each transaction wrote. */
async function openWatched(history: HistoryRules = NO_HISTORY): Promise<
  Readonly<{
    store: Pick<WalkStore, 'beginWalk' | 'applyPage' | 'completeWalk'>
    rowCounts: number[]
  }>
> {
  const rowCounts: number[] = []
  const watched = watchWrites(openSqlite({ path, role: 'writer' }), rowCounts)
  const connection = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database: watched }) })
  onTestFinished(() => connection.destroy())
  return {
    store: createWalkStore(await connect(connection), CATALOG, { clock: systemClock, history }),
    rowCounts,
  }
}

/** Build products with many offers on sale each. */
function makeWideProducts(
  count: number,
  offerCount: number,
  ...prices: readonly [oldPrice: string, lowest?: number]
): Product[] {
  const [oldPrice, lowest = 10] = prices
  const offers = Array.from({ length: offerCount }, (_, shop) =>
    makeParsedOffer({ merchant: `Shop ${shop}`, price: `${lowest + shop}.00`, oldPrice }),
  )
  return Array.from({ length: count }, (_, index) => makeProduct({ gtin: toGtin(index), offers }))
}

async function countRows(table: keyof CopyTables): Promise<number> {
  const counted = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
    database,
  )
  return counted.rows[0]?.count ?? -1
}

describe('transactions of a walk', () => {
  test.each([
    ['changed', makeWideProducts(40, 60, '200.00')],
    ['unchanged', makeWideProducts(40, 60, '100.00')],
    ['removed', []],
  ])('40 products of 60 offers, all %s - no transaction writes more than 500 rows', async (_, products) => {
    const { store, rowCounts } = await openWatched()
    for (const [index, page] of [makeWideProducts(40, 60, '100.00'), products, []].entries()) {
      const nowMs = 100 * (index + 1)
      const { walk } = await store.beginWalk(CHANNEL, { nowMs, resumableSinceMs: nowMs })
      await store.applyPage(CHANNEL, makePage(walk, page, { asOfMs: nowMs }))
      await store.completeWalk(CHANNEL, walk, { nowMs, isMalformed: false })
    }
    expect(rowCounts.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThan(40 * 61)
    expect(Math.max(...rowCounts)).toBeLessThanOrEqual(MAX_ROWS)
    expect(await readGrid(copy)).toEqual([])
  })

  test.each([
    ['all at once', '100.00', '200.00'],
    ['the first time', null, '100.00'],
  ])(
    'prices of 40 products of 60 offers, recorded %s - no transaction writes more than 500 rows',
    async (...row) => {
      const [, before, after] = row
      const { store, rowCounts } = await openWatched({ keptDays: 2, priceMaxAgeSeconds: DAY_SECONDS })
      if (before === null) await walkAll(copy, makeWideProducts(40, 60, after), 100)
      const pages = before === null ? [] : [makeWideProducts(40, 60, before)]
      for (const [index, page] of [...pages, makeWideProducts(40, 60, after, 5), [], [], [], []].entries()) {
        const nowMs = DAY_MS * (index + 1)
        const { walk } = await store.beginWalk(CHANNEL, { nowMs, resumableSinceMs: nowMs })
        await store.applyPage(CHANNEL, makePage(walk, page, { asOfMs: nowMs }))
        await store.completeWalk(CHANNEL, walk, { nowMs, isMalformed: false })
      }
      expect(rowCounts.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThan(40 * 121)
      expect(Math.max(...rowCounts)).toBeLessThanOrEqual(MAX_ROWS)
      expect(await countRows('price_histories')).toBe(0)
    },
  )

  test('clean-up - after walks that changed and removed products - one version of each remains', async () => {
    await walkAll(copy, makeWideProducts(30, 3, '100.00'), 100)
    await walkAll(copy, makeWideProducts(20, 3, '200.00'), 200)
    await walkAll(copy, makeWideProducts(10, 2, '200.00'), 300)
    expect([await countRows('products'), await countRows('deals'), await countRows('walk_pages')]).toEqual([
      10, 20, 1,
    ])
  })

  test('clean-up of absences - older than a complete walk: removed; newer: stay', async () => {
    await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry: { product: null, asOfMs: 100 } }])
    await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(2), entry: { product: null, asOfMs: 300 } }])
    await walkAll(copy, [], 200)
    expect(await database.selectFrom('absences').select('gtin').execute()).toEqual([{ gtin: toGtin(2) }])
    expect(await readBox(copy, toGtin(2))).toBe('absent @300')
  })
})

test('clean-up without walks - absences older than a day - are removed when the next one is stored', async () => {
  await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry: { product: null, asOfMs: 100 } }])
  await copy.putLookups([
    { channelId: CHANNEL, gtin: toGtin(2), entry: { product: null, asOfMs: 100 + DAY_MS } },
  ])
  await copy.putLookups([
    { channelId: CHANNEL, gtin: toGtin(3), entry: { product: null, asOfMs: 101 + DAY_MS } },
  ])
  const rows = await database.selectFrom('absences').select('gtin').orderBy('gtin').execute()
  expect(rows.map(({ gtin }) => gtin)).toEqual([toGtin(2), toGtin(3)])
})

describe('damaged rows', () => {
  test.each([
    ['offers', '{"not":"a list"}'],
    ['offers', 'not json'],
    ['offers', JSON.stringify([{ ...makeParsedOffer(), affiliateUrl: 'javascript:alert(1)' }])],
    ['offers', JSON.stringify([{ ...makeParsedOffer(), price: '-1' }])],
    ['images', '[1]'],
  ] as const)('%s %s - the row is missing from boxes and searches', async (column, text) => {
    const offers = [makeParsedOffer({ oldPrice: '99.00' })]
    await walkAll(
      copy,
      [1, 2].map((index) => makeProduct({ gtin: toGtin(index), offers })),
      100,
    )
    await database
      .updateTable('products')
      .set({ [column]: text })
      .where('gtin', '=', toGtin(1))
      .execute()
    expect(await readBox(copy, toGtin(1))).toBe('unknown')
    expect(await copy.searchProducts(CHANNEL, '', 8)).toHaveLength(1)
  })

  test.each([
    ['deals', 'offer', 'not json'],
    ['deals', 'offer', JSON.stringify({ ...makeParsedOffer(), affiliateUrl: 'javascript:alert(1)' })],
    ['deals', 'offer', JSON.stringify({ ...makeParsedOffer(), price: '-1' })],
    ['products', 'images', '[1]'],
  ] as const)('%s, %s %s - the card is missing from grids', async (table, column, text) => {
    const offers = [makeParsedOffer({ oldPrice: '99.00' })]
    await walkAll(
      copy,
      [1, 2].map((index) => makeProduct({ gtin: toGtin(index), offers })),
      100,
    )
    await database
      .updateTable(table)
      .set({ [column]: text })
      .where('gtin', '=', toGtin(1))
      .execute()
    expect(await readGrid(copy)).toHaveLength(1)
  })

  test('drop counts that are not JSON - the state has none', async () => {
    await walkAll(copy, [], 100)
    await database.updateTable('copies').set({ drops: '{{' }).execute()
    expect((await copy.getCopyState(CHANNEL)).drops).toEqual({})
  })

  test('walk whose failure cannot be stored - throws a store error', async () => {
    await copy.beginWalk(CHANNEL, { nowMs: 100, resumableSinceMs: 0 })
    await sql`create trigger full_disk before update of failure on copies
      begin select raise(abort, 'disk is full'); end`.execute(database)
    const failure = { code: 'VITRINE_CATALOG_STATUS', reason: 'a reason' }
    await expect(copy.failWalk(CHANNEL, failure, 110)).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    expect((await copy.getCopyState(CHANNEL)).failure).toBeNull()
  })

  test('closed database - any read - throws a store error', async () => {
    const closed = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: CATALOG })
    await closed.ping()
    await closed.close()
    await expect(closed.findProduct(CHANNEL, toGtin(1))).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
    })
    await expect(closed.ping()).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
  })
})
