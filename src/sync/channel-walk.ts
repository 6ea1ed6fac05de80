import { setImmediate } from 'node:timers/promises'
import type { Answer } from '../catalog/client.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product } from '../catalog/contract.ts'
import {
  type DroppedGtins,
  type Drops,
  type ParsedPage,
  addDroppedGtins,
  addDrops,
} from '../catalog/parse.ts'
import { SECOND_MS } from '../clock.ts'
import { CatalogInvalidError, CatalogStatusError, VitrineError, WalkError, WalkHeldError } from '../errors.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import { LEASE_MS, createLeaseLost } from '../storage/sql-leases.ts'
import type { CopyState, HeldWalk, WalkPage, WalkPlace } from '../storage/store.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { describeHold, findHoldReason, findLastWalkStart, judgeWalk } from './held-walk.ts'
import { createStopped, withRetries } from './walk-calls.ts'
import type { ChannelWalk, Walk } from './walk-runner.ts'

/** Pages in a row without one usable product: beyond, the catalog makes up cursors and the walk would not end. */
const MAX_EMPTY_PAGES = 50

/** How often a walk extends its lease, at most. */
const EXTEND_EVERY_MS: number = 5 * SECOND_MS

/** A walk that waits for its share of the daily limit extends its lease this often. */
const WAIT_STEP_MS: number = LEASE_MS / 3

/** The walk of one channel. `beganAtMs`: when that of the first channel began, Unix milliseconds. */
type OneWalk = Walk & Readonly<{ channel: Channel; beganAtMs: number; isClockDoubtful: boolean }>

/** What goes into the copy, and the place behind it. */
type FetchedPage = Readonly<{ stored: WalkPage; next: WalkPlace }>

/** Walk a channel under its lease. What fails, but for a bug, is the outcome. */
export async function walkChannel(walk: OneWalk): Promise<ChannelWalk> {
  const { store, clock, owner, channel } = walk
  const startedAtMs = clock.nowMs()
  const droppedGtins: DroppedGtins = {}
  const end = (outcome: ChannelWalk['outcome'], over: Partial<ChannelWalk> = {}): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    const named = { channelId: channel.id, channelName: channel.name, outcome, droppedGtins, durationMs }
    return { productCount: 0, failure: null, reason: null, drops: {}, replaced: null, ...named, ...over }
  }
  if (!(await takeLease(walk))) return end('busy')
  try {
    const before = await store.getCopyState(channel.id)
    if (isJustWalked(walk, before)) return end('busy')
    const { productCount, held } = await new LeasedWalk(walk, before, droppedGtins).run()
    if (held === null) {
      const after = await store.getCopyState(channel.id)
      const reason = walk.isAccepted ? findHoldReason(before, after) : null
      const replaced = reason && { reason, productCount: before.productCount }
      return end('complete', { productCount, drops: after.drops, replaced })
    }
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

/** The walk of a channel whose lease is taken. `before`: its copy until now; `droppedGtins` grows by what the pages left out. */
class LeasedWalk {
  readonly #walk: OneWalk
  readonly #before: CopyState
  readonly #droppedGtins: DroppedGtins
  readonly #ended = new AbortController()
  #extendedAtMs: number

  constructor(walk: OneWalk, before: CopyState, droppedGtins: DroppedGtins) {
    // What is fetched ahead ends with the walk of its channel, whatever ends that.
    this.#walk = { ...walk, signal: AbortSignal.any([walk.signal, this.#ended.signal]) }
    this.#before = before
    this.#droppedGtins = droppedGtins
    this.#extendedAtMs = walk.clock.nowMs()
  }

  /** Read every page, and make the walk the current one unless it is suspicious: then it is held. */
  async run(): Promise<Readonly<{ productCount: number; held: HeldWalk | null }>> {
    const { store, clock, channel } = this.#walk
    try {
      const pages = await this.#walkPages()
      const { walk, productCount } = pages.place
      // Whether most offers are malformed is known only once every page is written. Counting a large catalog takes its time.
      await this.#extendLease()
      const isMalformed = pages.held === null && (await store.isWalkMalformed(channel.id, walk))
      await this.#extendLease()
      const held = pages.held ?? this.#judge(pages.place, isMalformed)
      if (held !== null) await store.holdWalk(channel.id, walk, held)
      else await store.completeWalk(channel.id, walk, { nowMs: clock.nowMs(), isMalformed })
      return { productCount, held }
    } finally {
      this.#ended.abort()
    }
  }

  /**
   * Read the pages of the channel and put them into the copy. While a page is written, the next one with products is under way, and
   * never more: its cursor is known before. The last page of a walk that is held is not written: it would end every product behind the page
   * before.
   */
  async #walkPages(): Promise<Readonly<{ place: WalkPlace; held: HeldWalk | null }>> {
    const { store, clock, channel } = this.#walk
    let place = await this.#begin(clock.nowMs() - this.#walk.resumeWithinMs)
    let held: HeldWalk | null = null
    let ahead = place.isWalked ? undefined : this.#fetchFirst(place)
    while (!place.isWalked) {
      const { stored, next } = await (ahead ?? this.#fetchPage(place))
      await this.#extendLease()
      ahead = this.#fetchAhead(next)
      // It leaves before anything is written: writing holds the thread.
      await setImmediate()
      if (next.isWalked) held = this.#judge(next, false)
      if (held === null) await store.applyPage(channel.id, stored)
      place = next
      const { productCount, isWalked } = place
      this.#walk.onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
    }
    return { place, held }
  }

  /** Find the place to go on at: where a broken walk stopped at or after that time, Unix milliseconds, or the first page. */
  #begin(resumableSinceMs: number): Promise<WalkPlace> {
    const { store, clock, channel } = this.#walk
    return store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs })
  }

  /** The cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go, and the walk begins anew. */
  async #fetchFirst(place: WalkPlace): Promise<FetchedPage> {
    try {
      return await this.#fetchPage(place)
    } catch (error) {
      const isCursorRefused = error instanceof CatalogStatusError && error.upstreamStatus === 400
      if (place.cursor === null || !isCursorRefused) throw error
      return this.#fetchPage(await this.#begin(Infinity))
    }
  }

  /** Fetch the next page, unless there is none or it has to wait. */
  #fetchAhead(next: WalkPlace): Promise<FetchedPage> | undefined {
    if (next.isWalked || this.#computeWaitMs(next) > 0) return undefined
    const page = this.#fetchPage(next)
    // Its failure is met when the page is needed.
    page.catch(() => {})
    return page
  }

  /** How long the walk waits before its next page, so as not to use up its share of the daily limit too soon. */
  #computeWaitMs({ productCount }: WalkPlace): number {
    const pagesToGo = Math.ceil((this.#before.productCount - productCount) / MAX_PAGE_PRODUCTS)
    return this.#walk.mayWait ? this.#walk.gate.computeWalkWaitMs(Math.max(1, pagesToGo)) : 0
  }

  /** Fetch the page at a place. Pages without a usable product have no range of their own: the next one covers them. */
  async #fetchPage(place: WalkPlace): Promise<FetchedPage> {
    const drops: Drops = {}
    let { cursor } = place
    for (let emptyPages = 0; emptyPages <= MAX_EMPTY_PAGES; emptyPages += 1) {
      await this.#waitForShare(place)
      const { value: page, asOfMs } = await this.#callForPage(cursor)
      const products = takeUsable(page, place.afterGtin, drops)
      if (isWithoutProgress(page, cursor)) break
      const { nextCursor } = page
      if (products.length > 0 || nextCursor === null)
        return toFetchedPage(place, { products, nextCursor, asOfMs, drops })
      cursor = nextCursor
    }
    throw new CatalogInvalidError('the page of products leads nowhere')
  }

  async #callForPage(cursor: string | null): Promise<Answer<ParsedPage>> {
    const { client, channel } = this.#walk
    const answer = await withRetries(this.#walk, async () => {
      await this.#extendLease()
      return client.fetchProductPage({ channelId: channel.id, cursor })
    })
    addDroppedGtins(this.#droppedGtins, answer.value.droppedGtins)
    return answer
  }

  /** Wait until it is the turn of a page. @throws WalkError when the walk is told to stop */
  async #waitForShare(place: WalkPlace): Promise<void> {
    const { clock, channel, signal } = this.#walk
    const { productCount } = place
    let leftMs = this.#computeWaitMs(place)
    if (leftMs > 0) this.#walk.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
    for (; leftMs > 0 && !signal.aborted; leftMs -= WAIT_STEP_MS) {
      await clock.wait(Math.min(leftMs, WAIT_STEP_MS), signal)
      if (!signal.aborted) await this.#extendLease()
    }
    if (signal.aborted) throw createStopped()
  }

  /** @throws WalkError when another process has taken the walk over */
  async #extendLease(): Promise<void> {
    const { store, clock, owner, channel } = this.#walk
    const nowMs = clock.nowMs()
    // Each write checks by itself whether the lease is another's by now.
    if (nowMs >= this.#extendedAtMs && nowMs < this.#extendedAtMs + EXTEND_EVERY_MS) return
    this.#extendedAtMs = nowMs
    if (!(await store.takeLease(channel.id, { owner, forMs: LEASE_MS }))) throw createLeaseLost()
  }

  /**
   * Compare the times of whole walks, not those of one channel: channels before it may take longer now than the next time. A walk
   * that was resumed counts from when it first began.
   */
  #judge({ productCount, startedAtMs }: WalkPlace, isMalformed: boolean): HeldWalk | null {
    const { clock, isAccepted, beganAtMs } = this.#walk
    if (isAccepted) return null
    const times = { startedAtMs: Math.min(beganAtMs, startedAtMs), foundAtMs: clock.nowMs() }
    return judgeWalk(this.#before, { ...times, productCount, isMalformed }, this.#walk)
  }
}

function toFetchedPage(
  place: WalkPlace,
  page: Pick<WalkPage, 'products' | 'nextCursor' | 'asOfMs' | 'drops'>,
): FetchedPage {
  const { walk, afterGtin } = place
  const next = {
    ...place,
    cursor: page.nextCursor,
    afterGtin: page.products.at(-1)?.gtin ?? afterGtin,
    productCount: place.productCount + page.products.length,
    isWalked: page.nextCursor === null,
  }
  return { stored: { walk, afterGtin, ...page }, next }
}

/** Would a walk that follows the page's cursor go on for ever? */
function isWithoutProgress({ products, drops, nextCursor }: ParsedPage, cursor: string | null): boolean {
  const isEmpty = products.length === 0 && (drops.product ?? 0) === 0
  return nextCursor !== null && (isEmpty || nextCursor === cursor)
}

/**
 * Return the products of a page that goes on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone
 * products. A GTIN that comes again costs that product alone. What is left out is added to `drops`.
 */
function takeUsable(page: ParsedPage, afterGtin: string, drops: Drops): readonly Product[] {
  addDrops(drops, page.drops)
  const products: Product[] = []
  let last = afterGtin
  for (const product of page.products) {
    const { gtin } = product
    if (gtin < last) throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    if (gtin === last) addDrops(drops, { product: 1 })
    else products.push(product)
    last = gtin
  }
  return products
}
