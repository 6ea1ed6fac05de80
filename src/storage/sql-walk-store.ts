import type { Kysely, Transaction } from 'kysely'
import { type Clock, isFuture, systemClock } from '../clock.ts'
import type { CopyTables } from './schema.ts'
import { WalkError } from '../errors.ts'
import { isPostgres } from '../database/postgres.ts'
import { transact } from '../database/transact.ts'
import { holdChannelList, putChannelList } from './sql-channels.ts'
import { type CopyRow, getCopy, readCopyState } from './sql-copies.ts'
import { computeDealCurrency } from './sql-deals.ts'
import { createDealIndexes, dropDealIndexes } from './sqlite-deal-indexes.ts'
import { NOTHING_HELD, holdWalk, isWalkMalformed } from './sql-held-walk.ts'
import { createLeases } from './sql-leases.ts'
import { listKnown } from './sql-page-range.ts'
import { removeLapsedDeals } from './sql-first-seen.ts'
import { type Guard, applyPage } from './sql-pages.ts'
import { countDeals, removeAbsences, removeEnded, sumPages } from './sql-walk.ts'
import type { WalkPlace, WalkStore } from './store.ts'

/** The walk's side of the stored copy over one writing connection. */
export function createSqlWalkStore(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock = systemClock,
): Omit<WalkStore, 'close' | 'updateQuota'> {
  const open = (channelId: string): Promise<CopyRow> => getCopy(database, catalog, channelId)
  const { guard, ...leases } = createLeases(database, open, clock)
  return {
    ...leases,
    async beginWalk(channelId, times) {
      const copy = await open(channelId)
      return beginWalk(database, copy, { ...times, guard: guard(copy) })
    },
    listKnown: async (channelId, afterGtin) => listKnown(database, (await open(channelId)).id, afterGtin),
    async applyPage(channelId, page) {
      const copy = await open(channelId)
      return applyPage(database, copy, { page, guard: guard(copy), nowMs: clock.nowMs() })
    },
    isWalkMalformed: async (channelId, walk) => isWalkMalformed(database, (await open(channelId)).id, walk),
    async holdWalk(channelId, walk, held) {
      const copy = await open(channelId)
      await holdWalk(database, copy, { walk, held, guard: guard(copy) })
    },
    async completeWalk(channelId, walk, end) {
      const copy = await open(channelId)
      await completeWalk(database, copy, { ...end, walk, guard: guard(copy) })
    },
    async failWalk(channelId, code, nowMs) {
      const copy = await open(channelId)
      await transact(database, async (transaction) => {
        await guard(copy)(transaction)
        await transaction
          .updateTable('copies')
          .set({ failure: code, failed_at_ms: nowMs })
          .where('id', '=', copy.id)
          .execute()
      }).catch((error: unknown) => {
        // One that another process has taken over has not failed.
        if (!(error instanceof WalkError)) throw error
      })
    },
    putChannelList: (channels, asOfMs) => putChannelList(database, catalog, { channels, asOfMs }),
    holdChannelList: (asOfMs) => holdChannelList(database, catalog, asOfMs),
    getCopyState: (channelId) => readCopyState(database, catalog, channelId),
  }
}

async function beginWalk(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  times: Readonly<{ nowMs: number; resumableSinceMs: number; guard: Guard }>,
): Promise<WalkPlace> {
  await removeEnded(database, copy.id, copy.currentWalk)
  if (copy.currentWalk === 0 && !isPostgres(database)) await dropDealIndexes(database)
  return transact(database, async (transaction) => {
    await times.guard(transaction)
    return placeWalk(transaction, copy, times)
  })
}

/** The place where a broken walk goes on, or the beginning, with what is left of another one removed. */
async function placeWalk(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  times: Readonly<{ nowMs: number; resumableSinceMs: number }>,
): Promise<WalkPlace> {
  const walk = copy.currentWalk + 1
  const place = copy.runningWalk === walk ? await findPlace(transaction, copy, times) : undefined
  if (place === undefined) {
    await transaction
      .deleteFrom('walk_pages')
      .where('copy_id', '=', copy.id)
      .where('walk', '=', walk)
      .execute()
  }
  await transaction
    .updateTable('copies')
    .set({
      running_walk: walk,
      failure: null,
      failed_at_ms: null,
      ...(place === undefined && { started_at_ms: times.nowMs }),
    })
    .where('id', '=', copy.id)
    .execute()
  const start = { walk, cursor: null, afterGtin: '', productCount: 0, isWalked: false }
  return place ?? { ...start, startedAtMs: times.nowMs }
}

async function findPlace(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { nowMs, resumableSinceMs }: Readonly<{ nowMs: number; resumableSinceMs: number }>,
): Promise<WalkPlace | undefined> {
  const page = await database
    .selectFrom('walk_pages')
    .innerJoin('copies', 'copies.id', 'walk_pages.copy_id')
    .select(['until_gtin', 'next_cursor', 'as_of_ms', 'started_at_ms'])
    .where('copy_id', '=', copy.id)
    .where('walk', '=', copy.runningWalk)
    .orderBy('after_gtin', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (page === undefined || page.as_of_ms < resumableSinceMs || isFuture(page.as_of_ms, nowMs))
    return undefined
  const { productCount } = await sumPages(database, copy.id, copy.runningWalk)
  return {
    walk: copy.runningWalk,
    cursor: page.next_cursor,
    afterGtin: page.until_gtin,
    productCount,
    startedAtMs: page.started_at_ms ?? page.as_of_ms,
    isWalked: page.next_cursor === null,
  }
}

async function completeWalk(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  end: Readonly<{ walk: number; nowMs: number; isMalformed: boolean; guard: Guard }>,
): Promise<void> {
  const hasIndexes = isPostgres(database)
  if (!hasIndexes) await createDealIndexes(database)
  const { productCount, drops } = await sumPages(database, copy.id, end.walk)
  const dealCount = await countDeals(database, copy.id, end.walk)
  const dealCurrency = await computeDealCurrency(database, copy.id, end.walk)
  const completed = await transact(database, async (transaction) => {
    await end.guard(transaction)
    if (!hasIndexes) await createDealIndexes(transaction)
    return transaction
      .updateTable('copies')
      .set(({ ref }) => ({
        current_walk: end.walk,
        running_walk: end.walk,
        completed_started_at_ms: ref('started_at_ms'),
        completed_at_ms: end.nowMs,
        product_count: productCount,
        deal_count: dealCount,
        deal_currency: dealCurrency ?? null,
        drops: JSON.stringify(drops),
        is_malformed: Number(end.isMalformed),
        ...NOTHING_HELD,
        failure: null,
        failed_at_ms: null,
      }))
      .where('id', '=', copy.id)
      .where('current_walk', '<', end.walk)
      .returning('completed_started_at_ms')
      .executeTakeFirst()
  })
  await removeEnded(database, copy.id, end.walk)
  const startedAtMs = completed?.completed_started_at_ms ?? 0
  await removeAbsences(database, copy.id, { startedAtMs, nowMs: end.nowMs })
  await removeLapsedDeals(database, copy.id, end.nowMs)
}
