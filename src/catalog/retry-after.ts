import { SECOND_MS } from '../clock.ts'

const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** The headers of an answer that say when to come back, and our own time for comparing. */
export type RetryAfterHeaders = Readonly<{
  retryAfter: string | undefined
  date: string | undefined
  nowMs: number
}>

/**
 * How long to wait, in milliseconds, by RFC 9110 section 10.2.3: whole seconds, or a date, which is compared with the
 * answer's own `Date` so that a wrong clock here does no harm. `null` for anything else (`-5`, `1.5`, a past date).
 */
export function parseRetryAfter(headers: RetryAfterHeaders): number | null {
  const text = headers.retryAfter?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS
  const untilMs = parseDate(text)
  if (untilMs === null) return null
  const waitMs = untilMs - (parseDate(headers.date?.trim() ?? '') ?? headers.nowMs)
  return waitMs > 0 ? waitMs : null
}

function parseDate(text: string): number | null {
  const timeMs = IMF_FIXDATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(timeMs) ? null : timeMs
}
