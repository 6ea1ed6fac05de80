import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { MAX_OFFERS } from '../../catalog/contract.ts'
import { isPostgres } from '../../database/is-postgres.ts'
import { type Rankable, compareForBox, compareTexts } from '../../offers/ranking.ts'
import { makeAffiliateLink } from '../store/networks.ts'
import { type Catalog, PAGE_OF_SHOP } from '../store/schema.ts'
import {
  type FoundSource,
  OFFERS,
  type OfferRow,
  PRODUCTS,
  type ProductRow,
  claimMet,
  fetchSources,
  noteUnchanged,
  removeOlder,
  writeRows,
} from './batch.ts'
import type { FeedOffer, FeedProduct, FeedRow, Reject } from './feed-row.ts'
import { type ImportTarget, type Shop, type Shops, createShops } from './target.ts'

/** Hex digits of an address's hash that tell offers of one shop apart: as many as a number holds exactly. */
const VARIANT_DIGITS = 12

/** A product and the row that it came from. `digest`: of the row, when nothing but the row decides what it gives. */
export type NumberedProduct = Readonly<{ row: number; product: FeedProduct; digest?: string | undefined }>

export type FeedWriter = Awaited<ReturnType<typeof createFeedWriter>>

export async function createFeedWriter(database: Catalog, target: ImportTarget, importId: number) {
  // A statement that was planned while the tables were empty would read all of them from end to end for each batch, as long as
  // the import lasts. A server that does not know the setting plans otherwise.
  if (isPostgres(database))
    await sql`select set_config('plan_cache_mode', 'force_custom_plan', true) from pg_settings
      where name = 'plan_cache_mode'`.execute(database)
  await database.deleteFrom('unchanged_products').execute()
  const shops = await createShops(database, target)
  const isEmpty =
    (await database.selectFrom('products').select('gtin').limit(1).executeTakeFirst()) === undefined
  let [products, offers] = [0, 0]
  return {
    /** Leave out the rows whose products the catalog has as they would be written, and return the others. */
    async skipKnown(rows: readonly FeedRow[]): Promise<readonly FeedRow[]> {
      if (isEmpty) return rows
      const candidates = listAlone(rows)
      const skipped = new Map<FeedRow, string>()
      for (const found of await fetchSources(database, importId, [...candidates.keys()])) {
        const row = candidates.get(found.gtin)
        if (row === undefined || !isKnown(row, found, shops)) continue
        skipped.set(row, found.gtin)
        offers += found.offers
      }
      if (skipped.size > 0) await noteUnchanged(database, [...skipped.values()])
      products += skipped.size
      return rows.filter((row) => !skipped.has(row))
    },
    /** Add products. Rows of one GTIN are merged, see `mergeHeads`. Return what was too much of them. */
    async write(batch: readonly NumberedProduct[]): Promise<readonly Reject[]> {
      if (batch.length === 0) return []
      const gtins = [...new Set(batch.map(({ product }) => product.gtin))]
      const met = await claimMet(database, importId, gtins)
      const merged = met.length === 0 ? new Map<string, Merged>() : await fetchMerged(database, importId, met)
      products += gtins.length - met.length
      for (const { candidates } of merged.values()) offers -= candidates.size
      const rejects: Reject[] = []
      for (const numbered of batch) rejects.push(...(await mergeProduct(merged, numbered, shops)))
      const productRows: ProductRow[] = []
      const offerRows: OfferRow[] = []
      // Products that lie side by side in the file on disk are written one after the other.
      const sorted = [...merged].toSorted(([one], [other]) => compareTexts(one, other))
      for (const [gtin, { candidates, digest, shopKeys }] of sorted) {
        const { title, brand, images } = mergeHeads([...candidates.values()])
        const source = digest === undefined ? null : [digest, candidates.size, ...shopKeys].join(' ')
        productRows.push([gtin, title, brand, JSON.stringify(images), source])
        for (const { row } of candidates.values()) if (row !== undefined) offerRows.push(row)
        offers += candidates.size
      }
      await writeRows(database, PRODUCTS, importId, productRows)
      await writeRows(database, OFFERS, importId, offerRows)
      return rejects
    },
    /** Remove what the imported shops no longer offer, and count. */
    async finish() {
      const removedOffers = await removeOlder(database, importId, offers)
      for (const table of ['unchanged_products', 'import_shops'] as const)
        await database.deleteFrom(table).execute()
      return { products, offers, removedOffers, ...shops.report() }
    },
  }
}

/** The rows by GTIN, where only one of them has it: rows of one product are merged, and have to be read. */
function listAlone(rows: readonly FeedRow[]): ReadonlyMap<string, FeedRow> {
  const byGtin = new Map<string, FeedRow>()
  const several = new Set<string>()
  for (const row of rows) {
    const gtin = row.guessGtin()
    if (gtin === undefined) continue
    if (byGtin.has(gtin)) several.add(gtin)
    byGtin.set(gtin, row)
  }
  for (const gtin of several) byGtin.delete(gtin)
  return byGtin
}

/** Would the row give what its product has? Each of its shops was met: what is to be made of it is made. */
function isKnown(row: FeedRow, found: FoundSource, shops: Shops): boolean {
  const [digest, offers, ...keys] = found.source.split(' ')
  // Offers may have been removed since, by a command or by another feed of their shop.
  return (
    Number(offers) === found.offers &&
    keys.every((key) => shops.hasMet(key)) &&
    digest === row.computeDigest()
  )
}

type ProductHead = Pick<FeedProduct, 'title' | 'brand' | 'images'>

/** An offer with the head of its row. `template`: what its link is made with; `row`: as it is to be written, unless it is. */
type Candidate = Readonly<{
  offer: Omit<Rankable, 'affiliateUrl'> & Readonly<{ url: string }>
  template: string | null
  head: ProductHead
  row?: OfferRow
}>

/** One product of an import. `digest`: of the one row that made it; `undefined` when there were several. */
type Merged = {
  candidates: Map<string, Candidate>
  shopKeys: Set<string>
  digest: string | undefined
}

/** Add a row to its product; of two offers with one key the later replaces the earlier. Return what is beyond the most offers. */
async function mergeProduct(
  merged: Map<string, Merged>,
  { row, product, digest }: NumberedProduct,
  shops: Shops,
): Promise<Reject[]> {
  const { gtin, offers } = product
  const earlier = merged.get(gtin)
  const { candidates, shopKeys }: Merged = earlier ?? { candidates: new Map(), shopKeys: new Set(), digest }
  let leftOut = 0
  for (const offer of offers) {
    if (candidates.size >= MAX_OFFERS) {
      leftOut += 1
      continue
    }
    const found = shops.get(offer)
    // Only a shop that is met for the first time has to be waited for.
    const shop = found instanceof Promise ? await found : found
    const offerRow = toOfferRow(gtin, offer, shop)
    const template = offer.link === 'page' ? shop.linkTemplate : null
    candidates.set(toKey(offerRow), { offer, template, head: product, row: offerRow })
    shopKeys.add(shop.key)
  }
  const isAlone = earlier === undefined && leftOut === 0
  merged.set(gtin, { candidates, shopKeys, digest: isAlone ? digest : undefined })
  if (leftOut === 0) return []
  const reason = `more than ${MAX_OFFERS} offers of one product; ${leftOut} left out`
  return [{ row, field: 'offers', reason, raw: gtin }]
}

function toOfferRow(gtin: string, offer: FeedOffer, shop: Shop): OfferRow {
  const { price, oldPrice, currency, availability, url } = offer
  const variant = Number.parseInt(hash('sha1', url).slice(0, VARIANT_DIGITS), 16)
  const { networkId, merchantId, channelOfOffers } = shop
  return [gtin, networkId, merchantId, channelOfOffers, currency, variant, price, oldPrice, availability, url]
}

/** Return what tells the offers of a product apart: the values after the GTIN and before the price. */
function toKey([, network, shop, channel, currency, variant]: readonly (string | number | null)[]): string {
  return `${network} ${shop} ${channel} ${currency} ${variant}`
}

/**
 * Pick the head of the row whose offer a box shows first. So title, pictures and link come from one row, whatever the order of
 * the rows. A brand or pictures that this row lacks are taken from another one.
 */
function mergeHeads(candidates: readonly Candidate[]): ProductHead {
  const [one] = candidates as [Candidate]
  if (candidates.every(({ head }) => head === one.head)) return one.head
  const heads = candidates
    .map(({ offer, template, head }) => {
      const merchantUrl = offer.url
      // The link that readers get but for names, which offers that are compared by it have in common.
      const parts = { merchantUrl, merchant: '', publisher: '' }
      const affiliateUrl = template === null ? merchantUrl : makeAffiliateLink({ ...parts, template })
      return { ...offer, affiliateUrl, head }
    })
    .toSorted(compareForBox)
    .map(({ head }) => head)
  const [first] = heads as [ProductHead]
  return {
    ...first,
    brand: heads.find(({ brand }) => brand !== null)?.brand ?? null,
    images: heads.find(({ images }) => images.length > 0)?.images ?? [],
  }
}

/** What the import has written of these products so far. */
async function fetchMerged(
  database: Catalog,
  importId: number,
  gtins: readonly string[],
): Promise<Map<string, Merged>> {
  const rows = await database
    .selectFrom('offers as o')
    .innerJoin('products as p', 'p.gtin', 'o.gtin')
    .innerJoin('merchants as m', 'm.id', 'o.merchant_id')
    .innerJoin('networks as n', 'n.id', 'o.network_id')
    .selectAll('o')
    .select(['o.old_price as oldPrice', 'm.name as merchant', 'n.name as network', 'n.link_template'])
    .select(['p.title', 'p.brand', 'p.images'])
    .where('o.gtin', 'in', gtins)
    .where('o.import_id', '=', importId)
    .execute()
  const merged = new Map<string, Merged>()
  for (const row of rows) {
    const { gtin, title, brand } = row
    const product = merged.get(gtin) ?? { candidates: new Map(), shopKeys: new Set(), digest: undefined }
    merged.set(gtin, product)
    const template = row.network_channel_id === PAGE_OF_SHOP ? row.link_template : null
    const head = { title, brand, images: JSON.parse(row.images) as string[] }
    const key = [gtin, row.network_id, row.merchant_id, row.network_channel_id, row.currency, row.variant]
    product.candidates.set(toKey(key), { offer: row, template, head })
  }
  return merged
}
