import { ConfigError } from '../errors.ts'
import { IN_QUOTES, isInQuotes } from './parsers.ts'
import { parseProxies } from './proxies.ts'
import { Secret, type Secrets, type WebhookSecrets } from './secrets.ts'
import { SETTINGS, type Setting, type SettingName } from './settings.ts'

/** All settings except secrets, which are in `Secrets`. */
export type Config = ReturnType<typeof toConfig>

export function isServed({ channels }: Pick<Config, 'channels'>, channelId: string): boolean {
  return channels === null || channels.includes(channelId)
}

/** Lifetimes of stored data and time limits of look-ups. */
export type FreshnessConfig = Config['freshness']

export type Environment = Readonly<Record<string, string | undefined>>

/** Names and values that Kubernetes injects for services named `vitrine` or `vitrine-…`. They are not settings. */
const KUBERNETES_NAME =
  /^VITRINE_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/
const KUBERNETES_PORT_VALUE = /^(?:tcp|udp|sctp):\/\//

/** Used if `VITRINE_PORT` is not set: hosting platforms set it. */
const PORT_NAME = 'PORT'

/** Secrets in addresses of feeds: `${AWIN_KEY}` is filled from `VITRINE_FEED_AWIN_KEY`. */
const FEED_SECRET_NAME = /^VITRINE_FEED_([A-Z][A-Z0-9_]*)$/

type SettingValues = {
  [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T, infer Fallback>
    ? T | (null extends Fallback ? null : never)
    : never
}

/** Parse all settings; an empty value is not set. @throws ConfigError that lists all invalid names, but no values. */
export function parseConfig(environment: Environment): Readonly<{ config: Config; secrets: Secrets }> {
  const rawValues = collectRawValues(environment)
  const problems = [
    ...[...rawValues.keys()]
      .filter((name) => name !== PORT_NAME && !isSettingName(name))
      .map((name) => `${name}: unknown setting; see docs/operate/configuration.md`),
    ...findMisspelledNames(environment, rawValues).map(
      ([name, meantName]) => `${meantName}: written as ${JSON.stringify(name)}, which would be ignored`,
    ),
  ]
  problems.push(...[...rawValues].flatMap(([name, text]) => findTextProblems(name, text)))
  const values = parseValues(rawValues, problems)
  checkCombinations(values, problems)
  const proxies = parseProxies(environment, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const secrets = {
    catalogKey: values.VITRINE_CATALOG_KEY,
    catalogKeyFile: values.VITRINE_CATALOG_KEY_FILE,
    adminPassword: values.VITRINE_ADMIN_PASSWORD,
    feedSecrets: collectFeedSecrets(rawValues),
    webhook: toWebhook(values),
    proxies,
  }
  return { config: toConfig(values), secrets: Object.freeze(secrets) }
}

/** Return all `VITRINE_` settings that are set, also unknown and invalid ones, without white space around their values. */
export function collectSettings(environment: Environment): Map<string, string> {
  const rawValues = new Map<string, string>()
  for (const [name, text] of Object.entries(environment)) {
    if (name.startsWith('VITRINE_') && isSet(text) && !isFromKubernetes(name, text))
      rawValues.set(name, text.trim())
  }
  return rawValues
}

/** Line ends alone are an empty value: some programs keep the CR of files from Windows. Spaces alone are an invalid one. */
function isSet(text: string | undefined): text is string {
  return text !== undefined && /[^\r\n]/.test(text)
}

function isSettingName(name: string): boolean {
  return Object.hasOwn(SETTINGS, name) || FEED_SECRET_NAME.test(name)
}

/** Find problems that do not depend on the parser of the setting. */
function findTextProblems(name: string, text: string): string[] {
  if (isInQuotes(text)) return [`${name}: ${IN_QUOTES}`]
  return text === '' && FEED_SECRET_NAME.test(name) ? [`${name}: expected text`] : []
}

/** Find settings that are set only under another spelling, such as `vitrine_port`, or with an invisible character. */
function findMisspelledNames(
  environment: Environment,
  rawValues: ReadonlyMap<string, string>,
): (readonly [name: string, meantName: string])[] {
  return Object.entries(environment).flatMap(([name, text]) => {
    const meantName = findMeantSetting(name)
    const isIgnored = !name.startsWith('VITRINE_') && isSet(text)
    return isIgnored && meantName !== undefined && !rawValues.has(meantName)
      ? [[name, meantName] as const]
      : []
  })
}

/** Find the setting that a name is meant as, in other letters, separators or with invisible characters. */
export function findMeantSetting(name: string): string | undefined {
  const words = name.toUpperCase().match(/[A-Z0-9]+/g) ?? []
  const meantName = words.join('_')
  return Object.hasOwn(SETTINGS, meantName) ? meantName : undefined
}

function collectRawValues(environment: Environment): Map<string, string> {
  const rawValues = collectSettings(environment)
  const port = environment[PORT_NAME]
  if (!rawValues.has('VITRINE_PORT') && isSet(port)) rawValues.set(PORT_NAME, port.trim())
  return rawValues
}

function collectFeedSecrets(rawValues: ReadonlyMap<string, string>): Secrets['feedSecrets'] {
  const secrets = [...rawValues].flatMap(([name, value]) => {
    const secretName = FEED_SECRET_NAME.exec(name)?.[1]
    return secretName === undefined ? [] : [[secretName, new Secret(value)] as const]
  })
  return new Map(secrets)
}

function isFromKubernetes(name: string, text: string): boolean {
  return KUBERNETES_NAME.test(name) || (name.endsWith('_PORT') && KUBERNETES_PORT_VALUE.test(text))
}

function parseValues(rawValues: ReadonlyMap<string, string>, problems: string[]): SettingValues {
  const entries = Object.entries(SETTINGS).map(([name, setting]: [string, Setting<unknown>]) => {
    const usedName = name === 'VITRINE_PORT' && rawValues.has(PORT_NAME) ? PORT_NAME : name
    const text = rawValues.get(usedName) ?? setting.defaultText
    if (text === null) return [name, null]
    const { parser } = setting
    // Reported already.
    if (isInQuotes(text)) return [name, undefined]
    const value = parser.parse(text)
    const explanation = value === undefined ? parser.explainError?.(text) : undefined
    if (value === undefined)
      problems.push(
        `${usedName}: ${explanation === undefined ? '' : `${explanation}; `}expected ${parser.expects}`,
      )
    return [name, value]
  })
  return Object.fromEntries(entries) as SettingValues
}

function checkCombinations(values: SettingValues, problems: string[]): void {
  const hasKey = values.VITRINE_CATALOG_KEY !== null || values.VITRINE_CATALOG_KEY_FILE !== null
  if (values.VITRINE_CATALOG_URL !== null && !hasKey)
    problems.push('VITRINE_CATALOG_URL: requires VITRINE_CATALOG_KEY or VITRINE_CATALOG_KEY_FILE')
  if (values.VITRINE_CATALOG_URL === null && hasKey)
    problems.push('VITRINE_CATALOG_KEY, VITRINE_CATALOG_KEY_FILE: require VITRINE_CATALOG_URL')
  if (values.VITRINE_CATALOG_KEY !== null && values.VITRINE_CATALOG_KEY_FILE !== null)
    problems.push('VITRINE_CATALOG_KEY, VITRINE_CATALOG_KEY_FILE: set only one of the two')
  checkWebhook(values, problems)
}

/** A malformed value is reported already. */
function checkWebhook(values: SettingValues, problems: string[]): void {
  const { VITRINE_EVENTS_URL: url, VITRINE_EVENTS_SECRET: secret } = values
  if (url !== null && secret === null) problems.push('VITRINE_EVENTS_URL: requires VITRINE_EVENTS_SECRET')
  if (url === null && secret !== null) problems.push('VITRINE_EVENTS_SECRET: requires VITRINE_EVENTS_URL')
}

function toWebhook({
  VITRINE_EVENTS_URL: url,
  VITRINE_EVENTS_SECRET: secret,
}: SettingValues): WebhookSecrets | null {
  return url === null || secret === null ? null : { url, secret }
}

/** `null`: not set. `SETTINGS` describes each setting. */
function toConfig(values: SettingValues) {
  const url = values.VITRINE_CATALOG_URL
  return Object.freeze({
    catalog: url === null ? ({ kind: 'embedded' } as const) : ({ kind: 'remote', url } as const),
    catalogDatabase: values.VITRINE_CATALOG_DATABASE_URL,
    catalogDailyLimit: values.VITRINE_CATALOG_DAILY_LIMIT,
    catalogTimeoutMs: values.VITRINE_CATALOG_TIMEOUT_MS,
    catalogMaxBytes: values.VITRINE_CATALOG_MAX_BYTES,
    host: values.VITRINE_HOST,
    port: values.VITRINE_PORT,
    publicUrl: values.VITRINE_PUBLIC_URL,
    database: values.VITRINE_DATABASE_URL,
    channels: values.VITRINE_CHANNELS,
    frameAncestors: values.VITRINE_FRAME_ANCESTORS ?? [],
    freshness: Object.freeze({
      freshSeconds: values.VITRINE_FRESH_SECONDS,
      staleSeconds: values.VITRINE_STALE_SECONDS,
      rescueSeconds: values.VITRINE_RESCUE_SECONDS,
      notFoundSeconds: values.VITRINE_NOT_FOUND_SECONDS,
      visitorTimeoutMs: values.VITRINE_VISITOR_TIMEOUT_MS,
      unknownLookupsPerHour: values.VITRINE_UNKNOWN_LOOKUPS_PER_HOUR,
    }),
    priceMaxAgeSeconds: values.VITRINE_PRICE_MAX_AGE_SECONDS,
    /** Which prices are recorded as observed, and for how long. */
    history: Object.freeze({
      keptDays: values.VITRINE_HISTORY_DAYS,
      priceMaxAgeSeconds: values.VITRINE_PRICE_MAX_AGE_SECONDS,
    }),
    cacheMaxBytes: values.VITRINE_CACHE_MAX_BYTES,
    cacheMaxEntries: values.VITRINE_CACHE_MAX_ENTRIES,
    cacheTagHeader: values.VITRINE_CACHE_TAG_HEADER,
    syncCron: values.VITRINE_SYNC_CRON?.pattern ?? null,
    /** Return the time between the scheduled walks before and after a time; `null` if there are not two. */
    findWalkPeriodMs: values.VITRINE_SYNC_CRON?.findPeriodMs ?? null,
    workers: values.VITRINE_WORKERS,
    locale: values.VITRINE_LOCALE,
    currency: values.VITRINE_CURRENCY,
    disclosure: values.VITRINE_DISCLOSURE ?? ({ kind: 'locale' } as const),
    timeZone: values.VITRINE_TIME_ZONE,
    shopsFile: values.VITRINE_SHOPS_FILE,
    subIdsFile: values.VITRINE_SUB_IDS_FILE,
    pictures: values.VITRINE_PICTURES,
    links: values.VITRINE_LINKS,
    picturesMaxBytes: values.VITRINE_PICTURES_MAX_BYTES,
    isJsonOpen: values.VITRINE_JSON === 'on',
    /** Case-folded. */
    mailNetworks: values.VITRINE_MAIL_NETWORKS,
    trustProxy: values.VITRINE_TRUST_PROXY,
    logLevel: values.VITRINE_LOG_LEVEL,
  })
}

/** Return what to do for a channel that only this server's own pages may frame; `null` when other sites may. */
export function findFrameOriginHint(
  config: Config,
  channel: Readonly<{ id: string; url: string | null }>,
): string | null {
  if (channel.url !== null || config.frameAncestors.length > 0) return null
  const isEmbedded = config.catalog.kind === 'embedded'
  const commandAdvice = isEmbedded
    ? `run "vitrine catalog channels set ${channel.id} --url https://YOUR-SITE", or `
    : ''
  return `The channel has no URL, so browsers refuse its frames on your site: ${commandAdvice}set VITRINE_FRAME_ANCESTORS to the site's origin.`
}
