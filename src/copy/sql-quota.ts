import type { Kysely, Transaction } from 'kysely'
import { type QuotaState, SHARES, createQuotaState } from '../catalog/quota.ts'
import type { QuotaChange } from '../catalog/quota-ledger.ts'
import { HOUR_MS, MINUTE_MS } from '../clock.ts'
import type { CopyTables } from './schema.ts'
import { executeOnce } from './statements.ts'

/** Days whose calls are kept: an operator may look back. */
const KEPT_DAYS = 8

/**
 * Changes the state of a catalog's quota in one transaction, which is also a queue: no two processes decide by the same
 * count.
 */
export async function updateQuota(
  database: Kysely<CopyTables>,
  catalog: string,
  update: Readonly<{ nowMs: number; change: QuotaChange }>,
): Promise<QuotaState> {
  return database.transaction().execute(async (transaction) => {
    const before = await readQuota(transaction, catalog, update.nowMs)
    const after = update.change(before)
    if (isPauseChanged(before, after)) await writePause(transaction, catalog, after)
    if (SHARES.some((share) => before.calls[share] !== after.calls[share]))
      await writeDay(transaction, catalog, after)
    const lookups = after.lookupsLastHour - before.lookupsLastHour
    if (lookups > 0) await addLookups(transaction, catalog, { minute: toMinute(update.nowMs), lookups })
    return after
  })
}

async function readQuota(
  transaction: Transaction<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<QuotaState> {
  const empty = createQuotaState(nowMs)
  const [pause] = await executeOnce(transaction, 'read pause', {
    values: [catalog],
    build: () =>
      transaction
        .selectFrom('quotas')
        .select(['limited_until_ms', 'pause_count', 'limited_at_ms', 'learned_calls'])
        .where('catalog', '=', catalog),
  })
  const [calls] = await executeOnce(transaction, 'read calls of day', {
    values: [catalog, empty.day],
    build: () =>
      transaction
        .selectFrom('quota_days')
        .select(SHARES)
        .where('catalog', '=', catalog)
        .where('day', '=', empty.day),
  })
  // The minute an hour ago counts whole: no 60 minutes ever see more than their budget.
  const firstMinute = toMinute(nowMs - HOUR_MS)
  // Those of a clock that was wrong would count until it is right.
  const lastMinute = toMinute(nowMs) + 1
  const [hour] = await executeOnce(transaction, 'read lookups of hour', {
    values: [catalog, firstMinute, lastMinute],
    build: () =>
      transaction
        .selectFrom('quota_minutes')
        .select(({ fn }) => fn.sum<number | null>('lookups').as('lookups'))
        .where('catalog', '=', catalog)
        .where('minute', '>=', firstMinute)
        .where('minute', '<=', lastMinute),
  })
  return {
    ...empty,
    ...(pause !== undefined && {
      limitedUntilMs: pause.limited_until_ms,
      pauseCount: pause.pause_count,
      limitedAtMs: pause.limited_at_ms,
      learnedCalls: pause.learned_calls,
    }),
    ...(calls !== undefined && { calls }),
    lookupsLastHour: hour?.lookups ?? 0,
  }
}

function isPauseChanged(before: QuotaState, after: QuotaState): boolean {
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
  { day, calls }: QuotaState,
): Promise<void> {
  const { walk, refresh, lookup } = calls
  const content = { walk, refresh, lookup }
  await executeOnce(transaction, 'write calls of day', {
    values: [catalog, day, walk, refresh, lookup, walk, refresh, lookup],
    build: () =>
      transaction
        .insertInto('quota_days')
        .values({ catalog, day, ...content })
        .onConflict((conflict) => conflict.columns(['catalog', 'day']).doUpdateSet(content)),
  })
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
  await executeOnce(transaction, 'add lookups', {
    values: [catalog, minute, lookups, lookups],
    build: () =>
      transaction
        .insertInto('quota_minutes')
        .values({ catalog, minute, lookups })
        .onConflict((conflict) =>
          conflict
            .columns(['catalog', 'minute'])
            .doUpdateSet(({ eb, ref }) => ({ lookups: eb(ref('quota_minutes.lookups'), '+', lookups) })),
        ),
  })
  const oldMinute = minute - HOUR_MS / MINUTE_MS
  await executeOnce(transaction, 'remove old minutes', {
    values: [catalog, oldMinute],
    build: () =>
      transaction.deleteFrom('quota_minutes').where('catalog', '=', catalog).where('minute', '<', oldMinute),
  })
}

function toMinute(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}
