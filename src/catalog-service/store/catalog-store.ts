import type { Kysely, Transaction } from 'kysely'
import type { WireChannel, WireProduct } from '../../catalog/contract.ts'
import type { Clock } from '../../clock.ts'
import type { Connection } from '../../database/connection.ts'
import type { VitrineError } from '../../errors.ts'
import type { CatalogTables, UsageTables } from './schema.ts'

/** `dailyLimit`: requests per UTC day; `null`: no limit. */
export type Organization = Readonly<{ id: string; dailyLimit: number | null }>

/** The sender of a request. `keyId` is `null` for the internal key, which is not stored. */
export type Caller = Readonly<{ organization: Organization; keyId: string | null }>

/** A channel as a request names it; `channelId` is in lower case and not validated. */
export type ChannelQuery = Readonly<{ organizationId: string; channelId: string }>

export type PageQuery = ChannelQuery & Readonly<{ afterGtin: string; limit: number }>

/** `changesAtMs`: when a sale of the product begins or ends next, Unix milliseconds; `null` without one. */
export type VisibleProduct = Readonly<{ product: WireProduct; changesAtMs: number | null }>

export type ProductPage = Readonly<{
  items: readonly WireProduct[]
  lastGtin: string | null
  changesAtMs: number | null
}>

/**
 * What opens the catalog. `command`: it may run long statements, and fails at once when the database is unavailable. `embedded`: a
 * service that shares its process. `standalone`: a service with its own process, which keeps running without its database server.
 */
export type CatalogRole = 'command' | 'embedded' | 'standalone'

export const CATALOG_LOCKED =
  'another import is running, or another command that writes the catalog. Nothing was changed; try again when it has finished'

/** `isOneShot`: `work` cannot be repeated and may write most of the catalog, as an import does. */
export type WriteOptions = Readonly<{ isOneShot?: boolean }>

/** The catalog's data (ADR 0023). Nothing is cached between requests: a commit is visible to the next request anywhere. */
export type CatalogStore = Readonly<{
  clock: Clock
  /** Read the last committed state, also while an import runs. */
  read<T>(work: (reader: Kysely<CatalogTables>) => Promise<T>): Promise<T>
  /** Run `work` as the only writer; repeat it after a conflict. @throws StoreError when another process writes for some seconds. */
  write<T>(work: (transaction: Transaction<CatalogTables>) => Promise<T>, options?: WriteOptions): Promise<T>
  /** Request counts, key uses and leases of feeds. Separate from the catalog, which an import locks for minutes. */
  usage: Connection<UsageTables>
  /** Why the database cannot be used now; `undefined` when it can. */
  problem: VitrineError | undefined
  findCaller(key: string): Promise<Caller | undefined>
  findDefaultCaller(): Promise<Caller | undefined>
  fetchChannels(organizationId: string): Promise<readonly WireChannel[]>
  /** Find a product by its 14 digits: `null` when the channel does not show it, `undefined` for an unknown channel. */
  findProduct(channel: ChannelQuery, gtin: string): Promise<VisibleProduct | null | undefined>
  /** Return a page of the channel's products, ordered by GTIN; `undefined` for an unknown channel. */
  fetchPage(query: PageQuery): Promise<ProductPage | undefined>
  /** Count one request today (UTC); `false` when the limit is reached. @throws StoreError when it cannot write. */
  countRequest(organization: Organization): Promise<boolean>
  /** Record the last use of a key, to the minute. A failed write is ignored: a use at least a minute later retries. */
  recordKeyUse(keyId: string): void
  close(): Promise<void>
}>
