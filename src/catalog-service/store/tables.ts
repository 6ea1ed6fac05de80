import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Migrations } from '../../database/migrate.ts'
import type { LeftTables, MovedTable } from '../../database/move-tables.ts'
import { type TableDialect, createTables } from '../../database/tables.ts'

/** The migrations of a catalog, for both engines. Never change a released one. */
export const CATALOG_MIGRATIONS: Migrations = { 'catalog-0001-tables': { up: createCatalog } }

/** The migrations of the usage file of SQLite. */
export const USAGE_MIGRATIONS: Migrations = {
  'usage-0001-tables': { up: (database: Kysely<unknown>) => createTables(database, listUsageTables) },
}

async function createCatalog(database: Kysely<unknown>): Promise<void> {
  await createTables(database, (dialect) => [
    ...listCatalogTables(dialect),
    ...[...listUsageTables(dialect), ...POSTGRES_ONLY].map(dialect.onPostgres),
  ])
  await sql`insert into meta (key, value) values ('catalog_id', ${randomUUID()})`.execute(database)
}

/** Return the statements that create the catalog: see `CatalogTables`. */
function listCatalogTables({ text, id, uniqueId, keyed }: TableDialect): readonly string[] {
  return [
    `create table organizations (
      id ${text} primary key not null, name ${text} not null, daily_limit bigint, created_at_ms bigint not null)`,
    `create table api_keys (
      id ${text} primary key not null, organization_id ${text} not null references organizations (id) on delete cascade,
      name text not null, prefix ${text} not null, hash ${text} not null unique, created_at_ms bigint not null,
      revoked_at_ms bigint)`,
    `create index api_keys_prefix on api_keys (prefix)`,
    `create table channels (
      id ${text} primary key not null, organization_id ${text} not null references organizations (id) on delete cascade,
      name text not null, kind text not null, url text, created_at_ms bigint not null)`,
    `create index channels_organization on channels (organization_id)`,
    `create table networks (id ${id}, name ${text} not null unique, link_template text)`,
    `create table network_channels (
      id ${id}, organization_id ${text} not null references organizations (id) on delete cascade,
      network_id bigint not null references networks (id) on delete cascade, reference text not null,
      channel_id ${text} references channels (id) on delete set null)`,
    // One per network and channel. NULLs are distinct, so an organization may have several unassigned ones.
    `create unique index network_channels_assigned on network_channels (network_id, channel_id)`,
    `create index network_channels_channel on network_channels (channel_id)`,
    `create table merchants (id ${id}, name ${text} not null unique)`,
    `create table network_merchants (
      network_id bigint not null references networks (id) on delete cascade,
      merchant_id bigint not null references merchants (id) on delete cascade, reference text not null,
      primary key (network_id, merchant_id))${keyed}`,
    `create table approvals (
      network_channel_id bigint not null references network_channels (id) on delete cascade,
      merchant_id bigint not null references merchants (id) on delete cascade, revoked_at_ms bigint,
      primary key (network_channel_id, merchant_id))${keyed}`,
    `create table feeds (
      id ${uniqueId}, name ${text} not null unique,
      organization_id ${text} not null references organizations (id) on delete cascade,
      channel_id ${text} references channels (id) on delete set null, url text, header_file text, format text, map text,
      network text, merchant text, currency text, decimal text, encoding text, every_seconds bigint,
      max_removed_percent integer not null, created_at_ms bigint not null, fetched_at_ms bigint, etag text,
      last_modified text, content_digest text, settings_digest text, is_line_ended integer,
      row_count bigint not null default 0, product_count bigint not null default 0, offer_count bigint not null default 0,
      rejected_count bigint not null default 0, removed_count bigint not null default 0,
      rejected_row_count bigint not null default 0, top_reasons text, rejects_path text)`,
    // No foreign keys: an import writes millions of rows and keeps the three tables consistent itself.
    `create table feed_shops (
      feed_id bigint not null, network_id bigint not null, merchant_id bigint not null,
      network_channel_id bigint not null, is_page integer not null, import_id bigint,
      primary key (feed_id, network_id, merchant_id, network_channel_id, is_page))${keyed}`,
    `create index feed_shops_merchant on feed_shops (merchant_id, network_id)`,
    `create table products (
      gtin ${text} not null, feed_id bigint not null, title text not null, brand text, images text not null,
      import_id bigint, source text, primary key (gtin, feed_id))${keyed}`,
    `create table offers (
      gtin ${text} not null, feed_id bigint not null, network_id bigint not null, merchant_id bigint not null,
      network_channel_id bigint not null, is_page integer not null, currency ${text} not null, variant bigint not null,
      price text not null, old_price text, availability text not null, url text not null, sale_starts_ms bigint,
      sale_ends_ms bigint, checked_ms bigint, import_id bigint,
      primary key (gtin, feed_id, network_id, merchant_id, currency, variant))${keyed}`,
    // Find the next products of a shop without reading those of others: ADR 0023.
    `create index offers_feed on offers (feed_id, merchant_id, network_id, gtin)`,
    `create table unchanged_products (gtin ${text} primary key not null, import_id bigint not null)${keyed}`,
    `create table touched_gtins (gtin ${text} primary key not null)${keyed}`,
    `create table meta (key ${text} primary key not null, value text not null)`,
  ]
}

/** Return the statements that create `UsageTables`: on SQLite in their own file, because an import locks the catalog. */
function listUsageTables({ text, keyed }: TableDialect): readonly string[] {
  return [
    `create table usage (
      organization_id ${text} not null, day ${text} not null, requests bigint not null,
      primary key (organization_id, day))${keyed}`,
    `create table key_uses (key_id ${text} primary key not null, used_at_ms bigint not null)${keyed}`,
    `create table feed_attempts (
      feed_id bigint primary key not null, attempted_at_ms bigint, failure_count integer not null, error_code text,
      error text, lease_owner text, lease_until_ms bigint not null, retry_at_ms bigint)`,
  ]
}

/** What only PostgreSQL needs. */
const POSTGRES_ONLY = [
  // For foreign keys: without an index, removing a row reads all rows of the table that refers to it.
  `create index api_keys_organization on api_keys (organization_id)`,
  `create index network_channels_organization on network_channels (organization_id)`,
  `create index network_merchants_merchant on network_merchants (merchant_id)`,
  `create index approvals_merchant on approvals (merchant_id)`,
  // A row lock that serializes writers: each write transaction updates this row first.
  `create table write_lock (id integer primary key, counter bigint not null)`,
  `insert into write_lock (id, counter) values (1, 0)`,
]

/** The tables of the catalog that `vitrine move` copies: all that is not only work of a running import. */
export const MOVED_CATALOG_TABLES: readonly MovedTable[] = [
  // First: the id of the catalog, to which the stored copy belongs.
  { name: 'meta', key: ['key'], isReplaced: true },
  { name: 'organizations', key: ['id'] },
  { name: 'api_keys', key: ['id'] },
  { name: 'channels', key: ['id'] },
  { name: 'networks', key: ['id'], hasGeneratedId: true },
  { name: 'network_channels', key: ['id'], hasGeneratedId: true },
  { name: 'merchants', key: ['id'], hasGeneratedId: true },
  { name: 'network_merchants', key: ['network_id', 'merchant_id'] },
  { name: 'approvals', key: ['network_channel_id', 'merchant_id'] },
  { name: 'feeds', key: ['id'], hasGeneratedId: true },
  {
    name: 'feed_shops',
    key: ['feed_id', 'network_id', 'merchant_id', 'network_channel_id', 'is_page'],
  },
  // With the digests in `feeds`, a feed that has not changed is not written again: its offers must be there.
  { name: 'products', key: ['gtin', 'feed_id'] },
  { name: 'offers', key: ['gtin', 'feed_id', 'network_id', 'merchant_id', 'currency', 'variant'] },
]

/** In SQLite these tables have their own file. */
export const MOVED_USAGE_TABLES: readonly MovedTable[] = [
  { name: 'usage', key: ['organization_id', 'day'] },
  { name: 'key_uses', key: ['key_id'] },
  {
    name: 'feed_attempts',
    key: ['feed_id'],
    select: `select feed_id, attempted_at_ms, failure_count, error_code, error, retry_at_ms, 0 as lease_until_ms
      from feed_attempts`,
  },
]

const IMPORT_WORK = 'work of a running import'

export const LEFT_CATALOG_TABLES: LeftTables = {
  unchanged_products: IMPORT_WORK,
  touched_gtins: IMPORT_WORK,
  write_lock: 'lock of PostgreSQL',
}
