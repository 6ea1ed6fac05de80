import type { Kysely, Migration } from 'kysely'
import { runStatements } from '../../database/postgres-statements.ts'

/** Indexes for the filters of grids that can be rare. SQLite's are those of migration 0007. */
export const postgresDealFiltersMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await runStatements(database, [
      'create index if not exists deals_by_brand on deals (copy_id, currency, brand_key)',
      'create index if not exists deals_by_merchant on deals (copy_id, currency, merchant_key)',
    ])
  },
}
