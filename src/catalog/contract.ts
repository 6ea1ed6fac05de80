import { array, guid, literal, number, object, string, union, unknown } from 'zod'
import { isUsableLink } from '../offers/links.ts'
import { isPrice } from '../offers/money.ts'
import { cleanText } from '../offers/text.ts'

/**
 * The Product Catalog Service Interface, version 0, as both sides see it: what travels (`Wire…`, snake case) and the
 * rules that both sides keep. The caller reads it through parse.ts, which is tolerant; the service writes it.
 */

/** Path prefix of the interface version (contract, section 9). */
export const VERSION_PATH = '/v0'

/** Most products in a page of a list (contract, section 8). */
export const MAX_PAGE_PRODUCTS = 200

/** Offers of one product that are read or kept, of both sides; the rest is left out. No page shows so many. */
export const MAX_OFFERS = 500

/** How long an answer may be cached, in seconds (contract, section 8). */
export const CACHE_SECONDS = 300

/** The kinds of channel (contract, section 2). */
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

/**
 * A channel as it travels. An unknown `kind` is read as `other`: it decides nothing here. An id is a uuid by its form,
 * of any version and variant.
 */
export const wireChannelSchema = object({
  id: guid().transform((id) => id.toLowerCase()),
  name: string(),
  kind: literal(CHANNEL_KINDS).catch('other'),
  url: string()
    .nullish()
    .transform((url) => url ?? null),
})

/** `{ items: [Channel, …] }`; the channels themselves are checked one by one. */
export const wireChannelListSchema = object({ items: array(unknown()) })

/** `{ items: [Product, …], next_cursor }`; the products themselves are checked one by one. */
export const wireProductPageSchema = object({
  items: array(unknown()),
  next_cursor: string()
    .min(1)
    .nullish()
    .transform((cursor) => cursor ?? null),
})

/** A product as it travels, with its parts still unchecked. `brand` and `images` may be absent. */
export const wireProductSchema = object({
  gtin: string().regex(/^\d{1,14}$/),
  title: string().min(1),
  brand: string().nullish().catch(null),
  images: array(unknown()).nullish().catch(null),
  offers: array(unknown()),
})

/** A decimal as it travels: text by the contract, a JSON number by mistake. */
const wireDecimalSchema = union([string(), number().transform(String)])

/** An offer as it travels. Values of `availability` and `network` are open. */
export const wireOfferSchema = object({
  merchant: object({ name: string() }),
  network: string().nullish().catch(null),
  price: wireDecimalSchema,
  old_price: wireDecimalSchema.nullish().catch(null),
  currency: string(),
  availability: string().nullish().catch(null),
  affiliate_url: string(),
})

/** An image as it travels. */
export const wireImageSchema = object({ url: string() })

/** A channel as the service sends it. */
export type WireChannel = Readonly<{ id: string; name: string; kind: ChannelKind; url: string | null }>

/** An offer as the service sends it; `old_price` is left out when the merchant gives none. */
export type WireOffer = Readonly<{
  merchant: Readonly<{ name: string }>
  network: string
  price: string
  old_price?: string
  currency: string
  availability: string
  affiliate_url: string
}>

/** A product as the service sends it; `brand` is left out when it is not known. */
export type WireProduct = Readonly<{
  gtin: string
  title: string
  brand?: string
  images: readonly Readonly<{ url: string }>[]
  offers: readonly WireOffer[]
}>

/** A channel of the key's organization. */
export type Channel = Readonly<{ id: string; name: string; kind: ChannelKind; url: string | null }>

/** An offer that may be shown: price exact and positive, link usable, merchant named. */
export type Offer = Readonly<{
  merchant: string
  network: string
  /** Decimal text, one to twelve digits, up to four decimals. */
  price: string
  /** The merchant's former price, decimal text; `null` when none is given. */
  oldPrice: string | null
  /** ISO 4217 code, upper case. */
  currency: string
  availability: string
  /** The catalog's tracking link, unchanged. */
  affiliateUrl: string
}>

/** A product with its usable offers. `brand` is `null` when the answer had none. */
export type Product = Readonly<{
  /** 14 digits. */
  gtin: string
  title: string
  brand: string | null
  /** Usable picture addresses, best first. */
  images: readonly string[]
  offers: readonly Offer[]
  /** How many of its offers were left out, by reason; absent where none was. */
  drops?: Readonly<DropCounts>
}>

/** Longest name of a merchant, network, brand or channel. */
export const MAX_NAME_CHARACTERS = 100

/** Why something of an answer was left out. */
export type DropReason = 'product' | 'merchant' | 'price' | 'currency' | 'link' | 'shape' | 'too_many'

/** How many products (`product`) and offers (all other reasons) were left out. */
export type DropCounts = Partial<Record<DropReason, number>>

/** The offer, or why it cannot be used. */
export function parseOffer(item: unknown): Offer | DropReason {
  const wire = wireOfferSchema.safeParse(item).data
  if (wire === undefined) return 'shape'
  const { merchant, network, price, old_price: oldPrice, currency, availability, affiliate_url: link } = wire
  const offer: Offer = {
    merchant: cleanText(merchant.name, MAX_NAME_CHARACTERS),
    network: cleanText(network ?? '', MAX_NAME_CHARACTERS),
    price,
    oldPrice: isPrice(oldPrice ?? '') ? (oldPrice ?? null) : null,
    currency: /^[a-z]{3}$/i.test(currency) ? currency.toUpperCase() : '',
    availability: cleanText(availability ?? '', MAX_NAME_CHARACTERS),
    affiliateUrl: link,
  }
  return findDropReason(offer) ?? offer
}

function findDropReason(offer: Offer): DropReason | undefined {
  if (offer.merchant === '') return 'merchant'
  if (!isPrice(offer.price)) return 'price'
  if (offer.currency === '') return 'currency'
  return isUsableLink(offer.affiliateUrl) ? undefined : 'link'
}
