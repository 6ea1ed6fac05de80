import { type RawBuilder, sql } from 'kysely'
import { executeEach } from '../../database/execute-each.ts'
import { isPostgres } from '../../database/is-postgres.ts'
import { recordTouchedGtins, removeTouchedProducts } from '../store/removal.ts'
import type { Catalog } from '../store/schema.ts'

// The SQL of an import. Batches are passed as JSON: one parameter, whatever their size.

/** Columns of an offer in the order of `OFFERS_TABLE`, without the import id. The first six are the key. */
export type OfferRow = readonly [
  gtin: string,
  feedId: number,
  networkId: number,
  merchantId: number,
  currency: string,
  variant: number,
  networkChannelId: number,
  isPage: number,
  price: string,
  oldPrice: string | null,
  availability: string,
  url: string,
  saleStartsMs: number | null,
  saleEndsMs: number | null,
  checkedMs: number | null,
]

export type ProductRow = readonly [
  gtin: string,
  feedId: number,
  title: string,
  brand: string | null,
  images: string,
  source: string | null,
]

/** The feed that an import replaces, and the number of the import. */
export type ImportRun = Readonly<{ feedId: number; importId: number }>

/** From this number of offers on, one full scan is faster than index look-ups shop by shop. */
const FULL_SCAN_OFFERS = 200_000

/** `types`: PostgreSQL types of a row's values, which it reads from JSON. */
type TargetTable<Row> = Readonly<{ into: string; types: { [N in keyof Row]: string }; onConflict: string }>

export const PRODUCTS_TABLE: TargetTable<ProductRow> = {
  into: 'products (gtin, feed_id, title, brand, images, source, import_id)',
  types: ['text', 'bigint', 'text', 'text', 'text', 'text'],
  onConflict: `(gtin, feed_id) do update set title = excluded.title, brand = excluded.brand, images = excluded.images,
    source = excluded.source, import_id = excluded.import_id`,
}

export const OFFERS_TABLE: TargetTable<OfferRow> = {
  into: `offers (gtin, feed_id, network_id, merchant_id, currency, variant, network_channel_id, is_page, price, old_price,
    availability, url, sale_starts_ms, sale_ends_ms, checked_ms, import_id)`,
  types: [
    ...(['text', 'bigint', 'bigint', 'bigint', 'text', 'bigint'] as const),
    ...(['bigint', 'integer', 'text', 'text', 'text', 'text', 'bigint', 'bigint', 'bigint'] as const),
  ],
  onConflict: `(gtin, feed_id, network_id, merchant_id, currency, variant) do update set
    network_channel_id = excluded.network_channel_id, is_page = excluded.is_page, price = excluded.price,
    old_price = excluded.old_price, availability = excluded.availability, url = excluded.url,
    sale_starts_ms = excluded.sale_starts_ms, sale_ends_ms = excluded.sale_ends_ms, checked_ms = excluded.checked_ms,
    import_id = excluded.import_id`,
}

/** Upsert rows. SQLite gets a statement per row, because it would parse the JSON again for each column. */
export async function upsertRows<Row extends readonly unknown[]>(
  database: Catalog,
  { into, types, onConflict }: TargetTable<Row>,
  importId: number | null,
  rows: readonly Row[],
): Promise<void> {
  const values = rows.map((row) => [...row.map(toStorable), importId])
  const columns = [...types, 'bigint']
  const isPostgresDialect = isPostgres(database)
  const source = isPostgresDialect
    ? `select ${columns.map((type, index) => `cast(r.value ->> ${index} as ${type})`).join(', ')}
      from jsonb_array_elements(cast($1 as jsonb)) as r (value)`
    : `values (${columns.map(() => '?').join(', ')})`
  const statement = `insert into ${into} ${source} on conflict ${onConflict}`
  await executeEach(database, statement, isPostgresDialect ? [[JSON.stringify(values)]] : values)
}

/** Remove what PostgreSQL cannot store: U+0000 and lone surrogates. */
function toStorable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value
}

/** Join the feed's products of these GTINs as `p`. In SQLite, `cross join` fixes the order: it would read all of the feed. */
function joinProducts(database: Catalog, feedId: number, gtins: readonly string[]): RawBuilder<unknown> {
  const isPostgresDialect = isPostgres(database)
  const expand = sql.raw(isPostgresDialect ? 'jsonb_array_elements_text' : 'json_each')
  return sql`${expand}(${JSON.stringify(gtins)}) as r ${sql.raw(isPostgresDialect ? 'join' : 'cross join')} products p
    on p.gtin = r.value and p.feed_id = ${feedId}`
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
    from ${joinProducts(database, feedId, gtins)}
    where p.source is not null and p.import_id <> ${importId}
      and not exists (select 1 from unchanged_products u where u.gtin = p.gtin)`.execute(database)
  return rows
}

export async function recordUnchanged(
  database: Catalog,
  feedId: number,
  gtins: readonly string[],
): Promise<void> {
  await sql`
    insert into unchanged_products (gtin, import_id)
    select p.gtin, p.import_id from ${joinProducts(database, feedId, gtins)}`.execute(database)
}

/** Return the GTINs that this import has already seen. Skipped ones are marked as written by it, with their offers. */
export async function adoptSkippedProducts(
  database: Catalog,
  { feedId, importId }: ImportRun,
  gtins: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ gtin: string; isUnchanged: number | boolean }>`
    select p.gtin, u.gtin is not null as "isUnchanged"
    from ${joinProducts(database, feedId, gtins)}
    left join unchanged_products u on u.gtin = p.gtin
    where p.import_id = ${importId} or u.gtin is not null`.execute(database)
  const unchanged = rows.filter(({ isUnchanged }) => isUnchanged).map(({ gtin }) => gtin)
  if (unchanged.length > 0) {
    await sql`
      update offers set import_id = ${importId} where gtin in (${sql.join(unchanged)}) and feed_id = ${feedId}
      and import_id = (select u.import_id from unchanged_products u where u.gtin = offers.gtin)`.execute(
      database,
    )
    await database.deleteFrom('unchanged_products').where('gtin', 'in', unchanged).execute()
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
  // In SQLite, a plus sign keeps the planner from using the index.
  const isScanned = stored >= fullScanOffers && !isPostgres(database)
  const isOfFeed = isScanned ? sql`+offers.feed_id = ${run.feedId}` : sql`offers.feed_id = ${run.feedId}`
  await recordTouchedGtins(
    database,
    sql`select distinct gtin from offers where ${isOfFeed} and ${createStaleCondition(run)}`,
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
