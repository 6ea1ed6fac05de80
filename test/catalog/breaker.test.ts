import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Breaker, createBreaker } from '../../src/catalog/breaker.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  CatalogUnreachableError,
} from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toRuns } from '../helpers/property-runs.ts'

/** Failures in a row that open the breaker. */
const BREAKING_FAILURES = 5

type Under = Readonly<{ breaker: Breaker; clock: FakeClock }>

function makeBreaker(random: () => number = () => 0): Under {
  const clock = createFakeClock(NOON_MS)
  return { breaker: createBreaker(clock, random), clock }
}

const UNREACHABLE = new CatalogUnreachableError('refused')

/** How a call ended for the one who asked: answered, not called, or the message of its failure. */
const run = (under: Under, failure?: Error): Promise<string> =>
  under.breaker
    .run(() => (failure === undefined ? Promise.resolve('answered') : Promise.reject(failure)))
    .catch((error: Error) => (error instanceof CatalogCallBlockedError ? 'not called' : error.message))

async function fail(under: Under, times: number, failure: Error = UNREACHABLE): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) expect(await run(under, failure)).toBe(failure.message)
}

/** Moves the clock to the end of the pause, and answers how long that was. */
async function sitOut(under: Under): Promise<number> {
  let pauseMs = 0
  while (under.breaker.state() === 'open') {
    expect(await run(under)).toBe('not called')
    under.clock.advance(100)
    pauseMs += 100
  }
  expect(under.breaker.state()).toBe('probing')
  return pauseMs
}

afterEach(() => {
  vi.useRealTimers()
})

describe('breaker: opens', () => {
  test.each([UNREACHABLE, new CatalogDeadlineError('late')])(
    '$code - four in a row leave it closed, the fifth opens it',
    async (failure) => {
      const under = makeBreaker()
      await fail(under, BREAKING_FAILURES - 1, failure)
      expect([under.breaker.state(), under.breaker.isPassable()]).toEqual(['closed', true])
      await fail(under, 1, failure)
      expect([under.breaker.state(), under.breaker.isPassable()]).toEqual(['open', false])
      expect(await run(under)).toBe('not called')
    },
  )

  test('unreachable and late in turn - are counted together', async () => {
    const under = makeBreaker()
    for (const failure of [UNREACHABLE, new CatalogDeadlineError('late')]) await fail(under, 2, failure)
    await fail(under, 1)
    expect(under.breaker.state()).toBe('open')
  })

  test('five that left together - open it once', async () => {
    const under = makeBreaker()
    await Promise.all(Array.from({ length: 30 }, () => run(under, UNREACHABLE)))
    expect(under.breaker.state()).toBe('open')
    expect(await sitOut(under)).toBe(5 * SECOND_MS)
  })

  test.each([
    new CatalogStatusError('500', 500),
    new CatalogRateLimitedError('429', null),
    new CatalogKeyRefusedError('401'),
    new CatalogInvalidError('HTML'),
    new TypeError('a bug'),
  ])('$name - shows a connection: ends a row of failures, and never opens it', async (answer) => {
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES - 1)
    await fail(under, 1, answer)
    await fail(under, BREAKING_FAILURES - 1)
    expect(under.breaker.state()).toBe('closed')
    const other = makeBreaker()
    await fail(other, 3 * BREAKING_FAILURES, answer)
    expect(other.breaker.state()).toBe('closed')
  })

  test('answer in between - the row begins anew', async () => {
    const under = makeBreaker()
    for (let round = 0; round < 3; round += 1) {
      await fail(under, BREAKING_FAILURES - 1)
      expect(await run(under)).toBe('answered')
    }
    expect(under.breaker.state()).toBe('closed')
  })
})

describe('breaker: pauses', () => {
  test('probes that fail - five seconds, doubled up to a minute', async () => {
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    const pauses: number[] = []
    for (let turn = 0; turn < 7; turn += 1) {
      pauses.push((await sitOut(under)) / SECOND_MS)
      await fail(under, 1)
    }
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60])
  })

  test('probe that is answered - closed, and the next row of failures pauses short again', async () => {
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    await sitOut(under)
    await fail(under, 1)
    await sitOut(under)
    expect(await run(under)).toBe('answered')
    expect(under.breaker.state()).toBe('closed')
    await fail(under, BREAKING_FAILURES)
    expect(await sitOut(under)).toBe(5 * SECOND_MS)
  })

  test('probe that is refused by the catalog - shows a connection: closed', async () => {
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    await sitOut(under)
    await fail(under, 1, new CatalogStatusError('500', 500))
    expect(under.breaker.state()).toBe('closed')
  })

  test('any jitter - adds up to a fifth and takes nothing away', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), async (share) => {
        const under = makeBreaker(() => share)
        await fail(under, BREAKING_FAILURES)
        under.clock.advance(5 * SECOND_MS * (1 + 0.2 * share) - 1)
        expect(under.breaker.state()).toBe('open')
        under.clock.advance(1)
        expect(under.breaker.state()).toBe('probing')
      }),
      { numRuns: toRuns(50) },
    )
  })

  test('two processes with other luck - do not probe together', async () => {
    const [one, other] = [makeBreaker(() => 0), makeBreaker(() => 1)]
    for (const under of [one, other]) await fail(under, BREAKING_FAILURES)
    expect([await sitOut(one), await sitOut(other)]).toEqual([5 * SECOND_MS, 6 * SECOND_MS])
  })
})

type Probe = Readonly<{ under: Under; probe: ReturnType<typeof defer<string>>; probing: Promise<string> }>

/** A breaker whose pause is over, and a probe that the test ends. */
async function beginProbe(): Promise<Probe> {
  const under = makeBreaker()
  await fail(under, BREAKING_FAILURES)
  under.clock.advance(5 * SECOND_MS)
  expect(under.breaker.isPassable()).toBe(true)
  const probe = defer<string>()
  const probing = under.breaker.run(() => probe.promise)
  return { under, probe, probing }
}

describe('breaker: a probe', () => {
  test('under way - nothing else may begin', async () => {
    const { under, probe, probing } = await beginProbe()
    expect([under.breaker.state(), under.breaker.isPassable()]).toEqual(['probing', false])
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect([under.breaker.state(), under.breaker.isPassable()]).toEqual(['closed', true])
  })

  test('call from before the opening fails meanwhile - the probe alone decides', async () => {
    const under = makeBreaker()
    const old = defer<string>()
    const late = under.breaker.run(() => old.promise).catch((error: Error) => error)
    await fail(under, BREAKING_FAILURES)
    under.clock.advance(5 * SECOND_MS)
    const probe = defer<string>()
    const probing = under.breaker.run(() => probe.promise)
    old.reject(UNREACHABLE)
    expect(await late).toBe(UNREACHABLE)
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect(under.breaker.state()).toBe('closed')
  })

  test('call that is not made - says nothing, and leaves the probe to the next one', async () => {
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    under.clock.advance(5 * SECOND_MS)
    expect(await run(under, new CatalogCallBlockedError('spent'))).toBe('not called')
    expect([under.breaker.state(), under.breaker.isPassable()]).toEqual(['probing', true])
  })

  test('failed - the next call is refused, and the pause is longer', async () => {
    const { under, probe, probing } = await beginProbe()
    probe.reject(UNREACHABLE)
    await expect(probing).rejects.toBe(UNREACHABLE)
    expect(await run(under)).toBe('not called')
    expect(await sitOut(under)).toBe(10 * SECOND_MS)
  })
})

describe('breaker: whose clock', () => {
  test('machine a day ahead, ours stands still - stays open', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    vi.setSystemTime(NOON_MS + DAY_MS)
    expect(under.breaker.state()).toBe('open')
    expect(await run(under)).toBe('not called')
  })

  test('machine stands still, ours goes on - probes at the end of the pause', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    under.clock.advance(MINUTE_MS)
    expect(await run(under)).toBe('answered')
    expect(under.breaker.state()).toBe('closed')
  })

  test('machine set back an hour - does not hold up the probe', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS })
    const under = makeBreaker()
    await fail(under, BREAKING_FAILURES)
    vi.setSystemTime(NOON_MS - HOUR_MS)
    under.clock.advance(5 * SECOND_MS)
    expect(under.breaker.isPassable()).toBe(true)
    expect(await run(under)).toBe('answered')
  })
})
