import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { MAX_OFFERS } from '../../catalog/contract.ts'
import { isPostgres } from '../../database/postgres.ts'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import { makeAffiliateLink } from '../store/networks.ts'
import { type OfferRow, nameOffer } from './batch.ts'
import { createPostgresBatch } from './postgres-batch.ts'
import { createSqliteBatch } from './sqlite-batch.ts'
import type { FeedOffer, FeedProduct, Reject } from './feed-product.ts'
import { type Candidate, pickHeads } from './product-heads.ts'
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
  /** Adds products. Rows of one GTIN are merged, see `pickHeads`. Answers what was too much of them. */
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
      const known = gtins.filter((gtin) => counts.get(gtin) !== 0)
      products += gtins.length - known.length
      const { kept, rejects } = limitOffers(batch, counts)
      // Products that lie side by side in the file on disk are written one after the other.
      const sorted = kept.toSorted(compareGtins)
      const { rows, candidates } = await toOfferRows(sorted, shops)
      const keys = new Set(candidates.map(({ key }) => key))
      offers += keys.size - (await statements.countKnown(rows))
      const earlier = known.length === 0 ? [] : await fetchCandidates(database, importId, known)
      await statements.writeProducts(pickHeads([...earlier, ...candidates]))
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

type Offers = Readonly<{ rows: OfferRow[]; candidates: Candidate[] }>

async function toOfferRows(products: readonly FeedProduct[], shops: Shops): Promise<Offers> {
  const rows: OfferRow[] = []
  const candidates: Candidate[] = []
  for (const head of products) {
    for (const offer of head.offers) {
      // Only a shop that is met for the first time has to be waited for.
      const ids = shops.find(offer) ?? (await shops.make(offer))
      const row = toRow(head.gtin, offer, ids)
      const template = offer.link === 'page' ? ids.linkTemplate : null
      rows.push(row)
      candidates.push({
        key: nameOffer(row),
        offer: { ...offer, affiliateUrl: toLink(offer.url, template) },
        head,
      })
    }
  }
  return { rows, candidates }
}

/** The link that readers get but for names, which offers that are compared by it have in common. */
function toLink(url: string, template: string | null): string {
  return template === null
    ? url
    : makeAffiliateLink({ template, merchantUrl: url, merchant: '', publisher: '' })
}

/** The offers that this import has brought of these products, with the heads that were picked so far. */
async function fetchCandidates(
  database: Kysely<CatalogTables>,
  importId: number,
  gtins: readonly string[],
): Promise<Candidate[]> {
  const rows = await database
    .selectFrom('offers as o')
    .innerJoin('products as p', 'p.gtin', 'o.gtin')
    .innerJoin('merchants as m', 'm.id', 'o.merchant_id')
    .innerJoin('networks as n', 'n.id', 'o.network_id')
    .selectAll('o')
    .select(['p.title', 'p.brand', 'p.images', 'm.name as merchant', 'n.name as network', 'n.link_template'])
    .where('o.gtin', 'in', gtins)
    .where('o.import_id', '=', importId)
    .execute()
  return rows.map((row) => ({
    key: nameOffer([
      row.gtin,
      row.network_id,
      row.merchant_id,
      row.network_channel_id,
      row.currency,
      row.variant,
    ]),
    offer: {
      ...row,
      oldPrice: row.old_price,
      affiliateUrl: toLink(row.url, row.network_channel_id === PAGE_OF_SHOP ? row.link_template : null),
    },
    head: { gtin: row.gtin, title: row.title, brand: row.brand, images: JSON.parse(row.images) as string[] },
  }))
}

function toRow(gtin: string, offer: FeedOffer, ids: ShopIds): OfferRow {
  const { price, oldPrice, currency, availability, url } = offer
  const { networkId, merchantId } = ids
  const channel = offer.link === 'page' && ids.linkTemplate !== null ? PAGE_OF_SHOP : ids.networkChannelId
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
