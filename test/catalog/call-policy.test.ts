import { describe, expect, it, vi } from 'vitest'
import { type CallPolicy, createCallPolicy } from '../../src/catalog/call-policy.ts'
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

type PolicyUnderTest = {
  policy: CallPolicy
  clock: FakeClock
  /** Calls that were sent. */
  calls: CallPurpose[]
}

function createPolicy(unknownLookupsPerHour = 600): PolicyUnderTest {
  const clock = createFakeClock(NOON_MS)
  return { policy: createCallPolicy({ clock, unknownLookupsPerHour, random: () => 0 }), clock, calls: [] }
}

/** Make a call that ends as given; return how it ended for the caller. */
async function call(fixture: PolicyUnderTest, purpose: CallPurpose, outcome?: CatalogError): Promise<string> {
  const send = (): Promise<string> => {
    fixture.calls.push(purpose)
    return outcome === undefined ? Promise.resolve('succeeded') : Promise.reject(outcome)
  }
  return fixture.policy.execute(purpose, send).catch((error: CatalogError) => error.code)
}

/** Return how long calls are blocked after a failure; advance the clock to the end of the pause. */
async function measurePause(fixture: PolicyUnderTest, failure: CatalogError): Promise<number> {
  await call(fixture, 'refresh', failure)
  const { quota, keyRefusedUntilMs } = await fixture.policy.readState()
  const pauseMs = Math.max(quota.limitedUntilMs, keyRefusedUntilMs) - fixture.clock.nowMs()
  fixture.clock.advance(pauseMs - 1)
  expect(fixture.policy.canCall('walk')).toBe(false)
  fixture.clock.advance(1)
  expect(fixture.policy.canCall('walk')).toBe(true)
  return pauseMs
}

async function measurePauses(
  fixture: PolicyUnderTest,
  failure: CatalogError,
  count: number,
): Promise<number[]> {
  const pauses: number[] = []
  for (let attempt = 0; attempt < count; attempt++) pauses.push(await measurePause(fixture, failure))
  return pauses
}

const BLOCKED = 'VITRINE_CATALOG_CALL_BLOCKED'
const rejected = new CatalogKeyRefusedError('401')
const limited = (retryAfterMs: number | null): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

describe('call policy: pauses', () => {
  it('new - every purpose - passes', async () => {
    const fixture = createPolicy()
    for (const purpose of PURPOSES) {
      expect(fixture.policy.canCall(purpose)).toBe(true)
      expect(await call(fixture, purpose)).toBe('succeeded')
    }
  })

  it('429 with Retry-After - every purpose - blocked to the millisecond', async () => {
    const fixture = createPolicy()
    expect(await call(fixture, 'refresh', limited(30 * SECOND_MS))).toBe('VITRINE_CATALOG_RATE_LIMITED')
    fixture.clock.advance(30 * SECOND_MS - 1)
    for (const purpose of PURPOSES) {
      expect(fixture.policy.canCall(purpose)).toBe(false)
      expect(await call(fixture, purpose)).toBe(BLOCKED)
    }
    expect(fixture.calls).toEqual(['refresh'])
    fixture.clock.advance(1)
    for (const purpose of PURPOSES) expect(await call(fixture, purpose)).toBe('succeeded')
  })

  it('429 without Retry-After - repeatedly - one minute, doubled up to an hour', async () => {
    const pauses = await measurePauses(createPolicy(), limited(null), 8)
    expect(pauses.map((pauseMs) => pauseMs / MINUTE_MS)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  it('429 with a Retry-After of 30 years - at most until the reset at 00:00 UTC plus tolerance', async () => {
    const fixture = createPolicy()
    await call(fixture, 'walk', limited(999_999_999 * SECOND_MS))
    expect(fixture.policy.getRateLimitedUntilMs()).toBe(NOON_MS + 12 * HOUR_MS + 5 * MINUTE_MS)
  })

  it('401 - repeatedly - five seconds, doubled up to ten minutes', async () => {
    const pauses = await measurePauses(createPolicy(), rejected, 9)
    expect(pauses.map((pauseMs) => pauseMs / SECOND_MS)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  })

  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', rejected, 5 * SECOND_MS],
  ])('%s - thirty calls sent together - one pause, and the next is doubled only once', async (...row) => {
    const [, failure, pauseMs] = row
    const fixture = createPolicy()
    await Promise.all(Array.from({ length: 30 }, () => call(fixture, 'refresh', failure)))
    expect(fixture.calls).toHaveLength(30)
    fixture.clock.advance(pauseMs)
    expect(await measurePause(fixture, failure)).toBe(2 * pauseMs)
  })

  it('429 with a longer and then a shorter time - the longer one stays', async () => {
    const fixture = createPolicy()
    const waits = [null, 10 * MINUTE_MS, 2 * MINUTE_MS]
    await Promise.all(waits.map((waitMs) => call(fixture, 'refresh', limited(waitMs))))
    expect(fixture.policy.getRateLimitedUntilMs()).toBe(NOON_MS + 10 * MINUTE_MS)
  })

  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', rejected, 5 * SECOND_MS],
  ])('%s - a success in between - resets the pause', async (_name, failure, pauseMs) => {
    const fixture = createPolicy()
    await measurePauses(fixture, failure, 3)
    expect(await call(fixture, 'refresh')).toBe('succeeded')
    expect(await measurePause(fixture, failure)).toBe(pauseMs)
  })

  it.each([
    new CatalogUnreachableError('reset'),
    new CatalogDeadlineError('late'),
    new CatalogStatusError('500', 500),
    new CatalogInvalidError('HTML'),
  ])('$code - does not pause calls', async (failure) => {
    const fixture = createPolicy()
    await call(fixture, 'refresh', failure)
    expect(fixture.policy.canCall('refresh')).toBe(true)
  })

  it('new key after a 401 - ends its pause, not the rate-limit pause', async () => {
    const fixture = createPolicy()
    await call(fixture, 'refresh', rejected)
    fixture.policy.clearKeyPause()
    expect(fixture.policy.canCall('refresh')).toBe(true)
    await call(fixture, 'refresh', limited(HOUR_MS))
    fixture.policy.clearKeyPause()
    expect(fixture.policy.canCall('refresh')).toBe(false)
    expect(fixture.policy.getRateLimitedUntilMs()).toBe(NOON_MS + HOUR_MS)
  })

  it('401, then the clock is set back - ends the pause', async () => {
    const fixture = createPolicy()
    await call(fixture, 'refresh', rejected)
    fixture.clock.step(-HOUR_MS)
    expect(fixture.policy.canCall('refresh')).toBe(true)
  })

  it('pause of another thread - is applied, never shortened', async () => {
    const { policy } = createPolicy()
    for (const untilMs of [NOON_MS + HOUR_MS, NOON_MS + 1, 0]) await policy.pauseUntil(untilMs)
    expect(policy.getRateLimitedUntilMs()).toBe(NOON_MS + HOUR_MS)
    expect(policy.canCall('walk')).toBe(false)
  })

  it('pause beyond the next reset, recorded by a wrong clock - is ignored', async () => {
    const fixture = createPolicy()
    await fixture.policy.pauseUntil(NOON_MS + 30 * DAY_MS)
    expect((await fixture.policy.readState()).quota.limitedUntilMs).toBe(0)
    expect(await call(fixture, 'refresh')).toBe('succeeded')
  })

  it('call that fails before it is sent - throws its own error', async () => {
    const { policy } = createPolicy()
    await expect(policy.execute('walk', () => Promise.reject(new TypeError('a bug')))).rejects.toThrow(
      'a bug',
    )
  })

  it('501 concurrent calls - the last one is not queued; after they end, calls are queued again', async () => {
    const fixture = createPolicy()
    const ends: (() => void)[] = []
    const wait = (): Promise<void> => new Promise((resolve) => void ends.push(resolve))
    const waiting = Array.from({ length: 500 }, () => fixture.policy.execute('refresh', wait))
    expect(fixture.policy.canCall('refresh')).toBe(false)
    expect(fixture.policy.canCall('lookup')).toBe(true)
    expect(await call(fixture, 'refresh')).toBe(BLOCKED)
    let maxConcurrent = 0
    let done = 0
    for (const release of waiting) void release.then(() => done++)
    await vi.waitFor(() => {
      maxConcurrent = Math.max(maxConcurrent, ends.length)
      for (const end of ends.splice(0)) end()
      expect(done).toBe(500)
    })
    expect(maxConcurrent).toBe(64)
    expect(await call(fixture, 'refresh')).toBe('succeeded')
  })

  it('calls queued for five seconds - are blocked, not counted, and do not open the breaker', async () => {
    const fixture = createPolicy()
    const hanging = Array.from({ length: 64 }, () =>
      fixture.policy.execute('walk', () => new Promise(() => {})),
    )
    const late = Promise.all(Array.from({ length: 20 }, () => call(fixture, 'refresh')))
    await vi.waitFor(() => expect(fixture.clock.pendingWaits).toBe(20))
    fixture.clock.advance(5 * SECOND_MS)
    expect(new Set(await late)).toEqual(new Set([BLOCKED]))
    const { quota, breaker } = await fixture.policy.readState()
    expect([fixture.calls.length, quota.calls.refresh, quota.calls.walk, breaker]).toEqual([
      0,
      0,
      64,
      'closed',
    ])
    expect(hanging).toHaveLength(64)
  })
})

describe('call policy: look-ups of unknown products', () => {
  it('budget used up - blocks only look-ups; each look-up expires after an hour', async () => {
    const fixture = createPolicy(2)
    expect(await call(fixture, 'lookup')).toBe('succeeded')
    fixture.clock.advance(10 * MINUTE_MS)
    expect(await call(fixture, 'lookup')).toBe('succeeded')
    expect(fixture.policy.canCall('lookup')).toBe(false)
    expect(await call(fixture, 'lookup')).toBe(BLOCKED)
    for (const purpose of ['walk', 'refresh', 'channels'] as const)
      expect(await call(fixture, purpose)).toBe('succeeded')
    fixture.clock.advance(50 * MINUTE_MS)
    expect(fixture.policy.canCall('lookup')).toBe(true)
    expect(await call(fixture, 'lookup')).toBe('succeeded')
    expect(await call(fixture, 'lookup')).toBe(BLOCKED)
  })

  it('canCall - does not use the budget', () => {
    const { policy } = createPolicy(1)
    for (let attempt = 0; attempt < 10; attempt++) expect(policy.canCall('lookup')).toBe(true)
  })

  it('budget of 0 - no look-ups', async () => {
    const fixture = createPolicy(0)
    expect(await call(fixture, 'lookup')).toBe(BLOCKED)
    expect(fixture.calls).toEqual([])
  })

  it('call denied for another reason - does not count', async () => {
    const fixture = createPolicy(1)
    await fixture.policy.pauseUntil(NOON_MS + HOUR_MS)
    expect(await call(fixture, 'lookup')).toBe(BLOCKED)
    fixture.clock.advance(HOUR_MS)
    expect(await call(fixture, 'lookup')).toBe('succeeded')
  })
})

describe('call policy: after a pause', () => {
  it.each([
    ['429', limited(null), MINUTE_MS],
    ['401', rejected, 5 * SECOND_MS],
  ])('%s - fifty calls at its end - one probes, and after its response all are sent', async (...row) => {
    const [, failure, pauseMs] = row
    const fixture = createPolicy()
    await call(fixture, 'refresh', failure)
    fixture.clock.advance(pauseMs)
    const before = fixture.calls.length
    const ends = await Promise.all(Array.from({ length: 50 }, () => call(fixture, 'refresh')))
    expect(ends.filter((end) => end === 'succeeded')).toHaveLength(1)
    expect(ends.filter((end) => end === BLOCKED)).toHaveLength(49)
    expect(fixture.calls.length - before).toBe(1)
    const later = await Promise.all(Array.from({ length: 50 }, () => call(fixture, 'refresh')))
    expect(new Set(later)).toEqual(new Set(['succeeded']))
  })
})
