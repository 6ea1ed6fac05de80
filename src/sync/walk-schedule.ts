import type { Cron } from 'croner'
import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CallsByShare } from '../catalog/quota.ts'
import { type Clock, MINUTE_MS, isFuture, isWithin } from '../clock.ts'
import { type Config, isServed } from '../config/config.ts'
import { createCron } from '../config/parsers.ts'
import type { Logger } from '../observability/logger.ts'
import { hasOwnerExited } from '../database/leases.ts'
import type { CopyState, CopyStore } from '../storage/store.ts'
import { findLastWalkStart } from './held-walk.ts'
import { type WalkPlan, planWalks } from './walk-plan.ts'
import { isFirstWalk } from './walk-retries.ts'

/** A waiting schedule reads the clock at least this often, because the clock may be set. */
const MAX_STEP_MS: number = MINUTE_MS

/**
 * Run `task` on a cron pattern in UTC until `signal` aborts, never twice at once: `onOverrun` is called instead. Timers measure the
 * wait: a clock that is set back delays no run, and one that is set forward brings the run nearer. Does not keep the process alive.
 */
export async function runSchedule(
  pattern: string,
  task: () => Promise<void>,
  {
    clock,
    signal,
    onOverrun,
  }: Readonly<{ clock: Clock; signal: AbortSignal; onOverrun?: (() => void) | undefined }>,
): Promise<void> {
  const cron = createCron(pattern)
  let running: Promise<void> | undefined
  let fromMs = clock.nowMs()
  for (;;) {
    const dueMs = findNextMs(cron, fromMs)
    if (dueMs === undefined) return
    await waitUntil(dueMs, cron, clock, signal)
    if (signal.aborted) return
    if (running !== undefined) onOverrun?.()
    running ??= task().finally(() => {
      running = undefined
    })
    const nowMs = clock.nowMs()
    // Timers may fire early: do not schedule the same run again.
    fromMs = Math.abs(dueMs - nowMs) < MINUTE_MS ? Math.max(dueMs, nowMs) : nowMs
  }
}

/** Wait until the clock or the timers reach `dueMs`, or an earlier run is due because the clock was set back. */
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

/** Tolerance, so that a walk that starts slightly early is not delayed by a whole period. */
const SLACK_MS: number = MINUTE_MS

/** A walk this recent belongs to the same scheduled run, made by another process. */
export const RECENT_WALK_MS: number = 2 * MINUTE_MS

export type WalkDueOptions = Readonly<{
  clock: Clock
  logger: Logger
  callPolicy: Pick<CallPolicy, 'readState'>
  store: Pick<CopyStore, 'findChannelList' | 'getCopyState'>
  config: Pick<Config, 'channels' | 'findWalkPeriodMs'>
}>

/** Return whether a scheduled walk may run: calls are not paused, and the day's walks fit into their share of the daily limit. */
export async function isWalkDue(options: WalkDueOptions): Promise<boolean> {
  const nowMs = options.clock.nowMs()
  const { quota, limit, remaining } = await options.callPolicy.readState()
  const states = await readServedCopies(options).catch((): readonly CopyState[] => [])
  if (nowMs < quota.limitedUntilMs || countLeftCalls(remaining, states) === 0) {
    options.logger.info(
      { pausedUntilMs: quota.limitedUntilMs, left: remaining },
      'skipped a scheduled walk: catalog calls are paused or the walk share is used up',
    )
    return false
  }
  const startedAtMs = findOldestStart(states, nowMs)
  if (startedAtMs === undefined) return true
  const periodMs = options.config.findWalkPeriodMs?.(nowMs) ?? Infinity
  if (isWithin(startedAtMs, Math.min(RECENT_WALK_MS, periodMs / 2), nowMs)) return false
  const { allowedPeriodMs } = planWalks(states, { periodMs, limit }) ?? {}
  return nowMs - startedAtMs >= (allowedPeriodMs ?? 0) - SLACK_MS
}

/** Count the calls that are left for walks today. A first walk may use the share of refreshes. */
function countLeftCalls(remaining: CallsByShare | undefined, states: readonly CopyState[]): number {
  if (remaining === undefined) return Infinity
  const isFirst = states.some(isFirstWalk)
  return remaining.walk + (isFirst ? remaining.refresh : 0)
}

/** Find the earliest start of the copies; `undefined` when one is missing, unfinished, or dated in the future. */
function findOldestStart(states: readonly CopyState[], nowMs: number): number | undefined {
  const startsMs: number[] = []
  for (const state of states) {
    const startMs = state.failure === null && !state.isRunning ? findLastWalkStart(state, nowMs) : null
    if (startMs === null || isFuture(startMs, nowMs)) return undefined
    startsMs.push(startMs)
  }
  return startsMs.length > 0 ? Math.min(...startsMs) : undefined
}

type ServedOptions = Pick<WalkDueOptions, 'store'> & Readonly<{ config: Pick<Config, 'channels'> }>

/** Read the copy states of the served channels in the last list. */
export async function readServedCopies(options: ServedOptions): Promise<readonly CopyState[]> {
  const servedIds = await listServedIds(options)
  return Promise.all(servedIds.map((id) => options.store.getCopyState(id)))
}

/** Plan the walks of the schedule; `null` without one. */
export async function readWalkPlan(
  options: Pick<WalkDueOptions, 'store' | 'config' | 'callPolicy' | 'clock'>,
): Promise<WalkPlan | null> {
  const { callPolicy, clock, config } = options
  return planWalks(await readServedCopies(options), {
    periodMs: config.findWalkPeriodMs?.(clock.nowMs()) ?? null,
    limit: (await callPolicy.readState()).limit,
  })
}

async function listServedIds({ store, config }: ServedOptions): Promise<readonly string[]> {
  const list = await store.findChannelList()
  return (list?.channels ?? []).map(({ id }) => id).filter((id) => isServed(config, id))
}

/** A walk that must not wait for the schedule: its process has died, or a wrong clock dated the copy in the future. */
export type UnscheduledWalk = Readonly<{ reason: 'takeover' | 'future-times'; channelIds: readonly string[] }>

type UnscheduledWalkOptions = WalkDueOptions &
  Readonly<{ store: Pick<CopyStore, 'findUnfinishedWalks' | 'findFutureCopies'> }>

/** Find an urgent walk; `undefined` when there is none or the store cannot be read. */
export async function findUnscheduledWalk(
  options: UnscheduledWalkOptions,
): Promise<UnscheduledWalk | undefined> {
  const { logger, store } = options
  const filterServed = async (channelIds: readonly string[]): Promise<readonly string[]> => {
    if (channelIds.length === 0) return []
    const servedIds = new Set(await listServedIds(options))
    return channelIds.filter((id) => servedIds.has(id))
  }
  const abandonedIds = await findAbandonedChannels(store)
    .then(filterServed)
    .catch(() => [])
  if (abandonedIds.length > 0) {
    logger.info({ channelIds: abandonedIds }, 'taking over the walk of a process that has died')
    return { reason: 'takeover', channelIds: abandonedIds }
  }
  // Prices of a copy dated in the future are not shown, because their age is unknown.
  const futureIds = await store
    .findFutureCopies()
    .then(filterServed)
    .catch(() => [])
  if (futureIds.length === 0 || !(await isWalkDue(options))) return undefined
  logger.warn(
    { channelIds: futureIds },
    'walking the catalog again: the stored copy has a time in the future, because a clock was wrong',
  )
  return { reason: 'future-times', channelIds: futureIds }
}

async function findAbandonedChannels(store: UnscheduledWalkOptions['store']): Promise<readonly string[]> {
  const walks = await store.findUnfinishedWalks()
  return walks
    .filter(({ owner, isLeaseExpired }) => isLeaseExpired || hasOwnerExited(owner))
    .map(({ channelId }) => channelId)
}
