import { setImmediate } from 'node:timers/promises'
import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product } from '../catalog/contract.ts'
import {
  type DroppedGtins,
  type Drops,
  type ParsedPage,
  addDroppedGtins,
  addDrops,
} from '../catalog/parse.ts'
import type { Clock } from '../clock.ts'
import { CatalogInvalidError, CatalogStatusError } from '../errors.ts'
import type { HeldWalk, WalkPage, WalkPlace, WalkStore } from '../storage/store.ts'
import { computeThrottleMs, createStopped, waitThrottled, withRetries } from './walk-calls.ts'
import type { WalkOrder, WalkWatch } from './walk-runner.ts'

/** Pages in a row without one usable product: beyond, the catalog makes up cursors and the walk would not end. */
const MAX_EMPTY_PAGES = 50

/** What the pages of one channel are walked with. */
export type PagedWalk = WalkWatch &
  Pick<WalkOrder, 'mayWait'> &
  Readonly<{
    client: Pick<CatalogClient, 'fetchProductPage'>
    gate: Pick<CallGate, 'computeWalkWaitMs'>
    store: Pick<WalkStore, 'applyPage'>
    clock: Clock
    channel: Channel
    /** How old the last page of a broken walk may be to go on there, in milliseconds. */
    resumeWithinMs: number
    /** Products of the copy before. */
    expectedCount: number
    /** Grows by what the pages left out. */
    droppedGtins: DroppedGtins
    /** Shows that the walk lives. @throws WalkError when another process has taken it over. */
    extendLease(): Promise<void>
  }>

/** How far a walk is: the place up to which it is stored, and pages behind it that held nothing to store. */
type Step = Readonly<{ place: WalkPlace; emptyPages: number; emptyDrops: Drops }>

/** A page with the place behind it. `stored`: what of it goes into the copy; `null` where it has no usable product. */
type FetchedPage = Readonly<{ stored: WalkPage | null; next: Step }>

/** `begin`: finds the place to go on at. `judgeLast`: may hold the walk before its last page is written. */
type Ends = Readonly<{
  begin(resumableSinceMs: number): Promise<WalkPlace>
  judgeLast(place: WalkPlace): HeldWalk | null
}>

/**
 * Reads the pages of a channel and puts them into the copy. While a page is written, the next one is under way: its cursor is
 * known before. One page ahead, and never more. The last page of a walk that is held is not written: it would end every product
 * behind the page before.
 */
export async function walkPages(
  walk: PagedWalk,
  { begin, judgeLast }: Ends,
): Promise<Readonly<{ place: WalkPlace; held: HeldWalk | null }>> {
  const { store, clock, channel, onProgress } = walk
  let step = toStep(await begin(clock.nowMs() - walk.resumeWithinMs))
  let ahead = step.place.isWalked ? undefined : fetchFirst(walk, step, begin)
  while (!step.place.isWalked) {
    const { stored, next } = await (ahead ?? fetchPage(walk, step))
    await walk.extendLease()
    ahead = fetchAhead(walk, next)
    // It leaves before anything is written: writing holds the thread.
    await setImmediate()
    const held = next.place.isWalked ? judgeLast(next.place) : null
    if (stored !== null && held === null) await store.applyPage(channel.id, stored)
    step = next
    const { productCount, isWalked } = step.place
    onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
    if (held !== null) return { place: step.place, held }
  }
  return { place: step.place, held: null }
}

function toStep(place: WalkPlace): Step {
  return { place, emptyPages: 0, emptyDrops: {} }
}

/** Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go. */
async function fetchFirst(walk: PagedWalk, step: Step, begin: Ends['begin']): Promise<FetchedPage> {
  try {
    return await fetchPage(walk, step)
  } catch (error) {
    const isCursorRefused = error instanceof CatalogStatusError && error.upstreamStatus === 400
    if (step.place.cursor === null || !isCursorRefused) throw error
    return fetchPage(walk, toStep(await begin(Infinity)))
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

function computeWaitMs(walk: PagedWalk, { place }: Step): number {
  return computeThrottleMs(walk, { expectedCount: walk.expectedCount, productCount: place.productCount })
}

/** Fetches the page at a place, when its turn has come. */
async function fetchPage(walk: PagedWalk, step: Step): Promise<FetchedPage> {
  const { client, channel, signal } = walk
  const { place } = step
  const { productCount } = place
  const waitMs = computeWaitMs(walk, step)
  if (waitMs > 0) walk.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
  await waitThrottled(walk, waitMs, walk.extendLease)
  if (signal.aborted) throw createStopped()
  const query = { channelId: channel.id, cursor: place.cursor, limit: MAX_PAGE_PRODUCTS }
  const { value, asOfMs } = await withRetries(walk, async (isRetry) => {
    if (isRetry) await walk.extendLease()
    return client.fetchProductPage(query)
  })
  addDroppedGtins(walk.droppedGtins, value.droppedGtins)
  return toFetchedPage(step, toUsablePage(value, place), asOfMs)
}

function toFetchedPage(
  { place, emptyPages, emptyDrops }: Step,
  { products, nextCursor, drops }: UsablePage,
  asOfMs: number,
): FetchedPage {
  addDrops(drops, emptyDrops)
  const { walk, afterGtin, productCount, startedAtMs } = place
  // A page without a usable product has no range of its own: the next one covers it.
  if (products.length === 0 && nextCursor !== null) {
    if (emptyPages === MAX_EMPTY_PAGES) throw createNoProgress()
    const next = { place: { ...place, cursor: nextCursor }, emptyPages: emptyPages + 1, emptyDrops: drops }
    return { stored: null, next }
  }
  return {
    stored: { walk, afterGtin, products, nextCursor, asOfMs, drops },
    next: toStep({
      walk,
      cursor: nextCursor,
      afterGtin: products.at(-1)?.gtin ?? afterGtin,
      productCount: productCount + products.length,
      startedAtMs,
      isWalked: nextCursor === null,
    }),
  }
}

type UsablePage = Readonly<{ products: readonly Product[]; nextCursor: string | null; drops: Drops }>

/**
 * A page must go on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone products. A GTIN
 * that comes again costs that product alone.
 */
function toUsablePage(page: ParsedPage, place: WalkPlace): UsablePage {
  const { nextCursor } = page
  const products: Product[] = []
  const drops: Drops = { ...page.drops }
  let last = place.afterGtin
  for (const product of page.products) {
    const { gtin } = product
    if (gtin < last) throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    if (gtin === last) addDrops(drops, { product: 1 })
    else products.push(product)
    last = gtin
  }
  const isEmpty = page.products.length === 0 && (page.drops.product ?? 0) === 0
  if (nextCursor !== null && (isEmpty || nextCursor === place.cursor)) throw createNoProgress()
  return { products, nextCursor, drops }
}

/** A walk that would go on for ever. */
function createNoProgress(): CatalogInvalidError {
  return new CatalogInvalidError('the page of products leads nowhere')
}
