import { type Kysely, type Migration, sql } from 'kysely'

/** Walks and lists of channels that are held, and first times of offers whose product is absent (ADR 0031). */
export const heldWalksMigration: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(database)
  },
}

const STATEMENTS = [
  // Of the walks of earlier versions it is not known: the next one is not held for it.
  'alter table copies add column is_malformed integer not null default 1',
  'alter table copies add column held_reason text',
  'alter table copies add column held_since_ms bigint',
  'alter table copies add column held_started_at_ms bigint',
  'alter table copies add column held_product_count integer',
  'alter table channel_lists add column held_since_ms bigint',
  `create table lapsed_deals (
    copy_id integer not null, gtin text not null, offer_key text not null, first_seen_ms bigint not null,
    lapsed_at_ms bigint not null, primary key (copy_id, gtin, offer_key)) without rowid`,
  'create index lapsed_deals_by_time on lapsed_deals (copy_id, lapsed_at_ms)',
]
