import type { Kysely, Migration } from 'kysely'

/** Who asks the catalog for which product, for the processes that share a store (ADR 0018). */
export const claimsMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema
      .createTable('lookup_claims')
      .addColumn('catalog', 'text', (column) => column.notNull())
      .addColumn('channel_id', 'text', (column) => column.notNull())
      .addColumn('gtin', 'text', (column) => column.notNull())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('until_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('lookup_claims_pk', ['catalog', 'channel_id', 'gtin'])
      .execute()
  },
}
