import { type Kysely, sql } from 'kysely'
import type { CatalogTables } from '../store/schema.ts'
import type { FeedProduct } from './feed-product.ts'
import type { ImportTarget } from './target.ts'

/** Pairs of network and merchant whose ids are kept at hand; a feed of marketplace sellers has many. */
const MAX_CACHED_PAIRS = 50_000

/** The rows that an import has left in the catalog, and the older ones that it took out of it. */
type Written = Readonly<{ products: number; offers: number; removedOffers: number }>

/** Writes products in the import's transaction. */
export type FeedWriter = Readonly<{
  /** Adds products. A GTIN that came before is merged: newest title, all offers. */
  write(products: readonly FeedProduct[]): Promise<void>
  /** Removes what the imported merchants no longer offer, and counts. */
  finish(): Promise<Written>
}>

type OfferIds = Readonly<{ networkId: number; networkChannelId: number; merchantId: number }>

/** Makes the writer of one import. `importId` marks its rows, so that older ones are told apart without memory. */
export function createFeedWriter(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  importId: number,
): FeedWriter {
  const cache = new Map<string, OfferIds>()
  const getIds = async (network: string, merchant: string): Promise<OfferIds> => {
    const key = `${network}\u0000${merchant}`
    const known = cache.get(key)
    if (known !== undefined) return known
    if (cache.size >= MAX_CACHED_PAIRS) cache.clear()
    const ids = await getOrMakeIds(database, target, { network, merchant })
    cache.set(key, ids)
    return ids
  }
  return {
    async write(products) {
      const rows: unknown[] = []
      for (const product of products) {
        for (const offer of product.offers) {
          rows.push({ ...offer, gtin: product.gtin, ...(await getIds(offer.network, offer.merchant)) })
        }
      }
      await writeProducts(database, products)
      await writeOffers(database, rows, importId)
    },
    finish: () => finish(database, importId),
  }
}

/** One statement a batch, whatever its size: JSON goes in, rows come out, and the statement is prepared once. */
async function writeProducts(
  database: Kysely<CatalogTables>,
  products: readonly FeedProduct[],
): Promise<void> {
  const rows = products.map(({ gtin, title, brand, images }) => ({ gtin, title, brand, images }))
  await sql`
    insert into products (gtin, title, brand, images)
    select value ->> 'gtin', value ->> 'title', value ->> 'brand', value -> 'images'
    from json_each(${JSON.stringify(rows)}) where true
    on conflict (gtin) do update set title = excluded.title, brand = coalesce(excluded.brand, brand),
      images = case when excluded.images = '[]' then images else excluded.images end`.execute(database)
}

async function writeOffers(
  database: Kysely<CatalogTables>,
  rows: readonly unknown[],
  importId: number,
): Promise<void> {
  await sql`
    insert into offers (gtin, merchant_id, network_id, network_channel_id, price, old_price, currency, availability,
      feed_url, import_id)
    select value ->> 'gtin', value ->> 'merchantId', value ->> 'networkId', value ->> 'networkChannelId',
      value ->> 'price', value ->> 'oldPrice', value ->> 'currency', value ->> 'availability', value ->> 'url', ${importId}
    from json_each(${JSON.stringify(rows)}) where true
    on conflict (network_channel_id, merchant_id, gtin, currency, feed_url) where network_channel_id is not null
    do update set price = excluded.price, old_price = excluded.old_price, availability = excluded.availability,
      import_id = excluded.import_id`.execute(database)
}

async function finish(database: Kysely<CatalogTables>, importId: number): Promise<Written> {
  const removed = await sql`
    delete from offers where network_channel_id is not null and import_id is not ${importId}
      and (network_channel_id, merchant_id) in (
        select distinct network_channel_id, merchant_id from offers where import_id = ${importId})`.execute(
    database,
  )
  await sql`
    delete from products where not exists (select 1 from offers where offers.gtin = products.gtin)`.execute(
    database,
  )
  const counted = await sql<Omit<Written, 'removedOffers'>>`
    select count(distinct gtin) as products, count(*) as offers from offers where import_id = ${importId}`.execute(
    database,
  )
  const removedOffers = Number(removed.numAffectedRows ?? 0)
  return { ...(counted.rows[0] ?? { products: 0, offers: 0 }), removedOffers }
}

async function getOrMakeIds(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  names: Readonly<{ network: string; merchant: string }>,
): Promise<OfferIds> {
  const networkId = await getOrMakeNamed(database, 'networks', names.network)
  const networkChannelId = await getOrMakeNetworkChannel(database, target, networkId)
  const merchantId = await getOrMakeNamed(database, 'merchants', names.merchant)
  // A revoked approval has a row: it stays revoked.
  await database
    .insertInto('approvals')
    .values({ network_channel_id: networkChannelId, merchant_id: merchantId, revoked_at_ms: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return { networkId, networkChannelId, merchantId }
}

async function getOrMakeNamed(
  database: Kysely<CatalogTables>,
  table: 'networks' | 'merchants',
  name: string,
): Promise<number> {
  const known = await database.selectFrom(table).select('id').where('name', '=', name).executeTakeFirst()
  if (known !== undefined) return known.id
  const made = await database.insertInto(table).values({ name }).returning('id').executeTakeFirstOrThrow()
  return made.id
}

async function getOrMakeNetworkChannel(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  networkId: number,
): Promise<number> {
  const known = await database
    .selectFrom('network_channels')
    .select('id')
    .where('network_id', '=', networkId)
    .where('channel_id', '=', target.channelId)
    .executeTakeFirst()
  if (known !== undefined) return known.id
  // The feed brings its own links, so the network's reference is not known; a link template needs the real one.
  const made = await database
    .insertInto('network_channels')
    .values({
      organization_id: target.organizationId,
      network_id: networkId,
      reference: target.channelId,
      channel_id: target.channelId,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return made.id
}
