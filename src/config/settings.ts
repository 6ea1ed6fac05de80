import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../clock.ts'
import { databaseAddress } from './database-address.ts'
import * as readers from './readers.ts'

/** Log levels of pino, from quiet to loud. */
const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Headers that shared caches read tags from, to purge by them. */
const CACHE_TAG_HEADERS = ['Surrogate-Key', 'Cache-Tag', 'Edge-Cache-Tag', 'xkey'] as const
export type CacheTagHeader = (typeof CACHE_TAG_HEADERS)[number]

/** One setting: its reader, what stands when it is not set (as text, read the same way), and what it means. */
export type Setting<T, Fallback extends string | null = string | null> = Readonly<{
  reader: readers.Reader<T>
  /** Text of the default; `null`: none. */
  fallback: Fallback
  meaning: string
}>

/** Largest byte setting, 1 TiB: beyond it a number is a slip of the keyboard. */
const MAX_BYTES: number = 1024 ** 4

/** Longest lifetime, ten years. */
const MAX_SECONDS: number = 3_650 * DAY_SECONDS

/** Most processes that answer: each costs memory of its own, and no machine that this runs on has more cores to spare. */
const MAX_WORKERS = 64

function setting<T, Fallback extends string | null>(
  reader: readers.Reader<T>,
  fallback: Fallback,
  meaning: string,
): Setting<T, Fallback> {
  return { reader, fallback, meaning }
}

function number(min: number, max: number, fallback: number, meaning: string): Setting<number, string> {
  return setting(readers.wholeNumber(min, max), String(fallback), meaning)
}

function seconds(fallbackSeconds: number, meaning: string): Setting<number, string> {
  return number(1, MAX_SECONDS, fallbackSeconds, meaning)
}

/** Every setting by name, in the order of docs/operate/configuration.md. `PORT` stands in for `VITRINE_PORT`. */
export const SETTINGS = {
  VITRINE_CATALOG_URL: setting(
    readers.httpAddress,
    null,
    '`{base_url}` of the catalog; without it the embedded catalog service runs with sample data',
  ),
  VITRINE_CATALOG_KEY: setting(readers.secretText, null, 'the API key of the catalog'),
  VITRINE_CATALOG_KEY_FILE: setting(
    readers.anyText,
    null,
    'a file that holds the API key instead, read again after a 401 and on SIGHUP: keys rotate without a restart',
  ),
  VITRINE_HOST: setting(readers.anyText, '127.0.0.1', 'the address that the server listens on'),
  VITRINE_PORT: setting(
    readers.wholeNumber(0, 65_535),
    '3000',
    'the port that it listens on; 0 takes a free one. `PORT` is honoured when this is not set',
  ),
  VITRINE_PUBLIC_URL: setting(
    readers.httpAddress,
    null,
    'how the outside reaches this server, with its path if it has one; without it `http://HOST:PORT`',
  ),
  VITRINE_DATABASE_URL: setting(
    databaseAddress,
    'sqlite:data/vitrine.db',
    'where the stored copy of the catalog lives, a file or a server that several machines share; a copy belongs to its catalog address',
  ),
  VITRINE_CATALOG_DATABASE_URL: setting(
    databaseAddress,
    'sqlite:data/catalog.db',
    "the embedded catalog service's own data, also of `vitrine catalog …`; several `catalog serve` may share one on a server",
  ),
  VITRINE_CHANNELS: setting(
    readers.uuidList,
    null,
    'comma list of the channel ids to serve; without it all of the key',
  ),
  VITRINE_FRAME_ANCESTORS: setting(
    readers.originList,
    null,
    "origins allowed to frame the embeds, beside each channel's own; `*` allows any, local files too",
  ),
  VITRINE_FRESH_SECONDS: setting(
    readers.wholeNumber(1, 5 * MINUTE_SECONDS),
    String(5 * MINUTE_SECONDS),
    'an answer this young is served as it is',
  ),
  VITRINE_STALE_SECONDS: seconds(
    HOUR_SECONDS,
    'older than fresh, up to this: served at once and refreshed behind, once',
  ),
  VITRINE_RESCUE_SECONDS: seconds(
    7 * DAY_SECONDS,
    "older than stale, up to this: the visitor's call is tried first, the copy served when it fails or is late",
  ),
  VITRINE_VISITOR_TIMEOUT_MS: setting(
    readers.wholeNumber(1, 10_000),
    '800',
    'longest wait of a visitor; the call goes on behind for those who come after',
  ),
  VITRINE_NOT_FOUND_SECONDS: seconds(5 * MINUTE_SECONDS, 'how long "no shop sells it" is remembered'),
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: setting(
    readers.wholeNumber(0, 1_000_000),
    '600',
    'catalog calls an hour for GTINs that the copy does not know, from the first request on',
  ),
  VITRINE_PRICE_MAX_AGE_SECONDS: seconds(
    DAY_SECONDS,
    'an older price is not shown: the link stays and says "see price at shop"',
  ),
  VITRINE_CACHE_MAX_BYTES: number(1, MAX_BYTES, 64 * 1024 ** 2, 'bound of the in-memory caches'),
  VITRINE_CACHE_MAX_ENTRIES: number(1, 100_000_000, 20_000, 'bound of the in-memory caches'),
  VITRINE_CACHE_TAG_HEADER: setting(
    readers.headerName(CACHE_TAG_HEADERS),
    null,
    'the header that tells a shared cache whose answer it is, to purge by channel and by product (docs/operate/cdn.md); without it none is sent',
  ),
  VITRINE_SYNC_CRON: setting(
    readers.cronPattern,
    '7 * * * *',
    'when the whole catalog is walked (UTC), and once at a start without a copy; `off`: never by itself',
  ),
  VITRINE_CATALOG_DAILY_LIMIT: setting(
    readers.wholeNumber(1, 1_000_000_000),
    null,
    "the plan's daily request limit, when known: the walk uses at most 50 % of it, refreshes 40 %, first look-ups the rest; without it the first 429 teaches it",
  ),
  VITRINE_CATALOG_TIMEOUT_MS: setting(
    readers.wholeNumber(1, 600_000),
    '5000',
    'one deadline over connection, headers and body of a catalog call',
  ),
  VITRINE_CATALOG_MAX_BYTES: number(
    1,
    MAX_BYTES,
    8 * 1024 ** 2,
    'limit on one decompressed answer of the catalog',
  ),
  VITRINE_WORKERS: setting(
    readers.workerCount(MAX_WORKERS),
    '1',
    'processes that answer, each with caches of its own (`VITRINE_CACHE_MAX_BYTES` holds for each); `auto` is one a core',
  ),
  VITRINE_LOCALE: setting(readers.localeTag, 'en', 'the language of widgets that name none'),
  VITRINE_CURRENCY: setting(
    readers.currencyCode,
    null,
    'the currency of widgets that name none; without it the one most offers have',
  ),
  VITRINE_DISCLOSURE: setting(
    readers.disclosureLine,
    null,
    'the advertising disclosure line; without it the one of the language; `off` needs to be said',
  ),
  VITRINE_ADMIN_PASSWORD: setting(
    readers.secretText,
    null,
    'HTTP Basic password (user `admin`) of `/studio`, `/metrics` and the detail of `/readyz`',
  ),
  VITRINE_TRUST_PROXY: setting(
    readers.proxyTrust,
    'false',
    'Express `trust proxy` value: the number of proxies in front of the server, or their addresses. `true` believes any address that a visitor puts into `X-Forwarded-For`; the limit of wrong admin passwords then counts the address of the connection',
  ),
  VITRINE_LOG_LEVEL: setting(readers.oneOf(LOG_LEVELS), 'info', 'pino level'),
} satisfies Record<string, Setting<unknown>>

/** The name of a setting. */
export type SettingName = keyof typeof SETTINGS
