import { type Kysely, type Migration, sql } from 'kysely'
import { addPictureHashes } from './picture-hashes.ts'
import { OBSERVED_DEAL_INDEXES, OBSERVED_NETWORK_INDEX } from './observed-deal-indexes.ts'
import { CREATE_DROP_INDEX, CREATE_NETWORK_INDEXES, createFirstDealIndexes } from '../sqlite-deal-indexes.ts'
import { createSearchIndex, createDeferrableWordTrigger } from '../sqlite-search-index.ts'

/** Migrations of a SQLite copy by name, applied in name order. Never change a released one. */
export const COPY_MIGRATIONS: Readonly<Record<string, Migration>> = {
  // The first tables (ADR 0006).
  '0001-first': toMigration([
    `create table channels (
      catalog text not null, channel_id text not null, position integer not null, name text not null,
      kind text not null, url text, gone_at_ms bigint, constraint channels_pk primary key (catalog, channel_id))`,
    'create table channel_lists (catalog text primary key, as_of_ms bigint not null)',
    `create table copies (
      id integer primary key autoincrement, catalog text not null, channel_id text not null,
      current_walk integer default 0 not null, running_walk integer default 0 not null,
      completed_started_at_ms bigint, completed_at_ms bigint, product_count integer default 0 not null,
      deal_count integer default 0 not null, deal_currency text, drops text default '{}' not null,
      started_at_ms bigint, failure text, failed_at_ms bigint, lease_owner text,
      lease_until_ms bigint default 0 not null, constraint copies_of unique (catalog, channel_id))`,
    `create table walk_pages (
      copy_id integer not null, walk integer not null, after_gtin text not null, until_gtin text not null,
      as_of_ms bigint not null, next_cursor text, product_count integer not null, drops text not null,
      constraint walk_pages_pk primary key (copy_id, walk, after_gtin))`,
    `create table products (
      id integer primary key autoincrement, copy_id integer not null, gtin text not null, from_walk integer not null,
      until_walk integer, digest text not null, title text not null, brand text, search_text text not null,
      images text not null, offers text not null, as_of_ms bigint not null,
      constraint products_version unique (copy_id, gtin, from_walk))`,
    'create index products_ended on products (copy_id, until_walk) where until_walk is not null',
    `create table absences (
      copy_id integer not null, gtin text not null, as_of_ms bigint not null,
      constraint absences_pk primary key (copy_id, gtin))`,
    `create table deals (
      id integer primary key autoincrement, product_id integer not null, copy_id integer not null,
      gtin text not null, from_walk integer not null, until_walk integer, offer_index integer not null,
      offer text not null, offer_key text not null, currency text not null, merchant_key text not null,
      brand_key text not null, search_text text not null, is_in_stock integer not null, is_best integer not null,
      is_best_in_stock integer not null, discount_percent integer not null, ratio_key text not null,
      price_key text not null, saving_key text not null, first_seen_ms bigint not null)`,
    'create index deals_of_product on deals (product_id)',
    // One per sort order of grids, so that a page needs no sorting.
    'create index deals_by_ratio on deals (copy_id, currency, ratio_key, price_key, gtin)',
    'create index deals_by_saving on deals (copy_id, currency, saving_key desc, price_key, gtin)',
    'create index deals_by_price on deals (copy_id, currency, price_key, ratio_key, gtin)',
    'create index deals_by_newest on deals (copy_id, currency, first_seen_ms desc, ratio_key, price_key, gtin)',
  ]),
  // The shared state of the catalog's daily limit (ADR 0004).
  '0002-quota': toMigration([
    `create table quotas (
      catalog text primary key, limited_until_ms bigint not null, pause_count integer not null,
      limited_at_ms bigint not null, learned_calls integer)`,
    `create table quota_days (
      catalog text not null, day integer not null, walk integer not null, refresh integer not null,
      lookup integer not null, constraint quota_days_pk primary key (catalog, day))`,
    `create table quota_minutes (
      catalog text not null, minute integer not null, lookups integer not null,
      constraint quota_minutes_pk primary key (catalog, minute))`,
  ]),
  // The index for the product search (ADR 0011).
  '0003-search': { up: (database: Kysely<unknown>) => createSearchIndex(database) },
  // Bulk insert of words into the index (ADR 0007).
  '0004-words': { up: (database: Kysely<unknown>) => createDeferrableWordTrigger(database) },
  // Look-up leases (ADR 0005).
  '0005-lookup-leases': toMigration([
    `create table lookup_leases (
      catalog text not null, channel_id text not null, gtin text not null, lease_owner text not null,
      lease_until_ms bigint not null, constraint lookup_leases_pk primary key (catalog, channel_id, gtin))`,
  ]),
  // Fencing tokens of leases, and reserved calls (ADR 0018).
  '0006-lease-fences': toMigration([
    'alter table copies add column lease_fence bigint default 0 not null',
    'alter table quota_days add column reserved integer default 0 not null',
  ]),
  // Indexes for the filters of grids (ADR 0011).
  '0007-deal-filters': { up: createFirstDealIndexes },
  // Held walks and channel lists, and first-seen times of offers whose product is absent (ADR 0008).
  '0008-held-walks': toMigration([
    // Unknown for walks of earlier versions; 1 keeps the next walk from being held for that reason.
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
  ]),
  // Counts of dropped offers per product, filled by the next walk.
  '0009-dropped-offers': toMigration(['alter table products add column drops text']),
  // When prices were checked and sales end (ADR 0028), filled by the next walk.
  '0010-price-times': toMigration([
    'alter table products add column checked_at text',
    'alter table deals add column sale_ends_ms bigint',
    'create index deals_ending on deals (product_id, sale_ends_ms) where sale_ends_ms is not null',
  ]),
  // Names of pictures, by which visitors request them (ADR 0029).
  '0011-pictures': { up: addPictureHashes },
  // Observed prices, and the deals that they confirm (ADR 0031).
  '0012-price-history': toMigration([
    `create table price_changes (
      copy_id integer not null, gtin text not null, merchant_key text not null, currency text not null,
      day integer not null, until_day integer, low integer, last integer,
      primary key (copy_id, gtin, merchant_key, currency, day)) without rowid`,
    `create table observed_days (
      copy_id integer not null, day integer not null, after_gtin text not null, until_gtin text not null,
      is_imported integer not null, primary key (copy_id, day, after_gtin)) without rowid`,
    `alter table deals add column drop_key text not null default '9'`,
    CREATE_DROP_INDEX,
    `create table observed_deals (
      id integer primary key autoincrement, product_id integer not null, copy_id integer not null,
      gtin text not null, from_walk integer not null, until_walk integer, offer_index integer not null,
      offer text not null, offer_key text not null, currency text not null, merchant_key text not null,
      brand_key text not null, search_text text not null, is_in_stock integer not null, is_best integer not null,
      is_best_in_stock integer not null, discount_percent integer not null, ratio_key text not null,
      price_key text not null, saving_key text not null, first_seen_ms bigint not null, sale_ends_ms bigint,
      drop_key text not null)`,
    ...OBSERVED_DEAL_INDEXES,
  ]),
  // Counts of widgets and clicks (ADR 0034).
  '0013-counts': toMigration([
    `create table widget_counts (
      copy_id integer not null, day integer not null, sub text not null, gtin text not null, shown integer not null,
      hidden integer not null, unavailable integer not null, primary key (copy_id, day, sub, gtin)) without rowid`,
    'create index widget_counts_by_product on widget_counts (copy_id, gtin)',
    `create table click_counts (
      copy_id integer not null, day integer not null, sub text not null, gtin text not null, merchant text not null,
      clicks integer not null, primary key (copy_id, day, sub, gtin, merchant)) without rowid`,
    `create table count_days (
      copy_id integer not null, day integer not null, subs integer not null, widget_rows integer not null,
      click_rows integer not null, primary key (copy_id, day)) without rowid`,
  ]),
  // Events, and what they are detected from (ADR 0035).
  '0014-events': toMigration([
    'alter table walk_pages add column merchants text',
    `create table product_states (
      copy_id integer not null, gtin text not null, is_sold integer not null, title text not null,
      primary key (copy_id, gtin)) without rowid`,
    `create table feed_states (
      catalog text not null, feed text not null, is_quiet integer not null,
      primary key (catalog, feed)) without rowid`,
    `create table events (
      id text primary key, catalog text not null, channel_id text, at_ms integer not null, position integer not null,
      details text not null, delivered_at_ms integer) without rowid`,
    'create index events_by_time on events (catalog, at_ms, position)',
    `create table event_deliveries (
      catalog text primary key, lease_owner text, lease_until_ms integer not null default 0,
      failures integer not null default 0, next_attempt_ms integer not null default 0, delivered_at_ms integer,
      failure text, failed_at_ms integer) without rowid`,
  ]),
  // Sub-ids without a count on an earlier day have their own bounds (ADR 0034).
  '0015-new-subs': toMigration([
    'alter table count_days add column new_subs integer not null default 0',
    'alter table count_days add column new_widget_rows integer not null default 0',
    'alter table count_days add column new_click_rows integer not null default 0',
    'create index widget_counts_by_sub on widget_counts (copy_id, sub, day)',
  ]),
  // Networks of deals, filled by the next walk.
  '0016-networks': toMigration([
    'alter table deals add column network_key text',
    'alter table observed_deals add column network_key text',
    ...CREATE_NETWORK_INDEXES,
    OBSERVED_NETWORK_INDEX,
  ]),
  // Whether any walk found products (ADR 0005).
  '0017-had-products': toMigration([
    'alter table copies add column had_products integer not null default 0',
    'update copies set had_products = 1 where product_count > 0',
  ]),
  // Why walks fail or retry a call, and which entries are malformed.
  '0018-walk-reasons': toMigration([
    'alter table copies add column retry_code text',
    'alter table copies add column failure_reason text',
    'alter table walk_pages add column malformed text',
  ]),
}

function toMigration(statements: readonly string[]): Migration {
  return {
    async up(database: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(database)
    },
  }
}
