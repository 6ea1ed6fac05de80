import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { MAX_OFFERS } from '../../catalog/contract.ts'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import type { FeedOffer, FeedProduct, Reject } from './feed-product.ts'
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
  /** See `Shops.listUnassigned`. */
  unassignedNetworks: readonly string[]
}>

/** Writes products in the import's transaction. */
export type FeedWriter = Readonly<{
  /** Adds products. A GTIN that came before is merged: newest title, all offers. Answers what was too much of them. */
  write(products: readonly NumberedProduct[]): Promise<readonly Reject[]>
  /** Removes what the imported shops no longer offer, and counts. */
  finish(): Promise<Written>
}>

/** A product and the row that it came from. */
export type NumberedProduct = Readonly<{ row: number; product: FeedProduct }>

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
      const counts = await countOffers(database, batch, importId)
      for (const count of counts.values()) if (count === 0) products += 1
      const { kept, rejects } = limitOffers(batch, counts)
      // Products that lie side by side in the file on disk are written one after the other.
      const sorted = kept.toSorted(compareGtins)
      const rows = await toOfferRows(sorted, shops)
      offers += await countNewOffers(database, rows, importId)
      await writeProducts(database, sorted)
      await writeOffers(database, rows, importId)
      return rejects
    },
    async finish() {
      const removedOffers = await removeOlder(database, { importId, offers })
      return {
        products,
        offers,
        removedOffers,
        pageNetworks: shops.listPageNetworks(),
        unassignedNetworks: shops.listUnassigned(),
      }
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

/** How many offers this import has brought so far, for each product of a batch. */
async function countOffers(
  database: Kysely<CatalogTables>,
  batch: readonly NumberedProduct[],
  importId: number,
): Promise<Map<string, number>> {
  const gtins = [...new Set(batch.map(({ product }) => product.gtin))]
  const counted = await sql<{ gtin: string; count: number }>`
    select g.value as gtin, (select count(*) from offers where gtin = g.value and import_id = ${importId}) as count
    from json_each(${JSON.stringify(gtins)}) g`.execute(database)
  return new Map(counted.rows.map(({ gtin, count }) => [gtin, count]))
}

type Limited = Readonly<{ kept: FeedProduct[]; rejects: Reject[] }>

/** `counts` are those before the batch, by GTIN, and afterwards those after it. */
function limitOffers(batch: readonly NumberedProduct[], counts: Map<string, number>): Limited {
  const limited: Limited = { kept: [], rejects: [] }
  for (const { row, product } of batch) {
    const { gtin, offers } = product
    const count = counts.get(gtin) ?? 0
    const room = Math.max(0, MAX_OFFERS - count)
    counts.set(gtin, count + offers.length)
    limited.kept.push(offers.length > room ? { ...product, offers: offers.slice(0, room) } : product)
    if (offers.length > room) {
      const reason = `more than ${MAX_OFFERS} offers of one product; ${offers.length - room} left out`
      limited.rejects.push({ row, field: 'offers', reason, raw: gtin })
    }
  }
  return limited
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
