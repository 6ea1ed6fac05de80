import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/is-postgres.ts'
import { createDeadlineCheck } from '../database/read-deadline.ts'
import { compareTexts } from '../offers/ranking.ts'
import { cleanText, foldCaseAndAccents } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, isVisibleAt } from './sql-copies.ts'
import { readProducts } from './sql-lookups.ts'
import type { CopyEntry } from './store.ts'

/**
 * Products by the index of words: FTS5 on SQLite, lists of lexemes on PostgreSQL. The program makes the lists, not the database,
 * whose languages and parsers know other words: so a search finds the same wherever the copy is stored.
 */

/** Letters and digits, as both indexes tell words apart. */
export const WORD = /[\p{L}\p{N}]+/gu

/** Words of one search that are looked for: longer texts are pasted pages. */
const MAX_WORDS = 10

/** What is read of a search. */
const MAX_CHARACTERS = 300

/** PostgreSQL would refuse a list with a longer word. */
const MAX_WORD_CHARACTERS = 500

/** Matches of SQLite that are looked at, and visible products with all the words, of which the best are picked. */
const MAX_MATCHES = 1_000
const MAX_CANDIDATES = 200

/** Products that are looked through where no index helps: their thread serves readers. */
const MAX_SCANNED = 20_000

/** Bits of an entry's number in SQLite's index that are the product's; those above are the copy's, so that a search stays within one. */
const PRODUCT_BITS = 40

/** How FTS5 refuses to look for two words next to each other in an index that has no places of words. */
const SPLIT_WORD = /^fts5: phrase queries are not supported/

/** The beginning of a GTIN of 14 digits, and a text that comes after every digit. */
const GTIN_PREFIX = /^\d{4,14}$/
const GTIN_DIGITS = 14
const ABOVE_DIGITS = ':'

/** `isWhole`: products with all the words; otherwise with words that begin so. */
type WordQuery = Readonly<{ words: readonly string[]; isWholeWord: boolean }>

/** A search: the copy that it is in, and how many products it may find. */
type Search = Readonly<{ database: Kysely<CopyTables>; copy: CopyRow; text: string; limit: number }>

/**
 * Find products with words in title or brand that begin like every word of the text, best first; for 4 to 14 digits those whose
 * GTIN, with its leading zeros or with fewer, begins so. Only when there are none, the first 20,000 are looked through
 * for the text within words. An empty text finds the first products.
 */
export async function searchProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  request: Readonly<{ text: string; limit: number }>,
): Promise<readonly CopyEntry[]> {
  const text = cleanText(request.text, MAX_CHARACTERS)
  // Controls alone are no search, and not the empty one either.
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

/** Find products by GTIN whose GTIN is at least `from` and below `below`. */
async function findInRange(
  { database, copy, limit }: Search,
  from: string,
  below: string,
): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`select id from products
    where copy_id = ${copy.id} and gtin >= ${from} and gtin < ${below} and ${isVisibleAt(copy.visibleWalk)}
    order by gtin limit ${limit}`.execute(database)
  return rows.map(({ id }) => id)
}

/** Find by the beginning of a GTIN, the product that has just this one first: one range for each number of zeros before it. */
async function findByGtin(search: Search): Promise<readonly number[]> {
  const foundIds = new Set<number>()
  for (let zeros = GTIN_DIGITS - search.text.length; zeros >= 0; zeros--) {
    const digits = '0'.repeat(zeros) + search.text
    for (const id of await findInRange(search, digits, `${digits}${ABOVE_DIGITS}`)) foundIds.add(id)
    if (foundIds.size >= search.limit) break
  }
  return [...foundIds].slice(0, search.limit)
}

/** A candidate of a search, with what it is ranked by. */
type RankedProduct = Readonly<{
  id: number
  gtin: string
  wholeCount: number
  isFirst: boolean
  length: number
}>

/** Find by the words of the index. Those that have every word whole come before those where words only begin so. */
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

/** More whole words, then a title that begins with the search, then the shortest title; the GTIN decides between equals. */
function compareMatches(a: RankedProduct, b: RankedProduct): number {
  return (
    b.wholeCount - a.wholeCount ||
    Number(b.isFirst) - Number(a.isFirst) ||
    a.length - b.length ||
    compareTexts(a.gtin, b.gtin)
  )
}

/** Look through the first products, by GTIN, for words or digits anywhere: Chinese is not split, nor are words. */
async function scanProducts({ database, copy, text, limit }: Search): Promise<readonly number[]> {
  const words = splitWords(text)
  // Accents alone are no word.
  if (words.length === 0) return []
  const hasDigits = GTIN_PREFIX.test(text) ? sql`gtin like ${`%${text}%`}` : sql`1 = 0`
  const { rows } = await sql<{ id: number }>`select id from (
      select id, gtin, search_text from products where copy_id = ${copy.id} and ${isVisibleAt(copy.visibleWalk)}
      order by gtin limit ${MAX_SCANNED}) as looked_at
    where ${hasDigits} or (${sql.join(words.map(hasWord), sql` and `)})
    order by gtin limit ${limit}`.execute(database)
  return rows.map(({ id }) => id)
}

/** Return the words of a search, with their signs, without case and accents. */
export function splitWords(text: string): readonly string[] {
  return foldCaseAndAccents(text).split(' ').filter(Boolean)
}

/** Return the words of a folded text as the index has them. */
export function toIndexWords(folded: string): readonly string[] {
  return [...new Set(folded.match(WORD))].slice(0, MAX_WORDS)
}

/** A condition: `search_text` contains the word anywhere; its own `%` and `_` are letters. */
export function hasWord(word: string): RawBuilder<SqlBool> {
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  return sql<SqlBool>`search_text like ${pattern} escape '\\'`
}

/** Return the words of a text as PostgreSQL writes a list of them: each once, in quotation marks. */
export function toTsvectorText(searchText: string): string {
  return [...new Set(searchText.match(WORD))]
    .filter((word) => word.length <= MAX_WORD_CHARACTERS)
    .map((word) => `'${word}'`)
    .join(' ')
}

type WordMatch = Readonly<{ id: number; gtin: string; search_text: string }>

/** Find visible products with the words; not all of many. */
async function findByWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wordQuery: WordQuery,
): Promise<readonly WordMatch[]> {
  const hasWords = isPostgres(database)
    ? sql`copy_id = ${copy.id} and ${hasLexemes(wordQuery)}`
    : sql`id in (${selectMatches(copy, wordQuery)} order by rowid limit ${MAX_MATCHES})`
  const found = sql<WordMatch>`select id, gtin, search_text from products
    where ${hasWords} and ${isVisibleAt(copy.visibleWalk)} limit ${MAX_CANDIDATES}`.execute(database)
  return replaceOnSplitWord(
    found.then(({ rows }) => rows),
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
  wordQuery: WordQuery,
): Promise<RawBuilder<{ id: number }> | undefined> {
  if (isPostgres(database))
    return sql`(select id from products
      where copy_id = ${copy.id} and ${isVisibleAt(copy.visibleWalk)} and ${hasLexemes(wordQuery)})`
  const { rows: backlog } = await sql`select 1 from search_backlog limit 1`.execute(database)
  return backlog.length === 0 ? sql`(${selectMatches(copy, wordQuery)})` : undefined
}

/** Replace the result when SQLite takes a word for two, which its index cannot find: a few letters, as of New Tai Lue, are none to it. */
export async function replaceOnSplitWord<T>(result: Promise<T>, replacement: T): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Error && SPLIT_WORD.test(error.message)) return replacement
    throw error
  }
}

function selectMatches(copy: CopyRow, { words, isWholeWord }: WordQuery): RawBuilder<{ id: number }> {
  // Letters and digits in quotation marks: nothing of a search is syntax.
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
