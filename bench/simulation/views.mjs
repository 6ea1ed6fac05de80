import { createRandom } from '../lib/statistics.mjs'
import { createBudget } from './budget.mjs'
import { createRealMemories } from './memories.mjs'
import { createFetch, createOrigin, judgeCopy } from './origin.mjs'
import { drawBoxes, sharePoints } from './popularity.mjs'
import { MEASURED_DAY, createTally, findBeginning } from './tally.mjs'

/**
 * The whole simulation: every view is an event, every box stands for itself, and the replicas have the product's own caches.
 * For plans of some million views; it is what the scaled simulation is held to.
 * @param {import('./fleet.mjs').Plan} plan
 * @param {{ walks: object, day: ReturnType<typeof import('./day.mjs').createDay> }} parts
 */
export function simulateViews(plan, { walks, day }) {
  const random = createRandom(plan.seed)
  const tally = createTally(MEASURED_DAY)
  const time = { nowS: findBeginning(plan) }
  const budget = createBudget(plan, () => time.nowS)
  const origin = createOrigin({ walks, budget, memory: createRealMemories(plan), count: tally.add })
  const onOrigin = (_box, timeS) => tally.addOrigin(1, timeS)
  const fetch = createFetch(origin, { ...plan, random, onOrigin })
  const boxes = drawBoxes(plan, { samples: Infinity, random }).map((box, index) => ({
    ...box,
    key: `${index}`,
    lookedUpS: -Infinity,
  }))
  const pickBox = createPick(
    boxes.map(({ rate }) => rate),
    random,
  )
  const pickPoint = createPick(sharePoints(plan.points), random)
  const edges = sharePoints(plan.points).map(() => new Map())
  const perSecond = plan.viewsPerDay / 86_400
  let elapsedS = day.elapsed(time.nowS)
  for (;;) {
    elapsedS -= Math.log(1 - random()) / perSecond
    time.nowS = day.find(elapsedS)
    if (time.nowS >= tally.endS) break
    const box = boxes[pickBox()]
    const edge = edges[pickPoint()]
    const held = edge.get(box)
    const found = judgeCopy(held, time.nowS)
    const copy = found === 'fresh' ? held : fetch(box, time.nowS)
    edge.set(box, copy)
    const { asOfS } = found === 'gone' ? copy : held
    tally.addView(1, { timeS: time.nowS, asOfS, isFromEdge: found !== 'gone' })
  }
  return { tally, budget, boxCount: boxes.length }
}

/** Draws places in proportion to their weights. */
function createPick(weights, random) {
  const sums = Float64Array.from(weights)
  for (let place = 1; place < sums.length; place += 1) sums[place] += sums[place - 1]
  return () => {
    const wanted = random() * sums.at(-1)
    let [low, high] = [0, sums.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
}
