import {
  CONFIG,
  computePeriodMs,
  createRateLimiter,
  divideLimit,
  isWalkDue,
  toDayNumber,
  toMs,
} from './rules.mjs'
import { DAY_S, HOUR_S } from './day.mjs'

/** Products of a page. */
const PAGE = 200

/** Before it, everything was walked once, by nobody's budget. */
const silent = { info() {}, warn() {} }

/**
 * The walks of one database from long before the first simulated day to the last: when each begins by the product's own rules
 * for schedules, and when each page is read by its rate limiter. Walks have a share of their own, so views do not change them.
 * @param {{ products: number, channels: number, dailyLimit: number | null, pageSeconds: number }} plan
 * @param {number} days
 */
export async function simulateWalks(plan, days) {
  const pages = plan.channels * Math.ceil(plan.products / plan.channels / PAGE)
  const shareCalls = plan.dailyLimit === null ? Infinity : divideLimit(plan.dailyLimit).walk
  // As long before as it takes for two of them: what the first days see is what all later ones do.
  const beginS = -DAY_S * (1 + Math.ceil((2.5 * pages) / Math.max(1, shareCalls)))
  const time = { nowS: beginS }
  const clock = { nowMs: () => toMs(time.nowS), wait: () => Promise.resolve() }
  const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 0, dailyLimit: plan.dailyLimit })
  const walks = [{ startS: beginS - HOUR_S, endS: beginS - HOUR_S, pageTimesS: null }]
  const callsByDay = new Map()
  const call = async () => {
    await limiter.take('walk')
    const day = toDayNumber(time.nowS)
    callsByDay.set(day, (callsByDay.get(day) ?? 0) + 1)
  }
  const endS = days * DAY_S
  for (let tickS = firstTick(beginS); tickS < endS; tickS += HOUR_S) {
    if (tickS < time.nowS) continue
    time.nowS = tickS
    if (await isWalkDue(describeCopies({ clock, limiter, plan, last: walks.at(-1) })))
      walks.push(await walkOnce({ time, limiter, plan, pages, call, endS }))
  }
  return { pages, callsByDay, walks, ...createLooks(walks, pages) }
}

/** The default schedule, at seven minutes past each hour. */
function firstTick(beginS) {
  const minute = Number(/^(\d+) \* \* \* \*$/.exec(CONFIG.syncCron)[1])
  return beginS + minute * 60
}

/** What `isWalkDue` asks for, answered from the simulation. */
function describeCopies({ clock, limiter, plan, last }) {
  const ids = Array.from({ length: plan.channels }, (_, channel) => ({ id: String(channel) }))
  const state = {
    failure: null,
    isRunning: false,
    completedStartedAtMs: toMs(last.startS),
    completedAtMs: toMs(last.startS),
    held: null,
    productCount: Math.round(plan.products / plan.channels),
  }
  return {
    clock,
    logger: silent,
    gate: { readState: () => limiter.read() },
    store: {
      findChannelList: () => Promise.resolve({ channels: ids }),
      getCopyState: () => Promise.resolve(state),
    },
    config: { channels: null, syncCron: CONFIG.syncCron },
  }
}

/** One walk, page by page: each waits for its share, is counted, and takes its time. */
async function walkOnce({ time, limiter, plan, pages, call, endS }) {
  const startS = time.nowS
  const pageTimesS = new Float64Array(pages).fill(Infinity)
  const perChannel = pages / plan.channels
  await waitForShare({ time, limiter, callsToGo: perChannel })
  await call()
  for (let page = 0; page < pages && time.nowS < endS; page += 1) {
    await waitForShare({ time, limiter, callsToGo: perChannel - (page % perChannel) })
    await call()
    time.nowS += plan.pageSeconds
    pageTimesS[page] = time.nowS
  }
  return { startS, endS: time.nowS < endS ? time.nowS : Infinity, pageTimesS }
}

/** Waits as long as the rate limiter says; it says the same again when the day was over meanwhile. */
async function waitForShare({ time, limiter, callsToGo }) {
  for (;;) {
    const waitS = limiter.computeWalkWaitMs(callsToGo) / 1e3
    if (waitS === 0) return
    time.nowS += waitS
    const { left } = await limiter.read()
    if (left.walk > 0) return
  }
}

/** Questions about walks, in simulated seconds. */
function createLooks(walks, pages) {
  const periodS = computePeriodMs(CONFIG.syncCron, toMs(0)) / 1e3
  const findLast = (timeS, isDone) => {
    let index = walks.length - 1
    while (index > 0 && !isDone(walks[index], timeS)) index -= 1
    return walks[index]
  }
  return {
    /** When the page at a place was last read before `timeS`. */
    findWalked(place, timeS) {
      const page = Math.floor(place * pages)
      const walk = findLast(timeS, ({ pageTimesS }) => pageTimesS !== null && pageTimesS[page] <= timeS)
      return walk.pageTimesS?.[page] ?? walk.startS
    },
    /** Does a complete copy, younger than two periods of the schedule, know every product? */
    isComplete: (timeS) => timeS - findLast(timeS, ({ endS }) => endS <= timeS).endS < 2 * periodS,
  }
}
