import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import type { FeedOffer, FeedProduct } from './feed-product.ts'
import { removeOlder } from './remove-older.ts'
import { type PageNetworks, type ShopIds, type Shops, createShops } from './shops.ts'
import type { ImportTarget } from './target.ts'

/** Hex digits of an address's hash that tell offers of one shop apart: as many as a number holds exactly. */
const VARIANT_DIGITS = 12

/** Values of a row that are its key. */
const KEY_VALUES = 6

/** The rows that an import has left in the catalog, and the older ones that it took out of it. */
type Written = Readonly<{
  products: number
  offers: number
  removedOffers: number
  pageNetworks: PageNetworks
}>

/** Writes products in the import's transaction. */
export type FeedWriter = Readonly<{
  /** Adds products. A GTIN that came before is merged: newest title, all offers. */
  write(products: readonly FeedProduct[]): Promise<void>
  /** Removes what the imported shops no longer offer, and counts. */
  finish(): Promise<Written>
}>

/** An offer as the statement takes it. */
type OfferRow = readonly unknown[]

/** Makes the writer of one import. `importId` marks its rows, so that older ones are told apart without memory. */
export async function createFeedWriter(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  importId: number,
): Promise<FeedWriter> {
  const shops = await createShops(database, target)
  let [products, offers] = [0, 0]
  return {
    async write(batch) {
      // Products that lie side by side in the file on disk are written one after the other.
      const sorted = batch.toSorted(compareGtins)
      const rows = await toOfferRows(sorted, shops)
      products += await countNew(database, sorted, importId)
      offers += await countNewOffers(database, rows, importId)
      await writeProducts(database, sorted)
      await writeOffers(database, rows, importId)
    },
    async finish() {
      const removedOffers = await removeOlder(database, { importId, offers })
      return { products, offers, removedOffers, pageNetworks: shops.listPageNetworks() }
    },
  }
}

function compareGtins(one: FeedProduct, other: FeedProduct): number {
  return one.gtin < other.gtin ? -1 : one.gtin > other.gtin ? 1 : 0
}

async function toOfferRows(products: readonly FeedProduct[], shops: Shops): Promise<OfferRow[]> {
  const rows: OfferRow[] = []
  for (const { gtin, offers } of products) {
    for (const offer of offers) {
      // Only a shop that is met for the first time has to be waited for.
      const ids = shops.find(offer) ?? (await shops.make(offer))
      rows.push(toRow(gtin, offer, ids))
    }
  }
  return rows
}

function toRow(gtin: string, offer: FeedOffer, ids: ShopIds): OfferRow {
  const { price, oldPrice, currency, availability, url } = offer
  const { networkId, merchantId } = ids
  const channel = offer.link === 'page' && ids.hasTemplate ? PAGE_OF_SHOP : ids.networkChannelId
  const variant = Number.parseInt(hash('sha1', url).slice(0, VARIANT_DIGITS), 16)
  return [gtin, networkId, merchantId, channel, currency, variant, price, oldPrice, availability, url]
}

/** Products of a batch that this import has not brought before. */
async function countNew(
  database: Kysely<CatalogTables>,
  products: readonly FeedProduct[],
  importId: number,
): Promise<number> {
  const gtins = [...new Set(products.map(({ gtin }) => gtin))]
  const known = await sql<{ count: number }>`
    select count(*) as count from json_each(${JSON.stringify(gtins)}) g
    where exists (select 1 from offers where gtin = g.value and import_id = ${importId})`.execute(database)
  return gtins.length - (known.rows[0]?.count ?? 0)
}

async function countNewOffers(
  database: Kysely<CatalogTables>,
  rows: readonly OfferRow[],
  importId: number,
): Promise<number> {
  const keys = new Set(rows.map((row) => row.slice(0, KEY_VALUES).join(' ')))
  const known = await sql<{ count: number }>`
    select count(*) as count from (select distinct r.value ->> 0 as gtin, r.value ->> 1 as network_id,
      r.value ->> 2 as merchant_id, r.value ->> 3 as network_channel_id, r.value ->> 4 as currency, r.value ->> 5 as variant
      from json_each(${JSON.stringify(rows)}) r)
    join offers using (gtin, network_id, merchant_id, network_channel_id, currency, variant)
    where import_id = ${importId}`.execute(database)
  return keys.size - (known.rows[0]?.count ?? 0)
}

/** One statement a batch, whatever its size: JSON goes in, rows come out, and the statement is prepared once. */
async function writeProducts(
  database: Kysely<CatalogTables>,
  products: readonly FeedProduct[],
): Promise<void> {
  const rows = products.map(({ gtin, title, brand, images }) => [gtin, title, brand, images])
  await sql`
    insert into products (gtin, title, brand, images)
    select value ->> 0, value ->> 1, value ->> 2, value -> 3
    from json_each(${JSON.stringify(rows)}) where true
    on conflict (gtin) do update set title = excluded.title, brand = coalesce(excluded.brand, brand),
      images = case when excluded.images = '[]' then images else excluded.images end`.execute(database)
}

async function writeOffers(
  database: Kysely<CatalogTables>,
  rows: readonly OfferRow[],
  importId: number,
): Promise<void> {
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
}
