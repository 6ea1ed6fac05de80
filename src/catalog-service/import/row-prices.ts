import { HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { comparePrices } from '../../offers/money.ts'
import { type FeedPrice, describeMissingPrice, isPriceMissing, parseFeedPrice } from './feed-price.ts'
import type { RowTask } from './feed-row.ts'

export type Prices = Readonly<{ price: string; oldPrice: string | null; currency: string }>

/** Dates of a sale. The price of a row with such dates depends on the current day. */
export const SALE_DATES_COLUMN = 'sale_price_effective_date'

const AWIN_PRICE_COLUMNS = ['search_price', 'price', 'store_price'] as const

/** During a sale, `sale_price` is the price and `price` the former price. */
export function findGooglePrices(task: RowTask): Prices | undefined {
  const { row } = task
  const text = row.read('price')
  if (isPriceMissing(text)) return findSaleOnlyPrice(task, describeMissingPrice(text))
  const price = findPrice(task, 'price', row.read('currency'))
  if (price === undefined) return undefined
  const { amount, currency } = price
  const regular = { price: amount, oldPrice: null, currency }
  const sale = findPrice(task, 'sale_price', currency, '; the price is kept')
  const problem = ['sale_price', 'the sale price is not below the price'] as const
  if (sale === undefined || !isFormerPrice(task, amount, sale.amount, problem)) return regular
  return isSaleActive(task) === true ? { price: sale.amount, oldPrice: amount, currency } : regular
}

function findSaleOnlyPrice(task: RowTask, missingPriceReason: string): Prices | undefined {
  const { row, reject } = task
  if (isPriceMissing(row.read('sale_price'))) return reject('price', missingPriceReason)
  const sale = findPrice(task, 'sale_price', row.read('currency'))
  if (sale === undefined) return undefined
  const isActive = isSaleActive(task)
  if (isActive === false) return reject('price', `${missingPriceReason}, and the sale is not active now`)
  return isActive && { price: sale.amount, oldPrice: null, currency: sale.currency }
}

/** Ignores `rrp_price` (a recommended, not a former price) and `base_price` (a price per unit). */
export function findAwinPrices(task: RowTask): Prices | undefined {
  const { row, reject } = task
  const field = AWIN_PRICE_COLUMNS.find((name) => !isPriceMissing(row.read(name)))
  if (field === undefined) {
    const text = AWIN_PRICE_COLUMNS.map((name) => row.read(name)).find((cell) => cell !== '')
    return reject('price', describeMissingPrice(text ?? ''))
  }
  const price = findPrice(task, field, row.read('currency'))
  if (price === undefined) return undefined
  const { amount, currency } = price
  const former = findPrice(task, 'product_price_old', currency, '; the offer is kept without it')
  const problem = ['product_price_old', 'the former price is not above the price'] as const
  const hasFormer = former !== undefined && isFormerPrice(task, former.amount, amount, problem)
  return { price: amount, oldPrice: hasFormer ? former.amount : null, currency }
}

/** `consequence`: text for the reject about what happens to the row without this price. */
function findPrice(
  { row, reject }: RowTask,
  field: string,
  currency: string,
  consequence: string = '',
): FeedPrice | undefined {
  const text = row.read(field)
  if (isPriceMissing(text)) return undefined
  const price = parseFeedPrice(text, currency)
  return typeof price === 'string' ? reject(field, price + consequence) : price
}

/** An equal former price is ignored. A lower one is rejected, because it may be the price that the shop intended. */
function isFormerPrice(
  { reject }: RowTask,
  former: string,
  price: string,
  [field, reason]: readonly [field: string, reason: string],
): boolean {
  const difference = comparePrices(former, price)
  if (difference < 0) reject(field, `${reason}; it is left out`)
  return difference > 0
}

/** Return `undefined`, after a reject, when the dates are malformed. */
function isSaleActive({ row, nowMs, reject }: RowTask): boolean | undefined {
  const dates = row.read(SALE_DATES_COLUMN)
  const isActive = dates === '' || isWithinSale(dates, nowMs)
  return isActive ?? reject(SALE_DATES_COLUMN, 'not two dates separated by "/"; the sale price is left out')
}

/** An ISO 8601 date with an optional time and an optional offset from UTC (`-0800`, `+01:00`, `+01`, `Z`). */
const DATE_TIME_PATTERN =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?) ?(?:Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?)?$/i

/** Compare with `start/end`: UTC by default, an end date includes its day, no end is open-ended; `undefined` when malformed. */
function isWithinSale(text: string, nowMs: number): boolean | undefined {
  const [start, end, ...more] = text.split('/', 3)
  const startMs = findTimeMs(start ?? '', '00:00')
  const endMs = end?.trim() === '' ? Number.POSITIVE_INFINITY : findTimeMs(end ?? '', '23:59:59.999')
  if (startMs === undefined || endMs === undefined || more.length > 0 || endMs < startMs) return undefined
  return startMs <= nowMs && nowMs <= endMs
}

function findTimeMs(text: string, defaultTime: string): number | undefined {
  const [, day, time = defaultTime, sign, hours, minutes] = DATE_TIME_PATTERN.exec(text.trim()) ?? []
  if (day === undefined || !isCalendarDay(day)) return undefined
  const utcMs = Date.parse(`${day}T${time.includes(':') ? time : `${time}:00`}Z`)
  const zoneOffsetMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
  return sign === '-' ? utcMs + zoneOffsetMs : utcMs - zoneOffsetMs
}

/** `Date.parse` may accept 30 February as 2 March. */
function isCalendarDay(day: string): boolean {
  const dateMs = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(dateMs) && new Date(dateMs).toISOString().startsWith(day)
}
