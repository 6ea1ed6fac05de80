import { computeLeft, countCall, createMemoryLedger, judgeCall, toDayNumber, toMs } from './rules.mjs'
import { DAY_S } from './day.mjs'

/**
 * The calls of views in one database, by the product's own rules and its own ledger. A call of a box that stands for many is
 * that many calls: none is made where they would not all fit.
 * @param {{ dailyLimit: number | null, lookupsPerHour: number }} limits
 * @param {() => number} nowS simulated seconds
 */
export function createBudget({ dailyLimit, lookupsPerHour }, nowS) {
  const ledger = createMemoryLedger({ nowMs: () => toMs(nowS()) })
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
      let isTaken = false
      void ledger.updateQuota(nowMs, (state) => {
        const left = computeLeft(state, rules, nowMs)?.[purpose] ?? Infinity
        isTaken = judgeCall(state, rules, { purpose, nowMs }) === 'free' && left >= weight
        return isTaken ? countMany(state, { purpose, nowMs }, weight) : state
      })
      if (isTaken) noteCalls(days, { day, purpose, weight })
      else if (purpose === 'refresh' && !firstRefusals.has(day)) firstRefusals.set(day, nowS() - day * DAY_S)
      return isTaken
    },
  }
}

/** One call is counted by the product's rule; what a box stands for comes on top. */
function countMany(state, { purpose, nowMs }, weight) {
  const next = countCall(state, { purpose, nowMs, isBudgeted: purpose === 'lookup' })
  return { ...next, calls: { ...next.calls, [purpose]: next.calls[purpose] + weight - 1 } }
}

function noteCalls(days, { day, purpose, weight }) {
  const calls = days.get(day) ?? { refresh: 0, lookup: 0 }
  calls[purpose] += weight
  days.set(day, calls)
}
