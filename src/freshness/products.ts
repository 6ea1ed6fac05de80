import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Product } from '../catalog/contract.ts'
import type { DropCounts } from '../catalog/parse.ts'
import { type Clock, SECOND_MS, computeNextMidnightUtcMs, isNewer, isWithin } from '../clock.ts'
import type { Config, FreshnessConfig } from '../config/config.ts'
import { CatalogInvalidError, CatalogStatusError, UnavailableError } from '../errors.ts'
import { computeRemainingWaitMs, tryReadBeforeDeadline, tryWithTimeout } from '../lib/with-timeout.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import { isCheckDigitValid } from '../offers/gtin.ts'
import type { CopyEntry, CopyState, CopyStore } from '../storage/store.ts'
import {
  BLOCKED_VALID_MS,
  type CacheStatus,
  type Cached,
  WALK_VISIBLE_WITHIN_MS,
  classifyAge,
  computeStatusEndMs,
} from './age.ts'
import type { ChannelSource } from './channels.ts'
import type { FetchedProduct, Lookups } from './lookups.ts'
import type { NegativeCache } from './negative-cache.ts'

export type ProductSourceOptions = Readonly<{
  client: CatalogClient
  callPolicy: CallPolicy
  store: Pick<CopyStore, 'findProduct' | 'findMalformedEntry' | 'getCopyState'>
  lookups: Lookups
  channels: ChannelSource
  cache: LruCache<CopyEntry>
  failures: NegativeCache
  clock: Clock
  config: FreshnessConfig
  findWalkPeriodMs: Config['findWalkPeriodMs']
  /** Whether this server runs the catalog, whose feeds may not be imported yet. */
  isCatalogEmbedded: boolean
  onStoreFailure(error: unknown): void
  onDrops(drops: DropCounts, channelId: string): void
}>

/** `isCopyEmpty`: see `Completeness`. */
type ProductRequest = Readonly<{
  channelId: string
  gtin: string
  key: string
  deadlineMs: number
  isCopyEmpty?: boolean
}>
type Purpose = 'refresh' | 'lookup'
/** `isCopyRead`: only then does a missing `entry` mean that the copy lacks the product. */
type FoundEntry = Readonly<{ entry: CopyEntry | undefined; isCopyRead: boolean; failure?: unknown }>

/** Finds a product in memory, then in the stored copy, then in the catalog. */
export class ProductSource {
  readonly #options: ProductSourceOptions
  readonly #flights = createSingleFlight<CopyEntry>()

  constructor(options: ProductSourceOptions) {
    this.#options = options
  }

  /**
   * Return the product; `value` is `null` when no shop sells it. `deadlineMs`: Unix milliseconds, for the whole request.
   * @throws UnavailableError when nothing is known and the catalog does not respond in time
   */
  async getProduct(channelId: string, gtin: string, deadlineMs: number): Promise<Cached<Product | null>> {
    const request = { channelId, gtin, key: [channelId, gtin].join(' '), deadlineMs }
    const found = await this.#findEntry(request)
    const { entry } = found
    if (entry?.product === null) {
      const { clock, config } = this.#options
      const isNotFoundCached = isWithin(entry.asOfMs, config.notFoundSeconds * SECOND_MS, clock.nowMs())
      return isNotFoundCached ? this.#toCurrent(entry, 'hit') : this.#getUnknown(request, found)
    }
    return (entry && (await this.#getKnown(request, entry))) ?? this.#getUnknown(request, found)
  }

  async #getKnown(request: ProductRequest, entry: CopyEntry): Promise<Cached<Product | null> | undefined> {
    switch (this.#classifyAge(entry)) {
      case 'fresh':
        return this.#toCurrent(entry, 'hit')
      case 'stale':
        if (this.#canCall(request, 'refresh')) this.#refresh(request, 'refresh').catch(() => {})
        return this.#toOld(request, entry, 'stale')
      case 'rescue':
      case 'unknown': {
        const fresh = await this.#fetchInTime(request, 'refresh')
        return fresh === undefined ? this.#toOld(request, entry, 'rescued') : this.#toCurrent(fresh, 'miss')
      }
      default:
        return undefined
    }
  }

  async #getUnknown(
    request: ProductRequest,
    { entry: known, isCopyRead, failure }: FoundEntry,
  ): Promise<Cached<Product | null>> {
    const { walkedAtMs, isEmpty, hasMalformed } = isCopyRead
      ? await readCompleteness(this.#options, request)
      : toUnknownCompleteness(this.#options)
    if (walkedAtMs !== undefined)
      return {
        ...this.#toMissing(walkedAtMs, 'hit'),
        value: hasMalformed ? await this.#findMalformed(request) : null,
      }
    if (!isCheckDigitValid(request.gtin)) return this.#toMissing(this.#options.clock.nowMs(), 'hit')
    const entry = await this.#fetchInTime({ ...request, isCopyEmpty: isEmpty }, 'lookup')
    if (entry !== undefined) return this.#toCurrent(entry, 'miss')
    throw new UnavailableError(
      'the product is not in the stored copy, and no catalog response is available',
      { cause: failure, isUnread: !isCopyRead && known === undefined },
    )
  }

  /** Return what a walk dropped because its entry is malformed, without offers; `null`: no shop sells the product. */
  async #findMalformed({ channelId, gtin, deadlineMs }: ProductRequest): Promise<Product | null> {
    const { store, onStoreFailure } = this.#options
    const read = store.findMalformedEntry(channelId, gtin).catch(onStoreFailure)
    const problem = await tryReadBeforeDeadline(this.#options, deadlineMs, read)
    return problem === undefined ? null : { gtin, title: '', brand: null, images: [], offers: [], problem }
  }

  /**
   * Find the newest entry. The copy is read when memory is not fresh, because another process may have fetched the product, and when
   * no shop sells it, because a walk may have found it since.
   */
  async #findEntry(request: ProductRequest): Promise<FoundEntry> {
    const { cache, lookups, store, clock, onStoreFailure } = this.#options
    const cachedEntry = cache.get(request.key) ?? lookups.findPending(request)
    const isSold = cachedEntry !== undefined && cachedEntry.product !== null
    if (isSold && this.#classifyAge(cachedEntry) === 'fresh') return { entry: cachedEntry, isCopyRead: true }
    let isCopyRead = false
    let failure: unknown
    const read = async (): Promise<CopyEntry | undefined> => {
      try {
        const entry = await store.findProduct(request.channelId, request.gtin)
        isCopyRead = true
        return entry
      } catch (error) {
        failure = error
        onStoreFailure(error)
        return undefined
      }
    }
    const stored = await tryReadBeforeDeadline(this.#options, request.deadlineMs, read())
    const isStoredNewer =
      stored !== undefined && (cachedEntry === undefined || isReplacement(stored, cachedEntry, clock.nowMs()))
    if (isStoredNewer) this.#cacheEntry(request, stored)
    return { entry: isStoredNewer ? stored : cachedEntry, isCopyRead, failure }
  }

  /** Fetch before the visitor's deadline; `undefined` when the call fails, is late or is not allowed. */
  async #fetchInTime(request: ProductRequest, purpose: Purpose): Promise<CopyEntry | undefined> {
    if (!this.#canCall(request, purpose)) return undefined
    const timeoutMs = computeRemainingWaitMs(this.#options, request.deadlineMs, 0)
    return tryWithTimeout(this.#options.clock, timeoutMs, this.#refresh(request, purpose))
  }

  #canCall({ key }: ProductRequest, purpose: Purpose): boolean {
    const { failures, callPolicy } = this.#options
    return this.#flights.has(key) || (!failures.has(key) && callPolicy.canCall(purpose))
  }

  #refresh(request: ProductRequest, purpose: Purpose): Promise<CopyEntry> {
    const { lookups, cache } = this.#options
    return this.#flights.run(request.key, async () => {
      const entry = await lookups.run(request, () => this.#lookUp(request, purpose))
      // An entry that another process fetched is not in memory yet.
      if (cache.get(request.key)?.asOfMs !== entry.asOfMs) this.#cacheEntry(request, entry)
      return entry
    })
  }

  async #lookUp(request: ProductRequest, purpose: Purpose): Promise<FetchedProduct> {
    const { client, channels, failures, onDrops } = this.#options
    const { channelId, gtin, key } = request
    try {
      const { value, asOfMs } = await client.fetchProduct({ channelId, gtin, purpose })
      if (value === undefined && request.isCopyEmpty === true)
        throw new CatalogInvalidError('the catalog returned 404, but no product of the channel is known yet')
      if (value === undefined && !(await channels.isListed(channelId)))
        throw new CatalogStatusError(
          'the catalog returned 404 for a product of a channel that it does not list',
          404,
        )
      if (value?.drops !== undefined) {
        onDrops(value.drops, channelId)
        await this.#checkMalformed(request, value)
      }
      const entry = this.#keepBrand(request, { product: value ?? null, asOfMs })
      // A CDN may return an entry that is already old: do not fetch it again for every visitor.
      if (this.#classifyAge(entry) === 'fresh') failures.delete(key)
      else failures.add(key, undefined)
      return { entry, bytes: this.#cacheEntry(request, entry) }
    } catch (error) {
      failures.add(key, error)
      throw error
    }
  }

  /** @throws CatalogInvalidError when every offer is malformed, but the offers known before may still be shown */
  async #checkMalformed(request: ProductRequest, { offers }: Product): Promise<void> {
    if (offers.length > 0) return
    const { cache, store } = this.#options
    const stored = cache.get(request.key) ?? store.findProduct(request.channelId, request.gtin)
    const knownEntry = await Promise.resolve(stored).catch(() => undefined)
    if (knownEntry === undefined || this.#classifyAge(knownEntry) === 'gone') return
    if ((knownEntry.product?.offers.length ?? 0) > 0)
      throw new CatalogInvalidError('every offer of the product is malformed; the previous offers are kept')
  }

  /** Keep the brand of a walk: a look-up may lack it. */
  #keepBrand({ key }: ProductRequest, entry: CopyEntry): CopyEntry {
    const { product } = entry
    if (product === null || product.brand !== null) return entry
    return { ...entry, product: { ...product, brand: this.#options.cache.get(key)?.product?.brand ?? null } }
  }

  /** Cache the entry and return its estimated bytes. */
  #cacheEntry({ key }: ProductRequest, entry: CopyEntry): number {
    const bytes = estimateBytes(entry.product)
    this.#options.cache.set(key, entry, bytes)
    return bytes
  }

  /** Convert an entry that stays valid while it is fresh. */
  #toCurrent({ product, asOfMs }: CopyEntry, status: CacheStatus): Cached<Product | null> {
    const { config } = this.#options
    if (product !== null)
      return { value: product, asOfMs, status, validUntilMs: computeStatusEndMs(asOfMs, status, config) }
    const cached = this.#toMissing(asOfMs, status)
    const notFoundUntilMs = asOfMs + config.notFoundSeconds * SECOND_MS
    return { ...cached, validUntilMs: Math.min(cached.validUntilMs, notFoundUntilMs) }
  }

  /** Convert an old entry. It is reused only while no call may replace it: the next request must show the result of a call. */
  #toOld(
    request: ProductRequest,
    { product, asOfMs }: CopyEntry,
    status: 'stale' | 'rescued',
  ): Cached<Product | null> {
    const cached = { value: product, asOfMs, status }
    if (this.#canCall(request, 'refresh')) return { ...cached, validUntilMs: 0 }
    const { clock, config, failures, callPolicy } = this.#options
    const nowMs = clock.nowMs()
    const { quota, keyRefusedUntilMs } = callPolicy.getLocalState()
    // Shares of the daily limit are renewed at midnight.
    const blocksEndMs = [
      failures.getEndMs(request.key),
      quota.limitedUntilMs,
      keyRefusedUntilMs,
      computeNextMidnightUtcMs(nowMs),
    ].filter((endMs) => endMs > nowMs)
    const statusEndMs = computeStatusEndMs(asOfMs, status, config)
    return { ...cached, validUntilMs: Math.min(nowMs + BLOCKED_VALID_MS, statusEndMs, ...blocksEndMs) }
  }

  /** Return that no shop sells the product, until a newer walk may have found it. */
  #toMissing(asOfMs: number, status: CacheStatus): Cached<Product | null> {
    const validUntilMs = this.#options.clock.nowMs() + WALK_VISIBLE_WITHIN_MS
    return { value: null, asOfMs, status, validUntilMs }
  }

  #classifyAge({ asOfMs }: CopyEntry): ReturnType<typeof classifyAge> {
    return classifyAge(asOfMs, this.#options.clock.nowMs(), this.#options.config)
  }
}

/** Whether an entry of the copy replaces the cached one. As in the copy, a product is preferred to a 404 of the same time. */
export function isReplacement(stored: CopyEntry, cached: CopyEntry, nowMs: number): boolean {
  return cached.product === null
    ? !isNewer(cached.asOfMs, stored.asOfMs, nowMs)
    : isNewer(stored.asOfMs, cached.asOfMs, nowMs)
}

/** Estimated memory of a product or offer without its texts. */
const OBJECT_BYTES = 200

/** Estimate the memory of a product without serializing it. */
function estimateBytes(product: Product | null): number {
  if (product === null) return 0
  const texts = [product.title, product.brand ?? '', ...product.images]
  let bytes = OBJECT_BYTES
  for (const text of texts) bytes += text.length * 2
  for (const { merchant, affiliateUrl } of product.offers)
    bytes += OBJECT_BYTES + (merchant.length + affiliateUrl.length) * 2
  return bytes
}

/**
 * What it means that the copy of a channel lacks a product. `walkedAtMs`: no shop sells it, according to the walk of that time;
 * `undefined`: the last complete walk is older than two walk periods, or none has found products yet, so the copy may lack some.
 * `isEmpty`: there never was a product, not even in the walk in progress, so the catalog may still be filled and a 404 proves nothing.
 * While the copy cannot be read, that may be so if this server fills the catalog. `hasMalformed`: the walk dropped malformed products.
 */
export type Completeness = Readonly<{
  walkedAtMs: number | undefined
  isEmpty: boolean
  hasMalformed: boolean
}>

type CompletenessRules = Pick<ProductSourceOptions, 'findWalkPeriodMs' | 'isCatalogEmbedded'>

function toUnknownCompleteness({ findWalkPeriodMs, isCatalogEmbedded }: CompletenessRules): Completeness {
  return {
    walkedAtMs: undefined,
    isEmpty: isCatalogEmbedded && findWalkPeriodMs !== null,
    hasMalformed: false,
  }
}

export async function readCompleteness(
  options: CompletenessRules &
    Pick<ProductSourceOptions, 'clock' | 'config'> &
    Readonly<{ store: Pick<CopyStore, 'getCopyState'> }>,
  { channelId, deadlineMs }: Pick<ProductRequest, 'channelId' | 'deadlineMs'>,
): Promise<Completeness> {
  if (options.findWalkPeriodMs === null) return toUnknownCompleteness(options)
  const state = await tryReadBeforeDeadline(options, deadlineMs, options.store.getCopyState(channelId))
  if (state === undefined) return toUnknownCompleteness(options)
  // Before the first walk, nothing suggests that the catalog of another server is empty.
  const isDoubtful = options.isCatalogEmbedded || state.currentWalk > 0 || state.isRunning
  return {
    walkedAtMs: findRecentWalk(options, state),
    isEmpty: isDoubtful && !state.hadProducts && !state.hasProducts,
    hasMalformed: (state.drops.product ?? 0) > 0,
  }
}

function findRecentWalk(
  { findWalkPeriodMs, clock }: Pick<ProductSourceOptions, 'findWalkPeriodMs' | 'clock'>,
  { completedAtMs, completedStartedAtMs, hadProducts }: CopyState,
): number | undefined {
  if (completedAtMs === null || completedStartedAtMs === null || !hadProducts) return undefined
  const periodMs = findWalkPeriodMs?.(completedAtMs) ?? null
  const isRecent = periodMs !== null && isWithin(completedAtMs, 2 * periodMs, clock.nowMs())
  return isRecent ? completedStartedAtMs : undefined
}
