import { describe, expect, test } from 'vitest'
import {
  type CallPurpose,
  type QuotaState,
  countCall,
  createQuotaState,
  noteLimited,
  toDay,
} from '../../src/catalog/quota.ts'
import {
  type QuotaChange,
  type QuotaLedger,
  createMemoryLedger,
  createSharedLedger,
} from '../../src/catalog/quota-ledger.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const keep: QuotaChange = (state) => state
const read = (ledger: QuotaLedger, clock: FakeClock): Promise<QuotaState> =>
  ledger.updateQuota(clock.nowMs(), keep)
const count = (ledger: QuotaLedger, clock: FakeClock, purpose: CallPurpose): Promise<QuotaState> => {
  const nowMs = clock.nowMs()
  return ledger.updateQuota(nowMs, (state) => countCall(state, { purpose, nowMs }))
}
const limit = (ledger: QuotaLedger, clock: FakeClock, retryAfterMs: number): Promise<QuotaState> => {
  const nowMs = clock.nowMs()
  return ledger.updateQuota(nowMs, (state) => noteLimited(state, { retryAfterMs, nowMs, calledAtMs: nowMs }))
}

describe('ledger of one process', () => {
  test('new - knows nothing', async () => {
    const clock = createFakeClock(NOON_MS)
    expect(await read(createMemoryLedger(clock), clock)).toEqual(createQuotaState(NOON_MS))
  })

  test('changes - one after the other - each sees those before it', async () => {
    const clock = createFakeClock(NOON_MS)
    const ledger = createMemoryLedger(clock)
    for (const purpose of ['walk', 'walk', 'refresh', 'channels'] as const)
      await count(ledger, clock, purpose)
    await limit(ledger, clock, HOUR_MS)
    expect(await read(ledger, clock)).toMatchObject({
      calls: { walk: 2, refresh: 1, lookup: 1 },
      lookupsLastHour: 0,
      limitedUntilMs: NOON_MS + HOUR_MS,
      pauseCount: 1,
    })
  })

  test('pause noted while the clock was two days ahead - is over when the clock is right', async () => {
    const clock = createFakeClock(NOON_MS + 2 * DAY_MS)
    const ledger = createMemoryLedger(clock)
    await limit(ledger, clock, HOUR_MS)
    clock.step(-2 * DAY_MS)
    expect(await read(ledger, clock)).toMatchObject({ limitedUntilMs: 0 })
  })

  test('look-ups - each is forgotten an hour after it was made', async () => {
    const clock = createFakeClock(NOON_MS)
    const ledger = createMemoryLedger(clock)
    const seen: number[] = []
    for (const waitMs of [0, 10 * MINUTE_MS]) {
      clock.advance(waitMs)
      await count(ledger, clock, 'lookup')
    }
    for (const waitMs of [50 * MINUTE_MS - 1, 1, 10 * MINUTE_MS - 1, 1]) {
      clock.advance(waitMs)
      seen.push((await read(ledger, clock)).lookupsLastHour)
    }
    expect(seen).toEqual([2, 1, 1, 0])
  })

  test('midnight - calls begin anew, look-ups of the hour stay', async () => {
    const clock = createFakeClock(NOON_MS + 12 * HOUR_MS - 1)
    const ledger = createMemoryLedger(clock)
    await count(ledger, clock, 'lookup')
    clock.advance(1)
    expect(await read(ledger, clock)).toMatchObject({
      day: toDay(NOON_MS) + 1,
      calls: { walk: 0, refresh: 0, lookup: 0 },
      lookupsLastHour: 1,
    })
  })
})

type Shared = {
  ledger: QuotaLedger
  /** The one that a store would be; other processes use it directly. */
  store: QuotaLedger
  clock: FakeClock
  failures: unknown[]
  isBroken: boolean
}

/** A ledger over a store that the test breaks and mends. */
function makeShared(): Shared {
  const clock = createFakeClock(NOON_MS)
  const store = createMemoryLedger(clock)
  const failures: unknown[] = []
  const breakable: QuotaLedger = {
    updateQuota: (nowMs, change) =>
      under.isBroken ? Promise.reject(new StoreError('locked')) : store.updateQuota(nowMs, change),
  }
  const ledger = createSharedLedger(breakable, { clock, onFailure: (error) => void failures.push(error) })
  const under: Shared = { ledger, store, clock, failures, isBroken: false }
  return under
}

describe('shared ledger, store at hand', () => {
  test('change - is in the store, and what others stored is seen', async () => {
    const { ledger, store, clock, failures } = makeShared()
    await count(store, clock, 'walk')
    expect((await count(ledger, clock, 'walk')).calls.walk).toBe(2)
    expect((await read(store, clock)).calls.walk).toBe(2)
    await limit(store, clock, HOUR_MS)
    expect((await read(ledger, clock)).limitedUntilMs).toBe(NOON_MS + HOUR_MS)
    expect(failures).toEqual([])
  })

  test('pause that another process ended - is ended here, too', async () => {
    const { ledger, store, clock } = makeShared()
    await limit(ledger, clock, MINUTE_MS)
    clock.advance(MINUTE_MS)
    await store.updateQuota(clock.nowMs(), (state) => ({ ...state, pauseCount: 0, learnedCalls: null }))
    expect(await read(ledger, clock)).toMatchObject({ pauseCount: 0, learnedCalls: null })
  })
})

describe('shared ledger, store failing', () => {
  test('each failure - is told, and nobody else hears of it', async () => {
    const under = makeShared()
    under.isBroken = true
    await expect(count(under.ledger, under.clock, 'walk')).resolves.toMatchObject({ calls: { walk: 1 } })
    await count(under.ledger, under.clock, 'walk')
    expect(under.failures).toEqual([new StoreError('locked'), new StoreError('locked')])
  })

  test('goes on with what it saw last, and counts on its own', async () => {
    const under = makeShared()
    await limit(under.store, under.clock, HOUR_MS)
    for (let turn = 0; turn < 3; turn += 1) await count(under.ledger, under.clock, 'refresh')
    under.isBroken = true
    expect(await count(under.ledger, under.clock, 'refresh')).toMatchObject({
      calls: { refresh: 4 },
      limitedUntilMs: NOON_MS + HOUR_MS,
      pauseCount: 1,
    })
    expect((await read(under.store, under.clock)).calls.refresh).toBe(3)
  })

  test('look-ups of others - are not known by their times, its own are', async () => {
    const under = makeShared()
    for (let turn = 0; turn < 5; turn += 1) await count(under.store, under.clock, 'lookup')
    expect((await count(under.ledger, under.clock, 'lookup')).lookupsLastHour).toBe(6)
    under.isBroken = true
    expect((await count(under.ledger, under.clock, 'lookup')).lookupsLastHour).toBe(2)
    under.clock.advance(HOUR_MS)
    expect((await read(under.ledger, under.clock)).lookupsLastHour).toBe(0)
  })

  test('the day after - its own counts begin anew', async () => {
    const under = makeShared()
    await count(under.ledger, under.clock, 'walk')
    under.isBroken = true
    under.clock.advance(DAY_MS)
    expect((await count(under.ledger, under.clock, 'walk')).calls.walk).toBe(1)
  })
})

describe('shared ledger, store back', () => {
  test('pause and counts of meanwhile - are handed on with the first change', async () => {
    const under = makeShared()
    await count(under.ledger, under.clock, 'walk')
    under.isBroken = true
    await count(under.ledger, under.clock, 'walk')
    await limit(under.ledger, under.clock, HOUR_MS)
    under.isBroken = false
    expect(await read(under.ledger, under.clock)).toMatchObject({
      calls: { walk: 2 },
      limitedUntilMs: NOON_MS + HOUR_MS,
    })
    expect(await read(under.store, under.clock)).toMatchObject({
      calls: { walk: 2 },
      limitedUntilMs: NOON_MS + HOUR_MS,
      pauseCount: 1,
    })
  })

  test('longer pause that others stored - stays; calls of both - are added', async () => {
    const under = makeShared()
    under.isBroken = true
    await count(under.ledger, under.clock, 'refresh')
    await limit(under.ledger, under.clock, MINUTE_MS)
    for (let turn = 0; turn < 4; turn += 1) await count(under.store, under.clock, 'refresh')
    await limit(under.store, under.clock, HOUR_MS)
    under.isBroken = false
    expect(await read(under.ledger, under.clock)).toMatchObject({
      calls: { refresh: 5 },
      limitedUntilMs: NOON_MS + HOUR_MS,
    })
  })

  test('handed on once - later changes of the store are not undone', async () => {
    const under = makeShared()
    under.isBroken = true
    await limit(under.ledger, under.clock, MINUTE_MS)
    under.isBroken = false
    await read(under.ledger, under.clock)
    await under.store.updateQuota(NOON_MS, (state) => ({ ...state, limitedUntilMs: 0, pauseCount: 0 }))
    expect(await read(under.ledger, under.clock)).toMatchObject({ limitedUntilMs: 0, pauseCount: 0 })
  })

  test('a change that the store refused again - is kept with those before it', async () => {
    const under = makeShared()
    under.isBroken = true
    for (const purpose of ['walk', 'refresh', 'refresh'] as const)
      await count(under.ledger, under.clock, purpose)
    under.isBroken = false
    expect((await count(under.ledger, under.clock, 'lookup')).calls).toEqual({
      walk: 1,
      refresh: 2,
      lookup: 1,
    })
  })

  test('look-ups of an outage that was hours ago - count no longer', async () => {
    const under = makeShared()
    under.isBroken = true
    for (let turn = 0; turn < 5; turn += 1) await count(under.ledger, under.clock, 'lookup')
    under.isBroken = false
    under.clock.advance(2 * HOUR_MS)
    expect((await read(under.ledger, under.clock)).lookupsLastHour).toBe(0)
    expect((await read(under.store, under.clock)).lookupsLastHour).toBe(0)
  })

  test('slow change that ends after a failed one - does not take back the pause that one noted', async () => {
    const clock = createFakeClock(NOON_MS)
    const store = createMemoryLedger(clock)
    const slow = defer<void>()
    const turns: ((nowMs: number, change: QuotaChange) => Promise<QuotaState>)[] = [
      async (nowMs, change) => {
        const state = await store.updateQuota(nowMs, change)
        await slow.promise
        return state
      },
      () => Promise.reject(new StoreError('locked')),
    ]
    const shared: QuotaLedger = {
      updateQuota: (nowMs, change) => (turns.shift() ?? store.updateQuota)(nowMs, change),
    }
    const ledger = createSharedLedger(shared, { clock, onFailure: () => {} })
    const reading = read(ledger, clock)
    const limiting = limit(ledger, clock, HOUR_MS)
    slow.resolve()
    await Promise.all([reading, limiting])
    expect((await read(ledger, clock)).limitedUntilMs).toBe(NOON_MS + HOUR_MS)
    expect((await read(store, clock)).limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })

  test('counts of the day before - are not added to those of today', async () => {
    const under = makeShared()
    under.isBroken = true
    for (let turn = 0; turn < 9; turn += 1) await count(under.ledger, under.clock, 'walk')
    under.isBroken = false
    under.clock.advance(DAY_MS)
    expect((await read(under.ledger, under.clock)).calls.walk).toBe(0)
  })
})
