import { describe, expect, test } from 'vitest'
import type { CallPolicyState } from '../../src/catalog/call-policy.ts'
import { createQuotaState } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import type { CopyState } from '../../src/storage/store.ts'
import { type HealthData, type HealthView, toHealthView } from '../../src/studio/health.ts'
import { formatAge } from '../../src/lib/format.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { CHANNEL, OBSERVED_DAYS, WALKED_COPY, makeHealthData } from '../helpers/studio-view.ts'

/** Replace the various spaces of Intl by plain ones. */
const plain = (text: string): string => text.replace(/\s/g, ' ')

/** Return a line as `good: value` or `bad: value | remedy`. */
function readLine(label: string, over: Partial<HealthData> = {}): string | undefined {
  const line = toHealthView(makeHealthData(over)).lines.find((one) => one.label === label)
  if (line === undefined) return undefined
  return plain(
    `${line.isHealthy ? 'good' : 'bad'}: ${line.value}${line.remedy === null ? '' : ` | ${line.remedy}`}`,
  )
}

const withCallPolicy = (over: Partial<CallPolicyState>): Partial<HealthData> => ({
  callPolicy: { ...makeHealthData().callPolicy, ...over },
})

const CALLS = { walk: 1_000, refresh: 200, lookup: 34 }

describe('lines', () => {
  test('healthy - every line is good and has no remedy', () => {
    const { lines } = toHealthView(makeHealthData())
    expect(lines.map(({ label }) => label)).toEqual(['Catalog', 'Calls today', 'Stored copy', 'Channels'])
    expect(lines.every(({ isHealthy, remedy }) => isHealthy && remedy === null)).toBe(true)
  })

  test('catalog - responds, fails, or rejected the key, which has priority', () => {
    expect(readLine('Catalog')).toBe('good: responds')
    for (const breaker of ['open', 'probing'] as const)
      expect(readLine('Catalog', withCallPolicy({ breaker }))).toMatch(/^bad: fails \| .*"vitrine check"/)
    expect(readLine('Catalog', { isCatalogEmpty: true })).toMatch(
      /^bad: is empty \| .*backup.*"vitrine check"/,
    )
    const rejected = { breaker: 'open', keyRefusedUntilMs: NOON_MS + 1 } as const
    expect(readLine('Catalog', withCallPolicy(rejected))).toMatch(
      /^bad: rejected the key \| .*VITRINE_CATALOG_KEY/,
    )
    expect(readLine('Catalog', withCallPolicy({ keyRefusedUntilMs: NOON_MS }))).toBe('good: responds')
  })

  test('calls - the sum of all purposes, and the calls left of a known limit', () => {
    const quota = { ...createQuotaState(NOON_MS), calls: CALLS }
    expect(readLine('Calls today', withCallPolicy({ quota }))).toBe(
      'good: 1,234 made; no daily limit is known',
    )
    const limit = { calls: 5_000, isLearned: false }
    expect(readLine('Calls today', withCallPolicy({ quota, limit }))).toBe(
      'good: 1,234 made, 3,766 left of 5,000',
    )
    const learned = { calls: 1_000, isLearned: true }
    expect(readLine('Calls today', withCallPolicy({ quota, limit: learned }))).toBe(
      'good: 1,234 made, 0 left of 1,000 (learned)',
    )
  })

  test('calls - paused by the catalog: shows the end of the pause', () => {
    const quota = { ...createQuotaState(NOON_MS), calls: CALLS, limitedUntilMs: NOON_MS + HOUR_MS }
    expect(readLine('Calls today', withCallPolicy({ quota }))).toBe(
      'bad: 1,234 made, none left until Nov 21, 2026, 1:00 PM UTC | Readers get the stored copy until then.',
    )
    expect(readLine('Calls today', withCallPolicy({ quota: { ...quota, limitedUntilMs: NOON_MS } }))).toMatch(
      /^good/,
    )
  })

  test('stored copy - read-only: says what readers get, and what to do', () => {
    expect(readLine('Stored copy', { isStoreReadOnly: true })).toBe(
      'bad: is read-only | Readers get the stored data. Set VITRINE_DATABASE_URL to a database that accepts writes.',
    )
  })

  test('stored copy - works, or shows the error', () => {
    expect(readLine('Stored copy')).toBe('good: is readable and writable')
    expect(readLine('Stored copy', { storeFailure: 'disk full' })).toMatch(
      /^bad: failed: disk full \| .*check/,
    )
  })

  test('channels - held empty list: shows since when, and what to do', () => {
    expect(readLine('Channels', { channelsHeldSinceMs: NOON_MS })).toMatch(
      /^bad: the catalog lists none since Nov 21, 2026, 12:00 PM UTC; the stored copies are kept \| .*vitrine sync --accept/,
    )
  })

  test('channels - their number, or "none"', () => {
    expect(readLine('Channels', { channelCount: 1_234 })).toBe('good: 1,234')
    expect(readLine('Channels', { channels: [], channelCount: 0 })).toMatch(/^bad: none \| /)
  })
})

/** The row of the only channel. */
function readRow(state: Partial<CopyState>, over: Partial<HealthData> = {}): HealthView['channels'][number] {
  const channels = [{ channel: CHANNEL, state: { ...WALKED_COPY, ...state }, observedDays: OBSERVED_DAYS }]
  const [row] = toHealthView(makeHealthData({ channels, ...over })).channels
  if (row === undefined) throw new Error('no row')
  return { ...row, walk: plain(row.walk) }
}

const at = (ageMs: number): Partial<CopyState> => ({ completedAtMs: NOON_MS - ageMs })

describe('stored copies', () => {
  test('recent and complete - is good', () => {
    expect(readRow({ dealCount: 1_007 })).toEqual({
      name: 'Magazine',
      products: '1,236',
      deals: '1,007',
      prices: 'observed on 118 days (30 imported)',
      age: 'less than a minute',
      walk: 'complete, Nov 21, 2026, 12:00 PM UTC',
      dropped: [],
      isHealthy: true,
    })
  })

  test('without a price history - says so', () => {
    const channels = [{ channel: CHANNEL, state: WALKED_COPY, observedDays: null }]
    expect(toHealthView(makeHealthData({ channels })).channels).toMatchObject([
      { prices: 'not recorded (VITRINE_HISTORY_DAYS=0)', isHealthy: true },
    ])
  })

  test('no copy yet - is not good, whether a walk is running or not', () => {
    const none = { currentWalk: 0, completedAtMs: null, completedStartedAtMs: null }
    expect(readRow(none)).toMatchObject({ age: 'no copy yet', walk: 'none yet', isHealthy: false })
    expect(readRow({ ...none, isRunning: true })).toMatchObject({ walk: 'running', isHealthy: false })
  })

  test('old - is good for two walk periods, or indefinitely without a schedule', () => {
    expect(readRow(at(2 * HOUR_MS))).toMatchObject({ age: '2 h', isHealthy: true })
    expect(readRow(at(2 * HOUR_MS + 1))).toMatchObject({ isHealthy: false })
    expect(readRow(at(90 * DAY_MS), { findWalkPeriodMs: () => Infinity })).toMatchObject({
      age: '90 d',
      isHealthy: true,
    })
    expect(readRow(at(-MINUTE_MS))).toMatchObject({ age: 'less than a minute', isHealthy: true })
  })

  test('dated in the future - has no age and no time, and is not good', () => {
    expect(readRow(at(-HOUR_MS))).toMatchObject({
      age: 'time unknown: the clock was wrong',
      walk: 'complete',
      isHealthy: false,
    })
  })

  test('held walk - shows since when, why and what to do, and is not good', () => {
    const held = { reason: 'few_products', sinceMs: NOON_MS, startedAtMs: NOON_MS, productCount: 3 } as const
    expect(readRow({ held })).toMatchObject({
      isHealthy: false,
      walk: expect.stringMatching(
        /^held since Nov 21.*: it found 3 products where the copy has 1,236\. If the catalog is right, run "vitrine sync --accept"/,
      ) as string,
    })
  })

  test('hold and failure dated in the future - have no time', () => {
    const sinceMs = NOON_MS + HOUR_MS
    const held = { reason: 'few_products', sinceMs, startedAtMs: sinceMs, productCount: 3 } as const
    expect(readRow({ held }).walk).toMatch(/^held since an unknown time: it found 3/)
    expect(readRow({ failure: 'VITRINE_STORE_FAILED', failedAtMs: sinceMs }).walk).toBe(
      'failed with VITRINE_STORE_FAILED, time unknown: the clock was wrong',
    )
    expect(readLine('Channels', { channelsHeldSinceMs: sinceMs })).toContain(
      'lists none since an unknown time; the stored copies are kept',
    )
  })

  test('failed walk - shows the error and its time, and is not good although the copy is recent', () => {
    const failure = 'VITRINE_CATALOG_STATUS'
    expect(readRow({ failure, failedAtMs: NOON_MS - HOUR_MS, isRunning: true })).toMatchObject({
      walk: 'failed with VITRINE_CATALOG_STATUS, Nov 21, 2026, 11:00 AM UTC',
      isHealthy: false,
    })
    expect(readRow({ failure }).walk).toBe('failed with VITRINE_CATALOG_STATUS')
    expect(readRow({ failure, failureReason: 'the catalog responded with status 500' }).walk).toBe(
      'failed: the catalog responded with status 500 (VITRINE_CATALOG_STATUS)',
    )
    const retry = { code: failure, reason: 'the catalog responded with status 500' }
    expect(readRow({ isRunning: true, retry }).walk).toBe(
      'the running walk retries a call that failed: the catalog responded with status 500 (VITRINE_CATALOG_STATUS)',
    )
  })

  test('dropped items - one text for each reason; an unknown reason keeps its name', () => {
    const drops = {
      product: 1,
      merchant: 2,
      price: 1_005,
      currency: 4,
      link: 5,
      shape: 6,
      too_many: 7,
      toString: 8,
    }
    expect(readRow({ drops }).dropped).toEqual([
      '1 product without GTIN, title or offers',
      '2 offers without a shop’s name',
      '1,005 offers without a usable price',
      '4 offers without a currency',
      '5 offers without a usable link',
      '6 offers that cannot be read',
      '7 offers above the limit of offers per product',
      '8 left out: toString',
    ])
  })

  test('channels beyond the table - are counted', () => {
    const channels = Array.from({ length: 50 }, () => ({
      channel: CHANNEL,
      state: WALKED_COPY,
      observedDays: OBSERVED_DAYS,
    }))
    const health = toHealthView(makeHealthData({ channels, channelCount: 1_000 }))
    expect([health.channels.length, health.moreChannels]).toEqual([50, 950])
    expect(toHealthView(makeHealthData({ channelCount: 0 })).moreChannels).toBe(0)
  })
})

test.each([
  [0, 'less than a minute'],
  [MINUTE_MS - 1, 'less than a minute'],
  [MINUTE_MS, '1 min'],
  [HOUR_MS - SECOND_MS, '59 min'],
  [HOUR_MS + 20 * MINUTE_MS, '1 h 20 min'],
  [DAY_MS - 1, '23 h 59 min'],
  [DAY_MS, '1 d'],
  [DAY_MS + 5 * MINUTE_MS, '1 d'],
  [3 * DAY_MS + 5 * HOUR_MS + 59 * MINUTE_MS, '3 d 5 h'],
])('age of %i ms - is %s', (ageMs, text) => {
  expect(formatAge(ageMs)).toBe(text)
})

describe('webhook', () => {
  const delivery = { pendingCount: 0, deliveredAtMs: NOON_MS, failure: null, failedAtMs: null }

  test('no webhook - no line', () => {
    expect(readLine('Webhook')).toBeUndefined()
  })

  test('delivered, waiting, failed - the last delivery and what is wrong', () => {
    const last = 'last delivery Nov 21, 2026, 12:00 PM UTC'
    expect(readLine('Webhook', { delivery })).toBe(`good: ${last}`)
    expect(readLine('Webhook', { delivery: { ...delivery, deliveredAtMs: null, pendingCount: 1 } })).toBe(
      'good: no event delivered yet; 1 event waiting',
    )
    const failed = { ...delivery, pendingCount: 2, failure: 'status 500', failedAtMs: NOON_MS }
    expect(readLine('Webhook', { delivery: failed })).toBe(
      `bad: failed Nov 21, 2026, 12:00 PM UTC: status 500; ${last}; 2 events waiting | The server tries again for three days. Run "vitrine check" to test the webhook.`,
    )
  })
})
