import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { disablePlanCache, inList } from '../../database/dialect.ts'
import { MAX_OFFERS, MAX_PUBLISHED_BYTES, computeOfferBytes, limitOffers } from '../../offers/offer-limits.ts'
import { type RankableOffer, compareTexts } from '../../offers/ranking.ts'
import { type ProductDetails, mergeDetails } from '../store/merge-details.ts'
import { createAffiliateLink } from '../store/networks.ts'
import type { Catalog } from '../store/schema.ts'
import {
  type ImportRun,
  type StaleOffers,
  type StoredSource,
  type OfferRow,
  type OfferRowKey,
  type ProductRow,
  adoptSkippedProducts,
  countFeedOffers,
  fetchStoredSources,
  findStaleOffers,
  forgetUnchanged,
  recordUnchanged,
  removeOffers,
  removeStaleOffers,
  upsertOffers,
  upsertProducts,
} from './import-statements.ts'
import type { FeedOffer, FeedProduct, FeedRow, Reject } from './feed-row.ts'
import {
  type ImportTarget,
  type Shop,
  type ShopRegistry,
  type ShopReport,
  createShopRegistry,
  toIsPage,
} from './feed-target.ts'

/** Hex digits of the URL's hash in `variant`: 48 bits, which a number represents exactly. */
const VARIANT_DIGITS = 12

/** A product and its row number. `digest`: of the row; `undefined` when the row must not be skipped next time. */
export type RowProduct = Readonly<{ row: number; product: FeedProduct; digest?: string | undefined }>

export type FeedWriter = Awaited<ReturnType<typeof createFeedWriter>>

export async function createFeedWriter(database: Catalog, target: ImportTarget, run: ImportRun) {
  await disablePlanCache(database)
  await forgetUnchanged(database)
  const shops = createShopRegistry(database, target, run)
  const formerOfferCount = await countFeedOffers(database, run.feedId)
  let [productCount, offerCount] = [0, 0]
  return {
    /** Skip rows whose products are already stored with the same content; return the others. */
    async skipUnchanged(rows: readonly FeedRow[]): Promise<readonly FeedRow[]> {
      if (formerOfferCount === 0) return rows
      const candidates = indexSingleRows(rows)
      const skipped = new Map<FeedRow, string>()
      for (const stored of await fetchStoredSources(database, run, [...candidates.keys()])) {
        const row = candidates.get(stored.gtin)
        if (row === undefined || !isUnchanged(row, stored, shops)) continue
        skipped.set(row, stored.gtin)
        offerCount += stored.offers
      }
      if (skipped.size > 0) await recordUnchanged(database, run.feedId, [...skipped.values()])
      productCount += skipped.size
      return rows.filter((row) => !skipped.has(row))
    },
    /** Write products. Rows with the same GTIN are merged. Return rejects for offers above the limit. */
    async write(batch: readonly RowProduct[]): Promise<readonly Reject[]> {
      if (batch.length === 0) return []
      const gtins = [...new Set(batch.map(({ product }) => product.gtin))]
      const importedGtins = await adoptSkippedProducts(database, run, gtins)
      const mergedProducts =
        importedGtins.length === 0
          ? new Map<string, MergedProduct>()
          : await fetchMergedProducts(database, run, importedGtins)
      productCount += gtins.length - importedGtins.length
      for (const { candidates } of mergedProducts.values()) offerCount -= candidates.size
      const { feedId, importId } = run
      for (const rowProduct of batch) await mergeProduct(mergedProducts, rowProduct, { shops, run })
      const rejects = await limitProducts(database, mergedProducts, feedId)
      const productRows: ProductRow[] = []
      const offerRows: OfferRow[] = []
      // Write in key order, so that neighbouring pages of the table are written together.
      const sorted = [...mergedProducts].toSorted(([one], [other]) => compareTexts(one, other))
      for (const [gtin, { candidates, digest, shopKeys }] of sorted) {
        const { title, brand, images: urls } = mergeCandidates([...candidates.values()])
        const images = JSON.stringify(urls)
        const source = digest === undefined ? null : [digest, candidates.size, ...shopKeys].join(' ')
        productRows.push({ gtin, feed_id: feedId, title, brand, images, source, import_id: importId })
        for (const { row } of candidates.values()) if (row !== undefined) offerRows.push(row)
        offerCount += candidates.size
      }
      await upsertProducts(database, productRows)
      await upsertOffers(database, offerRows)
      return rejects
    },
    /** Count the products and offers of the file, and the feed's offers that it no longer has. */
    async countOffers(): Promise<OfferCounts> {
      const stale = await findStaleOffers(database, run, { current: offerCount })
      return { products: productCount, offers: offerCount, former: formerOfferCount, lost: stale.lost, stale }
    },
    /** Remove what `countOffers` found. */
    async finish({ stale }: OfferCounts): Promise<ShopReport & Readonly<{ removedOffers: number }>> {
      await removeStaleOffers(database, run)
      await forgetUnchanged(database)
      return { removedOffers: stale.total, ...shops.report() }
    },
  }
}

/** `former`: offers of the feed before the import; `lost`: those that would disappear (`StaleOffers`). */
export type OfferCounts = Readonly<{
  products: number
  offers: number
  former: number
  lost: number
  stale: StaleOffers
}>

/** Index rows by GTIN. Rows with the same GTIN are left out: they must be parsed and merged. */
function indexSingleRows(rows: readonly FeedRow[]): ReadonlyMap<string, FeedRow> {
  const byGtin = new Map<string, FeedRow>()
  const repeatedGtins = new Set<string>()
  for (const row of rows) {
    const gtin = row.guessGtin()
    if (gtin === undefined) continue
    if (byGtin.has(gtin)) repeatedGtins.add(gtin)
    byGtin.set(gtin, row)
  }
  for (const gtin of repeatedGtins) byGtin.delete(gtin)
  return byGtin
}

/** Whether the row would write what is stored. All its shops must be known to this import, so that they exist already. */
function isUnchanged(row: FeedRow, stored: StoredSource, shops: ShopRegistry): boolean {
  const [digest, offers, ...keys] = stored.source.split(' ')
  // The offer counts differ when a command or another feed of the shop has removed offers.
  return (
    Number(offers) === stored.offers &&
    keys.every((key) => shops.hasShop(key)) &&
    digest === row.computeDigest()
  )
}

/** An offer with its product details. `template`: its link template; `row`: to be written; `storedKey`: of the row that is already written. */
type Candidate = Readonly<{
  offer: Omit<RankableOffer, 'affiliateUrl'> & Readonly<{ url: string }>
  template: string | null
  details: ProductDetails
  row?: OfferRow
  storedKey?: OfferRowKey | undefined
}>

/** One product of an import. `digest`: of its only row; `undefined` when there were several. `row`: the last one. */
type MergedProduct = {
  candidates: Map<string, Candidate>
  /** Of all offers that were read; those that others have replaced count, too. */
  bytes: number
  shopKeys: Set<string>
  digest: string | undefined
  row: number
}

/** Add a row to its product. A later offer replaces an earlier one with the same key. */
async function mergeProduct(
  mergedProducts: Map<string, MergedProduct>,
  { row, product, digest }: RowProduct,
  { shops, run }: Readonly<{ shops: ShopRegistry; run: ImportRun }>,
): Promise<void> {
  const { gtin, offers } = product
  const earlier = mergedProducts.get(gtin)
  const merged = earlier ?? createMergedProduct()
  const { candidates, shopKeys } = merged
  for (const offer of offers) {
    const shopOrPromise = shops.get(offer)
    // Known shops are returned synchronously; `await` for each offer would be slow.
    const shop = shopOrPromise instanceof Promise ? await shopOrPromise : shopOrPromise
    const offerRow = toOfferRow({ gtin, run }, offer, shop)
    const template = offer.link === 'page' ? shop.linkTemplate : null
    const key = toOfferRowKey(offerRow)
    const storedKey = candidates.get(key)?.storedKey
    candidates.set(key, { offer, template, details: product, row: offerRow, storedKey })
    merged.bytes += computeOfferBytes(offer, offer.url)
    shopKeys.add(shop.key)
  }
  mergedProducts.set(gtin, { ...merged, row, digest: earlier === undefined ? digest : undefined })
}

/** Keep the cheapest offers of each product, and remove others that are stored. Return a reject for each product with too many. */
async function limitProducts(
  database: Catalog,
  mergedProducts: ReadonlyMap<string, MergedProduct>,
  feedId: number,
): Promise<readonly Reject[]> {
  const rejects: Reject[] = []
  for (const [gtin, merged] of mergedProducts) {
    if (merged.candidates.size <= MAX_OFFERS && merged.bytes <= MAX_PUBLISHED_BYTES) continue
    const { omitted, reject } = limitCandidates(gtin, merged)
    rejects.push(...reject)
    await removeOffers(database, { gtin, feedId }, omitted)
  }
  return rejects
}

/** `omitted`: offers of earlier batches that are stored. */
type Omission = Readonly<{ omitted: readonly OfferRowKey[]; reject: readonly Reject[] }>

/** Keep the cheapest offers of a product that has more than the limits. */
function limitCandidates(gtin: string, merged: MergedProduct): Omission {
  const { candidates, row } = merged
  const offers = [...candidates].map(([key, { offer }]) => ({ ...offer, affiliateUrl: offer.url, key }))
  const limited = limitOffers(offers, MAX_PUBLISHED_BYTES)
  const omittedCount = limited.tooMany + limited.tooLarge
  if (omittedCount === 0) return { omitted: [], reject: [] }
  const kept = new Set(limited.offers.map(({ key }) => key))
  const omitted: OfferRowKey[] = []
  for (const [key, { storedKey }] of candidates) {
    if (kept.has(key)) continue
    if (storedKey !== undefined) omitted.push(storedKey)
    candidates.delete(key)
  }
  // The next import must choose again.
  merged.digest = undefined
  const limit = limited.tooMany > 0 ? `${MAX_OFFERS} offers` : `${MAX_PUBLISHED_BYTES / 1_024} kB of offers`
  const reason = `more than ${limit} of one product: ${omittedCount} others are left out, the most expensive ones first`
  return { omitted, reject: [{ row, field: 'offers', reason, raw: gtin }] }
}

function createMergedProduct(): MergedProduct {
  return { candidates: new Map(), bytes: 0, shopKeys: new Set(), digest: undefined, row: 0 }
}

function toOfferRow(
  { gtin, run }: Readonly<{ gtin: string; run: ImportRun }>,
  offer: FeedOffer,
  { networkId, merchantId, networkChannelId }: Shop,
): OfferRow {
  const { price, oldPrice, currency, availability, url, salePeriod, checkedAtMs } = offer
  const variant = Number.parseInt(hash('sha1', url).slice(0, VARIANT_DIGITS), 16)
  return {
    gtin,
    feed_id: run.feedId,
    network_id: networkId,
    merchant_id: merchantId,
    network_channel_id: networkChannelId,
    is_page: toIsPage(offer),
    currency,
    variant,
    price,
    old_price: oldPrice,
    availability,
    url,
    sale_starts_ms: salePeriod?.startsMs ?? null,
    sale_ends_ms: salePeriod?.endsMs ?? null,
    checked_ms: checkedAtMs,
    import_id: run.importId,
  }
}

/** Return what tells apart the offers of one product and feed. */
function toOfferRowKey(row: Pick<OfferRow, 'network_id' | 'merchant_id' | 'currency' | 'variant'>): string {
  return `${row.network_id} ${row.merchant_id} ${row.currency} ${row.variant}`
}

/** Choose among the rows of a product as a box does. */
function mergeCandidates(candidates: readonly Candidate[]): ProductDetails {
  // Fast path: most products have one row, and links are expensive.
  const [first] = candidates as [Candidate]
  if (candidates.every(({ details }) => details === first.details)) return first.details
  return mergeDetails(
    candidates.map(({ offer, template, details }) => {
      const merchantUrl = offer.url
      // Approximates the final link for sorting: offers that tie up to here have the same merchant and publisher.
      const parts = { merchantUrl, merchant: '', publisher: '' }
      const affiliateUrl = template === null ? merchantUrl : createAffiliateLink({ ...parts, template })
      return { offer: { ...offer, affiliateUrl }, details }
    }),
  )
}

type StoredOffer = OfferRow &
  Pick<ProductRow, 'title' | 'brand' | 'images'> &
  Readonly<{ oldPrice: string | null; merchant: string; network: string; link_template: string | null }>

async function fetchMergedProducts(
  database: Catalog,
  { feedId, importId }: ImportRun,
  gtins: readonly string[],
): Promise<Map<string, MergedProduct>> {
  const { rows } = await sql<StoredOffer>`
    select o.*, o.old_price as "oldPrice", m.name as merchant, n.name as network, n.link_template,
      p.title, p.brand, p.images
    from offers o join products p on p.gtin = o.gtin and p.feed_id = o.feed_id
      join merchants m on m.id = o.merchant_id join networks n on n.id = o.network_id
    where ${inList(database, 'o.gtin', gtins)} and o.feed_id = ${feedId} and o.import_id = ${importId}`.execute(
    database,
  )
  const mergedProducts = new Map<string, MergedProduct>()
  for (const row of rows) {
    const { gtin, title, brand } = row
    const product = mergedProducts.get(gtin) ?? createMergedProduct()
    mergedProducts.set(gtin, product)
    const template = row.is_page === 1 ? row.link_template : null
    const details = { title, brand, images: JSON.parse(row.images) as string[] }
    const { network_id: networkId, merchant_id: merchantId, currency, variant } = row
    const storedKey = { networkId, merchantId, currency, variant }
    product.candidates.set(toOfferRowKey(row), { offer: row, template, details, storedKey })
    product.bytes += computeOfferBytes(row, row.url)
  }
  return mergedProducts
}
