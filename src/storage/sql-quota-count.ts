import { type Compilable, type Kysely, sql } from 'kysely'
import { type QuotaState, SHARES, correctPause, toDay } from '../catalog/quota.ts'
import { type QuotaUpdate, isPauseChanged, toFirstMinute, toLastMinute, updateQuota } from './sql-quota.ts'
import type { CopyTables } from './schema.ts'
import { executeOnce } from './statements.ts'

/** Stands for "no limit was learned" where values are compared. */
const NONE_LEARNED = -1

/**
 * Makes what changes the state of a catalog's quota. Nearly every change counts a call and nothing else: that is one statement
 * while nobody has changed the state since it was seen here last, and else a transaction.
 */
export function createQuotaUpdater(
  database: Kysely<CopyTables>,
  catalog: string,
): (update: QuotaUpdate) => Promise<QuotaState> {
  let seen: QuotaState | undefined
  return async (update) => {
    const counted = seen && (await countCall(database, catalog, { seen, ...update }))
    seen = counted ?? (await updateQuota(database, catalog, update))
    return seen
  }
}

/** `undefined`: nothing was done, since more is to be written than a call, or the state is another one by now. */
async function countCall(
  database: Kysely<CopyTables>,
  catalog: string,
  { seen, nowMs, change }: QuotaUpdate & Readonly<{ seen: QuotaState }>,
): Promise<QuotaState | undefined> {
  if (seen.day !== toDay(nowMs) || correctPause(seen, nowMs) !== seen) return undefined
  const after = change(seen)
  if (!isCallAlone(seen, after)) return undefined
  const { calls, day, limitedUntilMs, pauseCount, limitedAtMs, learnedCalls } = seen
  const { walk, refresh, lookup } = after.calls
  const asSeen = [day, calls.walk, calls.refresh, calls.lookup, seen.reserved]
  const pause = [limitedUntilMs, pauseCount, limitedAtMs, learnedCalls ?? NONE_LEARNED]
  const minutes = [toFirstMinute(nowMs), toLastMinute(nowMs)]
  const counted = await executeOnce(database, 'count call', {
    values: [
      walk,
      refresh,
      lookup,
      catalog,
      ...asSeen,
      catalog,
      ...pause,
      catalog,
      ...minutes,
      seen.lookupsLastHour,
    ],
    build: () => buildCount(database, catalog, { seen, after, nowMs }),
  })
  return counted.length === 0 ? undefined : after
}

/** Writes the calls after this one where calls, pause and look-ups are as they were seen: what was judged holds. */
function buildCount(
  database: Kysely<CopyTables>,
  catalog: string,
  { seen, after, nowMs }: Readonly<{ seen: QuotaState; after: QuotaState; nowMs: number }>,
): Compilable<Readonly<{ day: number }>> {
  const { calls, day, limitedUntilMs, pauseCount, limitedAtMs, learnedCalls } = seen
  const { walk, refresh, lookup } = after.calls
  const otherPause = database
    .selectFrom('quotas')
    .select('pause_count')
    .where('catalog', '=', catalog)
    .where((of) =>
      of.or([
        of('limited_until_ms', '!=', limitedUntilMs),
        of('pause_count', '!=', pauseCount),
        of('limited_at_ms', '!=', limitedAtMs),
        of(
          sql<number>`coalesce(learned_calls, ${sql.lit(NONE_LEARNED)})`,
          '!=',
          learnedCalls ?? NONE_LEARNED,
        ),
      ]),
    )
  return database
    .updateTable('quota_days')
    .set({ walk, refresh, lookup })
    .where('catalog', '=', catalog)
    .where('day', '=', day)
    .where('walk', '=', calls.walk)
    .where('refresh', '=', calls.refresh)
    .where('lookup', '=', calls.lookup)
    .where('reserved', '=', seen.reserved)
    .where(({ not, exists }) => not(exists(otherPause)))
    .where(
      ({ selectFrom }) =>
        selectFrom('quota_minutes')
          .select(sql<number>`coalesce(sum(lookups), 0)`.as('sum'))
          .where('catalog', '=', catalog)
          .where('minute', '>=', toFirstMinute(nowMs))
          .where('minute', '<=', toLastMinute(nowMs)),
      '=',
      seen.lookupsLastHour,
    )
    .returning('day')
}

function isCallAlone(before: QuotaState, after: QuotaState): boolean {
  return (
    before.day === after.day &&
    !isPauseChanged(before, after) &&
    before.lookupsLastHour === after.lookupsLastHour &&
    before.reserved === after.reserved &&
    SHARES.some((share) => before.calls[share] !== after.calls[share])
  )
}
