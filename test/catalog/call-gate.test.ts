import { describe, expect, it, vi } from 'vitest'
import { type CallGate, createCallGate } from '../../src/catalog/call-gate.ts'
import type { CallPurpose } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import {
  CatalogDeadlineError,
  type CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  CatalogUnreachableError,
} from '../../src/errors.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'

const NOON_MS = Date.UTC(2026, 10, 21, 12)
const PURPOSES = ['walk', 'refresh', 'lookup', 'channels'] as const

type GateUnderTest = {
  gate: CallGate
  clock: FakeClock
  /** Calls that left. */
  calls: CallPurpose[]
}

function makeGate(unknownLookupsPerHour = 600): GateUnderTest {
  const clock = createFakeClock(NOON_MS)
  return { gate: createCallGate({ clock, unknownLookupsPerHour, random: () => 0 }), clock, calls: [] }
}

/** Makes a call that ends as given; answers how it ended for the one who asked. */
async function call(under: GateUnderTest, purpose: CallPurpose, outcome?: CatalogError): Promise<string> {
  const send = (): Promise<string> => {
    under.calls.push(purpose)
    return outcome === undefined ? Promise.resolve('answered') : Promise.reject(outcome)
  }
  return under.gate.pass(purpose, send).catch((error: CatalogError) => error.code)
}

/** How long nothing passes after a failure; the clock stands at its end. */
async function measurePause(under: GateUnderTest, failure: CatalogError): Promise<number> {
  await call(under, 'refresh', failure)
  const { quota, keyRefusedUntilMs } = await under.gate.readState()
  const pauseMs = Math.max(quota.limitedUntilMs, keyRefusedUntilMs) - under.clock.nowMs()
  under.clock.advance(pauseMs - 1)
  expect(under.gate.isOpen('walk')).toBe(false)
  under.clock.advance(1)
  expect(under.gate.isOpen('walk')).toBe(true)
  return pauseMs
}

async function measurePauses(under: GateUnderTest, failure: CatalogError, count: number): Promise<number[]> {
  const pauses: number[] = []
  for (let turn = 0; turn < count; turn++) pauses.push(await measurePause(under, failure))
  return pauses
}

const NOT_MADE = 'VITRINE_CATALOG_CALL_BLOCKED'
const refused = new CatalogKeyRefusedError('401')
const limited = (retryAfterMs: number | null): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

describe('call gate: pauses', () => {
  it('new - every purpose - passes', async () => {
    const under = makeGate()
    for (const purpose of PURPOSES) {
      expect(under.gate.isOpen(purpose)).toBe(true)
      expect(await call(under, purpose)).toBe('answered')
    }
  })

  it('429 with Retry-After - every purpose - closed to the millisecond', async () => {
    const under = makeGate()
    expect(await call(under, 'refresh', limited(30 * SECOND_MS))).toBe('VITRINE_CATALOG_RATE_LIMITED')
    under.clock.advance(30 * SECOND_MS - 1)
    for (const purpose of PURPOSES) {
      expect(under.gate.isOpen(purpose)).toBe(false)
      expect(await call(under, purpose)).toBe(NOT_MADE)
    }
    expect(under.calls).toEqual(['refresh'])
    under.clock.advance(1)
    for (const purpose of PURPOSES) expect(await call(under, purpose)).toBe('answered')
  })

  it('429 without Retry-After - again and again - one minute, doubled up to an hour', async () => {
    const pauses = await measurePauses(makeGate(), limited(null), 8)
    expect(pauses.map((pauseMs) => pauseMs / MINUTE_MS)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  it('429 with a Retry-After of 30 years - not beyond the reset at 00:00 UTC and its slack', async () => {
    const under = makeGate()
    await call(under, 'walk', limited(999_999_999 * SECOND_MS))
    expect(under.gate.limitedUntilMs()).toBe(NOON_MS + 12 * HOUR_MS + 5 * MINUTE_MS)
  })

  it('401 - again and again - five seconds, doubled up to ten minutes', async () => {
    const pauses = await measurePauses(makeGate(), refused, 9)
    expect(pauses.map((pauseMs) => pauseMs / SECOND_MS)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  })

  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', refused, 5 * SECOND_MS],
  ])(
    '%s - thirty calls that left together - one pause, and the next is only doubled once',
    async (...row) => {
      const [, failure, pauseMs] = row
      const under = makeGate()
      await Promise.all(Array.from({ length: 30 }, () => call(under, 'refresh', failure)))
      expect(under.calls).toHaveLength(30)
      under.clock.advance(pauseMs)
      expect(await measurePause(under, failure)).toBe(2 * pauseMs)
    },
  )

  it('429 with a longer and then a shorter time - the longer one stays', async () => {
    const under = makeGate()
    const waits = [null, 10 * MINUTE_MS, 2 * MINUTE_MS]
    await Promise.all(waits.map((waitMs) => call(under, 'refresh', limited(waitMs))))
    expect(under.gate.limitedUntilMs()).toBe(NOON_MS + 10 * MINUTE_MS)
  })

  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', refused, 5 * SECOND_MS],
  ])('%s - an answer in between - begins short again', async (_name, failure, pauseMs) => {
    const under = makeGate()
    await measurePauses(under, failure, 3)
    expect(await call(under, 'refresh')).toBe('answered')
    expect(await measurePause(under, failure)).toBe(pauseMs)
  })

  it.each([
    new CatalogUnreachableError('reset'),
    new CatalogDeadlineError('late'),
    new CatalogStatusError('500', 500),
    new CatalogInvalidError('HTML'),
  ])('$code - pauses nothing', async (failure) => {
    const under = makeGate()
    await call(under, 'refresh', failure)
    expect(under.gate.isOpen('refresh')).toBe(true)
  })

  it('another key - after a 401 - lifts its pause, not that of the limit', async () => {
    const under = makeGate()
    await call(under, 'refresh', refused)
    under.gate.liftKeyPause()
    expect(under.gate.isOpen('refresh')).toBe(true)
    await call(under, 'refresh', limited(HOUR_MS))
    under.gate.liftKeyPause()
    expect(under.gate.isOpen('refresh')).toBe(false)
    expect(under.gate.limitedUntilMs()).toBe(NOON_MS + HOUR_MS)
  })

  it('401, and the clock is set back - the pause is over', async () => {
    const under = makeGate()
    await call(under, 'refresh', refused)
    under.clock.step(-HOUR_MS)
    expect(under.gate.isOpen('refresh')).toBe(true)
  })

  it('pause of another thread - is taken over, never shortened', async () => {
    const { gate } = makeGate()
    for (const untilMs of [NOON_MS + HOUR_MS, NOON_MS + 1, 0]) await gate.pauseUntil(untilMs)
    expect(gate.limitedUntilMs()).toBe(NOON_MS + HOUR_MS)
    expect(gate.isOpen('walk')).toBe(false)
  })

  it('pause beyond the next reset, noted by a clock that was wrong - is none', async () => {
    const under = makeGate()
    await under.gate.pauseUntil(NOON_MS + 30 * DAY_MS)
    expect((await under.gate.readState()).quota.limitedUntilMs).toBe(0)
    expect(await call(under, 'refresh')).toBe('answered')
  })

  it('call that fails before it could be sent - what it throws passes through', async () => {
    const { gate } = makeGate()
    await expect(gate.pass('walk', () => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug')
  })

  it('501 calls at once - the last one is not queued, and room is free again once they ended', async () => {
    const under = makeGate()
    const ends: (() => void)[] = []
    const wait = (): Promise<void> => new Promise((resolve) => void ends.push(resolve))
    const waiting = Array.from({ length: 500 }, () => under.gate.pass('refresh', wait))
    expect(under.gate.isOpen('refresh')).toBe(false)
    expect(under.gate.isOpen('lookup')).toBe(true)
    expect(await call(under, 'refresh')).toBe(NOT_MADE)
    let most = 0
    let done = 0
    for (const one of waiting) void one.then(() => done++)
    await vi.waitFor(() => {
      most = Math.max(most, ends.length)
      for (const end of ends.splice(0)) end()
      expect(done).toBe(500)
    })
    expect(most).toBe(64)
    expect(await call(under, 'refresh')).toBe('answered')
  })

  it('calls that wait in line for five seconds - are not made, not counted, and open no breaker', async () => {
    const under = makeGate()
    const hanging = Array.from({ length: 64 }, () => under.gate.pass('walk', () => new Promise(() => {})))
    const late = Promise.all(Array.from({ length: 20 }, () => call(under, 'refresh')))
    await vi.waitFor(() => expect(under.clock.pendingWaits).toBe(20))
    under.clock.advance(5 * SECOND_MS)
    expect(new Set(await late)).toEqual(new Set([NOT_MADE]))
    const { quota, breaker } = await under.gate.readState()
    expect([under.calls.length, quota.calls.refresh, quota.calls.walk, breaker]).toEqual([0, 0, 64, 'closed'])
    expect(hanging).toHaveLength(64)
  })
})

describe('call gate: look-ups of unknown products', () => {
  it('budget - spent - closed for look-ups alone, free an hour after each', async () => {
    const under = makeGate(2)
    expect(await call(under, 'lookup')).toBe('answered')
    under.clock.advance(10 * MINUTE_MS)
    expect(await call(under, 'lookup')).toBe('answered')
    expect(under.gate.isOpen('lookup')).toBe(false)
    expect(await call(under, 'lookup')).toBe(NOT_MADE)
    for (const purpose of ['walk', 'refresh', 'channels'] as const)
      expect(await call(under, purpose)).toBe('answered')
    under.clock.advance(50 * MINUTE_MS)
    expect(under.gate.isOpen('lookup')).toBe(true)
    expect(await call(under, 'lookup')).toBe('answered')
    expect(await call(under, 'lookup')).toBe(NOT_MADE)
  })

  it('budget - looked at - is not used up by looking', () => {
    const { gate } = makeGate(1)
    for (let turn = 0; turn < 10; turn++) expect(gate.isOpen('lookup')).toBe(true)
  })

  it('budget of none - no look-up at all', async () => {
    const under = makeGate(0)
    expect(await call(under, 'lookup')).toBe(NOT_MADE)
    expect(under.calls).toEqual([])
  })

  it('call that was refused for another reason - does not count', async () => {
    const under = makeGate(1)
    await under.gate.pauseUntil(NOON_MS + HOUR_MS)
    expect(await call(under, 'lookup')).toBe(NOT_MADE)
    under.clock.advance(HOUR_MS)
    expect(await call(under, 'lookup')).toBe('answered')
  })
})

describe('call gate: after a pause', () => {
  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', refused, 5 * SECOND_MS],
  ])('%s - fifty who come at its end - one tries, and after its answer all go', async (...row) => {
    const [, failure, pauseMs] = row
    const under = makeGate()
    await call(under, 'refresh', failure)
    under.clock.advance(pauseMs)
    const before = under.calls.length
    const ends = await Promise.all(Array.from({ length: 50 }, () => call(under, 'refresh')))
    expect(ends.filter((end) => end === 'answered')).toHaveLength(1)
    expect(ends.filter((end) => end === NOT_MADE)).toHaveLength(49)
    expect(under.calls.length - before).toBe(1)
    const later = await Promise.all(Array.from({ length: 50 }, () => call(under, 'refresh')))
    expect(new Set(later)).toEqual(new Set(['answered']))
  })
})
