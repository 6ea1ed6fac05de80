import { type Kysely, sql } from 'kysely'
import type { CopyTables } from '../../src/storage/schema.ts'
import { isPostgres } from '../../src/database/is-postgres.ts'

/** Remove what the migrations from 0012 on add, which are those from 0007 on in PostgreSQL. */
export async function undoPriceHistory(database: Kysely<CopyTables>): Promise<void> {
  for (const order of ['drop', 'discount', 'network'])
    await sql`drop index if exists ${sql.ref(`deals_by_${order}`)}`.execute(database)
  for (const column of ['drop_key', 'network_key'])
    await sql`alter table deals drop column ${sql.ref(column)}`.execute(database)
  for (const column of ['merchants', 'malformed'])
    await sql`alter table walk_pages drop column ${sql.ref(column)}`.execute(database)
  for (const column of ['had_products', 'retry_code', 'failure_reason'])
    await sql`alter table copies drop column ${sql.ref(column)}`.execute(database)
  for (const table of [
    'price_changes',
    'observed_days',
    'observed_deals',
    'widget_counts',
    'click_counts',
    'count_days',
    'product_states',
    'feed_states',
    'events',
    'event_deliveries',
  ])
    await sql`drop table ${sql.table(table)}`.execute(database)
}

/** Revert a copy to its schema before migration 0008, which is 0003 on PostgreSQL. */
export async function undoMigrationsFrom0008(database: Kysely<CopyTables>): Promise<void> {
  for (const column of [
    'is_malformed',
    'held_reason',
    'held_since_ms',
    'held_started_at_ms',
    'held_product_count',
  ])
    await sql`alter table copies drop column ${sql.ref(column)}`.execute(database)
  await sql`alter table channel_lists drop column held_since_ms`.execute(database)
  await sql`drop index deals_ending`.execute(database)
  await sql`alter table deals drop column sale_ends_ms`.execute(database)
  await sql`drop index products_by_picture`.execute(database)
  for (const column of ['drops', 'checked_at', 'picture_hash'])
    await sql`alter table products drop column ${sql.ref(column)}`.execute(database)
  await sql`drop table lapsed_deals`.execute(database)
  await undoPriceHistory(database)
  const first = isPostgres(database) ? '0003' : '0008'
  await sql`delete from kysely_migration where name >= ${first}`.execute(database)
}
