import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/clock.ts'
import { openTestStore } from '../harness.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { getUsage } from '../store-handles.ts'

/** Read all counts as `organization day requests`. */
async function readUsage(store: CatalogStore): Promise<string[]> {
  const rows = await (await getUsage(store)).selectFrom('usage').selectAll().orderBy('day').execute()
  return rows.map((row) => `${row.organization_id} ${row.day} ${row.requests}`).sort()
}

/** Count several requests, one after the other. */
async function countAll(
  store: CatalogStore,
  id: string,
  limits: readonly (number | null)[],
): Promise<boolean[]> {
  const responses: boolean[] = []
  for (const dailyLimit of limits) responses.push(await store.countRequest({ id, dailyLimit }))
  return responses
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

  test('limit that changes - applies also to requests counted before', async () => {
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

  test('any limit and any number of concurrent requests - exactly the allowed number passes', async () => {
    const { store } = await openTestStore()
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.nat(6), fc.nat(8), async (dailyLimit, requests) => {
        const organization = { id: `run ${(run += 1)}`, dailyLimit }
        const responses = await Promise.all(
          Array.from({ length: requests }, () => store.countRequest(organization)),
        )
        expect(responses.filter(Boolean)).toHaveLength(Math.min(dailyLimit, requests))
      }),
      { numRuns: toRunCount(40) },
    )
  })
})

describe('usage, by organization and day', () => {
  test('two organizations - each has its own count', async () => {
    const { store } = await openTestStore()
    expect(await countAll(store, 'a', [1, 1])).toEqual([true, false])
    expect(await countAll(store, 'b', [1, 1])).toEqual([true, false])
    expect(await readUsage(store)).toEqual(['a 2026-05-01 1', 'b 2026-05-01 1'])
  })

  test('last millisecond of a UTC day - still that day; the next millisecond - a new count', async () => {
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

  test('clock set back to a day at its limit - that day stays at its limit', async () => {
    const { store, clock } = await openTestStore()
    await countAll(store, 'a', [1])
    clock.advance(DAY_MS)
    expect(await countAll(store, 'a', [1])).toEqual([true])
    clock.advance(-DAY_MS)
    expect(await countAll(store, 'a', [1])).toEqual([false])
  })
})
