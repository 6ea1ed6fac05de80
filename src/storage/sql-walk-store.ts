import { type Expression, type Kysely, type SqlBool, type Transaction, sql } from 'kysely'
import { type Drops, addDrops, countMalformedOffers, isMostlyMalformed } from '../catalog/parse.ts'
import { type Clock, DAY_MS, isFuture, systemClock, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { transact } from '../database/transact.ts'
import { WalkError } from '../errors.ts'
import { parseDrops } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { holdChannelList, putChannelList } from './sql-channels.ts'
import { type CopyRow, countOffers, getCopy, isVisibleAt, readCopyState } from './sql-copies.ts'
import { computeDealCurrency } from './sql-deals.ts'
import { type Guard, createLeases } from './sql-leases.ts'
import { MAX_TRANSACTION_ROWS, applyPage } from './sql-pages.ts'
import { deleteVersions } from './sql-versions.ts'
import { createDealIndexes, dropDealIndexes } from './sqlite-deal-indexes.ts'
import { isIn } from './statements.ts'
import type { HeldWalk, WalkPlace, WalkStore } from './store.ts'

/** Products looked at for one transaction that ends or removes some; each takes its deals along. */
const MAX_TRANSACTION_PRODUCTS = 100

/** How long the first times of a product's offers are kept while it is absent: after that, it is not the same sale. */
const LAPSED_KEPT_MS: number = 7 * DAY_MS

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
    async applyPage(channelId, page) {
      const copy = await open(channelId)
      await applyPage(database, copy, { page, guard: guard(copy), nowMs: clock.nowMs() })
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
  // The pages have confirmed or overruled older absences. Those of the future were noted by a clock that was wrong.
  const isOldAbsence = sql<SqlBool>`(as_of_ms < ${startedAtMs} or as_of_ms > ${toLatestMs(end.nowMs)})`
  await removeInSteps(database, 'absences', { copyId: copy.id, isOld: isOldAbsence })
  const isOldDeal = sql<SqlBool>`lapsed_at_ms < ${end.nowMs - LAPSED_KEPT_MS}`
  await removeInSteps(database, 'lapsed_deals', { copyId: copy.id, isOld: isOldDeal })
}

/** See `WalkStore.holdWalk`. What the walk wrote stays, unseen, and is compared again by the next one. */
async function holdWalk(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { walk, held, guard }: Readonly<{ walk: number; held: HeldWalk; guard: Guard }>,
): Promise<void> {
  await transact(database, async (transaction) => {
    await guard(transaction)
    await transaction
      .updateTable('copies')
      .set({
        running_walk: copy.currentWalk,
        held_reason: held.reason,
        held_since_ms: held.sinceMs,
        held_started_at_ms: held.startedAtMs,
        held_product_count: held.productCount,
      })
      .where('id', '=', copy.id)
      .execute()
    await transaction
      .deleteFrom('walk_pages')
      .where('copy_id', '=', copy.id)
      .where('walk', '=', walk)
      .execute()
  })
}

/** What `copies` says where no walk is held. */
const NOTHING_HELD = {
  held_reason: null,
  held_since_ms: null,
  held_started_at_ms: null,
  held_product_count: null,
} as const

/** See `WalkStore.isWalkMalformed`. */
async function isWalkMalformed(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<boolean> {
  const { productCount, drops } = await sumPages(database, copyId, walk)
  const isCounted = countMalformedOffers(drops) > 0
  const offerCount = isCounted ? await countOffers(database, copyId, walk) : 0
  return isMostlyMalformed(drops, { offerCount, productCount })
}

/** Sums of a walk's pages. */
async function sumPages(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<Readonly<{ productCount: number; drops: Drops }>> {
  const rows = await database
    .selectFrom('walk_pages')
    .select(['product_count', 'drops'])
    .where('copy_id', '=', copyId)
    .where('walk', '=', walk)
    .execute()
  const drops: Drops = {}
  for (const row of rows) addDrops(drops, parseDrops(row.drops))
  return { productCount: rows.reduce((sum, row) => sum + row.product_count, 0), drops }
}

/** Products with a deal at a walk. */
async function countDeals(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<number> {
  const row = await database
    .selectFrom('deals')
    .select(sql<number>`count(distinct gtin)`.as('count'))
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'deals'>(walk))
    .executeTakeFirst()
  return row?.count ?? 0
}

/** Removes what ended at or before `walk`, in small transactions. */
async function removeEnded(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom('products')
      .select(['id', countDealsOfProduct])
      .where('copy_id', '=', copyId)
      .where('until_walk', '<=', walk)
      .limit(MAX_TRANSACTION_PRODUCTS)
      .execute()
    if (rows.length === 0) break
    const removed = takeWithinRows(rows).map((row) => row.id)
    // A look-up elsewhere may have found one again since.
    await transact(database, (transaction) => deleteVersions(transaction, removed, walk))
  }
  await database.deleteFrom('walk_pages').where('copy_id', '=', copyId).where('walk', '<', walk).execute()
}

/** Removes rows in small transactions. */
async function removeInSteps(
  database: Kysely<CopyTables>,
  table: 'absences' | 'lapsed_deals',
  where: Readonly<{ copyId: number; isOld: Expression<SqlBool> }>,
): Promise<void> {
  for (;;) {
    const old = database.selectFrom(table).where('copy_id', '=', where.copyId).where(where.isOld)
    const rows = await old.select('gtin').limit(MAX_TRANSACTION_PRODUCTS).execute()
    if (rows.length === 0) return
    const gtins = rows.map(({ gtin }) => gtin)
    await database
      .deleteFrom(table)
      .where('copy_id', '=', where.copyId)
      .where(isIn(database, 'gtin', gtins))
      .where(where.isOld)
      .execute()
  }
}

const countDealsOfProduct = sql<number>`(select count(*) from deals where deals.product_id = products.id)`.as(
  'deal_count',
)

/** The first of the rows that one transaction may write with their deals; one at least. */
function takeWithinRows<T extends Readonly<{ deal_count: number }>>(rows: readonly T[]): readonly T[] {
  let sum = 0
  const end = rows.findIndex((row, index) => (sum += 1 + row.deal_count) > MAX_TRANSACTION_ROWS && index > 0)
  return end === -1 ? rows : rows.slice(0, end)
}
