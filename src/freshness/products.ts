import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Product } from '../catalog/contract.ts'
import type { Drops } from '../catalog/parse.ts'
import { type Clock, SECOND_MS, isNewer, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { CallNotMadeError, CatalogInvalidError, CatalogStatusError, UnavailableError } from '../errors.ts'
import { isCheckDigitRight } from '../offers/gtin.ts'
import { type CacheStatus, type Cached, judgeAge } from './age.ts'
import type { ChannelSource } from './channels.ts'
import type { Claims, Fetched } from './claims.ts'
import type { Failures } from './failures.ts'
import type { LookupWrites } from './lookup-writes.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { computePatienceMs, readInTime, waitInTime } from '../lib/in-time.ts'
import type { Memory } from '../lib/lru-cache.ts'

/** A product as the table "When the catalog is called" (product.md, section 2) gives it to a visitor. */
export type ProductSource = Readonly<{
  /**
   * The product; `value: null` when no shop sells it. `patientUntilMs`: Unix milliseconds at which the visitor has
   * waited long enough, for what came before too; by default `VITRINE_VISITOR_TIMEOUT_MS` from now.
   * @throws UnavailableError when nothing is known and the catalog cannot say in time.
   */
  getProduct(channelId: string, gtin: string, patientUntilMs?: number): Promise<Cached<Product | null>>
}>

/** What a product source is made of. */
export type ProductSourceDetails = Readonly<{
  client: CatalogClient
  gate: CallGate
  store: Pick<CopyStore, 'findProduct' | 'getCopyState'>
  writes: LookupWrites
  claims: Claims
  channels: ChannelSource
  memory: Memory<CopyEntry>
  failures: Failures
  clock: Clock
  config: FreshnessConfig
  /** Two walks lie at most this far apart; `null` when none runs by itself. */
  walkPeriodMs: number | null
  onStoreFailure(error: unknown): void
  onDrops(drops: Drops, channelId: string): void
}>

type Wanted = Readonly<{ channelId: string; gtin: string; key: string; patientUntilMs: number }>

/** Makes the one way to a product: memory, then the stored copy, then the catalog. */
export function createProductSource(details: ProductSourceDetails): ProductSource {
  const { clock, config } = details
  const refresher = createRefresher(details)

  const getKnown = async (wanted: Wanted, entry: CopyEntry): Promise<Cached<Product | null> | undefined> => {
    switch (judgeAge(entry.asOfMs, clock.nowMs(), config)) {
      case 'fresh':
        return toCurrent(details, { entry, status: 'hit' })
      case 'stale':
        refresher.refreshBehind(wanted)
        return toCached(entry, 'stale')
      case 'rescue':
      case 'unknown': {
        const fresh = await refresher.fetchInTime(wanted, 'refresh')
        return fresh === undefined
          ? toCached(entry, 'rescued')
          : toCurrent(details, { entry: fresh, status: 'miss' })
      }
      default:
        return undefined
    }
  }

  /** A copy that could not be read says nothing about what it lacks. */
  const getUnknown = async (wanted: Wanted, found: Found): Promise<Cached<Product | null>> => {
    const walkedAtMs = found.isCopyRead ? await findCompleteWalkTime(details, wanted) : undefined
    if (walkedAtMs !== undefined) return toCached({ product: null, asOfMs: walkedAtMs }, 'hit')
    if (!isCheckDigitRight(wanted.gtin)) return toCached({ product: null, asOfMs: clock.nowMs() }, 'hit')
    const entry = await refresher.fetchInTime(wanted, 'lookup')
    if (entry === undefined)
      throw new UnavailableError('nothing is known of the product and the catalog gave no answer', {
        cause: found.failure,
      })
    return toCurrent(details, { entry, status: 'miss' })
  }

  return {
    async getProduct(channelId, gtin, patientUntilMs = clock.nowMs() + config.visitorTimeoutMs) {
      const wanted = { channelId, gtin, key: [channelId, gtin].join(' '), patientUntilMs }
      const found = await findEntry(details, wanted)
      const { entry } = found
      if (entry?.product === null) {
        const isRemembered = isWithin(entry.asOfMs, config.notFoundSeconds * SECOND_MS, clock.nowMs())
        return isRemembered ? toCurrent(details, { entry, status: 'hit' }) : getUnknown(wanted, found)
      }
      return (entry && (await getKnown(wanted, entry))) ?? getUnknown(wanted, found)
    },
  }
}

type Purpose = 'refresh' | 'lookup'

type Refresher = Readonly<{
  /** Starts a refresh that nobody waits for, unless one is under way, a failure is remembered, or calls are paused. */
  refreshBehind(wanted: Wanted): void
  /** The answer within the visitor's patience; `undefined` when it failed, is late, or no call may be made. */
  fetchInTime(wanted: Wanted, purpose: Purpose): Promise<CopyEntry | undefined>
}>

function createRefresher(details: ProductSourceDetails): Refresher {
  const flights = createSingleFlight<CopyEntry>()
  const ask = async (wanted: Wanted, purpose: Purpose): Promise<CopyEntry> => {
    const entry = await details.claims(wanted, () => lookUp(details, wanted, purpose))
    // What another process has found is not in memory yet.
    if (details.memory.get(wanted.key)?.asOfMs !== entry.asOfMs) remember(details, wanted, entry)
    return entry
  }
  const refresh = (wanted: Wanted, purpose: Purpose): Promise<CopyEntry> =>
    flights.run(wanted.key, () => ask(wanted, purpose))
  const mayCall = (wanted: Wanted, purpose: Purpose): boolean =>
    flights.has(wanted.key) || (!details.failures.isRemembered(wanted.key) && details.gate.isOpen(purpose))
  return {
    refreshBehind(wanted) {
      if (mayCall(wanted, 'refresh')) refresh(wanted, 'refresh').catch(() => {})
    },
    async fetchInTime(wanted, purpose) {
      if (!mayCall(wanted, purpose)) return undefined
      const patienceMs = computePatienceMs(details, wanted.patientUntilMs, 0)
      return waitInTime(details.clock, patienceMs, refresh(wanted, purpose))
    },
  }
}

/** An answer that the next request may not have without a look at its age. */
function toCached(entry: CopyEntry, status: CacheStatus): Cached<Product | null> {
  return { value: entry.product, asOfMs: entry.asOfMs, status, currentUntilMs: 0 }
}

/** An answer that is current as long as it is fresh. */
function toCurrent(
  { config }: ProductSourceDetails,
  { entry, status }: Readonly<{ entry: CopyEntry; status: CacheStatus }>,
): Cached<Product | null> {
  const { freshSeconds, notFoundSeconds } = config
  const seconds = entry.product === null ? Math.min(freshSeconds, notFoundSeconds) : freshSeconds
  return { ...toCached(entry, status), currentUntilMs: entry.asOfMs + seconds * SECOND_MS }
}

type Found = Readonly<{ entry: CopyEntry | undefined; isCopyRead: boolean; failure?: unknown }>

/** The newest of memory and copy. The copy is asked only when memory is not fresh: another process may have looked up. */
async function findEntry(details: ProductSourceDetails, wanted: Wanted): Promise<Found> {
  const { memory, clock, config } = details
  const remembered = memory.get(wanted.key) ?? details.writes.find(wanted.channelId, wanted.gtin)
  if (remembered !== undefined && judgeAge(remembered.asOfMs, clock.nowMs(), config) === 'fresh')
    return { entry: remembered, isCopyRead: true }
  let isCopyRead = false
  const read = async (): Promise<CopyEntry | undefined> => {
    const found = await details.store.findProduct(wanted.channelId, wanted.gtin)
    isCopyRead = true
    return found
  }
  let failure: unknown
  const reading = read().catch((error: unknown) => {
    failure = error
    details.onStoreFailure(error)
  })
  const stored = (await readInTime(details, wanted.patientUntilMs, reading)) ?? undefined
  if (stored === undefined) return { entry: remembered, isCopyRead, failure }
  if (remembered !== undefined && !isNewer(stored.asOfMs, remembered.asOfMs, clock.nowMs()))
    return { entry: remembered, isCopyRead, failure }
  remember(details, wanted, stored)
  return { entry: stored, isCopyRead }
}

/** Keep an entry in memory. Return the bytes that were counted for it. */
function remember(details: ProductSourceDetails, wanted: Wanted, entry: CopyEntry): number {
  const bytes = estimateBytes(entry.product)
  details.memory.set(wanted.key, entry, bytes)
  return bytes
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

/** When the channel was last walked whole, if that is recent enough to believe that the copy knows every product. */
export async function findCompleteWalkTime(
  details: Pick<ProductSourceDetails, 'walkPeriodMs' | 'clock' | 'config'> &
    Readonly<{ store: Pick<CopyStore, 'getCopyState'> }>,
  { channelId, patientUntilMs }: Pick<Wanted, 'channelId' | 'patientUntilMs'>,
): Promise<number | undefined> {
  if (details.walkPeriodMs === null) return undefined
  const state = await readInTime(details, patientUntilMs, details.store.getCopyState(channelId))
  const startedAtMs = state?.completedStartedAtMs ?? null
  if (state === undefined || startedAtMs === null || state.completedAtMs === null) return undefined
  const isRecent = isWithin(state.completedAtMs, 2 * details.walkPeriodMs, details.clock.nowMs())
  return isRecent ? startedAtMs : undefined
}

async function lookUp(details: ProductSourceDetails, wanted: Wanted, purpose: Purpose): Promise<Fetched> {
  const { client, failures } = details
  try {
    const { value, asOfMs } = await client.findProduct({
      channelId: wanted.channelId,
      gtin: wanted.gtin,
      purpose,
    })
    if (value === undefined && !(await details.channels.isListed(wanted.channelId))) {
      throw new CatalogStatusError('404 for a product of a channel that is not listed', 404)
    }
    if (value !== undefined) await takeDrops(details, wanted, value)
    const entry: CopyEntry = { product: value ?? null, asOfMs }
    // An answer that is no longer fresh, from a cache on the way, would be asked for again by every visitor.
    if (judgeAge(asOfMs, details.clock.nowMs(), details.config) === 'fresh') failures.forget(wanted.key)
    else failures.remember(wanted.key, undefined)
    return keep(details, wanted, entry)
  } catch (error) {
    if (!(error instanceof CallNotMadeError)) failures.remember(wanted.key, error)
    throw error
  }
}

/**
 * Count what was left out of a look-up's answer.
 * @throws CatalogInvalidError when every offer was malformed and others are known that may still be shown.
 */
async function takeDrops(
  details: ProductSourceDetails,
  wanted: Wanted,
  { drops, offers }: Product,
): Promise<void> {
  // A product that the catalog lists without any offer has lost them, which is believed.
  if (drops === undefined) return
  details.onDrops(drops, wanted.channelId)
  if (offers.length > 0) return
  const { memory, store, clock, config } = details
  const stored = memory.get(wanted.key) ?? store.findProduct(wanted.channelId, wanted.gtin)
  const known = await Promise.resolve(stored).catch(() => undefined)
  if (known === undefined || judgeAge(known.asOfMs, clock.nowMs(), config) === 'gone') return
  if ((known.product?.offers.length ?? 0) > 0)
    throw new CatalogInvalidError('every offer of the product is malformed; the offers known before stay')
}

/** Keep what the catalog said in memory and in the copy. Visitors do not wait for the copy. */
function keep(details: ProductSourceDetails, wanted: Wanted, entry: CopyEntry): Fetched {
  const before = details.memory.get(wanted.key)
  const brand = entry.product?.brand ?? before?.product?.brand ?? null
  const kept = entry.product === null ? entry : { ...entry, product: { ...entry.product, brand } }
  const bytes = remember(details, wanted, kept)
  const lookup = { channelId: wanted.channelId, gtin: wanted.gtin, entry: kept }
  return { entry: kept, written: details.writes.put(lookup, bytes) }
}
