import { normalizeGtin } from '../offers/gtin.ts'
import { toUsableImage } from '../offers/links.ts'
import { cleanText } from '../offers/text.ts'
import { CatalogInvalidError } from '../errors.ts'
import {
  type Channel,
  type DropReason,
  type DropCounts,
  MAX_IMAGES,
  MAX_NAME_CHARACTERS,
  type Offer,
  type Product,
  type ProductProblem,
  describeProductProblem,
  parseOffer,
  wireChannelListSchema,
  wireChannelSchema,
  wireProductPageSchema,
  wireProductSchema,
} from './contract.ts'
import { limitOffers } from '../offers/offer-limits.ts'

/** Longer titles, in UTF-16 units, come from broken feeds and are cut. */
const MAX_TITLE_CHARACTERS = 300

export type { DropCounts } from './contract.ts'

/** Sample size of reported GTINs per drop reason. */
const MAX_DROPPED_GTINS = 10

/** The first products that were dropped or lost an offer, by reason. */
export type DroppedGtins = Partial<Record<DropReason, readonly string[]>>

/** `ownOrigin`: the only origin whose pictures may use http. */
type ParseOptions = Readonly<{ ownOrigin: string }>

export type ParsedPage = Readonly<{
  products: readonly Product[]
  nextCursor: string | null
  drops: DropCounts
  droppedGtins: DroppedGtins
  /** Dropped products with a usable GTIN. */
  malformed: MalformedEntries
}>

/** What is wrong with the entries of products, by GTIN. */
export type MalformedEntries = ReadonlyMap<string, ProductProblem>

/** Parse a list of channels; drop malformed and repeated ones. A channel without a name has its id as name. @throws CatalogInvalidError when it is not a list */
export function parseChannelList(body: unknown): readonly Channel[] {
  const list = wireChannelListSchema.safeParse(body)
  if (!list.success) throw new CatalogInvalidError('the list of channels has no items')
  const channels = new Map<string, Channel>()
  for (const item of list.data.items) {
    const channel = wireChannelSchema.safeParse(item).data
    if (channel === undefined || channels.has(channel.id)) continue
    const name = cleanText(channel.name, MAX_NAME_CHARACTERS)
    channels.set(channel.id, { ...channel, name: name === '' ? channel.id : name })
  }
  return [...channels.values()]
}

/** Parse a page of products; drop and count malformed products and offers. @throws CatalogInvalidError when it is not a page */
export function parseProductPage(body: unknown, options: ParseOptions): ParsedPage {
  const page = wireProductPageSchema.safeParse(body)
  if (!page.success)
    throw new CatalogInvalidError('the page of products has no items or no usable next_cursor')
  const products: Product[] = []
  const drops: DropCounts = {}
  const droppedGtins: DroppedGtins = {}
  const malformed = new Map<string, ProductProblem>()
  const addDrops = (counts: DropCounts, gtin: string | undefined): void => {
    addDropCounts(drops, counts)
    if (gtin === undefined) return
    for (const reason of Object.keys(counts)) addDroppedGtins(droppedGtins, { [reason]: [gtin] })
  }
  for (const item of page.data.items) {
    const product = findUsableProduct(item, options)
    if (product === undefined) {
      const entry = findMalformedEntry(item)
      addDrops({ product: 1 }, entry?.gtin)
      if (entry !== undefined) malformed.set(entry.gtin, entry.problem)
    } else {
      products.push(product)
      if (product.drops !== undefined) addDrops(product.drops, product.gtin)
    }
  }
  return { products, nextCursor: page.data.next_cursor, drops, droppedGtins, malformed }
}

/** Say what an unusable product lacks; `undefined` when its GTIN is not usable either. */
function findMalformedEntry(item: unknown): Readonly<{ gtin: string; problem: ProductProblem }> | undefined {
  const entry = item as Readonly<{ gtin?: unknown; title?: unknown }> | null | undefined
  const gtin = typeof entry?.gtin === 'string' ? normalizeGtin(entry.gtin) : undefined
  if (gtin === undefined) return undefined
  const hasTitle = typeof entry?.title === 'string' && cleanText(entry.title, MAX_TITLE_CHARACTERS) !== ''
  return { gtin, problem: hasTitle ? 'offers' : 'title' }
}

/** Add GTINs to `target`, without duplicates, up to `MAX_DROPPED_GTINS` per reason. */
export function addDroppedGtins(target: DroppedGtins, added: DroppedGtins): void {
  for (const [reason, gtins] of Object.entries(added) as [DropReason, readonly string[]][]) {
    const existing = target[reason] ?? []
    if (gtins.length > 0 && existing.length < MAX_DROPPED_GTINS)
      target[reason] = [...new Set([...existing, ...gtins])].slice(0, MAX_DROPPED_GTINS)
  }
}

/** Parse the response to a look-up of `gtin`. @throws CatalogInvalidError when it is not that product */
export function parseProduct(body: unknown, gtin: string, options: ParseOptions): Product {
  const product = findUsableProduct(body, options)
  if (product === undefined) {
    const entry = findMalformedEntry(body)
    throw new CatalogInvalidError(
      entry?.gtin === gtin ? describeProductProblem(entry.problem) : 'the response is not a product',
    )
  }
  if (product.gtin !== gtin)
    throw new CatalogInvalidError('the response is a different product than the requested one')
  return product
}

export function addDropCounts(target: DropCounts, added: DropCounts): void {
  for (const [reason, count] of Object.entries(added) as [DropReason, number][])
    target[reason] = (target[reason] ?? 0) + count
}

/** `true` when more offers or products are malformed than usable. */
export function isMostlyMalformed(
  drops: DropCounts,
  { offerCount, productCount }: Readonly<{ offerCount: number; productCount: number }>,
): boolean {
  return countMalformedOffers(drops) > offerCount || (drops.product ?? 0) > productCount
}

/** Count unusable offers, without dropped products and offers beyond the limits of a product. */
export function countMalformedOffers(drops: DropCounts): number {
  return MALFORMED_REASONS.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0)
}

const MALFORMED_REASONS: readonly DropReason[] = ['merchant', 'price', 'currency', 'link', 'shape']

function findUsableProduct(item: unknown, options: ParseOptions): Product | undefined {
  const wire = wireProductSchema.safeParse(item).data
  const gtin = wire === undefined ? undefined : normalizeGtin(wire.gtin)
  if (wire === undefined || gtin === undefined) return undefined
  const title = cleanText(wire.title, MAX_TITLE_CHARACTERS)
  if (title === '') return undefined
  const brand = cleanText(wire.brand ?? '', MAX_NAME_CHARACTERS)
  const drops: DropCounts = {}
  const offers = collectOffers(wire.offers, drops)
  const images = collectImages(wire.images ?? [], options.ownOrigin)
  const product = { gtin, title, brand: brand === '' ? null : brand, images, offers }
  return Object.keys(drops).length === 0 ? product : { ...product, drops }
}

function collectOffers(items: readonly unknown[], drops: DropCounts): readonly Offer[] {
  const usable: Offer[] = []
  for (const item of items) {
    const offer = parseOffer(item)
    if (typeof offer === 'string') addDropCounts(drops, { [offer]: 1 })
    else usable.push(offer)
  }
  const { offers, tooMany, tooLarge } = limitOffers(usable)
  if (tooMany > 0) drops.too_many = tooMany
  if (tooLarge > 0) drops.too_large = tooLarge
  return offers
}

function collectImages(items: readonly unknown[], ownOrigin: string): string[] {
  const images: string[] = []
  for (const item of items) {
    if (images.length === MAX_IMAGES) break
    const address = (item as Readonly<{ url?: unknown }> | null | undefined)?.url
    const image = typeof address === 'string' ? toUsableImage(address, ownOrigin) : undefined
    if (image !== undefined) images.push(image)
  }
  return images
}
