import { describe, expect, test } from 'vitest'
import type { CallPolicyState } from '../../src/catalog/call-policy.ts'
import { createQuotaState, splitDailyLimit } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import type { CopyState } from '../../src/storage/store.ts'
import { type WalkDueOptions, isWalkDue } from '../../src/sync/walk-schedule.ts'
import { StoreError } from '../../src/errors.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const A = '00000000-0000-4000-8000-00000000000a'
const B = '00000000-0000-4000-8000-00000000000b'

/** Create a complete copy with a product count and the age of its walk. */
function makeCopy(productCount: number, ageMs: number, over: Partial<CopyState> = {}): CopyState {
  return {
    currentWalk: 1,
    completedAtMs: NOON_MS - ageMs + MINUTE_MS,
    completedStartedAtMs: NOON_MS - ageMs,
    productCount,
    hadProducts: productCount > 0,
    hasProducts: productCount > 0,
    dealCount: 0,
    drops: {},
    isMalformed: false,
    held: null,
    isRunning: false,
    failure: null,
    failedAtMs: null,
    failureReason: null,
    retry: null,
    ...over,
  }
}

type Options = Readonly<{
  limit?: number
  walksMade?: number
  limitedUntilMs?: number
  copies?: Readonly<Record<string, CopyState>>
  channels?: readonly string[] | null
  store?: Partial<WalkDueOptions['store']>
}>

function makeDetails(options: Options): WalkDueOptions & Readonly<{ lines: string[] }> {
  const lines: string[] = []
  const copies = options.copies ?? {}
  const shares = options.limit === undefined ? undefined : splitDailyLimit(options.limit)
  const state: CallPolicyState = {
    quota: { ...createQuotaState(NOON_MS), limitedUntilMs: options.limitedUntilMs ?? 0 },
    limit: options.limit === undefined ? undefined : { calls: options.limit, isLearned: false },
    remaining: shares && { ...shares, walk: Math.max(0, shares.walk - (options.walksMade ?? 0)) },
    keyRefusedUntilMs: 0,
    breaker: 'closed',
  }
  return {
    lines,
    clock: createFakeClock(NOON_MS),
    logger: createLogger({ level: 'info', stream: { write: (line) => void lines.push(line) } }),
    callPolicy: { readState: () => Promise.resolve(state) },
    store: {
      findChannelList: () =>
        Promise.resolve({
          asOfMs: NOON_MS,
          heldSinceMs: null,
          gone: [],
          channels: Object.keys(copies).map((id) => ({ id, name: id, kind: 'app', url: null })),
        }),
      getCopyState: (id) => Promise.resolve(copies[id] ?? makeCopy(0, 0, { completedStartedAtMs: null })),
      ...options.store,
    },
    config: { channels: options.channels ?? null, findWalkPeriodMs: () => HOUR_MS },
  }
}

const checkIsDue = (options: Options): Promise<boolean> => isWalkDue(makeDetails(options))

describe('scheduled walk: call limits', () => {
  test.each([
    [3 * MINUTE_MS, true],
    [MINUTE_MS, false],
  ])('no limit known, walked %d ms ago - due: %s (another process of the same schedule)', async (...row) => {
    const [ageMs, isDue] = row
    expect(await checkIsDue({ copies: { [A]: makeCopy(1_000_000, ageMs) } })).toBe(isDue)
  })

  test.each([
    ['until later', NOON_MS + 1, false],
    ['until now', NOON_MS, true],
  ])('paused %s - due: %s', async (_until, limitedUntilMs, isDue) => {
    expect(await checkIsDue({ limitedUntilMs })).toBe(isDue)
  })

  test.each([
    [4, true],
    [5, false],
  ])('share of 5 calls, %i of them made - due: %s', async (walksMade, isDue) => {
    expect(await checkIsDue({ limit: 10, walksMade })).toBe(isDue)
  })

  test('not due - logs the reason', async () => {
    const details = makeDetails({ limitedUntilMs: NOON_MS + HOUR_MS })
    expect(await isWalkDue(details)).toBe(false)
    expect(details.lines).toHaveLength(1)
    expect(JSON.parse(details.lines[0] ?? '')).toMatchObject({
      pausedUntilMs: NOON_MS + HOUR_MS,
      msg: 'skipped a scheduled walk: catalog calls are paused or the walk share is used up',
    })
  })

  test('due - logs nothing', async () => {
    const details = makeDetails({ limit: 10 })
    expect(await isWalkDue(details)).toBe(true)
    expect(details.lines).toEqual([])
  })
})

// Ten pages, ten pages and the channels: 21 calls of 24 a day.
const checkIsDueForTwo = (oneAgeMs: number, otherAgeMs: number): Promise<boolean> =>
  checkIsDue({ limit: 48, copies: { [A]: makeCopy(2_000, oneAgeMs), [B]: makeCopy(2_000, otherAgeMs) } })

describe('scheduled walk: walks per day', () => {
  // A walk of 2000 products takes eleven calls: ten pages and the list of channels.
  test.each([
    [528, HOUR_MS, true],
    [528, HOUR_MS - MINUTE_MS, true],
    [528, HOUR_MS - MINUTE_MS - 1, false],
    [264, HOUR_MS, false],
    [264, 2 * HOUR_MS, true],
    [22, 23 * HOUR_MS, false],
    [22, DAY_MS, true],
    [11, DAY_MS, false],
    [12, 44 * HOUR_MS, true],
    [12, 43 * HOUR_MS, false],
    [1_000_000, 3 * MINUTE_MS, true],
  ])('limit %i, 2000 products, last walk began %i ms ago - due: %s', async (limit, ageMs, isDue) => {
    expect(await checkIsDue({ limit, copies: { [A]: makeCopy(2_000, ageMs) } })).toBe(isDue)
  })

  test.each([
    [0, 2],
    [1, 2],
    [200, 2],
    [201, 3],
    [100_000, 501],
  ])('%i products - a walk costs %i calls', async (productCount, calls) => {
    const apartMs = (DAY_MS * calls) / 100
    const at = (ageMs: number): Promise<boolean> =>
      checkIsDue({ limit: 200, copies: { [A]: makeCopy(productCount, ageMs) } })
    expect(await at(apartMs - MINUTE_MS)).toBe(true)
    expect(await at(apartMs - MINUTE_MS - 1)).toBe(false)
  })

  test('two channels - their calls are added up, and the older copy decides', async () => {
    expect(await checkIsDueForTwo(20 * HOUR_MS, 20 * HOUR_MS)).toBe(false)
    expect(await checkIsDueForTwo(HOUR_MS, 21 * HOUR_MS)).toBe(true)
  })

  test('channels that are not served - do not count', async () => {
    const copies = { [A]: makeCopy(200, HOUR_MS), [B]: makeCopy(2_000_000, HOUR_MS) }
    expect(await checkIsDue({ limit: 100, copies })).toBe(false)
    expect(await checkIsDue({ limit: 100, copies, channels: [A] })).toBe(true)
  })

  test.each([
    ['never walked', { completedStartedAtMs: null }],
    ['in progress', { isRunning: true }],
    ['failed', { failure: 'VITRINE_CATALOG_CALL_BLOCKED' }],
  ])('copy %s - due, to complete it', async (_state, over) => {
    const copies = { [A]: makeCopy(2_000, MINUTE_MS), [B]: makeCopy(2_000, MINUTE_MS, over) }
    expect(await checkIsDue({ limit: 48, copies })).toBe(true)
  })

  test('no channel known - due', async () => {
    expect(await checkIsDue({ limit: 48 })).toBe(true)
    const store = { findChannelList: () => Promise.resolve(undefined) }
    expect(await checkIsDue({ limit: 48, store })).toBe(true)
  })

  test('store that cannot be read - due: the walk reports the error', async () => {
    const store = { findChannelList: () => Promise.reject(new StoreError('broken')) }
    expect(await checkIsDue({ limit: 48, store })).toBe(true)
  })

  test('hourly schedule for a week - the due walks fit into the share together', async () => {
    for (const limit of [30, 48, 100, 240, 1_000]) {
      let startedAtMs = NOON_MS - DAY_MS
      let walks = 0
      for (let hour = 1; hour <= 24 * 7; hour += 1) {
        const copies = { [A]: makeCopy(2_000, hour * HOUR_MS - (startedAtMs - NOON_MS)) }
        if (!(await checkIsDue({ limit, copies }))) continue
        startedAtMs = NOON_MS + hour * HOUR_MS
        walks += 1
      }
      // One more is allowed, because the week may start just before a walk.
      expect(walks * 11).toBeLessThanOrEqual((limit / 2) * 7 + 11)
    }
  })
})
