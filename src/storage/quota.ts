import { type Transaction, sql } from 'kysely'
import {
  type QuotaChange,
  type QuotaState,
  QUOTA_SHARES,
  type QuotaShare,
  clearImpossiblePause,
  toDayNumber,
} from '../catalog/quota.ts'
import { HOUR_MS, MINUTE_MS } from '../clock.ts'
import { isPostgres } from '../database/dialect.ts'
import { readDatabaseTime } from '../database/leases.ts'
import type { CopyTables } from './schema.ts'

/** Days of call counts that are kept for the operator. */
const RETENTION_DAYS = 8

type QuotaContext = Readonly<{ transaction: Transaction<CopyTables>; catalog: string; nowMs: number }>

/** Change a catalog's quota state in a `read committed` transaction. Concurrent changes run one after another. */
export async function updateQuota(
  transaction: Transaction<CopyTables>,
  catalog: string,
  nowMs: number,
  change: QuotaChange,
): Promise<QuotaState> {
  const context = { transaction, catalog, nowMs }
  if (isPostgres(transaction)) await lockQuota(context)
  const stored = await readQuota(context)
  const before = await correctStoredPause(context, stored)
  const after = change(before)
  if (isPauseChanged(stored, after)) await writePause(context, after)
  await addCalls(context, before, after)
  await addLookups(context, after.lookupsLastHour - before.lookupsLastHour)
  return after
}

/** Lock the catalog's row in PostgreSQL; SQLite has only one writer. */
async function lockQuota({ transaction, catalog }: QuotaContext): Promise<void> {
  const { rows } = await sql`select 1 from quotas where catalog = ${catalog} for update`.execute(transaction)
  if (rows.length === 0)
    await sql`insert into quotas (catalog, limited_until_ms, pause_count, limited_at_ms) values (${catalog}, 0, 0, 0)
      on conflict (catalog) do update set catalog = excluded.catalog`.execute(transaction)
}

type QuotaRow = Readonly<
  Record<'limited_until_ms' | 'pause_count' | 'limited_at_ms' | QuotaShare | 'lookups', unknown> &
    Record<'learned_calls', number | null>
>

async function readQuota({ transaction, catalog, nowMs }: QuotaContext): Promise<QuotaState> {
  const day = toDayNumber(nowMs)
  // The oldest minute counts fully, so no 60 minutes exceed the limit. Minutes after the next one, from a wrong clock, do
  // not count.
  const { rows } = await sql<QuotaRow>`
    select limited_until_ms, pause_count, limited_at_ms, learned_calls, walk, refresh, lookup,
      (select sum(lookups) from quota_minutes where catalog = ${catalog}
        and minute >= ${toMinute(nowMs - HOUR_MS)} and minute <= ${toMinute(nowMs) + 1}) as lookups
    from (select 1 as one) as one
    left join quotas on quotas.catalog = ${catalog}
    left join quota_days on quota_days.catalog = ${catalog} and day = ${day}`.execute(transaction)
  // Missing rows give null, which `Number` converts to 0.
  const row = rows[0] as QuotaRow
  return {
    limitedUntilMs: Number(row.limited_until_ms),
    pauseCount: Number(row.pause_count),
    limitedAtMs: Number(row.limited_at_ms),
    learnedCalls: row.learned_calls,
    day,
    calls: { walk: Number(row.walk), refresh: Number(row.refresh), lookup: Number(row.lookup) },
    lookupsLastHour: Number(row.lookups),
  }
}

/**
 * Remove an impossible pause. Also check the database server's clock: a machine whose clock is behind must not end the
 * pause for all machines.
 */
async function correctStoredPause(
  { transaction, nowMs }: QuotaContext,
  stored: QuotaState,
): Promise<QuotaState> {
  if (clearImpossiblePause(stored, nowMs) === stored) return stored
  return clearImpossiblePause(stored, Math.max(nowMs, (await readDatabaseTime(transaction)) ?? nowMs))
}

function isPauseChanged(before: QuotaState, after: QuotaState): boolean {
  return (['limitedUntilMs', 'pauseCount', 'limitedAtMs', 'learnedCalls'] as const).some(
    (name) => before[name] !== after[name],
  )
}

async function writePause({ transaction, catalog }: QuotaContext, state: QuotaState): Promise<void> {
  const { limitedUntilMs, pauseCount, limitedAtMs, learnedCalls } = state
  await sql`insert into quotas (catalog, limited_until_ms, pause_count, limited_at_ms, learned_calls)
    values (${catalog}, ${limitedUntilMs}, ${pauseCount}, ${limitedAtMs}, ${learnedCalls})
    on conflict (catalog) do update set limited_until_ms = excluded.limited_until_ms, pause_count = excluded.pause_count,
      limited_at_ms = excluded.limited_at_ms, learned_calls = excluded.learned_calls`.execute(transaction)
}

/** Add the counts instead of setting them: during a rolling update, replicas of an older version count without the lock. */
async function addCalls(
  { transaction, catalog }: QuotaContext,
  before: QuotaState,
  { day, calls }: QuotaState,
): Promise<void> {
  const added = QUOTA_SHARES.map((share) => calls[share] - before.calls[share])
  if (added.every((count) => count === 0)) return
  await sql`insert into quota_days (catalog, day, walk, refresh, lookup) values (${catalog}, ${day}, ${sql.join(added)})
    on conflict (catalog, day) do update set walk = quota_days.walk + excluded.walk,
      refresh = quota_days.refresh + excluded.refresh, lookup = quota_days.lookup + excluded.lookup`.execute(
    transaction,
  )
  // The first call of a day deletes old rows.
  if (QUOTA_SHARES.every((share) => before.calls[share] === 0))
    await sql`delete from quota_days where catalog = ${catalog} and day < ${day - RETENTION_DAYS}`.execute(
      transaction,
    )
}

async function addLookups({ transaction, catalog, nowMs }: QuotaContext, lookups: number): Promise<void> {
  if (lookups === 0) return
  const { rows } = await sql<Readonly<{ lookups: number }>>`
    insert into quota_minutes (catalog, minute, lookups) values (${catalog}, ${toMinute(nowMs)}, ${lookups})
    on conflict (catalog, minute) do update set lookups = quota_minutes.lookups + excluded.lookups
    returning lookups`.execute(transaction)
  // The first look-up of a minute deletes old rows.
  if (rows[0]?.lookups === lookups)
    await sql`delete from quota_minutes where catalog = ${catalog}
      and minute < ${toMinute(nowMs - HOUR_MS)}`.execute(transaction)
}

function toMinute(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
