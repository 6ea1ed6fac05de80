import { type RawBuilder, sql } from 'kysely'
import { createTextSource, inList, insertRows, withoutIndex } from '../../database/dialect.ts'
import { recordTouchedGtins, removeTouchedProducts } from '../store/removal.ts'
import type { Catalog, CatalogTables } from '../store/schema.ts'

// The SQL of an import.

export type OfferRow = Readonly<CatalogTables['offers']>

export type ProductRow = Readonly<CatalogTables['products']>

/** The feed that an import replaces, and the number of the import. */
export type ImportRun = Readonly<{ feedId: number; importId: number }>

/** From this number of offers on, one full scan is faster than index look-ups shop by shop. */
const FULL_SCAN_OFFERS = 200_000

type Types<Stored> = Readonly<Record<keyof Stored, 'text' | 'bigint' | 'integer'>>

const PRODUCT_TYPES: Types<ProductRow> = {
  gtin: 'text',
  feed_id: 'bigint',
  title: 'text',
  brand: 'text',
  images: 'text',
  import_id: 'bigint',
  source: 'text',
}
const OFFER_TYPES: Types<OfferRow> = {
  gtin: 'text',
  feed_id: 'bigint',
  network_id: 'bigint',
  merchant_id: 'bigint',
  network_channel_id: 'bigint',
  is_page: 'integer',
  currency: 'text',
  variant: 'bigint',
  price: 'text',
  old_price: 'text',
  availability: 'text',
  url: 'text',
  sale_starts_ms: 'bigint',
  sale_ends_ms: 'bigint',
  checked_ms: 'bigint',
  import_id: 'bigint',
}
const PRODUCT_KEYS = ['gtin', 'feed_id']
const OFFER_KEYS = [...PRODUCT_KEYS, 'network_id', 'merchant_id', 'currency', 'variant']

export function upsertProducts(database: Catalog, rows: readonly ProductRow[]): Promise<void> {
  return insertRows(database, 'products', rows.map(toStorable), { keys: PRODUCT_KEYS, types: PRODUCT_TYPES })
}

export function upsertOffers(database: Catalog, rows: readonly OfferRow[]): Promise<void> {
  return insertRows(database, 'offers', rows.map(toStorable), { keys: OFFER_KEYS, types: OFFER_TYPES })
}

/** Remove what PostgreSQL cannot store: U+0000 and lone surrogates. Most rows have none, and are not copied. */
function toStorable(row: OfferRow | ProductRow): Readonly<Record<string, unknown>> {
  if (Object.values(row).every(isStorable)) return row
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value,
  ])
  return Object.fromEntries(entries) as Record<string, unknown>
}

function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\u0000'))
}

/** Join products `p` to these GTINs, by `isGiven`. `cross join` fixes SQLite's join order: it would read all of the feed. */
function joinProducts(database: Catalog, gtins: readonly string[]): RawBuilder<unknown> {
  return sql`${createTextSource(database, 'given', gtins)} cross join products p`
}

function isGiven(feedId: number): RawBuilder<unknown> {
  return sql`p.gtin = given.value and p.feed_id = ${feedId}`
}

/** `offers`: the product's offers from the import that wrote the product. */
export type StoredSource = Readonly<{ gtin: string; source: string; offers: number }>

export async function fetchStoredSources(
  database: Catalog,
  { feedId, importId }: ImportRun,
  gtins: readonly string[],
): Promise<readonly StoredSource[]> {
  if (gtins.length === 0) return []
  const { rows } = await sql<StoredSource>`
    select p.gtin, p.source, (select count(*) from offers o
      where o.gtin = p.gtin and o.feed_id = p.feed_id and o.import_id = p.import_id) as offers
    from ${joinProducts(database, gtins)}
    where ${isGiven(feedId)} and p.source is not null and p.import_id <> ${importId}
      and not exists (select 1 from unchanged_products u where u.gtin = p.gtin)`.execute(database)
  return rows
}

/** The marks of `recordUnchanged` are needed during an import only. */
export async function forgetUnchanged(database: Catalog): Promise<void> {
  await sql`delete from unchanged_products`.execute(database)
}

export async function recordUnchanged(
  database: Catalog,
  feedId: number,
  gtins: readonly string[],
): Promise<void> {
  await sql`
    insert into unchanged_products (gtin, import_id)
    select p.gtin, p.import_id from ${joinProducts(database, gtins)}
    where ${isGiven(feedId)}`.execute(database)
}

/** Return the GTINs that this import has already seen. Skipped ones are marked as written by it, with their offers. */
export async function adoptSkippedProducts(
  database: Catalog,
  { feedId, importId }: ImportRun,
  gtins: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ gtin: string; isUnchanged: number | boolean }>`
    select p.gtin, u.gtin is not null as "isUnchanged"
    from ${joinProducts(database, gtins)} left join unchanged_products u on u.gtin = p.gtin
    where ${isGiven(feedId)} and (p.import_id = ${importId} or u.gtin is not null)`.execute(database)
  const unchanged = rows.filter(({ isUnchanged }) => isUnchanged).map(({ gtin }) => gtin)
  if (unchanged.length > 0) {
    await sql`
      update offers set import_id = ${importId} where ${inList(database, 'gtin', unchanged)} and feed_id = ${feedId}
      and import_id = (select u.import_id from unchanged_products u where u.gtin = offers.gtin)`.execute(
      database,
    )
    await sql`delete from unchanged_products where ${inList(database, 'gtin', unchanged)}`.execute(database)
  }
  return rows.map(({ gtin }) => gtin)
}

export async function countFeedOffers(database: Catalog, feedId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from offers where feed_id = ${feedId}`.execute(database)
  return rows[0]?.count ?? 0
}

/** Offers of the feed that its file no longer has. `lost`: without those that another offer of the same shop replaces. */
export type StaleOffers = Readonly<{ total: number; lost: number }>

/** Find the feed's stale offers, and record their GTINs for `removeStaleOffers`. `current`: offers that the file has. */
export async function findStaleOffers(
  database: Catalog,
  run: ImportRun,
  { current, fullScanOffers = FULL_SCAN_OFFERS }: Readonly<{ current: number; fullScanOffers?: number }>,
): Promise<StaleOffers> {
  const stored = await countFeedOffers(database, run.feedId)
  if (stored === current) return { total: 0, lost: 0 }
  const feedColumn =
    stored >= fullScanOffers ? withoutIndex(database, 'offers.feed_id') : sql.ref('offers.feed_id')
  await recordTouchedGtins(
    database,
    sql`select distinct gtin from offers where ${feedColumn} = ${run.feedId} and ${createStaleCondition(run)}`,
  )
  const { rows } = await sql<{ lost: number }>`
    select count(*) as lost from touched_gtins t join offers on offers.gtin = t.gtin
    where offers.feed_id = ${run.feedId} and ${createStaleCondition(run)} and not exists (
      select 1 from offers kept where kept.gtin = offers.gtin and kept.feed_id = offers.feed_id
        and kept.merchant_id = offers.merchant_id and kept.import_id = ${run.importId})`.execute(database)
  return { total: stored - current, lost: rows[0]?.lost ?? 0 }
}

/** What tells apart the offers of one product and feed. */
export type OfferRowKey = Readonly<{
  networkId: number
  merchantId: number
  currency: string
  variant: number
}>

export async function removeOffers(
  database: Catalog,
  { gtin, feedId }: Readonly<{ gtin: string; feedId: number }>,
  keys: readonly OfferRowKey[],
): Promise<void> {
  if (keys.length === 0) return
  const rows = keys.map(
    ({ networkId, merchantId, currency, variant }) =>
      sql`(cast(${networkId} as bigint), cast(${merchantId} as bigint), ${currency}, cast(${variant} as bigint))`,
  )
  await sql`delete from offers where gtin = ${gtin} and feed_id = ${feedId}
    and (network_id, merchant_id, currency, variant) in (values ${sql.join(rows)})`.execute(database)
}

/** Remove what `findStaleOffers` found, and products and shops left without any. */
export async function removeStaleOffers(database: Catalog, run: ImportRun): Promise<void> {
  await sql`
    delete from offers where gtin in (select gtin from touched_gtins) and feed_id = ${run.feedId}
      and ${createStaleCondition(run)}`.execute(database)
  await removeTouchedProducts(database)
  await sql`
    delete from feed_shops where feed_id = ${run.feedId}
      and import_id is distinct from ${run.importId}`.execute(database)
}

function createStaleCondition({ importId }: ImportRun): RawBuilder<unknown> {
  return sql`offers.import_id is distinct from ${importId} and not exists (
    select 1 from unchanged_products u where u.gtin = offers.gtin and u.import_id = offers.import_id)`
}
