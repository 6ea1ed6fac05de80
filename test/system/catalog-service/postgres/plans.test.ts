import { type Kysely, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CatalogStore } from '../../../../src/catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import {
  SELECT_AFTER,
  SELECT_ONE,
  SELECT_STRANDS,
  SELECT_THESE,
} from '../../../../src/catalog-service/store/postgres/statements.ts'
import type { CatalogTables } from '../../../../src/catalog-service/store/schema.ts'
import { systemClock } from '../../../../src/clock.ts'
import { usePostgres } from '../../../helpers/postgres.ts'
import { CHANNEL, putAccounts } from '../../../catalog-service/store/offers-harness.ts'

const PRODUCTS = 30_000

/** Pages of 8 kB that a small answer may cost: some levels of an index, and a few rows. */
const FEW_PAGES = 60

const server = usePostgres()

/** Two offers each, so that a shop has a product twice. */
async function fill(database: Kysely<CatalogTables>): Promise<void> {
  await putAccounts(database)
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
  await store.write(fill, { isOnce: true })
  return store
}

/** How many pages of tables and indexes a statement touches, with these parameters. */
async function countPages(
  { reader }: CatalogStore,
  statement: string,
  ...literals: string[]
): Promise<number> {
  const text = literals.reduce(
    (known, literal, index) => known.replaceAll(`$${index + 1}`, literal),
    statement,
  )
  const explained = await sql<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>`
    explain (analyze, buffers, format json) ${sql.raw(text)}`.execute(reader)
  const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? NaN) + (plan['Shared Read Blocks'] ?? NaN)
}

const toGtin = (number: number): string => `'${String(number).padStart(14, '0')}'`

describe('statements of requests, over many products', () => {
  test('look-up, first page, deep page, next GTINs of a shop - none of them reads what it does not give', async () => {
    const store = await openWithMany()
    expect(await countPages(store, SELECT_ONE, toGtin(20_000))).toBeLessThan(FEW_PAGES)
    const first = await countPages(store, SELECT_AFTER, `''`, '50')
    const deep = await countPages(store, SELECT_AFTER, toGtin(29_000), '50')
    expect(deep).toBeLessThan(first + FEW_PAGES)
    expect(first).toBeLessThan(50 * 10)
    const strand = [`'{0}'`, `'{1}'`, `'{1}'`, `'{0}'`, `'{""}'`, '50']
    expect(await countPages(store, SELECT_STRANDS, ...strand)).toBeLessThan(FEW_PAGES)
    expect(await countPages(store, SELECT_THESE, `array[${toGtin(7)}, ${toGtin(20_007)}]`)).toBeLessThan(
      FEW_PAGES,
    )
  })

  test('channel that shows three of them - all three, soon', async () => {
    const store = await openWithMany()
    const page = await store
      .openReads()
      .fetchPage({ organizationId: 'o', channelId: CHANNEL }, { afterGtin: '', limit: 50 })
    expect(page?.items.map(({ gtin }) => Number(gtin))).toEqual([7, 10_007, 20_007])
    expect(page?.lastGtin).toBeNull()
  })
})
