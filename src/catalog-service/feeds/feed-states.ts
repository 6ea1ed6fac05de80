import { SECOND_MS } from '../../clock.ts'
import { FeedHeldError } from '../../errors.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { computeNextRunMs, fetchFeedAttempts, isFeedQuiet } from '../store/feed-attempts.ts'
import { type Feed, fetchFeeds } from '../store/feeds.ts'
import { describeFeedAddress } from './feed-address.ts'

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
  errorCode: string | null
  error: string | null
  /** No successful run for two intervals. */
  isQuiet: boolean
  /** The last successful run is so long ago that its prices are not shown. */
  isTooOld: boolean
}>

type StateStore = Pick<CatalogStore, 'reader' | 'usage' | 'clock'>

export async function fetchFeedStates(
  store: StateStore,
  { priceMaxAgeSeconds }: Readonly<{ priceMaxAgeSeconds: number }>,
): Promise<readonly FeedState[]> {
  const attempts = await fetchFeedAttempts(store)
  return (await fetchFeeds(store.reader)).map((feed): FeedState => {
    const attempt = attempts.get(feed.id)
    const { name, channelId, format, network, merchant, everySeconds, maxRemovedPercent, fetchedAtMs } = feed
    const maxAgeMs = priceMaxAgeSeconds * SECOND_MS
    return {
      name,
      status: findStatus(feed, attempt),
      channelId,
      address: feed.url === null ? null : describeFeedAddress(feed.url),
      ...{ format, network, merchant, everySeconds, maxRemovedPercent, fetchedAtMs },
      attemptedAtMs: attempt?.attemptedAtMs ?? fetchedAtMs,
      nextRunAtMs: computeNextRunMs(feed, attempt),
      rows: feed.rowCount,
      products: feed.productCount,
      offers: feed.offerCount,
      rejected: feed.rejectedCount,
      removed: feed.removedCount,
      errorCode: attempt?.errorCode ?? null,
      error: attempt?.error ?? null,
      isQuiet: isFeedQuiet(feed, store.clock),
      isTooOld: feed.offerCount > 0 && fetchedAtMs !== null && store.clock.nowMs() - fetchedAtMs > maxAgeMs,
    }
  })
}

type Attempt = Awaited<ReturnType<typeof fetchFeedAttempts>> extends ReadonlyMap<number, infer T> ? T : never

function findStatus(feed: Feed, attempt: Attempt | undefined): FeedStatus {
  if (attempt?.isRunning === true) return 'running'
  if (attempt?.errorCode === FeedHeldError.code) return 'held'
  if (attempt !== undefined && attempt.error !== null) return 'failed'
  return feed.fetchedAtMs === null && !feed.isMigrated ? 'new' : 'ok'
}
