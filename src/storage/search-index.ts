import { type Kysely, type QueryExecutorProvider, type Transaction, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { isLocked } from '../database/failures.ts'
import { isPostgres } from '../database/dialect.ts'
import { createPause } from '../lib/backoff.ts'
import type { CopyTables } from './schema.ts'
import { retry } from '../database/retries.ts'

/** Create, fill and rebuild the FTS5 search index of a SQLite file. `search.ts` reads it. */

/** `done`: there is nothing left to fill. */
type FillOutcome = 'more' | 'done'

const FILL_BATCH_PRODUCTS = 200

/** Pause after a batch, by its outcome. Filling continues after `done`, because another process can rebuild the index. */
const FILL_PAUSES_MS: Readonly<Record<FillOutcome | 'failed', number>> = {
  more: 20,
  failed: SECOND_MS,
  done: 5 * SECOND_MS,
}

/** An index that is damaged again within this time is not rebuilt: the cause is elsewhere. */
const REBUILD_PAUSE_MS: number = MINUTE_MS

/** SQLite's messages about a damaged index. A constraint without a name belongs to FTS5's own tables. */
const INDEX_DAMAGE = /^(?:fts5: corrupt|constraint failed$)/

/** From this number of products on, one bulk insert of the words costs less than the trigger for each product. */
const BULK_INSERT_MIN_PRODUCTS = 8

/** The row id contains the copy id, so that a search reads one copy only. */
const ADD_WORDS =
  'insert into product_words(rowid, words) values (new.copy_id << 40 | new.id, new.search_text);'
const REMOVE_WORDS = 'delete from product_words where rowid = old.copy_id << 40 | old.id;'

/**
 * Create the index, of SQLite only. It is small: it stores no texts and no word positions, but prefixes of one and two letters. Triggers update
 * it, unless the transaction defers that to one bulk insert, which takes a third of the time (ADR 0007). `maintainSearchIndex`
 * adds existing products.
 */
export async function createSearchIndex(database: QueryExecutorProvider): Promise<void> {
  if (isPostgres(database)) return
  for (const statement of [
    `create virtual table product_words using fts5(words, content='', contentless_delete=1, detail=none,
      prefix='1 2', tokenize="unicode61 remove_diacritics 0")`,
    'create table if not exists deferred_words (is_deferred integer not null)',
    `create trigger product_words_added after insert on products
      when not exists (select 1 from deferred_words) begin ${ADD_WORDS} end`,
    `create trigger product_words_removed after delete on products begin ${REMOVE_WORDS} end`,
    `create trigger product_words_changed after update of search_text on products
      when old.search_text <> new.search_text begin ${REMOVE_WORDS} ${ADD_WORDS} end`,
    'create table search_backlog (below_id integer not null)',
    'insert into search_backlog select id + 1 from products order by id desc limit 1',
  ])
    await sql.raw(statement).execute(database)
}

/** Insert `count` products, then the words of many in one statement. `insert` returns the ids. */
export async function insertWithSearchWords(
  transaction: Transaction<CopyTables>,
  count: number,
  insert: () => Promise<readonly number[]>,
): Promise<readonly number[]> {
  if (count < BULK_INSERT_MIN_PRODUCTS || isPostgres(transaction)) return insert()
  await sql`insert into deferred_words (is_deferred) values (1)`.execute(transaction)
  const ids = await insert()
  await sql`delete from deferred_words`.execute(transaction)
  await sql`insert into product_words(rowid, words)
    select copy_id << 40 | id, search_text from products where id between ${ids[0]} and ${ids.at(-1)}`.execute(
    transaction,
  )
  return ids
}

/** `repair` replaces a damaged index by an empty one (`OpenDatabase.repair`). `stop` ends the background work. */
export type SearchIndexMaintenance = Readonly<{
  repair(error: unknown, startedMs: number): Promise<boolean>
  stop(): Promise<void>
}>

/** Add missing products to the index of a SQLite file in the background. */
export function maintainSearchIndex(database: Kysely<CopyTables>): SearchIndexMaintenance {
  const pause = createPause(systemClock, { initialMs: REBUILD_PAUSE_MS, maxMs: REBUILD_PAUSE_MS })
  let rebuiltMs = -Infinity
  let rebuilding: Promise<void> | undefined
  const rebuild = async (): Promise<void> => {
    pause.start()
    try {
      await rebuildIndex(database)
      rebuiltMs = performance.now()
    } catch (error) {
      // Let the next call retry immediately.
      if (isLocked(error)) pause.end()
      throw error
    } finally {
      rebuilding = undefined
    }
  }
  const repair = async (error: unknown, startedMs: number): Promise<boolean> => {
    if (!(error instanceof Error && INDEX_DAMAGE.test(error.message))) return false
    // Another call may have rebuilt the index while this one ran.
    if (rebuiltMs < startedMs) {
      if (rebuilding === undefined && pause.isActive()) return false
      await (rebuilding ??= rebuild())
    }
    filler.wake()
    return true
  }
  const filler = startFilling(() => retry(() => fillNextBatch(database), { repair }))
  return { repair, stop: filler.stop }
}

/** Run `step` repeatedly in the background; `wake` ends the current pause. */
function startFilling(step: () => Promise<FillOutcome>): Readonly<{ wake(): void; stop(): Promise<void> }> {
  const stopping = new AbortController()
  let currentWait = new AbortController()
  const fill = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Retry a failed step, for example while another process writes. Other calls report problems of the file.
      const outcome = await step().catch(() => 'failed' as const)
      if (stopping.signal.aborted) return
      currentWait = new AbortController()
      await systemClock.wait(FILL_PAUSES_MS[outcome], currentWait.signal)
    }
  }
  const filling = fill()
  return {
    wake: () => currentWait.abort(),
    async stop() {
      stopping.abort()
      currentWait.abort()
      await filling
    },
  }
}

/** Replace the index with an empty one, with every product in its backlog. */
async function rebuildIndex(database: Kysely<CopyTables>): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    for (const name of ['added', 'removed', 'changed'])
      await sql`drop trigger if exists ${sql.ref(`product_words_${name}`)}`.execute(transaction)
    await sql`drop table if exists product_words`.execute(transaction)
    await sql`drop table if exists search_backlog`.execute(transaction)
    await createSearchIndex(transaction)
  })
}

/** Add the next products to the index. Several processes can do this at the same time. */
async function fillNextBatch(database: Kysely<CopyTables>): Promise<FillOutcome> {
  if ((await findBacklogEnd(database)) === undefined) return 'done'
  return database.transaction().execute(async (transaction) => {
    const belowId = await findBacklogEnd(transaction)
    if (belowId === undefined) return 'done'
    const { rows } = await sql<{ id: number | null }>`select min(id) as id from (
      select id from products where id < ${belowId} order by id desc limit ${FILL_BATCH_PRODUCTS})`.execute(
      transaction,
    )
    const firstId = rows[0]?.id ?? null
    if (firstId === null) {
      await sql`delete from search_backlog`.execute(transaction)
      return 'done'
    }
    // Replace products that were written since and are already in the index.
    await sql`insert or replace into product_words(rowid, words)
      select copy_id << 40 | id, search_text from products where id >= ${firstId} and id < ${belowId}`.execute(
      transaction,
    )
    await sql`update search_backlog set below_id = ${firstId}`.execute(transaction)
    return 'more'
  })
}

/** Return the id below which products are not indexed; `undefined` when the index is complete. */
async function findBacklogEnd(database: Kysely<CopyTables>): Promise<number | undefined> {
  const { rows } = await sql<{ below_id: number }>`select below_id from search_backlog`.execute(database)
  return rows[0]?.below_id
}
