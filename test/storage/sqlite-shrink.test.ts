import { statSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { OpenDatabase } from '../../src/database/open-database.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { openCopyDatabase, shrinkFile } from '../../src/storage/copy-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from '../sync/walk-fixture.ts'

const toAddress = ({ job }: WalkFixture): Readonly<{ kind: 'sqlite'; path: string }> => ({
  kind: 'sqlite',
  path: job.database.slice('sqlite:'.length),
})

/** Open the copy with the given number of free pages, left by a dropped table. */
async function openWithFreePages(fixture: WalkFixture, pages: number): Promise<OpenDatabase<CopyTables>> {
  const opened = await openCopyDatabase(toAddress(fixture))
  onTestFinished(() => opened.close())
  await sql`create table filler as with recursive n (i) as (select 1 union all select i + 1 from n where i < ${pages})
    select i, zeroblob(4000) as bytes from n`.execute(opened.writer)
  await sql`drop table filler`.execute(opened.writer)
  return opened
}

async function countPages({
  writer,
}: OpenDatabase<CopyTables>): Promise<Readonly<{ all: number; free: number }>> {
  const { rows } = await sql<{ all: number; free: number }>`
    select page_count as "all", freelist_count as free from pragma_page_count, pragma_freelist_count`.execute(
    writer,
  )
  return rows[0] ?? { all: 0, free: 0 }
}

test('catalog that became small - the walk shrinks the file, and the remaining data is readable', async () => {
  const fixture = await makeWalkFixture()
  const { path } = toAddress(fixture)
  setProducts(fixture.catalog, makeWireProducts(4_000))
  await fixture.walk()
  const before = statSync(path).size
  setProducts(fixture.catalog, makeWireProducts(2_100))
  await fixture.walk()
  setProducts(fixture.catalog, makeWireProducts(1_300, 'Vase'))
  await fixture.walk()
  setProducts(fixture.catalog, makeWireProducts(700))
  await fixture.walk()
  await fixture.walk()
  const { all, free } = await openCopyDatabase(toAddress(fixture)).then(async (opened) => {
    onTestFinished(() => opened.close())
    // The shrunk size may still be only in the write-ahead log.
    await sql`pragma wal_checkpoint(truncate)`.execute(opened.writer)
    return countPages(opened)
  })
  expect(free).toBeLessThanOrEqual(all / 2 + 128)
  expect(statSync(path).size).toBeLessThan(before)
  expect((await fixture.copy.findProduct(CHANNEL_ID, toGtin(699)))?.product?.title).toBe('Lamp 699')
  const store = await openStoredCopy({ database: toAddress(fixture), catalog: 'c' })
  onTestFinished(() => store.close())
  expect(await store.findDamage()).toBeNull()
})

test('free pages - the file shrinks until half of it is free; a second run changes nothing', async () => {
  const opened = await openWithFreePages(await makeWalkFixture(), 4_000)
  await shrinkFile(opened.writer)
  const shrunk = await countPages(opened)
  expect(shrunk.free / shrunk.all).toBeCloseTo(1 / 2, 1)
  await shrinkFile(opened.writer)
  expect(await countPages(opened)).toEqual(shrunk)
})

test('aborted - the file does not shrink', async () => {
  const opened = await openWithFreePages(await makeWalkFixture(), 1_000)
  const before = await countPages(opened)
  await shrinkFile(opened.writer, AbortSignal.abort())
  expect(await countPages(opened)).toEqual(before)
})

test('file shrinks in steps - another connection without a busy timeout writes between them', async () => {
  const fixture = await makeWalkFixture()
  const opened = await openWithFreePages(fixture, 8_000)
  const other = openSqlite({ path: toAddress(fixture).path, role: 'writer', busyTimeoutMs: 0 })
  onTestFinished(() => other.close())
  const state = { isOver: false }
  const shrinking = shrinkFile(opened.writer).finally(() => void (state.isOver = true))
  let writes = 0
  while (!state.isOver) {
    other.prepare('update search_backlog set below_id = below_id').run([])
    writes += 1
    await new Promise((resolve) => setImmediate(resolve))
  }
  await shrinking
  expect(writes).toBeGreaterThan(10)
})

test('file created by an older version - can be walked', async () => {
  const fixture = await makeWalkFixture()
  const address = toAddress({
    ...fixture,
    job: { ...fixture.job, database: `${fixture.job.database}.older` },
  })
  const older = openSqlite({ path: address.path, role: 'writer' })
  older.prepare('create table older (id integer)').run([])
  older.close()
  setProducts(fixture.catalog, makeWireProducts(250))
  const report = await fixture.walk({ job: { database: `sqlite:${address.path}` } })
  expect(report.walks).toMatchObject([{ outcome: 'complete', productCount: 250 }])
})
