import { comparePrices, isPrice } from '../../offers/money.ts'
import type { ColumnMap, FieldName } from './column-map.ts'
import type { FeedOffer, SalePeriod, SourceRow } from './feed-row.ts'
import { findSaleDates, findSalePeriod, isDateMissing } from './feed-values.ts'

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

/** A price as the catalog stores it: decimal text and a code of three upper-case letters. */
type FeedPrice = Readonly<{ amount: string; currency: string }>

const INVALID_PRICE = 'not a price: one to twelve digits, up to four decimals, above zero'

const PRICE_PATTERN = /^(?:([a-z]{3}) ?)?(\d(?:[\d., '’]*\d)?)(?: ?([a-z]{3}))?$/i

const EMPTY_PRICE_PATTERN = /^(?:[a-z]{3})?[0., ]*(?:[a-z]{3})?$/i

const MAX_PRICE_CHARACTERS = 100

/** `12,-` and `129:-` */
const NO_CENTS = /(?<=\d)[.,:][-–—]{1,2}(?!\d)/

const NO_CURRENCY = 'there is no currency: set one with --currency'

const INVALID_CURRENCY = 'not a currency code of three letters'

/** Whole part and decimals, one pattern for each way to group digits. The last one has no groups. */
const NUMBER_PATTERNS = [
  /^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d{1,4}))?$/,
  /^([1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d{1,4}))?$/,
  /^([1-9]\d{0,2}(?:\.\d{3}){2,})$/,
  /^([1-9]\d{0,2}(?:\.\d{3})+),(\d{1,4})$/,
  /^([1-9]\d{0,2}(?:[ '’]\d{3})+)(?:[.,](\d{1,4}))?$/,
  /^(\d+)(?:[.,](\d{1,4}))?$/,
] as const

/** The same when the decimal sign is known. */
const PATTERNS_BY_DECIMAL = {
  '.': [/^(\d+|[1-9]\d{0,2}(?:[, '’]\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d{1,4}))?$/],
  ',': [/^(\d+|[1-9]\d{0,2}(?:[. '’]\d{3})+)(?:,(\d{1,4}))?$/],
} as const

/** Currencies with three decimals (ISO 4217): in them the dot of `1.144` is a decimal point. */
const THREE_DECIMALS: ReadonlySet<string> = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'])

/** `true` when the cell has no price. Feeds write zero as often as nothing. */
export function isPriceMissing(text: string): boolean {
  return text.length <= MAX_PRICE_CHARACTERS && EMPTY_PRICE_PATTERN.test(text.replace(/\s+/g, ' ').trim())
}

function describeMissingPrice(text: string): string {
  if (text.trim() === '') return 'there is no price'
  return /\d/.test(text) ? 'the price is zero' : 'there is no amount'
}

/** `currency`: of prices that name none. Without `decimal`, a number that may have thousands or decimals is invalid. */
type PriceSettings = Readonly<{ currency?: string; decimal?: '.' | ',' | undefined }>

/**
 * Parse `15.00 USD`, `USD 15.00` or a number with `columnCurrency`. Nothing is rounded but the noise of floating-point numbers.
 * Return the reason when invalid.
 */
export function parseFeedPrice(
  text: string,
  columnCurrency: string,
  { currency: defaultCurrency = '', decimal }: PriceSettings = {},
): FeedPrice | string {
  if (text.length > MAX_PRICE_CHARACTERS) return INVALID_PRICE
  const column = columnCurrency.trim()
  // Check it first, because a reason below may quote it: a cell may contain anything.
  if (!/^(?:[a-z]{3})?$/i.test(column)) return INVALID_CURRENCY
  return parsePlainPrice(text.replace(/\s+/g, ' ').trim(), column, {
    currency: defaultCurrency,
    decimal,
  })
}

function parsePlainPrice(
  plain: string,
  column: string,
  { currency: defaultCurrency, decimal }: Required<PriceSettings>,
): FeedPrice | string {
  const [, before, number, after] = PRICE_PATTERN.exec(plain) ?? []
  if (number === undefined) return parseSignedPrice(plain, column, { currency: defaultCurrency, decimal })
  const codes = listCurrencies(before, after, column)
  if (codes.size > 1) return `names two currencies, ${[...codes].join(' and ')}`
  const [currency = defaultCurrency] = codes
  if (currency === '') return NO_CURRENCY
  return parseAmount(simplifyDecimals(number), currency, decimal)
}

/** Parse a price with the sign of a currency. */
function parseSignedPrice(
  text: string,
  column: string,
  { currency, decimal }: Required<PriceSettings>,
): FeedPrice | string {
  const whole = text.replace(NO_CENTS, '')
  const { number, currencies } = splitSign(whole) ?? { number: whole, currencies: undefined }
  if (currencies === undefined)
    return whole === text ? INVALID_PRICE : parsePlainPrice(whole, column, { currency, decimal })
  const [only = '', other] = currencies
  const meant = currency === '' && other === undefined ? only : currency
  const price = parsePlainPrice(number, column, { currency: meant, decimal })
  if (price === NO_CURRENCY) return 'several currencies have this sign: set one with --currency'
  if (typeof price === 'string' || currencies.includes(price.currency)) return price
  return `its sign contradicts the currency ${price.currency}`
}

/** Signs of currencies, and the currencies that each may mean. */
const CURRENCIES_BY_SIGN: Readonly<Record<string, string>> = {
  '€': 'EUR',
  euro: 'EUR',
  $: 'USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP UYU BRL DOP JMD TTD BBD BSD BZD FJD NAD XCD',
  '£': 'GBP EGP LBP SYP SDG SSP FKP GIP SHP',
  '¥': 'JPY CNY',
  '￥': 'JPY CNY',
  '₹': 'INR',
  '₺': 'TRY',
  tl: 'TRY',
  '₽': 'RUB',
  руб: 'RUB',
  '₴': 'UAH',
  грн: 'UAH',
  '₪': 'ILS',
  '₩': 'KRW',
  '₫': 'VND',
  '฿': 'THB',
  '₱': 'PHP',
  '₦': 'NGN',
  '₸': 'KZT',
  '₾': 'GEL',
  zł: 'PLN',
  kč: 'CZK',
  kr: 'SEK NOK DKK ISK',
  ft: 'HUF',
  лв: 'BGN',
  r$: 'BRL',
  us$: 'USD',
}

/** A sign before or after the number. */
const SIGN_BEFORE = /^([^\d\s.,-]{1,4}?)\.? ?(?=[\d.,])/u
const SIGN_AFTER = / ?([^\d\s.,-]{1,4}?)\.?$/u

type SignedPrice = Readonly<{ number: string; currencies: readonly string[] }>

/** Return the price without its sign, and the currencies of the sign; `undefined` without a known one. */
function splitSign(text: string): SignedPrice | undefined {
  for (const pattern of [SIGN_BEFORE, SIGN_AFTER]) {
    const [found, sign = ''] = pattern.exec(text) ?? []
    const name = sign.toLowerCase()
    if (found === undefined || !Object.hasOwn(CURRENCIES_BY_SIGN, name)) continue
    return { number: text.replace(found, ''), currencies: CURRENCIES_BY_SIGN[name]?.split(' ') ?? [] }
  }
  return undefined
}

function listCurrencies(...codes: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(codes.flatMap((code) => (code === undefined || code === '' ? [] : [code.toUpperCase()])))
}

function parseAmount(
  number: string,
  currency: string,
  decimal: PriceSettings['decimal'],
): FeedPrice | string {
  if (decimal !== undefined) {
    const price = toPrice(number, currency, PATTERNS_BY_DECIMAL[decimal])
    const isOther =
      typeof price === 'string' && typeof toPrice(number, currency, NUMBER_PATTERNS) === 'object'
    return isOther ? `${number} contradicts the decimal sign "${decimal}" that is set with --decimal` : price
  }
  if (isAmbiguous(number, currency)) return `${number} is ambiguous, thousands or decimals: set --decimal`
  return toPrice(number, currency, NUMBER_PATTERNS)
}

/** Three digits after a dot are decimals in some countries and thousands in others. After a comma they are thousands. */
function isAmbiguous(number: string, currency: string): boolean {
  const pattern = THREE_DECIMALS.has(currency) ? /^[1-9]\d{0,2},\d{3}$/ : /^[1-9]\d{0,2}\.\d{3}$/
  return pattern.test(number)
}

function toPrice(number: string, currency: string, patterns: readonly RegExp[]): FeedPrice | string {
  for (const pattern of patterns) {
    const [, whole, decimals] = pattern.exec(number) ?? []
    if (whole === undefined) continue
    const digits = whole.replace(/\D/g, '').replace(/^0+(?=\d)/, '')
    const amount = decimals === undefined ? digits : `${digits}.${decimals}`
    return isPrice(amount) ? { amount, currency } : INVALID_PRICE
  }
  return INVALID_PRICE
}

/** More decimals than a price has. */
const LONG_DECIMALS = /^(.*\d)([.,])(\d{5,})$/

/** From this number of decimals on, a text may be a floating-point number. */
const MIN_FLOAT_DECIMALS = 9
/** In cents: that of numbers of 32 bits. */
const MAX_FLOAT_NOISE = 1e-3

/**
 * Remove trailing zeros, and the noise of floating-point numbers: `16.510000` gives `16.51`, and `27.989999999999998` gives `27.99`.
 * Three decimals become four, so that they are not taken for thousands.
 */
export function simplifyDecimals(number: string): string {
  const [, whole = '', sign = '', decimals = ''] = LONG_DECIMALS.exec(number) ?? []
  if (decimals === '' || whole.includes(sign)) return number
  const significant = decimals.replace(/0+$/, '')
  if (significant.length > 4) return removeNoise(number, { whole, sign, decimals })
  return `${whole}${sign}${significant.padEnd(significant.length === 3 ? 4 : 2, '0')}`
}

type NumberParts = Readonly<{ whole: string; sign: string; decimals: string }>

/** Round to cents when the rest is far below what any price has. */
function removeNoise(number: string, { whole, sign, decimals }: NumberParts): string {
  const cents = Number(`0.${decimals}`) * 100
  const rounded = Math.round(cents)
  if (decimals.length < MIN_FLOAT_DECIMALS || Math.abs(cents - rounded) > MAX_FLOAT_NOISE) return number
  if (rounded < 100) return `${whole}${sign}${String(rounded).padStart(2, '0')}`
  return /^\d+$/.test(whole) ? String(BigInt(whole) + 1n) : number
}
