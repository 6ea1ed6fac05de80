import { hash } from 'node:crypto'
import { array, int, literal, number, object, record, string, union } from 'zod'
import { type Offer, PRODUCT_PROBLEMS, type Product, type ProductProblem } from '../catalog/contract.ts'
import type { DropCounts } from '../catalog/parse.ts'
import { isUsableLink } from '../offers/links.ts'
import { isPrice } from '../offers/money.ts'
import { compareTimes } from '../offers/price-age.ts'
import { compareTexts } from '../offers/ranking.ts'
import { collectDeals, toOfferKey } from '../offers/deals.ts'
import { isOnSale } from '../offers/sale.ts'
import { foldCase, foldCaseAndAccents } from '../offers/text.ts'
import type { DealsTable, ProductsTable } from './schema.ts'
import type { DealEntry } from './store.ts'

/** The columns of a product's row that readers see, and the digest of all but `checked_at`. */
export type ProductContent = Pick<
  ProductsTable,
  'gtin' | 'digest' | 'title' | 'brand' | 'images' | 'offers' | 'checked_at' | 'drops'
>

/**
 * A product with its offers in an order that does not depend on the catalog response. `imageUrl`: its first picture, the one that
 * widgets show.
 */
export type CanonicalProduct = Readonly<{
  content: ProductContent
  imageUrl: string | null
  offers: readonly Offer[]
}>

export type StoredProduct = CanonicalProduct &
  Readonly<{ searchText: string; deals: ReturnType<typeof collectDeals<Offer>>; asOfMs: number }>

/** When each offer was first seen on sale, Unix milliseconds, by `toFirstSeenKey`. */
export type FirstSeen = ReadonlyMap<string, number>

export type VersionContext = Readonly<{ copyId: number; fromWalk: number; firstSeen: FirstSeen }>

/** The drop key of a deal whose price has not fallen. It sorts after every fall. */
export const NO_FALL_KEY = '9'

const offerSchema = object({
  merchant: string().min(1),
  network: string(),
  price: string().refine(isPrice),
  oldPrice: string().refine(isPrice).nullable(),
  currency: string().regex(/^[A-Z]{3}$/),
  availability: string(),
  affiliateUrl: string().refine(isUsableLink),
  saleEndsAtMs: int().nullable().default(null),
})
const offersSchema = array(offerSchema)
const imagesSchema = array(string())
/** One time for all offers, or one for each. */
const checkedAtSchema = union([int(), array(int().nullable())])

/** Build the content and its digest, which tells whether anything changed; most products of a walk need no more. */
export function toCanonicalProduct(product: Product, knownBrand: string | null = null): CanonicalProduct {
  const sortedOffers = [...product.offers].sort((a, b) => compareOffers(a, b) || compareTimes(a, b))
  const { gtin, title } = product
  const brand = product.brand ?? knownBrand
  const images = JSON.stringify(product.images)
  const offers = JSON.stringify(sortedOffers.map(toOfferContent))
  const drops = toDropsJson(product.drops)
  // Clean texts and JSON contain no line breaks, so different products never have the same text.
  const visibleText = `${title}\n${brand ?? ''}\n${images}\n${offers}${drops === null ? '' : `\n${drops}`}`
  const digest = hash('sha256', visibleText, 'base64url')
  const checkedAt = toCheckedAtJson(sortedOffers)
  return {
    content: { gtin, digest, title, brand, images, offers, checked_at: checkedAt, drops },
    imageUrl: product.images[0] ?? null,
    offers: sortedOffers,
  }
}

/** Return the stored properties of an offer. JSON omits `undefined`: most offers have no sale end. */
function toOfferContent(offer: Offer) {
  const { merchant, network, price, oldPrice, currency, availability, affiliateUrl, saleEndsAtMs } = offer
  return {
    merchant,
    network,
    price,
    oldPrice,
    currency,
    availability,
    affiliateUrl,
    saleEndsAtMs: saleEndsAtMs ?? undefined,
  }
}

/** Add the search text, the deals and the time of the catalog response. */
export function toStoredProduct(
  { content, imageUrl, offers }: CanonicalProduct,
  asOfMs: number,
): StoredProduct {
  const searchText = foldCaseAndAccents(`${content.title} ${content.brand ?? ''}`)
  return { content, imageUrl, offers, searchText, deals: collectDeals(offers), asOfMs }
}

/** The times are apart from the offers: a feed that is fetched again without changes changes only them. */
function toCheckedAtJson(offers: readonly Offer[]): string | null {
  const first = offers[0]?.checkedAtMs ?? null
  if (offers.every(({ checkedAtMs }) => checkedAtMs === first)) return first === null ? null : String(first)
  return JSON.stringify(offers.map(({ checkedAtMs }) => checkedAtMs))
}

/** Parse to a function from the position of an offer to its time; `undefined` when the stored data is invalid. */
export function parseCheckedAt(json: string | null): ((offerIndex: number) => number | null) | undefined {
  if (json === null) return () => null
  const { data } = checkedAtSchema.safeParse(parseJson(json))
  if (data === undefined) return undefined
  return typeof data === 'number' ? () => data : (offerIndex) => data[offerIndex] ?? null
}

/** Sorted, so that the JSON does not depend on the order of offers. `null` when no offer was dropped. */
function toDropsJson(drops: Product['drops']): string | null {
  if (drops === undefined) return null
  return JSON.stringify(Object.fromEntries(Object.entries(drops).sort(([a], [b]) => compareTexts(a, b))))
}

/** Include the GTIN: network, merchant and currency alone do not identify an offer. */
export function toFirstSeenKey(gtin: string, offerKey: string): string {
  return `${gtin} ${offerKey}`
}

/** Return the rows of a version's deals. Columns are listed one by one because a spread costs as much as the insert. */
export function toDealRows(
  { content, offers, searchText, deals, asOfMs }: StoredProduct,
  productId: number,
  { copyId, fromWalk, firstSeen }: VersionContext,
): readonly Omit<DealsTable, 'id'>[] {
  const { gtin, brand } = content
  return deals.map((deal) => {
    const { offer } = deal
    const offerKey = toOfferKey(offer)
    return {
      product_id: productId,
      copy_id: copyId,
      gtin,
      is_observed: 0,
      from_walk: fromWalk,
      until_walk: null,
      offer_index: offers.indexOf(offer),
      offer: JSON.stringify(toOfferContent(offer)),
      offer_key: offerKey,
      currency: offer.currency,
      merchant_key: foldCase(offer.merchant),
      brand_key: foldCase(brand ?? ''),
      network_key: foldCase(offer.network),
      search_text: searchText,
      is_in_stock: Number(deal.isInStock),
      is_best: Number(deal.isBest),
      is_best_in_stock: Number(deal.isBestInStock),
      discount_percent: deal.discountPercent,
      ratio_key: deal.ratioKey,
      price_key: deal.priceKey,
      saving_key: deal.savingKey,
      first_seen_ms: Math.min(firstSeen.get(toFirstSeenKey(gtin, offerKey)) ?? Infinity, asOfMs),
      sale_ends_ms: offer.saleEndsAtMs,
      drop_key: NO_FALL_KEY,
    }
  })
}

/** Parse the column `images`; `undefined` when the stored data is invalid. */
export function parseImages(json: string): readonly string[] | undefined {
  return imagesSchema.safeParse(parseJson(json)).data
}

/** Parse a product's row, checked like a catalog response; `undefined` when the stored data is invalid. */
export function parseProductRow(row: Omit<ProductContent, 'digest'>): Product | undefined {
  const offers = offersSchema.safeParse(parseJson(row.offers))
  const images = imagesSchema.safeParse(parseJson(row.images))
  if (!offers.success || !images.success) return undefined
  const checkedAtMs = parseCheckedAt(row.checked_at)
  if (checkedAtMs === undefined) return undefined
  const { gtin, title, brand, drops } = row
  const datedOffers = offers.data.map((offer, index) => ({ ...offer, checkedAtMs: checkedAtMs(index) }))
  const product = { gtin, title, brand, images: images.data, offers: datedOffers }
  return drops === null ? product : { ...product, drops: parseDrops(drops) }
}

type DealRow = Pick<ProductsTable, 'gtin' | 'title' | 'brand' | 'images' | 'checked_at'> &
  Pick<DealsTable, 'offer' | 'offer_index'>

export function parseDealRow(
  row: Readonly<DealRow>,
): Omit<DealEntry, 'asOfMs' | 'hasFall' | 'firstSeenMs'> | undefined {
  const offer = parseOfferJson(row.offer)
  const images = imagesSchema.safeParse(parseJson(row.images))
  const checkedAtMs = parseCheckedAt(row.checked_at)
  if (offer === undefined || !images.success || checkedAtMs === undefined) return undefined
  const { gtin, title, brand } = row
  const datedOffer = { ...offer, checkedAtMs: checkedAtMs(row.offer_index) }
  return { gtin, title, brand, imageUrl: images.data[0] ?? null, offer: datedOffer }
}

/** Parse an offer without the time of its price, which the product's row has. */
export function parseOfferJson(json: string): Omit<Offer, 'checkedAtMs'> | undefined {
  return offerSchema.safeParse(parseJson(json)).data
}

/** Parse the JSON of drop counts; return `{}` when it is damaged. */
export function parseDrops(json: string): DropCounts {
  if (json === '{}') return {}
  const drops = record(string(), number()).safeParse(parseJson(json))
  return drops.success ? drops.data : {}
}

const malformedSchema = record(string(), literal(PRODUCT_PROBLEMS))

/** Parse what malformed entries lack, by GTIN; return `{}` when it is damaged. */
export function parseMalformed(json: string): Readonly<Record<string, ProductProblem | undefined>> {
  return malformedSchema.safeParse(parseJson(json)).data ?? {}
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
    // The preference of pickOnePerMerchant.
    Number(isOnSale(b)) - Number(isOnSale(a)) ||
    compareTexts(a.network, b.network) ||
    compareTexts(a.price, b.price) ||
    compareTexts(a.affiliateUrl, b.affiliateUrl) ||
    compareTexts(a.availability, b.availability) ||
    compareTexts(a.oldPrice ?? '', b.oldPrice ?? '')
  )
}
