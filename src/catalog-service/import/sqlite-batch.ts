import { type Kysely, sql } from 'kysely'
import type { CatalogTables } from '../store/schema.ts'
import type { BatchStatements } from './batch.ts'

/** Writes batches into a file: JSON goes in, rows come out, and each statement is prepared once. */
export function createSqliteBatch(database: Kysely<CatalogTables>, importId: number): BatchStatements {
  return {
    async countOffers(gtins) {
      const { rows } = await sql<{ gtin: string; count: number }>`
        select g.value as gtin, (select count(*) from offers where gtin = g.value and import_id = ${importId}) as count
        from json_each(${JSON.stringify(gtins)}) g`.execute(database)
      return new Map(rows.map(({ gtin, count }) => [gtin, count]))
    },
    async countKnown(rows) {
      const known = await sql<{ count: number }>`
        select count(*) as count from (select distinct r.value ->> 0 as gtin, r.value ->> 1 as network_id,
          r.value ->> 2 as merchant_id, r.value ->> 3 as network_channel_id, r.value ->> 4 as currency, r.value ->> 5 as variant
          from json_each(${JSON.stringify(rows)}) r)
        join offers using (gtin, network_id, merchant_id, network_channel_id, currency, variant)
        where import_id = ${importId}`.execute(database)
      return known.rows[0]?.count ?? 0
    },
    async writeProducts(products) {
      const rows = products.map(({ gtin, title, brand, images }) => [gtin, title, brand, images])
      await sql`
        insert into products (gtin, title, brand, images)
        select value ->> 0, value ->> 1, value ->> 2, value -> 3
        from json_each(${JSON.stringify(rows)}) where true
        on conflict (gtin) do update set title = excluded.title, brand = coalesce(excluded.brand, brand),
          images = case when excluded.images = '[]' then images else excluded.images end`.execute(database)
    },
    async writeOffers(rows) {
      await sql`
        insert into offers (gtin, network_id, merchant_id, network_channel_id, currency, variant, price, old_price,
          availability, url, import_id)
        select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
          value ->> 8, value ->> 9, ${importId}
        from json_each(${JSON.stringify(rows)}) where true
        on conflict do update set price = excluded.price, old_price = excluded.old_price,
          availability = excluded.availability, url = excluded.url, import_id = excluded.import_id`.execute(
        database,
      )
    },
  }
}
