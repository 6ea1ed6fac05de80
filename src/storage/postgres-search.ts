import { type Expression, type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import type { WordMatch } from './sqlite-search.ts'

/**
 * The index of words, as PostgreSQL has it. The lists of words are made here and not by the database, whose languages and
 * parsers know other words; so a search finds the same wherever the copy is stored.
 */

/** Letters and digits, as the index of SQLite tells words apart. */
const WORD = /[\p{L}\p{N}]+/gu

/** A longer word is no word; the database would refuse the whole list. */
const MAX_WORD_CHARACTERS = 500

/** Products that have all the words, of which the best are picked. */
const MAX_CANDIDATES = 200

/** The words of a text as the database writes a list of them: each once, in quotation marks. */
export function toWordList(searchText: string): string {
  const words = new Set(searchText.match(WORD))
  return [...words]
    .filter((word) => word.length <= MAX_WORD_CHARACTERS)
    .map((word) => `'${word}'`)
    .join(' ')
}

/** Visible products with all the words, or with words that begin so; not all of many. */
export async function findByLexemes(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: WantedWords,
): Promise<readonly WordMatch[]> {
  return whereWords(database, copy, wanted)
    .select(['id', 'gtin', 'search_text'])
    .limit(MAX_CANDIDATES)
    .execute()
}

/** A statement that gives the ids of all visible products with all the words, or with words that begin so. */
export function selectByLexemes(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: WantedWords,
): Expression<{ id: number }> {
  return whereWords(database, copy, wanted).select('id')
}

type WantedWords = Readonly<{ words: readonly string[]; isWhole: boolean }>

function whereWords(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { words, isWhole }: WantedWords,
): SelectQueryBuilder<CopyTables, 'products', object> {
  // Letters and digits in quotation marks: nothing of a search is syntax. A word that is too long is in no list.
  const query = words.map((word) => `'${word}'${isWhole ? '' : ':*'}`).join(' & ')
  const products = database
    .selectFrom('products')
    .where('copy_id', '=', copy.id)
    .where(isVisibleAt<'products'>(copy.visibleWalk))
  return words.some((word) => word.length > MAX_WORD_CHARACTERS)
    ? products.where(sql<boolean>`1 = 0`)
    : products.where(sql<boolean>`words @@ ${query}::tsquery`)
}
