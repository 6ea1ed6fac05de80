import { SECOND_MS, isFuture } from '../../clock.ts'
import { readDatabaseTime } from '../../database/lease-time.ts'
import { describeInternalError } from '../../lib/internal-error.ts'
import { VitrineError } from '../../errors.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { type FeedAttempt, computeNextRunMs, fetchFeedAttempts } from '../store/feed-attempts.ts'
import { type Feed, fetchFeeds, findFeedById } from '../store/feeds.ts'
import type { FeedRun } from './run-feed.ts'

/** How often the schedule is read. A feed that an operator adds runs within this time. */
const POLL_INTERVAL_MS: number = 15 * SECOND_MS

export type SchedulerLogger = Readonly<
  Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>
>

export type FeedSchedulerOptions = Readonly<{
  store: Pick<CatalogStore, 'reader' | 'usage' | 'clock'>
  logger: SchedulerLogger
  /** Run a feed if it is still due and no other process runs it. */
  runFeed(feedId: number, signal: AbortSignal): Promise<FeedRun>
  /** Called after a successful run: offers have changed, or the time of their prices. */
  onRun?: (() => void) | undefined
}>

export type FeedScheduler = Readonly<{
  /** Stop the run in progress, and resolve when it has ended. */
  stop(): Promise<void>
}>

/** Run feeds when they are due, one after the other, until `stop`. Several processes may share a catalog. */
export function startFeedScheduler(options: FeedSchedulerOptions): FeedScheduler {
  const { clock } = options.store
  const stopping = new AbortController()
  const { signal } = stopping
  let isFailing = false
  const runDueFeeds = async (): Promise<void> => {
    try {
      for (const feed of await findDueFeeds(options.store)) {
        if (signal.aborted) return
        await runAndLog(options, feed, signal)
      }
      isFailing = false
    } catch (error) {
      // The database is unavailable: log it once, and try again.
      if (!isFailing) options.logger.error({ reason: describeError(error) }, 'feeds cannot be read')
      isFailing = true
    }
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await runDueFeeds()
      await clock.wait(POLL_INTERVAL_MS, signal)
    }
  }
  const ended = loop()
  return {
    stop() {
      stopping.abort()
      return ended
    },
  }
}

/** Return the feeds that are due, the one that waits longest first. */
async function findDueFeeds(store: FeedSchedulerOptions['store']): Promise<readonly Feed[]> {
  const feeds = await fetchFeeds(store.reader)
  if (!feeds.some(({ everySeconds }) => everySeconds !== null)) return []
  const attempts = await fetchFeedAttempts(store)
  const nowMs = await readNowMs(store)
  const toTime = (feed: Feed): number => computeNextRunMs(feed, attempts.get(feed.id)) ?? Infinity
  return feeds
    .filter((feed) => isDue(feed, attempts.get(feed.id), nowMs))
    .toSorted((one, other) => toTime(one) - toTime(other))
}

/** Whether a feed is due, according to the database. */
export async function isFeedDue(
  store: FeedSchedulerOptions['store'],
  previous: FeedAttempt | undefined,
  feedId: number,
): Promise<boolean> {
  const feed = await findFeedById(store.reader, feedId)
  return feed !== undefined && isDue(feed, previous, await readNowMs(store))
}

/** Return the time by the clock of `attemptedAtMs`. */
async function readNowMs({ usage, clock }: FeedSchedulerOptions['store']): Promise<number> {
  return (await readDatabaseTime(usage)) ?? clock.nowMs()
}

/** A feed is due at once before its first attempt, and after one in the future, which comes from a wrong clock. */
function isDue(feed: Feed, attempt: FeedAttempt | undefined, nowMs: number): boolean {
  if (attempt?.isRunning === true) return false
  const nextRunMs = computeNextRunMs(feed, attempt)
  if (nextRunMs === null) return false
  return attempt === undefined || nextRunMs <= nowMs || isFuture(attempt.attemptedAtMs, nowMs)
}

async function runAndLog(
  { logger, store, runFeed, onRun }: FeedSchedulerOptions,
  { id, name: feed }: Feed,
  signal: AbortSignal,
): Promise<void> {
  const startedAtMs = store.clock.nowMs()
  try {
    const run = await runFeed(id, signal)
    const durationMs = store.clock.nowMs() - startedAtMs
    if (run.kind === 'skipped') return
    // The time of the prices changes in any case.
    onRun?.()
    if (run.kind === 'unchanged') return logger.info({ feed, durationMs }, 'feed has not changed')
    const { products, offers, removedOffers, rejected, leftOutPictures, rejectsPath } = run.summary
    const counts = { products, offers, removedOffers, rejected, leftOutPictures }
    logger.info(
      { feed, ...counts, ...(rejectsPath !== null && { rejectsPath }), durationMs },
      'feed imported',
    )
  } catch (error) {
    if (signal.aborted) return
    const code = error instanceof VitrineError ? error.code : 'VITRINE_INTERNAL'
    logger.warn({ feed, code, reason: describeError(error) }, 'feed run failed')
  }
}

function describeError(error: unknown): string {
  if (error instanceof VitrineError) return error.message
  return error instanceof Error ? describeInternalError(error) : 'unknown reason'
}
