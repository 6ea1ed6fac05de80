import { setImmediate } from 'node:timers/promises'
import type { CatalogResponse } from '../catalog/client.ts'
import type { WalkPurpose } from '../catalog/rate-limiter.ts'
import type { Channel, Product, ProductProblem } from '../catalog/contract.ts'
import {
  type DroppedGtins,
  type DropCounts,
  type ParsedPage,
  addDroppedGtins,
  addDropCounts,
} from '../catalog/parse.ts'
import { SECOND_MS } from '../clock.ts'
import {
  CatalogInvalidError,
  CatalogStatusError,
  CatalogTooLargeError,
  StoreError,
  VitrineError,
  WalkError,
  WalkHeldError,
} from '../errors.ts'
import { hasOwnerExited } from '../database/leases.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { createShopBook } from '../offers/shop-book.ts'
import { LEASE_MS, createLeaseLostError } from '../storage/walk-leases.ts'
import type { CopyState, HeldWalk, WalkFailure, WalkPage, WalkPosition } from '../storage/store.ts'
import { describeFailure } from '../database/failures.ts'
import { describeHold, findHoldReason, findLastWalkStart, evaluateWalk } from './held-walk.ts'
import { createPageSize } from './page-size.ts'
import { createWalkStoppedError, isFirstWalk, retryCall } from './walk-retries.ts'
import type { ChannelWalkResult, WalkContext } from './walk-runner.ts'

/** Empty pages in a row after which the walk fails: a catalog that invents cursors would keep it running forever. */
const MAX_EMPTY_PAGES = 50

/** Shortest time between two extensions of a lease. */
const EXTEND_EVERY_MS: number = 5 * SECOND_MS

/** Time between two extensions while a walk waits for its share of the daily limit. */
const WAIT_STEP_MS: number = LEASE_MS / 3

/** `runStartedAtMs`: start of the first channel's walk, Unix milliseconds. */
type ChannelWalkContext = WalkContext &
  Readonly<{ channel: Channel; runStartedAtMs: number; isClockUnreliable: boolean }>

/** `next`: the position after the page. */
type FetchedPage = Readonly<{ page: WalkPage; next: WalkPosition }>

/** `leftOutGtin`: the only product of the page, which is too large to be read. */
type ReadPage = ParsedPage & Readonly<{ leftOutGtin?: string }>

/** Walk a channel under its lease. A failure is part of the result; only a bug is thrown. */
export async function walkChannel(walk: ChannelWalkContext): Promise<ChannelWalkResult> {
  const { store, clock, owner, channel } = walk
  const startedAtMs = clock.nowMs()
  const droppedGtins: DroppedGtins = {}
  const toResult = (
    outcome: ChannelWalkResult['outcome'],
    overrides: Partial<ChannelWalkResult> = {},
  ): ChannelWalkResult => {
    const durationMs = clock.nowMs() - startedAtMs
    const common = { channelId: channel.id, channelName: channel.name, outcome, droppedGtins, durationMs }
    return {
      productCount: 0,
      failure: null,
      reason: null,
      drops: {},
      replaced: null,
      ...common,
      ...overrides,
    }
  }
  if (!(await acquireLease(walk))) return toResult('busy')
  try {
    const before = await store.getCopyState(channel.id)
    if (isRecentlyWalked(walk, before)) return toResult('busy')
    const { productCount, held } = await new LeasedWalk(walk, before, droppedGtins).run()
    if (held === null) {
      const after = await store.getCopyState(channel.id)
      const reason = walk.isAccepted ? findHoldReason(before, after) : null
      const replaced = reason && { reason, productCount: before.productCount }
      return toResult('complete', { productCount, drops: after.drops, replaced })
    }
    const reason = describeHold(held, before.productCount)
    return toResult('held', { productCount, failure: WalkHeldError.code, reason })
  } catch (error) {
    const failure = toWalkFailure(error, walk.signal)
    await store.failWalk(channel.id, failure, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return toResult('failed', { failure: failure.code, reason: failure.reason })
  } finally {
    await store.releaseWalkLease(channel.id, owner)
  }
}

function toWalkFailure(error: unknown, { aborted }: AbortSignal): WalkFailure {
  if (!(error instanceof VitrineError))
    return { code: WalkError.code, reason: 'an unexpected error; see the log' }
  return { code: aborted ? WalkError.code : error.code, reason: describeFailure(error) }
}

/** Acquire the lease, also from a walk of this machine whose process was killed. */
async function acquireLease({ store, owner, channel }: ChannelWalkContext): Promise<boolean> {
  const lease = { owner, forMs: LEASE_MS }
  if (await store.acquireWalkLease(channel.id, lease)) return true
  const holder = await store.findWalkLeaseOwner(channel.id)
  if (holder === null || !hasOwnerExited(holder)) return false
  await store.releaseWalkLease(channel.id, holder)
  return store.acquireWalkLease(channel.id, lease)
}

/** `true` when another machine has already walked the channel for the same scheduled run. */
function isRecentlyWalked(
  { clock, skipWalkedSinceMs, isTakeover }: ChannelWalkContext,
  state: CopyState,
): boolean {
  if (skipWalkedSinceMs === null) return false
  if (isTakeover) return !state.isRunning
  const lastStartedAtMs = findLastWalkStart(state, clock.nowMs())
  return lastStartedAtMs !== null && lastStartedAtMs >= skipWalkedSinceMs
}

/** The walk of a leased channel. `before`: its copy before the walk; `droppedGtins`: filled with the GTINs that pages drop. */
class LeasedWalk {
  readonly #walk: ChannelWalkContext
  readonly #before: CopyState
  readonly #purpose: WalkPurpose
  readonly #droppedGtins: DroppedGtins
  readonly #pageSize = createPageSize()
  readonly #ended = new AbortController()
  #extendedAtMs: number

  constructor(walk: ChannelWalkContext, before: CopyState, droppedGtins: DroppedGtins) {
    // A prefetched page must not outlive the walk of its channel.
    this.#walk = { ...walk, signal: AbortSignal.any([walk.signal, this.#ended.signal]) }
    this.#before = before
    this.#purpose = isFirstWalk(before) ? 'first-walk' : 'walk'
    this.#droppedGtins = droppedGtins
    this.#extendedAtMs = walk.clock.nowMs()
  }

  /** Read every page, then make the walk current, or hold it when it is suspicious. */
  async run(): Promise<Readonly<{ productCount: number; held: HeldWalk | null }>> {
    const { store, clock, channel } = this.#walk
    try {
      const pages = await this.#walkPages()
      const { walk, productCount } = pages.position
      // Malformed offers can be counted only after the last page. In a large catalog that may outlast the lease.
      await this.#extendLease()
      const isMalformed = pages.held === null && (await store.isWalkMalformed(channel.id, walk))
      await this.#extendLease()
      const held = pages.held ?? this.#evaluate(pages.position, isMalformed)
      if (held !== null) await store.holdWalk(channel.id, walk, held)
      else {
        const shops = createShopBook(this.#walk.shops)
        await store.completeWalk(channel.id, walk, { nowMs: clock.nowMs(), isMalformed, shops })
      }
      return { productCount, held }
    } finally {
      this.#ended.abort()
    }
  }

  /** Write each page while the next one is fetched. The last page of a held walk is not written: it would remove later products. */
  async #walkPages(): Promise<Readonly<{ position: WalkPosition; held: HeldWalk | null }>> {
    const { store, clock, channel } = this.#walk
    let position = await this.#beginWalk(clock.nowMs() - this.#walk.resumeWithinMs)
    let held: HeldWalk | null = null
    let prefetched = position.hasAllPages ? undefined : this.#fetchFirst(position)
    while (!position.hasAllPages) {
      const { page, next } = await (prefetched ?? this.#fetchPage(position))
      await this.#extendLease()
      prefetched = this.#fetchAhead(next)
      // Send the request before the write, which blocks the thread.
      await setImmediate()
      if (next.hasAllPages) held = this.#evaluate(next, false)
      if (held === null) await store.applyPage(channel.id, page)
      position = next
      const { productCount, hasAllPages } = position
      this.#walk.onProgress?.({ channel, productCount, isDone: hasAllPages, isWaiting: false })
    }
    return { position, held }
  }

  /** Resume a walk interrupted at or after `resumableSinceMs` (Unix milliseconds), or start at the first page. */
  #beginWalk(resumableSinceMs: number): Promise<WalkPosition> {
    const { store, clock, channel } = this.#walk
    return store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs })
  }

  /** Fetch the first page. When the catalog no longer knows the cursor of a resumed walk, discard its pages and start again. */
  async #fetchFirst(position: WalkPosition): Promise<FetchedPage> {
    try {
      return await this.#fetchPage(position)
    } catch (error) {
      const isCursorRefused = error instanceof CatalogStatusError && error.upstreamStatus === 400
      if (position.cursor === null || !isCursorRefused) throw error
      return this.#fetchPage(await this.#beginWalk(Infinity))
    }
  }

  /** Prefetch the next page, unless there is none or it must wait for the daily limit. */
  #fetchAhead(next: WalkPosition): Promise<FetchedPage> | undefined {
    if (next.hasAllPages || this.#computeWaitMs(next) > 0) return undefined
    const page = this.#fetchPage(next)
    // A failure is reported when the page is awaited; this only avoids an unhandled rejection.
    page.catch(() => {})
    return page
  }

  /** Compute the wait before the next page that keeps the walk within its share of the daily limit. */
  #computeWaitMs({ productCount }: WalkPosition): number {
    const remainingCalls = this.#pageSize.countCalls(Math.max(0, this.#before.productCount - productCount))
    const { canWait, callPolicy } = this.#walk
    return canWait ? callPolicy.computeWalkWaitMs(remainingCalls, this.#purpose) : 0
  }

  /** Fetch the page at a position. A page without a usable product covers no GTIN range: skip to the next one. */
  async #fetchPage(position: WalkPosition): Promise<FetchedPage> {
    const drops: DropCounts = {}
    const malformed = new Map<string, ProductProblem>()
    const leftOutGtins: string[] = []
    let { cursor, afterGtin } = position
    for (let emptyPages = 0; emptyPages <= MAX_EMPTY_PAGES;) {
      const { value: page, asOfMs } = await this.#requestPage(position, { cursor, afterGtin })
      const { nextCursor, leftOutGtin } = page
      const products = collectUsableProducts(page, afterGtin, drops)
      for (const [gtin, problem] of page.malformed) malformed.set(gtin, problem)
      if (leftOutGtin !== undefined) leftOutGtins.push(leftOutGtin)
      // Following a cursor that repeats would never end.
      if (nextCursor !== null && nextCursor === cursor) break
      if (products.length > 0 || nextCursor === null)
        return toFetchedPage(position, { products, nextCursor, asOfMs, drops, leftOutGtins, malformed })
      cursor = nextCursor
      if (leftOutGtin === undefined) emptyPages += 1
      else afterGtin = leftOutGtin
    }
    throw new CatalogInvalidError('the product pages make no progress: they are empty or repeat a cursor')
  }

  /** Request a page. If it is too large, request fewer products; a single one that is too large is left out. */
  async #requestPage(position: WalkPosition, at: PageStart): Promise<CatalogResponse<ReadPage>> {
    const { client, channel } = this.#walk
    const { cursor } = at
    for (;;) {
      const limit = this.#pageSize.getLimit()
      try {
        const response = await this.#call(position, () =>
          client.fetchProductPage({ channelId: channel.id, cursor, limit, purpose: this.#purpose }),
        )
        this.#pageSize.advance()
        addDroppedGtins(this.#droppedGtins, response.value.droppedGtins)
        return response
      } catch (error) {
        if (!(error instanceof CatalogTooLargeError)) throw error
        if (!this.#pageSize.reduce()) return this.#skipProduct(position, at)
      }
    }
  }

  /** Leave out the product at a cursor. @throws CatalogTooLargeError when the catalog does not tell which one it is */
  async #skipProduct(
    position: WalkPosition,
    { cursor, afterGtin }: PageStart,
  ): Promise<CatalogResponse<ReadPage>> {
    const { client, channel } = this.#walk
    const { value, asOfMs } = await this.#call(position, () =>
      client.skimProduct({ channelId: channel.id, cursor, purpose: this.#purpose }),
    ).catch((error: unknown) => {
      throw error instanceof CatalogTooLargeError ? createNotSkippableError(afterGtin, error.message) : error
    })
    const gtin = value.gtin === undefined ? undefined : normalizeGtin(value.gtin)
    if (gtin === undefined) throw createNotSkippableError(afterGtin, 'its GTIN is unknown')
    if (gtin <= afterGtin) throw createUnsortedError()
    this.#pageSize.reset()
    const drops = { product_too_large: 1 }
    const droppedGtins = { product_too_large: [gtin] }
    addDroppedGtins(this.#droppedGtins, droppedGtins)
    return {
      value: {
        products: [],
        nextCursor: value.nextCursor,
        drops,
        droppedGtins,
        malformed: new Map(),
        leftOutGtin: gtin,
      },
      asOfMs,
    }
  }

  /** Make a call when the quota allows it. Retry transient failures. */
  async #call<T>(position: WalkPosition, call: () => Promise<T>): Promise<T> {
    await this.#waitForQuota(position)
    let isRetry = false
    const result = await retryCall(
      this.#walk,
      async () => {
        await this.#extendLease()
        return call()
      },
      ({ code, message }) => {
        isRetry = true
        return this.#recordRetry({ code, reason: message })
      },
    )
    if (isRetry) await this.#recordRetry(null)
    return result
  }

  /** Tell "check". A database that fails here ends the walk only if it still fails when a page is written. */
  async #recordRetry(failure: WalkFailure | null): Promise<void> {
    try {
      await this.#walk.store.recordRetry(this.#walk.channel.id, failure)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  /** Wait until the quota allows the next page. @throws WalkError when the walk is stopped */
  async #waitForQuota(position: WalkPosition): Promise<void> {
    const { clock, channel, signal } = this.#walk
    const { productCount } = position
    let remainingMs = this.#computeWaitMs(position)
    if (remainingMs > 0) this.#walk.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
    for (; remainingMs > 0 && !signal.aborted; remainingMs -= WAIT_STEP_MS) {
      await clock.wait(Math.min(remainingMs, WAIT_STEP_MS), signal)
      if (!signal.aborted) await this.#extendLease()
    }
    if (signal.aborted) throw createWalkStoppedError()
  }

  /** @throws WalkError when another process has taken over the walk */
  async #extendLease(): Promise<void> {
    const { store, clock, owner, channel } = this.#walk
    const nowMs = clock.nowMs()
    // Every write checks the owner of the lease itself, so a late extension is safe.
    if (nowMs >= this.#extendedAtMs && nowMs < this.#extendedAtMs + EXTEND_EVERY_MS) return
    this.#extendedAtMs = nowMs
    if (!(await store.acquireWalkLease(channel.id, { owner, forMs: LEASE_MS }))) throw createLeaseLostError()
  }

  /** Evaluate by the start of the whole run: earlier channels vary in duration. A resumed walk keeps its first start. */
  #evaluate({ productCount, startedAtMs }: WalkPosition, isMalformed: boolean): HeldWalk | null {
    const { clock, isAccepted, runStartedAtMs } = this.#walk
    if (isAccepted) return null
    const times = { startedAtMs: Math.min(runStartedAtMs, startedAtMs), evaluatedAtMs: clock.nowMs() }
    return evaluateWalk(this.#before, { ...times, productCount, isMalformed }, this.#walk)
  }
}

/** Where a page begins. `afterGtin`: the product before it. */
type PageStart = Pick<WalkPosition, 'cursor' | 'afterGtin'>

function createNotSkippableError(afterGtin: string, reason: string): CatalogTooLargeError {
  const where = afterGtin === '' ? 'the first product' : `the product after GTIN ${afterGtin}`
  return new CatalogTooLargeError(
    `${where} is larger than VITRINE_CATALOG_MAX_BYTES, and the walk cannot continue after it: ${reason}`,
  )
}

function createUnsortedError(): CatalogInvalidError {
  return new CatalogInvalidError('the page of products is not sorted by GTIN')
}

function toFetchedPage(position: WalkPosition, page: Omit<WalkPage, 'walk' | 'afterGtin'>): FetchedPage {
  const { walk, afterGtin } = position
  const next = {
    ...position,
    cursor: page.nextCursor,
    afterGtin: page.products.at(-1)?.gtin ?? page.leftOutGtins?.at(-1) ?? afterGtin,
    productCount: position.productCount + page.products.length,
    hasAllPages: page.nextCursor === null,
  }
  return { page: { walk, afterGtin, ...page }, next }
}

/** Return the usable products; count the others in `drops`. Without GTIN order, gaps would look like removed products. */
function collectUsableProducts(page: ParsedPage, afterGtin: string, drops: DropCounts): readonly Product[] {
  addDropCounts(drops, page.drops)
  const products: Product[] = []
  let lastGtin = afterGtin
  for (const product of page.products) {
    const { gtin } = product
    if (gtin < lastGtin) throw createUnsortedError()
    // A catalog that pages by position repeats a product when another one is added during the walk.
    const isRepeatedByPage = gtin === afterGtin && products.length === 0
    if (isRepeatedByPage) continue
    if (gtin === lastGtin) addDropCounts(drops, { product: 1 })
    else products.push(product)
    lastGtin = gtin
  }
  return products
}
