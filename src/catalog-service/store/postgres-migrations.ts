import { randomUUID } from 'node:crypto'
import { type Kysely, type Migration, sql } from 'kysely'
import { ID, TEXT, runStatements } from '../../database/postgres-statements.ts'

/** The catalog's tables on a server that speaks PostgreSQL's protocol, by the name of the step that makes them. */
export const POSTGRES_CATALOG_MIGRATIONS: Readonly<Record<string, Migration>> = {
  'postgres-0001-first': {
    async up(database: Kysely<unknown>) {
      await runStatements(database, [...ACCOUNTS, ...NETWORKS, ...PRODUCTS, ...USAGE, ...WRITING])
      await sql`insert into meta (key, value) values ('catalog_id', ${randomUUID()})`.execute(database)
    },
  },
  'postgres-0002-sources': { up: (database: Kysely<unknown>) => runStatements(database, SOURCES) },
}

const ACCOUNTS = [
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
]

const NETWORKS = [
  `create table networks (id ${ID}, name ${TEXT} not null unique, link_template text)`,
  `create table network_channels (
    id ${ID}, organization_id ${TEXT} not null references organizations (id) on delete cascade,
    network_id bigint not null references networks (id) on delete cascade, reference text not null,
    channel_id ${TEXT} references channels (id) on delete set null)`,
  // One per network and channel; of unassigned ones an organization may have several.
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
]

/** No foreign keys here, as in SQLite: an import writes millions of rows and keeps the two tables together itself. */
const PRODUCTS = [
  `create table products (gtin ${TEXT} primary key, title text not null, brand text, images text not null)`,
  `create table offers (
    gtin ${TEXT} not null, network_id bigint not null, merchant_id bigint not null, network_channel_id bigint not null,
    currency ${TEXT} not null, variant bigint not null, price text not null, old_price text, availability text not null,
    url text not null, import_id bigint,
    primary key (gtin, network_id, merchant_id, network_channel_id, currency, variant))`,
  `create index offers_merchant on offers (merchant_id, network_id, network_channel_id, gtin)`,
]

const USAGE = [
  `create table usage (
    organization_id ${TEXT} not null, day ${TEXT} not null, requests bigint not null,
    primary key (organization_id, day))`,
  `create table key_uses (key_id ${TEXT} primary key, used_at_ms bigint not null)`,
]

const WRITING = [
  `create table meta (key ${TEXT} primary key, value text not null)`,
  // Whoever writes changes this row first, and so waits for the one who writes. Nobody else reads it.
  `create table writer_turns (id integer primary key, turns bigint not null)`,
  `insert into writer_turns (id, turns) values (1, 0)`,
  // What one writer notes for itself; empty for everybody else. Temporary tables are not to be had everywhere.
  `create table import_shops (
    network_id bigint not null, merchant_id bigint not null, network_channel_id bigint not null,
    primary key (network_id, merchant_id, network_channel_id))`,
  `create table touched_gtins (gtin ${TEXT} primary key)`,
]

/** Imports skip rows that they know: docs/adr/0039. */
const SOURCES = [
  `alter table products add column import_id bigint`,
  `alter table products add column source text`,
  `create table unchanged_products (gtin ${TEXT} primary key, import_id bigint not null)`,
]
