import { HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { toAvailability } from './availability.ts'
import { type FeedPrice, describeNoPrice, isNoPrice, parseFeedPrice } from './feed-price.ts'
import { DEFAULT_NETWORK, type FeedProduct } from './feed-product.ts'
import {
  collectImages,
  findBrand,
  findGtinOf,
  findLink,
  findMerchant,
  findTitle,
  isFormerPrice,
  isNew,
} from './row-parts.ts'
import type { RowMapper, RowTask } from './source-row.ts'

const IMAGES = { main: ['image_link'], more: ['additional_image_link'] } as const

/** A row of a Google Merchant feed, whatever it is written in (product data specification of Google Merchant Center). */
export const googleRows: RowMapper = { gtins: ['gtin'], map: mapRow }

function mapRow(task: RowTask): FeedProduct | undefined {
  const gtin = findGtinOf(task, googleRows.gtins)
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
    ...merchant,
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
function isOnNow({ row, context, refuse, noteTime }: RowTask): boolean | undefined {
  const window = row.read('sale_price_effective_date')
  if (window === '') return true
  noteTime()
  const isOn = isWithinSale(window, context.nowMs)
  if (isOn !== undefined) return isOn
  return refuse('sale_price_effective_date', 'not two dates with a / between; the sale price is left out')
}

/** A day of ISO 8601, perhaps with a time, perhaps with its distance from UTC (`-0800`, `+01:00`, `+01`, `Z`). */
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?) ?(?:Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?)?$/i

/**
 * Is a moment within `start/end` of Google's `sale_price_effective_date`? A time without a zone is taken for UTC, a last
 * day without a time lasts to its end, and without a last day the sale goes on. `undefined` when the text is not such a span.
 */
export function isWithinSale(text: string, nowMs: number): boolean | undefined {
  const [start, end, ...more] = text.split('/', 3)
  const startMs = parseMoment(start ?? '', '00:00')
  const endMs = end?.trim() === '' ? Number.POSITIVE_INFINITY : parseMoment(end ?? '', '23:59:59.999')
  if (startMs === undefined || endMs === undefined || more.length > 0 || endMs < startMs) return undefined
  return startMs <= nowMs && nowMs <= endMs
}

function parseMoment(text: string, defaultTime: string): number | undefined {
  const [, day, time = defaultTime, sign, hours, minutes] = MOMENT.exec(text.trim()) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const utcMs = Date.parse(`${day}T${time.includes(':') ? time : `${time}:00`}Z`)
  const aheadMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
  return sign === '-' ? utcMs + aheadMs : utcMs - aheadMs
}

/** Some readers of dates take 30 February for 2 March. */
function isDay(day: string): boolean {
  const dateMs = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(dateMs) && new Date(dateMs).toISOString().startsWith(day)
}
