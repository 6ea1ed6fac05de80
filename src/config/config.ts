import type { CacheTagHeader } from '../http/cache-tags.ts'
import type { LogLevel } from '../observability/logger.ts'
import type { PostgresAddress } from './postgres-address.ts'

/** A SQLite file. */
export type SqliteAddress = Readonly<{ kind: 'sqlite'; path: string }>

/** Where data are kept: a file of this machine, or a server that several machines share. */
export type DatabaseAddress = SqliteAddress | PostgresAddress

/** Where the catalog is: the embedded service with its own database, or an address. */
export type CatalogAddress =
  | Readonly<{ kind: 'embedded' }>
  /** `{base_url}` without a slash at its end. */
  | Readonly<{ kind: 'remote'; url: string }>

/** How long an answer lives, in the four ages of product.md section 2. */
export type FreshnessConfig = Readonly<{
  freshSeconds: number
  staleSeconds: number
  rescueSeconds: number
  notFoundSeconds: number
  visitorTimeoutMs: number
  unknownLookupsPerHour: number
}>

/** The disclosure line: the locale's own, none, or the publisher's words. */
export type Disclosure =
  Readonly<{ kind: 'locale' }> | Readonly<{ kind: 'off' }> | Readonly<{ kind: 'text'; text: string }>

/** Every setting, typed once. Secrets are apart, in `Secrets`. */
export type Config = Readonly<{
  catalog: CatalogAddress
  catalogDatabase: DatabaseAddress
  /** Calls a day that the plan allows; `null`: not known, and learned from the first 429. */
  catalogDailyLimit: number | null
  catalogTimeoutMs: number
  catalogMaxBytes: number
  host: string
  port: number
  /** How the outside reaches this server, without a slash at its end; may have a path. `null`: http://HOST:PORT. */
  publicUrl: string | null
  database: DatabaseAddress
  /** Ids of the channels to serve, lower case; `null`: all of the key's. */
  channels: readonly string[] | null
  /** CSP source expressions allowed to frame, beside this server and each channel's own origin. */
  frameAncestors: readonly string[]
  freshness: FreshnessConfig
  priceMaxAgeSeconds: number
  cacheMaxBytes: number
  cacheMaxEntries: number
  /** The header that tells shared caches whose answer it is; `null`: none is sent. */
  cacheTagHeader: CacheTagHeader | null
  /** Cron pattern in UTC; `null`: the catalog is never walked by itself. */
  syncCron: string | null
  /** Processes that answer, at least 1; with more than one a further process keeps them and makes the walks. */
  workers: number
  locale: string
  /** ISO 4217 code for widgets that name none; `null`: the currency most offers have. */
  currency: string | null
  disclosure: Disclosure
  /** Express `trust proxy`. */
  trustProxy: boolean | number | string
  logLevel: LogLevel
}>

/** Does this server serve the channel? */
export function isServed({ channels }: Pick<Config, 'channels'>, channelId: string): boolean {
  return channels === null || channels.includes(channelId)
}
