import { type Kysely, type Transaction, sql } from 'kysely'
import {
  type QuotaChange,
  type QuotaState,
  SHARES,
  correctPause,
  createQuotaState,
} from '../catalog/quota.ts'
import { HOUR_MS, MINUTE_MS } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { transact } from '../database/transact.ts'
import type { CopyTables, QuotaDaysTable, QuotaMinutesTable, QuotasTable } from './schema.ts'
import { readTime } from './sql-leases.ts'
import { execute } from './statements.ts'

/** Days whose calls are kept: an operator may look back. */
const KEPT_DAYS = 8

type Place = Readonly<{ transaction: Transaction<CopyTables>; catalog: string; nowMs: number }>

/** Change the state of a catalog's quota in one transaction; processes take it one after the other. */
export function updateQuota(
  database: Kysely<CopyTables>,
  catalog: string,
  update: Readonly<{ nowMs: number; change: QuotaChange }>,
): Promise<QuotaState> {
  const { nowMs, change } = update
  const work = async (transaction: Transaction<CopyTables>): Promise<QuotaState> => {
    const place = { transaction, catalog, nowMs }
    if (isPostgres(transaction)) await lockQuota(place)
    const stored = await readQuota(place)
    const before = await correctStoredPause(place, stored)
    const after = change(before)
    if (isPauseChanged(stored, after)) await writePause(place, after)
    if (SHARES.some((share) => before.calls[share] !== after.calls[share]))
      await addCalls(place, before, after)
    const lookups = after.lookupsLastHour - before.lookupsLastHour
    if (lookups > 0) await addLookups(place, lookups)
    return after
  }
  return transact(database, work, { kind: 'queued' })
}

/** On a server all processes queue for the catalog's row; SQLite has one writer. */
async function lockQuota({ transaction, catalog }: Place): Promise<void> {
  const { rows } = await sql`select 1 from quotas where catalog = ${catalog} for update`.execute(transaction)
  if (rows.length === 0)
    await sql`insert into quotas (catalog, limited_until_ms, pause_count, limited_at_ms) values (${catalog}, 0, 0, 0)
      on conflict (catalog) do update set catalog = excluded.catalog`.execute(transaction)
}

const READ_QUOTA = `select q.limited_until_ms, q.pause_count, q.limited_at_ms, q.learned_calls,
  d.walk, d.refresh, d.lookup,
  (select sum(lookups) from quota_minutes where catalog = ? and minute >= ? and minute <= ?) as lookups
  from (select 1 as one) as o left join quotas as q on q.catalog = ?
  left join quota_days as d on d.catalog = ? and d.day = ?`

type QuotaRow = { readonly [K in keyof (QuotasTable & QuotaDaysTable & QuotaMinutesTable)]: number | null }

async function readQuota({ transaction, catalog, nowMs }: Place): Promise<QuotaState> {
  const empty = createQuotaState(nowMs)
  // The minute an hour ago counts whole, so that no 60 minutes ever see more than their budget. Minutes of a clock that was
  // ahead do not count.
  const minutes = [toMinute(nowMs - HOUR_MS), toMinute(nowMs) + 1]
  const values = [catalog, ...minutes, catalog, catalog, empty.day]
  const [row] = await execute<QuotaRow>(transaction, READ_QUOTA, values)
  // What is not there is null, which is 0 as a number.
  const { learned_calls: learnedCalls, ...found } = row as NonNullable<typeof row>
  return {
    limitedUntilMs: Number(found.limited_until_ms),
    pauseCount: Number(found.pause_count),
    limitedAtMs: Number(found.limited_at_ms),
    learnedCalls,
    day: empty.day,
    calls: { walk: Number(found.walk), refresh: Number(found.refresh), lookup: Number(found.lookup) },
    lookupsLastHour: Number(found.lookups),
  }
}

/**
 * A machine whose clock is behind must not end the pause of all, so the clock of the database server counts too. A machine
 * whose clock is ahead keeps the pause that it noted itself, until another one removes it.
 */
async function correctStoredPause({ transaction, nowMs }: Place, stored: QuotaState): Promise<QuotaState> {
  if (correctPause(stored, nowMs) === stored) return stored
  return correctPause(stored, Math.max(nowMs, (await readTime(transaction)) ?? nowMs))
}

function isPauseChanged(before: QuotaState, after: QuotaState): boolean {
  return (['limitedUntilMs', 'pauseCount', 'limitedAtMs', 'learnedCalls'] as const).some(
    (name) => before[name] !== after[name],
  )
}

async function writePause({ transaction, catalog }: Place, state: QuotaState): Promise<void> {
  const { limitedUntilMs, pauseCount, limitedAtMs, learnedCalls } = state
  await sql`insert into quotas (catalog, limited_until_ms, pause_count, limited_at_ms, learned_calls)
    values (${catalog}, ${limitedUntilMs}, ${pauseCount}, ${limitedAtMs}, ${learnedCalls})
    on conflict (catalog) do update set limited_until_ms = excluded.limited_until_ms,
    pause_count = excluded.pause_count, limited_at_ms = excluded.limited_at_ms,
    learned_calls = excluded.learned_calls`.execute(transaction)
}

const ADD_CALLS = `insert into quota_days (catalog, day, ${SHARES.join(', ')}) values (?, ?, ?, ?, ?)
  on conflict (catalog, day) do update set
  ${SHARES.map((share) => `${share} = quota_days.${share} + excluded.${share}`).join(', ')}`

/** Added, not set: during an update a replica of the version before counts without the lock. */
async function addCalls(
  { transaction, catalog }: Place,
  before: QuotaState,
  after: QuotaState,
): Promise<void> {
  const { day } = after
  const added = SHARES.map((share) => after.calls[share] - before.calls[share])
  await execute(transaction, ADD_CALLS, [catalog, day, ...added])
  // The first call of a day removes the rows that are too old.
  if (!SHARES.some((share) => before.calls[share] > 0))
    await sql`delete from quota_days where catalog = ${catalog} and day < ${day - KEPT_DAYS}`.execute(
      transaction,
    )
}

const ADD_LOOKUPS = `insert into quota_minutes (catalog, minute, lookups) values (?, ?, ?)
  on conflict (catalog, minute) do update set lookups = quota_minutes.lookups + excluded.lookups
  returning lookups`

async function addLookups({ transaction, catalog, nowMs }: Place, lookups: number): Promise<void> {
  const values = [catalog, toMinute(nowMs), lookups]
  const [row] = await execute<QuotaMinutesTable>(transaction, ADD_LOOKUPS, values)
  // The first look-up of a minute removes the rows that are too old.
  if (row?.lookups === lookups)
    await sql`delete from quota_minutes where catalog = ${catalog} and minute < ${toMinute(nowMs - HOUR_MS)}`.execute(
      transaction,
    )
}

function toMinute(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
