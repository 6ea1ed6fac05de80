import { type Kysely, type QueryExecutorProvider, type RawBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/dialect.ts'
import { createDeadlineCheck } from '../database/sqlite.ts'
import { compareTexts } from '../offers/ranking.ts'
import { cleanText, foldCaseAndAccents } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, createVersionCondition } from './copies.ts'
import { readProducts } from './lookups.ts'
import type { CopyEntry } from './store.ts'

/**
 * Full-text search: FTS5 on SQLite, `tsvector` on PostgreSQL. This program splits the words for PostgreSQL, so that a search has
 * the same results on both, unless its words are in more than `MAX_CANDIDATES` products: then each engine ranks a sample.
 */

/** A word of both indexes: letters and digits. */
export const WORD = /[\p{L}\p{N}]+/gu

/** Words of a search that are used: longer texts are pasted pages. */
const MAX_WORDS = 10

const MAX_CHARACTERS = 300

/** PostgreSQL rejects a `tsvector` with very long words. */
const MAX_WORD_CHARACTERS = 500

/** Index matches that SQLite reads, and visible products that are ranked. */
const MAX_MATCHES = 1_000
const MAX_CANDIDATES = 200

/** Products that are scanned when no index helps: the scan blocks other reads of the thread. */
const MAX_SCANNED = 20_000

/** Low bits of a row id in SQLite's index: the product id. The higher bits are the copy id, so that a search reads one copy only. */
const PRODUCT_BITS = 40

/** FTS5's error for a phrase query: the index contains no word positions. */
const SPLIT_WORD = /^fts5: phrase queries are not supported/

const GTIN_PREFIX = /^\d{4,14}$/
const GTIN_DIGITS = 14
/** Sorts after every digit. */
const ABOVE_DIGITS = ':'

/** `isWholeWord`: match whole words; otherwise prefixes. */
type WordQuery = Readonly<{ words: readonly string[]; isWholeWord: boolean }>

type Search = Readonly<{ database: Kysely<CopyTables>; copy: CopyRow; text: string; limit: number }>

/**
 * Find products where every search word is the prefix of a word in title or brand, best first. Look up 4 to 14 digits as the
 * prefix of a GTIN, with or without leading zeros. Without a match, search the first 20,000 products for the text inside words.
 * An empty text finds the first products.
 */
export async function searchProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  request: Readonly<{ text: string; limit: number }>,
): Promise<readonly CopyEntry[]> {
  const text = cleanText(request.text, MAX_CHARACTERS)
  // A text of control characters only is neither a search nor the empty search.
  if (text === '' && request.text.trim() !== '') return []
  const ids = await findIds({ database, copy, text, limit: request.limit })
  return ids.length === 0 ? [] : readProducts(database, copy, ids)
}

async function findIds(search: Search): Promise<readonly number[]> {
  if (search.text === '') return findInRange(search, '', ABOVE_DIGITS)
  const byGtin = GTIN_PREFIX.test(search.text) ? await findByGtin(search) : []
  if (byGtin.length > 0) return byGtin
  const byWords = await findByIndexedWords(search)
  return byWords.length > 0 ? byWords : scanProducts(search)
}

async function findInRange(
  { database, copy, limit }: Search,
  from: string,
  below: string,
): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`select id from products
    where copy_id = ${copy.id} and gtin >= ${from} and gtin < ${below} and ${createVersionCondition(copy.visibleWalk)}
    order by gtin limit ${limit}`.execute(database)
  return rows.map(({ id }) => id)
}

/** Find by GTIN prefix, one range per number of leading zeros. The exact GTIN comes first. */
async function findByGtin(search: Search): Promise<readonly number[]> {
  const foundIds = new Set<number>()
  for (let zeros = GTIN_DIGITS - search.text.length; zeros >= 0; zeros--) {
    const digits = '0'.repeat(zeros) + search.text
    for (const id of await findInRange(search, digits, `${digits}${ABOVE_DIGITS}`)) foundIds.add(id)
    if (foundIds.size >= search.limit) break
  }
  return [...foundIds].slice(0, search.limit)
}

type RankedProduct = Readonly<{
  id: number
  gtin: string
  wholeCount: number
  isFirst: boolean
  length: number
}>

/** Find by indexed words. Products that contain all words rank before products that match only prefixes. */
async function findByIndexedWords({ database, copy, text, limit }: Search): Promise<readonly number[]> {
  const folded = foldCaseAndAccents(text)
  const words = toIndexWords(folded)
  if (words.length === 0) return []
  const matches = new Map<number, RankedProduct>()
  for (const isWholeWord of [true, false]) {
    for (const { id, gtin, search_text: searchText } of await findByWords(database, copy, {
      words,
      isWholeWord,
    })) {
      const foundWords = new Set(searchText.match(WORD))
      const wholeCount = words.filter((word) => foundWords.has(word)).length
      matches.set(id, {
        id,
        gtin,
        wholeCount,
        isFirst: searchText.startsWith(folded),
        length: searchText.length,
      })
    }
    if (matches.size >= limit) break
  }
  return [...matches.values()]
    .sort(compareMatches)
    .slice(0, limit)
    .map(({ id }) => id)
}

/** More whole words first, then titles that begin with the search, then shorter titles. The GTIN breaks ties. */
function compareMatches(a: RankedProduct, b: RankedProduct): number {
  return (
    b.wholeCount - a.wholeCount ||
    Number(b.isFirst) - Number(a.isFirst) ||
    a.length - b.length ||
    compareTexts(a.gtin, b.gtin)
  )
}

/** Scan the first products by GTIN for the words or digits anywhere, as in Chinese text, which has no spaces. */
async function scanProducts({ database, copy, text, limit }: Search): Promise<readonly number[]> {
  const words = splitWords(text)
  // The text consisted of accents only, which folding removes.
  if (words.length === 0) return []
  const hasDigits = GTIN_PREFIX.test(text) ? sql`gtin like ${`%${text}%`}` : sql`1 = 0`
  const { rows } = await sql<{ id: number }>`select id from (
      select id, gtin, search_text from products where copy_id = ${copy.id} and ${createVersionCondition(copy.visibleWalk)}
      order by gtin limit ${MAX_SCANNED}) as looked_at
    where ${hasDigits} or (${sql.join(words.map(createWordCondition), sql` and `)})
    order by gtin limit ${limit}`.execute(database)
  return rows.map(({ id }) => id)
}

/** Split a search into words, without case and accents but with punctuation. */
export function splitWords(text: string): readonly string[] {
  return foldCaseAndAccents(text).split(' ').filter(Boolean)
}

/** Return the words of a folded text as the index contains them. */
export function toIndexWords(folded: string): readonly string[] {
  return [...new Set(folded.match(WORD))].slice(0, MAX_WORDS)
}

/** Build the condition that `search_text` contains the word anywhere; `%` and `_` are escaped. */
export function createWordCondition(word: string): RawBuilder<SqlBool> {
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  return sql<SqlBool>`search_text like ${pattern} escape '\\'`
}

/** Return the column of a product that only PostgreSQL has: the distinct words of its text as a `tsvector`. */
export function createSearchColumns(
  database: QueryExecutorProvider,
  searchText: string,
): Readonly<{ words?: string }> {
  return isPostgres(database) ? { words: toTsvectorText(searchText) } : {}
}

function toTsvectorText(searchText: string): string {
  return [...new Set(searchText.match(WORD))]
    .filter((word) => word.length <= MAX_WORD_CHARACTERS)
    .map((word) => `'${word}'`)
    .join(' ')
}

type WordMatch = Readonly<{ id: number; gtin: string; search_text: string }>

/** Find visible products with the words, at most `MAX_CANDIDATES`. */
async function findByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wordQuery: WordQuery,
): Promise<readonly WordMatch[]> {
  const hasWords = isPostgres(database)
    ? sql`copy_id = ${copy.id} and ${hasLexemes(wordQuery)}`
    : sql`id in (${selectMatches(copy, wordQuery)} order by rowid limit ${MAX_MATCHES})`
  const found = sql<WordMatch>`select id, gtin, search_text from products
    where ${hasWords} and ${createVersionCondition(copy.visibleWalk)} limit ${MAX_CANDIDATES}`.execute(
    database,
  )
  return replaceOnSplitWord(
    found.then(({ rows }) => rows),
    [],
  )
}

/**
 * Build a subquery for the ids of all products with the words.
 * @returns `undefined` while SQLite's index is incomplete
 */
export async function selectIdsByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wordQuery: WordQuery,
): Promise<RawBuilder<{ id: number }> | undefined> {
  if (isPostgres(database))
    return sql`(select id from products
      where copy_id = ${copy.id} and ${createVersionCondition(copy.visibleWalk)} and ${hasLexemes(wordQuery)})`
  const { rows: backlog } = await sql`select 1 from search_backlog limit 1`.execute(database)
  return backlog.length === 0 ? sql`(${selectMatches(copy, wordQuery)})` : undefined
}

/** Replace the result when FTS5 splits a word, which it then cannot find: it does not accept some letters, as of New Tai Lue. */
export async function replaceOnSplitWord<T>(result: Promise<T>, replacement: T): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Error && SPLIT_WORD.test(error.message)) return replacement
    throw error
  }
}

function selectMatches(copy: CopyRow, { words, isWholeWord }: WordQuery): RawBuilder<{ id: number }> {
  // Quoted letters and digits: no part of the search is FTS5 syntax.
  const match = words.map((word) => `"${word}"${isWholeWord ? '' : '*'}`).join(' AND ')
  const bits = sql.lit(PRODUCT_BITS)
  const [first, next] = [sql.lit(copy.id), sql.lit(copy.id + 1)]
  return sql`select rowid & ((1 << ${bits}) - 1) as id from product_words
    where product_words match ${match} and rowid between ${first} << ${bits} and (${next} << ${bits}) - 1
    and ${createDeadlineCheck('rowid')}`
}

function hasLexemes({ words, isWholeWord }: WordQuery): RawBuilder<SqlBool> {
  if (words.some((word) => word.length > MAX_WORD_CHARACTERS)) return sql<SqlBool>`1 = 0`
  const query = words.map((word) => `'${word}'${isWholeWord ? '' : ':*'}`).join(' & ')
  return sql<SqlBool>`words @@ ${query}::tsquery`
}
