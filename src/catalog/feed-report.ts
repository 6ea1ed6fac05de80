import { SECOND_MS } from '../clock.ts'
import type { FeedGauges } from '../observability/metrics.ts'
import { formatNumber } from '../lib/format.ts'

/**
 * - `ok`: the last run succeeded
 * - `new`: no run yet
 * - `running`: a process runs it now
 * - `held`: the last run would have removed too many offers
 * - `failed`: the last run failed; the offers of the run before are shown
 */
export type FeedStatus = 'ok' | 'new' | 'running' | 'held' | 'failed'

/** A feed for people and programs, without secrets. Times are Unix milliseconds. */
export type FeedState = Readonly<{
  name: string
  status: FeedStatus
  channelId: string | null
  /** The address without its path; `null`: imported by a command. */
  address: string | null
  format: string | null
  network: string | null
  merchant: string | null
  currency: string | null
  decimal: string | null
  encoding: string | null
  everySeconds: number | null
  maxRemovedPercent: number
  /** The last successful run, the last attempt, and the next run. */
  fetchedAtMs: number | null
  attemptedAtMs: number | null
  nextRunAtMs: number | null
  rows: number
  products: number
  offers: number
  rejected: number
  removed: number
  /** Rows without a usable offer. */
  rejectedRows: number
  /** The most frequent reasons for rejects, with their counts. */
  topReasons: readonly (readonly [reason: string, count: number])[]
  /** The file with all rejects; `null`: there are none. */
  rejectsPath: string | null
  errorCode: string | null
  error: string | null
  /** No successful run for two intervals. */
  isQuiet: boolean
  /** Quiet although the server ran it since: the state that an event reports. */
  isStale: boolean
  /** The last successful run is so long ago that its prices are not shown. */
  isTooOld: boolean
}>

/** Describe reasons for rejects with their counts: `gtin: there is no gtin (12)`. */
export function describeReasons(reasons: FeedState['topReasons']): readonly string[] {
  return reasons.map(([reason, count]) => `${reason} (${formatNumber(count)})`)
}

/** What earns nothing, or is shown twice or not at all. `subject`: a feed, network or shop; `remedy`: a command to copy. */
export type FeedWarning = Readonly<{ subject: string; message: string; remedy: string }>

export type FeedReport = Readonly<{ feeds: readonly FeedState[]; warnings: readonly FeedWarning[] }>

/** Whether the last attempt of a feed failed or was held, or there was none for too long. */
export function isFeedFailing({ status, isQuiet }: FeedState): boolean {
  return status === 'failed' || status === 'held' || isQuiet
}

/** Return the values of the gauges of feeds. Without a report they keep their values, because alerts would end without them. */
export function toFeedGauges(report: FeedReport | undefined, nowMs: number): FeedGauges {
  if (report === undefined) return {}
  const { feeds } = report
  return {
    vitrine_feed_age_seconds: Object.fromEntries(
      feeds.flatMap(({ name, fetchedAtMs }) =>
        fetchedAtMs === null ? [] : [[name, Math.max(0, nowMs - fetchedAtMs) / SECOND_MS]],
      ),
    ),
    vitrine_feed_failing: Object.fromEntries(feeds.map((feed) => [feed.name, Number(isFeedFailing(feed))])),
    vitrine_feed_offers: Object.fromEntries(feeds.map(({ name, offers }) => [name, offers])),
  }
}
