import { afterEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../src/clock.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { type Harness, createHarness } from '../helpers/harness.ts'
import { makeWireProducts, setProducts } from './walk-fixture.ts'

const LISTS = /\/channels$/

let harness: Harness
afterEach(async () => {
  await harness.dispose()
})

/** Walk once, then run the hourly schedule; return the hours at which it walked. */
async function runHours(settings: Record<string, string>, hours: number): Promise<number[]> {
  harness = await createHarness({ settings })
  setProducts(harness.catalog, makeWireProducts(1_000))
  await harness.context.walks.runNow()
  const walkedAt: number[] = []
  for (let hour = 1; hour <= hours; hour += 1) {
    harness.clock.advance(HOUR_MS)
    const before = harness.catalog.countCalls(LISTS)
    await harness.context.walks.runIfDue()
    if (harness.catalog.countCalls(LISTS) > before) walkedAt.push(hour)
  }
  return walkedAt
}

describe('hourly schedule, walks of six calls', () => {
  test('no limit - every hour', async () => {
    expect(await runHours({}, 4)).toEqual([1, 2, 3, 4])
  })

  test('24 walks fit into the share - every hour', async () => {
    expect(await runHours({ VITRINE_CATALOG_DAILY_LIMIT: '300' }, 4)).toEqual([1, 2, 3, 4])
  })

  test('four walks fit into the share - every six hours, each complete', async () => {
    expect(await runHours({ VITRINE_CATALOG_DAILY_LIMIT: '48' }, 24)).toEqual([6, 12, 18, 24])
    expect(harness.logs()).not.toContain('channel walk failed')
    expect(await harness.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ failure: null })
  })

  test('share used up - no walk until 00:00 UTC, and the log reports it', async () => {
    expect(await runHours({ VITRINE_CATALOG_DAILY_LIMIT: '12' }, 11)).toEqual([])
    expect(harness.logs()).toContain(
      'skipped a scheduled walk: catalog calls are paused or the walk share is used up',
    )
  })

  test('limit reached - no walk while calls are paused', async () => {
    harness = await createHarness()
    setProducts(harness.catalog, makeWireProducts(3))
    await harness.context.walks.runNow()
    await harness.context.callPolicy.pauseUntil(harness.clock.nowMs() + HOUR_MS)
    harness.catalog.calls.length = 0
    await harness.context.walks.runIfDue()
    expect(harness.catalog.calls).toEqual([])
    harness.clock.advance(HOUR_MS)
    await harness.context.walks.runIfDue()
    expect(harness.catalog.countCalls(LISTS)).toBe(1)
  })
})
