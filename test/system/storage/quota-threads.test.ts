import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { NOON_MS } from '../../helpers/harness.ts'

const CATALOG = 'https://one.example'
const DAILY_LIMIT = 40

const built = (name: string): string =>
  JSON.stringify(new URL(`../../../dist/${name}.js`, import.meta.url).href)

test('three rate limiters in separate threads at the same time - together they use exactly the share', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-quota-'))
  const path = join(folder, 'copy.db')
  const copy = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: CATALOG })
  onTestFinished(async () => {
    await copy.close()
    await rm(folder, { recursive: true, force: true })
  })
  const ready = new Int32Array(new SharedArrayBuffer(4))
  const counts = await Promise.all([1, 2, 3].map(() => callInThread(path, { ready, threadCount: 3 })))
  expect(counts.reduce((sum, calls) => sum + calls, 0)).toBe(DAILY_LIMIT / 2)
  expect((await copy.updateQuota(NOON_MS, (state) => state)).calls.walk).toBe(DAILY_LIMIT / 2)
})

/**
 * Request thirty walk calls with the built code, like another process, once all threads are ready.
 * Return how many were allowed.
 */
function callInThread(
  path: string,
  start: Readonly<{ ready: Int32Array; threadCount: number }>,
): Promise<number> {
  const body = `
    const { parentPort, workerData } = require('node:worker_threads')
    const run = async () => {
      const { createRateLimiter } = await import(${built('catalog/rate-limiter')})
      const { openStoredCopy } = await import(${built('storage/stored-copy')})
      const database = { kind: 'sqlite', path: ${JSON.stringify(path)} }
      const store = await openStoredCopy({ database, catalog: ${JSON.stringify(CATALOG)} })
      const clock = { nowMs: () => ${NOON_MS}, wait: () => Promise.resolve() }
      const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 0, dailyLimit: ${DAILY_LIMIT}, store })
      const { ready, threadCount } = workerData
      Atomics.add(ready, 0, 1)
      Atomics.notify(ready, 0)
      for (let count = Atomics.load(ready, 0); count < threadCount; count = Atomics.load(ready, 0))
        Atomics.wait(ready, 0, count)
      let allowed = 0
      for (let turn = 0; turn < 30; turn += 1)
        await limiter.acquire('walk').then(
          () => { allowed += 1 },
          (error) => { if (error.code !== 'VITRINE_CATALOG_CALL_BLOCKED') throw error },
        )
      await store.close()
      parentPort.postMessage(allowed)
    }
    run().catch((error) => { throw error })`
  return new Promise((resolve, reject) => {
    const worker = new Worker(body, { eval: true, workerData: start })
    worker.once('message', (calls: number) => resolve(calls))
    worker.once('error', reject)
  })
}
