import { type Selectable, sql } from 'kysely'
import { insertRowForId, updateRow } from '../../database/dialect.ts'
import { recordTouchedGtins, removeTouchedProducts } from './removal.ts'
import type { Catalog, CatalogTables } from './schema.ts'

/** What an operator sets. `null`: not set. */
export type FeedSettings = Readonly<{
  /** `null` when the channel was removed. */
  channelId: string | null
  /** An address, possibly with secrets; `null`: the feed is imported by a command. */
  url: string | null
  headerFile: string | null
  format: string | null
  /** A column map as JSON. */
  map: string | null
  network: string | null
  merchant: string | null
  /** Of prices that name none. */
  currency: string | null
  /** Decimal sign of prices. */
  decimal: '.' | ',' | null
  encoding: string | null
  /** `null`: no schedule. */
  everySeconds: number | null
  maxRemovedPercent: number
}>

/** What the last successful run found. */
export type FeedResult = Readonly<{
  /** When the feed was fetched, Unix milliseconds; `null`: never. */
  fetchedAtMs: number | null
  etag: string | null
  lastModified: string | null
  contentDigest: string | null
  settingsDigest: string | null
  /** Whether the file ended with a line end; `null`: unknown. */
  isLineEnded: boolean | null
  rowCount: number
  productCount: number
  offerCount: number
  rejectedCount: number
  removedCount: number
  /** Rows without a usable offer. `rejectedCount` also has what is wrong with usable ones. */
  rejectedRowCount: number
  /** The most frequent reasons for rejects, with their counts. */
  topReasons: readonly RejectCount[]
  rejectsPath: string | null
}>

export type RejectCount = readonly [reason: string, count: number]

export type Feed = FeedSettings &
  FeedResult &
  Readonly<{ id: number; name: string; organizationId: string; createdAtMs: number }>

export async function fetchFeeds(database: Catalog): Promise<readonly Feed[]> {
  const { rows } = await sql<FeedRow>`select * from feeds order by name`.execute(database)
  return rows.map(toFeed)
}

export async function findFeed(database: Catalog, name: string): Promise<Feed | undefined> {
  const { rows } = await sql<FeedRow>`select * from feeds where name = ${name}`.execute(database)
  return rows[0] && toFeed(rows[0])
}

export async function findFeedById(database: Catalog, id: number): Promise<Feed | undefined> {
  const { rows } = await sql<FeedRow>`select * from feeds where id = ${id}`.execute(database)
  return rows[0] && toFeed(rows[0])
}

type FeedRow = Selectable<CatalogTables['feeds']>

function toFeed(row: FeedRow): Feed {
  return {
    id: row.id,
    name: row.name,
    organizationId: row.organization_id,
    channelId: row.channel_id,
    url: row.url,
    headerFile: row.header_file,
    format: row.format,
    map: row.map,
    network: row.network,
    merchant: row.merchant,
    currency: row.currency,
    decimal: row.decimal === '.' || row.decimal === ',' ? row.decimal : null,
    encoding: row.encoding,
    everySeconds: row.every_seconds,
    maxRemovedPercent: row.max_removed_percent,
    createdAtMs: row.created_at_ms,
    fetchedAtMs: row.fetched_at_ms,
    etag: row.etag,
    lastModified: row.last_modified,
    contentDigest: row.content_digest,
    settingsDigest: row.settings_digest,
    isLineEnded: row.is_line_ended === null ? null : row.is_line_ended === 1,
    rowCount: row.row_count,
    productCount: row.product_count,
    offerCount: row.offer_count,
    rejectedCount: row.rejected_count,
    removedCount: row.removed_count,
    rejectedRowCount: row.rejected_row_count,
    topReasons: row.top_reasons === null ? [] : (JSON.parse(row.top_reasons) as RejectCount[]),
    rejectsPath: row.rejects_path,
  }
}

type FeedChange = { readonly [Name in keyof FeedSettings]?: FeedSettings[Name] | undefined }

function toSettingsRow(settings: FeedChange) {
  return {
    channel_id: settings.channelId,
    url: settings.url,
    header_file: settings.headerFile,
    format: settings.format,
    map: settings.map,
    network: settings.network,
    merchant: settings.merchant,
    currency: settings.currency,
    decimal: settings.decimal,
    encoding: settings.encoding,
    every_seconds: settings.everySeconds,
    max_removed_percent: settings.maxRemovedPercent,
  }
}

export type NewFeed = FeedSettings & Readonly<{ name: string; organizationId: string; createdAtMs: number }>

export async function insertFeed(database: Catalog, feed: NewFeed): Promise<number> {
  const { name, organizationId, createdAtMs } = feed
  const row = { ...toSettingsRow(feed), name, organization_id: organizationId, created_at_ms: createdAtMs }
  return insertRowForId(database, 'feeds', row)
}

/** Change the given settings; `undefined` keeps one. */
export async function updateFeed(database: Catalog, id: number, settings: FeedChange): Promise<void> {
  await updateRow(database, 'feeds', id, toSettingsRow(settings))
}

export async function saveFeedResult(
  database: Catalog,
  id: number,
  result: Partial<FeedResult>,
): Promise<void> {
  await updateRow(database, 'feeds', id, {
    fetched_at_ms: result.fetchedAtMs,
    etag: result.etag,
    last_modified: result.lastModified,
    content_digest: result.contentDigest,
    settings_digest: result.settingsDigest,
    is_line_ended: result.isLineEnded === undefined ? undefined : Number(result.isLineEnded),
    row_count: result.rowCount,
    product_count: result.productCount,
    offer_count: result.offerCount,
    rejected_count: result.rejectedCount,
    removed_count: result.removedCount,
    rejected_row_count: result.rejectedRowCount,
    top_reasons: result.topReasons === undefined ? undefined : JSON.stringify(result.topReasons),
    rejects_path: result.rejectsPath,
  })
}

/** Remove a feed with its offers, and the products that no feed has any more. Return the number of removed offers. */
export async function removeFeed(database: Catalog, id: number): Promise<number> {
  await recordTouchedGtins(database, sql`select distinct gtin from offers where feed_id = ${id}`)
  const offers = await sql`delete from offers where feed_id = ${id}`.execute(database)
  await removeTouchedProducts(database)
  await sql`delete from feed_shops where feed_id = ${id}`.execute(database)
  await sql`delete from feeds where id = ${id}`.execute(database)
  return Number(offers.numAffectedRows ?? 0)
}
