import { array, guid, literal, number, object, string, union, unknown } from 'zod'
import { toUsableLink } from '../offers/links.ts'
import { isPrice } from '../offers/money.ts'
import type { OfferTimes } from '../offers/price-age.ts'
import { cleanText } from '../offers/text.ts'
import { parseTimestamp } from '../offers/timestamps.ts'

/**
 * The Product Catalog Service Interface, version 0: wire formats (`Wire…`, snake case) and rules that the client and the catalog
 * service share. The client parses responses tolerantly in parse.ts.
 */

/** Path prefix (contract, section 9). */
export const VERSION_PATH = '/v0'

/** Products per page (contract, section 8). */
export const MAX_PAGE_PRODUCTS = 200

/** Pictures per product beyond this limit are left out, on both sides. */
export const MAX_IMAGES = 5

/** How long a response may be cached (contract, section 8). */
export const CACHE_SECONDS = 300

/** Contract, section 2. */
export const CHANNEL_KINDS = [
  'website',
  'instagram',
  'tiktok',
  'youtube',
  'facebook',
  'pinterest',
  'newsletter',
  'app',
  'other',
] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

/** An unknown `kind` is read as `other`. An id is a UUID of any version or variant. */
export const wireChannelSchema = object({
  id: guid().transform((id) => id.toLowerCase()),
  name: string()
    .nullish()
    .transform((name) => name ?? ''),
  kind: literal(CHANNEL_KINDS).catch('other'),
  url: string()
    .nullish()
    .transform((url) => url ?? null),
})

/** `{ items: [Channel, …] }`; each channel is checked separately. */
export const wireChannelListSchema = object({ items: array(unknown()) })

/** `{ items: [Product, …], next_cursor }`; each product is checked separately. An empty cursor is the end, like `null`. */
export const wireProductPageSchema = object({
  items: array(unknown()),
  next_cursor: string()
    .nullish()
    .transform((cursor) => cursor || null),
})

/** A product whose images and offers are not checked yet. */
export const wireProductSchema = object({
  gtin: string().regex(/^\d{1,14}$/),
  title: string().min(1),
  brand: string().nullish().catch(null),
  images: array(unknown()).nullish().catch(null),
  offers: array(unknown()),
})

/** The contract requires a string; some catalogs send a number. */
const wireDecimalSchema = union([string(), number().transform(String)])

/** `availability` and `network` may be any text. */
export const wireOfferSchema = object({
  merchant: object({ name: string() }),
  network: string().nullish().catch(null),
  price: wireDecimalSchema,
  old_price: wireDecimalSchema.nullish().catch(null),
  currency: string(),
  availability: string().nullish().catch(null),
  affiliate_url: string(),
  checked_at: string().nullish().catch(null),
  sale_ends_at: string().nullish().catch(null),
})

export const wireImageSchema = object({ url: string() })

export type WireChannel = Readonly<{ id: string; name: string; kind: ChannelKind; url: string | null }>

/**
 * `old_price` is absent when the merchant gives none. `checked_at` and `sale_ends_at` (RFC 3339) extend the contract: when the
 * price was read, and until when it is valid.
 */
export type WireOffer = Readonly<{
  merchant: Readonly<{ name: string }>
  network: string
  price: string
  old_price?: string
  currency: string
  availability: string
  affiliate_url: string
  checked_at?: string
  sale_ends_at?: string
}>

/** `brand` is absent when unknown. */
export type WireProduct = Readonly<{
  gtin: string
  title: string
  brand?: string
  images: readonly Readonly<{ url: string }>[]
  offers: readonly WireOffer[]
}>

export type Channel = Readonly<{ id: string; name: string; kind: ChannelKind; url: string | null }>

/** A usable offer: price exact and positive, link usable, merchant not empty. */
export type Offer = Readonly<{
  merchant: string
  network: string
  /** Decimal text, one to twelve digits, up to four decimals. */
  price: string
  /** The merchant's former price, decimal text. */
  oldPrice: string | null
  /** ISO 4217 code, upper case. */
  currency: string
  availability: string
  /** The catalog's tracking link, byte for byte, except characters that a URL must percent-encode. */
  affiliateUrl: string
}> &
  OfferTimes

export type Product = Readonly<{
  /** 14 digits. */
  gtin: string
  title: string
  brand: string | null
  /** Usable picture URLs, best first. */
  images: readonly string[]
  offers: readonly Offer[]
  /** Dropped offers by reason; absent when there are none. */
  drops?: Readonly<DropCounts>
  /** The catalog's entry is malformed, so the product has no title and no offers; absent: it is not. */
  problem?: ProductProblem
}>

/** What a malformed entry lacks: a title, or a list of offers. */
export const PRODUCT_PROBLEMS = ['title', 'offers'] as const
export type ProductProblem = (typeof PRODUCT_PROBLEMS)[number]

/** Describe a malformed entry, as a clause. */
export function describeProductProblem(problem: ProductProblem): string {
  const lack = problem === 'title' ? 'no title' : 'no list of offers'
  return `the catalog's entry of this product is malformed: ${lack}`
}

/** Limit for the name of a merchant, network, brand or channel. */
export const MAX_NAME_CHARACTERS = 100

/** Why an offer is unusable. */
export type OfferProblem = 'merchant' | 'price' | 'currency' | 'link' | 'shape'

/** Why a product (`product`, `product_too_large`) or an offer (all others) was dropped. */
export type DropReason = OfferProblem | 'product' | 'product_too_large' | 'too_many' | 'too_large'

export type DropCounts = Partial<Record<DropReason, number>>

/** Return the offer, or the reason why it is unusable. */
export function parseOffer(item: unknown): Offer | OfferProblem {
  const wire = wireOfferSchema.safeParse(item).data
  if (wire === undefined) return 'shape'
  const { merchant, network, price, old_price: oldPrice, currency, availability, affiliate_url: link } = wire
  const { checked_at: checkedAt, sale_ends_at: saleEndsAt } = wire
  const offer: Offer = {
    merchant: cleanText(merchant.name, MAX_NAME_CHARACTERS),
    network: cleanText(network ?? '', MAX_NAME_CHARACTERS),
    price,
    oldPrice: isPrice(oldPrice ?? '') ? (oldPrice ?? null) : null,
    currency: /^[a-z]{3}$/i.test(currency) ? currency.toUpperCase() : '',
    availability: cleanText(availability ?? '', MAX_NAME_CHARACTERS),
    affiliateUrl: toUsableLink(link) ?? '',
    saleEndsAtMs: parseTimestamp(saleEndsAt),
    checkedAtMs: parseTimestamp(checkedAt),
  }
  return findProblem(offer) ?? offer
}

function findProblem(offer: Offer): OfferProblem | undefined {
  if (offer.merchant === '') return 'merchant'
  if (!isPrice(offer.price)) return 'price'
  if (offer.currency === '') return 'currency'
  return offer.affiliateUrl === '' ? 'link' : undefined
}
