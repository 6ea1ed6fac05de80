import { CONFIG, createMemory, shareBounds } from './rules.mjs'

/**
 * What the replicas remember: times of answers and of products, `undefined` where nothing is.
 * @typedef {{
 *   findAnswer(box: object, at: { replica: number, timeS: number }): number | undefined,
 *   findProduct(box: object, at: { replica: number, timeS: number }): number | undefined,
 *   putAnswer(box: object, at: { replica: number, asOfS: number, timeS: number }): void,
 *   putProduct(box: object, at: { replica: number, asOfS: number, timeS: number }): void,
 * }} ReplicaMemory
 */

/** Bytes that the product counts for a remembered product and for a ready answer of the bench's catalog, more or less. */
const PRODUCT_BYTES = 2_400
const ANSWER_BYTES = 3_500

/**
 * The product's own caches, one set a replica, with bounds as they are by default.
 * @param {{ replicas: number, entries?: number }} plan `entries`: another `VITRINE_CACHE_MAX_ENTRIES`
 * @returns {ReplicaMemory}
 */
export function createRealMemories({ replicas, entries }) {
  const [answers, products] = ['responses', 'products'].map((name) =>
    Array.from({ length: replicas }, () => createMemory(findBounds(name, entries))),
  )
  return {
    findAnswer: (box, { replica }) => answers[replica].get(box.key)?.asOfS,
    findProduct: (box, { replica }) => products[replica].get(box.key)?.asOfS,
    putAnswer: (box, { replica, asOfS }) => answers[replica].set(box.key, { asOfS }, ANSWER_BYTES),
    putProduct: (box, { replica, asOfS }) => products[replica].set(box.key, { asOfS }, PRODUCT_BYTES),
  }
}

function findBounds(name, entries) {
  return shareBounds(
    entries === undefined ? CONFIG : { ...CONFIG, cacheMaxEntries: entries },
    name === 'answers' ? 'responses' : name,
  )
}

/** Entries that fit, by whichever bound is met first. */
function countRoom(name, entries) {
  const { maxEntries, maxBytes } = findBounds(name, entries)
  return Math.min(maxEntries, maxBytes / ((name === 'responses' ? ANSWER_BYTES : PRODUCT_BYTES) + 300))
}

/**
 * The same caches where a box stands for many: a cache drops what was not asked for during a time that follows from its room
 * and from how often each box is asked for (Che's approximation of caches that drop what was used longest ago).
 * @param {{ replicas: number, entries?: number }} plan
 * @param {readonly { weight: number, rate: number }[]} asked `rate`: requests to the replicas a second
 * @returns {ReplicaMemory}
 */
export function createApproximateMemories({ replicas, entries }, asked) {
  const keptS = { responses: 0, products: 0 }
  for (const name of ['responses', 'products'])
    keptS[name] = computeKeptSeconds(asked, { replicas, room: countRoom(name, entries) })
  const find = (box, name, { replica, timeS }) => {
    const slot = box[name][replica]
    if (slot === undefined || timeS - slot.usedS > keptS[name]) return undefined
    slot.usedS = timeS
    return slot.asOfS
  }
  return {
    findAnswer: (box, at) => find(box, 'responses', at),
    findProduct: (box, at) => find(box, 'products', at),
    putAnswer: (box, at) => put(box, 'responses', at),
    putProduct: (box, at) => put(box, 'products', at),
  }
}

function put(box, name, { replica, asOfS, timeS }) {
  box[name][replica] = { asOfS, usedS: timeS }
}

/** Longer than anything is fresh: what is kept so long is never missed. */
const LONGEST_S = 100_000

/** The time within which as many boxes are asked for at a replica as its cache has room for. */
function computeKeptSeconds(asked, { replicas, room }) {
  const countAsked = (seconds) =>
    asked.reduce((sum, { weight, rate }) => sum + weight * -Math.expm1((-rate / replicas) * seconds), 0)
  let [low, high] = [0, LONGEST_S]
  if (countAsked(high) <= room) return Infinity
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2
    if (countAsked(middle) > room) high = middle
    else low = middle
  }
  return low
}
