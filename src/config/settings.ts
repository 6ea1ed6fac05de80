import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../clock.ts'
import { databaseAddressParser } from './database-address.ts'
import * as parsers from './parsers.ts'

/** Log levels of pino, from quiet to loud. */
const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Headers from which shared caches read purge tags. */
const CACHE_TAG_HEADERS = ['Surrogate-Key', 'Cache-Tag', 'Edge-Cache-Tag', 'xkey'] as const
export type CacheTagHeader = (typeof CACHE_TAG_HEADERS)[number]

/** Where browsers load product pictures from: the hosts of the shops, or this server. */
const PICTURE_MODES = ['direct', 'proxy'] as const
export type PictureMode = (typeof PICTURE_MODES)[number]

/** Where links lead: to the shop, or through this server, which counts them. */
const LINK_MODES = ['direct', 'counted'] as const

/** A smaller folder would have space for only a few originals. */
const MIN_PICTURES_BYTES: number = 16 * 1024 ** 2

/** One setting: its reader, its default as text (read the same way), and its meaning for the documentation. */
export type Setting<T, Fallback extends string | null = string | null> = Readonly<{
  parser: parsers.ValueParser<T>
  /** Default as text; `null`: none. */
  defaultText: Fallback
  description: string
}>

/** Largest byte setting, 1 TiB: a larger number is a typing error. */
const MAX_BYTES: number = 1024 ** 4

/** Longest lifetime, ten years. */
const MAX_SECONDS: number = 3_650 * DAY_SECONDS

/** Maximum number of workers: each one needs its own memory. */
const MAX_WORKERS = 64

function defineSetting<T, Fallback extends string | null>(
  parser: parsers.ValueParser<T>,
  defaultText: Fallback,
  description: string,
): Setting<T, Fallback> {
  return { parser, defaultText, description }
}

function defineNumber(
  min: number,
  max: number,
  defaultNumber: number,
  description: string,
): Setting<number, string> {
  return defineSetting(parsers.wholeNumber(min, max), String(defaultNumber), description)
}

function defineSeconds(defaultSeconds: number, description: string): Setting<number, string> {
  return defineNumber(1, MAX_SECONDS, defaultSeconds, description)
}

/** Every setting by name, in the order of docs/operate/configuration.md. `PORT` is used if `VITRINE_PORT` is not set. */
export const SETTINGS = {
  VITRINE_CATALOG_URL: defineSetting(
    parsers.httpAddress,
    null,
    'base URL of the catalog; if not set, the embedded catalog service runs with sample data',
  ),
  VITRINE_CATALOG_KEY: defineSetting(parsers.secretText, null, 'API key of the catalog'),
  VITRINE_CATALOG_KEY_FILE: defineSetting(
    parsers.anyText,
    null,
    'file with the API key; read again after a 401 and on SIGHUP, so that a new key needs no restart',
  ),
  VITRINE_HOST: defineSetting(parsers.listenHost, '127.0.0.1', 'address to listen on'),
  VITRINE_PORT: defineSetting(
    parsers.wholeNumber(0, 65_535),
    '3000',
    'port to listen on; 0 chooses a free one; if not set, `PORT` is used',
  ),
  VITRINE_PUBLIC_URL: defineSetting(
    parsers.httpAddress,
    null,
    'public address of this server, with its path if it has one; default: `http://HOST:PORT`',
  ),
  VITRINE_DATABASE_URL: defineSetting(
    databaseAddressParser,
    'sqlite:data/vitrine.db',
    'database of the stored copy; it has a separate copy for each catalog address',
  ),
  VITRINE_CATALOG_DATABASE_URL: defineSetting(
    databaseAddressParser,
    'sqlite:data/catalog.db',
    'database of the embedded catalog service and of `vitrine catalog …`; several catalog services can share one on PostgreSQL',
  ),
  VITRINE_CHANNELS: defineSetting(
    parsers.uuidList,
    null,
    'ids of the channels to serve; default: all channels of the key',
  ),
  VITRINE_FRAME_ANCESTORS: defineSetting(
    parsers.originList,
    null,
    'origins that may frame the embeds, in addition to the address of each channel; `*` allows all, including local files',
  ),
  VITRINE_FRESH_SECONDS: defineSetting(
    parsers.wholeNumber(1, 5 * MINUTE_SECONDS),
    String(5 * MINUTE_SECONDS),
    'maximum age of fresh data, which is served without a catalog call',
  ),
  VITRINE_STALE_SECONDS: defineSeconds(
    HOUR_SECONDS,
    'maximum age of stale data, which is served at once and refreshed in the background',
  ),
  VITRINE_RESCUE_SECONDS: defineSeconds(
    7 * DAY_SECONDS,
    'maximum age of older data, which is served if the catalog call fails or takes too long',
  ),
  VITRINE_VISITOR_TIMEOUT_MS: defineSetting(
    parsers.wholeNumber(1, 10_000),
    '800',
    'maximum time that a visitor waits; the catalog call continues in the background',
  ),
  VITRINE_NOT_FOUND_SECONDS: defineSeconds(
    5 * MINUTE_SECONDS,
    'how long a 404 of the catalog for a product is cached',
  ),
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: defineSetting(
    parsers.wholeNumber(0, 1_000_000),
    '600',
    'maximum catalog calls an hour for products that are not in the stored copy',
  ),
  VITRINE_PRICE_MAX_AGE_SECONDS: defineSeconds(
    DAY_SECONDS,
    'maximum age of a price; afterwards the link says "See price at shop"',
  ),
  VITRINE_HISTORY_DAYS: defineNumber(0, 3_650, 400, 'days of observed prices that are kept; `0`: none'),
  VITRINE_CACHE_MAX_BYTES: defineNumber(
    1,
    MAX_BYTES,
    64 * 1024 ** 2,
    'maximum size of the in-memory caches of a process',
  ),
  VITRINE_CACHE_MAX_ENTRIES: defineNumber(
    1,
    100_000_000,
    20_000,
    'maximum number of entries in the in-memory caches of a process',
  ),
  VITRINE_CACHE_TAG_HEADER: defineSetting(
    parsers.headerName(CACHE_TAG_HEADERS),
    null,
    'response header with tags by which a shared cache can purge (docs/operate/cdn.md); default: no header',
  ),
  VITRINE_SYNC_CRON: defineSetting(
    parsers.cronPattern,
    '7 * * * *',
    'when to walk the whole catalog (UTC); a start without a stored copy also walks; `off`: only `vitrine sync` walks',
  ),
  VITRINE_CATALOG_DAILY_LIMIT: defineSetting(
    parsers.wholeNumber(1, 1_000_000_000),
    null,
    'daily request limit of the plan: walks use at most 50 %, refreshes 40 %, first look-ups the rest; if not set, it is learned from the first 429',
  ),
  VITRINE_CATALOG_TIMEOUT_MS: defineSetting(
    parsers.wholeNumber(1, 600_000),
    '5000',
    'maximum time of a catalog call: connection, headers and body',
  ),
  VITRINE_CATALOG_MAX_BYTES: defineNumber(
    1,
    MAX_BYTES,
    8 * 1024 ** 2,
    'maximum size of a catalog response after decompression',
  ),
  VITRINE_WORKERS: defineSetting(
    parsers.workerCount(MAX_WORKERS),
    '1',
    'number of processes that serve requests, each with its own caches; `auto`: one for each CPU core',
  ),
  VITRINE_LOCALE: defineSetting(parsers.localeTag, 'en', 'language of widgets without a `locale` option'),
  VITRINE_CURRENCY: defineSetting(
    parsers.currencyCode,
    null,
    'currency of widgets without a `currency` option; default: the currency of most offers',
  ),
  VITRINE_DISCLOSURE: defineSetting(
    parsers.disclosureLine,
    null,
    'advertising disclosure; default: the text of the language; `off`: none',
  ),
  VITRINE_PICTURES: defineSetting(
    parsers.oneOf(PICTURE_MODES),
    'direct',
    '`direct`: pictures load from the hosts of the shops; `proxy`: this server fetches, resizes and serves them (docs/operate/pictures.md)',
  ),
  VITRINE_PICTURES_MAX_BYTES: defineNumber(
    MIN_PICTURES_BYTES,
    MAX_BYTES,
    1024 ** 3,
    'maximum size of the folder with the pictures of `VITRINE_PICTURES=proxy`',
  ),
  VITRINE_ADMIN_PASSWORD: defineSetting(
    parsers.secretText,
    null,
    'HTTP Basic password (user `admin`) of `/studio`, `/metrics` and the detail of `/readyz`',
  ),
  VITRINE_TRUST_PROXY: defineSetting(
    parsers.proxyTrust,
    'false',
    'number of reverse proxies, or their addresses (`trust proxy` of Express); `true` also trusts forged `X-Forwarded-For` headers, so wrong admin passwords are then counted by connection address',
  ),
  VITRINE_TIME_ZONE: defineSetting(
    parsers.timeZone,
    'UTC',
    'time zone of the times in widgets, such as `Europe/Berlin`',
  ),
  VITRINE_SHOPS_FILE: defineSetting(
    parsers.anyText,
    null,
    'JSON file with display names, aliases, logos and terms of shops (docs/publish/shops.md); read at the start',
  ),
  VITRINE_LINKS: defineSetting(
    parsers.oneOf(LINK_MODES),
    'direct',
    '`direct`: links lead to the shops; `counted`: they lead through `/go/` on this server, which counts them per day, merchant and placement, without anything about the visitor; links then need this server',
  ),
  VITRINE_SUB_IDS_FILE: defineSetting(
    parsers.anyText,
    null,
    "JSON file that says where a placement's sub-id goes in each network's links (docs/publish/sub-ids.md); read at the start",
  ),
  VITRINE_EVENTS_URL: defineSetting(
    parsers.secretAddress,
    null,
    'address of a webhook that gets an event when a product, shop or feed goes (docs/operate/events.md)',
  ),
  VITRINE_EVENTS_SECRET: defineSetting(
    parsers.signingSecret,
    null,
    'key of the signature of events; required with `VITRINE_EVENTS_URL`',
  ),
  VITRINE_JSON: defineSetting(
    parsers.oneOf(['off', 'on']),
    'off',
    '`on`: opens the JSON addresses `/data/…` (docs/publish/data.md)',
  ),
  VITRINE_MAIL_NETWORKS: defineSetting(
    parsers.nameList,
    null,
    'affiliate networks, as named in the catalog, whose links may stand in newsletters; opens the addresses `/mail/…` (docs/publish/newsletters.md)',
  ),
  VITRINE_LOG_LEVEL: defineSetting(parsers.oneOf(LOG_LEVELS), 'info', 'minimum level of log lines'),
} satisfies Record<string, Setting<unknown>>

/** The name of a setting. */
export type SettingName = keyof typeof SETTINGS
