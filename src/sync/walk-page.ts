import { setImmediate } from 'node:timers/promises'
import { type Channel, MAX_PAGE_PRODUCTS, type Product } from '../catalog/contract.ts'
import {
  type DroppedGtins,
  type Drops,
  type ParsedPage,
  addDroppedGtins,
  addDrops,
} from '../catalog/parse.ts'
import { CatalogInvalidError, CatalogStatusError } from '../errors.ts'
import { LEASE_MS } from '../storage/sql-leases.ts'
import type { HeldWalk, WalkPage, WalkPlace } from '../storage/store.ts'
import { createStopped, withRetries } from './walk-calls.ts'
import type { Walk } from './walk-runner.ts'

/** Pages in a row without one usable product: beyond, the catalog makes up cursors and the walk would not end. */
const MAX_EMPTY_PAGES = 50

/** A walk that waits for its share of the daily limit extends its lease this often. */
const WAIT_STEP_MS: number = LEASE_MS / 3

/** What the pages of one channel are walked with. */
export type PagedWalk = Walk &
  Readonly<{
    channel: Channel
    /** Products of the copy before. */
    expectedCount: number
    /** Grows by what the pages left out. */
    droppedGtins: DroppedGtins
    /** Find the place to go on at. */
    begin(resumableSinceMs: number): Promise<WalkPlace>
    /** May hold the walk before its last page is written. */
    judgeLast(place: WalkPlace): HeldWalk | null
    /** @throws WalkError when another process has taken the walk over. */
    extendLease(): Promise<void>
  }>

/** How far a walk is: the place up to which it is stored, and pages behind it that held nothing to store. */
type Step = Readonly<{ place: WalkPlace; emptyPages: number; emptyDrops: Drops }>

/** A page with the place behind it. `stored`: what of it goes into the copy; `null` where it has no usable product. */
type FetchedPage = Readonly<{ stored: WalkPage | null; next: Step }>

/**
 * Read the pages of a channel and put them into the copy. While a page is written, the next one is under way, and never more: its
 * cursor is known before. The last page of a walk that is held is not written: it would end every product behind the page before.
 */
export async function walkPages(
  walk: PagedWalk,
): Promise<Readonly<{ place: WalkPlace; held: HeldWalk | null }>> {
  const { store, clock, channel } = walk
  let step = toStep(await walk.begin(clock.nowMs() - walk.resumeWithinMs))
  let held: HeldWalk | null = null
  let ahead = step.place.isWalked ? undefined : fetchFirst(walk, step)
  while (!step.place.isWalked) {
    const { stored, next } = await (ahead ?? fetchPage(walk, step))
    await walk.extendLease()
    ahead = fetchAhead(walk, next)
    // It leaves before anything is written: writing holds the thread.
    await setImmediate()
    if (next.place.isWalked) held = walk.judgeLast(next.place)
    if (stored !== null && held === null) await store.applyPage(channel.id, stored)
    step = next
    const { productCount, isWalked } = step.place
    walk.onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
  }
  return { place: step.place, held }
}

function toStep(place: WalkPlace): Step {
  return { place, emptyPages: 0, emptyDrops: {} }
}

/** Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go. */
async function fetchFirst(walk: PagedWalk, step: Step): Promise<FetchedPage> {
  try {
    return await fetchPage(walk, step)
  } catch (error) {
    const isCursorRefused = error instanceof CatalogStatusError && error.upstreamStatus === 400
    if (step.place.cursor === null || !isCursorRefused) throw error
    return fetchPage(walk, toStep(await walk.begin(Infinity)))
  }
}

/** Fetch the next page, unless there is none or it has to wait. */
function fetchAhead(walk: PagedWalk, next: Step): Promise<FetchedPage> | undefined {
  if (next.place.isWalked || computeWaitMs(walk, next) > 0) return undefined
  const page = fetchPage(walk, next)
  // Its failure is met when the page is needed.
  page.catch(() => {})
  return page
}

/** How long the walk waits before its next page, so as not to use up its share of the daily limit too soon. */
function computeWaitMs({ mayWait, gate, expectedCount }: PagedWalk, { place }: Step): number {
  const pagesToGo = Math.ceil((expectedCount - place.productCount) / MAX_PAGE_PRODUCTS)
  return mayWait ? gate.computeWalkWaitMs(Math.max(1, pagesToGo)) : 0
}

/** Fetch the page at a place, when its turn has come. */
async function fetchPage(walk: PagedWalk, step: Step): Promise<FetchedPage> {
  const { client, clock, channel, signal, extendLease } = walk
  const { cursor, productCount } = step.place
  let leftMs = computeWaitMs(walk, step)
  if (leftMs > 0) walk.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
  for (; leftMs > 0 && !signal.aborted; leftMs -= WAIT_STEP_MS) {
    await clock.wait(Math.min(leftMs, WAIT_STEP_MS), signal)
    if (!signal.aborted) await extendLease()
  }
  if (signal.aborted) throw createStopped()
  const { value, asOfMs } = await withRetries(walk, async (isRetry) => {
    if (isRetry) await extendLease()
    return client.fetchProductPage({ channelId: channel.id, cursor, limit: MAX_PAGE_PRODUCTS })
  })
  addDroppedGtins(walk.droppedGtins, value.droppedGtins)
  return toFetchedPage(step, value, asOfMs)
}

function toFetchedPage(
  { place, emptyPages, emptyDrops }: Step,
  page: ParsedPage,
  asOfMs: number,
): FetchedPage {
  const { products, drops } = toUsableProducts(page, place)
  addDrops(drops, emptyDrops)
  const { walk, afterGtin } = place
  const { nextCursor } = page
  // A page without a usable product has no range of its own: the next one covers it.
  if (products.length === 0 && nextCursor !== null) {
    if (emptyPages === MAX_EMPTY_PAGES) throw createNoProgress()
    const next = { place: { ...place, cursor: nextCursor }, emptyPages: emptyPages + 1, emptyDrops: drops }
    return { stored: null, next }
  }
  return {
    stored: { walk, afterGtin, products, nextCursor, asOfMs, drops },
    next: toStep({
      ...place,
      cursor: nextCursor,
      afterGtin: products.at(-1)?.gtin ?? afterGtin,
      productCount: place.productCount + products.length,
      isWalked: nextCursor === null,
    }),
  }
}

/**
 * Check that a page goes on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone products. A GTIN
 * that comes again costs that product alone.
 */
function toUsableProducts(
  page: ParsedPage,
  { afterGtin, cursor }: WalkPlace,
): Readonly<{ products: readonly Product[]; drops: Drops }> {
  const products: Product[] = []
  const drops: Drops = { ...page.drops }
  let last = afterGtin
  for (const product of page.products) {
    const { gtin } = product
    if (gtin < last) throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    if (gtin === last) addDrops(drops, { product: 1 })
    else products.push(product)
    last = gtin
  }
  const isEmpty = page.products.length === 0 && (page.drops.product ?? 0) === 0
  if (page.nextCursor !== null && (isEmpty || page.nextCursor === cursor)) throw createNoProgress()
  return { products, drops }
}

/** A walk that would go on for ever. */
function createNoProgress(): CatalogInvalidError {
  return new CatalogInvalidError('the page of products leads nowhere')
}
