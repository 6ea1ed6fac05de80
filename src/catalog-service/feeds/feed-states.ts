import { SECOND_MS } from '../../clock.ts'
import { FeedHeldError } from '../../errors.ts'
import type { FeedState, FeedStatus } from '../../catalog/feed-report.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import {
  type FeedAttempt,
  computeNextRunMs,
  fetchFeedAttempts,
  isFeedQuiet,
  isFeedStale,
} from '../store/feed-attempts.ts'
import { type Feed, fetchFeeds } from '../store/feeds.ts'
import { describeFeedAddress } from './feed-address.ts'

type StateStore = Pick<CatalogStore, 'read' | 'usage' | 'clock'>

export async function fetchFeedStates(
  store: StateStore,
  { priceMaxAgeSeconds }: Readonly<{ priceMaxAgeSeconds: number }>,
): Promise<readonly FeedState[]> {
  const attempts = await fetchFeedAttempts(store)
  return (await store.read(fetchFeeds)).map((feed): FeedState => {
    const attempt = attempts.get(feed.id)
    const { name, channelId, format, network, merchant, everySeconds, maxRemovedPercent, fetchedAtMs } = feed
    const maxAgeMs = priceMaxAgeSeconds * SECOND_MS
    return {
      name,
      status: findStatus(feed, attempt),
      channelId,
      address: feed.url === null ? null : describeFeedAddress(feed.url),
      format,
      network,
      merchant,
      currency: feed.currency,
      decimal: feed.decimal,
      encoding: feed.encoding,
      everySeconds,
      maxRemovedPercent,
      fetchedAtMs,
      attemptedAtMs: attempt?.attemptedAtMs ?? fetchedAtMs,
      nextRunAtMs: computeNextRunMs(feed, attempt),
      rows: feed.rowCount,
      products: feed.productCount,
      offers: feed.offerCount,
      rejected: feed.rejectedCount,
      removed: feed.removedCount,
      rejectedRows: feed.rejectedRowCount,
      topReasons: feed.topReasons,
      rejectsPath: feed.rejectsPath,
      ...findFailure(attempt),
      isQuiet: isFeedQuiet(feed, store.clock),
      isStale: isFeedStale(feed, attempt, store.clock),
      isTooOld: feed.offerCount > 0 && fetchedAtMs !== null && store.clock.nowMs() - fetchedAtMs > maxAgeMs,
    }
  })
}

function findStatus(feed: Feed, attempt: FeedAttempt | undefined): FeedStatus {
  if (attempt?.isRunning === true) return 'running'
  if (attempt?.errorCode === FeedHeldError.code) return 'held'
  if (attempt !== undefined && attempt.error !== null) return 'failed'
  return feed.fetchedAtMs === null ? 'new' : 'ok'
}

/** A run in progress is recorded as interrupted until it ends. */
function findFailure(attempt: FeedAttempt | undefined): Pick<FeedState, 'errorCode' | 'error'> {
  if (attempt === undefined || attempt.isRunning) return { errorCode: null, error: null }
  return { errorCode: attempt.errorCode, error: attempt.error }
}
