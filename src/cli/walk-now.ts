import { HOUR_MS, SECOND_MS } from '../clock.ts'
import type { Drops } from '../catalog/parse.ts'
import type { Context } from '../context.ts'
import { findHoldReason } from '../sync/held-walk.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import type { CopyState, CopyStore, HoldReason } from '../storage/store.ts'
import type { ChannelWalk, WalkProgress, WalkReport } from '../sync/walk-runner.ts'

/** How often a walk of another process is looked at. */
export const LOOK_EVERY_MS: number = 5 * SECOND_MS

/**
 * `isAccepted`: the walks are believed, and one of another process, which believes less, is waited for. `channelIds`: only these are
 * walked.
 */
export type WalkRequest = Readonly<{
  isAccepted: boolean
  channelIds?: readonly string[] | undefined
  signal: AbortSignal
  onProgress(progress: WalkProgress): void
  /** Called once for all walks that are waited for. */
  onWait(walks: readonly ChannelWalk[]): void
}>

/** A copy that a suspicious walk has replaced because it was accepted. */
export type Replaced = Readonly<{ reason: HoldReason; productCount: number }>

/** How the walks ended; `replaced`, and what complete walks left out, by channel. */
export type WalkedNow = Readonly<{
  report: WalkReport
  replaced: ReadonlyMap<string, Replaced>
  drops: ReadonlyMap<string, Drops>
}>

type Parts = Pick<Context, 'walks' | 'store' | 'clock'>

/** Walk the catalog now; with `isAccepted` also the channels that another process is walking, as soon as it has ended. */
export async function walkNow(parts: Parts, request: WalkRequest): Promise<WalkedNow> {
  let walked = await walkOnce(parts, request)
  if (!request.isAccepted) return walked
  let busy = listBusy(walked.report)
  if (busy.length > 0) request.onWait(busy)
  while (busy.length > 0) {
    const channelIds = busy.map(({ channelId }) => channelId)
    await waitForOthers(parts, channelIds, request.signal)
    if (request.signal.aborted) break
    walked = merge(walked, await walkOnce(parts, { ...request, channelIds }))
    busy = walked.report.failure === null ? listBusy(walked.report) : []
  }
  return walked
}

function listBusy({ walks }: WalkReport): readonly ChannelWalk[] {
  return walks.filter(({ outcome }) => outcome === 'busy')
}

async function walkOnce(
  { walks, store }: Parts,
  { isAccepted, onProgress, channelIds }: WalkRequest,
): Promise<WalkedNow> {
  const before = isAccepted ? await readCopies(store) : new Map<string, CopyState>()
  const report = await walks.runNow({ isAccepted, onProgress, channelIds })
  const replaced = new Map<string, Replaced>()
  const drops = new Map<string, Drops>()
  for (const { channelId, outcome, productCount } of report.walks) {
    if (outcome !== 'complete') continue
    const { isMalformed, drops: walkDrops } = await store.getCopyState(channelId)
    drops.set(channelId, walkDrops)
    const copy = before.get(channelId)
    if (copy === undefined) continue
    const reason = findHoldReason(copy, { productCount, isMalformed })
    if (reason !== null) replaced.set(channelId, { reason, productCount: copy.productCount })
  }
  return { report, replaced, drops }
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

/** The second report, with the walks of the first that it lacks, in their order. */
function merge(first: WalkedNow, second: WalkedNow): WalkedNow {
  const walks = first.report.walks.map(
    (walk) => second.report.walks.find(({ channelId }) => channelId === walk.channelId) ?? walk,
  )
  return {
    report: { ...second.report, walks },
    replaced: new Map([...first.replaced, ...second.replaced]),
    drops: new Map([...first.drops, ...second.drops]),
  }
}
