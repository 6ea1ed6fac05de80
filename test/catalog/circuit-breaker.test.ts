import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type CircuitBreaker, createCircuitBreaker } from '../../src/catalog/call-policy.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogTooLargeError,
  CatalogUnreachableError,
} from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toRunCount } from '../helpers/property-runs.ts'

/** Consecutive failures that open the breaker. */
const FAILURE_THRESHOLD = 5

type BreakerUnderTest = Readonly<{ breaker: CircuitBreaker; clock: FakeClock }>

function makeBreaker(random: () => number = () => 0): BreakerUnderTest {
  const clock = createFakeClock(NOON_MS)
  return { breaker: createCircuitBreaker(clock, random), clock }
}

const UNREACHABLE = new CatalogUnreachableError('refused')

/** Return how a call ended for the caller: a result, blocked, or an error message. */
const run = (fixture: BreakerUnderTest, failure?: Error): Promise<string> =>
  fixture.breaker
    .run(() => (failure === undefined ? Promise.resolve('succeeded') : Promise.reject(failure)))
    .catch((error: Error) => (error instanceof CatalogCallBlockedError ? 'not called' : error.message))

async function fail(fixture: BreakerUnderTest, times: number, failure: Error = UNREACHABLE): Promise<void> {
  for (let attempt = 0; attempt < times; attempt += 1)
    expect(await run(fixture, failure)).toBe(failure.message)
}

/** Advance the clock to the end of the pause and return its length. */
async function waitOutPause(fixture: BreakerUnderTest): Promise<number> {
  let pauseMs = 0
  while (fixture.breaker.state() === 'open') {
    expect(await run(fixture)).toBe('not called')
    fixture.clock.advance(100)
    pauseMs += 100
  }
  expect(fixture.breaker.state()).toBe('probing')
  return pauseMs
}

afterEach(() => {
  vi.useRealTimers()
})

describe('breaker: opens', () => {
  test.each([
    UNREACHABLE,
    new CatalogDeadlineError('late'),
    new CatalogStatusError('500', 500),
    new CatalogStatusError('503', 503),
    new CatalogRedirectError('302'),
    new CatalogInvalidError('HTML'),
  ])('$code - four in a row leave it closed, the fifth opens it', async (failure) => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD - 1, failure)
    expect([fixture.breaker.state(), fixture.breaker.canCall()]).toEqual(['closed', true])
    await fail(fixture, 1, failure)
    expect([fixture.breaker.state(), fixture.breaker.canCall()]).toEqual(['open', false])
    expect(await run(fixture)).toBe('not called')
  })

  test('unreachable and late in turn - count together', async () => {
    const fixture = makeBreaker()
    for (const failure of [UNREACHABLE, new CatalogDeadlineError('late')]) await fail(fixture, 2, failure)
    await fail(fixture, 1)
    expect(fixture.breaker.state()).toBe('open')
  })

  test('five concurrent failures - open it once', async () => {
    const fixture = makeBreaker()
    await Promise.all(Array.from({ length: 30 }, () => run(fixture, UNREACHABLE)))
    expect(fixture.breaker.state()).toBe('open')
    expect(await waitOutPause(fixture)).toBe(5 * SECOND_MS)
  })

  test.each([
    new CatalogStatusError('400', 400),
    new CatalogStatusError('404', 404),
    new CatalogTooLargeError('too large'),
    new CatalogRateLimitedError('429', null),
    new CatalogKeyRefusedError('401'),
    new TypeError('a bug'),
  ])('$name - says nothing about the catalog: resets the failures and never opens it', async (response) => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD - 1)
    await fail(fixture, 1, response)
    await fail(fixture, FAILURE_THRESHOLD - 1)
    expect(fixture.breaker.state()).toBe('closed')
    const other = makeBreaker()
    await fail(other, 3 * FAILURE_THRESHOLD, response)
    expect(other.breaker.state()).toBe('closed')
  })

  test('success in between - resets the failures', async () => {
    const fixture = makeBreaker()
    for (let round = 0; round < 3; round += 1) {
      await fail(fixture, FAILURE_THRESHOLD - 1)
      expect(await run(fixture)).toBe('succeeded')
    }
    expect(fixture.breaker.state()).toBe('closed')
  })
})

describe('breaker: pauses', () => {
  test('probes that fail - five seconds, doubled up to a minute', async () => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    const pauses: number[] = []
    for (let attempt = 0; attempt < 7; attempt += 1) {
      pauses.push((await waitOutPause(fixture)) / SECOND_MS)
      await fail(fixture, 1)
    }
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60])
  })

  test('probe that succeeds - closes it, and the next pause is short again', async () => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    await waitOutPause(fixture)
    await fail(fixture, 1)
    await waitOutPause(fixture)
    expect(await run(fixture)).toBe('succeeded')
    expect(fixture.breaker.state()).toBe('closed')
    await fail(fixture, FAILURE_THRESHOLD)
    expect(await waitOutPause(fixture)).toBe(5 * SECOND_MS)
  })

  test('probe with a status of the request - closes it', async () => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    await waitOutPause(fixture)
    await fail(fixture, 1, new CatalogStatusError('400', 400))
    expect(fixture.breaker.state()).toBe('closed')
  })

  test('any jitter - adds up to a fifth and never shortens the pause', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), async (share) => {
        const fixture = makeBreaker(() => share)
        await fail(fixture, FAILURE_THRESHOLD)
        fixture.clock.advance(5 * SECOND_MS * (1 + 0.2 * share) - 1)
        expect(fixture.breaker.state()).toBe('open')
        fixture.clock.advance(1)
        expect(fixture.breaker.state()).toBe('probing')
      }),
      { numRuns: toRunCount(50) },
    )
  })

  test('two processes with different jitter - do not probe together', async () => {
    const [one, other] = [makeBreaker(() => 0), makeBreaker(() => 1)]
    for (const fixture of [one, other]) await fail(fixture, FAILURE_THRESHOLD)
    expect([await waitOutPause(one), await waitOutPause(other)]).toEqual([5 * SECOND_MS, 6 * SECOND_MS])
  })
})

type Probe = Readonly<{
  fixture: BreakerUnderTest
  probe: ReturnType<typeof defer<string>>
  probing: Promise<string>
}>

/** A breaker whose pause is over, and a probe that the test ends. */
async function startProbe(): Promise<Probe> {
  const fixture = makeBreaker()
  await fail(fixture, FAILURE_THRESHOLD)
  fixture.clock.advance(5 * SECOND_MS)
  expect(fixture.breaker.canCall()).toBe(true)
  const probe = defer<string>()
  const probing = fixture.breaker.run(() => probe.promise)
  return { fixture, probe, probing }
}

describe('breaker: a probe', () => {
  test('running - no other call may start', async () => {
    const { fixture, probe, probing } = await startProbe()
    expect([fixture.breaker.state(), fixture.breaker.canCall()]).toEqual(['probing', false])
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect([fixture.breaker.state(), fixture.breaker.canCall()]).toEqual(['closed', true])
  })

  test('earlier call fails while the probe runs - only the probe decides', async () => {
    const fixture = makeBreaker()
    const old = defer<string>()
    const late = fixture.breaker.run(() => old.promise).catch((error: Error) => error)
    await fail(fixture, FAILURE_THRESHOLD)
    fixture.clock.advance(5 * SECOND_MS)
    const probe = defer<string>()
    const probing = fixture.breaker.run(() => probe.promise)
    old.reject(UNREACHABLE)
    expect(await late).toBe(UNREACHABLE)
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect(fixture.breaker.state()).toBe('closed')
  })

  test('blocked call - has no effect, and the next call probes', async () => {
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    fixture.clock.advance(5 * SECOND_MS)
    expect(await run(fixture, new CatalogCallBlockedError('spent'))).toBe('not called')
    expect([fixture.breaker.state(), fixture.breaker.canCall()]).toEqual(['probing', true])
  })

  test('failed - the next call is blocked, and the pause is longer', async () => {
    const { fixture, probe, probing } = await startProbe()
    probe.reject(UNREACHABLE)
    await expect(probing).rejects.toBe(UNREACHABLE)
    expect(await run(fixture)).toBe('not called')
    expect(await waitOutPause(fixture)).toBe(10 * SECOND_MS)
  })
})

describe('breaker: clock changes', () => {
  test('system clock a day ahead, injected clock unchanged - stays open', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    vi.setSystemTime(NOON_MS + DAY_MS)
    expect(fixture.breaker.state()).toBe('open')
    expect(await run(fixture)).toBe('not called')
  })

  test('system clock unchanged, injected clock advances - probes at the end of the pause', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    fixture.clock.advance(MINUTE_MS)
    expect(await run(fixture)).toBe('succeeded')
    expect(fixture.breaker.state()).toBe('closed')
  })

  test('system clock set back an hour - does not delay the probe', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const fixture = makeBreaker()
    await fail(fixture, FAILURE_THRESHOLD)
    vi.setSystemTime(NOON_MS - HOUR_MS)
    fixture.clock.advance(5 * SECOND_MS)
    expect(fixture.breaker.canCall()).toBe(true)
    expect(await run(fixture)).toBe('succeeded')
  })
})
