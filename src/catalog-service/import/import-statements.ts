import { type RawBuilder, sql } from 'kysely'
import { executeEach } from '../../database/execute-each.ts'
import { isPostgres } from '../../database/is-postgres.ts'
import { recordTouchedGtins, removeTouchedProducts } from '../store/removal.ts'
import type { Catalog } from '../store/schema.ts'

// The SQL of an import. Batches are passed as JSON: one parameter, whatever their size.

/** Columns of an offer in the order of `OFFERS_TABLE`, without the import id. The first six are the key. */
export type OfferRow = readonly [
  gtin: string,
  networkId: number,
  merchantId: number,
  networkChannelId: number,
  currency: string,
  variant: number,
  price: string,
  oldPrice: string | null,
  availability: string,
  url: string,
]

export type ProductRow = readonly [
  gtin: string,
  title: string,
  brand: string | null,
  images: string,
  source: string | null,
]

/** From this number of offers on, one full scan is faster than index look-ups shop by shop. */
const FULL_SCAN_OFFERS = 200_000

/** `types`: PostgreSQL types of a row's values, which it reads from JSON. */
type TargetTable<Row> = Readonly<{ into: string; types: { [N in keyof Row]: string }; onConflict: string }>

/** An existing product gets the new title; its brand and images stay when the new ones are empty. */
export const PRODUCTS_TABLE: TargetTable<ProductRow> = {
  into: 'products (gtin, title, brand, images, source, import_id)',
  types: ['text', 'text', 'text', 'text', 'text'],
  onConflict: `(gtin) do update set title = excluded.title, brand = coalesce(excluded.brand, products.brand),
    images = case when excluded.images = '[]' then products.images else excluded.images end,
    source = excluded.source, import_id = excluded.import_id`,
}

export const OFFERS_TABLE: TargetTable<OfferRow> = {
  into: `offers (gtin, network_id, merchant_id, network_channel_id, currency, variant, price, old_price,
    availability, url, import_id)`,
  types: ['text', 'bigint', 'bigint', 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'text'],
  onConflict: `(gtin, network_id, merchant_id, network_channel_id, currency, variant) do update set price = excluded.price,
    old_price = excluded.old_price, availability = excluded.availability, url = excluded.url,
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

function joinProducts(database: Catalog, gtins: readonly string[]): RawBuilder<unknown> {
  const expand = sql.raw(isPostgres(database) ? 'jsonb_array_elements_text' : 'json_each')
  return sql`${expand}(${JSON.stringify(gtins)}) as r join products p on p.gtin = r.value`
}

/** `offers`: the product's offers from the import that wrote the product. */
export type StoredSource = Readonly<{ gtin: string; source: string; offers: number }>

export async function fetchStoredSources(
  database: Catalog,
  importId: number,
  gtins: readonly string[],
): Promise<readonly StoredSource[]> {
  if (gtins.length === 0) return []
  const { rows } = await sql<StoredSource>`
    select p.gtin, p.source,
      (select count(*) from offers o where o.gtin = p.gtin and o.import_id = p.import_id) as offers
    from ${joinProducts(database, gtins)}
    where p.source is not null and p.import_id <> ${importId}
      and not exists (select 1 from unchanged_products u where u.gtin = p.gtin)`.execute(database)
  return rows
}

export async function recordUnchanged(database: Catalog, gtins: readonly string[]): Promise<void> {
  await sql`
    insert into unchanged_products (gtin, import_id)
    select p.gtin, p.import_id from ${joinProducts(database, gtins)}`.execute(database)
}

/** Return the GTINs that this import has already seen. Skipped ones are marked as written by it, with their offers. */
export async function adoptSkippedProducts(
  database: Catalog,
  importId: number,
  gtins: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ gtin: string; isUnchanged: number | boolean }>`
    select p.gtin, u.gtin is not null as "isUnchanged"
    from ${joinProducts(database, gtins)}
    left join unchanged_products u on u.gtin = p.gtin
    where p.import_id = ${importId} or u.gtin is not null`.execute(database)
  const unchanged = rows.filter(({ isUnchanged }) => isUnchanged).map(({ gtin }) => gtin)
  if (unchanged.length > 0) {
    await sql`
      update offers set import_id = ${importId} where gtin in (${sql.join(unchanged)})
      and import_id = (select u.import_id from unchanged_products u where u.gtin = offers.gtin)`.execute(
      database,
    )
    await database.deleteFrom('unchanged_products').where('gtin', 'in', unchanged).execute()
  }
  return rows.map(({ gtin }) => gtin)
}

/** Remove and count the stale offers of `import_shops`, and products left without any. `offers`: current offers of the shops. */
export async function removeStaleOffers(
  database: Catalog,
  importId: number,
  offers: number,
  fullScanOffers: number = FULL_SCAN_OFFERS,
): Promise<number> {
  // In SQLite, `cross join` fixes the join order: its planner would start with all offers.
  const offersOfImportedShops = sql`import_shops s ${isPostgres(database) ? sql`join` : sql`cross join`} offers
    on offers.merchant_id = s.merchant_id and offers.network_id = s.network_id
    and offers.network_channel_id = s.network_channel_id`
  const counted = await sql<{
    count: number
  }>`select count(*) as count from ${offersOfImportedShops}`.execute(database)
  const total = counted.rows[0]?.count ?? 0
  if (total === offers) return 0
  const isStale = sql`offers.import_id is distinct from ${importId} and not exists (
    select 1 from unchanged_products u where u.gtin = offers.gtin and u.import_id = offers.import_id)`
  const isOfImportedShops = sql`exists (select 1 from import_shops s where s.merchant_id = offers.merchant_id
    and s.network_id = offers.network_id and s.network_channel_id = offers.network_channel_id)`
  const staleGtins =
    total < fullScanOffers
      ? sql`select offers.gtin from ${offersOfImportedShops} where ${isStale}`
      : sql`select offers.gtin from offers where ${isStale} and ${isOfImportedShops}`
  await recordTouchedGtins(database, staleGtins)
  await sql`
    delete from offers where gtin in (select gtin from touched_gtins) and ${isStale} and ${isOfImportedShops}`.execute(
    database,
  )
  await removeTouchedProducts(database)
  return total - offers
}
