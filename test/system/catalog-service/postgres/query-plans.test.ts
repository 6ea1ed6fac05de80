import { type Expression, type Kysely, type KyselyPlugin, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CatalogStore } from '../../../../src/catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import type { CatalogTables } from '../../../../src/catalog-service/store/schema.ts'
import {
  fetchVisiblePage,
  findVisibleProduct,
} from '../../../../src/catalog-service/store/visible-products.ts'
import { systemClock } from '../../../../src/clock.ts'
import { usePostgres } from '../../../helpers/postgres.ts'
import { CHANNEL, OTHER_CHANNEL, insertAccounts } from '../../../catalog-service/store/offers-fixture.ts'
import { getReader } from '../../../catalog-service/store-handles.ts'

const PRODUCTS = 30_000

/** Pages of 8 kB that a small result may read: a few levels of indexes, and a few rows. */
const MAX_PAGES = 60

/** Pages of 8 kB per product of a result: its offers, and for each the tables with its names. */
const MAX_PAGES_PER_PRODUCT = 40

const server = usePostgres()

/** Insert products with two offers each, so that a merchant has a product twice. */
async function insertProducts(database: Kysely<CatalogTables>): Promise<void> {
  await insertAccounts(database)
  await sql`insert into products select lpad(n::text, 14, '0'), 0, 'T', null, '[]'
    from generate_series(1, ${PRODUCTS}::bigint) n`.execute(database)
  await sql`insert into offers select lpad(n::text, 14, '0'), 0, 1, case when n % 10000 = 7 then 1 else 4 end, 0, 1, 'EUR', v,
    '1', null, 'in_stock', 'https://shop.example/' || v
    from generate_series(1, ${PRODUCTS}::bigint) n, generate_series(1, 2) v`.execute(database)
  await sql`insert into feed_shops select distinct feed_id, network_id, merchant_id, network_channel_id, is_page
    from offers`.execute(database)
}

/** Open a catalog with many products of merchant 4, which `CHANNEL` may not show, and three of merchant 1, which it may. */
async function openLargeCatalog(): Promise<CatalogStore> {
  const { address } = await server.makeDatabase()
  const store = await openCatalogStore({ database: address, clock: systemClock })
  onTestFinished(() => store.close())
  await store.write(insertProducts, { isOneShot: true })
  return store
}

/** Run `work`, and return the number of pages of tables and indexes that each of its statements reads. */
async function countPages(
  store: CatalogStore,
  work: (database: Kysely<CatalogTables>) => Promise<unknown>,
): Promise<number[]> {
  const reader = await getReader(store)
  const statements: Expression<unknown>[] = []
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      statements.push({ toOperationNode: () => node } as Expression<unknown>)
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  }
  await work(reader.withPlugin(plugin))
  const pages: number[] = []
  for (const statement of statements) {
    const explained = await sql<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>`
      explain (analyze, buffers, format json) ${statement}`.execute(reader)
    const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan ?? {}
    pages.push((plan['Shared Hit Blocks'] ?? NaN) + (plan['Shared Read Blocks'] ?? NaN))
  }
  return pages
}

const toGtin = (number: number): string => String(number).padStart(14, '0')
const channel = { organizationId: 'o', channelId: OTHER_CHANNEL }

describe('statements of requests with many products', () => {
  test('look-up, first page and deep page - read only a few more pages than their results need', async () => {
    const store = await openLargeCatalog()
    const lookUp = await countPages(store, (database) =>
      findVisibleProduct(database, channel, { gtin: toGtin(20_000), nowMs: 0 }),
    )
    expect(lookUp.filter((pages) => !(pages < MAX_PAGES))).toEqual([])
    const page = { ...channel, afterGtin: '', limit: 50 }
    const [first = NaN] = await countPages(store, (database) => fetchVisiblePage(database, page, 0))
    const [deep = NaN] = await countPages(store, (database) =>
      fetchVisiblePage(database, { ...page, afterGtin: toGtin(29_000) }, 0),
    )
    expect(deep).toBeLessThan(first + MAX_PAGES)
    expect(first).toBeLessThan(50 * MAX_PAGES_PER_PRODUCT)
  })

  test('channel that may show three products - returns these, and later statements read few pages', async () => {
    const store = await openLargeCatalog()
    const query = { organizationId: 'o', channelId: CHANNEL, afterGtin: '', limit: 50 }
    const [first = NaN, ...others] = await countPages(store, (database) =>
      fetchVisiblePage(database, query, 0),
    )
    expect(first).toBeLessThan(50 * MAX_PAGES_PER_PRODUCT)
    expect(others.length).toBeGreaterThan(0)
    expect(others.filter((pages) => !(pages < 3 * MAX_PAGES_PER_PRODUCT))).toEqual([])
    const page = await store.fetchPage(query)
    expect(page?.items.map(({ gtin }) => Number(gtin))).toEqual([7, 10_007, 20_007])
    expect(page?.lastGtin).toBeNull()
  })
})
