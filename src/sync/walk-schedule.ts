import type { Cron } from 'croner'
import type { CallPolicy } from '../catalog/call-policy.ts'
import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { splitDailyLimit } from '../catalog/quota.ts'
import { type Clock, DAY_MS, MINUTE_MS, isFuture, isWithin } from '../clock.ts'
import { type Config, isServed } from '../config/config.ts'
import { createCron } from '../config/parsers.ts'
import type { Logger } from '../observability/logger.ts'
import { hasOwnerExited } from '../storage/lease-owner.ts'
import type { CopyState, CopyStore } from '../storage/store.ts'
import { findLastWalkStart } from './held-walk.ts'

/** How often the clock is read while a schedule waits: it may have been set. */
const MAX_STEP_MS: number = MINUTE_MS

/**
 * Run `task` on a cron pattern in UTC until `signal` aborts; a run that is still going is not started again. Timers count the wait,
 * so that a clock that is set back delays no run, and a clock that is set forward brings it nearer. Keeps no process alive.
 */
export async function runSchedule(
  pattern: string,
  task: () => Promise<void>,
  { clock, signal }: Readonly<{ clock: Clock; signal: AbortSignal }>,
): Promise<void> {
  const cron = createCron(pattern)
  let running: Promise<void> | undefined
  let fromMs = clock.nowMs()
  for (;;) {
    const dueMs = findNextMs(cron, fromMs)
    if (dueMs === undefined) return
    await waitUntil(dueMs, cron, clock, signal)
    if (signal.aborted) return
    running ??= task().finally(() => {
      running = undefined
    })
    const nowMs = clock.nowMs()
    // Timers end a moment early, too: the same run is not the next one.
    fromMs = Math.abs(dueMs - nowMs) < MINUTE_MS ? Math.max(dueMs, nowMs) : nowMs
  }
}

/** Wait until the time has come by the clock, or has passed by the timers, or an earlier run is due by a clock that was set back. */
async function waitUntil(dueMs: number, cron: Cron, clock: Clock, signal: AbortSignal): Promise<void> {
  let remainingMs = dueMs - clock.nowMs()
  while (remainingMs > 0 && !signal.aborted) {
    const stepMs = Math.min(remainingMs, MAX_STEP_MS)
    await clock.wait(stepMs, signal)
    const nowMs = clock.nowMs()
    const remainingByClockMs = nowMs >= dueMs ? 0 : (findNextMs(cron, nowMs) ?? dueMs) - nowMs
    remainingMs = Math.min(remainingMs - stepMs, remainingByClockMs)
  }
}

function findNextMs(cron: Cron, nowMs: number): number | undefined {
  return cron.nextRun(new Date(nowMs))?.getTime()
}

/** A walk that begins a moment later than the one before did is not put off by a whole period. */
const SLACK_MS: number = MINUTE_MS

/** Another process of the same schedule has made this walk. */
export const RECENT_WALK_MS: number = 2 * MINUTE_MS

/** What decides whether a walk is due. */
export type WalkDueDetails = Readonly<{
  clock: Clock
  logger: Logger
  callPolicy: Pick<CallPolicy, 'readState'>
  store: Pick<CopyStore, 'findChannelList' | 'getCopyState'>
  config: Pick<Config, 'channels' | 'findWalkPeriodMs'>
}>

/**
 * Is a scheduled walk to be made? Not while nothing may be called; and where the day's walks do not fit into their share
 * of the daily limit together, only as often as they do.
 */
export async function isWalkDue(details: WalkDueDetails): Promise<boolean> {
  const nowMs = details.clock.nowMs()
  const { quota, limit, remaining } = await details.callPolicy.readState()
  if (nowMs < quota.limitedUntilMs || remaining?.walk === 0) {
    details.logger.info(
      { pausedUntilMs: quota.limitedUntilMs, left: remaining },
      'no walk now: the catalog may not be called',
    )
    return false
  }
  const states = await readServedCopies(details).catch(() => [])
  const startedAtMs = findOldestStart(states, nowMs)
  if (startedAtMs === undefined) return true
  const periodMs = details.config.findWalkPeriodMs?.(nowMs) ?? Infinity
  if (isWithin(startedAtMs, Math.min(RECENT_WALK_MS, periodMs / 2), nowMs)) return false
  if (limit === undefined) return true
  // One call for the channels, and one a page.
  const pages = states.map(({ productCount }) => Math.max(1, Math.ceil(productCount / MAX_PAGE_PRODUCTS)))
  const calls = pages.reduce((sum, count) => sum + count, 1)
  const minIntervalMs = (DAY_MS * calls) / Math.max(1, splitDailyLimit(limit.calls).walk)
  return nowMs - startedAtMs >= minIntervalMs - SLACK_MS
}

/** Find when the oldest of the copies was begun; `undefined` where one is missing, unfinished, or of the future. */
function findOldestStart(states: readonly CopyState[], nowMs: number): number | undefined {
  const startsMs: number[] = []
  for (const state of states) {
    const startMs = state.failure === null && !state.isRunning ? findLastWalkStart(state, nowMs) : null
    if (startMs === null || isFuture(startMs, nowMs)) return undefined
    startsMs.push(startMs)
  }
  return startsMs.length > 0 ? Math.min(...startsMs) : undefined
}

type ServedDetails = Pick<WalkDueDetails, 'store' | 'config'>

/** Read the states of the copies of the served channels of the last list. */
export async function readServedCopies(details: ServedDetails): Promise<readonly CopyState[]> {
  const servedIds = await listServedIds(details)
  return Promise.all(servedIds.map((id) => details.store.getCopyState(id)))
}

async function listServedIds({ store, config }: ServedDetails): Promise<readonly string[]> {
  const list = await store.findChannelList()
  return (list?.channels ?? []).map(({ id }) => id).filter((id) => isServed(config, id))
}

/** A walk that cannot wait for its time: its process has died, or a clock that was wrong has dated the copy. */
export type UnscheduledWalk = Readonly<{ reason: 'takeover' | 'future-times'; channelIds: readonly string[] }>

type UnscheduledWalkDetails = WalkDueDetails &
  Readonly<{ store: Pick<CopyStore, 'findUnfinishedWalks' | 'findFutureCopies'> }>

/** Find what cannot wait; `undefined` where there is nothing, or the store cannot be read. */
export async function findUnscheduledWalk(
  details: UnscheduledWalkDetails,
): Promise<UnscheduledWalk | undefined> {
  const { logger, store } = details
  const filterServed = async (channelIds: readonly string[]): Promise<readonly string[]> => {
    if (channelIds.length === 0) return []
    const servedIds = new Set(await listServedIds(details))
    return channelIds.filter((id) => servedIds.has(id))
  }
  const abandonedIds = await findAbandonedChannels(store)
    .then(filterServed)
    .catch(() => [])
  if (abandonedIds.length > 0) {
    logger.info({ channelIds: abandonedIds }, 'a walk whose process has died is taken over')
    return { reason: 'takeover', channelIds: abandonedIds }
  }
  // A copy of the future has no age, so that its prices are not shown.
  const futureIds = await store
    .findFutureCopies()
    .then(filterServed)
    .catch(() => [])
  if (futureIds.length === 0 || !(await isWalkDue(details))) return undefined
  logger.warn(
    { channelIds: futureIds },
    'the stored copy has a time in the future, because a clock was wrong: walking the catalog again now',
  )
  return { reason: 'future-times', channelIds: futureIds }
}

async function findAbandonedChannels(store: UnscheduledWalkDetails['store']): Promise<readonly string[]> {
  const walks = await store.findUnfinishedWalks()
  return walks
    .filter(({ owner, isLeaseExpired }) => isLeaseExpired || hasOwnerExited(owner))
    .map(({ channelId }) => channelId)
}
