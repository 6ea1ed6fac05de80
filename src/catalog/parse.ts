import type { z } from 'zod'
import { findGtin } from '../offers/gtin.ts'
import { isUsableImage } from '../offers/links.ts'
import { cleanText } from '../offers/text.ts'
import { CatalogInvalidError } from '../errors.ts'
import {
  type Channel,
  type DropReason,
  type Drops,
  MAX_NAME_CHARACTERS,
  MAX_OFFERS,
  type Offer,
  type Product,
  isTextOrNothing,
  parseOffer,
  wireChannelListSchema,
  wireChannelSchema,
  wireProductPageSchema,
  wireProductSchema,
} from './contract.ts'

/** Longest title and brand that are kept, in UTF-16 units: more is a feed gone wrong. */
const MAX_TITLE_CHARACTERS = 300
/** Usable pictures of one product that are kept. */
const MAX_IMAGES = 5

/** How many products and offers were left out. */
export type { Drops } from './contract.ts'

/** GTINs that are named of each reason: enough to look at, however many were left out. */
const MAX_DROPPED_GTINS = 10

/** The first products that were left out, or lost an offer, by reason. */
export type DroppedGtins = Partial<Record<DropReason, readonly string[]>>

/** What was left out of some products. */
export type LeftOut = Readonly<{ drops: Drops; droppedGtins: DroppedGtins }>

/** What a parsed answer depends on beside its text: pictures over http are usable from this server only. */
export type ParseOptions = Readonly<{ ownOrigin: string }>

/** A product with a count of what was left out of it. */
export type ParsedProduct = Readonly<{ product: Product; drops: Drops }>

/** A page of products with a count of what was left out of it. */
export type ParsedPage = LeftOut & Readonly<{ products: readonly Product[]; nextCursor: string | null }>

/**
 * Reads `{ items: [Channel] }`. Malformed channels are left out.
 * @throws CatalogInvalidError when the answer is no list.
 */
export function parseChannelList(answer: unknown): readonly Channel[] {
  const list = wireChannelListSchema.safeParse(answer)
  if (!list.success) throw new CatalogInvalidError('the list of channels has no items')
  return list.data.items.flatMap((item) => {
    const channel = wireChannelSchema.safeParse(item)
    return channel.success
      ? [{ ...channel.data, name: cleanText(channel.data.name, MAX_NAME_CHARACTERS) }]
      : []
  })
}

/**
 * Reads a page of products. A malformed offer costs the offer, a malformed product the product; both are counted.
 * @throws CatalogInvalidError when the answer is no page.
 */
export function parseProductPage(answer: unknown, options: ParseOptions): ParsedPage {
  const page = wireProductPageSchema.safeParse(answer)
  if (!page.success)
    throw new CatalogInvalidError('the page of products has no items or no usable next_cursor')
  const products: Product[] = []
  const left: LeftOut = { drops: {}, droppedGtins: {} }
  for (const item of page.data.items) {
    const product = addItem(left, item, options)
    if (product !== undefined) products.push(product)
  }
  return { products, nextCursor: page.data.next_cursor, ...left }
}

/** Reads one product of a page, and adds to `left` what was left out of it. `undefined`: it is malformed. */
function addItem(left: LeftOut, item: unknown, options: ParseOptions): Product | undefined {
  const parsed = findProduct(item, options)
  const drops: Drops = parsed === undefined ? { product: 1 } : parsed.drops
  const reasons = Object.keys(drops) as DropReason[]
  if (reasons.length === 0) return parsed?.product
  addDrops(left.drops, drops)
  const gtin = parsed?.product.gtin ?? findItemGtin(item)
  for (const reason of reasons)
    addDroppedGtins(left.droppedGtins, { [reason]: gtin === undefined ? [] : [gtin] })
  return parsed?.product
}

/** The GTIN of a malformed product, where it has a usable one. */
function findItemGtin(item: unknown): string | undefined {
  const gtin = (item as Readonly<{ gtin?: unknown }> | null | undefined)?.gtin
  return typeof gtin === 'string' ? findGtin(gtin) : undefined
}

/** Adds the GTINs of `more` to `to`, each once, up to the bound of each reason. */
export function addDroppedGtins(to: DroppedGtins, more: DroppedGtins): void {
  for (const [reason, gtins] of Object.entries(more) as [DropReason, readonly string[]][]) {
    const known = to[reason] ?? []
    if (gtins.length > 0 && known.length < MAX_DROPPED_GTINS)
      to[reason] = [...new Set([...known, ...gtins])].slice(0, MAX_DROPPED_GTINS)
  }
}

/**
 * Reads the answer to a look-up of `gtin`.
 * @throws CatalogInvalidError when it is no product, or another one.
 */
export function parseProduct(answer: unknown, gtin: string, options: ParseOptions): ParsedProduct {
  const parsed = findProduct(answer, options)
  if (parsed === undefined) throw new CatalogInvalidError('the answer is no product')
  if (parsed.product.gtin !== gtin)
    throw new CatalogInvalidError('the answer is another product than the one asked for')
  return parsed
}

/** Adds the counts of `more` to `drops`. */
export function addDrops(drops: Drops, more: Drops): void {
  for (const [reason, count] of Object.entries(more) as [DropReason, number][]) addDrop(drops, reason, count)
}

/** Are there more malformed offers or products than usable ones? */
export function isMostlyMalformed(
  drops: Drops,
  { offerCount, productCount }: Readonly<{ offerCount: number; productCount: number }>,
): boolean {
  return countMalformedOffers(drops) > offerCount || (drops.product ?? 0) > productCount
}

/** Offers that could not be used. Products, and offers beyond the limit of one product, are not among them. */
export function countMalformedOffers(drops: Drops): number {
  return MALFORMED_REASONS.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0)
}

const MALFORMED_REASONS: readonly DropReason[] = ['merchant', 'price', 'currency', 'link', 'shape']

function addDrop(drops: Drops, reason: DropReason, count = 1): void {
  drops[reason] = (drops[reason] ?? 0) + count
}

function findProduct(item: unknown, options: ParseOptions): ParsedProduct | undefined {
  const wire = isPlainProduct(item) ? item : wireProductSchema.safeParse(item).data
  const gtin = wire === undefined ? undefined : findGtin(wire.gtin)
  if (wire === undefined || gtin === undefined) return undefined
  const title = cleanText(wire.title, MAX_TITLE_CHARACTERS)
  if (title === '') return undefined
  const brand = cleanText(wire.brand ?? '', MAX_NAME_CHARACTERS)
  const drops: Drops = {}
  const offers = collectOffers(wire.offers, drops)
  const images = collectImages(wire.images ?? [], options.ownOrigin)
  const product = { gtin, title, brand: brand === '' ? null : brand, images, offers }
  return { product: Object.keys(drops).length === 0 ? product : { ...product, drops }, drops }
}

/** Is every field as the contract has it? The schema, slower by far, judges the others. */
function isPlainProduct(item: unknown): item is z.output<typeof wireProductSchema> {
  if (typeof item !== 'object' || item === null) return false
  const product = item as Readonly<Record<string, unknown>>
  const { gtin, title, brand, images } = product
  return (
    typeof gtin === 'string' &&
    findGtin(gtin) !== undefined &&
    typeof title === 'string' &&
    isTextOrNothing(brand) &&
    (images === null || images === undefined || Array.isArray(images)) &&
    Array.isArray(product['offers'])
  )
}

function collectOffers(items: readonly unknown[], drops: Drops): Offer[] {
  if (items.length > MAX_OFFERS) addDrop(drops, 'too_many', items.length - MAX_OFFERS)
  const offers: Offer[] = []
  for (const item of items.slice(0, MAX_OFFERS)) {
    const offer = parseOffer(item)
    if (typeof offer === 'string') addDrop(drops, offer)
    else offers.push(offer)
  }
  return offers
}

function collectImages(items: readonly unknown[], ownOrigin: string): string[] {
  const images: string[] = []
  for (const item of items) {
    if (images.length === MAX_IMAGES) break
    const address = (item as Readonly<{ url?: unknown }> | null | undefined)?.url
    if (typeof address === 'string' && isUsableImage(address, ownOrigin)) images.push(address)
  }
  return images
}
