import { describe, expect, test } from 'vitest'
import type { CallPolicyState } from '../../src/catalog/call-policy.ts'
import { createQuotaState } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import type { CopyState } from '../../src/storage/store.ts'
import { type HealthData, type HealthView, formatAge, toHealthView } from '../../src/studio/health.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { CHANNEL, WALKED_COPY, makeHealthData } from '../helpers/studio-view.ts'

/** Spaces of Intl are of many kinds. */
const plain = (text: string): string => text.replace(/\s/g, ' ')

/** A line as `good: value` or `bad: value | advice`. */
function readLine(label: string, over: Partial<HealthData> = {}): string | undefined {
  const line = toHealthView(makeHealthData(over)).lines.find((one) => one.label === label)
  if (line === undefined) return undefined
  return plain(
    `${line.isHealthy ? 'good' : 'bad'}: ${line.value}${line.remedy === null ? '' : ` | ${line.remedy}`}`,
  )
}

const makeGate = (over: Partial<CallPolicyState>): Partial<HealthData> => ({
  callPolicy: { ...makeHealthData().callPolicy, ...over },
})

const CALLS = { walk: 1_000, refresh: 200, lookup: 34 }

describe('lines', () => {
  test('all is well - every line is good and advises nothing', () => {
    const { lines } = toHealthView(makeHealthData())
    expect(lines.map(({ label }) => label)).toEqual(['Catalog', 'Calls today', 'Stored copy', 'Channels'])
    expect(lines.every(({ isHealthy, remedy: advice }) => isHealthy && advice === null)).toBe(true)
  })

  test('catalog - answers, does not answer, or has refused the key, which is said first', () => {
    expect(readLine('Catalog')).toBe('good: answers')
    for (const breaker of ['open', 'probing'] as const)
      expect(readLine('Catalog', makeGate({ breaker }))).toMatch(/^bad: does not answer \| .*"vitrine check"/)
    expect(readLine('Catalog', { isCatalogEmpty: true })).toMatch(
      /^bad: is empty \| .*backup.*"vitrine check"/,
    )
    const refused = { breaker: 'open', keyRefusedUntilMs: NOON_MS + 1 } as const
    expect(readLine('Catalog', makeGate(refused))).toMatch(/^bad: refused the key \| .*VITRINE_CATALOG_KEY/)
    expect(readLine('Catalog', makeGate({ keyRefusedUntilMs: NOON_MS }))).toBe('good: answers')
  })

  test('calls - of all shares, with what is left where a limit is known', () => {
    const quota = { ...createQuotaState(NOON_MS), calls: CALLS }
    expect(readLine('Calls today', makeGate({ quota }))).toBe('good: 1,234 made; no daily limit is known')
    const limit = { calls: 5_000, isLearned: false }
    expect(readLine('Calls today', makeGate({ quota, limit }))).toBe('good: 1,234 made, 3,766 left of 5,000')
    const learned = { calls: 1_000, isLearned: true }
    expect(readLine('Calls today', makeGate({ quota, limit: learned }))).toBe(
      'good: 1,234 made, 0 left of 1,000 (learned)',
    )
  })

  test('calls - paused by the catalog: until when', () => {
    const quota = { ...createQuotaState(NOON_MS), calls: CALLS, limitedUntilMs: NOON_MS + HOUR_MS }
    expect(readLine('Calls today', makeGate({ quota }))).toBe(
      'bad: 1,234 made, none left until Nov 21, 2026, 1:00 PM UTC | Readers get the copy until then.',
    )
    expect(readLine('Calls today', makeGate({ quota: { ...quota, limitedUntilMs: NOON_MS } }))).toMatch(
      /^good/,
    )
  })

  test('stored copy - only read: says where readers get their boxes from, and what to do', () => {
    expect(readLine('Stored copy', { isStoreReadOnly: true })).toBe(
      'bad: can be read and not written | Readers get what is stored. Point VITRINE_DATABASE_URL to the database that takes writes.',
    )
  })

  test('stored copy - works, or why it does not', () => {
    expect(readLine('Stored copy')).toBe('good: can be read and written')
    expect(readLine('Stored copy', { storeFailure: 'disk full' })).toMatch(
      /^bad: failed: disk full \| .*check/,
    )
  })

  test('channels - none any more, which is not believed: since when, and what to do', () => {
    expect(readLine('Channels', { channelsHeldSinceMs: NOON_MS })).toMatch(
      /^bad: the catalog lists none since Nov 21, 2026, 12:00 PM UTC; the copies stay \| .*vitrine sync --accept/,
    )
  })

  test('channels - how many there are, or that there is none', () => {
    expect(readLine('Channels', { channelCount: 1_234 })).toBe('good: 1,234')
    expect(readLine('Channels', { channels: [], channelCount: 0 })).toMatch(/^bad: none \| /)
  })
})

/** The row of the only channel. */
function readRow(state: Partial<CopyState>, over: Partial<HealthData> = {}): HealthView['channels'][number] {
  const channels = [{ channel: CHANNEL, state: { ...WALKED_COPY, ...state } }]
  const [row] = toHealthView(makeHealthData({ channels, ...over })).channels
  if (row === undefined) throw new Error('no row')
  return { ...row, walk: plain(row.walk) }
}

const at = (ageMs: number): Partial<CopyState> => ({ completedAtMs: NOON_MS - ageMs })

describe('copies', () => {
  test('young and whole - is good', () => {
    expect(readRow({ dealCount: 1_007 })).toEqual({
      name: 'Magazine',
      products: '1,236',
      deals: '1,007',
      age: 'less than a minute',
      walk: 'complete, Nov 21, 2026, 12:00 PM UTC',
      dropped: [],
      isHealthy: true,
    })
  })

  test('none yet - is not good, under way or not', () => {
    const none = { currentWalk: 0, completedAtMs: null, completedStartedAtMs: null }
    expect(readRow(none)).toMatchObject({ age: 'no copy yet', walk: 'none yet', isHealthy: false })
    expect(readRow({ ...none, isRunning: true })).toMatchObject({ walk: 'under way', isHealthy: false })
  })

  test('old - is good up to two walks, and for ever where none runs by itself', () => {
    expect(readRow(at(2 * HOUR_MS))).toMatchObject({ age: '2 h 0 min', isHealthy: true })
    expect(readRow(at(2 * HOUR_MS + 1))).toMatchObject({ isHealthy: false })
    expect(readRow(at(90 * DAY_MS), { findWalkPeriodMs: () => Infinity })).toMatchObject({
      age: '90 d 0 h',
      isHealthy: true,
    })
    expect(readRow(at(-MINUTE_MS))).toMatchObject({ age: 'less than a minute', isHealthy: true })
  })

  test('of the future - has no age and no time, and is not good', () => {
    expect(readRow(at(-HOUR_MS))).toMatchObject({
      age: 'time unknown: the clock was wrong',
      walk: 'complete',
      isHealthy: false,
    })
  })

  test('walk that is held - says since when, why and what to do, and is not good', () => {
    const held = { reason: 'few_products', sinceMs: NOON_MS, startedAtMs: NOON_MS, productCount: 3 } as const
    expect(readRow({ held })).toMatchObject({
      isHealthy: false,
      walk: expect.stringMatching(
        /^held since Nov 21.*: it found 3 products where the copy has 1,236\. If the catalog is right, run "vitrine sync --accept"/,
      ) as string,
    })
  })

  test('hold and failure of the future - have no time', () => {
    const sinceMs = NOON_MS + HOUR_MS
    const held = { reason: 'few_products', sinceMs, startedAtMs: sinceMs, productCount: 3 } as const
    expect(readRow({ held }).walk).toMatch(/^held since an unknown time: it found 3/)
    expect(readRow({ failure: 'VITRINE_STORE_FAILED', failedAtMs: sinceMs }).walk).toBe(
      'failed with VITRINE_STORE_FAILED, time unknown: the clock was wrong',
    )
    expect(readLine('Channels', { channelsHeldSinceMs: sinceMs })).toContain(
      'lists none since an unknown time; the copies stay',
    )
  })

  test('walk that failed - says with what and when, and is not good though the copy is young', () => {
    const failure = 'VITRINE_CATALOG_STATUS'
    expect(readRow({ failure, failedAtMs: NOON_MS - HOUR_MS, isRunning: true })).toMatchObject({
      walk: 'failed with VITRINE_CATALOG_STATUS, Nov 21, 2026, 11:00 AM UTC',
      isHealthy: false,
    })
    expect(readRow({ failure }).walk).toBe('failed with VITRINE_CATALOG_STATUS')
  })

  test('what was left out - is said in words, each reason, and one of a later version by its name', () => {
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
      '7 offers beyond what one product may have',
      '8 left out: toString',
    ])
  })

  test('more channels than are listed - are counted', () => {
    const channels = Array.from({ length: 50 }, () => ({ channel: CHANNEL, state: WALKED_COPY }))
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
  [DAY_MS, '1 d 0 h'],
  [3 * DAY_MS + 5 * HOUR_MS + 59 * MINUTE_MS, '3 d 5 h'],
])('age of %i ms - is %s', (ageMs, text) => {
  expect(formatAge(ageMs)).toBe(text)
})
