import { comparePrices } from '../../offers/money.ts'
import type { ColumnMap } from './column-map.ts'
import type { FieldName } from './feed-map.ts'
import { type FeedPrice, describeMissingPrice, isPriceMissing, parseFeedPrice } from './feed-price.ts'
import type { FeedOffer, SalePeriod, SourceRow } from './feed-row.ts'
import { findSaleDates, findSalePeriod, isDateMissing } from './feed-time.ts'

export type Prices = Pick<FeedOffer, 'price' | 'oldPrice' | 'currency' | 'salePeriod'>

export type PriceTask = Readonly<{
  row: SourceRow
  columns: ColumnMap
  reject(field: string, reason: string): undefined
}>

type PriceText = Readonly<{ field: string; text: string }>

/** A sale price below the price is the current price, and the price is the former one. Else a price above the price is the former one. */
export function findPrices(task: PriceTask): Prices | undefined {
  const {
    row,
    columns: { fields },
  } = task
  const columnCurrency = fields.currency.read(row)
  const regularText = findPriceText(task, 'price')
  if (regularText === undefined) return findSaleOnlyPrices(task, columnCurrency)
  const regular = parsePrice(task, regularText, columnCurrency)
  if (regular === undefined) return undefined
  const sale = findSalePrices(task, regular)
  return sale ?? findRegularPrices(task, regular)
}

function findSalePrices(task: PriceTask, { amount, currency }: FeedPrice): Prices | undefined {
  const saleText = findPriceText(task, 'salePrice')
  if (saleText === undefined) return undefined
  const sale = parsePrice(task, saleText, currency, '; the price is kept')
  const problem = [saleText.field, 'the sale price is not below the price'] as const
  if (sale === undefined || !isFormerPrice(task, amount, sale.amount, problem)) return undefined
  const salePeriod = findPeriod(task, 'the sale price is left out')
  return salePeriod === undefined ? undefined : { price: sale.amount, oldPrice: amount, currency, salePeriod }
}

function findRegularPrices(task: PriceTask, { amount, currency }: FeedPrice): Prices {
  const regular = { price: amount, oldPrice: null, currency, salePeriod: null }
  const formerText = findPriceText(task, 'oldPrice')
  if (formerText === undefined) return regular
  const former = parsePrice(task, formerText, currency, '; the offer is kept without it')
  const problem = [formerText.field, 'the former price is not above the price'] as const
  if (former === undefined || !isFormerPrice(task, former.amount, amount, problem)) return regular
  const salePeriod = findPeriod(task, 'they are left out') ?? null
  return { price: amount, oldPrice: former.amount, currency, salePeriod }
}

function findSaleOnlyPrices(task: PriceTask, columnCurrency: string): Prices | undefined {
  const {
    row,
    columns: { fields },
    reject,
  } = task
  const saleText = findPriceText(task, 'salePrice')
  if (saleText === undefined) {
    const field = fields.price.columns[0] ?? 'price'
    return reject(field, describeMissingPrice(fields.price.read(row)))
  }
  const sale = parsePrice(task, saleText, columnCurrency)
  const salePeriod = sale && findPeriod(task, 'the sale price is left out')
  if (sale === undefined || salePeriod === undefined) return undefined
  return { price: sale.amount, oldPrice: null, currency: sale.currency, salePeriod }
}

/** Return the first price of a field that is neither empty nor zero. */
function findPriceText({ row, columns: { fields } }: PriceTask, name: FieldName): PriceText | undefined {
  const { columns: alternatives, value } = fields[name]
  for (const field of alternatives) {
    const text = row.read(field)
    if (!isPriceMissing(text)) return { field, text: `${text} ${readOwnCurrency(row, field)}`.trim() }
  }
  return isPriceMissing(value) ? undefined : { field: name, text: value }
}

/** Read the currency of a price that is an object, such as `{ "value": "9.99", "currency": "EUR" }`. Each price has its own. */
function readOwnCurrency(row: SourceRow, field: string): string {
  const own = /^(.*\.)(?:value|amount)$/.exec(field)?.[1]
  return own === undefined ? '' : row.read(`${own}currency`)
}

/** `consequence`: text for the reject about what happens to the row without this price. */
function parsePrice(
  { row, columns, reject }: PriceTask,
  { field, text }: PriceText,
  currency: string,
  consequence: string = '',
): FeedPrice | undefined {
  // Which of several prices is the current one is unknown.
  if (!row.hasLists && new Set(row.readAll(field)).size > 1)
    return reject(field, `has several prices${consequence}`)
  const price = parseFeedPrice(text, currency, columns)
  return typeof price === 'string' ? reject(field, price + consequence) : price
}

/** An equal former price is ignored. A lower one is rejected, because it may be the price that the shop intended. */
function isFormerPrice(
  { reject }: PriceTask,
  former: string,
  price: string,
  [field, reason]: readonly [field: string, reason: string],
): boolean {
  const difference = comparePrices(former, price)
  if (difference < 0) reject(field, `${reason}; it is left out`)
  return difference > 0
}

/** Return `null` without dates, and `undefined`, after a reject, when they are malformed. */
function findPeriod(task: PriceTask, consequence: string): SalePeriod | null | undefined {
  const {
    row,
    columns: { fields },
    reject,
  } = task
  const dates = fields.saleDates.read(row)
  if (!isDateMissing(dates)) {
    const field = fields.saleDates.columns[0] ?? 'saleDates'
    return findSaleDates(dates) ?? reject(field, `not two dates separated by "/"; ${consequence}`)
  }
  const start = fields.saleStartsAt.read(row)
  const end = fields.saleEndsAt.read(row)
  if (isDateMissing(start) && isDateMissing(end)) return null
  const name = isDateMissing(end) ? 'saleStartsAt' : 'saleEndsAt'
  const reason = `not dates of a start and a later end; ${consequence}`
  return findSalePeriod(start, end) ?? reject(fields[name].describe(row), reason)
}
