import { ConfigError } from '../errors.ts'
import type { Config } from './config.ts'
import type { Reader } from './readers.ts'
import { Secret, type Secrets } from './secrets.ts'
import { SETTINGS, type Setting, type SettingName } from './settings.ts'

/** Names and texts, as an environment gives them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Names that Kubernetes makes for services called `vitrine` or `vitrine-…`: they are no settings. */
const KUBERNETES_NAME =
  /^VITRINE_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** What Kubernetes writes into `VITRINE_PORT` and `VITRINE_…_PORT`. */
const KUBERNETES_PORT_VALUE = /^(?:tcp|udp|sctp):\/\//

/** Stands in for `VITRINE_PORT` where that is not set: hosting platforms give it. */
const PORT_NAME = 'PORT'

type Values = { [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T | null : never }

/**
 * Reads every `VITRINE_` setting once. An empty text counts as not set.
 * @throws ConfigError that lists every unknown, missing or malformed name, and never a value.
 */
export function parseConfig(environment: Environment): Readonly<{ config: Config; secrets: Secrets }> {
  const given = collectGiven(environment)
  const problems = [...given.keys()]
    .filter((name) => name !== PORT_NAME && !Object.hasOwn(SETTINGS, name))
    .map((name) => `${name}: there is no such setting (docs/configuration.md lists them)`)
  const values = readValues(given, problems)
  checkPartners(values, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return { config: toConfig(values), secrets: toSecrets(values) }
}

function collectGiven(environment: Environment): Map<string, string> {
  const given = new Map<string, string>()
  for (const [name, text] of Object.entries(environment)) {
    if (name.startsWith('VITRINE_') && text !== undefined && text !== '' && !isFromKubernetes(name, text))
      given.set(name, text)
  }
  const port = environment[PORT_NAME]
  if (!given.has('VITRINE_PORT') && port !== undefined && port !== '') given.set(PORT_NAME, port)
  return given
}

function isFromKubernetes(name: string, text: string): boolean {
  return KUBERNETES_NAME.test(name) || (name.endsWith('_PORT') && KUBERNETES_PORT_VALUE.test(text))
}

function readValues(given: ReadonlyMap<string, string>, problems: string[]): Values {
  const entries = Object.entries(SETTINGS).map(([name, setting]: [string, Setting<unknown>]) => {
    const givenName = name === 'VITRINE_PORT' && given.has(PORT_NAME) ? PORT_NAME : name
    const text = given.get(givenName) ?? setting.fallback
    if (text === null) return [name, null]
    const value = setting.reader.read(text)
    if (value === undefined) problems.push(`${givenName}: ${explain(setting.reader, text)}`)
    return [name, value]
  })
  return Object.fromEntries(entries) as Values
}

function explain(reader: Reader<unknown>, text: string): string {
  const fault = reader.explain?.(text)
  return `${fault === undefined ? '' : `${fault}; `}expected ${reader.expects}`
}

function checkPartners(values: Values, problems: string[]): void {
  const hasKey = values.VITRINE_CATALOG_KEY !== null || values.VITRINE_CATALOG_KEY_FILE !== null
  if (values.VITRINE_CATALOG_URL !== null && !hasKey) {
    problems.push('VITRINE_CATALOG_URL: needs VITRINE_CATALOG_KEY or VITRINE_CATALOG_KEY_FILE beside it')
  }
  if (values.VITRINE_CATALOG_URL === null && hasKey) {
    problems.push('VITRINE_CATALOG_KEY, VITRINE_CATALOG_KEY_FILE: need VITRINE_CATALOG_URL beside them')
  }
  if (values.VITRINE_CATALOG_KEY !== null && values.VITRINE_CATALOG_KEY_FILE !== null) {
    problems.push('VITRINE_CATALOG_KEY, VITRINE_CATALOG_KEY_FILE: only one of the two can be set')
  }
}

function toConfig(values: Values): Config {
  const url = values.VITRINE_CATALOG_URL
  return Object.freeze({
    catalog: url === null ? ({ kind: 'embedded' } as const) : ({ kind: 'remote', url } as const),
    catalogDatabase: required(values.VITRINE_CATALOG_DATABASE_URL),
    catalogDailyLimit: values.VITRINE_CATALOG_DAILY_LIMIT,
    catalogTimeoutMs: required(values.VITRINE_CATALOG_TIMEOUT_MS),
    catalogMaxBytes: required(values.VITRINE_CATALOG_MAX_BYTES),
    host: required(values.VITRINE_HOST),
    port: required(values.VITRINE_PORT),
    publicUrl: values.VITRINE_PUBLIC_URL,
    database: required(values.VITRINE_DATABASE_URL),
    channels: values.VITRINE_CHANNELS,
    frameAncestors: values.VITRINE_FRAME_ANCESTORS ?? [],
    freshness: Object.freeze({
      freshSeconds: required(values.VITRINE_FRESH_SECONDS),
      staleSeconds: required(values.VITRINE_STALE_SECONDS),
      rescueSeconds: required(values.VITRINE_RESCUE_SECONDS),
      notFoundSeconds: required(values.VITRINE_NOT_FOUND_SECONDS),
      visitorTimeoutMs: required(values.VITRINE_VISITOR_TIMEOUT_MS),
      unknownLookupsPerHour: required(values.VITRINE_UNKNOWN_LOOKUPS_PER_HOUR),
    }),
    priceMaxAgeSeconds: required(values.VITRINE_PRICE_MAX_AGE_SECONDS),
    cacheMaxBytes: required(values.VITRINE_CACHE_MAX_BYTES),
    cacheMaxEntries: required(values.VITRINE_CACHE_MAX_ENTRIES),
    cacheTagHeader: values.VITRINE_CACHE_TAG_HEADER,
    syncCron: values.VITRINE_SYNC_CRON,
    workers: required(values.VITRINE_WORKERS),
    locale: required(values.VITRINE_LOCALE),
    currency: values.VITRINE_CURRENCY,
    disclosure: values.VITRINE_DISCLOSURE ?? ({ kind: 'locale' } as const),
    trustProxy: required(values.VITRINE_TRUST_PROXY),
    logLevel: required(values.VITRINE_LOG_LEVEL),
  })
}

/** A setting with a default always has a value once the problems are none. */
function required<T>(value: T | null): T {
  if (value === null) throw new ConfigError(['a setting without a default was taken for one that has it'])
  return value
}

function toSecrets(values: Values): Secrets {
  return Object.freeze({
    catalogKey: toSecret(values.VITRINE_CATALOG_KEY),
    catalogKeyFile: values.VITRINE_CATALOG_KEY_FILE,
    adminPassword: toSecret(values.VITRINE_ADMIN_PASSWORD),
  })
}

function toSecret(text: string | null): Secret | null {
  return text === null ? null : new Secret(text)
}
