import { createRandom } from '../lib/statistics.mjs'
import { createBudget } from './budget.mjs'
import { simulateCycles } from './cycles.mjs'
import { DAY_S, HOUR_S, createDay } from './day.mjs'
import { divideLimit } from './rules.mjs'
import { AGES_S, MEASURED_DAY } from './tally.mjs'
import { simulateViews } from './views.mjs'
import { simulateWalks } from './walks.mjs'

/**
 * One cell: some channels with a database and replicas of their own, and a CDN in front.
 * @typedef {{
 *   viewsPerDay: number, products: number, channels: number, zipf: number,
 *   points: number, hasShield: boolean, replicas: number, entries?: number,
 *   dailyLimit: number | null, lookupsPerHour: number, unknownPerHour: number,
 *   pageSeconds: number, seed: number,
 * }} Plan `products`: of all channels together; `zipf`: a product of rank r is asked for in proportion to 1/r^zipf; `points`: of
 *   presence, 0 without a CDN; `unknownPerHour`: requests that reach a replica for products that nobody has; `pageSeconds`:
 *   from one page of a walk to the next; `entries`: another `VITRINE_CACHE_MAX_ENTRIES`
 */

/** What a plan has where it says nothing. */
const USUAL = {
  channels: 1,
  zipf: 1,
  points: 20,
  hasShield: true,
  replicas: 2,
  dailyLimit: null,
  lookupsPerHour: 600,
  unknownPerHour: 60,
  pageSeconds: 0.05,
  seed: 1,
}

/** Boxes that are simulated where they stand for others. */
const SAMPLES = 1_000
/** The day of caches filling, and the measured one. */
const DAYS = MEASURED_DAY + 1

/**
 * Simulates a cell over two days and tells of the second.
 * @param {Partial<Plan> & { viewsPerDay: number, products: number }} wanted
 * @param {{ isWhole?: boolean, samples?: number }} options `isWhole`: every view an event
 */
export async function simulateCell(wanted, { isWhole = false, samples = SAMPLES } = {}) {
  const plan = { ...USUAL, ...wanted }
  const day = createDay()
  const walks = await simulateWalks(plan, DAYS)
  const found = isWhole ? simulateViews(plan, { walks, day }) : simulateCycles(plan, { walks, day, samples })
  return summarize(plan, { ...found, walks, lookups: simulateLookups(plan, walks) })
}

/** First look-ups have a share of their own: products that nobody has, asked for at random. */
function simulateLookups(plan, walks) {
  const random = createRandom(plan.seed + 1)
  const time = { nowS: 0 }
  const budget = createBudget(plan, () => time.nowS)
  for (;;) {
    time.nowS -= (Math.log(1 - random()) / plan.unknownPerHour) * HOUR_S
    if (!(time.nowS < DAYS * DAY_S)) return budget.days.get(MEASURED_DAY)?.lookup ?? 0
    if (!walks.isComplete(time.nowS)) budget.take('lookup', 1)
  }
}

function summarize(plan, { tally, budget, boxCount, walks, lookups }) {
  const { views, origin, fromEdge, hot, made, read, rescued, ageS } = tally.sums
  const calls = {
    refresh: budget.days.get(MEASURED_DAY)?.refresh ?? 0,
    walk: walks.callsByDay.get(MEASURED_DAY) ?? 0,
    lookup: lookups,
  }
  return {
    plan,
    boxCount,
    views,
    /** Views that no replica was asked for, and those that waited for nothing behind the CDN. */
    offload: 1 - origin / views,
    fromEdge: fromEdge / views,
    originPerSecond: origin / DAY_S,
    originPeakPerSecond: Math.max(...tally.originByHour) / HOUR_S,
    hotShare: hot / (hot + made),
    readsPerSecond: read / DAY_S,
    rescuedShare: rescued / origin,
    calls,
    /** The second of the day at which the share of refreshes was spent; `undefined`: it lasted. */
    spentAtS: budget.firstRefusals.get(MEASURED_DAY),
    walksPerDay: calls.walk / (walks.pages + 1),
    pages: walks.pages,
    meanAgeS: ageS / views,
    olderShares: Object.fromEntries(AGES_S.map((limitS, index) => [limitS, tally.olderViews[index] / views])),
  }
}

/**
 * The least daily limit whose shares hold these calls.
 * @param {Record<'walk' | 'refresh' | 'lookup', number>} calls of a day
 */
export function computeNeededLimit(calls) {
  let [low, high] = [0, 10 * Math.max(calls.walk, calls.refresh, calls.lookup) + 10]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const shares = divideLimit(middle)
    if (Object.entries(calls).every(([share, count]) => count <= shares[share])) high = middle
    else low = middle
  }
  return high
}
