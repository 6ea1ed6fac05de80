/** Seconds of a day, and of an hour. */
export const DAY_S = 86_400
export const HOUR_S = 3_600

/** Views by hour of the day: a quiet night, an even day, an evening of nearly twice the mean. Only the shape counts. */
const EVENING = [
  45, 30, 22, 20, 22, 35, 60, 90, 110, 120, 125, 130, 135, 130, 125, 125, 130, 140, 155, 170, 180, 160, 120,
  80,
]

/**
 * The curve of a day. `elapsed(t)`: how many seconds of mean traffic have passed by the simulated second `t`; `find` is its
 * inverse. Arrivals that are evenly random in elapsed seconds follow the curve in simulated ones.
 * @param {readonly number[]} hours 24 numbers
 */
export function createDay(hours = EVENING) {
  const mean = hours.reduce((sum, value) => sum + value, 0) / hours.length
  const rates = hours.map((value) => value / mean)
  const sums = [0]
  for (const rate of rates) sums.push(sums.at(-1) + rate * HOUR_S)
  return {
    peak: Math.max(...rates),
    elapsed(timeS) {
      const day = Math.floor(timeS / DAY_S)
      const restS = timeS - day * DAY_S
      const hour = Math.min(23, Math.floor(restS / HOUR_S))
      return day * DAY_S + sums[hour] + (restS - hour * HOUR_S) * rates[hour]
    },
    find(elapsedS) {
      const day = Math.floor(elapsedS / DAY_S)
      const restS = elapsedS - day * DAY_S
      let hour = 0
      while (hour < 23 && sums[hour + 1] <= restS) hour += 1
      return day * DAY_S + hour * HOUR_S + (restS - sums[hour]) / rates[hour]
    },
  }
}
