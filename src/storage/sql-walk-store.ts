import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type Drops, addDrops, countMalformedOffers, isMostlyMalformed } from '../catalog/parse.ts'
import { type Clock, DAY_MS, isFuture, systemClock, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { transact } from '../database/transact.ts'
import { WalkError } from '../errors.ts'
import { parseDrops } from './rows.ts'
import type { CopyTables, WalkPagesTable } from './schema.ts'
import { type CopyRow, countOffers, getCopy, isVisibleAt } from './sql-copies.ts'
import { computeDealCurrency } from './sql-deals.ts'
import { type Guard, createLeases } from './sql-leases.ts'
import { MAX_TRANSACTION_ROWS, applyPage } from './sql-pages.ts'
import { deleteVersions } from './sql-versions.ts'
import { createDealIndexes, dropDealIndexes } from './sqlite-deal-indexes.ts'
import type { ChannelListStore, HeldWalk, WalkPlace, WalkStore } from './store.ts'

/** Products looked at for one transaction that ends or removes some; each takes its deals along. */
const MAX_TRANSACTION_PRODUCTS = 100

/** How long the first times of a product's offers are kept while it is absent: after that, it is not the same sale. */
const LAPSED_KEPT_MS: number = 7 * DAY_MS

/** A walk that writes: its copy, and the check that it still holds its lease. */
type Writing = Readonly<{ database: Kysely<CopyTables>; copy: CopyRow; guard: Guard }>

/** Create the walk's side of the stored copy over one writing connection. */
export function createSqlWalkStore(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock = systemClock,
): Omit<WalkStore, 'updateQuota' | keyof ChannelListStore> {
  const open = (channelId: string): Promise<CopyRow> => getCopy(database, catalog, channelId)
  const { guard, ...leases } = createLeases(database, open, clock)
  const openWriting = async (channelId: string): Promise<Writing> => {
    const copy = await open(channelId)
    return { database, copy, guard: guard(copy) }
  }
  return {
    ...leases,
    beginWalk: async (channelId, times) => beginWalk(await openWriting(channelId), times),
    async applyPage(channelId, page) {
      const writing = await openWriting(channelId)
      await applyPage(database, writing.copy, { page, guard: writing.guard, nowMs: clock.nowMs() })
    },
    isWalkMalformed: async (channelId, walk) => isWalkMalformed(database, (await open(channelId)).id, walk),
    holdWalk: async (channelId, walk, held) => holdWalk(await openWriting(channelId), walk, held),
    completeWalk: async (channelId, walk, end) => completeWalk(await openWriting(channelId), walk, end),
    async failWalk(channelId, code, nowMs) {
      try {
        await guarded(await openWriting(channelId), (transaction, copy) =>
          sql`update copies set failure = ${code}, failed_at_ms = ${nowMs} where id = ${copy.id}`.execute(
            transaction,
          ),
        )
      } catch (error) {
        // One that another process has taken over has not failed.
        if (!(error instanceof WalkError)) throw error
      }
    },
  }
}

/** Run a transaction of a walk, unless another process has taken the walk over. */
function guarded<T>(
  { database, copy, guard }: Writing,
  work: (transaction: Transaction<CopyTables>, copy: CopyRow) => Promise<T>,
): Promise<T> {
  return transact(database, async (transaction) => {
    await guard(transaction)
    return work(transaction, copy)
  })
}

type BeginTimes = Parameters<WalkStore['beginWalk']>[1]

async function beginWalk(writing: Writing, times: BeginTimes): Promise<WalkPlace> {
  const { database, copy } = writing
  await removeEnded(database, copy.id, copy.currentWalk)
  if (copy.currentWalk === 0 && !isPostgres(database)) await dropDealIndexes(database)
  return guarded(writing, (transaction) => placeWalk(transaction, copy, times))
}

/** Return the place where a broken walk goes on, or the beginning, with what is left of another one removed. */
async function placeWalk(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  times: BeginTimes,
): Promise<WalkPlace> {
  const walk = copy.currentWalk + 1
  const place = copy.runningWalk === walk ? await findPlace(transaction, copy, times) : undefined
  if (place === undefined) {
    await removePages(transaction, copy.id, sql`walk = ${walk}`)
    await sql`update copies set started_at_ms = ${times.nowMs} where id = ${copy.id}`.execute(transaction)
  }
  await sql`update copies set running_walk = ${walk}, failure = null, failed_at_ms = null
    where id = ${copy.id}`.execute(transaction)
  const start = { walk, cursor: null, afterGtin: '', productCount: 0, isWalked: false }
  return place ?? { ...start, startedAtMs: times.nowMs }
}

async function findPlace(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { nowMs, resumableSinceMs }: BeginTimes,
): Promise<WalkPlace | undefined> {
  const { rows } = await sql<WalkPagesTable & Readonly<{ started_at_ms: number | null }>>`
    select p.*, c.started_at_ms from walk_pages p join copies c on c.id = p.copy_id
    where p.copy_id = ${copy.id} and p.walk = ${copy.runningWalk}
    order by p.after_gtin desc limit 1`.execute(database)
  const [page] = rows
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

/** Set what `copies` says of a held walk to nothing. */
const NOTHING_HELD = sql`held_reason = null, held_since_ms = null, held_started_at_ms = null, held_product_count = null`

async function completeWalk(
  writing: Writing,
  walk: number,
  { nowMs, isMalformed }: Parameters<WalkStore['completeWalk']>[2],
): Promise<void> {
  const { database, copy } = writing
  const hasIndexes = isPostgres(database)
  if (!hasIndexes) await createDealIndexes(database)
  const { productCount, drops } = await sumPages(database, copy.id, walk)
  const dealCount = await countDeals(database, copy.id, walk)
  const dealCurrency = await computeDealCurrency(database, copy.id, walk)
  const { rows } = await guarded(writing, async (transaction) => {
    // Another walk may have begun meanwhile, and dropped the indexes.
    if (!hasIndexes) await createDealIndexes(transaction)
    return sql<{ started_at_ms: number | null }>`
      update copies set current_walk = ${walk}, running_walk = ${walk}, completed_started_at_ms = started_at_ms,
      completed_at_ms = ${nowMs}, product_count = ${productCount}, deal_count = ${dealCount},
      deal_currency = ${dealCurrency ?? null}, drops = ${JSON.stringify(drops)}, is_malformed = ${Number(isMalformed)},
      ${NOTHING_HELD}, failure = null, failed_at_ms = null
      where id = ${copy.id} and current_walk < ${walk} returning started_at_ms`.execute(transaction)
  })
  await removeEnded(database, copy.id, walk)
  const startedAtMs = rows[0]?.started_at_ms ?? 0
  // The pages have confirmed or overruled older absences. Those of the future were noted by a clock that was wrong.
  const isOldAbsence = sql<SqlBool>`(as_of_ms < ${startedAtMs} or as_of_ms > ${toLatestMs(nowMs)})`
  await removeInSteps(database, 'absences', sql`copy_id = ${copy.id} and ${isOldAbsence}`)
  const oldestMs = nowMs - LAPSED_KEPT_MS
  await removeInSteps(database, 'lapsed_deals', sql`copy_id = ${copy.id} and lapsed_at_ms < ${oldestMs}`)
}

/** What the walk wrote stays, unseen, and is compared again by the next one. */
async function holdWalk(writing: Writing, walk: number, held: HeldWalk): Promise<void> {
  await guarded(writing, async (transaction, { id, currentWalk }) => {
    await sql`update copies set running_walk = ${currentWalk}, held_reason = ${held.reason},
      held_since_ms = ${held.sinceMs}, held_started_at_ms = ${held.startedAtMs},
      held_product_count = ${held.productCount} where id = ${id}`.execute(transaction)
    await removePages(transaction, id, sql`walk = ${walk}`)
  })
}

async function isWalkMalformed(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<boolean> {
  const { productCount, drops } = await sumPages(database, copyId, walk)
  const isCounted = countMalformedOffers(drops) > 0
  const offerCount = isCounted ? await countOffers(database, copyId, walk) : 0
  return isMostlyMalformed(drops, { offerCount, productCount })
}

/** Sum up a walk's pages. */
async function sumPages(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<Readonly<{ productCount: number; drops: Drops }>> {
  const { rows } = await sql<WalkPagesTable>`
    select product_count, drops from walk_pages where copy_id = ${copyId} and walk = ${walk}`.execute(
    database,
  )
  const drops: Drops = {}
  for (const row of rows) addDrops(drops, parseDrops(row.drops))
  return { productCount: rows.reduce((sum, row) => sum + row.product_count, 0), drops }
}

/** Count the products with a deal at a walk. */
async function countDeals(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(distinct gtin) as count from deals
    where copy_id = ${copyId} and ${isVisibleAt(walk)}`.execute(database)
  return rows[0]?.count ?? 0
}

async function removePages(
  database: Kysely<CopyTables>,
  copyId: number,
  isOld: RawBuilder<unknown>,
): Promise<void> {
  await sql`delete from walk_pages where copy_id = ${copyId} and ${isOld}`.execute(database)
}

/** Remove what ended at or before `walk`, in small transactions. */
async function removeEnded(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ id: number; deal_count: number }>`
      select id, (select count(*) from deals where deals.product_id = products.id) as deal_count from products
      where copy_id = ${copyId} and until_walk <= ${walk} limit ${MAX_TRANSACTION_PRODUCTS}`.execute(database)
    if (rows.length === 0) break
    let count = 0
    const end = rows.findIndex(
      (row, index) => (count += 2 + row.deal_count) > MAX_TRANSACTION_ROWS && index > 0,
    )
    const removed = (end === -1 ? rows : rows.slice(0, end)).map(({ id }) => id)
    // A look-up elsewhere may have found one again since.
    await transact(database, (transaction) => deleteVersions(transaction, removed, walk))
  }
  await removePages(database, copyId, sql`walk < ${walk}`)
}

/** Remove the rows that meet the condition in small transactions. */
async function removeInSteps(
  database: Kysely<CopyTables>,
  table: 'absences' | 'lapsed_deals',
  isOld: RawBuilder<unknown>,
): Promise<void> {
  for (;;) {
    const gtins = sql`select gtin from ${sql.table(table)} where ${isOld} limit ${MAX_TRANSACTION_PRODUCTS}`
    const { numAffectedRows } = await sql`delete from ${sql.table(table)}
      where ${isOld} and gtin in (${gtins})`.execute(database)
    if ((numAffectedRows ?? 0n) === 0n) return
  }
}
