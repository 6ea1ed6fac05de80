import type { Kysely, Migration } from 'kysely'
import { TEXT, runStatements } from '../../database/postgres-statements.ts'

/** SQLite's migration 0008 on PostgreSQL. */
export const postgresHeldWalksMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await runStatements(database, [
      `alter table copies
        add column if not exists is_malformed integer not null default 1,
        add column if not exists held_reason text,
        add column if not exists held_since_ms bigint,
        add column if not exists held_started_at_ms bigint,
        add column if not exists held_product_count integer`,
      'alter table channel_lists add column if not exists held_since_ms bigint',
      `create table if not exists lapsed_deals (
        copy_id bigint not null, gtin ${TEXT} not null, offer_key text not null, first_seen_ms bigint not null,
        lapsed_at_ms bigint not null, primary key (copy_id, gtin, offer_key))`,
      'create index if not exists lapsed_deals_by_time on lapsed_deals (copy_id, lapsed_at_ms)',
    ])
  },
}
