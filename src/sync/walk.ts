import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import type { DroppedGtins } from '../catalog/parse.ts'
import { HOUR_MS, SECOND_MS } from '../clock.ts'
import { VitrineError, WalkError, WalkHeldError } from '../errors.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { LEASE_MS, createLeaseLost } from '../storage/sql-leases.ts'
import type { CopyState, HeldWalk, WalkPlace, WalkStore } from '../storage/store.ts'
import { describeHold, findLastWalkStart, judgeWalk } from './held-walk.ts'
import { createStopped } from './walk-calls.ts'
import { type ListStore, type WalkClock, listWalkedChannels } from './walk-channels.ts'
import { type PagedWalk, walkPages } from './walk-page.ts'
import type { ChannelWalk, WalkOrder, WalkWatch } from './walk-runner.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
export const RESUME_WITHIN_MS: number = HOUR_MS

/** How often a walk extends its lease, at most. */
const EXTEND_EVERY_MS: number = 5 * SECOND_MS

/** What a walk works with. */
export type WalkDetails = Omit<WalkOrder, 'pausedUntilMs'> &
  WalkWatch &
  Pick<PagedWalk, 'gate' | 'clock' | 'resumeWithinMs'> &
  Readonly<{
    client: Pick<CatalogClient, 'fetchChannels' | 'fetchProductPage'>
    store: WalkStore & ListStore
    /** Compares this machine's clock with others, after the catalog has answered. */
    checkClock(): Promise<WalkClock>
  }>

/** The walk of one channel. `beganAtMs`: when that of the first channel began, Unix milliseconds. */
type OneWalk = WalkDetails & Readonly<{ channel: Channel; beganAtMs: number; isClockDoubtful: boolean }>

/**
 * Walk every served channel, one after the other. A channel that fails keeps its old copy and does not stop the rest.
 * @throws CatalogError when not even the list of channels can be had, WalkHeldError when that is held; NoChannelsError when it has
 * none to serve; WalkError when it was told to stop before that, or when the clock of this machine is wrong.
 */
export async function walkCatalog(details: WalkDetails): Promise<readonly ChannelWalk[]> {
  if (details.signal.aborted) throw createStopped()
  const channels = await listWalkedChannels(details)
  const { isDoubtful: isClockDoubtful } = await details.checkClock()
  const beganAtMs = details.clock.nowMs()
  const walks: ChannelWalk[] = []
  for (const channel of channels) {
    if (details.signal.aborted) break
    walks.push(await walkChannel({ ...details, channel, beganAtMs, isClockDoubtful }))
  }
  return walks
}

async function walkChannel(walk: OneWalk): Promise<ChannelWalk> {
  const { store, clock, owner, channel } = walk
  const startedAtMs = clock.nowMs()
  const droppedGtins: DroppedGtins = {}
  const end = (outcome: ChannelWalk['outcome'], over: Partial<ChannelWalk> = {}): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    const named = { channelId: channel.id, channelName: channel.name, outcome, droppedGtins, durationMs }
    return { productCount: 0, failure: null, reason: null, ...named, ...over }
  }
  if (!(await takeLease(walk))) return end('busy')
  try {
    const before = await store.getCopyState(channel.id)
    if (isJustWalked(walk, before)) return end('busy')
    const { productCount, held } = await walkToEnd(walk, before, droppedGtins)
    if (held === null) return end('complete', { productCount })
    const reason = describeHold(held, before.productCount)
    return end('held', { productCount, failure: WalkHeldError.code, reason })
  } catch (error) {
    const code = error instanceof VitrineError && !walk.signal.aborted ? error.code : WalkError.code
    await store.failWalk(channel.id, code, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return end('failed', { failure: code, reason: describeFailure(error) })
  } finally {
    await store.releaseLease(channel.id, owner)
  }
}

/** The lease of a walk that was killed on this machine is free at once. */
async function takeLease({ store, owner, channel }: OneWalk): Promise<boolean> {
  const lease = { owner, forMs: LEASE_MS }
  if (await store.takeLease(channel.id, lease)) return true
  const holder = await store.findLeaseOwner(channel.id)
  if (holder === null || !isOwnerGone(holder)) return false
  await store.releaseLease(channel.id, holder)
  return store.takeLease(channel.id, lease)
}

/** Has another machine walked the channel for the same occasion? */
function isJustWalked({ clock, walkedSinceMs, isTakeOver }: OneWalk, state: CopyState): boolean {
  if (walkedSinceMs === null) return false
  if (isTakeOver) return !state.isRunning
  const lastStartedAtMs = findLastWalkStart(state, clock.nowMs())
  return lastStartedAtMs !== null && lastStartedAtMs >= walkedSinceMs
}

/** Read every page, and make the walk the current one unless it is suspicious: then it is held. */
async function walkToEnd(
  walk: OneWalk,
  before: CopyState,
  droppedGtins: DroppedGtins,
): Promise<Readonly<{ productCount: number; held: HeldWalk | null }>> {
  const { store, clock, owner, channel } = walk
  let extendedAtMs = clock.nowMs()
  const extendLease = async (): Promise<void> => {
    const nowMs = clock.nowMs()
    // Each write checks by itself whether the lease is another's by now.
    if (nowMs >= extendedAtMs && nowMs < extendedAtMs + EXTEND_EVERY_MS) return
    extendedAtMs = nowMs
    if (!(await store.takeLease(channel.id, { owner, forMs: LEASE_MS }))) throw createLeaseLost()
  }
  // What is fetched ahead ends with the walk of its channel, whatever ends that.
  const ended = new AbortController()
  try {
    const pages = await walkPages({
      ...walk,
      droppedGtins,
      extendLease,
      expectedCount: before.productCount,
      signal: AbortSignal.any([walk.signal, ended.signal]),
      begin: (resumableSinceMs) => store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs }),
      judgeLast: (last) => judge(walk, before, { place: last, isMalformed: false }),
    })
    const { place } = pages
    // Whether most offers are malformed is known only once every page is written. Counting a large catalog takes its time.
    await extendLease()
    const isMalformed = pages.held === null && (await store.isWalkMalformed(channel.id, place.walk))
    await extendLease()
    const held = pages.held ?? judge(walk, before, { place, isMalformed })
    if (held !== null) await store.holdWalk(channel.id, place.walk, held)
    else await store.completeWalk(channel.id, place.walk, { nowMs: clock.nowMs(), isMalformed })
    return { productCount: place.productCount, held }
  } finally {
    ended.abort()
  }
}

/**
 * Compare the times of whole walks, not those of one channel: channels before it may take longer now than the next time. A walk
 * that was resumed counts from when it first began.
 */
function judge(
  walk: OneWalk,
  before: CopyState,
  { place, isMalformed }: Readonly<{ place: WalkPlace; isMalformed: boolean }>,
): HeldWalk | null {
  if (walk.isAccepted) return null
  const { productCount } = place
  const startedAtMs = Math.min(walk.beganAtMs, place.startedAtMs)
  return judgeWalk(before, { startedAtMs, foundAtMs: walk.clock.nowMs(), productCount, isMalformed }, walk)
}
