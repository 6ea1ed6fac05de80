import { describe, expect, test } from 'vitest'
import { type QuotaState, type QuotaStore, toDayNumber } from '../../src/catalog/quota.ts'
import {
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from '../../src/catalog/rate-limiter.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { CatalogRateLimitedError, StoreError } from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { type MemoryQuotaStore, createMemoryQuotaStore } from './memory-quota-store.ts'

type LimiterUnderTest = Readonly<{
  clock: FakeClock
  /** The process whose store fails. */
  limiter: RateLimiter
  /** A process whose store works. */
  other: RateLimiter
  store: MemoryQuotaStore
  failures: unknown[]
  setBroken(isBroken: boolean): void
  readStore(): Promise<QuotaState>
}>

function createLimiter(options: Partial<RateLimiterOptions> = {}): LimiterUnderTest {
  const clock = createFakeClock(NOON_MS)
  const store = createMemoryQuotaStore()
  const failures: unknown[] = []
  let isBroken = false
  const breakableStore: QuotaStore = {
    updateQuota: (nowMs, change) =>
      isBroken ? Promise.reject(new StoreError('locked')) : store.updateQuota(nowMs, change),
  }
  const shared = { clock, unknownLookupsPerHour: 100, ...options }
  return {
    clock,
    limiter: createRateLimiter({
      ...shared,
      store: breakableStore,
      onStoreFailure: (error) => void failures.push(error),
    }),
    other: createRateLimiter({ ...shared, store }),
    store,
    failures,
    setBroken: (outage) => void (isBroken = outage),
    readStore: () => store.read(clock.nowMs()),
  }
}

async function take(
  limiter: RateLimiter,
  purpose: 'walk' | 'refresh' | 'lookup',
  times = 1,
): Promise<number> {
  let allowedCount = 0
  for (let attempt = 0; attempt < times; attempt += 1)
    await limiter.acquire(purpose).then(
      () => (allowedCount += 1),
      () => {},
    )
  return allowedCount
}

const limit = ({ clock }: LimiterUnderTest, limiter: RateLimiter, retryAfterMs: number): Promise<void> =>
  limiter.recordRateLimit(new CatalogRateLimitedError('429', retryAfterMs), clock.nowMs())

const readCalls = async (limiter: RateLimiter): Promise<unknown> => (await limiter.read()).quota.calls

describe('rate limiter without a store', () => {
  test('look-ups - each expires after an hour', async () => {
    const clock = createFakeClock(NOON_MS)
    const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 100 })
    const seen: number[] = []
    for (const waitMs of [0, 10 * MINUTE_MS]) {
      clock.advance(waitMs)
      await limiter.acquire('lookup')
    }
    for (const waitMs of [50 * MINUTE_MS - 1, 1, 10 * MINUTE_MS - 1, 1]) {
      clock.advance(waitMs)
      seen.push((await limiter.read()).quota.lookupsLastHour)
    }
    expect(seen).toEqual([2, 1, 1, 0])
  })

  test('midnight - resets the calls, not the look-ups of the hour', async () => {
    const clock = createFakeClock(NOON_MS + 12 * HOUR_MS - 1)
    const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 100 })
    await limiter.acquire('lookup')
    clock.advance(1)
    expect((await limiter.read()).quota).toMatchObject({
      day: toDayNumber(NOON_MS) + 1,
      calls: { walk: 0, refresh: 0, lookup: 0 },
      lookupsLastHour: 1,
    })
  })
})

describe('rate limiter, store failing', () => {
  test('each failure - is reported, and calls continue', async () => {
    const fixture = createLimiter()
    fixture.setBroken(true)
    expect(await take(fixture.limiter, 'walk', 2)).toBe(2)
    expect(fixture.failures).toEqual([new StoreError('locked'), new StoreError('locked')])
  })

  test('continues from the last known state, and stays within the share', async () => {
    const fixture = createLimiter({ dailyLimit: 10 })
    await take(fixture.other, 'refresh', 2)
    await take(fixture.limiter, 'refresh')
    fixture.setBroken(true)
    expect(await take(fixture.limiter, 'refresh', 5)).toBe(1)
    expect((await fixture.readStore()).calls.refresh).toBe(3)
  })

  test('known pause - still applies', async () => {
    const fixture = createLimiter()
    await limit(fixture, fixture.other, HOUR_MS)
    await fixture.limiter.read()
    fixture.setBroken(true)
    await expect(fixture.limiter.acquire('refresh')).rejects.toThrow('paused')
    fixture.clock.advance(HOUR_MS)
    await fixture.limiter.acquire('refresh')
  })

  test('look-ups - only its own are counted, and they expire after an hour', async () => {
    const fixture = createLimiter()
    await take(fixture.other, 'lookup', 5)
    await fixture.limiter.acquire('lookup')
    fixture.setBroken(true)
    expect((await fixture.limiter.read()).quota.lookupsLastHour).toBe(1)
    fixture.clock.advance(HOUR_MS)
    expect((await fixture.limiter.read()).quota.lookupsLastHour).toBe(0)
  })

  test('next day - its own counts are reset', async () => {
    const fixture = createLimiter()
    await fixture.limiter.acquire('walk')
    fixture.setBroken(true)
    fixture.clock.advance(DAY_MS)
    await fixture.limiter.acquire('walk')
    expect(await readCalls(fixture.limiter)).toEqual({ walk: 1, refresh: 0, lookup: 0 })
  })
})

describe('rate limiter, store available again', () => {
  test('pause and counts of the outage - are stored with the first change', async () => {
    const fixture = createLimiter()
    await fixture.limiter.acquire('walk')
    fixture.setBroken(true)
    await take(fixture.limiter, 'walk', 2)
    await limit(fixture, fixture.limiter, HOUR_MS)
    fixture.setBroken(false)
    await expect(fixture.limiter.acquire('refresh')).rejects.toThrow('paused')
    expect(await fixture.readStore()).toMatchObject({
      calls: { walk: 3, refresh: 0 },
      limitedUntilMs: NOON_MS + HOUR_MS,
      pauseCount: 1,
    })
  })

  test('longer stored pause of others - remains; calls of both - are added', async () => {
    const fixture = createLimiter()
    fixture.setBroken(true)
    await fixture.limiter.acquire('refresh')
    await limit(fixture, fixture.limiter, MINUTE_MS)
    await take(fixture.other, 'refresh', 4)
    await limit(fixture, fixture.other, HOUR_MS)
    fixture.setBroken(false)
    expect((await fixture.limiter.read()).quota).toMatchObject({
      calls: { refresh: 5 },
      limitedUntilMs: NOON_MS + HOUR_MS,
    })
  })

  test('after the merge - later changes of the store are not overwritten', async () => {
    const fixture = createLimiter()
    fixture.setBroken(true)
    await fixture.limiter.acquire('walk')
    await limit(fixture, fixture.limiter, MINUTE_MS)
    fixture.setBroken(false)
    await fixture.limiter.read()
    await fixture.store.updateQuota(NOON_MS, (state) => ({ ...state, limitedUntilMs: 0, pauseCount: 0 }))
    expect((await fixture.limiter.read()).quota).toMatchObject({
      calls: { walk: 1 },
      limitedUntilMs: 0,
      pauseCount: 0,
    })
  })

  test('look-ups of an outage hours ago - no longer count', async () => {
    const fixture = createLimiter()
    fixture.setBroken(true)
    await take(fixture.limiter, 'lookup', 5)
    fixture.setBroken(false)
    fixture.clock.advance(2 * HOUR_MS)
    expect((await fixture.limiter.read()).quota.lookupsLastHour).toBe(0)
    expect((await fixture.readStore()).lookupsLastHour).toBe(0)
  })

  test('counts of the day before - are not added to those of today', async () => {
    const fixture = createLimiter()
    fixture.setBroken(true)
    await take(fixture.limiter, 'walk', 9)
    fixture.setBroken(false)
    fixture.clock.advance(DAY_MS)
    expect(await readCalls(fixture.limiter)).toEqual({ walk: 0, refresh: 0, lookup: 0 })
  })
})

describe('rate limiter with a store shared by machines', () => {
  test.each(['walk', 'refresh', 'lookup'] as const)(
    'store failing, %s, limit too small for a reserve - no call',
    async (purpose) => {
      const fixture = createLimiter({ isShared: true, dailyLimit: 99 })
      await fixture.limiter.acquire(purpose)
      fixture.setBroken(true)
      await expect(fixture.limiter.acquire(purpose)).rejects.toThrow(
        'database that counts the calls of all machines',
      )
      expect(fixture.limiter.canCall(purpose)).toBe(false)
      fixture.clock.advance(SECOND_MS)
      expect(fixture.limiter.canCall(purpose)).toBe(true)
      fixture.setBroken(false)
      await fixture.limiter.acquire(purpose)
      expect(fixture.limiter.canCall(purpose)).toBe(true)
      expect((await fixture.readStore()).calls[purpose]).toBe(2)
    },
  )

  test.each([
    [null, 1_000],
    [10_000, 100],
    [1_000_000_000, 1_000],
  ])(
    'store failing, limit of %s - %i first look-ups of a process a day, no other calls',
    async (dailyLimit, reserve) => {
      const fixture = createLimiter({ isShared: true, dailyLimit, unknownLookupsPerHour: 10_000 })
      await fixture.limiter.acquire('refresh')
      fixture.setBroken(true)
      expect(await take(fixture.limiter, 'walk')).toBe(0)
      expect(await take(fixture.limiter, 'refresh')).toBe(0)
      expect(fixture.limiter.canCall('lookup')).toBe(true)
      expect(await take(fixture.limiter, 'lookup', reserve + 1)).toBe(reserve)
      expect(fixture.limiter.canCall('lookup')).toBe(false)
      // A second outage of the day has no other reserve; the calls of the first one are counted.
      fixture.setBroken(false)
      await fixture.limiter.acquire('refresh')
      expect((await fixture.readStore()).calls).toEqual({ walk: 0, refresh: 2, lookup: reserve })
      fixture.setBroken(true)
      expect(await take(fixture.limiter, 'lookup')).toBe(0)
      fixture.clock.advance(DAY_MS)
      expect(await take(fixture.limiter, 'lookup', reserve + 1)).toBe(reserve)
    },
  )

  test('429 during a store failure - is stored when the store is available again', async () => {
    const fixture = createLimiter({ isShared: true })
    await fixture.limiter.acquire('refresh')
    fixture.setBroken(true)
    await limit(fixture, fixture.limiter, HOUR_MS)
    fixture.setBroken(false)
    await expect(fixture.limiter.acquire('refresh')).rejects.toThrow('paused')
    await expect(fixture.other.acquire('refresh')).rejects.toThrow('paused')
  })
})

describe('concurrent calls', () => {
  test('fifty - make one store update', async () => {
    const { limiter, store, readStore } = createLimiter()
    await Promise.all(Array.from({ length: 50 }, () => limiter.acquire('lookup')))
    expect(store.updateCount).toBe(1)
    expect((await readStore()).calls.lookup).toBe(50)
  })

  test('more than the share - the first ones are allowed', async () => {
    const { limiter } = createLimiter({ dailyLimit: 10 })
    const allowedCount = await Promise.all(Array.from({ length: 9 }, () => take(limiter, 'walk')))
    expect(allowedCount).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0])
  })

  test('calls that wait for the store over midnight - count on the day on which they are sent', async () => {
    const fixture = createLimiter()
    const updateStarted = defer<void>()
    const slow = defer<void>()
    const store: QuotaStore = {
      async updateQuota(nowMs, change) {
        updateStarted.resolve()
        await slow.promise
        return fixture.store.updateQuota(nowMs, change)
      },
    }
    const limiter = createRateLimiter({ clock: fixture.clock, unknownLookupsPerHour: 100, store })
    fixture.clock.advance(12 * HOUR_MS - 1)
    const first = limiter.acquire('refresh')
    await updateStarted.promise
    const waiting = [first, limiter.acquire('refresh'), limiter.acquire('lookup')]
    fixture.clock.advance(1)
    slow.resolve()
    await Promise.all(waiting)
    expect((await fixture.readStore()).calls).toEqual({ walk: 0, refresh: 1, lookup: 1 })
  })

  test('slow update that ends after a failed one was requested - keeps the pause recorded by the failed one', async () => {
    const fixture = createLimiter()
    const slow = defer<void>()
    const updates: QuotaStore['updateQuota'][] = [
      async (nowMs, change) => {
        const state = await fixture.store.updateQuota(nowMs, change)
        await slow.promise
        return state
      },
      () => Promise.reject(new StoreError('locked')),
    ]
    const store: QuotaStore = {
      updateQuota: (nowMs, change) => (updates.shift() ?? fixture.store.updateQuota)(nowMs, change),
    }
    const limiter = createRateLimiter({ clock: fixture.clock, unknownLookupsPerHour: 100, store })
    const reading = limiter.read()
    const limiting = limit(fixture, limiter, HOUR_MS)
    slow.resolve()
    await Promise.all([reading, limiting])
    expect((await limiter.read()).quota.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
    expect((await fixture.readStore()).limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })
})
