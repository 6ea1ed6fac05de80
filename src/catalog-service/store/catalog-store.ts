import type { Kysely, Transaction } from 'kysely'
import type { WireChannel, WireProduct } from '../../catalog/contract.ts'
import type { Clock } from '../../clock.ts'
import type { VitrineError } from '../../errors.ts'
import type { CatalogTables, UsageTables } from './schema.ts'

/** Whose key it is, and how many requests a UTC day its plan allows (`null`: no limit). */
export type Organization = Readonly<{ id: string; dailyLimit: number | null }>

/** The sender of a request. `keyId` is `null` for the key of this process, which is in no table. */
export type Caller = Readonly<{ organization: Organization; keyId: string | null }>

/** A channel as a request names it; `channelId` is in lower case, and may be any text. */
export type ChannelQuery = Readonly<{ organizationId: string; channelId: string }>

export type PageQuery = ChannelQuery & Readonly<{ afterGtin: string; limit: number }>

/** `lastGtin` is where the next page starts after; `null` on the last page. */
export type ProductPage = Readonly<{ items: readonly WireProduct[]; lastGtin: string | null }>

/**
 * Who opens the catalog. `command`: it does one thing, which may take long, and fails at once when the database is
 * unavailable. `embedded`: a service beside others in one process. `standalone`: a service that has its process to itself, and
 * goes on when the database is unavailable.
 */
export type CatalogRole = 'command' | 'embedded' | 'standalone'

/** Why a command cannot write the catalog while another process does. */
export const CATALOG_LOCKED =
  'another import is running, or another command: only one can write the catalog at a time. Nothing was changed; try again when it has ended'

/** `isOnce`: `work` cannot be repeated, and may write much of the catalog, as an import does. */
export type WriteOptions = Readonly<{ isOneShot?: boolean }>

/** The connections to one catalog, with what differs between SQLite and PostgreSQL. */
export type CatalogDatabase = Readonly<{
  /** Sees the last committed state, also while an import runs. */
  reader: Kysely<CatalogTables>
  /** Requests and uses of keys: beside the catalog, because an import locks that for minutes. */
  usage: Kysely<UsageTables>
  /**
   * Change the catalog in one transaction, one at a time over all processes. `work` may be called again after a conflict.
   * @throws StoreError when another process writes for longer than a few seconds.
   */
  write<T>(work: (transaction: Transaction<CatalogTables>) => Promise<T>, options?: WriteOptions): Promise<T>
  /** Run statements that a request waits for. @throws StoreError when the database is unavailable. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** The same in a transaction, whose statements all see one state of the catalog. */
  runInSnapshot<T>(work: (transaction: Transaction<CatalogTables>) => Promise<T>): Promise<T>
  /** Why the database could not be opened; it is opened as soon as it is available. */
  openError?: VitrineError
  close(): Promise<void>
}>

/**
 * The catalog's data (ADR 0023). Nothing that a request needs is kept between requests: what one process has committed
 * holds for the next request to any other.
 */
export type CatalogStore = Pick<CatalogDatabase, 'reader' | 'usage' | 'write' | 'openError' | 'close'> &
  Readonly<{
    clock: Clock
    findCaller(key: string): Promise<Caller | undefined>
    findDefaultCaller(): Promise<Caller | undefined>
    fetchChannels(organizationId: string): Promise<readonly WireChannel[]>
    /** Find a product of 14 digits: `null` where the channel shows none, `undefined` for an unknown channel. */
    findProduct(channel: ChannelQuery, gtin: string): Promise<WireProduct | null | undefined>
    /** Return a page of what the channel shows, ordered by GTIN; `undefined` for an unknown channel. */
    fetchPage(query: PageQuery): Promise<ProductPage | undefined>
    /**
     * Count one request on the current UTC day. Return `false` when the daily limit is reached: processes that share the
     * database never let one too many through.
     * @throws StoreError when the database cannot be written.
     */
    countRequest(organization: Organization): Promise<boolean>
    /** Note that a key was used, to the minute. A note that cannot be written is tried again a minute later. */
    recordKeyUse(keyId: string): void
  }>
