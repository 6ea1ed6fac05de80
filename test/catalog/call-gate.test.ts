import { describe, expect, it } from 'vitest'
import { type CallGate, createCallGate } from '../../src/catalog/call-gate.ts'
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

function makeGate(unknownLookupsPerHour = 2): { gate: CallGate; clock: FakeClock } {
  const clock = createFakeClock(NOON_MS)
  return { gate: createCallGate({ clock, unknownLookupsPerHour }), clock }
}

/** How long the pause is that a failure brings. */
function measurePause({ gate, clock }: ReturnType<typeof makeGate>, failure: CatalogError): number {
  gate.noteFailure(failure)
  const pauseMs = gate.pausedUntilMs() - clock.nowMs()
  clock.advance(pauseMs)
  return pauseMs
}

const refused = new CatalogKeyRefusedError('401')
const limited = (retryAfterMs: number | null): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

describe('call gate: pauses', () => {
  it('new - every purpose - open', () => {
    const { gate } = makeGate()
    for (const purpose of PURPOSES) {
      expect(gate.isOpen(purpose)).toBe(true)
      expect(() => gate.enter(purpose)).not.toThrow()
    }
  })

  it('429 with Retry-After - every purpose - closed to the millisecond', () => {
    const { gate, clock } = makeGate()
    gate.noteFailure(limited(30 * SECOND_MS))
    clock.advance(30 * SECOND_MS - 1)
    for (const purpose of PURPOSES) {
      expect(gate.isOpen(purpose)).toBe(false)
      expect(() => gate.enter(purpose)).toThrow(expect.objectContaining({ code: 'VITRINE_CALL_NOT_MADE' }))
    }
    clock.advance(1)
    expect(PURPOSES.every((purpose) => gate.isOpen(purpose))).toBe(true)
  })

  it('429 without Retry-After - again and again - one minute, doubled up to an hour', () => {
    const under = makeGate()
    const pauses = Array.from({ length: 8 }, () => measurePause(under, limited(null)) / MINUTE_MS)
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  it('429 - Retry-After beyond the reset - capped at 00:00 UTC and five minutes', () => {
    const { gate } = makeGate()
    gate.noteFailure(limited(999_999_999 * SECOND_MS))
    expect(gate.pausedUntilMs()).toBe(NOON_MS + 12 * HOUR_MS + 5 * MINUTE_MS)
  })

  it('refused key - again and again - five seconds, doubled up to ten minutes', () => {
    const under = makeGate()
    const pauses = Array.from({ length: 9 }, () => measurePause(under, refused) / SECOND_MS)
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  })

  it.each<[string, CatalogError, number]>([
    ['refused key', refused, 5 * SECOND_MS],
    ['429', limited(null), MINUTE_MS],
  ])('%s - thirty calls that left together - count as one failure', (_name, failure, pauseMs) => {
    const { gate, clock } = makeGate()
    for (let call = 0; call < 30; call++) gate.noteFailure(failure)
    expect(gate.pausedUntilMs()).toBe(NOON_MS + pauseMs)
    clock.advance(pauseMs)
    gate.noteFailure(failure)
    expect(gate.pausedUntilMs()).toBe(NOON_MS + 3 * pauseMs)
  })

  it('429 with Retry-After during a pause - the longer one holds', () => {
    const { gate } = makeGate()
    gate.noteFailure(limited(null))
    gate.noteFailure(limited(10 * MINUTE_MS))
    gate.noteFailure(limited(2 * MINUTE_MS))
    expect(gate.pausedUntilMs()).toBe(NOON_MS + 10 * MINUTE_MS)
  })

  it('an answer - after failures - pauses start short again', () => {
    const under = makeGate()
    for (let turn = 0; turn < 4; turn++) {
      measurePause(under, refused)
      measurePause(under, limited(null))
    }
    under.gate.noteAnswer()
    expect(measurePause(under, refused)).toBe(5 * SECOND_MS)
    expect(measurePause(under, limited(null))).toBe(MINUTE_MS)
  })

  it('an answer during a pause - of a call that left before - does not end it', () => {
    const { gate } = makeGate()
    gate.noteFailure(limited(HOUR_MS))
    gate.noteAnswer()
    expect(gate.isOpen('walk')).toBe(false)
  })

  it.each([
    new CatalogUnreachableError('x'),
    new CatalogDeadlineError('x'),
    new CatalogStatusError('x', 500),
    new CatalogInvalidError('x'),
  ])('%s - of one product - pauses nothing', (failure) => {
    const { gate } = makeGate()
    gate.noteFailure(failure)
    expect(gate.isOpen('refresh')).toBe(true)
  })

  it('another key - after a refused one - ends its pause and not the one of the daily limit', () => {
    const { gate } = makeGate()
    gate.noteFailure(refused)
    gate.liftKeyPause()
    expect(gate.isOpen('refresh')).toBe(true)
    gate.noteFailure(limited(HOUR_MS))
    gate.liftKeyPause()
    expect(gate.isOpen('refresh')).toBe(false)
    expect(gate.limitedUntilMs()).toBe(NOON_MS + HOUR_MS)
  })

  it('refused key - told to another thread - holds for this one alone', () => {
    const { gate } = makeGate()
    gate.noteFailure(refused)
    expect(gate.limitedUntilMs()).toBeLessThanOrEqual(NOON_MS)
    expect(gate.isOpen('walk')).toBe(false)
  })

  it('pause of another thread - taken over, never shortened', () => {
    const { gate } = makeGate()
    gate.pauseUntil(NOON_MS + HOUR_MS)
    gate.pauseUntil(NOON_MS + 1)
    gate.pauseUntil(0)
    expect(gate.pausedUntilMs()).toBe(NOON_MS + HOUR_MS)
  })
})

describe('call gate: look-ups of unknown products', () => {
  it('before the first complete copy - not counted', () => {
    const { gate } = makeGate(1)
    for (let call = 0; call < 5; call++) gate.enter('lookup')
    expect(gate.isOpen('lookup')).toBe(true)
  })

  it('counted - the budget is spent - only look-ups are held back, for an hour', () => {
    const { gate, clock } = makeGate(2)
    gate.startCountingLookups()
    gate.enter('lookup')
    clock.advance(MINUTE_MS)
    gate.enter('lookup')
    expect(gate.isOpen('lookup')).toBe(false)
    expect(() => gate.enter('lookup')).toThrow(expect.objectContaining({ code: 'VITRINE_CALL_NOT_MADE' }))
    for (const purpose of ['walk', 'refresh', 'channels'] as const) gate.enter(purpose)
    clock.advance(59 * MINUTE_MS)
    expect(gate.isOpen('lookup')).toBe(true)
    gate.enter('lookup')
    expect(gate.isOpen('lookup')).toBe(false)
  })

  it('asking whether it is open - costs nothing', () => {
    const { gate } = makeGate(1)
    gate.startCountingLookups()
    for (let turn = 0; turn < 10; turn++) expect(gate.isOpen('lookup')).toBe(true)
  })

  it('a call refused by a pause - costs no budget', () => {
    const { gate, clock } = makeGate(1)
    gate.startCountingLookups()
    gate.pauseUntil(NOON_MS + DAY_MS)
    expect(() => gate.enter('lookup')).toThrow(expect.objectContaining({ code: 'VITRINE_CALL_NOT_MADE' }))
    clock.advance(DAY_MS)
    expect(gate.isOpen('lookup')).toBe(true)
  })

  it('budget of none - no look-up is made', () => {
    const { gate } = makeGate(0)
    gate.startCountingLookups()
    expect(gate.isOpen('lookup')).toBe(false)
  })
})
