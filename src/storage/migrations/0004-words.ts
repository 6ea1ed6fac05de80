import type { Kysely, Migration } from 'kysely'
import { letWritersHoldWords } from '../sqlite-words.ts'

/** One who writes many products puts their words into the index at once (ADR 0036). */
export const wordsMigration: Migration = {
  up: (database: Kysely<unknown>) => letWritersHoldWords(database),
}
