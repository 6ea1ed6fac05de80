import { type Kysely, sql } from 'kysely'
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
  wanted: Readonly<{ words: readonly string[]; isWhole: boolean }>,
): Promise<readonly WordMatch[]> {
  const words = wanted.words.filter((word) => word.length <= MAX_WORD_CHARACTERS)
  if (words.length < wanted.words.length) return []
  // Letters and digits in quotation marks: nothing of a search is syntax.
  const query = words.map((word) => `'${word}'${wanted.isWhole ? '' : ':*'}`).join(' & ')
  return database
    .selectFrom('products')
    .select(['id', 'gtin', 'search_text'])
    .where('copy_id', '=', copy.id)
    .where(sql<boolean>`words @@ ${query}::tsquery`)
    .where(isVisibleAt<'products'>(copy.visibleWalk))
    .limit(MAX_CANDIDATES)
    .execute()
}
