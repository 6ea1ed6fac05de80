import { SECOND_MS, isFuture } from '../../clock.ts'
import { readDatabaseTime } from '../../database/leases.ts'
import { describeInternalError } from '../../lib/internal-error.ts'
import { FeedThreadError, VitrineError } from '../../errors.ts'
import { parseUrl } from '../../lib/urls.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import {
  type FeedAttempt,
  type FeedFailure,
  acquireFeedLease,
  computeNextRunMs,
  fetchFeedAttempts,
  finishFeedAttempt,
} from '../store/feed-attempts.ts'
import { type Feed, fetchFeeds, findFeedById } from '../store/feeds.ts'
import type { FeedRun } from './run-feed.ts'

/** How often the schedule is read. A feed that an operator adds runs within this time. */
const POLL_INTERVAL_MS: number = 15 * SECOND_MS

/** A slow feed delays no other; each run has a thread. */
const MAX_PARALLEL_RUNS = 4

export type SchedulerLogger = Readonly<
  Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>
>

export type FeedSchedulerOptions = Readonly<{
  store: Pick<CatalogStore, 'read' | 'usage' | 'clock'>
  logger: SchedulerLogger
  /** Name of this process, which has the leases of its runs. */
  owner: string
  /** Run a feed if it is still due and no other process runs it. */
  runFeed(feedId: number, signal: AbortSignal): Promise<FeedRun>
  /** Called after a successful run: offers have changed, or the time of their prices. */
  onRun?: (() => void) | undefined
}>

export type FeedScheduler = Readonly<{
  /** Stop the runs in progress, and resolve when they have ended. */
  stop(): Promise<void>
}>

/** Run feeds when they are due, several at once but one of each host, until `stop`. Several processes may share a catalog. */
export function startFeedScheduler(options: FeedSchedulerOptions): FeedScheduler {
  const { clock } = options.store
  const stopping = new AbortController()
  const { signal } = stopping
  const runs = createRuns((feed) => runAndLog(options, feed, signal), signal)
  let isFailing = false
  const startDueFeeds = async (): Promise<void> => {
    try {
      const feeds = await findDueFeeds(options.store)
      runs.start(feeds)
      isFailing = false
    } catch (error) {
      // The database is unavailable: log it once, and try again.
      if (!isFailing) options.logger.error({ reason: describeError(error) }, 'feeds cannot be read')
      isFailing = true
    }
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await startDueFeeds()
      await clock.wait(POLL_INTERVAL_MS, signal)
    }
    await runs.waitForEnd()
  }
  const ended = loop()
  return {
    stop() {
      stopping.abort()
      return ended
    },
  }
}

/** Runs feeds as far as there is room. Those that wait start as soon as another run ends. None starts after `signal`. */
function createRuns(run: (feed: Feed) => Promise<void>, signal: AbortSignal) {
  /** Hosts by running feed. */
  const running = new Map<number, string>()
  const ended = new Set<Promise<void>>()
  let waiting: readonly Feed[] = []
  const isFree = (feed: Feed): boolean =>
    !running.has(feed.id) && ![...running.values()].includes(toHostName(feed))
  const startNext = (): void => {
    while (running.size < MAX_PARALLEL_RUNS && !signal.aborted) {
      const next = waiting.find(isFree)
      if (next === undefined) return
      waiting = waiting.filter((feed) => feed !== next)
      running.set(next.id, toHostName(next))
      const end = run(next).finally(() => {
        running.delete(next.id)
        ended.delete(end)
        startNext()
      })
      ended.add(end)
    }
  }
  return {
    start(feeds: readonly Feed[]): void {
      waiting = feeds
      startNext()
    },
    async waitForEnd(): Promise<void> {
      await Promise.all(ended)
    },
  }
}

/** Name the host of a feed. A secret that stands for a whole address, and a file, are hosts of their own. */
function toHostName({ id, url }: Feed): string {
  return (url !== null && parseUrl(url)?.host) || `feed ${id}`
}

/** Return the feeds that are due, the one that waits longest first. */
async function findDueFeeds(store: FeedSchedulerOptions['store']): Promise<readonly Feed[]> {
  const feeds = await store.read(fetchFeeds)
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
  const feed = await store.read((reader) => findFeedById(reader, feedId))
  return feed !== undefined && isDue(feed, previous, await readNowMs(store))
}

/** Return the time by the clock of `attemptedAtMs`. */
async function readNowMs({ usage, clock }: FeedSchedulerOptions['store']): Promise<number> {
  return (await usage.read(({ reader }) => readDatabaseTime(reader))) ?? clock.nowMs()
}

/** A feed is due at once before its first attempt, and after one in the future, which comes from a wrong clock. */
function isDue(feed: Feed, attempt: FeedAttempt | undefined, nowMs: number): boolean {
  if (attempt?.isRunning === true) return false
  const nextRunMs = computeNextRunMs(feed, attempt)
  if (nextRunMs === null) return false
  return attempt === undefined || nextRunMs <= nowMs || isFuture(attempt.attemptedAtMs, nowMs)
}

async function runAndLog(
  { logger, store, owner, runFeed, onRun }: FeedSchedulerOptions,
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
    const { products, offers, removedOffers, rejected, leftOutPictures, rejectsPath, guessedEncoding } =
      run.summary
    const counts = { products, offers, removedOffers, rejected, leftOutPictures }
    logger.info(
      {
        feed,
        ...counts,
        ...(rejectsPath !== null && { rejectsPath }),
        ...(guessedEncoding !== null && { guessedEncoding }),
        durationMs,
      },
      'feed imported',
    )
  } catch (error) {
    if (signal.aborted) return
    const code = error instanceof VitrineError ? error.code : 'VITRINE_INTERNAL'
    const reason = describeError(error)
    logger.warn({ feed, code, reason }, 'feed run failed')
    if (error instanceof FeedThreadError)
      await recordThreadEnd(store, id, { owner, failure: { code, message: reason } }).catch(() => {})
  }
}

/** Record a failure that the thread could not record itself, also when it ended before it had the lease. */
async function recordThreadEnd(
  store: FeedSchedulerOptions['store'],
  feedId: number,
  { owner, failure }: Readonly<{ owner: string; failure: FeedFailure }>,
): Promise<void> {
  // Changes nothing if the thread had it.
  await acquireFeedLease(store, feedId, owner)
  await finishFeedAttempt(store, feedId, { owner, failure })
}

function describeError(error: unknown): string {
  if (error instanceof VitrineError) return error.describeWithRemedy()
  return error instanceof Error ? describeInternalError(error) : 'unknown reason'
}
