import { DAY_S, HOUR_S } from './day.mjs'

/** The day that is told of; what is before it fills the caches. */
export const MEASURED_DAY = 1

/** How long before the measured day views begin where no limit of the day before matters: no cache keeps anything for longer. */
const WARM_UP_S = 2 * HOUR_S

/**
 * When views begin, simulated seconds: with a limit a day before, whose calls may be spent by its evening.
 * @param {{ dailyLimit: number | null }} plan
 */
export function findBeginning({ dailyLimit }) {
  return dailyLimit === null ? MEASURED_DAY * DAY_S - WARM_UP_S : 0
}

/** Ages of prices that are counted, seconds. */
export const AGES_S = [300, 3_600, 86_400]

/**
 * Sums of one simulated day; what happens on other days warms caches and is not counted.
 * @param {number} measuredDay
 */
export function createTally(measuredDay) {
  const [beginS, endS] = [measuredDay * DAY_S, (measuredDay + 1) * DAY_S]
  const sums = { views: 0, fromEdge: 0, waited: 0, origin: 0, hot: 0, made: 0, read: 0, rescued: 0, ageS: 0 }
  const olderViews = AGES_S.map(() => 0)
  const originByHour = new Float64Array(24)
  const isMeasured = (timeS) => timeS >= beginS && timeS < endS
  return {
    sums,
    olderViews,
    originByHour,
    beginS,
    endS,
    isMeasured,
    /** Adds `weight` of something that happens at a time. */
    add(what, weight, timeS) {
      if (isMeasured(timeS)) sums[what] += weight
    },
    addOrigin(weight, timeS) {
      if (!isMeasured(timeS)) return
      sums.origin += weight
      originByHour[Math.floor((timeS - beginS) / HOUR_S)] += weight
    },
    /** One view of a price of an age; `fromEdge`: sent without waiting for anybody behind. */
    addView(weight, { timeS, asOfS, isFromEdge }) {
      if (!isMeasured(timeS)) return
      sums.views += weight
      sums[isFromEdge ? 'fromEdge' : 'waited'] += weight
      sums.ageS += weight * (timeS - asOfS)
      for (const [index, limitS] of AGES_S.entries()) if (timeS - asOfS > limitS) olderViews[index] += weight
    },
  }
}
