import { CONFIG, computeLifetimes, judgeAge, toMs } from './rules.mjs'

/**
 * What a cache in front holds of a box, and what a visitor is shown: simulated seconds.
 * @typedef {{ asOfS: number, madeAtS: number, maxAgeS: number, whileRevalidateS: number }} Copy
 */

/**
 * The replicas of one database and what they answer, as the table "When the catalog is called" says it. A call takes no time
 * here: who comes while one is under way is answered by it.
 * @param {{
 *   walks: { findWalked(place: number, timeS: number): number },
 *   budget: { take(purpose: string, weight: number): boolean },
 *   memory: import('./memories.mjs').ReplicaMemory,
 *   count: (what: 'hot' | 'made' | 'read' | 'rescued', weight: number, timeS: number) => void,
 * }} parts
 */
export function createOrigin({ walks, budget, memory, count }) {
  /** A product that is not fresh: what a visitor gets of it. */
  const getOld = (box, { asOfS, timeS, replica }) => {
    const isTaken = budget.take('refresh', box.weight)
    if (isTaken) {
      box.lookedUpS = timeS
      memory.putProduct(box, { replica, asOfS: timeS, timeS })
    }
    if (judge(asOfS, timeS) === 'stale') return asOfS
    // A visitor waits for the call, and is shown the copy where there is none.
    if (!isTaken) count('rescued', box.weight, timeS)
    return isTaken ? timeS : asOfS
  }
  return {
    /** @returns {Copy} */
    ask(box, replica, timeS) {
      const held = memory.findAnswer(box, { replica, timeS })
      if (held !== undefined && judge(held, timeS) === 'fresh') {
        count('hot', box.weight, timeS)
        return toCopy(held, timeS)
      }
      count('made', box.weight, timeS)
      const remembered = memory.findProduct(box, { replica, timeS })
      let asOfS = remembered
      if (remembered === undefined || judge(remembered, timeS) !== 'fresh') {
        count('read', box.weight, timeS)
        asOfS = Math.max(box.lookedUpS, walks.findWalked(box.place, timeS))
        memory.putProduct(box, { replica, asOfS, timeS })
      }
      const shownS = judge(asOfS, timeS) === 'fresh' ? asOfS : getOld(box, { asOfS, timeS, replica })
      if (judge(shownS, timeS) === 'fresh') memory.putAnswer(box, { replica, asOfS: shownS, timeS })
      return toCopy(shownS, timeS)
    },
  }
}

function judge(asOfS, timeS) {
  return judgeAge(toMs(asOfS), toMs(timeS), CONFIG.freshness)
}

function toCopy(asOfS, timeS) {
  return { asOfS, madeAtS: timeS, ...computeLifetimes(asOfS, timeS) }
}

/**
 * How a cache in front takes a copy at `timeS` (RFC 9111 and RFC 5861): `fresh` and `stale` are sent at once, and a stale one
 * is renewed behind.
 * @param {Copy | undefined} copy
 * @returns {'fresh' | 'stale' | 'gone'}
 */
export function judgeCopy(copy, timeS) {
  if (copy === undefined) return 'gone'
  const ageS = timeS - copy.madeAtS
  if (ageS < copy.maxAgeS) return 'fresh'
  return ageS < copy.maxAgeS + copy.whileRevalidateS ? 'stale' : 'gone'
}

/**
 * The way from a point of presence to the replicas: through the shield, where the CDN has one.
 * @param {{ ask: (box: object, replica: number, timeS: number) => Copy }} origin
 * @param {{ points: number, hasShield: boolean, replicas: number, random: () => number, onOrigin: (box: object, timeS: number) => void }} options
 * @returns {(box: object, timeS: number) => Copy}
 */
export function createFetch(origin, { points, hasShield, replicas, random, onOrigin }) {
  const ask = (box, timeS) => {
    onOrigin(box, timeS)
    return origin.ask(box, Math.floor(random() * replicas), timeS)
  }
  // Without a CDN nothing is kept on the way.
  if (points === 0) return (box, timeS) => ({ ...ask(box, timeS), maxAgeS: 0, whileRevalidateS: 0 })
  if (!hasShield) return ask
  return (box, timeS) => {
    const before = box.shieldCopy
    const found = judgeCopy(before, timeS)
    if (found === 'fresh') return before
    box.shieldCopy = ask(box, timeS)
    return found === 'stale' ? before : box.shieldCopy
  }
}
