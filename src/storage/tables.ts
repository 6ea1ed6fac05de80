import type { Kysely } from 'kysely'
import type { Migrations } from '../database/migrate.ts'
import type { LeftTables, MovedTable } from '../database/move-tables.ts'
import { SQLITE_TABLES, type TableDialect, createTables } from '../database/tables.ts'
import { createSearchIndex } from './search-index.ts'

/** The migrations of a stored copy, for both engines. Never change a released one. */
export const COPY_MIGRATIONS: Migrations = {
  'copy-0001-tables': { up: createCopyTables },
  'copy-0002-price-histories': { up: (database) => createTables(database, listHistoryStatements) },
}

/** The indexes of deals in SQLite, by name. */
export const SQLITE_DEAL_INDEXES: Readonly<Record<string, string>> = listDealIndexes(SQLITE_TABLES)

async function createCopyTables(database: Kysely<unknown>): Promise<void> {
  await createTables(database, listStatements)
  await createSearchIndex(database)
}

function listStatements(dialect: TableDialect): readonly string[] {
  return [...listCopyTables(dialect), ...listOtherTables(dialect), ...listIndexes(dialect)]
}

/** The copies of channels (ADR 0006), which walks fill again. `schema.ts` describes the columns. */
function listCopyTables({ uniqueId: id, text, keyed, updated, onPostgres }: TableDialect): readonly string[] {
  // `words`: of a product, for searches. This program fills it, so that word boundaries do not depend on the database.
  return [
    `create table channels (
      catalog ${text} not null, channel_id ${text} not null, position integer not null, name text not null,
      kind text not null, url text, gone_at_ms bigint, primary key (catalog, channel_id))`,
    `create table channel_lists (
      catalog ${text} primary key, as_of_ms bigint not null, held_since_ms bigint)`,
    `create table copies (
      id ${id}, catalog ${text} not null, channel_id ${text} not null,
      current_walk integer not null default 0, running_walk integer not null default 0,
      completed_started_at_ms bigint, completed_at_ms bigint, product_count integer not null default 0,
      deal_count integer not null default 0, deal_currency text, had_products integer not null default 0,
      drops text not null default '{}', is_malformed integer not null default 1, held_reason text,
      held_since_ms bigint, held_started_at_ms bigint, held_product_count integer, started_at_ms bigint,
      failure text, failed_at_ms bigint, retry_code text, failure_reason text, lease_owner text,
      lease_until_ms bigint not null default 0, lease_fence bigint not null default 0, unique (catalog, channel_id))`,
    `create table walk_pages (
      copy_id bigint not null, walk integer not null, after_gtin ${text} not null,
      until_gtin ${text} not null, as_of_ms bigint not null, next_cursor text, product_count integer not null,
      drops text not null, merchants text not null, malformed text, primary key (copy_id, walk, after_gtin))`,
    `create table products (
      id ${id}, copy_id bigint not null, gtin ${text} not null, from_walk integer not null,
      until_walk integer, digest text not null, title text not null, brand text, search_text text not null,
      images text not null, offers text not null, picture_hash text, checked_at text, drops text,
      as_of_ms bigint not null${onPostgres(', words tsvector')}, unique (copy_id, gtin, from_walk))${updated}`,
    `create table absences (
      copy_id bigint not null, gtin ${text} not null, as_of_ms bigint not null, primary key (copy_id, gtin))`,
    // `smallint` keeps the entries of PostgreSQL's index by saving as short as without the column.
    `create table deals (
      id ${id}, product_id bigint not null, copy_id bigint not null, gtin ${text} not null,
      is_observed smallint not null, from_walk integer not null, until_walk integer, offer_index integer not null,
      offer text not null, offer_key text not null, currency ${text} not null, merchant_key ${text} not null,
      brand_key ${text} not null, network_key ${text} not null, search_text text not null,
      is_in_stock integer not null, is_best integer not null, is_best_in_stock integer not null,
      discount_percent integer not null, ratio_key ${text} not null, price_key ${text} not null,
      saving_key ${text} not null, drop_key ${text} not null, first_seen_ms bigint not null, sale_ends_ms bigint)`,
    // When offers of absent products were first seen (ADR 0008).
    `create table lapsed_deals (
      copy_id bigint not null, gtin ${text} not null, offer_key text not null,
      first_seen_ms bigint not null, lapsed_at_ms bigint not null, primary key (copy_id, gtin, offer_key))${keyed}`,
  ]
}

/** What servers observe, count and agree on. */
function listOtherTables({ text, keyed, updated }: TableDialect): readonly string[] {
  return [
    // Observed prices (ADR 0031).
    `create table price_changes (
      copy_id bigint not null, gtin ${text} not null, merchant_key ${text} not null,
      currency ${text} not null, day integer not null, until_day integer, low bigint, last bigint,
      primary key (copy_id, gtin, merchant_key, currency, day))${keyed}`,
    `create table observed_days (
      copy_id bigint not null, day integer not null, after_gtin ${text} not null,
      until_gtin ${text} not null, is_imported integer not null, primary key (copy_id, day, after_gtin))${keyed}`,
    // Calls of the catalog (ADR 0004) and leases of look-ups (ADR 0005).
    `create table quotas (
      catalog ${text} primary key, limited_until_ms bigint not null, pause_count integer not null,
      limited_at_ms bigint not null, learned_calls integer)`,
    `create table quota_days (
      catalog ${text} not null, day integer not null, walk integer not null, refresh integer not null,
      lookup integer not null, primary key (catalog, day))`,
    `create table quota_minutes (
      catalog ${text} not null, minute integer not null, lookups integer not null,
      primary key (catalog, minute))`,
    `create table lookup_leases (
      catalog ${text} not null, channel_id ${text} not null, gtin ${text} not null,
      lease_owner text not null, lease_until_ms bigint not null, primary key (catalog, channel_id, gtin))`,
    // Counts of widgets and clicks (ADR 0034).
    `create table widget_counts (
      copy_id bigint not null, day integer not null, sub ${text} not null, gtin ${text} not null,
      shown bigint not null, hidden bigint not null, unavailable bigint not null,
      primary key (copy_id, day, sub, gtin))${keyed}${updated}`,
    `create table click_counts (
      copy_id bigint not null, day integer not null, sub ${text} not null, gtin ${text} not null,
      merchant ${text} not null, clicks bigint not null,
      primary key (copy_id, day, sub, gtin, merchant))${keyed}${updated}`,
    `create table count_days (
      copy_id bigint not null, day integer not null, subs integer not null, widget_rows integer not null,
      click_rows integer not null, new_subs integer not null default 0, new_widget_rows integer not null default 0,
      new_click_rows integer not null default 0, primary key (copy_id, day))${keyed}${updated}`,
    // Events, and what they are detected from (ADR 0035).
    `create table product_states (
      copy_id bigint not null, gtin ${text} not null, is_sold integer not null, title text not null,
      primary key (copy_id, gtin))${keyed}`,
    `create table feed_states (
      catalog ${text} not null, feed ${text} not null, is_quiet integer not null,
      primary key (catalog, feed))${keyed}`,
    `create table events (
      id ${text} primary key, catalog ${text} not null, channel_id ${text}, at_ms bigint not null,
      position integer not null, details text not null, delivered_at_ms bigint)${keyed}`,
    `create table event_deliveries (
      catalog ${text} primary key, lease_owner text, lease_until_ms bigint not null default 0,
      failures integer not null default 0, next_attempt_ms bigint not null default 0, delivered_at_ms bigint,
      failure text, failed_at_ms bigint)${keyed}`,
  ]
}

/** One index per sort order of grids, and one per filter that can be rare, by name. */
function listDealIndexes({ onSqlite }: TableDialect): Readonly<Record<string, string>> {
  // Columns that let a full scan of an index read no rows, which are ten times as long.
  const covered = (names: string): string => onSqlite(`, ${names}`)
  const filters =
    'discount_percent, is_in_stock, is_best, is_best_in_stock, from_walk, until_walk, product_id'
  const keys = 'offer_index, merchant_key, brand_key, network_key'
  const columns = {
    deals_by_discount: `ratio_key, price_key, gtin${covered(`${filters}, ${keys}, saving_key, first_seen_ms, search_text`)}`,
    deals_by_saving: 'saving_key desc, price_key, gtin',
    deals_by_price: 'price_key, ratio_key, gtin',
    deals_by_newest: 'first_seen_ms desc, ratio_key, price_key, gtin',
    deals_by_drop: `drop_key, ratio_key, price_key, gtin${covered(`${filters}, ${keys}`)}`,
    deals_by_brand: 'brand_key',
    deals_by_merchant: 'merchant_key',
    deals_by_network: 'network_key',
  }
  return Object.fromEntries(
    Object.entries(columns).map(([name, list]) => [name, `deals (copy_id, is_observed, currency, ${list})`]),
  )
}

function listIndexes(dialect: TableDialect): readonly string[] {
  const indexes = {
    products_ended: 'products (copy_id, until_walk) where until_walk is not null',
    // Visitors request pictures by their names (ADR 0029).
    products_by_picture: "products (picture_hash) where images <> '[]'",
    deals_of_product: 'deals (product_id, is_observed)',
    deals_ending: 'deals (product_id, sale_ends_ms) where sale_ends_ms is not null',
    ...listDealIndexes(dialect),
    lapsed_deals_by_time: 'lapsed_deals (copy_id, lapsed_at_ms)',
    widget_counts_by_product: 'widget_counts (copy_id, gtin)',
    widget_counts_by_sub: 'widget_counts (copy_id, sub, day)',
    events_by_time: 'events (catalog, at_ms, position)',
  }
  return [
    ...Object.entries(indexes).map(([name, target]) => `create index ${name} on ${target}`),
    dialect.onPostgres('create index products_words on products using gin (words)'),
  ]
}

/** The tables of the stored copy that `vitrine move` copies: what no walk and no look-up brings back. */
export const MOVED_COPY_TABLES: readonly MovedTable[] = [
  // Only which channels there are: what a walk stores is in tables that stay.
  {
    name: 'copies',
    key: ['id'],
    select: 'select id, catalog, channel_id, had_products from copies',
    hasGeneratedId: true,
  },
  // Commands and the studio name channels by this list, which a server without a catalog cannot fetch.
  { name: 'channels', key: ['catalog', 'channel_id'] },
  { name: 'channel_lists', key: ['catalog'] },
  { name: 'price_histories', key: ['copy_id', 'gtin'] },
  { name: 'observed_days', key: ['copy_id', 'day', 'after_gtin'] },
  { name: 'widget_counts', key: ['copy_id', 'day', 'sub', 'gtin'] },
  { name: 'click_counts', key: ['copy_id', 'day', 'sub', 'gtin', 'merchant'] },
  { name: 'count_days', key: ['copy_id', 'day'] },
  // When offers were first seen: the first walk takes it from here, as that of products that were absent.
  {
    name: 'lapsed_deals',
    key: ['copy_id', 'gtin', 'offer_key'],
    select: `select copy_id, gtin, offer_key, min(first_seen_ms) as first_seen_ms, max(lapsed_at_ms) as lapsed_at_ms
      from (select copy_id, gtin, offer_key, first_seen_ms, lapsed_at_ms from lapsed_deals
        union all select d.copy_id, d.gtin, d.offer_key, d.first_seen_ms, coalesce(c.completed_at_ms, d.first_seen_ms)
        from deals d join copies c on c.id = d.copy_id)
      group by copy_id, gtin, offer_key`,
    targetOrder: 'copy_id, gtin, offer_key collate "C"',
  },
  { name: 'product_states', key: ['copy_id', 'gtin'] },
  { name: 'feed_states', key: ['catalog', 'feed'] },
  { name: 'events', key: ['id'] },
  {
    name: 'event_deliveries',
    key: ['catalog'],
    select: `select catalog, failures, next_attempt_ms, delivered_at_ms, failure, failed_at_ms from event_deliveries`,
  },
  { name: 'quotas', key: ['catalog'], isReplaced: true },
  { name: 'quota_days', key: ['catalog', 'day'], isReplaced: true },
]

/** One row for each product (ADR 0031) in place of one for each change: its key took more space than what it found. */
function listHistoryStatements({ text, keyed, onSqlite, onPostgres }: TableDialect): readonly string[] {
  const array = onSqlite('json_group_array(json_array') + onPostgres('json_agg(json_build_array')
  const object =
    onSqlite('json_group_object(key, json(changes))') + onPostgres('json_object_agg(key, changes)')
  const series = 'copy_id, gtin, merchant_key, currency'
  return [
    `create table price_histories (
      copy_id bigint not null, gtin ${text} not null, due_day integer, last_day integer not null,
      changes text not null, primary key (copy_id, gtin))${keyed}`,
    // Due early: the first pruning computes when it is.
    `insert into price_histories (copy_id, gtin, due_day, last_day, changes)
      select copy_id, gtin, min(first_day) + 1, max(last_day), cast(${object} as text) from (
        select copy_id, gtin, currency || ' ' || merchant_key as key, min(day) as first_day, max(day) as last_day,
          ${array}(day, low, last, until_day) order by day) as changes
        from price_changes group by ${series}) as series
      group by copy_id, gtin`,
    // It stays, without rows: until they are updated, other servers of version 1.0 write to it.
    `${onSqlite('delete from')}${onPostgres('truncate table')} price_changes`,
  ]
}

const WALKED = 'the first walk reads it from the catalog'

export const LEFT_COPY_TABLES: LeftTables = {
  walk_pages: WALKED,
  price_changes: 'written by servers of version 1.0 until they are updated',
  products: WALKED,
  deals: WALKED,
  absences: WALKED,
  quota_minutes: 'counts of the last hour',
  lookup_leases: 'work of running servers',
  search_backlog: 'index of SQLite',
  deferred_words: 'index of SQLite',
  product_words: 'index of SQLite',
}
