import { type Availability, toAvailability, toYesOrNo } from './availability.ts'
import { type FeedPrice, describeNoPrice, isNoPrice, parseFeedPrice } from './feed-price.ts'
import type { FeedOffer, FeedProduct } from './feed-product.ts'
import {
  collectImages,
  findBrand,
  findGtinOf,
  findLink,
  findMerchant,
  findReference,
  findTitle,
  isFormerPrice,
  isNew,
} from './row-parts.ts'
import type { RowMapper, RowTask, SourceRow } from './source-row.ts'

const DEFAULT_NETWORK = 'awin'

const GTINS = ['product_gtin', 'gtin', 'ean', 'upc', 'isbn'] as const
const PRICES = ['search_price', 'price', 'store_price'] as const
const TRACKED_LINK = 'aw_deep_link'
const PAGE_LINKS = ['merchant_deep_link', 'deep_link', 'product_url'] as const
const IMAGES = {
  main: ['merchant_image_url', 'aw_image_url', 'large_image', 'image_url'],
  more: ['alternate_image', 'alternate_image_two', 'alternate_image_three', 'alternate_image_four'],
} as const

/** A row of an Awin CSV: a publisher's export, or what an advertiser uploads. */
export const awinRows: RowMapper = { gtins: GTINS, map: mapRow }

function mapRow(task: RowTask): FeedProduct | undefined {
  const gtin = findGtinOf(task, GTINS)
  if (gtin === undefined) return undefined
  const title = findTitle(task, 'product_name')
  if (title === undefined || !isNew(task) || !isForSale(task)) return undefined
  const offer = findOffer(task)
  if (offer === undefined) return undefined
  const brand = findBrand(task, ['brand_name', 'brand'])
  return { gtin, title, brand, images: collectImages(task, IMAGES), offers: [offer] }
}

function isForSale({ row, refuse }: RowTask): boolean {
  if (toYesOrNo(row.read('is_for_sale')) !== false) return true
  refuse('is_for_sale', 'not for sale')
  return false
}

function findOffer(task: RowTask): FeedOffer | undefined {
  const { row, context } = task
  const isTracked = row.read(TRACKED_LINK) !== ''
  const url = findLink(task, isTracked ? [TRACKED_LINK] : PAGE_LINKS)
  if (url === undefined) return undefined
  const price = findPrice(task)
  if (price === undefined) return undefined
  const merchant = findMerchant(task, isTracked ? readFirst(row, PAGE_LINKS) : url)
  if (merchant === undefined) return undefined
  return {
    ...merchant,
    merchantReference: findReference(task, 'merchant_id'),
    network: context.names.network ?? DEFAULT_NETWORK,
    price: price.amount,
    oldPrice: findOldPrice(task, price),
    currency: price.currency,
    availability: readStock(row),
    url,
    link: isTracked ? 'tracked' : 'page',
  }
}

function readFirst(row: SourceRow, fields: readonly string[]): string {
  return fields.map((field) => row.read(field)).find((text) => text !== '') ?? ''
}

function findPrice({ row, refuse }: RowTask): FeedPrice | undefined {
  const field = PRICES.find((name) => !isNoPrice(row.read(name)))
  if (field === undefined) return refuse('price', describeNoPrice(readFirst(row, PRICES)))
  const price = parseFeedPrice(row.read(field), row.read('currency'))
  return typeof price === 'string' ? refuse(field, price) : price
}

/**
 * The shop's own former price, in the currency of the price. A recommended price (`rrp_price`) is none, and `base_price`
 * is that of a unit.
 */
function findOldPrice(task: RowTask, price: FeedPrice): string | null {
  const { row, refuse } = task
  const field = 'product_price_old'
  const text = row.read(field)
  if (isNoPrice(text)) return null
  const old = parseFeedPrice(text, price.currency)
  if (typeof old === 'string') {
    refuse(field, `${old}; the offer is kept without it`)
    return null
  }
  const fault = { field, reason: 'the former price is not above the price' }
  return isFormerPrice(task, fault, { price: price.amount, former: old.amount }) ? old.amount : null
}

function readStock(row: SourceRow): Availability {
  if (toYesOrNo(row.read('pre_order')) === true) return 'preorder'
  const inStock = row.read('in_stock')
  const isInStock = toYesOrNo(inStock)
  if (isInStock !== undefined) return isInStock ? 'in_stock' : 'out_of_stock'
  for (const words of [inStock, row.read('stock_status')]) {
    const availability = toAvailability(words)
    if (availability !== 'unknown') return availability
  }
  const quantity = row.read('stock_quantity')
  if (!/^\d+(?:\.0+)?$/.test(quantity)) return 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}
