import * as fc from 'fast-check'
import {
  type CallPurpose,
  type QuotaState,
  recordCall,
  createQuotaState,
  recordRateLimit,
} from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

/** Add calls to a state; default: refreshes at noon. */
export function recordCalls(
  state: QuotaState,
  count: number,
  { nowMs = NOON_MS, purpose = 'refresh' }: Readonly<{ nowMs?: number; purpose?: CallPurpose }> = {},
): QuotaState {
  let result = state
  for (let index = 0; index < count; index += 1) result = recordCall(result, { purpose, nowMs })
  return result
}

/** Return the state after a 429 that arrived immediately. */
export function recordLimit(
  state: QuotaState,
  response: Readonly<{ retryAfterMs: number | null; nowMs: number }>,
): QuotaState {
  return recordRateLimit(state, { ...response, calledAtMs: response.nowMs })
}

/** Return the state after calls at noon and a 429 for the last one, with a pause of an hour. */
export function recordLimitAfter(calls: number): QuotaState {
  const state = recordCalls(createQuotaState(NOON_MS), calls)
  return recordLimit(state, { retryAfterMs: HOUR_MS, nowMs: NOON_MS })
}

/** Times from the day before to the day after. */
export const timeMs = fc.integer({ min: NOON_MS - 9 * DAY_MS, max: NOON_MS + 9 * DAY_MS })
const count = fc.integer({ min: 0, max: 50 })
const shareCalls = fc.record({ walk: count, refresh: count, lookup: count })

/** Any state of one day. */
export const anyStateOfDay = (day: number): fc.Arbitrary<QuotaState> =>
  fc.record({
    limitedUntilMs: fc.oneof(fc.constant(0), timeMs),
    pauseCount: fc.integer({ min: 0, max: 9 }),
    limitedAtMs: fc.oneof(fc.constant(0), timeMs),
    learnedCalls: fc.option(fc.integer({ min: 20, max: 5_000 })),
    day: fc.constant(day),
    calls: shareCalls,
    lookupsLastHour: count,
  })
