import { type Clock, SECOND_MS, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import { UnavailableError } from '../errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { type CopyStore, type DealEntry, type DealQuery, isShortRead } from '../storage/store.ts'
import { type Cached, classifyAge } from './age.ts'

/** A page of deals. `hasNext`: there are more behind it. */
export type DealPage = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean }>

/**
 * Which deals: `query` without a currency asks for the one that most deals have, and its `limit` is one more than shown.
 * `visitor`: who waits for them, such as an address.
 */
export type DealRequest = Readonly<{
  visitor?: string
  query: Omit<DealQuery, 'currency'> & Readonly<{ currency: string | null }>
}>

type DealSourceDetails = Readonly<{
  store: Pick<CopyStore, 'getCopyState' | 'findDeals' | 'findDealCurrency'>
  cache: LruCache<CachedDeals>
  clock: Clock
  config: FreshnessConfig
  onStoreFailure(error: unknown): void
}>

/** How soon a finished walk, also of another process, shows in grids. */
const WALK_VISIBLE_WITHIN_MS: number = SECOND_MS

/** A page in memory, as it was read from the copy at `readAtMs`: for one walk of the copy, for as long as an answer is fresh. */
export type CachedDeals = Readonly<{ page: DealPage; asOfMs: number; readAtMs: number; walk: number }>

type PageRead = Pick<CachedDeals, 'page' | 'readAtMs'>

/** The one way to deals: memory, then the stored copy. The catalog is never called for them. A failing store leaves what is in memory. */
export class DealSource {
  readonly #details: DealSourceDetails
  readonly #flights = createSingleFlight<CachedDeals>()
  /** Two queues: a read that goes through all deals delays no ordinary one. */
  readonly #shortReads: ReturnType<typeof createFairQueue>
  readonly #longReads: ReturnType<typeof createFairQueue>
  #lastFailure: Readonly<{ error: unknown; atMs: number }> | undefined

  constructor(details: DealSourceDetails) {
    this.#details = details
    this.#shortReads = createFairQueue(details.clock)
    this.#longReads = createFairQueue(details.clock)
  }

  /**
   * Return the wanted page. `asOfMs` is the age of the oldest product on it, or of the walk when it is empty. Products that are
   * too old to be shown are left out.
   * @throws UnavailableError before the first complete walk, when the copy is older than it may be shown, and when the page
   * cannot be read within the time that a visitor waits.
   */
  async getDeals(request: DealRequest): Promise<Cached<DealPage>> {
    const { clock, config, cache } = this.#details
    const key = JSON.stringify(request.query)
    const cachedDeals = cache.get(key)
    let failure: UnavailableError | undefined
    const pendingResult = this.#find(request, key, cachedDeals).catch((error: unknown) => {
      failure = toUnavailable(error, this.#details)
      throw failure
    })
    // A database that is slow is waited for no longer than a catalog that is.
    const found = await tryWithTimeout(clock, config.visitorTimeoutMs, pendingResult)
    if (found !== undefined) return found
    if (cachedDeals !== undefined) return toCached(cachedDeals, this.#details)
    throw failure ?? createTimeoutError(this.#findLastFailure())
  }

  async #find(request: DealRequest, key: string, cachedDeals?: CachedDeals): Promise<Cached<DealPage>> {
    const { cache, store } = this.#details
    const { currentWalk, completedStartedAtMs } = await store.getCopyState(request.query.channelId)
    if (currentWalk === 0 || completedStartedAtMs === null)
      throw new UnavailableError('the catalog was not walked yet')
    if (cachedDeals?.walk === currentWalk && this.#isFresh(cachedDeals))
      return withValidity(cachedDeals, this.#details)
    const read = await this.#flights.run(`${key} ${currentWalk}`, async () => {
      const { page, readAtMs } = await this.#readQueued(request)
      const asOfMs = findOldestMs(page.deals, completedStartedAtMs)
      const deals = { page, asOfMs, readAtMs, walk: currentWalk }
      cache.set(key, deals, JSON.stringify(page.deals).length * 2)
      return deals
    })
    return withValidity(read, this.#details)
  }

  async #readQueued({ query, visitor = '' }: DealRequest): Promise<PageRead> {
    const { clock, config } = this.#details
    const withinMs = config.visitorTimeoutMs
    // A long read leaves time for the next one.
    const { queue, longestMs } = isShortRead(query)
      ? { queue: this.#shortReads, longestMs: withinMs }
      : { queue: this.#longReads, longestMs: withinMs / 2 }
    try {
      const read = await queue.run({ visitor, withinMs }, (remainingMs) =>
        this.#readPage(query, Math.min(remainingMs, longestMs)),
      )
      this.#lastFailure = undefined
      return read
    } catch (error) {
      // A store that fails makes the queue full or slow.
      const cause = this.#findLastFailure()
      if (error instanceof UnavailableError) throw cause === undefined ? error : createTimeoutError(cause)
      this.#lastFailure = { error, atMs: clock.nowMs() }
      throw error
    }
  }

  async #readPage(query: DealRequest['query'], withinMs: number): Promise<PageRead> {
    const { clock, store } = this.#details
    const readAtMs = clock.nowMs()
    const currency = query.currency ?? (await store.findDealCurrency(query.channelId))
    const found = currency === undefined ? [] : await store.findDeals({ ...query, currency }, withinMs)
    const page = { deals: found.slice(0, query.limit - 1), hasNext: found.length === query.limit }
    return { page, readAtMs }
  }

  /** Return why the last read failed; `undefined` where none did, or longer ago than a visitor waits. */
  #findLastFailure(): unknown {
    const { clock, config } = this.#details
    const last = this.#lastFailure
    return last !== undefined && clock.nowMs() - last.atMs <= config.visitorTimeoutMs ? last.error : undefined
  }

  #isFresh({ readAtMs }: CachedDeals): boolean {
    const { clock, config } = this.#details
    return isWithin(readAtMs, config.freshSeconds * SECOND_MS, clock.nowMs())
  }
}

/** `cause`: why reads fail; `undefined` where they are only slow. */
function createTimeoutError(cause: unknown): UnavailableError {
  return new UnavailableError('the stored copy was not read in time', { cause })
}

function toUnavailable(error: unknown, { onStoreFailure }: DealSourceDetails): UnavailableError {
  if (error instanceof UnavailableError) return error
  onStoreFailure(error)
  return new UnavailableError('the stored copy cannot be read', { cause: error })
}

/** What may still be shown. One product that is too old costs its card, not the grid; a visit to a warm page looks at none. */
function toCached(read: CachedDeals, { clock, config }: DealSourceDetails): Cached<DealPage> {
  const nowMs = clock.nowMs()
  const { page, asOfMs } =
    classifyAge(read.asOfMs, nowMs, config) === 'gone' ? dropExpired(read, nowMs, config) : read
  const age = classifyAge(asOfMs, nowMs, config)
  if (age === 'gone') throw new UnavailableError('the copy is older than it may be shown')
  const status = age === 'fresh' ? 'hit' : age === 'stale' ? 'stale' : 'rescued'
  return { value: page, asOfMs, status, validUntilMs: 0 }
}

/** A page is of one walk. It is current until another process can have made a newer one, or it becomes older or shorter. */
function withValidity(read: CachedDeals, details: DealSourceDetails): Cached<DealPage> {
  const cached = toCached(read, details)
  if (cached.status === 'rescued') return cached
  const freshMs = details.config.freshSeconds * SECOND_MS
  const untilOlderMs = cached.status === 'hit' ? freshMs : details.config.staleSeconds * SECOND_MS + 1
  const walkVisibleUntilMs = details.clock.nowMs() + WALK_VISIBLE_WITHIN_MS
  const validUntilMs = Math.min(walkVisibleUntilMs, read.readAtMs + freshMs, read.asOfMs + untilOlderMs)
  return { ...cached, validUntilMs }
}

function dropExpired(read: CachedDeals, nowMs: number, config: FreshnessConfig): CachedDeals {
  const deals = read.page.deals.filter((deal) => classifyAge(deal.asOfMs, nowMs, config) !== 'gone')
  return deals.length === 0
    ? read
    : { ...read, page: { ...read.page, deals }, asOfMs: findOldestMs(deals, read.asOfMs) }
}

/** The age of a page: that of its oldest product, or of the walk when it is empty. */
function findOldestMs(deals: readonly DealEntry[], walkedAtMs: number): number {
  return deals.length === 0 ? walkedAtMs : Math.min(...deals.map((deal) => deal.asOfMs))
}
