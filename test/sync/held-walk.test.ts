import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS, UNKNOWN_TIME_MS } from '../../src/clock.ts'
import { type PreviousCopy, type WalkSummary, evaluateWalk } from '../../src/sync/held-walk.ts'
import { NOON_MS } from '../helpers/harness.ts'

const COPY: PreviousCopy = { currentWalk: 1, productCount: 120, isMalformed: false, held: null }

type Walk = Readonly<{ startMinute: number; lastsMinutes?: number; isClockUnreliable?: boolean }>

/** Evaluate walks without products in order. Return the minute since which each is held, `unknown` or `accepted`. */
function evaluateAll(walks: readonly Walk[]): readonly (number | string)[] {
  let copy = COPY
  return walks.map(({ startMinute, lastsMinutes = 0, isClockUnreliable = false }) => {
    const startedAtMs = NOON_MS + startMinute * MINUTE_MS
    const evaluatedAtMs = startedAtMs + lastsMinutes * MINUTE_MS
    const summary: WalkSummary = { startedAtMs, evaluatedAtMs, productCount: 0, isMalformed: false }
    const held = evaluateWalk(copy, summary, { confirmAfterMs: HOUR_MS, isClockUnreliable })
    copy = { ...copy, held }
    if (held === null) return 'accepted'
    return held.sinceMs === UNKNOWN_TIME_MS ? 'unknown' : (held.sinceMs - NOON_MS) / MINUTE_MS
  })
}

describe('walks that find no products, although the copy has some', () => {
  test('each takes 170 minutes and two machines overlap - the hold is still confirmed', () => {
    const starts = [0, 60, 180, 240]
    expect(evaluateAll(starts.map((startMinute) => ({ startMinute, lastsMinutes: 170 })))).toEqual([
      140,
      140,
      140,
      'accepted',
    ])
  })

  test('36 minutes each - the third is accepted', () => {
    const starts = [0, 60, 120]
    expect(evaluateAll(starts.map((startMinute) => ({ startMinute, lastsMinutes: 36 })))).toEqual([
      6,
      6,
      'accepted',
    ])
  })

  test('walk by an unreliable clock that is behind - the time of the hold does not change', () => {
    const behind = { startMinute: -60, isClockUnreliable: true }
    expect(evaluateAll([{ startMinute: 0 }, behind, { startMinute: 60 }])).toEqual([0, 0, 'accepted'])
  })

  test('first walk by an unreliable clock - the next walk starts a new hold', () => {
    const behind = { startMinute: -60, isClockUnreliable: true }
    expect(evaluateAll([behind, { startMinute: 0 }, { startMinute: 60 }])).toEqual(['unknown', 0, 'accepted'])
  })
})
