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
import type { CopyTables } from './schema.ts'
import { readTime } from './sql-time.ts'
import { executeOnce } from './statements.ts'

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
  const locked = await transaction
    .selectFrom('quotas')
    .select('catalog')
    .where('catalog', '=', catalog)
    .forUpdate()
    .executeTakeFirst()
  if (locked !== undefined) return
  await transaction
    .insertInto('quotas')
    .values({ catalog, limited_until_ms: 0, pause_count: 0, limited_at_ms: 0, learned_calls: null })
    .onConflict((conflict) => conflict.column('catalog').doUpdateSet({ catalog }))
    .execute()
}

async function readQuota({ transaction, catalog, nowMs }: Place): Promise<QuotaState> {
  const empty = createQuotaState(nowMs)
  // The minute an hour ago counts whole, so that no 60 minutes ever see more than their budget. Minutes of a clock that was
  // ahead do not count.
  const minutes = [toMinute(nowMs - HOUR_MS), toMinute(nowMs) + 1] as const
  const [row] = await executeOnce(transaction, 'read quota', {
    values: [catalog, ...minutes, catalog, catalog, empty.day],
    build: () =>
      transaction
        .selectFrom(sql<Readonly<{ one: number }>>`(select 1 as one)`.as('o'))
        .leftJoin('quotas as q', (join) => join.on('q.catalog', '=', catalog))
        .leftJoin('quota_days as d', (join) => join.on('d.catalog', '=', catalog).on('d.day', '=', empty.day))
        .select(['limited_until_ms', 'pause_count', 'limited_at_ms', 'learned_calls', ...SHARES])
        .select(({ selectFrom }) =>
          selectFrom('quota_minutes')
            .select(sql<number | null>`sum(lookups)`.as('sum'))
            .where('catalog', '=', catalog)
            .where('minute', '>=', minutes[0])
            .where('minute', '<=', minutes[1])
            .as('lookups'),
        ),
  })
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

/** Added, not set: during an update a replica of the version before counts without the lock. */
async function addCalls(
  { transaction, catalog }: Place,
  before: QuotaState,
  after: QuotaState,
): Promise<void> {
  const { day } = after
  const [walk, refresh, lookup] = SHARES.map((share) => after.calls[share] - before.calls[share]) as [
    number,
    number,
    number,
  ]
  await executeOnce(transaction, 'add calls', {
    values: [catalog, day, walk, refresh, lookup],
    build: () =>
      transaction
        .insertInto('quota_days')
        .values({ catalog, day, walk, refresh, lookup })
        .onConflict((conflict) =>
          conflict.columns(['catalog', 'day']).doUpdateSet(({ eb, ref }) => ({
            walk: eb(ref('quota_days.walk'), '+', ref('excluded.walk')),
            refresh: eb(ref('quota_days.refresh'), '+', ref('excluded.refresh')),
            lookup: eb(ref('quota_days.lookup'), '+', ref('excluded.lookup')),
          })),
        ),
  })
  if (SHARES.some((share) => before.calls[share] > 0)) return
  // The first call of a day removes the rows that are too old.
  await transaction
    .deleteFrom('quota_days')
    .where('catalog', '=', catalog)
    .where('day', '<', day - KEPT_DAYS)
    .execute()
}

async function addLookups({ transaction, catalog, nowMs }: Place, lookups: number): Promise<void> {
  const minute = toMinute(nowMs)
  const [row] = await executeOnce(transaction, 'add lookups', {
    values: [catalog, minute, lookups],
    build: () =>
      transaction
        .insertInto('quota_minutes')
        .values({ catalog, minute, lookups })
        .onConflict((conflict) =>
          conflict.columns(['catalog', 'minute']).doUpdateSet(({ eb, ref }) => ({
            lookups: eb(ref('quota_minutes.lookups'), '+', ref('excluded.lookups')),
          })),
        )
        .returning('lookups'),
  })
  // The first look-up of a minute removes the rows that are too old.
  if (row?.lookups !== lookups) return
  await transaction
    .deleteFrom('quota_minutes')
    .where('catalog', '=', catalog)
    .where('minute', '<', toMinute(nowMs - HOUR_MS))
    .execute()
}

function toMinute(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
