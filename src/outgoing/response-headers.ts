import { DAY_SECONDS, SECOND_MS } from '../clock.ts'

type HeaderValue = string | string[] | undefined

/** Headers of a response, by name in lower case. */
export type ResponseHeaders = Readonly<Record<string, HeaderValue>>

const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Parse `Retry-After` (RFC 9110, section 10.2.3) to milliseconds: whole seconds, or a date relative to the response's `Date`, so
 * that a wrong local clock does not matter (`nowMs` without one). `null` for anything else, such as `0`, `1.5` or a past date.
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

/** Parse `Age`: how long a CDN has cached the response. At most one day is trusted. Of several, the first counts (RFC 9111, 5.1). */
export function parseAgeMs(age: HeaderValue): number {
  const text = toFirstValue(age).split(',', 1).join('').trim()
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), DAY_SECONDS) * SECOND_MS : 0
}

/** `Date` is cut to whole seconds, so it is half a second too early on average. */
const HALF_SECOND_MS: number = SECOND_MS / 2

/**
 * Compute how far the sender's clock is ahead of ours, accurate to half a second plus half the response time. `null`: no usable
 * `Date`, or our clock was set back during the call. Some caches keep `Date` (RFC 9111), others set it to now: the sender's time
 * is between `Date` and `Date` + `Age`, and its clock is wrong only when ours is outside.
 */
export function computeClockSkewMs({
  date,
  ageMs,
  sentAtMs,
  receivedAtMs,
}: Readonly<{ date: HeaderValue; ageMs: number; sentAtMs: number; receivedAtMs: number }>): number | null {
  const timeMs = typeof date === 'string' ? parseDate(date.trim()) : null
  if (timeMs === null || receivedAtMs < sentAtMs) return null
  const minSkewMs = timeMs + HALF_SECOND_MS - (sentAtMs + receivedAtMs) / 2
  return Math.max(minSkewMs, Math.min(0, minSkewMs + ageMs))
}

/** What identifies a version of a body; `null` without one. */
export type Validators = Readonly<{ etag: string | null; lastModified: string | null }>

/** Read the validators. They are sent back, so they must be valid headers; very long ones are not worth storing. */
export function readValidators(headers: ResponseHeaders, maxCharacters: number): Validators {
  const read = (name: string): string | null => {
    const text = toFirstValue(headers[name])
    return text.length <= maxCharacters && /^[\x20-\x7e]+$/.test(text) ? text : null
  }
  return { etag: read('etag'), lastModified: read('last-modified') }
}

/** Return the headers of a request for a body unless it is a known version. */
export function toConditionalHeaders(known: Validators | null): Readonly<Record<string, string>> {
  const { etag, lastModified } = known ?? { etag: null, lastModified: null }
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  }
}

/** Whether the known version is current. Without a validator in the request, 304 is no valid response. */
export function isCurrent(
  { statusCode }: Readonly<{ statusCode: number }>,
  known: Validators | null,
): known is Validators {
  return statusCode === 304 && known !== null && (known.etag !== null || known.lastModified !== null)
}

export type Encoding = 'identity' | 'gzip' | 'br' | 'deflate'

/** Return the content encoding; `undefined` for one that nobody requests. */
export function findEncoding(headers: ResponseHeaders): Encoding | undefined {
  const encoding = [headers['content-encoding'] ?? ''].flat().join().trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return 'identity'
  if (encoding === 'gzip' || encoding === 'br' || encoding === 'deflate') return encoding
  return encoding === 'x-gzip' ? 'gzip' : undefined
}

/** Parse an HTTP date to Unix milliseconds; `null`: invalid. */
function parseDate(text: string): number | null {
  const timeMs = IMF_FIXDATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(timeMs) ? null : timeMs
}

function toFirstValue(header: HeaderValue): string {
  return (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
}
