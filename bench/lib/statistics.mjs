/** Return the median; for an even count the mean of the two middle numbers. */
export function computeMedian(numbers) {
  if (numbers.length === 0) throw new RangeError('the median needs numbers')
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Return the smallest number that at least `share` of all do not exceed (nearest rank). */
export function computeQuantile(numbers, share) {
  if (numbers.length === 0) throw new RangeError('the quantile needs numbers')
  const sorted = Float64Array.from(numbers).sort()
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

/** Return median, minimum and maximum. */
export function summarize(numbers) {
  return { median: computeMedian(numbers), min: Math.min(...numbers), max: Math.max(...numbers) }
}

/** Create a seeded random source of numbers in [0, 1), the same on every machine (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draw ranks 0 to `count` - 1 in proportion to 1 / (rank + 1): Zipf's law with exponent 1. */
export function drawZipfRanks({ count, draws, seed }) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank += 1) sums[rank] = sum += 1 / (rank + 1)
  const random = createRandom(seed)
  return Array.from({ length: draws }, () => findFirstAbove(sums, random() * sum))
}

function findFirstAbove(sums, wanted) {
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle] > wanted) high = middle
    else low = middle + 1
  }
  return low
}
