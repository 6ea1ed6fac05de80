import { divideLimit } from '../catalog/quota.ts'
import type { CallGate } from '../catalog/call-gate.ts'
import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { type Clock, DAY_MS, MINUTE_MS, isFuture, isWithin } from '../clock.ts'
import type { Logger } from '../observability/logger.ts'
import { findLastWalkStart } from './held-walk.ts'
import { computePeriodMs } from './schedule.ts'
import type { CopyState, CopyStore } from '../storage/store.ts'

/** A walk that begins a moment later than the one before did is not put off by a whole period. */
const SLACK_MS: number = MINUTE_MS

/** Another process of the same schedule has made this walk. */
export const JUST_WALKED_MS: number = 2 * MINUTE_MS

/** What the decision is made by. */
export type WalkDueDetails = Readonly<{
  clock: Clock
  logger: Logger
  gate: Pick<CallGate, 'readState'>
  store: Pick<CopyStore, 'findChannelList' | 'getCopyState'>
  config: Readonly<{ channels: readonly string[] | null; syncCron: string | null }>
}>

/**
 * Is a scheduled walk to be made? Not while nothing may be called; and where the day's walks do not fit into their share
 * of the daily limit together, only as often as they do.
 */
export async function isWalkDue(details: WalkDueDetails): Promise<boolean> {
  const nowMs = details.clock.nowMs()
  const { quota, limit, left } = await details.gate.readState()
  if (nowMs < quota.limitedUntilMs || left?.walk === 0) {
    details.logger.info(
      { pausedUntilMs: quota.limitedUntilMs, left },
      'no walk now: the catalog may not be called',
    )
    return false
  }
  const states = await readStates(details).catch(() => [])
  const startedAtMs = findLastStart(states, nowMs)
  if (startedAtMs === undefined) return true
  const periodMs = computePeriodMs(details.config.syncCron, nowMs) ?? Infinity
  if (isWithin(startedAtMs, Math.min(JUST_WALKED_MS, periodMs / 2), nowMs)) return false
  if (limit === undefined) return true
  const apartMs = (DAY_MS * countCalls(states)) / Math.max(1, divideLimit(limit.calls).walk)
  return nowMs - startedAtMs >= apartMs - SLACK_MS
}

async function readStates({ store, config }: WalkDueDetails): Promise<readonly CopyState[]> {
  const list = await store.findChannelList()
  const served = (list?.channels ?? []).filter(({ id }) => config.channels?.includes(id) ?? true)
  return Promise.all(served.map(({ id }) => store.getCopyState(id)))
}

/** When the oldest of the copies was begun; `undefined` where one is missing, unfinished, or of the future. */
function findLastStart(states: readonly CopyState[], nowMs: number): number | undefined {
  const startsMs = states.map((state) =>
    state.failure === null && !state.isRunning ? findLastWalkStart(state, nowMs) : null,
  )
  return startsMs.length === 0 || startsMs.some((startMs) => startMs === null || isFuture(startMs, nowMs))
    ? undefined
    : Math.min(...startsMs.map((startMs) => startMs ?? 0))
}

/** Calls of a walk: one for the channels, and one a page. */
function countCalls(states: readonly CopyState[]): number {
  const pages = states.map(({ productCount }) => Math.max(1, Math.ceil(productCount / MAX_PAGE_PRODUCTS)))
  return pages.reduce((sum, count) => sum + count, 1)
}
