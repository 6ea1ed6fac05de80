import { describe, expect, test } from 'vitest'
import { type Governor, type GovernorOptions, createGovernor } from '../../src/catalog/governor.ts'
import type { CallPurpose } from '../../src/catalog/quota.ts'
import { type QuotaLedger, createMemoryLedger } from '../../src/catalog/quota-ledger.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { type CallNotMadeError, CatalogRateLimitedError } from '../../src/errors.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']

type Under = Readonly<{
  clock: FakeClock
  governor: Governor
  /** Another process that shares the ledger. */
  other: Governor
  /** Times that the ledger was asked. */
  askedCount(): number
}>

function makeGovernors(options: Partial<GovernorOptions> = {}): Under {
  const clock = createFakeClock(NOON_MS)
  const inner = createMemoryLedger(clock)
  let asked = 0
  const ledger: QuotaLedger = {
    updateQuota(nowMs, change) {
      asked += 1
      return inner.updateQuota(nowMs, change)
    },
  }
  const make = (): Governor => createGovernor({ clock, unknownLookupsPerHour: 3, ledger, ...options })
  return { clock, governor: make(), other: make(), askedCount: () => asked }
}

/** `true` when the call may be made. */
const take = (governor: Governor, purpose: CallPurpose): Promise<boolean> =>
  governor.take(purpose).then(
    () => true,
    () => false,
  )

async function takeAll(governor: Governor, purpose: CallPurpose, tries: number): Promise<number> {
  let taken = 0
  for (let turn = 0; turn < tries; turn += 1) taken += Number(await take(governor, purpose))
  return taken
}

const limited = (retryAfterMs: number | null): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

/** Uses the key up at noon, with a pause of an hour. */
async function learn(governor: Governor, calls: number): Promise<void> {
  await takeAll(governor, 'refresh', calls)
  await governor.noteLimited(limited(HOUR_MS), NOON_MS)
}

describe('governor: shares', () => {
  test.each([
    ['walk', 50],
    ['refresh', 40],
    ['lookup', 10],
    ['channels', 10],
  ] as const)('limit of 100, %s - %i calls and no more until 00:00 UTC', async (purpose, share) => {
    const { governor, clock } = makeGovernors({ dailyLimit: 100, unknownLookupsPerHour: 600 })
    expect(await takeAll(governor, purpose, 100)).toBe(share)
    expect(governor.isFree(purpose)).toBe(false)
    clock.advance(12 * HOUR_MS - 1)
    expect(await take(governor, purpose)).toBe(false)
    clock.advance(1)
    expect(governor.isFree(purpose)).toBe(true)
    expect(await takeAll(governor, purpose, 100)).toBe(share)
  })

  test('limit of 100, everybody at once and often - a hundred calls, none starves', async () => {
    const { governor } = makeGovernors({ dailyLimit: 100 })
    const taken = await Promise.all(PURPOSES.map((purpose) => takeAll(governor, purpose, 200)))
    expect(taken.slice(0, 2)).toEqual([50, 40])
    expect(taken.reduce((sum, calls) => sum + calls, 0)).toBe(100)
  })

  test('two processes - share one limit: the last call is for one of them', async () => {
    const { governor, other } = makeGovernors({ dailyLimit: 10 })
    const taken = await Promise.all([takeAll(governor, 'walk', 9), takeAll(other, 'walk', 9)])
    expect(taken.reduce((sum, calls) => sum + calls, 0)).toBe(5)
  })

  test('no limit known - nothing is refused', async () => {
    const { governor } = makeGovernors()
    expect(await takeAll(governor, 'walk', 500)).toBe(500)
    expect(await governor.read()).toMatchObject({
      limit: undefined,
      left: undefined,
      quota: { calls: { walk: 500 } },
    })
  })

  test('read - limit, calls and what is left', async () => {
    const { governor } = makeGovernors({ dailyLimit: 100 })
    await takeAll(governor, 'walk', 2)
    await takeAll(governor, 'channels', 3)
    expect(await governor.read()).toMatchObject({
      quota: { calls: { walk: 2, refresh: 0, lookup: 3 } },
      limit: { calls: 100, isLearned: false },
      left: { walk: 48, refresh: 40, lookup: 7 },
    })
  })
})

const refusal = (governor: Governor, purpose: CallPurpose): Promise<string> =>
  governor.take(purpose).then(
    () => 'taken',
    (error: CallNotMadeError) => `${error.code}: ${error.message}`,
  )

describe('governor: refusals', () => {
  test('each cause - says so', async () => {
    const { governor, clock } = makeGovernors({ dailyLimit: 10, unknownLookupsPerHour: 0 })
    expect(await refusal(governor, 'lookup')).toMatch(/^VITRINE_CALL_NOT_MADE: .*for this hour are spent$/)
    await takeAll(governor, 'walk', 5)
    expect(await refusal(governor, 'walk')).toMatch(/^VITRINE_CALL_NOT_MADE: .*spent until 00:00 UTC$/)
    await governor.pauseUntil(clock.nowMs() + 1)
    expect(await refusal(governor, 'walk')).toMatch(/^VITRINE_CALL_NOT_MADE: .*request limit was reached$/)
  })

  test('refused call - counts nowhere', async () => {
    const { governor } = makeGovernors({ dailyLimit: 10 })
    await takeAll(governor, 'walk', 20)
    expect((await governor.read()).quota.calls).toEqual({ walk: 5, refresh: 0, lookup: 0 })
  })
})

describe('governor: pauses', () => {
  test('429 met by another process - holds here from the next question on', async () => {
    const { governor, other, clock } = makeGovernors()
    await other.noteLimited(limited(MINUTE_MS), NOON_MS)
    expect(await take(governor, 'refresh')).toBe(false)
    expect(governor.limitedUntilMs()).toBe(NOON_MS + MINUTE_MS)
    clock.advance(MINUTE_MS)
    expect(governor.isFree('refresh')).toBe(true)
    expect(await take(governor, 'refresh')).toBe(true)
  })

  test('pause taken over - longer than known it is stored, else the ledger is not even asked', async () => {
    const { governor, other, askedCount } = makeGovernors()
    await governor.pauseUntil(NOON_MS)
    expect(askedCount()).toBe(0)
    await governor.pauseUntil(NOON_MS + HOUR_MS)
    await governor.pauseUntil(NOON_MS + HOUR_MS)
    await governor.pauseUntil(NOON_MS + 1)
    expect(askedCount()).toBe(1)
    expect((await other.read()).quota.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
    await other.pauseUntil(NOON_MS + MINUTE_MS)
    expect((await other.read()).quota.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })

  test('answers without a pause before them - do not ask the ledger', async () => {
    const { governor, askedCount } = makeGovernors()
    await takeAll(governor, 'refresh', 3)
    for (let turn = 0; turn < 10; turn += 1) await governor.noteAnswered(NOON_MS)
    expect(askedCount()).toBe(3)
  })

  test('answer after the pause - the next 429 without a time is short again, for all processes', async () => {
    const { governor, other, clock } = makeGovernors()
    for (let turn = 0; turn < 3; turn += 1) {
      await governor.noteLimited(limited(null), clock.nowMs())
      clock.advance(governor.limitedUntilMs() - clock.nowMs())
    }
    await governor.noteAnswered(clock.nowMs())
    await other.noteLimited(limited(null), clock.nowMs())
    expect(other.limitedUntilMs() - clock.nowMs()).toBe(MINUTE_MS)
  })
})

describe('governor: a limit learned', () => {
  test('429 after 100 calls - the next day is divided by it, in every process', async () => {
    const { governor, other, clock } = makeGovernors()
    await learn(governor, 100)
    expect((await governor.read()).limit).toBeUndefined()
    clock.advance(12 * HOUR_MS)
    expect(await takeAll(other, 'walk', 100)).toBe(50)
    expect(await other.read()).toMatchObject({
      limit: { calls: 100, isLearned: true },
      left: { walk: 0, refresh: 40, lookup: 10 },
    })
    clock.advance(DAY_MS)
    expect(await takeAll(governor, 'walk', 100)).toBe(62)
  })

  test('limit that was set - 429s teach nothing', async () => {
    const { governor, clock } = makeGovernors({ dailyLimit: 1_000 })
    await learn(governor, 100)
    clock.advance(12 * HOUR_MS)
    expect((await governor.read()).limit).toEqual({ calls: 1_000, isLearned: false })
  })

  test.each([
    ['after the pause', HOUR_MS, undefined],
    ['before the 429, and comes late', -1, { calls: 100, isLearned: true }],
  ])('answer to a call that left %s - the limit of the next day', async (_when, leftAfterMs, limit) => {
    const { governor, clock } = makeGovernors()
    await learn(governor, 100)
    clock.advance(2 * HOUR_MS)
    await governor.noteAnswered(NOON_MS + leftAfterMs)
    clock.advance(12 * HOUR_MS)
    expect((await governor.read()).limit).toEqual(limit)
  })
})

describe('governor: look-ups of the hour', () => {
  test('spent by another process - refused here, though the first question still looks free', async () => {
    const { governor, other } = makeGovernors()
    expect(await takeAll(other, 'lookup', 5)).toBe(3)
    expect(governor.isFree('lookup')).toBe(true)
    expect(await take(governor, 'lookup')).toBe(false)
    expect(governor.isFree('lookup')).toBe(false)
  })

  test('spent - is believed for a second, then asked again', async () => {
    const { governor, clock } = makeGovernors()
    await takeAll(governor, 'lookup', 4)
    clock.advance(SECOND_MS - 1)
    expect(governor.isFree('lookup')).toBe(false)
    clock.advance(1)
    expect(governor.isFree('lookup')).toBe(true)
    expect(await take(governor, 'lookup')).toBe(false)
    clock.advance(HOUR_MS)
    expect(await take(governor, 'lookup')).toBe(true)
  })

  test('of a new process, asked for many - count from the first one on', async () => {
    const { governor } = makeGovernors()
    expect(await takeAll(governor, 'lookup', 10)).toBe(3)
    expect((await governor.read()).quota.calls.lookup).toBe(3)
  })

  test('lists of channels - are no look-ups of the hour', async () => {
    const { governor } = makeGovernors({ unknownLookupsPerHour: 0 })
    expect(await takeAll(governor, 'channels', 10)).toBe(10)
  })
})

describe('governor: waits of a walk', () => {
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
    const { governor } = makeGovernors({ dailyLimit })
    await takeAll(governor, 'walk', made)
    expect(governor.computeWalkWaitMs(callsToGo)).toBe(Math.ceil(hours * HOUR_MS))
  })

  test('share spent, midnight comes - the wait ends there, and the next day is divided anew', async () => {
    const { governor, clock } = makeGovernors({ dailyLimit: 20 })
    await takeAll(governor, 'walk', 10)
    clock.advance(12 * HOUR_MS - 1)
    expect(governor.computeWalkWaitMs(5)).toBe(1)
    clock.advance(1)
    expect(governor.computeWalkWaitMs(5)).toBe(0)
    expect(governor.computeWalkWaitMs(11)).toBe(Math.ceil((24 * HOUR_MS) / 11))
  })
})
