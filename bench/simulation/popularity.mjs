/**
 * A box of the simulation: `rate` views a mean second, standing for `weight` boxes that are asked for as often. `place` is
 * where in a walk its page comes, from 0 to below 1.
 * @typedef {{ rate: number, weight: number, place: number }} BoxClass
 */

/** Steps of this length spread places evenly, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2

/**
 * The boxes of some channels: channels are visited in proportion to 1/rank, the products of each in proportion to
 * 1/rank^zipf. Ranks are cut into octaves, each octave into as many parts as there is room for, and one box stands for its
 * part: the popular ones for themselves, those of the long tail for thousands.
 * @param {{ viewsPerDay: number, products: number, channels: number, zipf: number }} plan `products`: of all channels
 * @param {{ samples: number, random: () => number }} options `samples`: boxes at most, more or less; Infinity: each for itself
 * @returns {BoxClass[]}
 */
export function drawBoxes({ viewsPerDay, products, channels, zipf }, { samples, random }) {
  const ranks = Math.round(products / channels)
  const octaves = Math.ceil(Math.log2(ranks + 1))
  const parts = splitRanks({ ranks, zipf, most: Math.max(1, samples / (octaves * channels)) })
  const total = parts.reduce((sum, { share }) => sum + share, 0)
  const channelWeights = Array.from({ length: channels }, (_, channel) => 1 / (channel + 1))
  const channelTotal = channelWeights.reduce((sum, weight) => sum + weight, 0)
  const perSecond = viewsPerDay / 86_400
  let place = random()
  return channelWeights.flatMap((weight) =>
    parts.map(({ size, share }) => ({
      rate: (perSecond * (weight / channelTotal) * (share / total)) / size,
      weight: size,
      place: (place = (place + GOLDEN) % 1),
    })),
  )
}

/**
 * Parts of equal size of each octave of ranks, with the sum of what their ranks are asked for. Popular boxes are all alike and
 * have many events, those of the long tail have few and are left to chance: the tail has ten times as many parts.
 */
function splitRanks({ ranks, zipf, most }) {
  const parts = []
  const last = Math.log2(ranks)
  for (let first = 1; first <= ranks; first *= 2) {
    const end = Math.min(ranks + 1, first * 2)
    const slope = 0.2 + 1.6 * (Math.log2(first) / Math.max(1, last))
    const count = Math.min(end - first, Math.ceil(most * slope))
    for (let part = 0; part < count; part += 1) {
      const from = first + Math.floor(((end - first) * part) / count)
      const until = first + Math.floor(((end - first) * (part + 1)) / count)
      parts.push({ size: until - from, share: sumRanks({ from, until, zipf }) })
    }
  }
  return parts
}

/** Ranks that are summed one by one; beyond, the integral is the same to a millionth. */
const SUMMED = 1_000

function sumRanks({ from, until, zipf }) {
  if (until - from <= SUMMED) {
    let sum = 0
    for (let rank = from; rank < until; rank += 1) sum += rank ** -zipf
    return sum
  }
  const [low, high] = [from - 0.5, until - 0.5]
  return zipf === 1 ? Math.log(high / low) : (high ** (1 - zipf) - low ** (1 - zipf)) / (1 - zipf)
}

/**
 * What part of the views each point of presence of a CDN has: in proportion to 1 / √rank.
 * @param {number} count 0: everybody comes to the one place that there is
 */
export function sharePoints(count) {
  const weights = Array.from({ length: Math.max(1, count) }, (_, point) => 1 / Math.sqrt(point + 1))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}
