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
 * answer's own `Date` so that a wrong clock here does no harm. `null` for anything else (`0`, `-5`, `1.5`, a past date):
 * "at once" from a catalog that has just refused is no time to wait for.
 */
export function parseRetryAfter(headers: RetryAfterHeaders): number | null {
  const text = headers.retryAfter?.trim() ?? ''
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * SECOND_MS : computeWaitMs(text, headers)
  return waitMs !== null && waitMs > 0 ? waitMs : null
}

function computeWaitMs(text: string, headers: RetryAfterHeaders): number | null {
  const untilMs = parseDate(text)
  return untilMs === null ? null : untilMs - (parseDate(headers.date?.trim() ?? '') ?? headers.nowMs)
}

/** Parse a date of HTTP, Unix milliseconds; `null`: it is not one. */
export function parseDate(text: string): number | null {
  const timeMs = IMF_FIXDATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(timeMs) ? null : timeMs
}
