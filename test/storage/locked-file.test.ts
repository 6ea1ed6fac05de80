import { randomUUID } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { CopyStore } from '../../src/storage/store.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL } from './conformance/subject.ts'

type StoreFixture = Readonly<{ store: CopyStore; clock: FakeClock; path: string }>

async function openStore(): Promise<StoreFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-reconnect-'))
  const path = join(folder, 'copy.db')
  const clock = createFakeClock(0)
  const store = await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog: 'c',
    clock,
    service: { visitorTimeoutMs: SECOND_MS, onFailure: () => {} },
  })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { store, clock, path }
}

const put = (store: CopyStore, index: number): Promise<void> =>
  store.putLookups([
    {
      channelId: CHANNEL,
      gtin: toGtin(index),
      entry: { product: makeProduct({ gtin: toGtin(index) }), asOfMs: 1 },
    },
  ])

test('database locked by another process - one write waits, the next ones fail at once, reads continue; then writes recover', async () => {
  const { store, clock, path } = await openStore()
  await put(store, 1)
  const other = openSqlite({ path, role: 'writer' })
  onTestFinished(() => other.close())
  other.prepare('begin immediate').run([])
  await expect(put(store, 2)).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
  for (let turn = 0; turn < 100; turn++)
    await expect(put(store, 3)).rejects.toThrow('another process was writing to the database a moment ago')
  expect((await store.findProduct(CHANNEL, toGtin(1)))?.asOfMs).toBe(1)
  other.prepare('rollback').run([])
  clock.advance(SECOND_MS)
  await put(store, 4)
  expect((await store.findProduct(CHANNEL, toGtin(4)))?.asOfMs).toBe(1)
})

test('database file moved elsewhere - is detected within half a minute, and a new file is created', async () => {
  const { store, clock, path } = await openStore()
  await put(store, 1)
  renameSync(path, `${path}.${randomUUID()}`)
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
  clock.advance(30 * SECOND_MS)
  expect(await store.findProduct(CHANNEL, toGtin(1))).toBeUndefined()
  await put(store, 2)
  expect((await store.findProduct(CHANNEL, toGtin(2)))?.asOfMs).toBe(1)
  expect(statSync(path).size).toBeGreaterThan(0)
})
