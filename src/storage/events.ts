import { randomUUID } from 'node:crypto'
import { type Kysely, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, DAY_MS, HOUR_MS } from '../clock.ts'
import { execute, insertRows } from '../database/dialect.ts'
import { type Lease, type LeaseRow, acquireLease, releaseLease } from '../database/leases.ts'
import type { CopyConnection } from './copy-database.ts'
import type { CopyTables } from './schema.ts'

/** The state changes that are reported (docs/operate/events.md). */
export type EventDetails =
  | Readonly<{
      type: 'product.gone' | 'product.back'
      gtin: string
      title: string
      /** Sub-ids of the placements that ask for the product, the most requested first. */
      placements: readonly string[]
      /** Placements that are not in the list. */
      morePlacements: number
    }>
  /** `merchant`: the main name in the catalog; `name`: the name that readers see. */
  | Readonly<{ type: 'shop.gone'; merchant: string; name: string }>
  /** `fetchedAtMs`: the last successful run, Unix milliseconds; `null`: none. */
  | Readonly<{ type: 'feed.stale'; feed: string; fetchedAtMs: number | null }>

/** A stored event. `id` is a UUID; `atMs` is when the change was detected; `channel` is `null` for a feed without one. */
export type StoredEvent = Readonly<{
  id: string
  atMs: number
  channel: Readonly<{ id: string; name: string }> | null
  details: EventDetails
}>

/** A feed of the embedded catalog, as `recordFeeds` compares it with the last time. */
export type ObservedFeed = Readonly<{
  name: string
  channelId: string | null
  isStale: boolean
  fetchedAtMs: number | null
}>

/** An event to send, and how many attempts in a row have failed before. */
export type LeasedEvent = Readonly<{ event: StoredEvent; failures: number }>

/** `failure`: why the attempt failed, `null` when the event was delivered. `nextAttemptMs`: Unix milliseconds. */
export type DeliveryResult = Readonly<{
  owner: string
  id: string
  failure: string | null
  nextAttemptMs: number
}>

/** `failure`: of the last attempt, `null` when it succeeded. Times are Unix milliseconds; `null`: never. */
export type DeliveryState = Readonly<{
  pendingCount: number
  deliveredAtMs: number | null
  failure: string | null
  failedAtMs: number | null
}>

/** Events and their delivery (ADR 0035). Walks add events of products and shops in `completeWalk`. */
export type EventStore = Readonly<{
  /** List the newest events first; those of one walk by importance: shops, then the most requested products. */
  listEvents(limit: number): Promise<readonly StoredEvent[]>
  /** Add an event for each feed that has become stale since the last call. The first call about a feed adds none. */
  recordFeeds(feeds: readonly ObservedFeed[], nowMs: number): Promise<void>
  /** Lease the delivery for at most `forMs`. Return the oldest event that is not delivered; `undefined`: nothing to do now. */
  leaseEvent(lease: Readonly<{ owner: string; forMs: number }>): Promise<LeasedEvent | undefined>
  /** Record the result of an attempt and release the lease. Ignored when another owner has the lease. */
  recordDelivery(result: DeliveryResult): Promise<void>
  /** Release the lease without a result. */
  releaseDelivery(owner: string): Promise<void>
  readDeliveryState(): Promise<DeliveryState>
}>

/** Bounds of the stored events of a catalog. Older ones are deleted, delivered or not. */
const KEPT_EVENTS_MS: number = 30 * DAY_MS
const MAX_EVENTS = 5_000

/** An event that could not be delivered for this long is given up: it is no longer news. */
export const DELIVERY_PERIOD_MS: number = 3 * DAY_MS

/** Longest wait between two attempts. A later time was stored before the clock was set back. */
export const MAX_RETRY_WAIT_MS: number = HOUR_MS

type EventRow = Readonly<{
  id: string
  at_ms: number
  channel_id: string | null
  channel_name: string | null
  details: string
}>

const COLUMNS = 'e.id, e.at_ms, e.channel_id, c.name as channel_name, e.details'
const SOURCE = 'events e left join channels c on c.catalog = e.catalog and c.channel_id = e.channel_id'

/** Create the events of a catalog. */
export function createEventStore(connection: CopyConnection, catalog: string, clock: Clock): EventStore {
  const toRow = (database: Kysely<CopyTables>) => toDelivery(database, catalog)
  return {
    async listEvents(limit) {
      const statement = `select ${COLUMNS} from ${SOURCE} where e.catalog = ?
        order by e.at_ms desc, e.position, e.id limit ?`
      return connection.read(async ({ reader }) =>
        (await execute<EventRow>(reader, statement, [catalog, limit])).map(toEvent),
      )
    },
    recordFeeds: (feeds, nowMs) =>
      connection.transact((transaction) => recordFeeds(transaction, { catalog, feeds, nowMs })),
    async leaseEvent(lease) {
      // Most polls find nothing, and write nothing.
      const nowMs = clock.nowMs()
      const pending = await connection.read(({ reader }) => findPending(reader, catalog, nowMs))
      if (pending === undefined) return undefined
      const work = (transaction: Transaction<CopyTables>): Promise<LeasedEvent | undefined> =>
        leaseEvent(transaction, { catalog, clock, lease })
      return connection.transact(work, 'read committed')
    },
    recordDelivery: ({ owner, id, failure, nextAttemptMs }) =>
      connection.transact(async (transaction) => {
        const nowMs = clock.nowMs()
        const isDelivered = failure === null
        const result = isDelivered
          ? sql`failures = 0, next_attempt_ms = 0, failure = null, delivered_at_ms = ${nowMs}`
          : sql`failures = failures + 1, failure = ${failure}, failed_at_ms = ${nowMs}, next_attempt_ms = ${nextAttemptMs}`
        const isRecorded = await releaseLease(toRow(transaction), owner, result)
        if (isRecorded && isDelivered)
          await execute(transaction, 'update events set delivered_at_ms = ? where id = ?', [nowMs, id])
      }, 'read committed'),
    async releaseDelivery(owner) {
      await connection.write(({ writer }) => releaseLease(toRow(writer), owner))
    },
    readDeliveryState: () =>
      connection.read(({ reader }) => readDeliveryState(reader, catalog, clock.nowMs())),
  }
}

function toEvent(row: EventRow): StoredEvent {
  const { id, at_ms: atMs, channel_id: channelId, channel_name: name } = row
  const channel = channelId === null ? null : { id: channelId, name: name ?? channelId }
  return { id, atMs, channel, details: JSON.parse(row.details) as EventDetails }
}

/** Add events, the most important first, and delete old ones. */
export async function insertEvents(
  transaction: Transaction<CopyTables>,
  { catalog, nowMs }: Readonly<{ catalog: string; nowMs: number }>,
  events: readonly Readonly<{ channelId: string | null; details: EventDetails }>[],
): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ channelId, details }, position) => ({
    id: randomUUID(),
    catalog,
    channel_id: channelId,
    at_ms: nowMs,
    position,
    details: JSON.stringify(details),
  }))
  await insertRows(transaction, 'events', rows)
  const oldestMs = nowMs - KEPT_EVENTS_MS
  await execute(transaction, 'delete from events where catalog = ? and at_ms < ?', [catalog, oldestMs])
  const statement = `delete from events where id in (select id from events where catalog = ?
    order by at_ms desc, position, id limit ? offset ?)`
  await execute(transaction, statement, [catalog, 2 * MAX_EVENTS, MAX_EVENTS])
}

async function recordFeeds(
  transaction: Transaction<CopyTables>,
  { catalog, feeds, nowMs }: Readonly<{ catalog: string; feeds: readonly ObservedFeed[]; nowMs: number }>,
): Promise<void> {
  const known = await execute<{ feed: string; is_quiet: number }>(
    transaction,
    'select feed, is_quiet from feed_states where catalog = ?',
    [catalog],
  )
  const wasStale = new Map(known.map((row) => [row.feed, row.is_quiet === 1]))
  const changed = feeds.filter(({ name, isStale }) => wasStale.get(name) !== isStale)
  const rows = changed.map(({ name, isStale }) => ({ catalog, feed: name, is_quiet: Number(isStale) }))
  await insertRows(transaction, 'feed_states', rows, { keys: ['catalog', 'feed'] })
  const names = new Set(feeds.map(({ name }) => name))
  for (const feed of [...wasStale.keys()].filter((name) => !names.has(name)))
    await execute(transaction, 'delete from feed_states where catalog = ? and feed = ?', [catalog, feed])
  const events = changed
    .filter(({ name, isStale }) => isStale && wasStale.has(name))
    .map(({ name, channelId, fetchedAtMs }) => ({
      channelId,
      details: { type: 'feed.stale', feed: name, fetchedAtMs } as const,
    }))
  await insertEvents(transaction, { catalog, nowMs }, events)
}

/** Find the oldest event that is not delivered. */
async function findPending(
  database: Kysely<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<StoredEvent | undefined> {
  const statement = `select ${COLUMNS} from ${SOURCE} where e.catalog = ? and e.delivered_at_ms is null and e.at_ms > ?
    order by e.at_ms, e.position, e.id limit 1`
  const [row] = await execute<EventRow>(database, statement, [catalog, nowMs - DELIVERY_PERIOD_MS])
  return row && toEvent(row)
}

/** The row whose lease allows to deliver the events of a catalog. */
function toDelivery(database: Kysely<CopyTables>, catalog: string): Omit<LeaseRow, 'clock'> {
  return { database, table: 'event_deliveries', key: sql`catalog = ${catalog}` }
}

async function leaseEvent(
  transaction: Transaction<CopyTables>,
  { catalog, clock, lease }: Readonly<{ catalog: string; clock: Clock; lease: Lease }>,
): Promise<LeasedEvent | undefined> {
  await execute(
    transaction,
    'insert into event_deliveries (catalog) values (?) on conflict (catalog) do nothing',
    [catalog],
  )
  const nowMs = clock.nowMs()
  const row = toDelivery(transaction, catalog)
  const latestMs = nowMs + 2 * MAX_RETRY_WAIT_MS
  const key = sql<SqlBool>`${row.key} and (next_attempt_ms <= ${nowMs} or next_attempt_ms > ${latestMs})`
  const failures = await acquireLease({ ...row, clock, key }, lease, 'failures')
  if (failures === undefined) return undefined
  // Read after the row is locked: another process may have delivered the event that was found before.
  const event = await findPending(transaction, catalog, nowMs)
  if (event !== undefined) return { event, failures }
  await releaseLease(row, lease.owner)
  return undefined
}

async function readDeliveryState(
  database: Kysely<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<DeliveryState> {
  const statement = `select (select count(*) from events where catalog = ? and delivered_at_ms is null and at_ms > ?)
      as pending, d.delivered_at_ms, d.failure, d.failed_at_ms
    from (select 1 as one) o left join event_deliveries d on d.catalog = ?`
  const [row] = await execute<{
    pending: number
    delivered_at_ms: number | null
    failure: string | null
    failed_at_ms: number | null
  }>(database, statement, [catalog, nowMs - DELIVERY_PERIOD_MS, catalog])
  return {
    pendingCount: row?.pending ?? 0,
    deliveredAtMs: row?.delivered_at_ms ?? null,
    failure: row?.failure ?? null,
    failedAtMs: row?.failed_at_ms ?? null,
  }
}
