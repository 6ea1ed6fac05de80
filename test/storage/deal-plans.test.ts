import { createRequire } from 'node:module'
import { type CompiledQuery, createQueryId } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { DEADLINE_FUNCTION } from '../../src/database/sqlite.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { findDeals } from '../../src/storage/deals.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { DealQuery } from '../../src/storage/store.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'
import { makeQuery, walkAll } from './conformance/subject.ts'

type Statement = Readonly<{ all(...values: readonly unknown[]): readonly Readonly<{ detail: string }>[] }>
type Database = Readonly<{ prepare(text: string): Statement; close(): void }>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => Database }>

const { DatabaseSync } = (process.getBuiltinModule('node:sqlite' as 'node:fs') ??
  createRequire(import.meta.url)('@photostructure/sqlite')) as unknown as NativeModule

const COPY = { id: 1, currentWalk: 1, runningWalk: 1, visibleWalk: 1, dealCurrency: 'EUR', nowMs: 200 }
const DEAL = { merchant: 'Kopje', network: 'Tradeloom', oldPrice: '9000.00' }

/** Find the deal of a copy, and return by which index each statement of SQLite reads the table of deals. */
async function readPlans(over: Partial<DealQuery>): Promise<readonly string[]> {
  const { path, remove } = await makeCopyFile()
  const address = { kind: 'sqlite', path } as const
  const store = await openStoredCopy({ database: address, catalog: 'https://one.example' })
  await walkAll(store, [makeProduct({ brand: 'Lumen', offers: [makeParsedOffer(DEAL)] })], 100)
  await store.close()
  const { writer, close } = await openCopyDatabase(address)
  const file = new DatabaseSync(path)
  onTestFinished(async () => {
    file.close()
    await close()
    await remove()
  })
  const queries: CompiledQuery[] = []
  const database = writer.withPlugin({
    transformQuery({ node }) {
      queries.push(writer.getExecutor().compileQuery(node, createQueryId()))
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  expect(await findDeals(database, COPY, makeQuery(over))).toHaveLength(1)
  return queries.flatMap(({ sql, parameters }) => {
    // Only the server's own connection has the function.
    const steps = file
      .prepare(`explain query plan ${sql.replaceAll(`${DEADLINE_FUNCTION}()`, '1')}`)
      .all(...parameters)
    return steps.map(({ detail }) => detail).filter((detail) => detail.startsWith('SEARCH deals'))
  })
}

test.each<[string, Partial<DealQuery>]>([
  ['network', { networks: ['tradeloom'] }],
  ['network', { networks: ['tradeloom', 'other'], sort: 'price', minDiscountPercent: 20 }],
  ['merchant', { merchants: ['kopje', 'other'], sort: 'newest' }],
  ['brand', { brand: 'lumen', minDiscountPercent: 20 }],
])('rare %s, %j - its index counts and finds the deals', async (name, over) => {
  const columns = `copy_id=? AND is_observed=? AND currency=? AND ${name}_key=?`
  expect(await readPlans(over)).toEqual([
    `SEARCH deals USING COVERING INDEX deals_by_${name} (${columns})`,
    `SEARCH deals USING INDEX deals_by_${name} (${columns})`,
    'SEARCH deals USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

test('rare word - deals are found by their products, without rows of the other evidence', async () => {
  expect(await readPlans({ searchText: 'lumen' })).toEqual([
    'SEARCH deals USING INDEX deals_of_product (product_id=? AND is_observed=?)',
    'SEARCH deals USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})
