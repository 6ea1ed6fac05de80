import { hash } from 'node:crypto'
import type { Insertable } from 'kysely'
import { z } from 'zod'
import type { Offer, Product } from '../catalog/contract.ts'
import type { Drops } from '../catalog/parse.ts'
import { isUsableLink } from '../offers/links.ts'
import { isPrice } from '../offers/money.ts'
import { compareTexts } from '../offers/ranking.ts'
import { collectDeals, toOfferKey } from '../offers/deals.ts'
import { isOnSale } from '../offers/sale.ts'
import { foldCase, foldText } from '../offers/text.ts'
import type { DealsTable, ProductsTable } from './schema.ts'
import type { DealEntry } from './store.ts'

/** The part of a product's row that depends on the product alone. */
export type ProductContent = Pick<
  Insertable<ProductsTable>,
  'gtin' | 'digest' | 'title' | 'search_text' | 'images' | 'offers'
> &
  Readonly<{ brand: string | null; drops: string | null }>

/** The part of a deal's row that depends on the product alone. */
export type DealContent = Omit<
  Insertable<DealsTable>,
  'id' | 'product_id' | 'copy_id' | 'from_walk' | 'until_walk' | 'first_seen_ms'
>

/** What is stored of a product, with its offers in an order that does not depend on the answer's. */
export type StoredShape = Readonly<{ content: ProductContent; deals: readonly DealContent[] }>

/** What a product shows, its digest, and its offers in their stored order. Its columns for searches and its deals follow from it. */
export type ShownProduct = Readonly<{
  gtin: string
  digest: string
  content: ComparedContent
  offers: readonly Offer[]
}>

const offerSchema = z.object({
  merchant: z.string().min(1),
  network: z.string(),
  price: z.string().refine(isPrice),
  oldPrice: z.string().refine(isPrice).nullable(),
  currency: z.string().regex(/^[A-Z]{3}$/),
  availability: z.string(),
  affiliateUrl: z.string().refine(isUsableLink),
})
const offersSchema = z.array(offerSchema)
const imagesSchema = z.array(z.string())

/** Shapes a product for its rows. `knownBrand` stands in where the answer brought none. */
export function toStoredShape(product: Product, knownBrand: string | null = null): StoredShape {
  return completeShape(toShownProduct(product, knownBrand))
}

/** The part that tells by its digest whether anything changed; `completeShape` adds the rest, which most products of a walk never need. */
export function toShownProduct(product: Product, knownBrand: string | null = null): ShownProduct {
  const offers = [...product.offers].sort(compareOffers)
  const content = {
    title: product.title,
    brand: product.brand ?? knownBrand,
    images: JSON.stringify(product.images),
    offers: JSON.stringify(offers),
    drops: toDropsText(product.drops),
  }
  return { gtin: product.gtin, digest: toDigest(content), content, offers }
}

/** Adds the columns of searches, and the deals. */
export function completeShape({ gtin, digest, content, offers }: ShownProduct): StoredShape {
  const { title, brand, images, offers: offersText, drops } = content
  const searchText = foldText(`${title} ${brand ?? ''}`)
  const row = { gtin, digest, title, brand, search_text: searchText, images, offers: offersText, drops }
  return { content: row, deals: toDealContents(offers, row) }
}

/** In an order that does not depend on that of the offers; `null`: nothing was left out. */
function toDropsText(drops: Product['drops']): string | null {
  if (drops === undefined) return null
  return JSON.stringify(Object.fromEntries(Object.entries(drops).sort(([a], [b]) => compareTexts(a, b))))
}

/** Digest of what is stored: a change of the code that parses or shapes products changes it by itself. */
function toDigest({ title, brand, images, offers, drops }: ComparedContent): string {
  // Clean texts and JSON have no line breaks of their own: no two products make the same text.
  const left = drops === null ? '' : `\n${drops}`
  return hash('sha256', `${title}\n${brand ?? ''}\n${images}\n${offers}${left}`, 'base64url')
}

/** What a product shows, and what was left out of it. */
export type ComparedContent = Pick<ProductContent, 'title' | 'brand' | 'images' | 'offers' | 'drops'>

/** Do two products show the same? */
export function isSameContent(a: ComparedContent, b: ComparedContent): boolean {
  const isShownSame = a.title === b.title && a.brand === b.brand && a.images === b.images
  return isShownSame && a.offers === b.offers && a.drops === b.drops
}

function toDealContents(offers: readonly Offer[], product: ProductContent): DealContent[] {
  return collectDeals(offers).map((deal) => ({
    gtin: product.gtin,
    offer_index: offers.indexOf(deal.offer),
    offer: JSON.stringify(deal.offer),
    offer_key: toOfferKey(deal.offer),
    currency: deal.offer.currency,
    merchant_key: foldCase(deal.offer.merchant),
    brand_key: foldCase(product.brand ?? ''),
    search_text: product.search_text,
    is_in_stock: Number(deal.isInStock),
    is_best: Number(deal.isBest),
    is_best_in_stock: Number(deal.isBestInStock),
    discount_percent: deal.discountPercent,
    ratio_key: deal.ratioKey,
    price_key: deal.priceKey,
    saving_key: deal.savingKey,
  }))
}

type StoredProduct = Pick<ProductContent, 'gtin' | 'title' | 'brand' | 'images' | 'offers' | 'drops'>

/** A product from its row. What the file holds is checked like an answer; `undefined` when it was tampered with. */
export function findProductInRow(row: StoredProduct): Product | undefined {
  const offers = offersSchema.safeParse(parseJson(row.offers))
  const images = imagesSchema.safeParse(parseJson(row.images))
  if (!offers.success || !images.success) return undefined
  const { gtin, title, brand, drops } = row
  const product = { gtin, title, brand, images: images.data, offers: offers.data }
  return drops === null ? product : { ...product, drops: parseDrops(drops) }
}

/** A card from its rows, checked in the same way. */
export function findDealInRow(
  row: Readonly<{ gtin: string; title: string; brand: string | null; images: string; offer: string }>,
): Omit<DealEntry, 'asOfMs'> | undefined {
  const offer = findOfferInRow(row.offer)
  const images = imagesSchema.safeParse(parseJson(row.images))
  if (offer === undefined || !images.success) return undefined
  const { gtin, title, brand } = row
  return { gtin, title, brand, imageUrl: images.data[0] ?? null, offer }
}

/** The offer of a deal's row, checked in the same way. */
export function findOfferInRow(json: string): Offer | undefined {
  return offerSchema.safeParse(parseJson(json)).data
}

/** Counts of what was left out, from their JSON; nothing when it is damaged. */
export function parseDrops(json: string): Drops {
  if (json === '{}') return {}
  const drops = z.record(z.string(), z.number()).safeParse(parseJson(json))
  return drops.success ? drops.data : {}
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function compareOffers(a: Offer, b: Offer): number {
  return (
    compareTexts(a.currency, b.currency) ||
    compareTexts(a.merchant, b.merchant) ||
    // As pickOnePerMerchant prefers them: a copy stored before that rule differs here, and its deals are written anew.
    Number(isOnSale(b)) - Number(isOnSale(a)) ||
    compareTexts(a.network, b.network) ||
    compareTexts(a.price, b.price) ||
    compareTexts(a.affiliateUrl, b.affiliateUrl) ||
    compareTexts(a.availability, b.availability) ||
    compareTexts(a.oldPrice ?? '', b.oldPrice ?? '')
  )
}
