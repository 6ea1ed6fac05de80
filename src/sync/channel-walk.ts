import { setImmediate } from 'node:timers/promises'
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

/** How far a walk is: the place up to which it is stored, and pages behind it that held nothing to store. */
type Step = Readonly<{ place: WalkPlace; emptyPages: number; emptyDrops: Drops }>

/** A page with the place behind it. `stored`: what of it goes into the copy; `null` where it has no usable product. */
type FetchedPage = Readonly<{ stored: WalkPage | null; next: Step }>

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
   * Read the pages of the channel and put them into the copy. While a page is written, the next one is under way, and never more:
   * its cursor is known before. The last page of a walk that is held is not written: it would end every product behind the page
   * before.
   */
  async #walkPages(): Promise<Readonly<{ place: WalkPlace; held: HeldWalk | null }>> {
    const { store, clock, channel } = this.#walk
    let step = await this.#begin(clock.nowMs() - this.#walk.resumeWithinMs)
    let held: HeldWalk | null = null
    let ahead = step.place.isWalked ? undefined : this.#fetchFirst(step)
    while (!step.place.isWalked) {
      const { stored, next } = await (ahead ?? this.#fetchPage(step))
      await this.#extendLease()
      ahead = this.#fetchAhead(next)
      // It leaves before anything is written: writing holds the thread.
      await setImmediate()
      if (next.place.isWalked) held = this.#judge(next.place, false)
      if (stored !== null && held === null) await store.applyPage(channel.id, stored)
      step = next
      const { productCount, isWalked } = step.place
      this.#walk.onProgress?.({ channel, productCount, isDone: isWalked, isWaiting: false })
    }
    return { place: step.place, held }
  }

  /** Find the place to go on at: where a broken walk stopped at or after that time, Unix milliseconds, or the first page. */
  async #begin(resumableSinceMs: number): Promise<Step> {
    const { store, clock, channel } = this.#walk
    return toStep(await store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs }))
  }

  /** Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go. */
  async #fetchFirst(step: Step): Promise<FetchedPage> {
    try {
      return await this.#fetchPage(step)
    } catch (error) {
      const isCursorRefused = error instanceof CatalogStatusError && error.upstreamStatus === 400
      if (step.place.cursor === null || !isCursorRefused) throw error
      return this.#fetchPage(await this.#begin(Infinity))
    }
  }

  /** Fetch the next page, unless there is none or it has to wait. */
  #fetchAhead(next: Step): Promise<FetchedPage> | undefined {
    if (next.place.isWalked || this.#computeWaitMs(next.place) > 0) return undefined
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

  /** Fetch the page at a place, when its turn has come. */
  async #fetchPage(step: Step): Promise<FetchedPage> {
    const { client, clock, channel, signal } = this.#walk
    const { cursor, productCount } = step.place
    let leftMs = this.#computeWaitMs(step.place)
    if (leftMs > 0) this.#walk.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
    for (; leftMs > 0 && !signal.aborted; leftMs -= WAIT_STEP_MS) {
      await clock.wait(Math.min(leftMs, WAIT_STEP_MS), signal)
      if (!signal.aborted) await this.#extendLease()
    }
    if (signal.aborted) throw createStopped()
    const { value, asOfMs } = await withRetries(this.#walk, async () => {
      await this.#extendLease()
      return client.fetchProductPage({ channelId: channel.id, cursor, limit: MAX_PAGE_PRODUCTS })
    })
    addDroppedGtins(this.#droppedGtins, value.droppedGtins)
    return toFetchedPage(step, value, asOfMs)
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

function toStep(place: WalkPlace): Step {
  return { place, emptyPages: 0, emptyDrops: {} }
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
