import { toAvailability } from './availability.ts'
import { collectImages } from './feed-images.ts'
import { type FeedPrice, describeNoPrice, isNoPrice, parseFeedPrice } from './feed-price.ts'
import { DEFAULT_NETWORK, type FeedProduct } from './feed-product.ts'
import {
  findBrand,
  findGtinOf,
  findLink,
  findMerchant,
  findTitle,
  isFormerPrice,
  isNew,
} from './row-parts.ts'
import { isWithinSale } from './sale-window.ts'
import type { RowMapper, RowTask } from './source-row.ts'

const IMAGES = { main: ['image_link'], more: ['additional_image_link'] } as const

/** A row of a Google Merchant feed, whatever it is written in (product data specification of Google Merchant Center). */
export const mapGoogleRow: RowMapper = (task): FeedProduct | undefined => {
  const gtin = findGtinOf(task, ['gtin'])
  if (gtin === undefined) return undefined
  const title = findTitle(task, 'title')
  if (title === undefined || !isNew(task)) return undefined
  const url = findLink(task, ['link'])
  if (url === undefined) return undefined
  const prices = findPrices(task)
  if (prices === undefined) return undefined
  const merchant = findMerchant(task, url)
  if (merchant === undefined) return undefined
  const offer = {
    merchant,
    merchantReference: null,
    network: task.context.names.network ?? DEFAULT_NETWORK,
    ...prices,
    availability: toAvailability(task.row.read('availability')),
    url,
    link: 'page' as const,
  }
  return {
    gtin,
    title,
    brand: findBrand(task, ['brand']),
    images: collectImages(task, IMAGES),
    offers: [offer],
  }
}

type Prices = Readonly<{ price: string; oldPrice: string | null; currency: string }>

/** A sale price that is on now is the price, and the price is the former one then. */
function findPrices(task: RowTask): Prices | undefined {
  const { row, refuse } = task
  const text = row.read('price')
  if (isNoPrice(text)) return findOnlySale(task, text)
  const price = parseFeedPrice(text, row.read('currency'))
  if (typeof price === 'string') return refuse('price', price)
  const regular = { price: price.amount, oldPrice: null, currency: price.currency }
  const sale = findSale(task, price)
  if (sale === undefined) return regular
  const fault = { field: 'sale_price', reason: 'the sale price is not below the price' }
  if (!isFormerPrice(task, fault, { price: sale.amount, former: price.amount })) return regular
  if (isOnNow(task) !== true) return regular
  return { price: sale.amount, oldPrice: price.amount, currency: price.currency }
}

/** A row with a sale price only has that price, and no former one. */
function findOnlySale(task: RowTask, price: string): Prices | undefined {
  const { row, refuse } = task
  const text = row.read('sale_price')
  if (isNoPrice(text)) return refuse('price', describeNoPrice(price))
  const sale = parseFeedPrice(text, row.read('currency'))
  if (typeof sale === 'string') return refuse('sale_price', sale)
  const isOn = isOnNow(task)
  if (isOn === undefined) return undefined
  if (!isOn) return refuse('price', `${describeNoPrice(price)}, and the sale is not on now`)
  return { price: sale.amount, oldPrice: null, currency: sale.currency }
}

/** In the currency of the price, which a sale price may leave out. */
function findSale({ row, refuse }: RowTask, price: FeedPrice): FeedPrice | undefined {
  const text = row.read('sale_price')
  if (isNoPrice(text)) return undefined
  const sale = parseFeedPrice(text, price.currency)
  return typeof sale === 'string' ? refuse('sale_price', `${sale}; the price is kept`) : sale
}

/** `undefined` when it has said by a reject that nobody can know. */
function isOnNow({ row, context, refuse }: RowTask): boolean | undefined {
  const window = row.read('sale_price_effective_date')
  if (window === '') return true
  const isOn = isWithinSale(window, context.nowMs)
  if (isOn !== undefined) return isOn
  return refuse('sale_price_effective_date', 'not two dates with a / between; the sale price is left out')
}
