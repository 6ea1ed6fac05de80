import { HOUR_MS, SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { isSuspicious } from '../copy/held-walk.ts'
import { isOwnerGone } from '../copy/lease-owner.ts'
import type { CopyState, CopyStore } from '../copy/store.ts'
import type { WalkReport } from '../copy/walk-runner.ts'
import type { ChannelWalk, WalkProgress } from '../copy/walk.ts'

/** How often a walk of another process is looked at. */
export const LOOK_EVERY_MS: number = 2 * SECOND_MS

/** `isAccepted`: the walks are believed, and one of another process, which believes less, is waited for. */
export type WalkNowOptions = Readonly<{
  isAccepted: boolean
  signal: AbortSignal
  onProgress(progress: WalkProgress): void
  /** Called once for all walks that are waited for. */
  onWait(walks: readonly ChannelWalk[]): void
}>

/** How the walks ended. `replaced`: products of the copies that suspicious walks have replaced, by channel. */
export type WalkedNow = Readonly<{ report: WalkReport; replaced: ReadonlyMap<string, number> }>

type Parts = Pick<Context, 'walks' | 'store' | 'clock'>

/** Walk the catalog now; with `isAccepted` also the channels that another process is walking, as soon as it has ended. */
export async function walkNow(parts: Parts, options: WalkNowOptions): Promise<WalkedNow> {
  let walked = await walkOnce(parts, options)
  if (!options.isAccepted) return walked
  let busy = listBusy(walked.report)
  if (busy.length > 0) options.onWait(busy)
  while (busy.length > 0) {
    const channelIds = busy.map(({ channelId }) => channelId)
    await waitForOthers(parts, channelIds, options.signal)
    if (options.signal.aborted) break
    walked = merge(walked, await walkOnce(parts, options, channelIds))
    busy = walked.report.failure === null ? listBusy(walked.report) : []
  }
  return walked
}

function listBusy({ walks }: WalkReport): readonly ChannelWalk[] {
  return walks.filter(({ outcome }) => outcome === 'busy')
}

async function walkOnce(
  { walks, store }: Parts,
  { isAccepted, onProgress }: WalkNowOptions,
  channelIds?: readonly string[],
): Promise<WalkedNow> {
  const before = isAccepted ? await readCopies(store) : new Map<string, CopyState>()
  const report = await walks.runNow({ isAccepted, onProgress, ...(channelIds && { channelIds }) })
  const replaced = new Map<string, number>()
  for (const { channelId, outcome, productCount } of report.walks) {
    const copy = before.get(channelId)
    if (outcome !== 'complete' || copy === undefined) continue
    const { isMalformed } = await store.getCopyState(channelId)
    if (isSuspicious(copy, { productCount, isMalformed })) replaced.set(channelId, copy.productCount)
  }
  return { report, replaced }
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
  }
}
