import {
  checkQuota,
  computeLeft,
  countCall,
  createQuotaState,
  startDay,
  toDayNumber,
  toMs,
} from './rules.mjs'
import { DAY_S } from './day.mjs'

const HOUR_MS = 3_600_000

/**
 * The calls of views in one database, by the product's own rules. A call of a box that stands for many is
 * that many calls: none is made where they would not all fit.
 * @param {{ dailyLimit: number | null, lookupsPerHour: number }} limits
 * @param {() => number} nowS simulated seconds
 */
export function createBudget({ dailyLimit, lookupsPerHour }, nowS) {
  let state = createQuotaState(toMs(nowS()))
  let lookupTimesMs = []
  const rules = { dailyLimit, lookupsPerHour }
  const days = new Map()
  const firstRefusals = new Map()
  return {
    /** Calls by day and purpose, and the second of each day at which a refresh was refused for the first time. */
    days,
    firstRefusals,
    /** Makes `weight` calls, or none. */
    take(purpose, weight) {
      const day = toDayNumber(nowS())
      const nowMs = toMs(nowS())
      lookupTimesMs = lookupTimesMs.filter((timeMs) => nowMs - timeMs < HOUR_MS)
      const before = { ...startDay(state, nowMs), lookupsLastHour: lookupTimesMs.length }
      const left = computeLeft(before, rules, nowMs)?.[purpose] ?? Infinity
      const isTaken = checkQuota(before, rules, { purpose, nowMs }) === 'allowed' && left >= weight
      if (isTaken) state = countMany(before, { purpose, nowMs }, weight)
      if (isTaken && purpose === 'lookup') lookupTimesMs.push(nowMs)
      if (isTaken) noteCalls(days, { day, purpose, weight })
      else if (purpose === 'refresh' && !firstRefusals.has(day)) firstRefusals.set(day, nowS() - day * DAY_S)
      return isTaken
    },
  }
}

/** One call is counted by the product's rule; what a box stands for comes on top. */
function countMany(state, { purpose, nowMs }, weight) {
  const next = countCall(state, { purpose, nowMs })
  return { ...next, calls: { ...next.calls, [purpose]: next.calls[purpose] + weight - 1 } }
}

function noteCalls(days, { day, purpose, weight }) {
  const calls = days.get(day) ?? { refresh: 0, lookup: 0 }
  calls[purpose] += weight
  days.set(day, calls)
}
