import { createRequire } from 'node:module'
import type { Kysely, RawBuilder } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { selectKnownGtins, selectKnownSubs } from '../../src/storage/count-writer.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { toGtin } from '../helpers/products.ts'

type Statement = Readonly<{ all(...values: readonly unknown[]): readonly Readonly<{ detail: string }>[] }>
type Database = Readonly<{ prepare(text: string): Statement; close(): void }>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => Database }>

const { DatabaseSync } = (process.getBuiltinModule('node:sqlite' as 'node:fs') ??
  createRequire(import.meta.url)('@photostructure/sqlite')) as unknown as NativeModule

/** Return the steps by which SQLite runs a statement. */
async function readPlan(
  select: (database: Kysely<CopyTables>) => RawBuilder<unknown>,
): Promise<readonly string[]> {
  const { path, remove } = await makeCopyFile()
  const { writer, close } = await openCopyDatabase({ kind: 'sqlite', path })
  const { sql, parameters } = select(writer).compile(writer)
  await close()
  const file = new DatabaseSync(path)
  onTestFinished(async () => {
    file.close()
    await remove()
  })
  const steps = file.prepare(`explain query plan ${sql}`).all(...parameters)
  return steps.map(({ detail }) => detail).filter((detail) => !detail.includes('given'))
}

test('check for known products - stops at the first count of each', async () => {
  expect(await readPlan((database) => selectKnownGtins(database, 1, [toGtin(1)]))).toEqual([
    expect.stringMatching(/^CORRELATED SCALAR SUBQUERY/),
    expect.stringMatching(/^SEARCH products USING COVERING INDEX/),
    expect.stringMatching(/^CORRELATED SCALAR SUBQUERY/),
    'SEARCH widget_counts USING COVERING INDEX widget_counts_by_product (copy_id=? AND gtin>?)',
  ])
})

test('check for known sub-ids - stops at the first count of each', async () => {
  const day = { copy_id: 1, day: 20_000 }
  expect(await readPlan((database) => selectKnownSubs(database, day, ['a']))).toEqual([
    expect.stringMatching(/^CORRELATED SCALAR SUBQUERY/),
    'SEARCH widget_counts USING PRIMARY KEY (copy_id=? AND day=? AND sub>?)',
    expect.stringMatching(/^CORRELATED SCALAR SUBQUERY/),
    'SEARCH click_counts USING PRIMARY KEY (copy_id=? AND day=? AND sub>?)',
    expect.stringMatching(/^CORRELATED SCALAR SUBQUERY/),
    'SEARCH widget_counts USING COVERING INDEX widget_counts_by_sub (copy_id=? AND sub>?)',
  ])
})
