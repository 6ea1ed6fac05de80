import { comparePrices } from '../../offers/money.ts'
import { toAvailability } from './availability.ts'
import { collectImages } from './feed-images.ts'
import { type FeedPrice, isNoPrice, parseFeedPrice } from './feed-price.ts'
import type { FeedProduct } from './feed-product.ts'
import { findGtinOf, findLink, findMerchant, findText, findTitle, isNew } from './row-parts.ts'
import { isWithinSale } from './sale-window.ts'
import type { RowMapper, RowTask } from './source-row.ts'

/** The network of feeds that name none. */
const DEFAULT_NETWORK = 'feed'

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
  const brand = findText(task, ['brand']) ?? null
  return { gtin, title, brand, images: collectImages(task, IMAGES), offers: [offer] }
}

type Prices = Readonly<{ price: string; oldPrice: string | null; currency: string }>

/** A sale price that is on now is the price, and the price is the former one then. */
function findPrices(task: RowTask): Prices | undefined {
  const text = task.row.read('price')
  if (isNoPrice(text)) return task.refuse('price', 'there is no price')
  const price = parseFeedPrice(text, task.row.read('currency'))
  if (typeof price === 'string') return task.refuse('price', price)
  const sale = findSale(task, price)
  const isOn = sale !== undefined && comparePrices(sale.amount, price.amount) < 0 && isOnNow(task)
  if (!isOn) return { price: price.amount, oldPrice: null, currency: price.currency }
  return { price: sale.amount, oldPrice: price.amount, currency: price.currency }
}

/** In the currency of the price, which a sale price may leave out. */
function findSale({ row, refuse }: RowTask, price: FeedPrice): FeedPrice | undefined {
  const text = row.read('sale_price')
  if (isNoPrice(text)) return undefined
  const sale = parseFeedPrice(text, price.currency)
  return typeof sale === 'string' ? refuse('sale_price', `${sale}; the price is kept`) : sale
}

function isOnNow({ row, context, refuse }: RowTask): boolean {
  const window = row.read('sale_price_effective_date')
  if (window === '') return true
  const isOn = isWithinSale(window, context.nowMs)
  if (isOn === undefined)
    refuse('sale_price_effective_date', 'not two dates with a / between; the sale price is left out')
  return isOn ?? false
}
