import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { Cron } from 'croner'
import { parseUrl } from '../lib/urls.ts'
import { normalizeCurrency } from '../offers/money.ts'
import { type Secret, parseSecret } from './secrets.ts'

/** How one setting's text becomes a value; `undefined` says that the text is not what `expects` describes. */
export type ValueParser<T> = Readonly<{
  expects: string
  parse(text: string): T | undefined
  /** What is wrong with a text that has many parts, in words that hold nothing of it. */
  explainError?(text: string): string | undefined
}>

function createParser<T>(expects: string, parse: (text: string) => T | undefined): ValueParser<T> {
  return { expects, parse }
}

export const anyText: ValueParser<string> = createParser('text', (text) => text)

/** A whole number within bounds, both included. */
export function wholeNumber(min: number, max: number): ValueParser<number> {
  return createParser(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? value : undefined
  })
}

/** Processes that answer; `auto` is one a core, as far as `max` allows. */
export function workerCount(max: number): ValueParser<number> {
  const numbers = wholeNumber(1, max)
  return createParser(`auto, or ${numbers.expects}`, (text) =>
    text === 'auto' ? Math.min(availableParallelism(), max) : numbers.parse(text),
  )
}

export function oneOf<T extends string>(options: readonly T[]): ValueParser<T> {
  return createParser(`one of ${options.join(', ')}`, (text) => options.find((option) => option === text))
}

/** One of a few names of headers, whose case means nothing. */
export function headerName<T extends string>(names: readonly T[]): ValueParser<T> {
  return createParser(`one of ${names.join(', ')}`, (text) =>
    names.find((name) => name.toLowerCase() === text.toLowerCase()),
  )
}

/** An absolute http(s) address without credentials, query or fragment; the slash at its end is dropped. */
export const httpAddress: ValueParser<string> = createParser(
  'an http:// or https:// address without user, query or fragment',
  (text) => {
    const url = /^https?:\/\/[^\s?#\\@]+$/i.test(text) ? parseUrl(text) : undefined
    return url && `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  },
)

export const uuidList: ValueParser<readonly string[]> = createParser(
  'a comma list of channel ids (uuids)',
  (text) => {
    const ids = text.split(',').map((id) => id.trim().toLowerCase())
    const areAllValid = ids.every((id) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    return areAllValid ? ids : undefined
  },
)

/** A list of origins for `frame-ancestors`; `*` becomes `* file:`, so that a page opened from disk may frame too. */
export const originList: ValueParser<readonly string[]> = createParser(
  'origins such as https://www.example.com or https://*.example.com, split by commas or spaces, or *',
  (text) => {
    const parts = text.split(/[\s,]+/).filter((part) => part !== '')
    const areAllValid = parts.every(
      (part) => part === '*' || /^https?:\/\/(?:\*\.)?[a-z0-9.-]+(?::(?:\d{1,5}|\*))?\/?$/i.test(part),
    )
    if (!areAllValid) return undefined
    return parts.includes('*') ? ['*', 'file:'] : parts.map((part) => part.replace(/\/$/, '').toLowerCase())
  },
)

type Schedule = Readonly<{ pattern: string; findPeriodMs(timeMs: number): number | null }>

/** A cron pattern in UTC, with how far its runs lie apart at a time (`null` before the first and after the last), or `off` as `null`. */
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

/** Create a cron that starts no timer. UTC is given as an offset: a named time zone costs a start ten times as much. */
export function createCron(pattern: string): Cron {
  return new Cron(pattern, { utcOffset: 0, paused: true })
}

/** Between two runs the period is the time from one to the other. */
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

export const currencyCode: ValueParser<string> = createParser(
  'a currency code such as EUR',
  normalizeCurrency,
)

/** The disclosure line: the locale's own, none, or the publisher's words. */
export type Disclosure =
  Readonly<{ kind: 'locale' }> | Readonly<{ kind: 'off' }> | Readonly<{ kind: 'text'; text: string }>

export const disclosureLine: ValueParser<Disclosure> = createParser(
  'a line of text up to 300 characters, or off',
  (text) => {
    if (text === 'off') return { kind: 'off' }
    return text.length <= 300 && text.trim() !== '' ? { kind: 'text', text } : undefined
  },
)

/** Express `trust proxy`: off, hops, or addresses. */
export const proxyTrust: ValueParser<boolean | number | string> = createParser(
  'false, true, a number of hops, or a comma list of addresses (loopback, 10.0.0.0/8 …)',
  (text) => {
    if (text === 'true' || text === 'false') return text === 'true'
    if (/^\d{1,2}$/.test(text)) return Number(text)
    return text.split(',').every((part) => isProxyAddress(part.trim())) ? text : undefined
  },
)

/** What Express takes for a proxy: a named range, an address, or one with the length of its prefix. */
function isProxyAddress(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  const prefixBits = Number(prefix ?? 1)
  return version !== 0 && prefixBits >= 1 && prefixBits <= (version === 4 ? 32 : 128)
}

export const secretText: ValueParser<Secret> = createParser('printable ASCII without spaces', parseSecret)
