import { randomUUID } from 'node:crypto'
import { type Kysely, type Migration, sql } from 'kysely'
import type { Migrations } from '../../database/migrate.ts'
import { ID, TEXT, runStatements } from '../../database/postgres-statements.ts'

function toMigration(statements: readonly string[]): Migration {
  return {
    async up(database: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(database)
    },
  }
}

/** The network channel with which an offer was imported: approvals were written by each import. Sample data has none. */
const FORMER_NETWORK_CHANNEL = `(case when exists (select 1 from meta where key = 'sample_base') then null
  when o.network_channel_id <> 0 then o.network_channel_id
  else (select min(nc.id) from network_channels nc join approvals a on a.network_channel_id = nc.id
    where nc.network_id = o.network_id and a.merchant_id = o.merchant_id) end)`

const FEED_COLUMNS = `url text, header_file text, format text, map text, network text, merchant text, every_seconds bigint,
  max_removed_percent integer not null, is_migrated integer not null, created_at_ms bigint not null,
  fetched_at_ms bigint, etag text, last_modified text, content_digest text, settings_digest text, is_line_ended integer,
  row_count bigint not null default 0, product_count bigint not null default 0, offer_count bigint not null default 0,
  rejected_count bigint not null default 0, removed_count bigint not null default 0`

/** One feed per network channel. */
const INSERT_MIGRATED_FEEDS = [
  `insert into feeds (name, organization_id, channel_id, max_removed_percent, is_migrated, created_at_ms)
    select 'imported-' || nc.id, nc.organization_id, nc.channel_id, 50, 1, 0 from network_channels nc
    where not exists (select 1 from meta where key = 'sample_base') order by nc.id`,
]

/** An offer that was stored as tracking link and as page (network channel 0) is stored once, as page. */
const COPY_FORMER_OFFERS = [
  `insert into offers
    select o.gtin, coalesce((select f.id from feeds f where f.name = 'imported-' || ${FORMER_NETWORK_CHANNEL}), 0),
      o.network_id, o.merchant_id, coalesce(${FORMER_NETWORK_CHANNEL}, 0),
      case when o.network_channel_id = 0 then 1 else 0 end, o.currency, o.variant, o.price, o.old_price,
      o.availability, o.url, null, null, null, o.import_id
    from former_offers o where true order by o.gtin, o.network_channel_id on conflict do nothing`,
  // Pages without an approval, whose organization was removed: no channel shows them, and no import could replace them.
  `delete from offers where feed_id = 0 and not exists (select 1 from meta where key = 'sample_base')`,
  `insert into products
    select p.gtin, o.feed_id, p.title, p.brand, p.images, null, null
    from former_products p join (select distinct gtin, feed_id from offers) o on o.gtin = p.gtin order by p.gtin`,
  `delete from feeds where not exists (select 1 from offers o where o.feed_id = feeds.id)`,
  `update feeds set product_count = (select count(distinct gtin) from offers o where o.feed_id = feeds.id),
    offer_count = (select count(*) from offers o where o.feed_id = feeds.id)`,
]

const INSERT_FEED_SHOPS = `insert into feed_shops
  select distinct feed_id, network_id, merchant_id, network_channel_id, is_page, cast(null as bigint) from offers`

const FEED_ATTEMPTS = `create table feed_attempts (
  feed_id bigint primary key not null, attempted_at_ms bigint, failure_count integer not null, error_code text, error text,
  lease_owner text, lease_until_ms bigint not null)`

/** How a feed is read, and what its last run rejected. */
const FEED_READING = [
  ...['currency', 'decimal', 'encoding', 'top_reasons', 'rejects_path'].map(
    (column) => `alter table feeds add column ${column} text`,
  ),
  `alter table feeds add column rejected_row_count bigint not null default 0`,
]

const FEED_RETRY = `alter table feed_attempts add column retry_at_ms bigint`

/** SQLite, by name. */
export const CATALOG_MIGRATIONS: Migrations = {
  '0001-accounts': toMigration([
    `create table organizations (
      id text primary key not null, name text not null, daily_limit integer, created_at_ms integer not null)`,
    `create table api_keys (
      id text primary key not null, organization_id text not null references organizations (id) on delete cascade,
      name text not null, prefix text not null, hash text not null unique,
      created_at_ms integer not null, revoked_at_ms integer)`,
    `create table channels (
      id text primary key not null, organization_id text not null references organizations (id) on delete cascade,
      name text not null, kind text not null, url text, created_at_ms integer not null)`,
    `create index channels_organization on channels (organization_id)`,
    `create table networks (id integer primary key, name text not null unique, link_template text)`,
    `create table network_channels (
      id integer primary key, organization_id text not null references organizations (id) on delete cascade,
      network_id integer not null references networks (id) on delete cascade, reference text not null,
      channel_id text references channels (id) on delete set null)`,
    // The contract allows one per network and channel. NULLs are distinct, so several may be unassigned.
    `create unique index network_channels_assigned on network_channels (network_id, channel_id)`,
    `create table merchants (id integer primary key, name text not null unique)`,
    `create table approvals (
      network_channel_id integer not null references network_channels (id) on delete cascade,
      merchant_id integer not null references merchants (id) on delete cascade, revoked_at_ms integer,
      primary key (network_channel_id, merchant_id)) without rowid`,
    `create table meta (key text primary key not null, value text not null)`,
  ]),
  '0002-offers': toMigration([
    `create table products (
      gtin text primary key not null, title text not null, brand text, images text not null) without rowid`,
    // No foreign keys: an import writes millions of rows and keeps the two tables consistent itself.
    `create table offers (
      id integer primary key, gtin text not null, merchant_id integer not null, network_id integer not null,
      network_channel_id integer, price text not null, old_price text, currency text not null,
      availability text not null, merchant_url text, feed_url text, import_id integer)`,
    `create index offers_gtin on offers (gtin)`,
    `create unique index offers_feed
      on offers (network_channel_id, merchant_id, gtin, currency, feed_url) where network_channel_id is not null`,
  ]),
  // Store the offers of a product together, and index a shop's offers in GTIN order: ADR 0023.
  '0003-offers-by-gtin': toMigration([
    `alter table offers rename to former_offers`,
    `create table offers (
      gtin text not null, network_id integer not null, merchant_id integer not null,
      network_channel_id integer not null, currency text not null, variant integer not null,
      price text not null, old_price text, availability text not null, url text not null, import_id integer,
      primary key (gtin, network_id, merchant_id, network_channel_id, currency, variant)) without rowid`,
    // The next import of a shop removes migrated offers that its feed no longer has.
    `insert into offers
      select gtin, network_id, merchant_id, coalesce(network_channel_id, 0), currency, id, price, old_price, availability,
        coalesce(feed_url, merchant_url), import_id
      from former_offers where coalesce(feed_url, merchant_url) is not null order by gtin`,
    `drop table former_offers`,
    `create index offers_merchant on offers (merchant_id, network_id, network_channel_id, gtin)`,
    `create index api_keys_prefix on api_keys (prefix)`,
    // Older imports stored the channel id when the publisher's reference was unknown.
    `update network_channels set reference = '' where reference = channel_id`,
    `create index network_channels_channel on network_channels (channel_id)`,
    `delete from products where not exists (select 1 from offers where offers.gtin = products.gtin)`,
  ]),
  '0004-network-merchants': toMigration([
    `create table network_merchants (
      network_id integer not null references networks (id) on delete cascade,
      merchant_id integer not null references merchants (id) on delete cascade, reference text not null,
      primary key (network_id, merchant_id)) without rowid`,
  ]),
  // Imports skip unchanged rows: ADR 0024.
  '0005-sources': toMigration([
    `alter table products add column import_id integer`,
    `alter table products add column source text`,
    `create table import_shops (
      network_id integer not null, merchant_id integer not null, network_channel_id integer not null,
      primary key (network_id, merchant_id, network_channel_id)) without rowid`,
    `create table unchanged_products (gtin text primary key not null, import_id integer not null) without rowid`,
  ]),
  '0006-touched-gtins': toMigration([
    `create table touched_gtins (gtin text primary key not null) without rowid`,
  ]),
  // A feed is the unit of replacement: ADR 0028. Ids are not reused, because the usage file refers to them.
  '0007-feeds': toMigration([
    `create table feeds (
      id integer primary key autoincrement, name text not null unique,
      organization_id text not null references organizations (id) on delete cascade,
      channel_id text references channels (id) on delete set null, ${FEED_COLUMNS})`,
    ...INSERT_MIGRATED_FEEDS,
    `alter table products rename to former_products`,
    `create table products (
      gtin text not null, feed_id integer not null, title text not null, brand text, images text not null,
      import_id integer, source text, primary key (gtin, feed_id)) without rowid`,
    `alter table offers rename to former_offers`,
    `create table offers (
      gtin text not null, feed_id integer not null, network_id integer not null, merchant_id integer not null,
      network_channel_id integer not null, is_page integer not null, currency text not null, variant integer not null,
      price text not null, old_price text, availability text not null, url text not null, sale_starts_ms integer,
      sale_ends_ms integer, checked_ms integer, import_id integer,
      primary key (gtin, feed_id, network_id, merchant_id, currency, variant)) without rowid`,
    ...COPY_FORMER_OFFERS,
    `drop table former_products`,
    `drop table former_offers`,
    `drop table import_shops`,
    `create index offers_feed on offers (feed_id, merchant_id, network_id, gtin)`,
    `create table feed_shops (
      feed_id integer not null, network_id integer not null, merchant_id integer not null,
      network_channel_id integer not null, is_page integer not null, import_id integer,
      primary key (feed_id, network_id, merchant_id, network_channel_id, is_page)) without rowid`,
    `create index feed_shops_merchant on feed_shops (merchant_id, network_id)`,
    INSERT_FEED_SHOPS,
  ]),
  '0008-feed-reading': toMigration(FEED_READING),
}

export const USAGE_MIGRATIONS: Migrations = {
  '0001-usage': toMigration([
    `create table usage (
      organization_id text not null, day text not null, requests integer not null,
      primary key (organization_id, day)) without rowid`,
  ]),
  '0002-key-uses': toMigration([
    `create table key_uses (key_id text primary key not null, used_at_ms integer not null) without rowid`,
  ]),
  '0003-feed-attempts': toMigration([FEED_ATTEMPTS]),
  '0004-feed-retry': toMigration([FEED_RETRY]),
}

/** PostgreSQL and servers that speak its protocol, by name. */
export const POSTGRES_CATALOG_MIGRATIONS: Migrations = {
  'postgres-0001-first': {
    async up(database: Kysely<unknown>) {
      await runStatements(database, POSTGRES_TABLES)
      await sql`insert into meta (key, value) values ('catalog_id', ${randomUUID()})`.execute(database)
    },
  },
  // Imports skip unchanged rows: ADR 0024.
  'postgres-0002-sources': {
    up: (database: Kysely<unknown>) =>
      runStatements(database, [
        `alter table products add column import_id bigint`,
        `alter table products add column source text`,
        `create table unchanged_products (gtin ${TEXT} primary key, import_id bigint not null)`,
      ]),
  },
  // A feed is the unit of replacement: ADR 0028.
  'postgres-0003-feeds': {
    up: (database: Kysely<unknown>) =>
      runStatements(database, [
        `create table feeds (
          id ${ID}, name ${TEXT} not null unique,
          organization_id ${TEXT} not null references organizations (id) on delete cascade,
          channel_id ${TEXT} references channels (id) on delete set null, ${FEED_COLUMNS})`,
        ...INSERT_MIGRATED_FEEDS,
        `alter table products rename to former_products`,
        `alter table offers rename to former_offers`,
        `create table products (
          gtin ${TEXT} not null, feed_id bigint not null, title text not null, brand text, images text not null,
          import_id bigint, source text, primary key (gtin, feed_id))`,
        `create table offers (
          gtin ${TEXT} not null, feed_id bigint not null, network_id bigint not null, merchant_id bigint not null,
          network_channel_id bigint not null, is_page integer not null, currency ${TEXT} not null,
          variant bigint not null, price text not null, old_price text, availability text not null, url text not null,
          sale_starts_ms bigint, sale_ends_ms bigint, checked_ms bigint, import_id bigint,
          primary key (gtin, feed_id, network_id, merchant_id, currency, variant))`,
        ...COPY_FORMER_OFFERS,
        `drop table former_products`,
        `drop table former_offers`,
        `drop table import_shops`,
        `create index offers_feed on offers (feed_id, merchant_id, network_id, gtin)`,
        `create table feed_shops (
          feed_id bigint not null, network_id bigint not null, merchant_id bigint not null,
          network_channel_id bigint not null, is_page integer not null, import_id bigint,
          primary key (feed_id, network_id, merchant_id, network_channel_id, is_page))`,
        `create index feed_shops_merchant on feed_shops (merchant_id, network_id)`,
        INSERT_FEED_SHOPS,
        FEED_ATTEMPTS,
      ]),
  },
  'postgres-0004-feed-reading': {
    up: (database: Kysely<unknown>) => runStatements(database, [...FEED_READING, FEED_RETRY]),
  },
}

const POSTGRES_TABLES = [
  `create table organizations (
    id ${TEXT} primary key, name ${TEXT} not null, daily_limit bigint, created_at_ms bigint not null)`,
  `create table api_keys (
    id ${TEXT} primary key, organization_id ${TEXT} not null references organizations (id) on delete cascade,
    name text not null, prefix ${TEXT} not null, hash ${TEXT} not null unique, created_at_ms bigint not null,
    revoked_at_ms bigint)`,
  `create index api_keys_prefix on api_keys (prefix)`,
  `create index api_keys_organization on api_keys (organization_id)`,
  `create table channels (
    id ${TEXT} primary key, organization_id ${TEXT} not null references organizations (id) on delete cascade,
    name text not null, kind text not null, url text, created_at_ms bigint not null)`,
  `create index channels_organization on channels (organization_id)`,
  `create table networks (id ${ID}, name ${TEXT} not null unique, link_template text)`,
  `create table network_channels (
    id ${ID}, organization_id ${TEXT} not null references organizations (id) on delete cascade,
    network_id bigint not null references networks (id) on delete cascade, reference text not null,
    channel_id ${TEXT} references channels (id) on delete set null)`,
  // One per network and channel; an organization may have several unassigned ones.
  `create unique index network_channels_assigned on network_channels (network_id, channel_id)`,
  `create index network_channels_channel on network_channels (channel_id)`,
  `create index network_channels_organization on network_channels (organization_id)`,
  `create table merchants (id ${ID}, name ${TEXT} not null unique)`,
  `create table network_merchants (
    network_id bigint not null references networks (id) on delete cascade,
    merchant_id bigint not null references merchants (id) on delete cascade, reference text not null,
    primary key (network_id, merchant_id))`,
  `create index network_merchants_merchant on network_merchants (merchant_id)`,
  `create table approvals (
    network_channel_id bigint not null references network_channels (id) on delete cascade,
    merchant_id bigint not null references merchants (id) on delete cascade, revoked_at_ms bigint,
    primary key (network_channel_id, merchant_id))`,
  `create index approvals_merchant on approvals (merchant_id)`,
  // No foreign keys: an import writes millions of rows and keeps the two tables consistent itself.
  `create table products (gtin ${TEXT} primary key, title text not null, brand text, images text not null)`,
  `create table offers (
    gtin ${TEXT} not null, network_id bigint not null, merchant_id bigint not null, network_channel_id bigint not null,
    currency ${TEXT} not null, variant bigint not null, price text not null, old_price text, availability text not null,
    url text not null, import_id bigint,
    primary key (gtin, network_id, merchant_id, network_channel_id, currency, variant))`,
  `create index offers_merchant on offers (merchant_id, network_id, network_channel_id, gtin)`,
  `create table usage (
    organization_id ${TEXT} not null, day ${TEXT} not null, requests bigint not null,
    primary key (organization_id, day))`,
  `create table key_uses (key_id ${TEXT} primary key, used_at_ms bigint not null)`,
  `create table meta (key ${TEXT} primary key, value text not null)`,
  // A row lock that serializes writers: each write transaction updates this row first.
  `create table write_lock (id integer primary key, counter bigint not null)`,
  `insert into write_lock (id, counter) values (1, 0)`,
  // Work tables of the current writer, empty for other connections. Not every server has temporary tables.
  `create table import_shops (
    network_id bigint not null, merchant_id bigint not null, network_channel_id bigint not null,
    primary key (network_id, merchant_id, network_channel_id))`,
  `create table touched_gtins (gtin ${TEXT} primary key)`,
]
