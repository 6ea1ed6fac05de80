import { type Kysely, sql } from 'kysely'
import { SECOND_MS, systemClock } from '../clock.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'

/**
 * The index of words, as SQLite has it (FTS5). What is SQLite's own in the search is in this file; another engine would
 * have its own.
 */

/** Matches that are looked at, and those of them that readers see that are ranked. */
const MAX_MATCHES = 1_000
const MAX_CANDIDATES = 200

/** Products of an old database that one step puts into the index, and the rest between two steps. */
const FILLED_AT_ONCE = 200
const FILL_PAUSE_MS = 20

/** How long the next try of a step that failed is put off. */
const FILL_RETRY_MS: number = SECOND_MS

/** Bits of an entry's number that are the product's; those above are the copy's, so that a search stays within one. */
const PRODUCT_BITS = 40

/** A product that has some words. */
export type WordMatch = Readonly<{ id: number; gtin: string; search_text: string }>

/**
 * The index for migration 0003; once that is released it never changes. Without texts of its own, and without places of
 * words, it is small; beginnings of one and two letters are kept ready. Triggers keep it in step, whoever writes. Products
 * that are there already are left to `startFilling`.
 */
export async function createSearchIndex(database: Kysely<unknown>): Promise<void> {
  await sql`create virtual table product_words using fts5(words, content='', contentless_delete=1, detail=none,
    prefix='1 2', tokenize="unicode61 remove_diacritics 0")`.execute(database)
  await sql`create trigger product_words_added after insert on products begin
    insert into product_words(rowid, words) values (new.copy_id << 40 | new.id, new.search_text); end`.execute(
    database,
  )
  await sql`create trigger product_words_removed after delete on products begin
    delete from product_words where rowid = old.copy_id << 40 | old.id; end`.execute(database)
  await sql`create trigger product_words_changed after update of search_text on products
    when old.search_text <> new.search_text begin
    delete from product_words where rowid = old.copy_id << 40 | old.id;
    insert into product_words(rowid, words) values (new.copy_id << 40 | new.id, new.search_text); end`.execute(
    database,
  )
  await sql`create table search_backlog (below_id integer not null)`.execute(database)
  await sql`insert into search_backlog select id + 1 from products order by id desc limit 1`.execute(database)
}

/** Visible products with all the words, or with words that begin so: in the order of their rows, and not all of many. */
export async function findByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: Readonly<{ words: readonly string[]; isWhole: boolean }>,
): Promise<readonly WordMatch[]> {
  // Letters and digits in quotation marks: nothing of a search is syntax.
  const match = wanted.words.map((word) => `"${word}"${wanted.isWhole ? '' : '*'}`).join(' AND ')
  const first = sql`${sql.lit(copy.id)} << ${sql.lit(PRODUCT_BITS)}`
  const last = sql`(${sql.lit(copy.id + 1)} << ${sql.lit(PRODUCT_BITS)}) - 1`
  const matches = sql<{ id: number }>`(select rowid & ((1 << ${sql.lit(PRODUCT_BITS)}) - 1) as id
    from product_words where product_words match ${match} and rowid between ${first} and ${last}
    order by rowid limit ${sql.lit(MAX_MATCHES)})`
  try {
    return await database
      .selectFrom(matches.as('matches'))
      .crossJoin('products')
      .select(['products.id', 'gtin', 'search_text'])
      .whereRef('products.id', '=', 'matches.id')
      .where(isVisibleAt<'products'>(copy.visibleWalk))
      .limit(MAX_CANDIDATES)
      .execute()
  } catch (error) {
    // A few letters, of New Tai Lue, are none to SQLite's tables: it sees two words in one, which this index cannot find.
    if (error instanceof Error && error.message.startsWith('fts5:')) return []
    throw error
  }
}

/** Fills the index with what an old database held, step by step beside everything else; `stop` waits for the step. */
export function startFilling(database: Kysely<CopyTables>): Readonly<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  const filling = fill(database, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await filling
    },
  }
}

async function fill(database: Kysely<CopyTables>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // A step that fails, as while another process writes, is made again; what is wrong with the file, others say.
    const outcome = await fillSome(database).catch(() => 'failed' as const)
    if (outcome === 'done') return
    await systemClock.wait(outcome === 'failed' ? FILL_RETRY_MS : FILL_PAUSE_MS, signal)
  }
}

/** Puts the next products into the index. Processes may do so at the same time. */
async function fillSome(database: Kysely<CopyTables>): Promise<'more' | 'done'> {
  const isFilled =
    (await database.selectFrom('search_backlog').select('below_id').executeTakeFirst()) === undefined
  if (isFilled) return 'done'
  return database.transaction().execute(async (transaction) => {
    const backlog = await transaction.selectFrom('search_backlog').select('below_id').executeTakeFirst()
    if (backlog === undefined) return 'done'
    const next = await transaction
      .selectFrom(({ selectFrom }) =>
        selectFrom('products')
          .select('id')
          .where('id', '<', backlog.below_id)
          .orderBy('id', 'desc')
          .limit(FILLED_AT_ONCE)
          .as('next'),
      )
      .select(({ fn }) => fn.min('id').as('id'))
      .executeTakeFirst()
    if (typeof next?.id !== 'number') {
      await transaction.deleteFrom('search_backlog').execute()
      return 'done'
    }
    // One that was written since is there already.
    await sql`insert or replace into product_words(rowid, words)
      select copy_id << 40 | id, search_text from products where id >= ${next.id} and id < ${backlog.below_id}`.execute(
      transaction,
    )
    await transaction.updateTable('search_backlog').set({ below_id: next.id }).execute()
    return 'more'
  })
}
