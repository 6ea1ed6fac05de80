import type { Kysely, Transaction } from 'kysely'
import type { WireChannel, WireProduct } from '../../catalog/contract.ts'
import type { Clock } from '../../clock.ts'
import type { VitrineError } from '../../errors.ts'
import type { Organization } from './organizations.ts'
import type { CatalogTables, UsageTables } from './schema.ts'

/**
 * What the catalog service asks of its database, whichever that is (docs/adr/0024). A file answers at once, on the calling
 * thread; a server answers later: what answers requests takes either.
 */

/** A value, now or later. */
export type Awaitable<T> = T | Promise<T>

/** Who asks. `keyId` is `null` for the key of this process, which is in no table. */
export type Caller = Readonly<{
  organization: Organization
  keyId: string | null
  /** The state of the catalog in which the key was found, where the database has to be told; else `''`. */
  state: string
}>

/** A channel as a caller names it; `channelId` is in lower case, and may be any text. */
export type ChannelPlace = Readonly<{ organizationId: string; channelId: string }>

/** Which page: `limit` products after `afterGtin` (`''`: from the start). */
export type PageQuery = Readonly<{ afterGtin: string; limit: number }>

/** `lastGtin` is where the next page starts after; `null` on the last page. */
export type ProductPage = Readonly<{ items: readonly WireProduct[]; lastGtin: string | null }>

/**
 * What answers requests. All of it sees what was committed before it was asked, by whichever process, and each answer is of
 * one state. @throws StoreError when the database cannot be read.
 */
export type CatalogReads = Readonly<{
  /** Whose valid key this is; `hash` is the key's. */
  findKeyHolder(key: string, hash: string): Awaitable<Caller | undefined>
  /** The oldest organization, for the key of this process. */
  findFirstCaller(): Awaitable<Caller | undefined>
  /** The channels of an organization, oldest first. */
  fetchChannels(organizationId: string): Awaitable<readonly WireChannel[]>
  /** A product of 14 digits; `null` where the channel shows none, `undefined` where the organization has no such channel. */
  findProduct(place: ChannelPlace, gtin: string): Awaitable<WireProduct | null | undefined>
  /** A page of what the channel shows, by GTIN; `undefined` where the organization has no such channel. */
  fetchPage(place: ChannelPlace, query: PageQuery): Awaitable<ProductPage | undefined>
}>

/** `full`: the daily limit is reached. `stale`: the catalog has changed since the caller was found; look again. */
export type CountAnswer = 'counted' | 'full' | 'stale'

/** Counts requests. */
export type UsageCounter = Readonly<{
  /**
   * Counts one request of an organization on the current UTC day, unless the daily limit is reached: processes that share
   * the database never let one too many through. Requests of one moment are written together.
   * @throws StoreError when the database cannot be written.
   */
  count(caller: Caller): Promise<CountAnswer>
  /** Notes that a key was used, to the minute. A note that cannot be written is tried again a minute later. */
  noteKey(keyId: string): void
}>

/** How a transaction of the catalog is made. */
export type WriteOptions = Readonly<{
  /** An import: `work` cannot be done twice, and may write much of the catalog. */
  isOnce?: boolean
}>

/** The catalog's databases. Whoever opened the store closes it. */
export type CatalogStore = Readonly<{
  /** For lists; sees the last committed state, also while an import runs. */
  reader: Kysely<CatalogTables>
  /**
   * The one way to change the catalog: a transaction, one at a time over all processes. All of it happens, or nothing when
   * `work` throws. `work` may be called again when another one stood in its way.
   * @throws StoreError when another one writes for longer than a few seconds.
   */
  write<T>(work: (transaction: Transaction<CatalogTables>) => Promise<T>, options?: WriteOptions): Promise<T>
  /** Requests and uses of keys: beside the catalog, because an import holds that for minutes. */
  usage: Kysely<UsageTables>
  /** What answers requests; each one keeps what it needs of the catalog at hand. */
  openReads(): CatalogReads
  /** The counter of one process. */
  openUsageCounter(): UsageCounter
  clock: Clock
  /** Why a store that goes on without its server could not be opened; it tries again by itself. */
  failure?: VitrineError
  close(): Promise<void>
}>
