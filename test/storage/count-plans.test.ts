import { createRequire } from 'node:module'
import { expect, onTestFinished, test } from 'vitest'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { selectKnownGtins } from '../../src/storage/sql-coverage.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { toGtin } from '../helpers/products.ts'

type Statement = Readonly<{ all(...values: readonly unknown[]): readonly Readonly<{ detail: string }>[] }>
type Database = Readonly<{ prepare(text: string): Statement; close(): void }>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => Database }>

const { DatabaseSync } = (process.getBuiltinModule('node:sqlite' as 'node:fs') ??
  createRequire(import.meta.url)('@photostructure/sqlite')) as unknown as NativeModule

test('check for known products - stops at the first count of each', async () => {
  const { path, remove } = await makeCopyFile()
  const { writer, close } = await openCopyDatabase({ kind: 'sqlite', path })
  const { sql, parameters } = selectKnownGtins(writer, 1, [toGtin(1)]).compile(writer)
  await close()
  const file = new DatabaseSync(path)
  onTestFinished(async () => {
    file.close()
    await remove()
  })
  const steps = file
    .prepare(`explain query plan ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
  expect(steps.filter((step) => step.startsWith('CORRELATED'))).toHaveLength(2)
  expect(steps.at(-1)).toBe(
    'SEARCH widget_counts USING COVERING INDEX widget_counts_by_product (copy_id=? AND gtin=?)',
  )
})
