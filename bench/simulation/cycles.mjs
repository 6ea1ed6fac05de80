import { createRandom } from '../lib/statistics.mjs'
import { createBudget } from './budget.mjs'
import { DAY_S } from './day.mjs'
import { createHeap } from './heap.mjs'
import { createApproximateMemories } from './memories.mjs'
import { createFetch, createOrigin, judgeCopy } from './origin.mjs'
import { drawBoxes, sharePoints } from './popularity.mjs'
import { AGES_S, MEASURED_DAY, createTally, findBeginning } from './tally.mjs'

/** Fewer boxes are enough to learn how often each is asked for. */
const TRIAL_PART = 8

/**
 * The scaled simulation. Views of a box at a point of presence come at random, so what happens there is a row of cycles: a
 * copy is fetched, everybody who comes while it is fresh has it, and the first one after that begins the next cycle. Only the
 * beginnings are events; the views between them are counted as many as are expected. One box stands for all that are asked
 * for about as often.
 * @param {import('./fleet.mjs').Plan} plan
 * @param {{ walks: object, day: ReturnType<typeof import('./day.mjs').createDay>, samples: number }} parts
 */
export function simulateCycles(plan, { walks, day, samples }) {
  const trial = simulate(plan, { walks, day, samples: samples / TRIAL_PART, asked: [] })
  return simulate(plan, { walks, day, samples, asked: trial.asked })
}

function simulate(plan, { walks, day, samples, asked }) {
  const random = createRandom(plan.seed)
  const tally = createTally(MEASURED_DAY)
  const time = { nowS: findBeginning(plan) }
  const budget = createBudget(plan, () => time.nowS)
  const memory = createApproximateMemories(plan, asked)
  const origin = createOrigin({ walks, budget, memory, count: tally.add })
  const onOrigin = (box, timeS) => {
    tally.addOrigin(box.weight, timeS)
    if (tally.isMeasured(timeS)) box.requests += 1
  }
  const fetch = createFetch(origin, { ...plan, random, onOrigin })
  const boxes = drawBoxes(plan, { samples, random }).map(toSimulated)
  runCycles({ boxes, points: sharePoints(plan.points), day, random, fetch, tally, time })
  return { tally, budget, boxCount: boxes.length, asked: boxes.map(toAsked) }
}

function toAsked({ weight, requests }) {
  return { weight, rate: requests / DAY_S }
}

/** All that changes about a box is there from the beginning: its shape stays one. */
function toSimulated(box) {
  return {
    ...box,
    requests: 0,
    copies: [],
    responses: [],
    products: [],
    lookedUpS: -Infinity,
    shieldCopy: undefined,
  }
}

function runCycles({ boxes, points, day, random, fetch, tally, time }) {
  const heap = createHeap()
  // A number says which box and which point: there are millions of events.
  const plan = (value, fromS) => {
    const rate = boxes[Math.floor(value / points.length)].rate * points[value % points.length]
    const nextS = day.find(day.elapsed(fromS) - Math.log(1 - random()) / rate)
    if (nextS < tally.endS) heap.push(nextS, value)
  }
  for (let value = 0; value < boxes.length * points.length; value += 1) plan(value, time.nowS)
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) {
    const box = boxes[Math.floor(next.value / points.length)]
    const point = next.value % points.length
    time.nowS = next.key
    const before = box.copies[point]
    const isStale = judgeCopy(before, next.key) === 'stale'
    const copy = fetch(box, next.key)
    const { asOfS } = isStale ? before : copy
    tally.addView(box.weight, { timeS: next.key, asOfS, isFromEdge: isStale })
    box.copies[point] = copy
    const untilS = Math.max(next.key, copy.madeAtS + copy.maxAgeS)
    countFresh({ tally, day }, { copy, fromS: next.key, untilS, rate: box.rate * points[point] * box.weight })
    plan(next.value, untilS)
  }
}

/** Those who come while the copy is fresh: as many as are expected, by how old its price is by then. */
function countFresh({ tally, day }, { copy, fromS, untilS, rate }) {
  const [beginS, endS] = [Math.max(fromS, tally.beginS), Math.min(untilS, tally.endS)]
  if (beginS >= endS) return
  const count = (sinceS) => rate * (day.elapsed(endS) - day.elapsed(Math.min(endS, Math.max(beginS, sinceS))))
  const views = count(beginS)
  tally.sums.views += views
  tally.sums.fromEdge += views
  tally.sums.ageS += views * ((beginS + endS) / 2 - copy.asOfS)
  for (const [index, limitS] of AGES_S.entries()) tally.olderViews[index] += count(copy.asOfS + limitS)
}
