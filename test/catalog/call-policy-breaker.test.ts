import { describe, expect, test, vi } from 'vitest'
import { type CallPolicy, createCallPolicy } from '../../src/catalog/call-policy.ts'
import type { CallPurpose, QuotaStore } from '../../src/catalog/quota.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { type CatalogError, CatalogRateLimitedError, CatalogUnreachableError } from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { createMemoryQuotaStore } from './memory-quota-store.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']
const BLOCKED = 'VITRINE_CATALOG_CALL_BLOCKED'

type PolicyUnderTest = { policy: CallPolicy; clock: FakeClock; sentCount: number }

function createPolicy(): PolicyUnderTest {
  const clock = createFakeClock(NOON_MS)
  const policy = createCallPolicy({ clock, unknownLookupsPerHour: 600, random: () => 0 })
  return { policy, clock, sentCount: 0 }
}

/** Make a call that ends with `outcome`; return how it ended for the caller. */
function call(
  fixture: PolicyUnderTest,
  outcome: () => Promise<string>,
  purpose: CallPurpose = 'lookup',
): Promise<string> {
  const send = (): Promise<string> => {
    fixture.sentCount += 1
    return outcome()
  }
  return fixture.policy.execute(purpose, send).catch((error: CatalogError) => error.code)
}

const fail = (): Promise<string> => Promise.reject(new CatalogUnreachableError('refused'))
const limited = (): Promise<string> => Promise.reject(new CatalogRateLimitedError('429', 60 * SECOND_MS))
const succeed = (): Promise<string> => Promise.resolve('succeeded')

async function open(fixture: PolicyUnderTest): Promise<void> {
  for (const purpose of [...PURPOSES, 'lookup'] as const) await call(fixture, fail, purpose)
  expect((await fixture.policy.readState()).breaker).toBe('open')
}

describe('call policy, unreachable catalog', () => {
  test('five failures of any purpose - calls are blocked for five seconds and not counted', async () => {
    const fixture = createPolicy()
    await open(fixture)
    fixture.clock.advance(5 * SECOND_MS - 1)
    for (const purpose of PURPOSES) {
      expect(fixture.policy.canCall(purpose)).toBe(false)
      expect(await call(fixture, succeed, purpose)).toBe(BLOCKED)
    }
    expect(fixture.sentCount).toBe(5)
    expect((await fixture.policy.readState()).quota.calls).toEqual({ walk: 1, refresh: 1, lookup: 3 })
    fixture.clock.advance(1)
    for (const purpose of PURPOSES) expect(fixture.policy.canCall(purpose)).toBe(true)
  })

  test('thirty concurrent calls after the pause - one is sent and counted', async () => {
    const fixture = createPolicy()
    await open(fixture)
    fixture.clock.advance(5 * SECOND_MS)
    const ended = await Promise.all(Array.from({ length: 30 }, () => call(fixture, fail)))
    expect(ended.filter((code) => code !== BLOCKED)).toEqual(['VITRINE_CATALOG_UNREACHABLE'])
    expect(fixture.sentCount).toBe(6)
    const { quota } = await fixture.policy.readState()
    expect([quota.calls.lookup, quota.lookupsLastHour]).toEqual([4, 3])
  })

  test('call that waits for its quota while others fail to connect - is not sent', async () => {
    const clock = createFakeClock(NOON_MS)
    const counting = { isSlow: false, done: defer<void>() }
    const quotaStore = createMemoryQuotaStore()
    const store: QuotaStore = {
      async updateQuota(nowMs, change) {
        if (counting.isSlow) await counting.done.promise
        return quotaStore.updateQuota(nowMs, change)
      },
    }
    const policy = createCallPolicy({ clock, unknownLookupsPerHour: 600, random: () => 0, store })
    const fixture = { policy, clock, sentCount: 0 }
    const unreachable = defer<string>()
    const failing = PURPOSES.map((purpose) => call(fixture, () => unreachable.promise, purpose))
    failing.push(call(fixture, () => unreachable.promise))
    await vi.waitFor(() => expect(fixture.sentCount).toBe(5))
    counting.isSlow = true
    const waiting = call(fixture, succeed)
    unreachable.reject(new CatalogUnreachableError('refused'))
    await Promise.all(failing)
    counting.done.resolve()
    expect([await waiting, fixture.sentCount]).toEqual([BLOCKED, 5])
  })

  test('probe running - others are blocked; after its response - they pass', async () => {
    const fixture = createPolicy()
    await open(fixture)
    fixture.clock.advance(5 * SECOND_MS)
    const probe = defer<string>()
    const probing = call(fixture, () => probe.promise)
    expect(await call(fixture, succeed)).toBe(BLOCKED)
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect(await call(fixture, succeed)).toBe('succeeded')
  })

  test('probe denied by a used-up share - the next call probes', async () => {
    const clock = createFakeClock(NOON_MS)
    const policy = createCallPolicy({ clock, unknownLookupsPerHour: 600, dailyLimit: 10, random: () => 0 })
    const fixture = { policy, clock, sentCount: 0 }
    for (let attempt = 0; attempt < 5; attempt += 1) await call(fixture, fail, 'walk')
    expect((await policy.readState()).breaker).toBe('open')
    clock.advance(5 * SECOND_MS)
    expect(await call(fixture, succeed, 'walk')).toBe(BLOCKED)
    expect((await policy.readState()).breaker).toBe('probing')
    expect(await call(fixture, succeed, 'refresh')).toBe('succeeded')
  })

  test('probe with status 429 - closes the breaker; the rate limit pauses instead', async () => {
    const fixture = createPolicy()
    await open(fixture)
    fixture.clock.advance(5 * SECOND_MS)
    expect(await call(fixture, limited)).toBe('VITRINE_CATALOG_RATE_LIMITED')
    const { breaker, quota } = await fixture.policy.readState()
    expect([breaker, quota.limitedUntilMs]).toEqual(['closed', fixture.clock.nowMs() + 60 * SECOND_MS])
  })
})
