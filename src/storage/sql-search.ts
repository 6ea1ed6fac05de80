import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { cleanText, foldText } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, isVisibleAt } from './sql-copies.ts'
import { WORD, type WordMatch, findByWords, hasWord, splitWords, toIndexWords } from './search-words.ts'
import { readProducts } from './sql-lookups.ts'
import type { CopyEntry } from './store.ts'

/** Digits of a stored GTIN. */
const GTIN_DIGITS = 14

/** Comes after every digit. */
const ABOVE_DIGITS = ':'

/** What is read of a search: longer ones are pasted pages. */
const MAX_CHARACTERS = 300

/** Products that are looked through where no index helps: their thread serves readers. */
const MAX_SCANNED = 20_000

/** A search: the copy that it is in, and how many products it may find. */
type Search = Readonly<{ database: Kysely<CopyTables>; copy: CopyRow; text: string; limit: number }>

/**
 * Products with words in title or brand that begin like every word of the text, best first; for 4 to 14 digits those whose
 * GTIN, with its leading zeros or with fewer, begins so. Only when there are none, the first 20,000 are looked through
 * for the text within words. An empty text finds the first products.
 */
export async function searchProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  wanted: Readonly<{ text: string; limit: number }>,
): Promise<readonly CopyEntry[]> {
  const text = cleanText(wanted.text, MAX_CHARACTERS)
  // Controls alone are no search, and not the empty one either.
  if (text === '' && wanted.text.trim() !== '') return []
  const ids = await findIds({ database, copy, text, limit: wanted.limit })
  if (ids.length === 0) return []
  const entries = new Map((await readProducts(database, copy, ids)).map((entry) => [entry.id, entry]))
  return ids.flatMap((id) => entries.get(id) ?? [])
}

async function findIds(search: Search): Promise<readonly number[]> {
  if (search.text === '') return findInRange(search, '', ABOVE_DIGITS)
  const byGtin = /^\d{4,14}$/.test(search.text) ? await findByGtin(search) : []
  if (byGtin.length > 0) return byGtin
  const byWords = await findBest(search)
  return byWords.length > 0 ? byWords : lookThrough(search)
}

/** Products by GTIN whose GTIN is at least `from` and below `below`. */
async function findInRange(
  { database, copy, limit }: Search,
  from: string,
  below: string,
): Promise<number[]> {
  const rows = await database
    .selectFrom('products')
    .select('id')
    .where('copy_id', '=', copy.id)
    .where('gtin', '>=', from)
    .where('gtin', '<', below)
    .where(isVisibleAt(copy.visibleWalk))
    .orderBy('gtin')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** By the beginning of a GTIN, the product that has just this one first: one range for each number of zeros before it. */
async function findByGtin(search: Search): Promise<readonly number[]> {
  const found = new Set<number>()
  for (let zeros = GTIN_DIGITS - search.text.length; zeros >= 0; zeros--) {
    const digits = '0'.repeat(zeros) + search.text
    for (const id of await findInRange(search, digits, `${digits}${ABOVE_DIGITS}`)) found.add(id)
    if (found.size >= search.limit) break
  }
  return [...found].slice(0, search.limit)
}

/**
 * By the words of the index. Those that have every word whole come before those where words only begin so; among the
 * candidates, of which there are few, see `compareMatches`.
 */
async function findBest({ database, copy, text, limit }: Search): Promise<readonly number[]> {
  const folded = foldText(text)
  const words = toIndexWords(folded)
  if (words.length === 0) return []
  const matches = new Map<number, Ranked>()
  for (const isWhole of [true, false]) {
    for (const match of await findByWords(database, copy, { words, isWhole }))
      matches.set(match.id, rank(match, { folded, words }))
    if (matches.size >= limit) break
  }
  return [...matches.values()]
    .sort(compareMatches)
    .slice(0, limit)
    .map(({ id }) => id)
}

type Ranked = Readonly<{ id: number; gtin: string; wholeCount: number; isFirst: boolean; length: number }>

function rank(
  { id, gtin, search_text: text }: WordMatch,
  wanted: Readonly<{ folded: string; words: readonly string[] }>,
): Ranked {
  const words = new Set(text.match(WORD))
  return {
    id,
    gtin,
    wholeCount: wanted.words.filter((word) => words.has(word)).length,
    isFirst: text.startsWith(wanted.folded),
    length: text.length,
  }
}

/** More whole words, then a title that begins with the search, then the shortest title; the GTIN decides between equals. */
function compareMatches(a: Ranked, b: Ranked): number {
  return (
    b.wholeCount - a.wholeCount ||
    Number(b.isFirst) - Number(a.isFirst) ||
    a.length - b.length ||
    (a.gtin < b.gtin ? -1 : 1)
  )
}

/** Looks through the first products, by GTIN, for words or digits anywhere: Chinese is not split, nor are words. */
async function lookThrough({ database, copy, text, limit }: Search): Promise<readonly number[]> {
  const words = splitWords(text)
  // Accents alone are no word.
  if (words.length === 0) return []
  const hasWords: Expression<SqlBool> = sql`${sql.join(words.map(hasWord), sql` and `)}`
  const hasDigits: Expression<SqlBool> = sql`gtin like ${`%${text}%`}`
  const rows = await database
    .selectFrom(({ selectFrom }) =>
      selectFrom('products')
        .select(['id', 'gtin', 'search_text'])
        .where('copy_id', '=', copy.id)
        .where(isVisibleAt(copy.visibleWalk))
        .orderBy('gtin')
        .limit(MAX_SCANNED)
        .as('looked_at'),
    )
    .select('id')
    .where(({ or }) => (/^\d{4,14}$/.test(text) ? or([hasDigits, hasWords]) : hasWords))
    .orderBy('gtin')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
