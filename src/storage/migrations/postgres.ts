import type { Kysely, Migration } from 'kysely'
import { ID, FILLFACTOR, TEXT, runStatements } from '../../database/postgres-statements.ts'
import { OBSERVED_DEAL_INDEXES, OBSERVED_NETWORK_INDEX } from './observed-deal-indexes.ts'
import { addPictureHashes } from './picture-hashes.ts'

/** Migrations of a PostgreSQL copy by name, applied in name order. Never change a released one. */
export const POSTGRES_COPY_MIGRATIONS: Readonly<Record<string, Migration>> = {
  // The tables of SQLite's migrations 0001 to 0006 (ADR 0018).
  '0001-first': toMigration([
    `create table if not exists channels (
      catalog ${TEXT} not null, channel_id ${TEXT} not null, position integer not null, name text not null,
      kind text not null, url text, gone_at_ms bigint, primary key (catalog, channel_id))`,
    `create table if not exists channel_lists (catalog ${TEXT} primary key, as_of_ms bigint not null)`,
    `create table if not exists copies (
      id ${ID}, catalog ${TEXT} not null, channel_id ${TEXT} not null, current_walk integer not null default 0,
      running_walk integer not null default 0, completed_started_at_ms bigint, completed_at_ms bigint,
      product_count integer not null default 0, deal_count integer not null default 0, deal_currency text,
      drops text not null default '{}', started_at_ms bigint, failure text, failed_at_ms bigint,
      lease_owner text, lease_until_ms bigint not null default 0, lease_fence bigint not null default 0,
      unique (catalog, channel_id))`,
    `create table if not exists walk_pages (
      copy_id bigint not null, walk integer not null, after_gtin ${TEXT} not null, until_gtin ${TEXT} not null,
      as_of_ms bigint not null, next_cursor text, product_count integer not null, drops text not null,
      primary key (copy_id, walk, after_gtin))`,
    // This program fills `words`, so that word boundaries do not depend on the database's language.
    `create table if not exists products (
      id ${ID}, copy_id bigint not null, gtin ${TEXT} not null, from_walk integer not null, until_walk integer,
      digest text not null, title text not null, brand text, search_text text not null, images text not null,
      offers text not null, as_of_ms bigint not null, words tsvector, unique (copy_id, gtin, from_walk))${FILLFACTOR}`,
    `create index if not exists products_ended on products (copy_id, until_walk) where until_walk is not null`,
    `create index if not exists products_words on products using gin (words)`,
    `create table if not exists absences (
      copy_id bigint not null, gtin ${TEXT} not null, as_of_ms bigint not null, primary key (copy_id, gtin))`,
    `create table if not exists deals (
      id ${ID}, product_id bigint not null, copy_id bigint not null, gtin ${TEXT} not null, from_walk integer not null,
      until_walk integer, offer_index integer not null, offer text not null, offer_key text not null,
      currency ${TEXT} not null, merchant_key ${TEXT} not null, brand_key ${TEXT} not null, search_text text not null,
      is_in_stock integer not null, is_best integer not null, is_best_in_stock integer not null,
      discount_percent integer not null, ratio_key ${TEXT} not null, price_key ${TEXT} not null,
      saving_key ${TEXT} not null, first_seen_ms bigint not null)`,
    `create index if not exists deals_of_product on deals (product_id)`,
    `create index if not exists deals_by_ratio on deals (copy_id, currency, ratio_key, price_key, gtin)`,
    `create index if not exists deals_by_saving on deals (copy_id, currency, saving_key desc, price_key, gtin)`,
    `create index if not exists deals_by_price on deals (copy_id, currency, price_key, ratio_key, gtin)`,
    `create index if not exists deals_by_newest on deals (copy_id, currency, first_seen_ms desc, ratio_key, price_key, gtin)`,
    `create table if not exists quotas (
      catalog ${TEXT} primary key, limited_until_ms bigint not null, pause_count integer not null,
      limited_at_ms bigint not null, learned_calls integer)`,
    `create table if not exists quota_days (
      catalog ${TEXT} not null, day integer not null, walk integer not null, refresh integer not null,
      lookup integer not null, reserved integer not null default 0, primary key (catalog, day))`,
    `create table if not exists quota_minutes (
      catalog ${TEXT} not null, minute integer not null, lookups integer not null, primary key (catalog, minute))`,
    `create table if not exists lookup_leases (
      catalog ${TEXT} not null, channel_id ${TEXT} not null, gtin ${TEXT} not null, lease_owner text not null,
      lease_until_ms bigint not null, primary key (catalog, channel_id, gtin))`,
  ]),
  // SQLite's 0007.
  '0002-deal-filters': toMigration([
    'create index if not exists deals_by_brand on deals (copy_id, currency, brand_key)',
    'create index if not exists deals_by_merchant on deals (copy_id, currency, merchant_key)',
  ]),
  // SQLite's 0008.
  '0003-held-walks': toMigration([
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
  ]),
  // SQLite's 0009.
  '0004-dropped-offers': toMigration(['alter table products add column if not exists drops text']),
  // SQLite's 0010.
  '0005-price-times': toMigration([
    'alter table products add column if not exists checked_at text',
    'alter table deals add column if not exists sale_ends_ms bigint',
    `create index if not exists deals_ending on deals (product_id, sale_ends_ms)
      where sale_ends_ms is not null`,
  ]),
  // SQLite's 0011.
  '0006-pictures': { up: addPictureHashes },
  // SQLite's 0012.
  '0007-price-history': toMigration([
    `create table if not exists price_changes (
      copy_id bigint not null, gtin ${TEXT} not null, merchant_key ${TEXT} not null, currency ${TEXT} not null,
      day integer not null, until_day integer, low bigint, last bigint,
      primary key (copy_id, gtin, merchant_key, currency, day))`,
    `create table if not exists observed_days (
      copy_id bigint not null, day integer not null, after_gtin ${TEXT} not null, until_gtin ${TEXT} not null,
      is_imported integer not null, primary key (copy_id, day, after_gtin))`,
    `alter table deals add column if not exists drop_key ${TEXT} not null default '9'`,
    'create index if not exists deals_by_drop on deals (copy_id, currency, drop_key, ratio_key, price_key, gtin)',
    `create table if not exists observed_deals (
      id ${ID}, product_id bigint not null, copy_id bigint not null, gtin ${TEXT} not null, from_walk integer not null,
      until_walk integer, offer_index integer not null, offer text not null, offer_key text not null,
      currency ${TEXT} not null, merchant_key ${TEXT} not null, brand_key ${TEXT} not null, search_text text not null,
      is_in_stock integer not null, is_best integer not null, is_best_in_stock integer not null,
      discount_percent integer not null, ratio_key ${TEXT} not null, price_key ${TEXT} not null,
      saving_key ${TEXT} not null, first_seen_ms bigint not null, sale_ends_ms bigint, drop_key ${TEXT} not null)`,
    ...OBSERVED_DEAL_INDEXES,
  ]),
  // SQLite's 0013.
  '0008-counts': toMigration([
    `create table if not exists widget_counts (
      copy_id bigint not null, day integer not null, sub ${TEXT} not null, gtin ${TEXT} not null,
      shown bigint not null, hidden bigint not null, unavailable bigint not null,
      primary key (copy_id, day, sub, gtin))${FILLFACTOR}`,
    'create index if not exists widget_counts_by_product on widget_counts (copy_id, gtin)',
    `create table if not exists click_counts (
      copy_id bigint not null, day integer not null, sub ${TEXT} not null, gtin ${TEXT} not null,
      merchant ${TEXT} not null, clicks bigint not null,
      primary key (copy_id, day, sub, gtin, merchant))${FILLFACTOR}`,
    `create table if not exists count_days (
      copy_id bigint not null, day integer not null, subs integer not null, widget_rows integer not null,
      click_rows integer not null, primary key (copy_id, day))${FILLFACTOR}`,
  ]),
  // SQLite's 0014.
  '0009-events': toMigration([
    'alter table walk_pages add column if not exists merchants text',
    `create table if not exists product_states (
      copy_id bigint not null, gtin ${TEXT} not null, is_sold integer not null, title text not null,
      primary key (copy_id, gtin))`,
    `create table if not exists feed_states (
      catalog ${TEXT} not null, feed ${TEXT} not null, is_quiet integer not null, primary key (catalog, feed))`,
    `create table if not exists events (
      id ${TEXT} primary key, catalog ${TEXT} not null, channel_id ${TEXT}, at_ms bigint not null,
      position integer not null, details text not null, delivered_at_ms bigint)`,
    'create index if not exists events_by_time on events (catalog, at_ms, position)',
    `create table if not exists event_deliveries (
      catalog ${TEXT} primary key, lease_owner text, lease_until_ms bigint not null default 0,
      failures integer not null default 0, next_attempt_ms bigint not null default 0, delivered_at_ms bigint,
      failure text, failed_at_ms bigint)`,
  ]),
  // SQLite's 0015.
  '0010-new-subs': toMigration([
    `alter table count_days
      add column if not exists new_subs integer not null default 0,
      add column if not exists new_widget_rows integer not null default 0,
      add column if not exists new_click_rows integer not null default 0`,
    'create index if not exists widget_counts_by_sub on widget_counts (copy_id, sub, day)',
  ]),
  // SQLite's 0016.
  '0011-networks': toMigration([
    `alter table deals add column if not exists network_key ${TEXT}`,
    `alter table observed_deals add column if not exists network_key ${TEXT}`,
    'create index if not exists deals_by_network on deals (copy_id, currency, network_key)',
    OBSERVED_NETWORK_INDEX,
  ]),
  // SQLite's 0017.
  '0012-had-products': toMigration([
    'alter table copies add column if not exists had_products integer not null default 0',
    'update copies set had_products = 1 where product_count > 0',
  ]),
  // SQLite's 0018.
  '0013-walk-reasons': toMigration([
    'alter table copies add column if not exists retry_code text',
    'alter table copies add column if not exists failure_reason text',
    'alter table walk_pages add column if not exists malformed text',
  ]),
}

function toMigration(statements: readonly string[]): Migration {
  return { up: (database: Kysely<unknown>) => runStatements(database, statements) }
}
