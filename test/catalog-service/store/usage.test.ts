import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { createUsageCounter } from '../../../src/catalog-service/store/usage.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/clock.ts'
import { openTestStore } from '../harness.ts'

/** Everything that is counted, as `organization day requests`. */
async function readUsage(store: CatalogStore): Promise<string[]> {
  const rows = await store.usage.selectFrom('usage').selectAll().orderBy('day').execute()
  return rows.map((row) => `${row.organization_id} ${row.day} ${row.requests}`).sort()
}

/** The answers to several requests, one after the other. */
async function countAll(
  store: CatalogStore,
  id: string,
  limits: readonly (number | null)[],
): Promise<boolean[]> {
  const usage = createUsageCounter(store)
  const answers: boolean[] = []
  for (const dailyLimit of limits) answers.push(await usage.count({ id, dailyLimit }))
  return answers
}

describe('usage, limit', () => {
  test.each([
    [0, [false, false], []],
    [1, [true, false], ['a 2026-05-01 1']],
    [2, [true, true], ['a 2026-05-01 2']],
    [3, [true, true], ['a 2026-05-01 2']],
    [null, [true, true], ['a 2026-05-01 2']],
  ])('limit of %j, two requests - %j', async (limit, expected, usage) => {
    const { store } = await openTestStore()
    expect(await countAll(store, 'a', [limit, limit])).toEqual(expected)
    expect(await readUsage(store)).toEqual(usage)
  })

  test('limit that changes on the way - the new one holds for what was counted before', async () => {
    const { store } = await openTestStore()
    expect(await countAll(store, 'a', [null, null, 2, 3, 3, 0, null])).toEqual([
      true,
      true,
      false,
      true,
      false,
      false,
      true,
    ])
    expect(await readUsage(store)).toEqual(['a 2026-05-01 4'])
  })

  test('any limit and any number of requests at once - as many pass as are allowed', async () => {
    const { store } = await openTestStore()
    const usage = createUsageCounter(store)
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.nat(6), fc.nat(8), async (dailyLimit, requests) => {
        const organization = { id: `run ${(run += 1)}`, dailyLimit }
        const answers = await Promise.all(Array.from({ length: requests }, () => usage.count(organization)))
        expect(answers.filter(Boolean)).toHaveLength(Math.min(dailyLimit, requests))
      }),
      { numRuns: 40 },
    )
  })
})

describe('usage, several processes', () => {
  test('four of them at once - together as many as are allowed', async () => {
    const { store, path } = await openTestStore()
    const dist = new URL('../../../dist/', import.meta.url).href
    const program = `
      const { openCatalogStore } = await import('${dist}catalog-service/store/open-store.js')
      const { createUsageCounter } = await import('${dist}catalog-service/store/usage.js')
      const store = await openCatalogStore({ path: process.argv[1], clock: { nowMs: () => 0 } })
      const usage = createUsageCounter(store)
      let counted = 0
      for (let round = 0; round < 100; round += 1) {
        const answers = await Promise.all([1, 2, 3].map(() => usage.count({ id: 'a', dailyLimit: 700 })))
        counted += answers.filter(Boolean).length
      }
      console.log(counted)
      await store.close()`
    const run = promisify(execFile)
    const parameters = ['--input-type=module', '-e', program, path]
    const outputs = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, parameters)))
    const counts = outputs.map(({ stdout }) => Number(stdout))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(700)
    expect(await readUsage(store)).toEqual(['a 1970-01-01 700'])
  })
})

describe('usage, whose and when', () => {
  test('two organizations - each has its own count', async () => {
    const { store } = await openTestStore()
    expect(await countAll(store, 'a', [1, 1])).toEqual([true, false])
    expect(await countAll(store, 'b', [1, 1])).toEqual([true, false])
    expect(await readUsage(store)).toEqual(['a 2026-05-01 1', 'b 2026-05-01 1'])
  })

  test('last millisecond of a UTC day - still that day; the next one - a new count', async () => {
    const { store, clock } = await openTestStore()
    expect(await countAll(store, 'a', [1])).toEqual([true])
    clock.advance(30 * MINUTE_MS - 1)
    expect(await countAll(store, 'a', [1])).toEqual([false])
    clock.advance(1)
    expect(await countAll(store, 'a', [1, 1])).toEqual([true, false])
    clock.advance(DAY_MS)
    expect(await countAll(store, 'a', [1])).toEqual([true])
    expect(await readUsage(store)).toEqual(['a 2026-05-01 1', 'a 2026-05-02 1', 'a 2026-05-03 1'])
  })

  test('clock set back to a day that was used up - that day stays used up', async () => {
    const { store, clock } = await openTestStore()
    await countAll(store, 'a', [1])
    clock.advance(DAY_MS)
    expect(await countAll(store, 'a', [1])).toEqual([true])
    clock.advance(-DAY_MS)
    expect(await countAll(store, 'a', [1])).toEqual([false])
  })
})
