import { type Kysely, type Transaction, sql } from 'kysely'
import {
  type QuotaState,
  type Share,
  SHARES,
  correctPause,
  createQuotaState,
  toDay,
} from '../catalog/quota.ts'
import type { QuotaChange } from '../catalog/quota-ledger.ts'
import { HOUR_MS, MINUTE_MS } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { transact } from '../database/transact.ts'
import type { CopyTables } from './schema.ts'
import { readTime } from './sql-time.ts'
import { executeOnce } from './statements.ts'

/** Days whose calls are kept: an operator may look back. */
const KEPT_DAYS = 8

/** A change of the quota, and the time that it belongs to. */
export type QuotaUpdate = Readonly<{ nowMs: number; change: QuotaChange }>

/**
 * Changes the state of a catalog's quota in one transaction, which is also a queue: no two processes decide by the same
 * count.
 */
export async function updateQuota(
  database: Kysely<CopyTables>,
  catalog: string,
  update: QuotaUpdate,
): Promise<QuotaState> {
  const work = async (transaction: Transaction<CopyTables>): Promise<QuotaState> => {
    await takeTurn(transaction, catalog, toDay(update.nowMs))
    const stored = await readQuota(transaction, catalog, update.nowMs)
    const before = await correctStoredPause(transaction, stored, update.nowMs)
    const after = update.change(before)
    if (isPauseChanged(stored, after)) await writePause(transaction, catalog, after)
    if (isDayChanged(before, after)) await writeDay(transaction, catalog, { before, after })
    const lookups = after.lookupsLastHour - before.lookupsLastHour
    if (lookups > 0) await addLookups(transaction, catalog, { minute: toMinute(update.nowMs), lookups })
    return after
  }
  return transact(database, work, { kind: 'queued' })
}

/**
 * A machine with a clock that is behind must not end the pause of all, so that of the database server counts. One that is ahead keeps
 * the pause that it has noted itself, until another one removes it.
 */
async function correctStoredPause(
  transaction: Transaction<CopyTables>,
  stored: QuotaState,
  nowMs: number,
): Promise<QuotaState> {
  if (correctPause(stored, nowMs) === stored) return stored
  return correctPause(stored, Math.max(nowMs, (await readTime(transaction)) ?? nowMs))
}

function isDayChanged(before: QuotaState, after: QuotaState): boolean {
  return (
    before.reserved !== after.reserved || SHARES.some((share) => before.calls[share] !== after.calls[share])
  )
}

/** On a server a row is what they queue for; SQLite has one writer. */
async function takeTurn(transaction: Transaction<CopyTables>, catalog: string, day: number): Promise<void> {
  if (!isPostgres(transaction)) return
  const row = await transaction
    .selectFrom('quotas')
    .select('catalog')
    .where('catalog', '=', catalog)
    .forUpdate()
    .executeTakeFirst()
  if (row !== undefined) return lockDay(transaction, catalog, day)
  const none = { limited_until_ms: 0, pause_count: 0, limited_at_ms: 0, learned_calls: null }
  await transaction
    .insertInto('quotas')
    .values({ catalog, ...none })
    .onConflict((conflict) => conflict.column('catalog').doUpdateSet({ catalog }))
    .execute()
  await lockDay(transaction, catalog, day)
}

/** The day's row as well: a call that is counted alone takes no turn. */
async function lockDay(transaction: Transaction<CopyTables>, catalog: string, day: number): Promise<void> {
  await transaction
    .selectFrom('quota_days')
    .select('day')
    .where('catalog', '=', catalog)
    .where('day', '=', day)
    .forUpdate()
    .execute()
}

async function readQuota(
  transaction: Transaction<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<QuotaState> {
  const empty = createQuotaState(nowMs)
  const firstMinute = toFirstMinute(nowMs)
  const lastMinute = toLastMinute(nowMs)
  const [row] = await executeOnce(transaction, 'read quota', {
    values: [catalog, firstMinute, lastMinute, catalog, catalog, empty.day],
    build: () =>
      transaction
        .selectFrom(sql<Readonly<{ one: number }>>`(select 1 as one)`.as('o'))
        .leftJoin('quotas as q', (join) => join.on('q.catalog', '=', catalog))
        .leftJoin('quota_days as d', (join) => join.on('d.catalog', '=', catalog).on('d.day', '=', empty.day))
        .select(['limited_until_ms', 'pause_count', 'limited_at_ms', 'learned_calls', 'reserved', ...SHARES])
        .select(({ selectFrom }) =>
          selectFrom('quota_minutes')
            .select(sql<number | null>`sum(lookups)`.as('sum'))
            .where('catalog', '=', catalog)
            .where('minute', '>=', firstMinute)
            .where('minute', '<=', lastMinute)
            .as('lookups'),
        ),
  })
  return row === undefined ? empty : toState(empty, row)
}

type QuotaRow = Readonly<
  Record<
    'limited_until_ms' | 'pause_count' | 'limited_at_ms' | 'learned_calls' | 'lookups' | 'reserved' | Share,
    number | null
  >
>

/** What is not there is as at the beginning. */
function toState(empty: QuotaState, row: QuotaRow): QuotaState {
  const { calls } = empty
  return {
    ...empty,
    limitedUntilMs: row.limited_until_ms ?? empty.limitedUntilMs,
    pauseCount: row.pause_count ?? empty.pauseCount,
    limitedAtMs: row.limited_at_ms ?? empty.limitedAtMs,
    learnedCalls: row.learned_calls ?? empty.learnedCalls,
    calls: {
      walk: row.walk ?? calls.walk,
      refresh: row.refresh ?? calls.refresh,
      lookup: row.lookup ?? calls.lookup,
    },
    reserved: row.reserved ?? empty.reserved,
    lookupsLastHour: row.lookups ?? 0,
  }
}

/** Is anything else of the state changed than what is counted? */
export function isPauseChanged(before: QuotaState, after: QuotaState): boolean {
  return (['limitedUntilMs', 'pauseCount', 'limitedAtMs', 'learnedCalls'] as const).some(
    (name) => before[name] !== after[name],
  )
}

async function writePause(
  transaction: Transaction<CopyTables>,
  catalog: string,
  state: QuotaState,
): Promise<void> {
  const content = {
    limited_until_ms: state.limitedUntilMs,
    pause_count: state.pauseCount,
    limited_at_ms: state.limitedAtMs,
    learned_calls: state.learnedCalls,
  }
  await transaction
    .insertInto('quotas')
    .values({ catalog, ...content })
    .onConflict((conflict) => conflict.column('catalog').doUpdateSet(content))
    .execute()
}

async function writeDay(
  transaction: Transaction<CopyTables>,
  catalog: string,
  { before, after }: Readonly<{ before: QuotaState; after: QuotaState }>,
): Promise<void> {
  const { day } = after
  const { walk, refresh, lookup } = after.calls
  const content = { walk, refresh, lookup, reserved: after.reserved }
  await executeOnce(transaction, 'write calls of day', {
    values: [catalog, day, ...Object.values(content), ...Object.values(content)],
    build: () =>
      transaction
        .insertInto('quota_days')
        .values({ catalog, day, ...content })
        .onConflict((conflict) => conflict.columns(['catalog', 'day']).doUpdateSet(content)),
  })
  // The first call of a day takes what is too old along.
  if (SHARES.some((share) => before.calls[share] > 0)) return
  await executeOnce(transaction, 'remove old days', {
    values: [catalog, day - KEPT_DAYS],
    build: () =>
      transaction
        .deleteFrom('quota_days')
        .where('catalog', '=', catalog)
        .where('day', '<', day - KEPT_DAYS),
  })
}

async function addLookups(
  transaction: Transaction<CopyTables>,
  catalog: string,
  { minute, lookups }: Readonly<{ minute: number; lookups: number }>,
): Promise<void> {
  const [row] = await executeOnce(transaction, 'add lookups', {
    values: [catalog, minute, lookups, lookups],
    build: () =>
      transaction
        .insertInto('quota_minutes')
        .values({ catalog, minute, lookups })
        .onConflict((conflict) =>
          conflict
            .columns(['catalog', 'minute'])
            .doUpdateSet(({ eb, ref }) => ({ lookups: eb(ref('quota_minutes.lookups'), '+', lookups) })),
        )
        .returning('lookups'),
  })
  // The first look-up of a minute takes what is too old along.
  if (row?.lookups !== lookups) return
  const oldMinute = minute - HOUR_MS / MINUTE_MS
  await executeOnce(transaction, 'remove old minutes', {
    values: [catalog, oldMinute],
    build: () =>
      transaction.deleteFrom('quota_minutes').where('catalog', '=', catalog).where('minute', '<', oldMinute),
  })
}

/** The first minute of the hour that look-ups are counted over: it counts whole, so no 60 minutes ever see more than their budget. */
export function toFirstMinute(nowMs: number): number {
  return toMinute(nowMs - HOUR_MS)
}

/** The last one: those of a clock that was wrong would count until it is right. */
export function toLastMinute(nowMs: number): number {
  return toMinute(nowMs) + 1
}

function toMinute(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
