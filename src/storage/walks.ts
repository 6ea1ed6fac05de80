import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type DropCounts, addDropCounts, countMalformedOffers, isMostlyMalformed } from '../catalog/parse.ts'
import { type Clock, isFuture, toLatestPlausibleMs } from '../clock.ts'
import { isPostgres } from '../database/dialect.ts'
import { WalkError } from '../errors.ts'
import { createShopBook } from '../offers/shop-book.ts'
import { cleanText } from '../offers/text.ts'
import type { CopyConnection } from './copy-database.ts'
import { parseDrops } from './rows.ts'
import type { CopyTables, WalkPagesTable } from './schema.ts'
import { type CopyRow, countOffers, createVersionCondition } from './copies.ts'
import { computeDealCurrency } from './deals.ts'
import { type EndedWalk, prepareEvents } from './event-detection.ts'
import { pruneHistory } from './history-pruning.ts'
import { MAX_TRANSACTION_ROWS, applyPage } from './pages.ts'
import type { HistoryRules } from './price-history.ts'
import { LAPSED_RETENTION_MS, deleteVersions } from './versions.ts'
import { type WalkWriter, createWalkLeases } from './walk-leases.ts'
import type { HeldWalk, WalkPosition, WalkStore } from './store.ts'
import { SQLITE_DEAL_INDEXES } from './tables.ts'

/** Maximum number of products, with their deals, that one transaction deletes. */
const MAX_TRANSACTION_PRODUCTS = 100

export function createWalkStore(
  connection: CopyConnection,
  catalog: string,
  { clock, history }: Readonly<{ clock: Clock; history: HistoryRules }>,
): WalkStore {
  const { openWriter, ...leases } = createWalkLeases(connection, catalog, clock)
  return {
    ...leases,
    async beginWalk(channelId, times) {
      const writer = await openWriter(channelId)
      // Before the pages: what a wrong clock recorded would keep them from being recorded.
      await pruneHistory(connection, writer.copy.id, { nowMs: times.nowMs, ...history })
      return beginWalk(writer, times)
    },
    applyPage: async (channelId, page) =>
      applyPage(await openWriter(channelId), page, { nowMs: clock.nowMs(), history }),
    isWalkMalformed: async (channelId, walk) => isWalkMalformed(await openWriter(channelId), walk),
    holdWalk: async (channelId, walk, held) => holdWalk(await openWriter(channelId), walk, held),
    async completeWalk(channelId, walk, end) {
      const writer = await openWriter(channelId)
      return completeWalk(writer, { catalog, channelId, walk, shops: createShopBook([]), ...end })
    },
    async recordRetry(channelId, failure) {
      const { copy, write } = await openWriter(channelId)
      const reason = failure === null ? null : limitReason(failure.reason)
      await write((transaction) =>
        sql`update copies set retry_code = ${failure?.code ?? null}, failure_reason = ${reason}
          where id = ${copy.id}`.execute(transaction),
      )
    },
    async failWalk(channelId, { code, reason }, nowMs) {
      const { copy, write } = await openWriter(channelId)
      try {
        await write((transaction) =>
          sql`update copies set failure = ${code}, failed_at_ms = ${nowMs}, retry_code = null,
            failure_reason = ${limitReason(reason)} where id = ${copy.id}`.execute(transaction),
        )
      } catch (error) {
        // Another process has taken over the walk, so it has not failed.
        if (!(error instanceof WalkError)) throw error
      }
    },
  }
}

/** A message of a database can quote a long statement. */
const MAX_REASON_CHARACTERS = 500

function limitReason(reason: string): string {
  return cleanText(reason, MAX_REASON_CHARACTERS)
}

type BeginTimes = Parameters<WalkStore['beginWalk']>[1]

async function beginWalk(writer: WalkWriter, times: BeginTimes): Promise<WalkPosition> {
  const { copy, run, write } = writer
  await deleteEndedVersions(writer, copy.currentWalk)
  if (copy.currentWalk === 0) await run(dropDealIndexes)
  return write((transaction) => resumeOrStartWalk(transaction, copy, times))
}

/** Return where an interrupted walk resumes. If it is outdated, delete its pages and return the start. */
async function resumeOrStartWalk(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  times: BeginTimes,
): Promise<WalkPosition> {
  const walk = copy.currentWalk + 1
  const resumed = copy.runningWalk === walk ? await findResumePosition(transaction, copy, times) : undefined
  if (resumed === undefined) await deletePages(transaction, copy.id, walk)
  const firstPosition = { walk, cursor: null, afterGtin: '', productCount: 0, hasAllPages: false }
  const position = resumed ?? { ...firstPosition, startedAtMs: times.nowMs }
  await sql`update copies set running_walk = ${walk}, started_at_ms = ${position.startedAtMs},
    failure = null, failed_at_ms = null, retry_code = null, failure_reason = null
    where id = ${copy.id}`.execute(transaction)
  return position
}

type LastPage = WalkPagesTable & Readonly<{ started_at_ms: number | null; walked_count: number }>

async function findResumePosition(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { nowMs, resumableSinceMs }: BeginTimes,
): Promise<WalkPosition | undefined> {
  const { rows } = await sql<LastPage>`select p.*, c.started_at_ms,
    (select sum(product_count) from walk_pages where copy_id = p.copy_id and walk = p.walk) as walked_count
    from walk_pages p join copies c on c.id = p.copy_id
    where p.copy_id = ${copy.id} and p.walk = ${copy.runningWalk}
    order by p.after_gtin desc limit 1`.execute(database)
  const [page] = rows
  if (page === undefined || page.as_of_ms < resumableSinceMs || isFuture(page.as_of_ms, nowMs))
    return undefined
  return {
    walk: copy.runningWalk,
    cursor: page.next_cursor,
    afterGtin: page.until_gtin,
    productCount: page.walked_count,
    startedAtMs: page.started_at_ms ?? page.as_of_ms,
    hasAllPages: page.next_cursor === null,
  }
}

async function completeWalk(
  writer: WalkWriter,
  { isMalformed, ...ended }: Omit<EndedWalk, 'copyId' | 'currentWalk'> & Readonly<{ isMalformed: boolean }>,
): Promise<void> {
  const { copy, run, write } = writer
  const { walk, nowMs } = ended
  await run(createDealIndexes)
  const { productCount, drops } = await run((database) => sumPages(database, copy.id, walk))
  const dealCount = await run((database) => countDeals(database, copy.id, walk))
  const dealCurrency = await run((database) => computeDealCurrency(database, copy.id, walk))
  const { id: copyId, currentWalk } = copy
  const addEvents = await run((database) => prepareEvents(database, { ...ended, copyId, currentWalk }))
  const { rows } = await write(async (transaction) => {
    // Another walk may have started meanwhile and dropped the indexes.
    await createDealIndexes(transaction)
    const updated = await sql<{ started_at_ms: number | null }>`
      update copies set current_walk = ${walk}, running_walk = ${walk}, completed_started_at_ms = started_at_ms,
      completed_at_ms = ${nowMs}, product_count = ${productCount}, deal_count = ${dealCount},
      had_products = case when ${productCount} > 0 then 1 else had_products end,
      deal_currency = ${dealCurrency ?? null}, drops = ${JSON.stringify(drops)}, is_malformed = ${Number(isMalformed)},
      held_reason = null, held_since_ms = null, held_started_at_ms = null, held_product_count = null,
      failure = null, failed_at_ms = null, retry_code = null, failure_reason = null
      where id = ${copy.id} and current_walk < ${walk} returning started_at_ms`.execute(transaction)
    if (updated.rows.length > 0) await addEvents(transaction)
    return updated
  })
  await deleteEndedVersions(writer, walk)
  const startedAtMs = rows[0]?.started_at_ms ?? 0
  // The walk's pages supersede older absences. Absences in the future were written with a wrong clock.
  const isOldAbsence = sql<SqlBool>`(as_of_ms < ${startedAtMs} or as_of_ms > ${toLatestPlausibleMs(nowMs)})`
  await deleteInSteps(run, 'absences', sql`copy_id = ${copy.id} and ${isOldAbsence}`)
  const oldestMs = nowMs - LAPSED_RETENTION_MS
  await deleteInSteps(run, 'lapsed_deals', sql`copy_id = ${copy.id} and lapsed_at_ms < ${oldestMs}`)
}

/** Hold the walk: its rows stay invisible, and the next walk compares them again. */
async function holdWalk({ copy, write }: WalkWriter, walk: number, held: HeldWalk): Promise<void> {
  await write(async (transaction) => {
    await sql`update copies set running_walk = ${copy.currentWalk}, held_reason = ${held.reason},
      held_since_ms = ${held.sinceMs}, held_started_at_ms = ${held.startedAtMs},
      held_product_count = ${held.productCount} where id = ${copy.id}`.execute(transaction)
    await deletePages(transaction, copy.id, walk)
  })
}

function isWalkMalformed({ copy, run }: WalkWriter, walk: number): Promise<boolean> {
  return run(async (database) => {
    const { productCount, drops } = await sumPages(database, copy.id, walk)
    const hasMalformedOffers = countMalformedOffers(drops) > 0
    const offerCount = hasMalformedOffers ? await countOffers(database, copy.id, walk) : 0
    return isMostlyMalformed(drops, { offerCount, productCount })
  })
}

async function sumPages(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<Readonly<{ productCount: number; drops: DropCounts }>> {
  const { rows } = await sql<WalkPagesTable>`
    select product_count, drops from walk_pages where copy_id = ${copyId} and walk = ${walk}`.execute(
    database,
  )
  const drops: DropCounts = {}
  for (const row of rows) addDropCounts(drops, parseDrops(row.drops))
  return { productCount: rows.reduce((sum, row) => sum + row.product_count, 0), drops }
}

async function countDeals(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(distinct gtin) as count from deals
    where copy_id = ${copyId} and is_observed = 0 and ${createVersionCondition(walk)}`.execute(database)
  return rows[0]?.count ?? 0
}

async function deletePages(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<void> {
  await sql`delete from walk_pages where copy_id = ${copyId} and walk = ${walk}`.execute(database)
}

/** Delete versions that ended at or before `walk`, in small transactions. */
async function deleteEndedVersions(
  { copy: { id: copyId }, run, transact }: WalkWriter,
  walk: number,
): Promise<void> {
  const select = sql<{ id: number; deal_count: number }>`
    select id, (select count(*) from deals where deals.product_id = products.id) as deal_count from products
    where copy_id = ${copyId} and until_walk <= ${walk} limit ${MAX_TRANSACTION_PRODUCTS}`
  for (;;) {
    const { rows } = await run((database) => select.execute(database))
    if (rows.length === 0) break
    let count = 0
    const removed = rows.filter(
      (row, index) => (count += 2 + row.deal_count) <= MAX_TRANSACTION_ROWS || index === 0,
    )
    const ids = removed.map(({ id }) => id)
    // Pass `walk`, because a walk of another process may have revived a version since.
    await transact((transaction) => deleteVersions(transaction, ids, walk))
  }
  const deletion = sql`delete from walk_pages where copy_id = ${copyId} and walk < ${walk}`
  await run((database) => deletion.execute(database))
}

/** Delete the rows that meet the condition, in small transactions. */
async function deleteInSteps(
  run: WalkWriter['run'],
  table: 'absences' | 'lapsed_deals',
  isOld: RawBuilder<unknown>,
): Promise<void> {
  for (;;) {
    const gtins = sql`select gtin from ${sql.table(table)} where ${isOld} limit ${MAX_TRANSACTION_PRODUCTS}`
    const deletion = sql`delete from ${sql.table(table)} where ${isOld} and gtin in (${gtins})`
    const { numAffectedRows } = await run((database) => deletion.execute(database))
    if ((numAffectedRows ?? 0n) === 0n) return
  }
}

/**
 * Drop the deal indexes on SQLite, unless the database has a complete copy. In the first walk, updating them costs more than the
 * rest; building them at the end costs a tenth. Grids are unavailable until then (ADR 0007).
 */
async function dropDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  await database.transaction().execute(async (transaction) => {
    const { rows } = await sql`select 1 from copies where current_walk > 0 limit 1`.execute(transaction)
    if (rows.length > 0) return
    for (const name of Object.keys(SQLITE_DEAL_INDEXES))
      await sql`drop index if exists ${sql.ref(name)}`.execute(transaction)
  })
}

/** Create missing indexes. */
async function createDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  for (const [name, target] of Object.entries(SQLITE_DEAL_INDEXES))
    await sql`create index if not exists ${sql.ref(name)} on ${sql.raw(target)}`.execute(database)
}
