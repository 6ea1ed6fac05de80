import type { Kysely, Migration } from 'kysely'

/** What several machines that share a copy need (ADR 0023): a number for each holder of a lease, and calls that are reserved. */
export const fleetsMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema
      .alterTable('copies')
      .addColumn('lease_fence', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await database.schema
      .alterTable('quota_days')
      .addColumn('reserved', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
