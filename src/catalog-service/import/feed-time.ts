import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import type { SalePeriod } from './feed-row.ts'

/** An ISO 8601 date with an optional time and an optional offset from UTC (`-0800`, `+01:00`, `+01`, `Z`). */
const DATE_TIME_PATTERN =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?) ?(?:Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?)?$/i

/** RFC 3339, section 5.6: seconds and offset are required. */
const RFC_3339_PATTERN = /^[\d-]{10}[T ][\d:]{8}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i

const US_TIME_PATTERN = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}:\d{2}:\d{2})$/

/** A longer text is not a time. It bounds the work of the patterns. */
const MAX_CHARACTERS = 100

/** A date with dots is written with the day first in every country that uses them. */
const DOTTED_DATE_PATTERN = /^(\d{2})\.(\d{2})\.(\d{4})(?=$|[T ])/

function toIsoDate(text: string): string {
  return text.trim().replace(DOTTED_DATE_PATTERN, '$3-$2-$1')
}

/** Convert an ISO 8601 date or time, or one that begins with `dd.mm.yyyy`, UTC by default, to Unix milliseconds; `undefined` when malformed. A date is its first moment. */
export function findTimeMs(text: string): number | undefined {
  if (text.length > MAX_CHARACTERS) return undefined
  const [, day, time, sign, hours, minutes] = DATE_TIME_PATTERN.exec(toIsoDate(text)) ?? []
  if (day === undefined || !isCalendarDay(day)) return undefined
  const clockTime = time?.includes(':') === true ? time : `${time ?? '00'}:00`
  const utcMs = Date.parse(`${day}T${clockTime}Z`)
  const zoneOffsetMs = toOffsetMs(hours, minutes)
  return sign === '-' ? utcMs + zoneOffsetMs : utcMs - zoneOffsetMs
}

function toOffsetMs(hours: string = '0', minutes: string = '0'): number {
  return Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS
}

export function findRfc3339TimeMs(text: string): number | undefined {
  return RFC_3339_PATTERN.test(text) ? findTimeMs(text) : undefined
}

/** Convert `mm/dd/yyyy hh:mm:ss` in UTC. */
export function findUsTimeMs(text: string): number | undefined {
  const [, month, day, year, time] = US_TIME_PATTERN.exec(text.trim()) ?? []
  return month === undefined ? undefined : findTimeMs(`${year}-${month}-${day} ${time}`)
}

/** What programs write for no date: nothing, zeros, `null`, a time alone, and the first day of their calendars. */
const NO_DATE =
  /^(?:[0\s:.TZ+-]*|null|none|undefined|nan|\\n|invalid date|n\.?a\.?|T[\d:.]*(?:Z|[+-][\d:]*)?|(?:-?000[01]-\d\d-\d\d|1970-01-01)(?:[T ][\d:.]*(?:Z|[+-][\d:]*)?)?)$/i

/** `true` for no date, and for a period without dates: `/`, `0000-00-00 00:00:00/0000-00-00`. */
export function isDateMissing(text: string): boolean {
  return (
    text.length <= MAX_CHARACTERS &&
    text
      .replace(/\bn\/a\b/gi, '')
      .split('/')
      .every((date) => NO_DATE.test(date.trim()))
  )
}

/** Parse `start/end` of Google Merchant. There may be no end; `undefined` when malformed. */
export function findSaleDates(text: string): SalePeriod | undefined {
  const [start = '', end, ...more] = text.split('/', 3)
  if (end === undefined || more.length > 0) return undefined
  return findSalePeriod(start, end)
}

/** Parse the limits of a sale; `''` is no limit, and an end without a time includes its day. `undefined` when malformed. */
export function findSalePeriod(start: string, end: string): SalePeriod | undefined {
  const startsMs = isDateMissing(start) ? null : findTimeMs(start)
  const endsMs = isDateMissing(end) ? null : findEndMs(end)
  if (startsMs === undefined || endsMs === undefined) return undefined
  return startsMs !== null && endsMs !== null && endsMs <= startsMs ? undefined : { startsMs, endsMs }
}

function findEndMs(text: string): number | undefined {
  const timeMs = findTimeMs(text)
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(toIsoDate(text))
  return timeMs !== undefined && isDay ? timeMs + DAY_MS : timeMs
}

/** `Date.parse` may accept 30 February as 2 March. */
function isCalendarDay(day: string): boolean {
  const dateMs = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(dateMs) && new Date(dateMs).toISOString().startsWith(day)
}
