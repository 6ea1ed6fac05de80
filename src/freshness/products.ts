import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Product } from '../catalog/contract.ts'
import type { Drops } from '../catalog/parse.ts'
import { type Clock, SECOND_MS, isNewer, isWithin } from '../clock.ts'
import type { Config, FreshnessConfig } from '../config/config.ts'
import { CatalogInvalidError, CatalogStatusError, UnavailableError } from '../errors.ts'
import { computePatienceMs, readInTime, waitInTime } from '../lib/in-time.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { isCheckDigitRight } from '../offers/gtin.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { type CacheStatus, type Cached, judgeAge } from './age.ts'
import type { ChannelSource } from './channels.ts'
import type { Fetched, Lookups } from './lookups.ts'
import type { NegativeCache } from './negative-cache.ts'

/** What a product source is made of. */
export type ProductSourceDetails = Readonly<{
  client: CatalogClient
  gate: CallGate
  store: Pick<CopyStore, 'findProduct' | 'getCopyState'>
  lookups: Lookups
  channels: ChannelSource
  memory: LruCache<CopyEntry>
  failures: NegativeCache
  clock: Clock
  config: FreshnessConfig
  findWalkPeriodMs: Config['findWalkPeriodMs']
  onStoreFailure(error: unknown): void
  onDrops(drops: Drops, channelId: string): void
}>

type Wanted = Readonly<{ channelId: string; gtin: string; key: string; patientUntilMs: number }>
type Purpose = 'refresh' | 'lookup'
/** `isCopyRead`: a copy that could not be read says nothing about what it lacks. */
type Found = Readonly<{ entry: CopyEntry | undefined; isCopyRead: boolean; failure?: unknown }>

/** The one way to a product: memory, then the stored copy, then the catalog (product.md, section 2). */
export class ProductSource {
  readonly #details: ProductSourceDetails
  readonly #flights = createSingleFlight<CopyEntry>()

  constructor(details: ProductSourceDetails) {
    this.#details = details
  }

  /**
   * Return the product; `value: null` when no shop sells it. `patientUntilMs`: Unix milliseconds at which the visitor has
   * waited long enough, for what came before too.
   * @throws UnavailableError when nothing is known and the catalog cannot say in time.
   */
  async getProduct(channelId: string, gtin: string, patientUntilMs: number): Promise<Cached<Product | null>> {
    const wanted = { channelId, gtin, key: [channelId, gtin].join(' '), patientUntilMs }
    const found = await this.#findEntry(wanted)
    const { entry } = found
    if (entry?.product === null) {
      const { clock, config } = this.#details
      const isRemembered = isWithin(entry.asOfMs, config.notFoundSeconds * SECOND_MS, clock.nowMs())
      return isRemembered ? this.#toCurrent(entry, 'hit') : this.#getUnknown(wanted, found)
    }
    return (entry && (await this.#getKnown(wanted, entry))) ?? this.#getUnknown(wanted, found)
  }

  async #getKnown(wanted: Wanted, entry: CopyEntry): Promise<Cached<Product | null> | undefined> {
    switch (this.#judgeAge(entry)) {
      case 'fresh':
        return this.#toCurrent(entry, 'hit')
      case 'stale':
        if (this.#mayCall(wanted, 'refresh')) this.#refresh(wanted, 'refresh').catch(() => {})
        return toCached(entry, 'stale')
      case 'rescue':
      case 'unknown': {
        const fresh = await this.#fetchInTime(wanted, 'refresh')
        return fresh === undefined ? toCached(entry, 'rescued') : this.#toCurrent(fresh, 'miss')
      }
      default:
        return undefined
    }
  }

  async #getUnknown(wanted: Wanted, { isCopyRead, failure }: Found): Promise<Cached<Product | null>> {
    const walkedAtMs = isCopyRead ? await findCompleteWalkTime(this.#details, wanted) : undefined
    if (walkedAtMs !== undefined) return toCached({ product: null, asOfMs: walkedAtMs }, 'hit')
    if (!isCheckDigitRight(wanted.gtin))
      return toCached({ product: null, asOfMs: this.#details.clock.nowMs() }, 'hit')
    const entry = await this.#fetchInTime(wanted, 'lookup')
    if (entry !== undefined) return this.#toCurrent(entry, 'miss')
    throw new UnavailableError('nothing is known of the product and the catalog gave no answer', {
      cause: failure,
    })
  }

  /** The newest of memory and copy. The copy is asked only when memory is not fresh: another process may have looked up. */
  async #findEntry(wanted: Wanted): Promise<Found> {
    const { memory, lookups, store, clock, onStoreFailure } = this.#details
    const remembered = memory.get(wanted.key) ?? lookups.findUnwritten(wanted)
    if (remembered !== undefined && this.#judgeAge(remembered) === 'fresh')
      return { entry: remembered, isCopyRead: true }
    let isCopyRead = false
    let failure: unknown
    const read = async (): Promise<CopyEntry | undefined> => {
      try {
        const entry = await store.findProduct(wanted.channelId, wanted.gtin)
        isCopyRead = true
        return entry
      } catch (error) {
        failure = error
        onStoreFailure(error)
        return undefined
      }
    }
    const stored = await readInTime(this.#details, wanted.patientUntilMs, read())
    const isStoredNewer =
      stored !== undefined &&
      (remembered === undefined || isNewer(stored.asOfMs, remembered.asOfMs, clock.nowMs()))
    if (isStoredNewer) this.#remember(wanted, stored)
    return { entry: isStoredNewer ? stored : remembered, isCopyRead, failure }
  }

  /** The answer within the visitor's patience; `undefined` when it failed, is late, or no call may be made. */
  async #fetchInTime(wanted: Wanted, purpose: Purpose): Promise<CopyEntry | undefined> {
    if (!this.#mayCall(wanted, purpose)) return undefined
    const patienceMs = computePatienceMs(this.#details, wanted.patientUntilMs, 0)
    return waitInTime(this.#details.clock, patienceMs, this.#refresh(wanted, purpose))
  }

  #mayCall({ key }: Wanted, purpose: Purpose): boolean {
    const { failures, gate } = this.#details
    return this.#flights.has(key) || (!failures.has(key) && gate.isOpen(purpose))
  }

  #refresh(wanted: Wanted, purpose: Purpose): Promise<CopyEntry> {
    const { lookups, memory } = this.#details
    return this.#flights.run(wanted.key, async () => {
      const entry = await lookups.run(wanted, () => this.#lookUp(wanted, purpose))
      // What another process has found is not in memory yet.
      if (memory.get(wanted.key)?.asOfMs !== entry.asOfMs) this.#remember(wanted, entry)
      return entry
    })
  }

  async #lookUp(wanted: Wanted, purpose: Purpose): Promise<Fetched> {
    const { client, channels, failures, onDrops } = this.#details
    const { channelId, gtin, key } = wanted
    try {
      const { value, asOfMs } = await client.findProduct({ channelId, gtin, purpose })
      if (value === undefined && !(await channels.isListed(channelId)))
        throw new CatalogStatusError('404 for a product of a channel that is not listed', 404)
      if (value?.drops !== undefined) {
        onDrops(value.drops, channelId)
        await this.#refuseMalformed(wanted, value)
      }
      const entry = this.#keepBrand(wanted, { product: value ?? null, asOfMs })
      // An answer that is no longer fresh, from a cache on the way, would be asked for again by every visitor.
      if (this.#judgeAge(entry) === 'fresh') failures.delete(key)
      else failures.add(key, undefined)
      return { entry, bytes: this.#remember(wanted, entry) }
    } catch (error) {
      failures.add(key, error)
      throw error
    }
  }

  /**
   * Judge a product with malformed offers. One that the catalog lists without any offer has lost them, which is believed.
   * @throws CatalogInvalidError when every offer was malformed and others are known that may still be shown.
   */
  async #refuseMalformed(wanted: Wanted, { offers }: Product): Promise<void> {
    if (offers.length > 0) return
    const { memory, store } = this.#details
    const stored = memory.get(wanted.key) ?? store.findProduct(wanted.channelId, wanted.gtin)
    const known = await Promise.resolve(stored).catch(() => undefined)
    if (known === undefined || this.#judgeAge(known) === 'gone') return
    if ((known.product?.offers.length ?? 0) > 0)
      throw new CatalogInvalidError('every offer of the product is malformed; the offers known before stay')
  }

  /** A look-up may lack the brand that a page of a walk has named. */
  #keepBrand({ key }: Wanted, entry: CopyEntry): CopyEntry {
    const { product } = entry
    if (product === null || product.brand !== null) return entry
    return { ...entry, product: { ...product, brand: this.#details.memory.get(key)?.product?.brand ?? null } }
  }

  /** Return the bytes that are counted for it. */
  #remember({ key }: Wanted, entry: CopyEntry): number {
    const bytes = estimateBytes(entry.product)
    this.#details.memory.set(key, entry, bytes)
    return bytes
  }

  /** An answer that is current as long as it is fresh. */
  #toCurrent(entry: CopyEntry, status: CacheStatus): Cached<Product | null> {
    const { freshSeconds, notFoundSeconds } = this.#details.config
    const seconds = entry.product === null ? Math.min(freshSeconds, notFoundSeconds) : freshSeconds
    return { ...toCached(entry, status), currentUntilMs: entry.asOfMs + seconds * SECOND_MS }
  }

  #judgeAge({ asOfMs }: CopyEntry): ReturnType<typeof judgeAge> {
    return judgeAge(asOfMs, this.#details.clock.nowMs(), this.#details.config)
  }
}

/** An answer that the next request may not have without a look at its age. */
function toCached({ product, asOfMs }: CopyEntry, status: CacheStatus): Cached<Product | null> {
  return { value: product, asOfMs, status, currentUntilMs: 0 }
}

/** Memory of an object beside its texts, and of an offer. */
const OBJECT_BYTES = 200

/** Estimate the memory of a product without writing it out. */
function estimateBytes(product: Product | null): number {
  if (product === null) return 0
  const texts = [product.title, product.brand ?? '', ...product.images]
  let bytes = OBJECT_BYTES
  for (const text of texts) bytes += text.length * 2
  for (const { merchant, affiliateUrl } of product.offers)
    bytes += OBJECT_BYTES + (merchant.length + affiliateUrl.length) * 2
  return bytes
}

/** When the channel was last walked whole, if that is recent enough, by the schedule of then, to believe that the copy knows all. */
export async function findCompleteWalkTime(
  details: Pick<ProductSourceDetails, 'findWalkPeriodMs' | 'clock' | 'config'> &
    Readonly<{ store: Pick<CopyStore, 'getCopyState'> }>,
  { channelId, patientUntilMs }: Pick<Wanted, 'channelId' | 'patientUntilMs'>,
): Promise<number | undefined> {
  if (details.findWalkPeriodMs === null) return undefined
  const state = await readInTime(details, patientUntilMs, details.store.getCopyState(channelId))
  const startedAtMs = state?.completedStartedAtMs ?? null
  if (state === undefined || startedAtMs === null || state.completedAtMs === null) return undefined
  const periodMs = details.findWalkPeriodMs(state.completedAtMs)
  const isRecent = periodMs !== null && isWithin(state.completedAtMs, 2 * periodMs, details.clock.nowMs())
  return isRecent ? startedAtMs : undefined
}
