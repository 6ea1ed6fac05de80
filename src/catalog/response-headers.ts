import { DAY_SECONDS, SECOND_MS } from '../clock.ts'

/** A header as undici gives it. */
type HeaderValue = string | string[] | undefined

const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * How long to wait, in milliseconds, by RFC 9110 section 10.2.3: whole seconds, or a date, which is compared with the
 * answer's own `Date` (else with our time, `nowMs`) so that a wrong clock here does no harm. `null` for anything else (`0`,
 * `-5`, `1.5`, a past date): "at once" from a catalog that has just refused is no time to wait for.
 */
export function parseRetryAfter({
  retryAfter,
  date,
  nowMs,
}: Readonly<{ retryAfter: HeaderValue; date: HeaderValue; nowMs: number }>): number | null {
  const text = toFirstValue(retryAfter)
  const untilMs = parseDate(text)
  const dateWaitMs = untilMs === null ? 0 : untilMs - (parseDate(toFirstValue(date)) ?? nowMs)
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * SECOND_MS : dateWaitMs
  return waitMs > 0 ? waitMs : null
}

/** How long a cache between the catalog and us has had the answer, by its `Age`: at most a day is believed. */
export function parseAgeMs(age: HeaderValue): number {
  return typeof age === 'string' && /^\d{1,9}$/.test(age) ? Math.min(Number(age), DAY_SECONDS) * SECOND_MS : 0
}

/** `Date` has whole seconds, which have begun half a second ago on average. */
const HALF_SECOND_MS: number = SECOND_MS / 2

/**
 * By how much the sender's clock is ahead of ours, in milliseconds, to half a second and half of the response time; `null`
 * when the response does not tell, or our clock was set while it was awaited.
 */
export function computeClockSkewMs({
  date,
  ageMs,
  sentAtMs,
  receivedAtMs,
}: Readonly<{ date: HeaderValue; ageMs: number; sentAtMs: number; receivedAtMs: number }>): number | null {
  const timeMs = typeof date === 'string' ? parseDate(date.trim()) : null
  if (timeMs === null || receivedAtMs < sentAtMs) return null
  return timeMs + HALF_SECOND_MS + ageMs - (sentAtMs + receivedAtMs) / 2
}

/** The time of a date of HTTP, Unix milliseconds; `null`: it is invalid. */
function parseDate(text: string): number | null {
  const timeMs = IMF_FIXDATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(timeMs) ? null : timeMs
}

/** The value of a header; the first of several. */
function toFirstValue(header: HeaderValue): string {
  return (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
}
