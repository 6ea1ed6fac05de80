import type { Kysely, Migration } from 'kysely'
import { runStatements } from '../../database/postgres-statements.ts'

/** How many offers of a product were left out. SQLite's is migration 0009. */
export const postgresDroppedOffersMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await runStatements(database, ['alter table products add column if not exists drops text'])
  },
}
