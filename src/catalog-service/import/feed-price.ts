import { isPrice } from '../../offers/money.ts'

/** A price as the catalog stores it: decimal text and a code of three upper-case letters. */
export type FeedPrice = Readonly<{ amount: string; currency: string }>

const INVALID_PRICE = 'not a price: one to twelve digits, up to four decimals, above zero'

const PRICE_PATTERN = /^(?:([a-z]{3}) ?)?(\d(?:[\d., '’]*\d)?)(?: ?([a-z]{3}))?$/i

const EMPTY_PRICE_PATTERN = /^(?:[a-z]{3})?[0., ]*(?:[a-z]{3})?$/i

const MAX_CHARACTERS = 100

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
  return text.trim() === '' ? 'there is no price' : 'the price is zero'
}

/** The same when the decimal sign is known. */
const PATTERNS_BY_DECIMAL = {
  '.': [/^(\d+|[1-9]\d{0,2}(?:[, '’]\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d{1,4}))?$/],
  ',': [/^(\d+|[1-9]\d{0,2}(?:[. '’]\d{3})+)(?:,(\d{1,4}))?$/],
} as const

/**
 * Parse `15.00 USD`, `USD 15.00` or a number with `columnCurrency`, without rounding. Without `decimal`, a number that may have
 * thousands or decimals is invalid. Return the reason when invalid.
 */
export function parseFeedPrice(
  text: string,
  columnCurrency: string,
  decimal?: keyof typeof PATTERNS_BY_DECIMAL,
): FeedPrice | string {
  if (text.length > MAX_CHARACTERS) return INVALID_PRICE
  const column = columnCurrency.trim()
  // Check it first, because a reason below may quote it: a cell may contain anything.
  if (!/^(?:[a-z]{3})?$/i.test(column)) return INVALID_CURRENCY
  const plain = text.replace(/\s+/g, ' ').trim()
  if (/\p{Sc}/u.test(plain)) return 'the currency is a symbol, not a code of three letters'
  const [, before, number, after] = PRICE_PATTERN.exec(plain) ?? []
  if (number === undefined) return INVALID_PRICE
  const codes = new Set([before, after, column].filter(Boolean).map((code) => (code ?? '').toUpperCase()))
  const [currency] = codes
  if (currency === undefined) return 'there is no currency'
  if (codes.size > 1) return `names two currencies, ${[...codes].join(' and ')}`
  if (decimal !== undefined) return toPrice(number, currency, PATTERNS_BY_DECIMAL[decimal])
  if (isAmbiguous(number, currency)) return `${number} is ambiguous: thousands or decimals`
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
