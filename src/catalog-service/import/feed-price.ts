import { isPrice } from '../../offers/money.ts'
import { simplifyDecimals } from './decimals.ts'

/** A price as the catalog stores it: decimal text and a code of three upper-case letters. */
export type FeedPrice = Readonly<{ amount: string; currency: string }>

const INVALID_PRICE = 'not a price: one to twelve digits, up to four decimals, above zero'

const PRICE_PATTERN = /^(?:([a-z]{3}) ?)?(\d(?:[\d., '’]*\d)?)(?: ?([a-z]{3}))?$/i

const EMPTY_PRICE_PATTERN = /^(?:[a-z]{3})?[0., ]*(?:[a-z]{3})?$/i

const MAX_CHARACTERS = 100

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

/** Currencies with three decimals (ISO 4217): in them the dot of `1.144` is a decimal point. */
const THREE_DECIMALS: ReadonlySet<string> = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'])

/** `true` when the cell has no price. Feeds write zero as often as nothing. */
export function isPriceMissing(text: string): boolean {
  return text.length <= MAX_CHARACTERS && EMPTY_PRICE_PATTERN.test(text.replace(/\s+/g, ' ').trim())
}

export function describeMissingPrice(text: string): string {
  if (text.trim() === '') return 'there is no price'
  return /\d/.test(text) ? 'the price is zero' : 'there is no amount'
}

/** The same when the decimal sign is known. */
const PATTERNS_BY_DECIMAL = {
  '.': [/^(\d+|[1-9]\d{0,2}(?:[, '’]\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d{1,4}))?$/],
  ',': [/^(\d+|[1-9]\d{0,2}(?:[. '’]\d{3})+)(?:,(\d{1,4}))?$/],
} as const

/** `currency`: of prices that name none. Without `decimal`, a number that may have thousands or decimals is invalid. */
export type PriceSettings = Readonly<{ currency?: string; decimal?: '.' | ',' | undefined }>

/**
 * Parse `15.00 USD`, `USD 15.00` or a number with `columnCurrency`. Nothing is rounded but the noise of floating-point numbers.
 * Return the reason when invalid.
 */
export function parseFeedPrice(
  text: string,
  columnCurrency: string,
  { currency: defaultCurrency = '', decimal }: PriceSettings = {},
): FeedPrice | string {
  if (text.length > MAX_CHARACTERS) return INVALID_PRICE
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
