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

const PRODUCTS = 30_000

/** Pages of 8 kB that a small answer may cost: some levels of an index, and a few rows. */
const FEW_PAGES = 60

/** The same for each product of a page: its offers, and for each of them a look into the tables of its names. */
const PAGES_A_PRODUCT = 40

const server = usePostgres()

/** Two offers each, so that a shop has a product twice. */
async function fill(database: Kysely<CatalogTables>): Promise<void> {
  await insertAccounts(database)
  await sql`insert into products select lpad(n::text, 14, '0'), 'T', null, '[]'
    from generate_series(1, ${PRODUCTS}::bigint) n`.execute(database)
  await sql`insert into offers select lpad(n::text, 14, '0'), 1, case when n % 10000 = 7 then 1 else 4 end, 0, 'EUR', v,
    '1', null, 'in_stock', 'https://shop.example/', null
    from generate_series(1, ${PRODUCTS}::bigint) n, generate_series(1, 2) v`.execute(database)
}

/** Many products of merchant 4, whom the channel may not show; of merchant 1 it may show three. */
async function openWithMany(): Promise<CatalogStore> {
  const { address } = await server.makeDatabase()
  const store = await openCatalogStore({ database: address, clock: systemClock })
  onTestFinished(() => store.close())
  await store.write(fill, { isOneShot: true })
  return store
}

/** Run `work`, and return how many pages of tables and indexes each of its statements touched. */
async function countPages(
  { reader }: CatalogStore,
  work: (database: Kysely<CatalogTables>) => Promise<unknown>,
): Promise<number[]> {
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

describe('statements of requests, over many products', () => {
  test('look-up, first page, deep page, next GTINs of a shop - none of them reads what it does not give', async () => {
    const store = await openWithMany()
    const lookUp = await countPages(store, (database) =>
      findVisibleProduct(database, channel, toGtin(20_000)),
    )
    expect(lookUp.filter((pages) => !(pages < FEW_PAGES))).toEqual([])
    const page = { ...channel, afterGtin: '', limit: 50 }
    const [first = NaN] = await countPages(store, (database) => fetchVisiblePage(database, page))
    const [deep = NaN] = await countPages(store, (database) =>
      fetchVisiblePage(database, { ...page, afterGtin: toGtin(29_000) }),
    )
    expect(deep).toBeLessThan(first + FEW_PAGES)
    expect(first).toBeLessThan(50 * PAGES_A_PRODUCT)
  })

  test('channel that shows three of them - all three, and a few pages beyond the first look', async () => {
    const store = await openWithMany()
    const query = { organizationId: 'o', channelId: CHANNEL, afterGtin: '', limit: 50 }
    const [first = NaN, ...others] = await countPages(store, (database) => fetchVisiblePage(database, query))
    expect(first).toBeLessThan(50 * PAGES_A_PRODUCT)
    expect(others.length).toBeGreaterThan(0)
    expect(others.filter((pages) => !(pages < FEW_PAGES))).toEqual([])
    const page = await store.fetchPage(query)
    expect(page?.items.map(({ gtin }) => Number(gtin))).toEqual([7, 10_007, 20_007])
    expect(page?.lastGtin).toBeNull()
  })
})
