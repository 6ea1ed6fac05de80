import type { Drops } from '../catalog/parse.ts'
import { HOUR_MS, SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import type { CopyState, CopyStore, HoldReason } from '../storage/store.ts'
import { findHoldReason } from '../sync/held-walk.ts'
import type { WalkReport } from '../sync/walk-runner.ts'
import type { ChannelWalk, WalkProgress } from '../sync/walk.ts'

/** How often a walk of another process is looked at. */
export const LOOK_EVERY_MS: number = 5 * SECOND_MS

/**
 * `isAccepted`: the walks are believed, and one of another process, which believes less, is waited for. `channelIds`: only
 * these are walked.
 */
export type WalkRequest = Readonly<{
  isAccepted: boolean
  channelIds?: readonly string[] | undefined
  signal: AbortSignal
  onProgress(progress: WalkProgress): void
  /** Called once for all walks that are waited for. */
  onWait(walks: readonly ChannelWalk[]): void
}>

/** A walk, what it left out when it is complete, and the copy that it replaced only because it was accepted. */
export type WalkNow = ChannelWalk &
  Readonly<{ drops: Drops; replaced: Readonly<{ reason: HoldReason; productCount: number }> | null }>

/** How the walks ended. */
export type WalkNowReport = Omit<WalkReport, 'walks'> & Readonly<{ walks: readonly WalkNow[] }>

type Parts = Pick<Context, 'walks' | 'store' | 'clock'>

/** Walk the catalog now; with `isAccepted` also the channels that another process is walking, as soon as it has ended. */
export async function walkNow(parts: Parts, request: WalkRequest): Promise<WalkNowReport> {
  let report = await walkOnce(parts, request)
  let busy = request.isAccepted ? listBusy(report) : []
  if (busy.length > 0) request.onWait(busy)
  while (busy.length > 0) {
    const channelIds = busy.map(({ channelId }) => channelId)
    await waitForOthers(parts, channelIds, request.signal)
    if (request.signal.aborted) break
    const next = await walkOnce(parts, { ...request, channelIds })
    const again = new Map(next.walks.map((walk) => [walk.channelId, walk]))
    report = { ...next, walks: report.walks.map((walk) => again.get(walk.channelId) ?? walk) }
    busy = next.failure === null ? listBusy(next) : []
  }
  return report
}

function listBusy({ walks }: WalkNowReport): readonly ChannelWalk[] {
  return walks.filter(({ outcome }) => outcome === 'busy')
}

async function walkOnce(
  { walks, store }: Parts,
  { isAccepted, onProgress, channelIds }: WalkRequest,
): Promise<WalkNowReport> {
  const before = isAccepted ? await readCopies(store) : new Map<string, CopyState>()
  const report = await walks.runNow({ isAccepted, onProgress, channelIds })
  const toWalkNow = async (walk: ChannelWalk): Promise<WalkNow> => {
    const { channelId, outcome, productCount } = walk
    if (outcome !== 'complete') return { ...walk, drops: {}, replaced: null }
    const { isMalformed, drops } = await store.getCopyState(channelId)
    const copy = before.get(channelId)
    const reason = copy && findHoldReason(copy, { productCount, isMalformed })
    return { ...walk, drops, replaced: reason ? { reason, productCount: copy.productCount } : null }
  }
  return { ...report, walks: await Promise.all(report.walks.map(toWalkNow)) }
}

async function readCopies(store: CopyStore): Promise<Map<string, CopyState>> {
  const list = await store.findChannelList()
  const states = (list?.channels ?? []).map(async ({ id }) => [id, await store.getCopyState(id)] as const)
  return new Map(await Promise.all(states))
}

/** Wait until no other process goes on with a walk of the channels. */
async function waitForOthers(
  { store, clock }: Parts,
  channelIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const isWalked = async (): Promise<boolean> =>
    (await store.findUnfinishedWalks()).some(
      ({ channelId, owner, isOver }) => channelIds.includes(channelId) && !isOver && !isOwnerGone(owner),
    )
  // The clock keeps no process alive.
  const alive = setInterval(() => {}, HOUR_MS)
  try {
    do await clock.wait(LOOK_EVERY_MS, signal)
    while (!signal.aborted && (await isWalked()))
  } finally {
    clearInterval(alive)
  }
}
