import { type QueryExecutorProvider, type Transaction, sql } from 'kysely'
import type { CopyTables } from './schema.ts'

/** How words of many products come into the index of `sqlite-search.ts`; SQLite's own, as that is. */

/**
 * For migration 0004, as it stays: new products are put in by the trigger, one by one, unless the transaction holds their words
 * back and puts them in at once, which takes a third of the time.
 */
export async function letWritersHoldWords(database: QueryExecutorProvider): Promise<void> {
  await sql`create table if not exists held_words (held integer not null)`.execute(database)
  await sql`drop trigger if exists product_words_added`.execute(database)
  await sql`create trigger product_words_added after insert on products
    when not exists (select 1 from held_words) begin
    insert into product_words(rowid, words) values (new.copy_id << 40 | new.id, new.search_text); end`.execute(
    database,
  )
}

/** Inserts products, and then their words at once. `insert` answers their ids. */
export async function insertWithWords(
  transaction: Transaction<CopyTables>,
  insert: () => Promise<readonly number[]>,
): Promise<readonly number[]> {
  await transaction.insertInto('held_words').values({ held: 1 }).execute()
  const ids = await insert()
  await transaction.deleteFrom('held_words').execute()
  await sql`insert into product_words(rowid, words)
    select copy_id << 40 | id, search_text from products where id between ${ids[0]} and ${ids.at(-1)}`.execute(
    transaction,
  )
  return ids
}
