import { setImmediate } from 'node:timers/promises'
import { type Clock, HOUR_MS } from '../clock.ts'
import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import type { DroppedGtins } from '../catalog/parse.ts'
import { CatalogStatusError, VitrineError, WalkError, WalkHeldError } from '../errors.ts'
import { describeFailure } from '../storage/reconnecting-store.ts'
import { describeHold, findLastWalkStart } from './held-walk.ts'
import type { PageSource } from './page-source.ts'
import type { WalkStore } from '../storage/store.ts'
import type { WalkClock } from './walk-clock.ts'
import { type WalkEnd, endWalk, holdUnwritten } from './walk-end.ts'
import { type FetchedPage, type PagedDetails, type WalkStep, fetchPage } from './walk-page.ts'
import { type ListStore, listWalkedChannels } from './walk-list.ts'
import { createTakenOver } from './lease-lost.ts'
import { extendLease, takeLease } from './walk-lease.ts'
import { computeShareWaitMs } from './walk-throttle.ts'
import { createStopped } from './walk-retries.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
export const RESUME_WITHIN_MS: number = HOUR_MS
/** What a walk tells while it goes. `isWaiting`: the rest would use up the walk's share of the daily limit too soon. */
export type WalkProgress = Readonly<{
  channel: Channel
  productCount: number
  isDone: boolean
  isWaiting: boolean
}>

/** How the walk of one channel ended. */
export type ChannelWalk = Readonly<{
  channelId: string
  channelName: string
  outcome: 'complete' | 'held' | 'failed' | 'busy'
  productCount: number
  /** The first GTINs of what this run found malformed, by reason. */
  droppedGtins: DroppedGtins
  durationMs: number
  /** Code of the error when it failed or was held, and its words. */
  failure: string | null
  reason: string | null
}>

/** What a walk works with; `owner` names this walk in leases. */
export type WalkDetails = Readonly<{
  client: Pick<CatalogClient, 'fetchChannels'>
  pages: PageSource
  gate: Pick<CallGate, 'computeWalkWaitMs'>
  store: WalkStore & ListStore
  clock: Clock
  owner: string
  /** When the walk of the first channel began, Unix milliseconds. */
  beganAtMs: number
  /** May it wait between pages, hours if need be, so as not to use up its share of the daily limit too soon? */
  mayWait: boolean
  resumeWithinMs: number
  /** See `WalkOrder`. */
  walkedSinceMs: number | null
  isTakeOver: boolean
  isAccepted: boolean
  isListAccepted: boolean
  confirmAfterMs: number
  isClockDoubtful: boolean
  /** Compares this machine's clock with others, after the catalog has answered. */
  checkClock(): Promise<WalkClock>
  /** Ids to walk; `null`: every channel of the key. */
  channels: readonly string[] | null
  signal: AbortSignal
  onProgress?: (progress: WalkProgress) => void
}>

/**
 * Walks every served channel, one after the other. A channel that fails keeps its old copy and does not stop the rest.
 * @throws CatalogError when not even the list of channels can be had, WalkHeldError when that is held; NoChannelsError when it has
 * none to serve; WalkError when it was told to stop before that, or when the clock of this machine is wrong.
 */
export async function walkCatalog(
  order: Omit<WalkDetails, 'beganAtMs' | 'isClockDoubtful'>,
): Promise<readonly ChannelWalk[]> {
  if (order.signal.aborted) throw createStopped()
  const channels = await listWalkedChannels(order)
  const { isDoubtful: isClockDoubtful } = await order.checkClock()
  const details = { ...order, isClockDoubtful, beganAtMs: order.clock.nowMs() }
  const walks: ChannelWalk[] = []
  for (const channel of channels) {
    if (details.signal.aborted) break
    walks.push(await walkChannel(details, channel))
  }
  return walks
}

async function walkChannel(details: WalkDetails, channel: Channel): Promise<ChannelWalk> {
  const { store, clock, owner } = details
  const startedAtMs = clock.nowMs()
  const droppedGtins: DroppedGtins = {}
  const end = (outcome: ChannelWalk['outcome'], over: Partial<ChannelWalk> = {}): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    const walk = { channelId: channel.id, channelName: channel.name, outcome, droppedGtins, durationMs }
    return { productCount: 0, failure: null, reason: null, ...walk, ...over }
  }
  if (!(await takeLease(details, channel.id))) return end('busy')
  try {
    if (await isJustWalked(details, channel)) return end('busy')
    const { before, place, held } = await walkPages({ ...details, droppedGtins }, channel)
    const { productCount } = place
    if (held === null) return end('complete', { productCount })
    const reason = describeHold(held, before.productCount)
    return end('held', { productCount, failure: WalkHeldError.code, reason })
  } catch (error) {
    const code = error instanceof VitrineError && !details.signal.aborted ? error.code : WalkError.code
    await store.failWalk(channel.id, code, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return end('failed', { failure: code, reason: describeFailure(error) })
  } finally {
    await store.releaseLease(channel.id, owner)
  }
}

/** Has another machine walked it for the same occasion? It may have ended since this one was told to. */
async function isJustWalked(
  { store, clock, walkedSinceMs, isTakeOver }: WalkDetails,
  channel: Channel,
): Promise<boolean> {
  if (walkedSinceMs === null) return false
  const state = await store.getCopyState(channel.id)
  if (isTakeOver) return !state.isRunning
  const lastStartedAtMs = findLastWalkStart(state, clock.nowMs())
  return lastStartedAtMs !== null && lastStartedAtMs >= walkedSinceMs
}

async function walkPages(details: PagedDetails, channel: Channel): Promise<WalkEnd> {
  // What is fetched ahead ends with the walk of its channel, whatever ends that.
  const ended = new AbortController()
  const signal = AbortSignal.any([details.signal, ended.signal])
  try {
    return await walkPagesAhead({ ...details, signal }, channel)
  } finally {
    ended.abort()
  }
}

/** While a page is written, the next one is under way: its cursor is known before. One page ahead, and never more. */
async function walkPagesAhead(details: PagedDetails, channel: Channel): Promise<WalkEnd> {
  const { store, clock } = details
  const before = await store.getCopyState(channel.id)
  const expectedCount = before.productCount
  const begin = async (resumableSinceMs: number): Promise<WalkStep> => {
    const place = await store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs })
    return { place, barrenPages: 0, barrenDrops: {} }
  }
  const fetch = (from: WalkStep, isWhole = false): Promise<FetchedPage> =>
    fetchPage(details, channel, { ...from, expectedCount, isWhole })
  let step = await begin(clock.nowMs() - details.resumeWithinMs)
  let mayBeginAnew = step.place.cursor !== null
  let ahead: Promise<FetchedPage> | undefined
  while (!step.place.isWalked) {
    const page = await (ahead ?? fetch(step)).catch((error: unknown) => {
      if (mayBeginAnew && isCursorRefused(error)) return undefined
      throw error
    })
    ahead = undefined
    mayBeginAnew = false
    if (page === undefined) {
      // Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go.
      step = await begin(Infinity)
      continue
    }
    if (!(await extendLease(details, channel.id))) throw createTakenOver()
    if (!page.next.place.isWalked && computeShareWaitMs(details, { ...page.next.place, expectedCount }) === 0)
      ahead = fetch(page.next)
    // Its failure is met when the page is needed.
    ahead?.catch(() => {})
    // It leaves before anything is written: writing holds the thread.
    await setImmediate()
    const held = await holdUnwritten(details, channel, { before, place: page.next.place })
    if (held !== undefined) return held
    const from = step
    step = await putPage({ store, channelId: channel.id, page }, async () => {
      // What was fetched ahead may begin somewhere else than this page ends now.
      await ahead?.catch(() => {})
      ahead = undefined
      const whole = await fetch(from, true)
      // Two calls and their retries may have taken longer than the lease.
      if (!(await extendLease(details, channel.id))) throw createTakenOver()
      return whole
    })
    const { productCount, isWalked } = step.place
    details.onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
  }
  return endWalk(details, channel, { before, place: step.place })
}

/** Puts a page into the copy; one that look-ups have overtaken is read once more, whole. Answers where the next one begins. */
async function putPage(
  { store, channelId, page }: Readonly<{ store: WalkStore; channelId: string; page: FetchedPage }>,
  readWhole: () => Promise<FetchedPage>,
): Promise<WalkStep> {
  if (page.stored === null || (await store.applyPage(channelId, page.stored))) return page.next
  const whole = await readWhole()
  if (whole.stored !== null) await store.applyPage(channelId, whole.stored)
  return whole.next
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof CatalogStatusError && error.upstreamStatus === 400
}
