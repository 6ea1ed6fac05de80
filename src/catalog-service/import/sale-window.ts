import { HOUR_MS, MINUTE_MS } from '../../clock.ts'

/** A day of ISO 8601, perhaps with a time, perhaps with its distance from UTC (`-0800`, `+01:00`, `+01`, `Z`). */
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?) ?(?:Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?)?$/i

/**
 * Is a moment within `start/end` of Google's `sale_price_effective_date`? A time without a zone is taken for UTC, a last
 * day without a time lasts to its end, and without a last day the sale goes on. `undefined` when the text is not such a span.
 */
export function isWithinSale(text: string, nowMs: number): boolean | undefined {
  const [start, end, ...more] = text.split('/', 3)
  const startMs = parseMoment(start ?? '', '00:00')
  const endMs = end?.trim() === '' ? Number.POSITIVE_INFINITY : parseMoment(end ?? '', '23:59:59.999')
  if (startMs === undefined || endMs === undefined || more.length > 0 || endMs < startMs) return undefined
  return startMs <= nowMs && nowMs <= endMs
}

function parseMoment(text: string, defaultTime: string): number | undefined {
  const [, day, time = defaultTime, sign, hours, minutes] = MOMENT.exec(text.trim()) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const utcMs = Date.parse(`${day}T${time.includes(':') ? time : `${time}:00`}Z`)
  const aheadMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
  return sign === '-' ? utcMs + aheadMs : utcMs - aheadMs
}

/** Some readers of dates take 30 February for 2 March. */
function isDay(day: string): boolean {
  const dateMs = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(dateMs) && new Date(dateMs).toISOString().startsWith(day)
}
