import { type Kysely, sql } from 'kysely'
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS } from '../../clock.ts'
import { inList } from '../../database/dialect.ts'
import {
  hasOwnerExited,
  toLeaseTime,
  type LeaseRow,
  createExpiredCondition,
  extendLease,
  releaseLease,
  toLeaseEnd,
} from '../../database/leases.ts'
import { FeedHeldError } from '../../errors.ts'
import type { CatalogStore } from './catalog-store.ts'
import type { Feed } from './feeds.ts'
import type { UsageTables } from './schema.ts'

/** A process that does not extend its lease for this long has crashed. */
export const FEED_LEASE_MS: number = 2 * MINUTE_MS

/** Wait after the first failed attempt; it doubles with each further failure, up to the feed's interval. */
const FIRST_RETRY_MS: number = MINUTE_MS

/** Intervals without a successful run after which a feed counts as quiet. */
const QUIET_INTERVALS = 2

/** The last attempt to run a feed. `error` is `null` after a success. */
export type FeedAttempt = Readonly<{
  /** By the clock of the leases (`toLeaseTime`), so that machines with different clocks agree on the next run. */
  attemptedAtMs: number
  failureCount: number
  errorCode: string | null
  error: string | null
  /** When the server may be called again, as it asked, by the clock of the leases; `null`: it did not ask. */
  retryAtMs: number | null
  /** 0: no process runs the feed. */
  leaseUntilMs: number
  isRunning: boolean
}>

/** `retryAfterMs`: how long the server asked not to be called. */
export type FeedFailure = Readonly<{ code: string; message: string; retryAfterMs?: number | null }>

/** A longer wait is a mistake of the server. */
const MAX_RETRY_AFTER_MS: number = DAY_MS

type AttemptStore = Pick<CatalogStore, 'usage' | 'clock'>

/** Return the last attempts by feed id. Feeds without an attempt are absent. */
export async function fetchFeedAttempts(store: AttemptStore): Promise<ReadonlyMap<number, FeedAttempt>> {
  const attempts = await fetchOwnedAttempts(store)
  return new Map([...attempts].map(([feedId, { attempt }]) => [feedId, attempt]))
}

/** `owner`: who has the lease, or had it when it expired; `null` when it was released. */
type OwnedAttempt = Readonly<{ attempt: FeedAttempt; owner: string | null }>

async function fetchOwnedAttempts({
  usage,
  clock,
}: AttemptStore): Promise<ReadonlyMap<number, OwnedAttempt>> {
  const { rows } = await usage.read(({ reader }) => {
    const isExpired = createExpiredCondition('feed_attempts', toLeaseTime(reader, clock), FEED_LEASE_MS)
    return sql<AttemptRow>`
    select feed_id as "feedId", attempted_at_ms as "attemptedAtMs", failure_count as "failureCount",
      error_code as "errorCode", error, retry_at_ms as "retryAtMs", lease_owner as owner, lease_until_ms as "leaseUntilMs",
      ${isExpired} as "isExpired"
    from feed_attempts where attempted_at_ms is not null`.execute(reader)
  })
  return new Map(
    rows.map(({ feedId, owner, isExpired, ...attempt }) => {
      const isRunning = !isExpired && owner !== null && !hasOwnerExited(owner)
      return [feedId, { attempt: { ...attempt, isRunning }, owner }]
    }),
  )
}

type AttemptRow = Omit<FeedAttempt, 'isRunning'> &
  Readonly<{ feedId: number; owner: string | null; isExpired: number | boolean }>

/**
 * Acquire the right to run a feed, and return what the last attempt left; `null` when another process has it, or had it just
 * now. The attempt counts as failed until `finishFeedAttempt` says otherwise, so that a crash is retried with a growing delay.
 */
export async function acquireFeedLease(
  store: AttemptStore,
  feedId: number,
  owner: string,
): Promise<Readonly<{ previous: FeedAttempt | undefined }> | null> {
  const { usage, clock } = store
  const { attempt: previous, owner: previousOwner = null } =
    (await fetchOwnedAttempts(store)).get(feedId) ?? {}
  if (previous?.isRunning === true) return null
  const { rows } = await usage.write(({ writer }) => {
    const now = toLeaseTime(writer, clock)
    return sql`
    insert into feed_attempts (feed_id, attempted_at_ms, failure_count, error_code, error, lease_owner, lease_until_ms)
    values (${feedId}, ${now}, 1, ${INTERRUPTED.code}, ${INTERRUPTED.message}, ${owner},
      ${toLeaseEnd(now, FEED_LEASE_MS)})
    on conflict (feed_id) do update set attempted_at_ms = excluded.attempted_at_ms,
      failure_count = feed_attempts.failure_count + 1, error_code = excluded.error_code, error = excluded.error,
      lease_owner = excluded.lease_owner, lease_until_ms = excluded.lease_until_ms, retry_at_ms = null
    where feed_attempts.attempted_at_ms is not distinct from cast(${previous?.attemptedAtMs ?? null} as bigint)
      and feed_attempts.lease_until_ms = cast(${previous?.leaseUntilMs ?? 0} as bigint)
      and feed_attempts.lease_owner is not distinct from cast(${previousOwner} as text)
    returning feed_id`.execute(writer)
  })
  return rows.length === 0 ? null : { previous }
}

const INTERRUPTED: FeedFailure = {
  code: 'VITRINE_IMPORT_FAILED',
  message: 'the run was interrupted before its end',
}

/** Extend the lease while the feed runs; `false` when another process has taken it over. */
export function extendFeedLease(store: AttemptStore, feedId: number, owner: string): Promise<boolean> {
  return store.usage.write(({ writer }) =>
    extendLease(toRow(writer, store.clock, feedId), { owner, forMs: FEED_LEASE_MS }),
  )
}

function toRow(database: Kysely<UsageTables>, clock: Clock, feedId: number): LeaseRow {
  return { database, clock, table: 'feed_attempts', key: sql`feed_id = ${feedId}` }
}

/** Record how an attempt ended, and release the lease. */
export async function finishFeedAttempt(
  store: AttemptStore,
  feedId: number,
  { owner, failure }: Readonly<{ owner: string; failure: FeedFailure | null }>,
): Promise<void> {
  const retryAfterMs = Math.min(failure?.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
  await store.usage.write(({ writer }) => {
    const retryAt = retryAfterMs > 0 ? toLeaseEnd(toLeaseTime(writer, store.clock), retryAfterMs) : sql`null`
    const outcome =
      failure === null
        ? sql`failure_count = 0, error_code = null, error = null`
        : sql`error_code = ${failure.code}, error = ${failure.message}, retry_at_ms = ${retryAt}`
    return releaseLease(toRow(writer, store.clock, feedId), owner, outcome)
  })
}

const NO_ATTEMPT = {
  attemptedAtMs: null,
  failureCount: 0,
  errorCode: null,
  error: null,
  retryAtMs: null,
} as const

/** Release a lease without an attempt: restore what the last attempt left. */
export async function cancelFeedAttempt(
  store: AttemptStore,
  feedId: number,
  { owner, previous }: Readonly<{ owner: string; previous: FeedAttempt | undefined }>,
): Promise<void> {
  const { attemptedAtMs, failureCount, errorCode, error, retryAtMs } = previous ?? NO_ATTEMPT
  const restored = sql`attempted_at_ms = ${attemptedAtMs}, failure_count = ${failureCount}, error_code = ${errorCode},
    error = ${error}, retry_at_ms = ${retryAtMs}`
  await store.usage.write(({ writer }) => releaseLease(toRow(writer, store.clock, feedId), owner, restored))
}

export async function removeFeedAttempts(
  { usage }: Pick<CatalogStore, 'usage'>,
  feedIds: readonly number[],
): Promise<void> {
  await usage.write(({ writer }) =>
    sql`delete from feed_attempts where ${inList(writer, 'feed_id', feedIds)}`.execute(writer),
  )
}

/** Compute when a feed runs next, Unix milliseconds; `null` without a schedule. */
export function computeNextRunMs(feed: Feed, attempt: FeedAttempt | undefined): number | null {
  if (feed.url === null || feed.everySeconds === null || feed.channelId === null) return null
  if (attempt === undefined) return feed.createdAtMs
  const everyMs = feed.everySeconds * SECOND_MS
  const isRetried = attempt.failureCount > 0 && attempt.errorCode !== FeedHeldError.code
  const waitMs = isRetried ? Math.min(everyMs, FIRST_RETRY_MS * 2 ** (attempt.failureCount - 1)) : everyMs
  return Math.max(attempt.attemptedAtMs + waitMs, attempt.retryAtMs ?? 0)
}

/** Whether a feed with a schedule had no successful run for two intervals. */
export function isFeedQuiet(feed: Feed, clock: Pick<Clock, 'nowMs'>): boolean {
  if (feed.url === null || feed.everySeconds === null) return false
  const sinceMs = feed.fetchedAtMs ?? feed.createdAtMs
  return clock.nowMs() - sinceMs > QUIET_INTERVALS * feed.everySeconds * SECOND_MS
}

/**
 * Whether a quiet feed failed although the server ran: after a downtime, a feed that has not run yet is not stale. `attempt` is
 * the last one; while it runs, the one before decides.
 */
export function isFeedStale(feed: Feed, attempt: FeedAttempt | undefined, clock: Clock): boolean {
  if (!isFeedQuiet(feed, clock)) return false
  if (computeNextRunMs(feed, attempt) === null) return true
  if (attempt === undefined || attempt.failureCount <= Number(attempt.isRunning)) return false
  return isFeedQuiet(feed, { nowMs: () => attempt.attemptedAtMs })
}
