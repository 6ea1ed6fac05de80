import { type Clock, HOUR_MS, MINUTE_MS } from '../clock.ts'
import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product } from '../catalog/contract.ts'
import { type Drops, type ParsedPage, addDrops } from '../catalog/parse.ts'
import { CatalogInvalidError, CatalogStatusError, VitrineError, WalkError } from '../errors.ts'
import { describeFailure } from './healing-store.ts'
import { isOwnerGone } from './lease-owner.ts'
import type { WalkPlace, WalkStore } from './store.ts'
import { createStopped, withRetries } from './walk-retries.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
export const RESUME_WITHIN_MS: number = HOUR_MS
/** How long a walk may go without a page before another process may take it over. */
const LEASE_MS: number = MINUTE_MS
/** A walk that waits for its share shows that it lives this often. */
const WAIT_STEP_MS: number = LEASE_MS / 3
/** Pages in a row without one usable product: beyond, the catalog makes up cursors and the walk would not end. */
const MAX_BARREN_PAGES = 50

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
  outcome: 'complete' | 'failed' | 'busy'
  productCount: number
  durationMs: number
  /** Code of the error when it failed, and its words. */
  failure: string | null
  reason: string | null
}>

/** What a walk works with; `owner` names this walk in leases. */
export type WalkDetails = Readonly<{
  client: CatalogClient
  gate: Pick<CallGate, 'computeWalkWaitMs'>
  store: WalkStore
  clock: Clock
  owner: string
  /** May it wait between pages, hours if need be, so as not to use up its share of the daily limit too soon? */
  mayWait: boolean
  resumeWithinMs: number
  /** Ids to walk; `null`: every channel of the key. */
  channels: readonly string[] | null
  signal: AbortSignal
  onProgress?: (progress: WalkProgress) => void
}>

/**
 * Walks every served channel, one after the other. A channel that fails keeps its old copy and does not stop the rest.
 * @throws CatalogError when not even the list of channels can be had; WalkError when it was told to stop before that.
 */
export async function walkCatalog(details: WalkDetails): Promise<readonly ChannelWalk[]> {
  if (details.signal.aborted) throw createStopped()
  const { value, asOfMs } = await withRetries(details, () => details.client.fetchChannels('walk'))
  await details.store.putChannelList(value, asOfMs)
  const served = value.filter((channel) => details.channels === null || details.channels.includes(channel.id))
  const walks: ChannelWalk[] = []
  for (const channel of served) {
    if (details.signal.aborted) break
    walks.push(await walkChannel(details, channel))
  }
  return walks
}

async function walkChannel(details: WalkDetails, channel: Channel): Promise<ChannelWalk> {
  const { store, clock, owner } = details
  const startedAtMs = clock.nowMs()
  const end = (outcome: ChannelWalk['outcome'], over: Partial<ChannelWalk> = {}): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    const walk = { channelId: channel.id, channelName: channel.name, outcome, durationMs }
    return { productCount: 0, failure: null, reason: null, ...walk, ...over }
  }
  if (!(await takeLease(details, channel.id))) return end('busy')
  try {
    const productCount = await walkPages(details, channel)
    return end('complete', { productCount })
  } catch (error) {
    const code =
      error instanceof VitrineError && !details.signal.aborted ? error.code : new WalkError('').code
    await store.failWalk(channel.id, code, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return end('failed', { failure: code, reason: describeFailure(error) })
  } finally {
    await store.releaseLease(channel.id, owner)
  }
}

/** How far a walk is: the place up to which it is stored, and pages behind it that held nothing to store. */
type WalkStep = Readonly<{ place: WalkPlace; barrenPages: number; barrenDrops: Drops }>

async function walkPages(details: WalkDetails, channel: Channel): Promise<number> {
  const { store, clock, signal } = details
  const { productCount: expectedCount } = await store.getCopyState(channel.id)
  const begin = async (resumableSinceMs: number): Promise<WalkStep> => {
    const place = await store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs })
    return { place, barrenPages: 0, barrenDrops: {} }
  }
  let step = await begin(clock.nowMs() - details.resumeWithinMs)
  let mayBeginAnew = step.place.cursor !== null
  while (!step.place.isWalked) {
    await waitForShare(details, channel, { expectedCount, productCount: step.place.productCount })
    if (signal.aborted) throw createStopped()
    const next = await walkPage(details, channel, step).catch((error: unknown) => {
      if (mayBeginAnew && isCursorRefused(error)) return undefined
      throw error
    })
    // Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go.
    step = next ?? (await begin(Infinity))
    mayBeginAnew = false
    const { productCount, isWalked } = step.place
    details.onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
  }
  await store.completeWalk(channel.id, step.place.walk, clock.nowMs())
  return step.place.productCount
}

/** A walk that would not fit into its share of the daily limit is stretched over the day, and into the next. */
async function waitForShare(
  details: WalkDetails,
  channel: Channel,
  counts: Readonly<{ expectedCount: number; productCount: number }>,
): Promise<void> {
  const pagesToGo = Math.ceil((counts.expectedCount - counts.productCount) / MAX_PAGE_PRODUCTS)
  let leftMs = details.mayWait ? details.gate.computeWalkWaitMs(Math.max(1, pagesToGo)) : 0
  if (leftMs > 0) {
    const { productCount } = counts
    details.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
  }
  while (leftMs > 0 && !details.signal.aborted) {
    const stepMs = Math.min(leftMs, WAIT_STEP_MS)
    await details.clock.wait(stepMs, details.signal)
    leftMs -= stepMs
    if (!(await extendLease(details, channel.id))) throw createTakenOver()
  }
}

function createTakenOver(): WalkError {
  return new WalkError('another process took the walk over')
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof CatalogStatusError && error.upstreamStatus === 400
}

/** Fetches one page, and stores it when the lease is still held. */
async function walkPage(details: WalkDetails, channel: Channel, step: WalkStep): Promise<WalkStep> {
  const { client, store } = details
  const { place } = step
  const query = { channelId: channel.id, cursor: place.cursor, limit: MAX_PAGE_PRODUCTS }
  const { value, asOfMs } = await withRetries(details, () => client.fetchProductPage(query))
  const { products, nextCursor, drops } = toUsablePage(value, place)
  if (!(await extendLease(details, channel.id))) throw createTakenOver()
  addDrops(drops, step.barrenDrops)
  // A page without a usable product has no range of its own: the next one covers it.
  if (products.length === 0 && nextCursor !== null) return toBarrenStep(step, nextCursor, drops)
  const { walk, afterGtin } = place
  await store.applyPage(channel.id, { walk, afterGtin, products, nextCursor, asOfMs, drops })
  return {
    place: {
      walk,
      cursor: nextCursor,
      afterGtin: products.at(-1)?.gtin ?? afterGtin,
      productCount: place.productCount + products.length,
      isWalked: nextCursor === null,
    },
    barrenPages: 0,
    barrenDrops: {},
  }
}

function toBarrenStep(step: WalkStep, cursor: string, barrenDrops: Drops): WalkStep {
  const barrenPages = step.barrenPages + 1
  if (barrenPages > MAX_BARREN_PAGES) throw createStuck()
  return { place: { ...step.place, cursor }, barrenPages, barrenDrops }
}

/**
 * A page must go on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone products. A GTIN
 * that comes again costs that product alone.
 */
function toUsablePage(page: ParsedPage, place: WalkPlace): Readonly<ParsedPage & { drops: Drops }> {
  const products: Product[] = []
  const drops: Drops = { ...page.drops }
  let last = place.afterGtin
  for (const product of page.products) {
    if (product.gtin < last)
      throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    if (product.gtin === last) addDrops(drops, { product: 1 })
    else products.push(product)
    last = product.gtin
  }
  const { nextCursor } = page
  const isEmpty = page.products.length === 0 && (page.drops.product ?? 0) === 0
  if (nextCursor !== null && (isEmpty || nextCursor === place.cursor)) throw createStuck()
  return { products, nextCursor, drops }
}

function createStuck(): CatalogInvalidError {
  return new CatalogInvalidError('the page of products leads nowhere')
}

/** The lease of a walk that was killed on this machine is free at once. */
async function takeLease(details: WalkDetails, channelId: string): Promise<boolean> {
  if (await extendLease(details, channelId)) return true
  const owner = await details.store.findLeaseOwner(channelId)
  if (owner === null || !isOwnerGone(owner)) return false
  await details.store.releaseLease(channelId, owner)
  return extendLease(details, channelId)
}

function extendLease(details: WalkDetails, channelId: string): Promise<boolean> {
  const nowMs = details.clock.nowMs()
  return details.store.takeLease(channelId, { owner: details.owner, nowMs, untilMs: nowMs + LEASE_MS })
}
