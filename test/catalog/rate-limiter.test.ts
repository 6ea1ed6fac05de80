import { describe, expect, test } from 'vitest'
import type { CallPurpose } from '../../src/catalog/quota.ts'
import {
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from '../../src/catalog/rate-limiter.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { type CatalogCallBlockedError, CatalogRateLimitedError } from '../../src/errors.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { createMemoryQuotaStore } from './memory-quota-store.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']

type LimitersUnderTest = Readonly<{
  clock: FakeClock
  limiter: RateLimiter
  /** Another process that shares the store. */
  other: RateLimiter
  /** Number of store updates. */
  updateCount(): number
}>

function createLimiters(options: Partial<RateLimiterOptions> = {}): LimitersUnderTest {
  const clock = createFakeClock(NOON_MS)
  const store = createMemoryQuotaStore()
  const createLimiter = (): RateLimiter =>
    createRateLimiter({ clock, unknownLookupsPerHour: 3, store, ...options })
  return { clock, limiter: createLimiter(), other: createLimiter(), updateCount: () => store.updateCount }
}

/** `true` when the call is allowed. */
const take = (limiter: RateLimiter, purpose: CallPurpose): Promise<boolean> =>
  limiter.acquire(purpose).then(
    () => true,
    () => false,
  )

async function takeAll(limiter: RateLimiter, purpose: CallPurpose, tries: number): Promise<number> {
  let allowedCount = 0
  for (let attempt = 0; attempt < tries; attempt += 1) allowedCount += Number(await take(limiter, purpose))
  return allowedCount
}

const limited = (retryAfterMs: number | null): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

/** Use up the limit at noon, with a pause of an hour. */
async function learnLimit(limiter: RateLimiter, calls: number): Promise<void> {
  await takeAll(limiter, 'refresh', calls)
  await limiter.recordRateLimit(limited(HOUR_MS), NOON_MS)
}

describe('rate limiter: shares', () => {
  test.each([
    ['walk', 50],
    ['refresh', 40],
    ['lookup', 10],
    ['channels', 10],
  ] as const)('limit of 100, %s - %i calls and no more until 00:00 UTC', async (purpose, share) => {
    const { limiter, clock } = createLimiters({ dailyLimit: 100, unknownLookupsPerHour: 600 })
    expect(await takeAll(limiter, purpose, 100)).toBe(share)
    expect(limiter.canCall(purpose)).toBe(false)
    clock.advance(12 * HOUR_MS - 1)
    expect(await take(limiter, purpose)).toBe(false)
    clock.advance(1)
    expect(limiter.canCall(purpose)).toBe(true)
    expect(await takeAll(limiter, purpose, 100)).toBe(share)
  })

  test('limit of 100, all purposes at once - a hundred calls, and no purpose starves', async () => {
    const { limiter } = createLimiters({ dailyLimit: 100 })
    const allowedCount = await Promise.all(PURPOSES.map((purpose) => takeAll(limiter, purpose, 200)))
    expect(allowedCount.slice(0, 2)).toEqual([50, 40])
    expect(allowedCount.reduce((sum, calls) => sum + calls, 0)).toBe(100)
  })

  test('two processes - share one limit: the last call is for one of them', async () => {
    const { limiter, other } = createLimiters({ dailyLimit: 10 })
    const allowedCount = await Promise.all([takeAll(limiter, 'walk', 9), takeAll(other, 'walk', 9)])
    expect(allowedCount.reduce((sum, calls) => sum + calls, 0)).toBe(5)
  })

  test('no known limit - nothing is denied', async () => {
    const { limiter } = createLimiters()
    expect(await takeAll(limiter, 'walk', 500)).toBe(500)
    expect(await limiter.read()).toMatchObject({
      limit: undefined,
      remaining: undefined,
      quota: { calls: { walk: 500 } },
    })
  })

  test('read - returns the limit, calls and remaining calls', async () => {
    const { limiter } = createLimiters({ dailyLimit: 100 })
    await takeAll(limiter, 'walk', 2)
    await takeAll(limiter, 'channels', 3)
    expect(await limiter.read()).toMatchObject({
      quota: { calls: { walk: 2, refresh: 0, lookup: 3 } },
      limit: { calls: 100, isLearned: false },
      remaining: { walk: 48, refresh: 40, lookup: 7 },
    })
  })
})

const getDenial = (limiter: RateLimiter, purpose: CallPurpose): Promise<string> =>
  limiter.acquire(purpose).then(
    () => 'allowed',
    (error: CatalogCallBlockedError) => `${error.code}: ${error.message}`,
  )

describe('rate limiter: denials', () => {
  test('each cause - has its own message', async () => {
    const { limiter, clock } = createLimiters({ dailyLimit: 10, unknownLookupsPerHour: 0 })
    expect(await getDenial(limiter, 'lookup')).toMatch(
      /^VITRINE_CATALOG_CALL_BLOCKED: .*for this hour are used up$/,
    )
    await takeAll(limiter, 'walk', 5)
    expect(await getDenial(limiter, 'walk')).toMatch(
      /^VITRINE_CATALOG_CALL_BLOCKED: .*used up until 00:00 UTC$/,
    )
    await limiter.pauseUntil(clock.nowMs() + 1)
    expect(await getDenial(limiter, 'walk')).toMatch(
      /^VITRINE_CATALOG_CALL_BLOCKED: .*request limit was reached$/,
    )
  })

  test('denied call - is not counted', async () => {
    const { limiter } = createLimiters({ dailyLimit: 10 })
    await takeAll(limiter, 'walk', 20)
    expect((await limiter.read()).quota.calls).toEqual({ walk: 5, refresh: 0, lookup: 0 })
  })
})

describe('rate limiter: pauses', () => {
  test('429 received by another process - applies here from the next request', async () => {
    const { limiter, other, clock } = createLimiters()
    await other.recordRateLimit(limited(MINUTE_MS), NOON_MS)
    expect(await take(limiter, 'refresh')).toBe(false)
    expect(limiter.getLocalReport().quota.limitedUntilMs).toBe(NOON_MS + MINUTE_MS)
    clock.advance(MINUTE_MS)
    expect(limiter.canCall('refresh')).toBe(true)
    expect(await take(limiter, 'refresh')).toBe(true)
  })

  test('pause of another thread - is stored when longer than known; otherwise the store is not read', async () => {
    const { limiter, other, updateCount } = createLimiters()
    await limiter.pauseUntil(NOON_MS)
    expect(updateCount()).toBe(0)
    await limiter.pauseUntil(NOON_MS + HOUR_MS)
    await limiter.pauseUntil(NOON_MS + HOUR_MS)
    await limiter.pauseUntil(NOON_MS + 1)
    expect(updateCount()).toBe(1)
    expect((await other.read()).quota.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
    await other.pauseUntil(NOON_MS + MINUTE_MS)
    expect((await other.read()).quota.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })

  test('successes without a previous pause - do not read the store', async () => {
    const { limiter, updateCount } = createLimiters()
    await takeAll(limiter, 'refresh', 3)
    for (let attempt = 0; attempt < 10; attempt += 1) await limiter.recordSuccess(NOON_MS)
    expect(updateCount()).toBe(3)
  })

  test('success after the pause - the next 429 without Retry-After is short again, for all processes', async () => {
    const { limiter, other, clock } = createLimiters()
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await limiter.recordRateLimit(limited(null), clock.nowMs())
      clock.advance(limiter.getLocalReport().quota.limitedUntilMs - clock.nowMs())
    }
    await limiter.recordSuccess(clock.nowMs())
    await other.recordRateLimit(limited(null), clock.nowMs())
    expect(other.getLocalReport().quota.limitedUntilMs - clock.nowMs()).toBe(MINUTE_MS)
  })
})

describe('rate limiter: learned limit', () => {
  test('429 after 100 calls - sets the limit of the next day in every process', async () => {
    const { limiter, other, clock } = createLimiters()
    await learnLimit(limiter, 100)
    expect((await limiter.read()).limit).toBeUndefined()
    clock.advance(12 * HOUR_MS)
    expect(await takeAll(other, 'walk', 100)).toBe(50)
    expect(await other.read()).toMatchObject({
      limit: { calls: 100, isLearned: true },
      remaining: { walk: 0, refresh: 40, lookup: 10 },
    })
    clock.advance(DAY_MS)
    expect(await takeAll(limiter, 'walk', 100)).toBe(62)
  })

  test('configured limit - 429s do not change it', async () => {
    const { limiter, clock } = createLimiters({ dailyLimit: 1_000 })
    await learnLimit(limiter, 100)
    clock.advance(12 * HOUR_MS)
    expect((await limiter.read()).limit).toEqual({ calls: 1_000, isLearned: false })
  })

  test.each([
    ['after the pause', HOUR_MS, undefined],
    ['before the 429, and comes late', -1, { calls: 100, isLearned: true }],
  ])('success of a call sent %s - the limit of the next day', async (_when, leftAfterMs, limit) => {
    const { limiter, clock } = createLimiters()
    await learnLimit(limiter, 100)
    clock.advance(2 * HOUR_MS)
    await limiter.recordSuccess(NOON_MS + leftAfterMs)
    clock.advance(12 * HOUR_MS)
    expect((await limiter.read()).limit).toEqual(limit)
  })
})

describe('rate limiter: look-ups of the hour', () => {
  test('used up by another process - denied here, although canCall was still true', async () => {
    const { limiter, other } = createLimiters()
    expect(await takeAll(other, 'lookup', 5)).toBe(3)
    expect(limiter.canCall('lookup')).toBe(true)
    expect(await take(limiter, 'lookup')).toBe(false)
    expect(limiter.canCall('lookup')).toBe(false)
  })

  test('used up - is cached for a second, then read again', async () => {
    const { limiter, clock } = createLimiters()
    await takeAll(limiter, 'lookup', 4)
    clock.advance(SECOND_MS - 1)
    expect(limiter.canCall('lookup')).toBe(false)
    clock.advance(1)
    expect(limiter.canCall('lookup')).toBe(true)
    expect(await take(limiter, 'lookup')).toBe(false)
    clock.advance(HOUR_MS)
    expect(await take(limiter, 'lookup')).toBe(true)
  })

  test('of a new process - count from the first one', async () => {
    const { limiter } = createLimiters()
    expect(await takeAll(limiter, 'lookup', 10)).toBe(3)
    expect((await limiter.read()).quota.calls.lookup).toBe(3)
  })

  test('lists of channels - do not count as look-ups of the hour', async () => {
    const { limiter } = createLimiters({ unknownLookupsPerHour: 0 })
    expect(await takeAll(limiter, 'channels', 10)).toBe(10)
  })
})

describe('rate limiter: waits of a walk', () => {
  test.each([
    ['no limit', null, 0, 1_000_000, 0],
    ['all fits', 20, 0, 10, 0],
    ['one too many', 20, 0, 11, 12 / 11],
    ['twice the share', 20, 2, 20, 12 / 9],
    ['one call left', 20, 9, 2, 6],
    ['the last call fits', 20, 9, 1, 0],
    ['nothing left', 20, 10, 1, 12],
    ['no share at all', 1, 0, 1, 12],
  ])('%s - limit %j, %i made, %i to go at noon - waits %d hours', async (...row) => {
    const [, dailyLimit, made, callsToGo, hours] = row
    const { limiter } = createLimiters({ dailyLimit })
    await takeAll(limiter, 'walk', made)
    expect(limiter.computeWalkWaitMs(callsToGo)).toBe(Math.ceil(hours * HOUR_MS))
  })

  test('share used up - the wait ends at midnight, and the next day has new shares', async () => {
    const { limiter, clock } = createLimiters({ dailyLimit: 20 })
    await takeAll(limiter, 'walk', 10)
    clock.advance(12 * HOUR_MS - 1)
    expect(limiter.computeWalkWaitMs(5)).toBe(1)
    clock.advance(1)
    expect(limiter.computeWalkWaitMs(5)).toBe(0)
    expect(limiter.computeWalkWaitMs(11)).toBe(Math.ceil((24 * HOUR_MS) / 11))
  })
})
