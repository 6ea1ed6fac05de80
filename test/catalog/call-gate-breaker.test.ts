import { describe, expect, test, vi } from 'vitest'
import { type CallGate, createCallGate } from '../../src/catalog/call-gate.ts'
import type { CallPurpose, QuotaStore } from '../../src/catalog/quota.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { type CatalogError, CatalogRateLimitedError, CatalogUnreachableError } from '../../src/errors.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { createMemoryQuotaStore } from './memory-quota-store.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']
const NOT_MADE = 'VITRINE_CATALOG_CALL_BLOCKED'

type Under = { gate: CallGate; clock: FakeClock; leftCount: number }

function makeGate(): Under {
  const clock = createFakeClock(NOON_MS)
  const gate = createCallGate({ clock, unknownLookupsPerHour: 600, random: () => 0 })
  return { gate, clock, leftCount: 0 }
}

/** A call that ends as `outcome` does; answers how it ended for the one who asked. */
function call(
  under: Under,
  outcome: () => Promise<string>,
  purpose: CallPurpose = 'lookup',
): Promise<string> {
  const send = (): Promise<string> => {
    under.leftCount += 1
    return outcome()
  }
  return under.gate.pass(purpose, send).catch((error: CatalogError) => error.code)
}

const fail = (): Promise<string> => Promise.reject(new CatalogUnreachableError('refused'))
const limited = (): Promise<string> => Promise.reject(new CatalogRateLimitedError('429', 60 * SECOND_MS))
const answer = (): Promise<string> => Promise.resolve('answered')

async function open(under: Under): Promise<void> {
  for (const purpose of [...PURPOSES, 'lookup'] as const) await call(under, fail, purpose)
  expect((await under.gate.readState()).breaker).toBe('open')
}

describe('gate, catalog that cannot be reached', () => {
  test('five failures of whatever purpose - nothing passes for five seconds, and nothing is counted', async () => {
    const under = makeGate()
    await open(under)
    under.clock.advance(5 * SECOND_MS - 1)
    for (const purpose of PURPOSES) {
      expect(under.gate.isOpen(purpose)).toBe(false)
      expect(await call(under, answer, purpose)).toBe(NOT_MADE)
    }
    expect(under.leftCount).toBe(5)
    expect((await under.gate.readState()).quota.calls).toEqual({ walk: 1, refresh: 1, lookup: 3 })
    under.clock.advance(1)
    for (const purpose of PURPOSES) expect(under.gate.isOpen(purpose)).toBe(true)
  })

  test('thirty at once after the pause - one leaves, and one is counted', async () => {
    const under = makeGate()
    await open(under)
    under.clock.advance(5 * SECOND_MS)
    const ended = await Promise.all(Array.from({ length: 30 }, () => call(under, fail)))
    expect(ended.filter((code) => code !== NOT_MADE)).toEqual(['VITRINE_CATALOG_UNREACHABLE'])
    expect(under.leftCount).toBe(6)
    const { quota } = await under.gate.readState()
    expect([quota.calls.lookup, quota.lookupsLastHour]).toEqual([4, 3])
  })

  test('call that waits to be counted when others find the catalog unreachable - does not leave', async () => {
    const clock = createFakeClock(NOON_MS)
    const counting = { isSlow: false, done: defer<void>() }
    const memory = createMemoryQuotaStore()
    const store: QuotaStore = {
      async updateQuota(nowMs, change) {
        if (counting.isSlow) await counting.done.promise
        return memory.updateQuota(nowMs, change)
      },
    }
    const gate = createCallGate({ clock, unknownLookupsPerHour: 600, random: () => 0, store })
    const under = { gate, clock, leftCount: 0 }
    const unreachable = defer<string>()
    const failing = PURPOSES.map((purpose) => call(under, () => unreachable.promise, purpose))
    failing.push(call(under, () => unreachable.promise))
    await vi.waitFor(() => expect(under.leftCount).toBe(5))
    counting.isSlow = true
    const waiting = call(under, answer)
    unreachable.reject(new CatalogUnreachableError('refused'))
    await Promise.all(failing)
    counting.done.resolve()
    expect([await waiting, under.leftCount]).toEqual([NOT_MADE, 5])
  })

  test('probe under way - others are refused; answered - they pass', async () => {
    const under = makeGate()
    await open(under)
    under.clock.advance(5 * SECOND_MS)
    const probe = defer<string>()
    const probing = call(under, () => probe.promise)
    expect(await call(under, answer)).toBe(NOT_MADE)
    probe.resolve('probed')
    expect(await probing).toBe('probed')
    expect(await call(under, answer)).toBe('answered')
  })

  test('probe that a spent share refuses - gives its place back', async () => {
    const clock = createFakeClock(NOON_MS)
    const gate = createCallGate({ clock, unknownLookupsPerHour: 600, dailyLimit: 10, random: () => 0 })
    const under = { gate, clock, leftCount: 0 }
    for (let turn = 0; turn < 5; turn += 1) await call(under, fail, 'walk')
    expect((await gate.readState()).breaker).toBe('open')
    clock.advance(5 * SECOND_MS)
    expect(await call(under, answer, 'walk')).toBe(NOT_MADE)
    expect((await gate.readState()).breaker).toBe('probing')
    expect(await call(under, answer, 'refresh')).toBe('answered')
  })

  test('probe answered with 429 - there is a connection; the limit pauses now', async () => {
    const under = makeGate()
    await open(under)
    under.clock.advance(5 * SECOND_MS)
    expect(await call(under, limited)).toBe('VITRINE_CATALOG_RATE_LIMITED')
    const { breaker, quota } = await under.gate.readState()
    expect([breaker, quota.limitedUntilMs]).toEqual(['closed', under.clock.nowMs() + 60 * SECOND_MS])
  })
})
