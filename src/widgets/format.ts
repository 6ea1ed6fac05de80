import { LRUCache } from 'lru-cache'
import { DAY_MS, MINUTE_MS, isFuture } from '../clock.ts'

/** Cached formatters: creating one takes 17 µs, using it 0.3 µs. */
const MAX_FORMATTERS = 500
/** Cached times: most boxes of a walk show the same minute, and formatting one takes 12 µs. */
const MAX_TIMES = 2_000

/** Key: three-letter currency code and locale. */
const priceFormats = new LRUCache<string, Intl.NumberFormat>({
  max: MAX_FORMATTERS,
  memoMethod: (key) =>
    new Intl.NumberFormat(key.slice(3), {
      style: 'currency',
      currency: key.slice(0, 3),
      maximumFractionDigits: 4,
    }),
})
const percentFormats = new LRUCache<string, Intl.NumberFormat>({
  max: MAX_FORMATTERS,
  memoMethod: (locale) => new Intl.NumberFormat(locale, { style: 'percent' }),
})
const countFormats = new LRUCache<string, Intl.NumberFormat>({
  max: MAX_FORMATTERS,
  memoMethod: (locale) => new Intl.NumberFormat(locale),
})
/** With a short and a long name of the zone. Key: locale and time zone, separated by a space. */
const timeFormats = new LRUCache<string, Readonly<Record<'short' | 'long', Intl.DateTimeFormat>>>({
  max: MAX_FORMATTERS,
  memoMethod(key) {
    const [locale, timeZone] = key.split(' ')
    const create = (timeZoneName: 'short' | 'longGeneric'): Intl.DateTimeFormat =>
      new Intl.DateTimeFormat(locale, {
        year: 'numeric',
        month: 'short',
        day: 'numeric',
        hour: 'numeric',
        minute: '2-digit',
        timeZone,
        timeZoneName,
      })
    return { short: create('short'), long: create('longGeneric') }
  },
})

/** How a day is written, without the weekday. */
const DAY_STYLES = {
  long: { day: 'numeric', month: 'long' },
  'long-with-year': { day: 'numeric', month: 'long', year: 'numeric' },
  short: { day: 'numeric', month: 'short' },
  'short-with-year': { day: 'numeric', month: 'short', year: 'numeric' },
} as const
type DayStyle = keyof typeof DAY_STYLES

/** Key: style and locale, separated by a space. */
const dayFormats = new LRUCache<string, Intl.DateTimeFormat>({
  max: MAX_FORMATTERS,
  memoMethod(key) {
    const [style = '', locale] = key.split(' ')
    return new Intl.DateTimeFormat(locale, { ...DAY_STYLES[style as DayStyle], timeZone: 'UTC' })
  },
})

/** Format a UTC day, counted from 1970-01-01, without a line break. */
export function formatDay(day: number, locale: string, style: DayStyle): string {
  return dayFormats
    .memo(`${style} ${locale}`)
    .format(day * DAY_MS)
    .replaceAll(' ', '\u00A0')
}

/** Format a decimal string as a price. Exact, because Intl accepts strings. */
export function formatPrice(price: string, currency: string, locale: string): string {
  return priceFormats.memo(`${currency}${locale}`).format(price as Intl.StringNumericLiteral)
}

/** Lengths of numbers, in characters, by which the style sheet chooses the size of a long price. */
const LONG_NUMBERS = [9, 12, 18, 24] as const
export type LongNumber = (typeof LONG_NUMBERS)[number]

/** Prices up to this length have the usual size, and one line: `$1,299.00`. */
const MAX_SHORT_CHARACTERS = 10

/**
 * Format a decimal string as a price that may be long. `digits`: the length of its number, rounded up; `null` for a usual one. A
 * long price may have a line break between number and currency.
 */
export function formatShownPrice(
  price: string,
  currency: string,
  locale: string,
): Readonly<{ text: string; digits: LongNumber | null }> {
  const text = formatPrice(price, currency, locale)
  // The usual case: three times as fast.
  if (text.length <= MAX_SHORT_CHARACTERS) return { text, digits: null }
  const parts = priceFormats.memo(`${currency}${locale}`).formatToParts(price as Intl.StringNumericLiteral)
  const characters = parts.filter(isOfNumber).reduce((sum, { value }) => sum + value.length, 0)
  const shown = parts.map(({ type, value }) => (type === 'literal' ? value.replace(/\s/g, ' ') : value))
  return { text: shown.join(''), digits: LONG_NUMBERS.find((length) => length >= characters) ?? 24 }
}

function isOfNumber({ type }: Intl.NumberFormatPart): boolean {
  return type !== 'currency' && type !== 'literal'
}

/** Format `20` as `−20%`, with minus sign and spacing of the locale. */
export function formatDiscount(percent: number, locale: string): string {
  return percentFormats
    .memo(locale)
    .format(-percent / 100)
    .replace('-', '−')
}

export function formatCount(count: number, locale: string): string {
  return countFormats.memo(locale).format(count)
}

/**
 * Format date and time, by default in UTC. Pages are cached, so a relative time would be wrong. The zone has the name that people
 * write: UTC, CET or EST; in place of an offset such as GMT+1, words such as "Central European Time".
 */
export function formatTime(timeMs: number, locale: string, timeZone = 'UTC'): string {
  return joinParts(listTimeParts(timeMs, locale, timeZone))
}

const DATE_PARTS: ReadonlySet<string> = new Set(['year', 'month', 'day'])

/** Key: minutes since 1970, locale and time zone, separated by spaces. */
const shownTimes = new LRUCache<string, string>({
  max: MAX_TIMES,
  memoMethod(key) {
    const [minutes, locale = '', timeZone = ''] = key.split(' ')
    return toShownTime(listTimeParts(Number(minutes) * MINUTE_MS, locale, timeZone))
  },
})

/** Format a time as `formatTime` does, for narrow boxes: a line can end between date and time, but not within them. */
export function formatShownTime(timeMs: number, locale: string, timeZone: string): string {
  return shownTimes.memo(`${Math.floor(timeMs / MINUTE_MS)} ${locale} ${timeZone}`)
}

function toShownTime(parts: readonly Intl.DateTimeFormatPart[]): string {
  const isOfDate = (index: number): boolean => DATE_PARTS.has(parts[index]?.type ?? '')
  const gap = parts.findIndex(
    ({ type }, index) => type === 'literal' && isOfDate(index - 1) !== isOfDate(index + 1),
  )
  const [start, ...end] = parts[gap]?.value.split(' ') ?? []
  if (start === undefined || end.length === 0) return keepOnOneLine(joinParts(parts))
  const date = joinParts(parts.slice(0, gap)) + start
  const time = end.join(' ') + joinParts(parts.slice(gap + 1))
  return `${keepOnOneLine(date)} ${keepOnOneLine(time)}`
}

/** Join the words of a text, unless a line of a narrow box is too short for it. */
function keepOnOneLine(text: string): string {
  return text.length <= 32 ? text.replaceAll(' ', '\u00A0') : text
}

function listTimeParts(timeMs: number, locale: string, timeZone: string): readonly Intl.DateTimeFormatPart[] {
  const { short, long } = timeFormats.memo(`${locale} ${timeZone}`)
  const parts = short.formatToParts(timeMs)
  const isOffset = parts.some(({ type, value }) => type === 'timeZoneName' && /\p{Nd}/u.test(value))
  return isOffset ? long.formatToParts(timeMs) : parts
}

/** The narrow space before AM and PM becomes a normal one, as in `Intl.DateTimeFormat.format`. */
const joinParts = (parts: readonly Intl.DateTimeFormatPart[]): string =>
  parts.map(({ value }) => value.replaceAll('\u202F', ' ')).join('')

/** Shown to operators instead of a time in the future. */
export const TIME_UNKNOWN = 'time unknown: the clock was wrong'

/** Format a past time for operators. A wrong clock recorded times in the future, so they are not shown. */
export function formatPastTime(timeMs: number, nowMs: number): string {
  return isFuture(timeMs, nowMs) ? TIME_UNKNOWN : formatTime(timeMs, 'en')
}

export function formatSince(timeMs: number, nowMs: number): string {
  return isFuture(timeMs, nowMs) ? 'since an unknown time' : `since ${formatTime(timeMs, 'en')}`
}

export function formatWalkTime(completedAtMs: number, nowMs: number): string {
  return `walked${isFuture(completedAtMs, nowMs) ? ',' : ''} ${formatPastTime(completedAtMs, nowMs)}`
}
