import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { MAX_OFFERS } from '../../catalog/contract.ts'
import { isPostgres } from '../../database/is-postgres.ts'
import { type Rankable, compareForBox, compareTexts } from '../../offers/ranking.ts'
import { makeAffiliateLink } from '../store/networks.ts'
import { type Catalog, PAGE_OF_SHOP } from '../store/schema.ts'
import {
  type FoundSource,
  type OfferRow,
  type ProductRow,
  claimMet,
  fetchSources,
  noteUnchanged,
  removeOlder,
  writeOffers,
  writeProducts,
} from './batch.ts'
import type { FeedOffer, FeedProduct, FeedRow, Reject } from './feed-row.ts'
import { type ImportTarget, type Shop, type Shops, type ShopsReport, createShops } from './target.ts'

/** Hex digits of an address's hash that tell offers of one shop apart: as many as a number holds exactly. */
const VARIANT_DIGITS = 12

/** The rows that an import has left in the catalog, and the older ones that it took out of it. */
type Written = ShopsReport & Readonly<{ products: number; offers: number; removedOffers: number }>

/** A product and the row that it came from. `digest`: of the row, when nothing but the row decides what it gives. */
export type NumberedProduct = Readonly<{ row: number; product: FeedProduct; digest?: string | undefined }>

/** Writes products in the import's transaction. */
export type FeedWriter = Readonly<{
  /** Leaves out the rows whose products the catalog has as they would be written, and answers the others. */
  skipKnown(rows: readonly FeedRow[]): Promise<readonly FeedRow[]>
  /** Adds products. Rows of one GTIN are merged, see `mergeHeads`. Answers what was too much of them. */
  write(products: readonly NumberedProduct[]): Promise<readonly Reject[]>
  /** Removes what the imported shops no longer offer, and counts. */
  finish(): Promise<Written>
}>

/** Make the writer of one import. `importId` marks its rows, so that older ones are told apart without memory. */
export async function createFeedWriter(
  database: Catalog,
  target: ImportTarget,
  importId: number,
): Promise<FeedWriter> {
  if (isPostgres(database)) await planAnew(database)
  await database.deleteFrom('unchanged_products').execute()
  const shops = await createShops(database, target)
  const isEmpty =
    (await database.selectFrom('products').select('gtin').limit(1).executeTakeFirst()) === undefined
  let [products, offers] = [0, 0]
  return {
    async skipKnown(rows) {
      if (isEmpty) return rows
      const candidates = listAlone(rows)
      const sources = await fetchSources(database, importId, [...candidates.keys()])
      const skipped = new Set<FeedRow>()
      const gtins: string[] = []
      for (const found of sources) {
        const row = candidates.get(found.gtin)
        if (row === undefined || !isKnown(row, found, shops)) continue
        skipped.add(row)
        gtins.push(found.gtin)
        offers += found.offers
      }
      if (gtins.length > 0) await noteUnchanged(database, gtins)
      products += gtins.length
      return rows.filter((row) => !skipped.has(row))
    },
    async write(batch) {
      if (batch.length === 0) return []
      const gtins = [...new Set(batch.map(({ product }) => product.gtin))]
      const met = await claimMet(database, importId, gtins)
      const earlier = met.length === 0 ? [] : await fetchCandidates(database, importId, met)
      products += gtins.length - met.length
      offers -= earlier.length
      const before = groupByGtin(earlier, ({ head }) => head.gtin)
      const { kept, rejects } = limitOffers(batch, before)
      const productRows: ProductRow[] = []
      const offerRows: OfferRow[] = []
      const groups = [...groupByGtin(kept, ({ product }) => product.gtin)]
      // Products that lie side by side in the file on disk are written one after the other.
      for (const [gtin, group] of groups.toSorted(([one], [other]) => compareTexts(one, other))) {
        const merged = mergeEntries(await toEntries(group, shops), before.get(gtin) ?? [])
        const digest = group.length === 1 && !before.has(gtin) ? group[0]?.digest : undefined
        const { title, brand, images } = merged.head
        const source = digest === undefined ? null : toSource(digest, merged)
        productRows.push([gtin, title, brand, JSON.stringify(images), source])
        offerRows.push(...merged.rows)
        offers += merged.offers
      }
      await writeProducts(database, importId, productRows)
      await writeOffers(database, importId, offerRows)
      return rejects
    },
    async finish() {
      const removedOffers = await removeOlder(database, { importId, offers })
      for (const table of ['unchanged_products', 'import_shops'] as const)
        await database.deleteFrom(table).execute()
      return { products, offers, removedOffers, ...shops.report() }
    },
  }
}

/**
 * A statement that was planned while the tables were empty would read all of them from end to end for each batch, as long as
 * the import lasts. A server that does not know the setting plans otherwise.
 */
async function planAnew(database: Catalog): Promise<void> {
  await sql`select set_config('plan_cache_mode', 'force_custom_plan', true) from pg_settings
    where name = 'plan_cache_mode'`.execute(database)
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

/** `products.source`: the digest of the row, how many offers it gave, and their shops. */
function toSource(digest: string, { offers, entries }: Merged): string {
  return [digest, offers, ...new Set(entries.map(({ shop }) => shop.key))].join(' ')
}

function groupByGtin<T>(items: readonly T[], getGtin: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(getGtin(item))
    if (group === undefined) groups.set(getGtin(item), [item])
    else group.push(item)
  }
  return groups
}

/** What a product shows beside its offers. */
type ProductHead = Pick<FeedProduct, 'gtin' | 'title' | 'brand' | 'images'>

/** An offer to be written, with the product of its row. */
type Entry = Readonly<{ row: OfferRow; offer: FeedOffer; shop: Shop; head: ProductHead }>

async function toEntries(group: readonly NumberedProduct[], shops: Shops): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const { product } of group) {
    for (const offer of product.offers) {
      const found = shops.get(offer)
      // Only a shop that is met for the first time has to be waited for.
      const shop = found instanceof Promise ? await found : found
      entries.push({ row: toOfferRow(product.gtin, offer, shop), offer, shop, head: product })
    }
  }
  return entries
}

function toOfferRow(gtin: string, offer: FeedOffer, shop: Shop): OfferRow {
  const { price, oldPrice, currency, availability, url } = offer
  const variant = Number.parseInt(hash('sha1', url).slice(0, VARIANT_DIGITS), 16)
  const { networkId, merchantId, channelOfOffers } = shop
  return [gtin, networkId, merchantId, channelOfOffers, currency, variant, price, oldPrice, availability, url]
}

/** An offer with the head of its row. `key` tells offers apart: of two with one key the later one replaces the earlier. */
type Candidate = Readonly<{ key: string; offer: Rankable; head: ProductHead }>

/** One product: its head, the rows to write, and how many offers the import has brought of it by then. */
type Merged = Readonly<{
  head: ProductHead
  rows: readonly OfferRow[]
  offers: number
  entries: readonly Entry[]
}>

/** Merge the entries of one product with the offers that the import has brought of it `earlier`. */
function mergeEntries(entries: readonly Entry[], earlier: readonly Candidate[]): Merged {
  const [first] = entries
  const isOneRow = first !== undefined && entries.every(({ head }) => head === first.head)
  if (earlier.length === 0 && isOneRow && new Set(entries.map(({ row }) => row[5])).size === entries.length)
    return { head: first.head, rows: entries.map(({ row }) => row), offers: entries.length, entries }
  const candidates = new Map(earlier.map((candidate) => [candidate.key, candidate]))
  const rows = new Map<string, OfferRow>()
  for (const { row, offer, shop, head } of entries) {
    const key = nameOffer(row)
    const template = offer.link === 'page' ? shop.linkTemplate : null
    candidates.set(key, { key, offer: { ...offer, affiliateUrl: toLink(offer.url, template) }, head })
    rows.set(key, row)
  }
  return {
    head: mergeHeads([...candidates.values()]),
    rows: [...rows.values()],
    offers: candidates.size,
    entries,
  }
}

/** Return the key of an offer as one text. */
function nameOffer(row: readonly (string | number | null)[]): string {
  return row.slice(0, 6).join(' ')
}

/**
 * Pick the head of the row whose offer a box shows first. So title, pictures and link come from one row, whatever the order of
 * the rows. A brand or pictures that this row lacks are taken from another one.
 */
function mergeHeads(candidates: readonly Candidate[]): ProductHead {
  const heads = candidates
    .toSorted((one, other) => compareForBox(one.offer, other.offer))
    .map(({ head }) => head)
  const [first] = heads as [ProductHead]
  return {
    ...first,
    brand: heads.find(({ brand }) => brand !== null)?.brand ?? null,
    images: heads.find(({ images }) => images.length > 0)?.images ?? [],
  }
}

/** The link that readers get but for names, which offers that are compared by it have in common. */
function toLink(url: string, template: string | null): string {
  return template === null
    ? url
    : makeAffiliateLink({ template, merchantUrl: url, merchant: '', publisher: '' })
}

/** The offers that this import has brought of these products, with the heads that were picked so far. */
async function fetchCandidates(
  database: Catalog,
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

type Limited = Readonly<{ kept: NumberedProduct[]; rejects: Reject[] }>

/** Leave out offers beyond the most that a product may have. `before`: what the import has brought of it. */
function limitOffers(
  batch: readonly NumberedProduct[],
  before: ReadonlyMap<string, readonly Candidate[]>,
): Limited {
  const counts = new Map([...before].map(([gtin, offers]) => [gtin, offers.length]))
  const limited: Limited = { kept: [], rejects: [] }
  for (const numbered of batch) {
    const { gtin, offers } = numbered.product
    const count = counts.get(gtin) ?? 0
    const room = Math.max(0, MAX_OFFERS - count)
    counts.set(gtin, count + offers.length)
    if (offers.length <= room) {
      limited.kept.push(numbered)
      continue
    }
    const reason = `more than ${MAX_OFFERS} offers of one product; ${offers.length - room} left out`
    limited.kept.push({ row: numbered.row, product: { ...numbered.product, offers: offers.slice(0, room) } })
    limited.rejects.push({ row: numbered.row, field: 'offers', reason, raw: gtin })
  }
  return limited
}
