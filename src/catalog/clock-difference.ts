import { SECOND_MS } from '../clock.ts'
import { parseDate } from './retry-after.ts'

/** What of a response tells its sender's time, and our own times around it, Unix milliseconds. */
export type DatedResponse = Readonly<{
  date: string | undefined
  /** How long ago a cache on the way has had it from its sender. */
  ageMs: number
  sentAtMs: number
  receivedAtMs: number
}>

/** `Date` has whole seconds, which have begun half a second ago on average. */
const HALF_SECOND_MS: number = SECOND_MS / 2

/**
 * By how much the sender's clock is ahead of ours, in milliseconds, to half a second and half of the response time; `null`
 * when the response does not tell, or our clock was set while it was awaited.
 */
export function computeDifferenceMs({ date, ageMs, sentAtMs, receivedAtMs }: DatedResponse): number | null {
  const timeMs = parseDate(date?.trim() ?? '')
  if (timeMs === null || receivedAtMs < sentAtMs) return null
  return timeMs + HALF_SECOND_MS + ageMs - (sentAtMs + receivedAtMs) / 2
}
