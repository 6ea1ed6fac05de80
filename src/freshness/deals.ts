import { type Clock, SECOND_MS, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import { UnavailableError } from '../errors.ts'
import { type FairQueue, type Visitor, createFairQueue } from '../lib/fair-queue.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import { findSaleEndMs, isSaleEnded } from '../offers/price-age.ts'
import { type CopyStore, type DealEntry, type DealQuery, isShortRead } from '../storage/store.ts'
import { type Cached, WALK_VISIBLE_WITHIN_MS, classifyAge, computeStatusEndMs } from './age.ts'

export type DealPage = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean }>

/**
 * `query.currency`: `null` selects the currency of most deals. `query.limit`: one more than shown, to detect a next page.
 */
export type DealRequest = Partial<Visitor> &
  Readonly<{
    query: Omit<DealQuery, 'currency'> & Readonly<{ currency: string | null }>
  }>

type DealSourceOptions = Readonly<{
  store: Pick<CopyStore, 'getCopyState' | 'findDeals' | 'findDealCurrency'>
  cache: LruCache<CachedDeals>
  clock: Clock
  config: FreshnessConfig
  onStoreFailure(error: unknown): void
}>

/**
 * A page read from the copy at `readAtMs`. It saves a read only while it is fresh and `walk` is current. `saleEndMs`: when its
 * first sale ends; `null` if none does.
 */
export type CachedDeals = Readonly<{
  page: DealPage
  asOfMs: number
  saleEndMs: number | null
  readAtMs: number
  walk: number
}>

type PageRead = Pick<CachedDeals, 'page' | 'readAtMs'>

/** Reads deals from memory, then from the stored copy; never calls the catalog. When the store fails, serves what is in memory. */
export class DealSource {
  readonly #options: DealSourceOptions
  /** Two queues, so that a read through all deals delays no short read, unless that turns out to be long itself. */
  readonly #shortReads: FairQueue
  readonly #longReads: FairQueue
  #lastFailure: Readonly<{ error: unknown; atMs: number }> | undefined

  constructor(options: DealSourceOptions) {
    this.#options = options
    this.#shortReads = createFairQueue(options.clock)
    this.#longReads = createFairQueue(options.clock)
  }

  /**
   * Return a page without expired products and ended sales. `asOfMs`: time of its oldest product, or of the walk when the page is empty.
   * @throws UnavailableError before the first complete walk with products, when the copy has expired, or when the read misses the visitor's timeout
   */
  async getDeals(request: DealRequest): Promise<Cached<DealPage>> {
    const { clock, config, cache } = this.#options
    const key = JSON.stringify(request.query)
    const cachedDeals = cache.get(key)
    let failure: UnavailableError | undefined
    const pendingResult = this.#find(request, key, cachedDeals).catch((error: unknown) => {
      failure = toUnavailable(error, this.#options)
      throw failure
    })
    // The visitor's timeout applies to a slow database too.
    const found = await tryWithTimeout(clock, config.visitorTimeoutMs, pendingResult)
    if (found !== undefined) return found
    if (cachedDeals !== undefined) return toCached(cachedDeals, this.#options)
    throw failure ?? createTimeoutError(this.#findLastFailure())
  }

  async #find(request: DealRequest, key: string, cachedDeals?: CachedDeals): Promise<Cached<DealPage>> {
    const { cache, store } = this.#options
    const { currentWalk, completedStartedAtMs, hadProducts } = await store.getCopyState(
      request.query.channelId,
    )
    // A catalog that never had products may still be filled.
    if (currentWalk === 0 || completedStartedAtMs === null || !hadProducts)
      throw new UnavailableError('no complete walk of the channel has found products yet')
    if (cachedDeals?.walk === currentWalk && this.#isFresh(cachedDeals))
      return toFresh(cachedDeals, this.#options)
    const read = await this.#runQueued(request, `${key} ${currentWalk}`, async (timeoutMs) => {
      const { page, readAtMs } = await this.#readPage(request.query, timeoutMs)
      const asOfMs = findOldestMs(page.deals, completedStartedAtMs)
      const saleEndMs = findSaleEndMs(page.deals.map(({ offer }) => offer))
      const deals = { page, asOfMs, saleEndMs, readAtMs, walk: currentWalk }
      cache.set(key, deals, JSON.stringify(page.deals).length * 2)
      return deals
    })
    return toFresh(read, this.#options)
  }

  /** Run a read in the visitor's turn. Visitors who wait for the same key share it. */
  async #runQueued(
    { query, ...visitor }: DealRequest,
    key: string,
    read: (timeoutMs: number) => Promise<CachedDeals>,
  ): Promise<CachedDeals> {
    const { clock, config } = this.#options
    const timeoutMs = config.visitorTimeoutMs
    // A long read may use half the time, which leaves time for the next one.
    const { queue, longestMs } = isShortRead(query)
      ? { queue: this.#shortReads, longestMs: timeoutMs }
      : { queue: this.#longReads, longestMs: timeoutMs / 2 }
    try {
      const deals = await queue.run({ visitor: '', ...visitor, timeoutMs, key }, (remainingMs) =>
        read(Math.min(remainingMs, longestMs)),
      )
      this.#lastFailure = undefined
      return deals
    } catch (error) {
      // A failing store also fills or slows the queue: report the store's error as the cause.
      const cause = this.#findLastFailure()
      if (error instanceof UnavailableError) throw cause === undefined ? error : createTimeoutError(cause)
      this.#lastFailure = { error, atMs: clock.nowMs() }
      throw error
    }
  }

  async #readPage(query: DealRequest['query'], timeoutMs: number): Promise<PageRead> {
    const { clock, store } = this.#options
    const readAtMs = clock.nowMs()
    const currency = query.currency ?? (await store.findDealCurrency(query.channelId))
    const found = currency === undefined ? [] : await store.findDeals({ ...query, currency }, timeoutMs)
    const page = { deals: found.slice(0, query.limit - 1), hasNext: found.length === query.limit }
    return { page, readAtMs }
  }

  /** Return the error of the last read, unless it is older than the visitor's timeout. */
  #findLastFailure(): unknown {
    const { clock, config } = this.#options
    const last = this.#lastFailure
    return last !== undefined && clock.nowMs() - last.atMs <= config.visitorTimeoutMs ? last.error : undefined
  }

  #isFresh({ readAtMs, saleEndMs }: CachedDeals): boolean {
    const { clock, config } = this.#options
    const nowMs = clock.nowMs()
    return isWithin(readAtMs, config.freshSeconds * SECOND_MS, nowMs) && (saleEndMs ?? Infinity) > nowMs
  }
}

/** `cause`: why reads fail; `undefined` when they are only slow. */
function createTimeoutError(cause: unknown): UnavailableError {
  return new UnavailableError('the stored copy could not be read in time', { cause })
}

function toUnavailable(error: unknown, { onStoreFailure }: DealSourceOptions): UnavailableError {
  if (error instanceof UnavailableError) return error
  onStoreFailure(error)
  return new UnavailableError('the stored copy cannot be read', { cause: error })
}

/**
 * Remove ended sales and expired products from a page. The page's times tell whether there are any. Valid until a newer walk may be
 * visible, or the status changes.
 */
function toCached(read: CachedDeals, { clock, config }: DealSourceOptions): Cached<DealPage> {
  const nowMs = clock.nowMs()
  const running = read.saleEndMs !== null && read.saleEndMs <= nowMs ? dropEnded(read, nowMs) : read
  const { page, asOfMs } =
    classifyAge(running.asOfMs, nowMs, config) === 'gone' ? dropExpired(running, nowMs, config) : running
  const age = classifyAge(asOfMs, nowMs, config)
  if (age === 'gone') throw new UnavailableError('the stored copy is too old to be shown')
  const status = age === 'fresh' ? 'hit' : age === 'stale' ? 'stale' : 'rescued'
  const validUntilMs = Math.min(nowMs + WALK_VISIBLE_WITHIN_MS, computeStatusEndMs(asOfMs, status, config))
  return { value: page, asOfMs, status, validUntilMs }
}

/** Convert a page that is read again when it is no longer fresh. */
function toFresh(read: CachedDeals, options: DealSourceOptions): Cached<DealPage> {
  const cached = toCached(read, options)
  const readAgainMs = read.readAtMs + options.config.freshSeconds * SECOND_MS
  return { ...cached, validUntilMs: Math.min(cached.validUntilMs, readAgainMs) }
}

function dropEnded(read: CachedDeals, nowMs: number): CachedDeals {
  const deals = read.page.deals.filter(({ offer }) => !isSaleEnded(offer, nowMs))
  return { ...read, page: { ...read.page, deals }, asOfMs: findOldestMs(deals, read.asOfMs) }
}

function dropExpired(read: CachedDeals, nowMs: number, config: FreshnessConfig): CachedDeals {
  const deals = read.page.deals.filter((deal) => classifyAge(deal.asOfMs, nowMs, config) !== 'gone')
  return deals.length === 0
    ? read
    : { ...read, page: { ...read.page, deals }, asOfMs: findOldestMs(deals, read.asOfMs) }
}

/** Return the time of the oldest product, or of the walk when there are no deals. */
function findOldestMs(deals: readonly DealEntry[], walkedAtMs: number): number {
  return deals.length === 0 ? walkedAtMs : Math.min(...deals.map((deal) => deal.asOfMs))
}
