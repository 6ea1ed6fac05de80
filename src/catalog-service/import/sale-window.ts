import { HOUR_MS, MINUTE_MS } from '../../clock.ts'

/** A day of ISO 8601, perhaps with a time, perhaps with its distance from UTC (`-0800`, `+01:00`, `Z`). */
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?:Z|([+-])(\d{2}):?(\d{2}))?)?$/i

/**
 * Is a moment within `start/end` of Google's `sale_price_effective_date`? A time without a zone is taken for UTC, a last
 * day without a time lasts to its end. `undefined` when the text is not such a span.
 */
export function isWithinSale(text: string, nowMs: number): boolean | undefined {
  const [start, end, ...more] = text.split('/')
  const startMs = parseMoment(start ?? '', '00:00')
  const endMs = parseMoment(end ?? '', '23:59:59.999')
  if (startMs === undefined || endMs === undefined || more.length > 0 || endMs < startMs) return undefined
  return startMs <= nowMs && nowMs <= endMs
}

function parseMoment(text: string, defaultTime: string): number | undefined {
  const [, day, time, sign, hours, minutes] = MOMENT.exec(text.trim()) ?? []
  if (day === undefined) return undefined
  const utcMs = Date.parse(`${day}T${time ?? defaultTime}Z`)
  if (Number.isNaN(utcMs)) return undefined
  const aheadMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
  return sign === '-' ? utcMs + aheadMs : utcMs - aheadMs
}
