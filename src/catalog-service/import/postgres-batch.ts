import { type Kysely, sql } from 'kysely'
import type { CatalogTables } from '../store/schema.ts'
import { type BatchStatements, type OfferRow, nameOffer } from './batch.ts'

/** Writes batches to a server: columns go in as arrays, rows come out. */
export async function createPostgresBatch(
  database: Kysely<CatalogTables>,
  importId: number,
): Promise<BatchStatements> {
  await planAnew(database)
  return {
    async countOffers(gtins) {
      const { rows } = await sql<{ gtin: string; count: number }>`
        select g.gtin, (select count(*) from offers o where o.gtin = g.gtin and o.import_id = ${importId}) as count
        from unnest(${gtins}::text[]) as g (gtin)`.execute(database)
      return new Map(rows.map(({ gtin, count }) => [gtin, count]))
    },
    async countKnown(rows) {
      const [gtin, network, merchant, channel, currency, variant] = toColumns(rows)
      const known = await sql<{ count: number }>`
        select count(*) as count from (select distinct * from unnest(${gtin}::text[], ${network}::bigint[],
            ${merchant}::bigint[], ${channel}::bigint[], ${currency}::text[], ${variant}::bigint[])
          as r (gtin, network_id, merchant_id, network_channel_id, currency, variant)) r
        join offers o on o.gtin = r.gtin and o.network_id = r.network_id and o.merchant_id = r.merchant_id
          and o.network_channel_id = r.network_channel_id and o.currency = r.currency and o.variant = r.variant
        where o.import_id = ${importId}`.execute(database)
      return known.rows[0]?.count ?? 0
    },
    async writeProducts(products) {
      await sql`
        insert into products as p (gtin, title, brand, images)
        select * from unnest(${products.map(({ gtin }) => gtin)}::text[], ${toTexts(products.map(({ title }) => title))}::text[],
          ${toTexts(products.map(({ brand }) => brand))}::text[],
          ${products.map(({ images }) => JSON.stringify(images))}::text[])
        on conflict (gtin) do update set title = excluded.title, brand = coalesce(excluded.brand, p.brand),
          images = case when excluded.images = '[]' then p.images else excluded.images end`.execute(database)
    },
    async writeOffers(rows) {
      // One statement may write a row once; the last one of a key stands.
      const last = [...new Map(rows.map((row) => [nameOffer(row), row])).values()]
      const [gtin, network, merchant, channel, currency, variant, ...texts] = toColumns(last)
      const [price, oldPrice, availability, url] = texts
      await sql`
        insert into offers (gtin, network_id, merchant_id, network_channel_id, currency, variant, price, old_price,
          availability, url, import_id)
        select r.*, ${importId}::bigint from unnest(${gtin}::text[], ${network}::bigint[], ${merchant}::bigint[],
          ${channel}::bigint[], ${currency}::text[], ${variant}::bigint[], ${price}::text[], ${oldPrice}::text[],
          ${availability}::text[], ${url}::text[]) as r
        on conflict (gtin, network_id, merchant_id, network_channel_id, currency, variant) do update
        set price = excluded.price, old_price = excluded.old_price, availability = excluded.availability,
          url = excluded.url, import_id = excluded.import_id`.execute(database)
    },
  }
}

/**
 * A statement that was planned while the tables were empty would read all of them from end to end for each batch, as long as
 * the import lasts. A server that does not know the setting plans otherwise.
 */
async function planAnew(database: Kysely<CatalogTables>): Promise<void> {
  await sql`select set_config('plan_cache_mode', 'force_custom_plan', true) from pg_settings
    where name = 'plan_cache_mode'`.execute(database)
}

/** The columns of rows, in the order of their values. */
function toColumns(rows: readonly OfferRow[]): unknown[][] {
  const columns: unknown[][] = Array.from({ length: 10 }, () => [])
  for (const row of rows) {
    for (const [index, value] of row.entries())
      columns[index]?.push(typeof value === 'string' ? toText(value) : value)
  }
  return columns
}

function toTexts(values: readonly (string | null)[]): (string | null)[] {
  return values.map((value) => (value === null ? null : toText(value)))
}

/** The one character that the server cannot keep. Halves of characters arrive there as U+FFFD. */
function toText(value: string): string {
  return value.includes('\u0000') ? value.replaceAll('\u0000', '') : value
}
