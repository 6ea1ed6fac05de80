import type { Kysely, Migration } from 'kysely'

/** What all processes know of the catalog's daily limit (ADR 0009). */
export const quotaMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema
      .createTable('quotas')
      .addColumn('catalog', 'text', (column) => column.primaryKey())
      .addColumn('limited_until_ms', 'bigint', (column) => column.notNull())
      .addColumn('pause_count', 'integer', (column) => column.notNull())
      .addColumn('limited_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('learned_calls', 'integer')
      .execute()
    await database.schema
      .createTable('quota_days')
      .addColumn('catalog', 'text', (column) => column.notNull())
      .addColumn('day', 'integer', (column) => column.notNull())
      .addColumn('walk', 'integer', (column) => column.notNull())
      .addColumn('refresh', 'integer', (column) => column.notNull())
      .addColumn('lookup', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('quota_days_pk', ['catalog', 'day'])
      .execute()
    await database.schema
      .createTable('quota_minutes')
      .addColumn('catalog', 'text', (column) => column.notNull())
      .addColumn('minute', 'integer', (column) => column.notNull())
      .addColumn('lookups', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('quota_minutes_pk', ['catalog', 'minute'])
      .execute()
  },
}
