import type { Kysely, Migration } from 'kysely'
import { createSearchIndex } from '../sqlite-search.ts'

/** The index of words behind the search of products (ADR 0003). */
export const searchMigration: Migration = {
  up: (database: Kysely<unknown>) => createSearchIndex(database),
}
