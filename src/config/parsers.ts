import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { Cron } from 'croner'
import { parseUrl } from '../lib/urls.ts'
import { normalizeCurrency } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'
import { type Secret, parseSecret } from './secrets.ts'

/** Parses the text of one setting. `undefined`: the text does not match `expects`. */
export type ValueParser<T> = Readonly<{
  expects: string
  parse(text: string): T | undefined
  /** Say which part of the text is invalid, without quoting it. */
  explainError?(text: string): string | undefined
}>

/** Whether a value begins and ends with the same quote: a shell or `.env` parser would have removed both. */
export function isInQuotes(text: string): boolean {
  return /^(["'`])(?:(?!\1)[^])*\1$/.test(text)
}

export const IN_QUOTES =
  'the value is in quotes, which "docker --env-file", Kubernetes and CI keep; remove them'

function createParser<T>(expects: string, parse: (text: string) => T | undefined): ValueParser<T> {
  return { expects, parse }
}

export const anyText: ValueParser<string> = createParser('text', (text) => text || undefined)

/** What is wrong with texts that are no address and no name; the first match counts. */
const HOST_PROBLEMS: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/^\*$/, 'write 0.0.0.0 for all IPv4 addresses, or :: for all addresses'],
  [/\//, 'write the host only, without "http://" and path'],
  [/\]:\d+$|^[^:]*:\d+$/, 'write the host without the port, which VITRINE_PORT sets'],
  [/^\[.*\]$/, 'write the address without brackets, for example ::'],
  [/^\d+(?:\.\d+){3}$/, 'a number in the address is out of range'],
  [/^(?![\p{L}\p{N}_][\p{L}\p{N}._-]{0,252}$)/u, 'neither an address nor a name'],
]

/** Parse an address to listen on. Whether this machine has it can change, so only its form is checked. */
export const listenHost: ValueParser<string> = {
  expects: 'an IP address or host name of this machine, such as 127.0.0.1, 0.0.0.0 or ::',
  parse: (text) => (findHostProblem(text) === undefined ? text : undefined),
  explainError: findHostProblem,
}

function findHostProblem(text: string): string | undefined {
  if (isIP(text) === 0) return HOST_PROBLEMS.find(([pattern]) => pattern.test(text))?.[1]
  return /^fe[89ab][0-9a-f]:[^%]*$/i.test(text)
    ? 'write the network interface after the address, for example fe80::1%eth0'
    : undefined
}

/** Parse a whole number; both bounds are included. */
export function wholeNumber(min: number, max: number): ValueParser<number> {
  return createParser(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? value : undefined
  })
}

/** Parse a number of workers. `auto` is one for each CPU core, up to `max`. */
export function workerCount(max: number): ValueParser<number> {
  const numbers = wholeNumber(1, max)
  return createParser(`auto, or ${numbers.expects}`, (text) =>
    text === 'auto' ? Math.min(availableParallelism(), max) : numbers.parse(text),
  )
}

export function oneOf<T extends string>(options: readonly T[]): ValueParser<T> {
  return createParser(`one of ${options.join(', ')}`, (text) => options.find((option) => option === text))
}

/** Parse a header name, case-insensitively. */
export function headerName<T extends string>(names: readonly T[]): ValueParser<T> {
  return createParser(`one of ${names.join(', ')}`, (text) =>
    names.find((name) => name.toLowerCase() === text.toLowerCase()),
  )
}

/** Parse an http(s) address. A trailing slash is removed. */
export const httpAddress: ValueParser<string> = createParser(
  'an http:// or https:// address without user, query or fragment',
  (text) => {
    const url = /^https?:\/\/[^\s?#\\@]+$/i.test(text) ? parseUrl(text) : undefined
    return url && `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  },
)

export const uuidList: ValueParser<readonly string[]> = createParser(
  'a comma-separated list of channel ids (UUIDs)',
  (text) => {
    const ids = text.split(',').map((id) => id.trim().toLowerCase())
    const areAllValid = ids.every((id) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    return areAllValid ? ids : undefined
  },
)

/** Parse names; they are compared without case. */
export const nameList: ValueParser<readonly string[]> = createParser(
  'a comma-separated list of names',
  (text) => {
    const names = text.split(',').map((name) => foldCase(name.trim()))
    return names.every((name) => name !== '') ? names : undefined
  },
)

/** Parse origins for `frame-ancestors`. `*` becomes `* file:` so that local files may frame, too. */
export const originList: ValueParser<readonly string[]> = createParser(
  'origins such as https://www.example.com or https://*.example.com, separated by commas or spaces, or *',
  (text) => {
    const parts = text.split(/[\s,]+/).filter((part) => part !== '')
    const areAllValid = parts.every(
      (part) => part === '*' || /^https?:\/\/(?:\*\.)?[a-z0-9.-]+(?::(?:\d{1,5}|\*))?\/?$/i.test(part),
    )
    if (!areAllValid || parts.length === 0) return undefined
    return parts.includes('*') ? ['*', 'file:'] : parts.map((part) => part.replace(/\/$/, '').toLowerCase())
  },
)

type Schedule = Readonly<{ pattern: string; findPeriodMs(timeMs: number): number | null }>

/** Parse a cron pattern in UTC; `off` becomes `null`. `findPeriodMs` returns `null` before the first and after the last run. */
export const cronPattern: ValueParser<Schedule | null> = createParser(
  'a cron pattern such as "7 * * * *", or off',
  (text) => {
    if (text === 'off') return null
    try {
      const cron = createCron(text)
      if (cron.nextRun() === null) return undefined
      return { pattern: text, findPeriodMs: createPeriodLookup(cron) }
    } catch {
      return undefined
    }
  },
)

/** Create a cron without a timer. The UTC offset makes start-up ten times faster than a named time zone. */
export function createCron(pattern: string): Cron {
  return new Cron(pattern, { utcOffset: 0, paused: true })
}

/** The period at a time is the time between the runs before and after it. */
function createPeriodLookup(cron: Cron): Schedule['findPeriodMs'] {
  let cached = { fromMs: 0, untilMs: 0 }
  return (timeMs) => {
    if (timeMs < cached.fromMs || timeMs >= cached.untilMs) {
      const next = cron.nextRun(new Date(timeMs))
      const [previous] = next === null ? [] : cron.previousRuns(1, next)
      if (previous === undefined) return null
      cached = { fromMs: Number(previous), untilMs: Number(next) }
    }
    return cached.untilMs - cached.fromMs
  }
}

export const localeTag: ValueParser<string> = createParser('a language tag such as en or de-AT', (text) => {
  try {
    return Intl.getCanonicalLocales(text)[0]
  } catch {
    return undefined
  }
})

/** Parse an IANA time zone. Offsets such as +01:00, which newer versions of Node accept, have no daylight saving time. */
export const timeZone: ValueParser<string> = createParser('a time zone such as Europe/Berlin', (text) => {
  try {
    return /^[a-z]/i.test(text)
      ? new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
      : undefined
  } catch {
    return undefined
  }
})

export const currencyCode: ValueParser<string> = createParser(
  'a currency code such as EUR',
  normalizeCurrency,
)

/** The disclosure line: the text of the locale, none, or a text of the publisher. */
export type Disclosure =
  Readonly<{ kind: 'locale' }> | Readonly<{ kind: 'off' }> | Readonly<{ kind: 'text'; text: string }>

export const disclosureLine: ValueParser<Disclosure> = createParser(
  'a line of at most 300 characters, or off',
  (text) => {
    if (text === 'off') return { kind: 'off' }
    return text.length <= 300 && text.trim() !== '' ? { kind: 'text', text } : undefined
  },
)

/** Parse the value of `trust proxy` in Express. */
export const proxyTrust: ValueParser<boolean | number | string> = createParser(
  'false, true, a number of hops, or a comma-separated list of addresses (loopback, 10.0.0.0/8 …)',
  (text) => {
    if (text === 'true' || text === 'false') return text === 'true'
    if (/^\d{1,2}$/.test(text)) return Number(text)
    return text.split(',').every((part) => isProxyAddress(part.trim())) ? text : undefined
  },
)

/** Whether Express accepts the text: a named range, an IP address, or a CIDR range. */
function isProxyAddress(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  const prefixBits = Number(prefix ?? 1)
  return version !== 0 && prefixBits >= 1 && prefixBits <= (version === 4 ? 32 : 128)
}

export const secretText: ValueParser<Secret> = createParser('printable ASCII without spaces', parseSecret)

/** Shorter keys of a signature can be guessed. */
const MIN_SIGNING_CHARACTERS = 16

export const signingSecret: ValueParser<Secret> = createParser(
  `printable ASCII without spaces, at least ${MIN_SIGNING_CHARACTERS} characters`,
  (text) => (text.length < MIN_SIGNING_CHARACTERS ? undefined : parseSecret(text)),
)

/** Parse an http(s) address whose path or query can be a secret. */
export const secretAddress: ValueParser<Secret> = createParser(
  'an http:// or https:// address without user or fragment',
  (text) => (/^https?:\/\/[^\s#\\@]+$/i.test(text) && parseUrl(text) ? parseSecret(text) : undefined),
)
