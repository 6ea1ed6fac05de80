import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import { inTime } from '../database/read-deadline.ts'
import { foldText } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'

/**
 * Products by the index of words: FTS5 on SQLite, lists of lexemes on PostgreSQL. The program makes the lists, not the database,
 * whose languages and parsers know other words: so a search finds the same wherever the copy is stored.
 */

/** Letters and digits, as both indexes tell words apart. */
export const WORD = /[\p{L}\p{N}]+/gu

/** Words of one search that are looked for: longer texts are pasted pages. */
const MAX_WORDS = 10

/** PostgreSQL would refuse a list with a longer word. */
const MAX_WORD_CHARACTERS = 500

/** Matches of SQLite that are looked at, and visible products with all the words, of which the best are picked. */
const MAX_MATCHES = 1_000
const MAX_CANDIDATES = 200

/** Bits of an entry's number in SQLite's index that are the product's; those above are the copy's, so that a search stays within one. */
const PRODUCT_BITS = 40

/** How FTS5 refuses to look for two words next to each other in an index that has no places of words. */
const SPLIT_WORD = /^fts5: phrase queries are not supported/

/** A product that has the words. */
export type WordMatch = Readonly<{ id: number; gtin: string; search_text: string }>

/** `isWhole`: products with all the words; otherwise with words that begin so. */
export type WantedWords = Readonly<{ words: readonly string[]; isWhole: boolean }>

/** Return the words of a search, with their signs, without case and accents. */
export function splitWords(text: string): readonly string[] {
  return foldText(text)
    .split(' ')
    .filter((word) => word !== '')
}

/** Return the words of a folded text as the index has them. */
export function toIndexWords(folded: string): readonly string[] {
  return [...new Set(folded.match(WORD))].slice(0, MAX_WORDS)
}

/** A condition: `search_text` contains the word anywhere; its own `%` and `_` are letters. */
export function hasWord(word: string): Expression<SqlBool> {
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  return sql<SqlBool>`search_text like ${pattern} escape '\\'`
}

/** Return the words of a text as PostgreSQL writes a list of them: each once, in quotation marks. */
export function toWordList(searchText: string): string {
  return [...new Set(searchText.match(WORD))]
    .filter((word) => word.length <= MAX_WORD_CHARACTERS)
    .map((word) => `'${word}'`)
    .join(' ')
}

/** Find visible products with the words; not all of many. */
export async function findByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: WantedWords,
): Promise<readonly WordMatch[]> {
  const visible = database
    .selectFrom('products')
    .select(['products.id', 'gtin', 'search_text'])
    .where(isVisibleAt(copy.visibleWalk))
    .limit(MAX_CANDIDATES)
  if (isPostgres(database)) return visible.where('copy_id', '=', copy.id).where(hasLexemes(wanted)).execute()
  const matches = sql<{
    id: number
  }>`(${selectMatches(copy, wanted)} order by rowid limit ${sql.lit(MAX_MATCHES)})`
  return unlessSplit(
    visible
      .innerJoin(matches.as('matches'), (join) => join.onRef('matches.id', '=', 'products.id'))
      .execute(),
    [],
  )
}

/**
 * Build a statement in parentheses that gives the ids of all products with the words.
 * @returns `undefined` while SQLite's index is being filled, as it lacks products then
 */
export async function selectIdsByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: WantedWords,
): Promise<Expression<{ id: number }> | undefined> {
  if (!isPostgres(database)) {
    const backlog = await database.selectFrom('search_backlog').select('below_id').limit(1).executeTakeFirst()
    return backlog === undefined ? sql`(${selectMatches(copy, wanted)})` : undefined
  }
  return database
    .selectFrom('products')
    .select('id')
    .where('copy_id', '=', copy.id)
    .where(isVisibleAt(copy.visibleWalk))
    .where(hasLexemes(wanted))
}

/** Replace the result when SQLite takes a word for two, which its index cannot find: a few letters, as of New Tai Lue, are none to it. */
export async function unlessSplit<T>(result: Promise<T>, replacement: T): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Error && SPLIT_WORD.test(error.message)) return replacement
    throw error
  }
}

function selectMatches(copy: CopyRow, { words, isWhole }: WantedWords): Expression<{ id: number }> {
  // Letters and digits in quotation marks: nothing of a search is syntax.
  const match = words.map((word) => `"${word}"${isWhole ? '' : '*'}`).join(' AND ')
  const bits = sql.lit(PRODUCT_BITS)
  const [first, next] = [sql.lit(copy.id), sql.lit(copy.id + 1)]
  return sql`select rowid & ((1 << ${bits}) - 1) as id from product_words
    where product_words match ${match} and rowid between ${first} << ${bits} and (${next} << ${bits}) - 1
    and ${inTime('rowid')}`
}

function hasLexemes({ words, isWhole }: WantedWords): Expression<SqlBool> {
  if (words.some((word) => word.length > MAX_WORD_CHARACTERS)) return sql<SqlBool>`1 = 0`
  const query = words.map((word) => `'${word}'${isWhole ? '' : ':*'}`).join(' & ')
  return sql<SqlBool>`words @@ ${query}::tsquery`
}
