import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { MAX_OFFERS } from '../../catalog/contract.ts'
import { isPostgres } from '../../database/postgres.ts'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import { type OfferRow, nameOffer } from './batch.ts'
import { createPostgresBatch } from './postgres-batch.ts'
import { createSqliteBatch } from './sqlite-batch.ts'
import type { FeedOffer, FeedProduct, Reject } from './feed-product.ts'
import { removeOlder } from './remove-older.ts'
import { type PageNetworks, type ShopIds, type Shops, createShops } from './shops.ts'
import type { ImportTarget } from './target.ts'

/** Hex digits of an address's hash that tell offers of one shop apart: as many as a number holds exactly. */
const VARIANT_DIGITS = 12

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

/** Makes the writer of one import. `importId` marks its rows, so that older ones are told apart without memory. */
export async function createFeedWriter(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  importId: number,
): Promise<FeedWriter> {
  const make = isPostgres(database) ? createPostgresBatch : createSqliteBatch
  const statements = await make(database, importId)
  const shops = await createShops(database, target)
  let [products, offers] = [0, 0]
  return {
    async write(batch) {
      const gtins = [...new Set(batch.map(({ product }) => product.gtin))]
      const counts = new Map(await statements.countOffers(gtins))
      for (const count of counts.values()) if (count === 0) products += 1
      const { kept, rejects } = limitOffers(batch, counts)
      // Products that lie side by side in the file on disk are written one after the other.
      const sorted = kept.toSorted(compareGtins)
      const rows = await toOfferRows(sorted, shops)
      const keys = new Set(rows.map((row) => nameOffer(row)))
      offers += keys.size - (await statements.countKnown(rows))
      await statements.writeProducts(sorted)
      await statements.writeOffers(rows)
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
