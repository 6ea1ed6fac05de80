import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import { selectByLexemes } from './postgres-search.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { hasWord, splitWords } from './sql-lookups.ts'
import { hasSearchBacklog, isSplitWord, selectByWords } from './sqlite-search.ts'
import type { DealQuery } from './store.ts'

/** Letters and digits, as the index of words tells words apart, and how many words are looked for. */
const LETTERS = /[\p{L}\p{N}]+/gu
const MAX_WORDS = 10

/** Products that are counted, to tell few from many. */
const MAX_COUNTED = 2_001

/** Deals that are searched for a text within words, which no index finds: those with the highest discounts. */
const MAX_SCANNED = 20_000

/** Deals that such a search gives: their ids stand in the statement. */
const MAX_FOUND = 1_000

/** The `q` of a grid as a condition on `deals`. */
export type WordFilter = Readonly<{
  /** Products that have the words, counted up to a bound; 0: no deal can pass. */
  count: number
  /** `isIndexUsed`: deals are found by it, and not only tested. */
  condition(isIndexUsed: boolean): Expression<SqlBool>
}>

/**
 * Deals of products in which every word of the text begins a word of title or brand, with its signs. Where no product has such words, as in
 * languages without spaces between words, the text is searched for anywhere in the 20,000 deals with the highest discounts.
 */
export async function createWordFilter(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: Pick<DealQuery, 'words' | 'currency'>,
): Promise<WordFilter> {
  const typed = splitWords(query.words ?? '')
  const words = [...new Set(typed.flatMap((word) => word.match(LETTERS) ?? []))].slice(0, MAX_WORDS)
  const products = words.length === 0 ? undefined : await selectProducts(database, copy, words)
  const count = products === undefined ? 0 : await countProducts(database, products)
  if (products === undefined || count === 0) return createTextFilter(database, copy, query)
  // The index knows letters and digits only: "c++" is more than "c".
  const signs = typed.filter((word) => word.match(LETTERS)?.[0] !== word).map(hasWord)
  return {
    count,
    condition: (isIndexUsed) => {
      const id = isIndexUsed || isPostgres(database) ? sql`deals.product_id` : sql`+deals.product_id`
      return sql`${sql.join([sql`${id} in ${products}`, ...signs], sql` and `)}`
    },
  }
}

/** A statement in parentheses that gives the ids of products; `undefined` while the index of words is being filled. */
type ProductIds = Expression<{ id: number }>

async function selectProducts(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  words: readonly string[],
): Promise<ProductIds | undefined> {
  if (isPostgres(database)) return selectByLexemes(database, copy, { words, isWhole: false })
  return (await hasSearchBacklog(database))
    ? undefined
    : sql`(${selectByWords(copy, { words, isWhole: false })})`
}

async function countProducts(database: Kysely<CopyTables>, products: ProductIds): Promise<number> {
  const counted = sql<{ count: number }>`select count(*) as count from (
    select * from ${products} as products limit ${sql.lit(MAX_COUNTED)}) as counted`
  try {
    const { rows } = await counted.execute(database)
    return rows[0]?.count ?? 0
  } catch (error) {
    if (isSplitWord(error)) return 0
    throw error
  }
}

async function createTextFilter(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: Pick<DealQuery, 'words' | 'currency'>,
): Promise<WordFilter> {
  const words = splitWords(query.words ?? '')
  // Accents alone are no word, and no title has them alone.
  const ids = words.length === 0 ? [] : await findByText(database, copy, { words, currency: query.currency })
  return {
    count: ids.length,
    condition: () => (ids.length === 0 ? sql`1 = 0` : sql`deals.id in (${sql.join(ids.map(sql.lit))})`),
  }
}

/** Deals whose text has the words anywhere, among those with the highest discounts. */
async function findByText(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { words, currency }: Readonly<{ words: readonly string[]; currency: string }>,
): Promise<readonly number[]> {
  const first = database
    .selectFrom('deals')
    .select(['id', 'search_text'])
    .where('copy_id', '=', copy.id)
    .where('currency', '=', currency)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
    .orderBy('ratio_key')
    .orderBy('price_key')
    .orderBy('gtin')
    .limit(MAX_SCANNED)
    .as('first')
  const rows = await database
    .selectFrom(first)
    .select('id')
    .where(({ and }) => and(words.map(hasWord)))
    .limit(MAX_FOUND)
    .execute()
  return rows.map(({ id }) => id)
}
