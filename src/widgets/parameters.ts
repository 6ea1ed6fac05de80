import { BadOptionError } from '../errors.ts'
import { findCurrency, isPrice } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'

/** Longest text of a parameter, in UTF-16 units. */
const MAX_TEXT_CHARACTERS = 100
/** Most names of one `merchant` or `exclude` list. */
const MAX_NAMES = 20

/** What a free text accepts, as documentation and error messages say it. */
export const TEXT_ACCEPTS = `text up to ${MAX_TEXT_CHARACTERS} characters, without control characters`
/** What a list of merchants accepts. */
export const NAMES_ACCEPTS = `up to ${MAX_NAMES} merchants' names of up to ${MAX_TEXT_CHARACTERS} characters, without control characters`

/** C0, DEL and C1. PostgreSQL refuses a text with NUL, and SQLite ends one there. */
const CONTROL = /\p{Cc}/u

/** Reads query parameters one by one. Each method throws `BadOptionError` for a bad value, or one given twice. */
export type ParameterReader = Readonly<{
  word<T extends string>(name: string, words: readonly T[], fallback: T): T
  number(name: string, bounds: Readonly<{ min: number; max: number }>, fallback: number): number
  /** Six hex digits, in lower case; `null` when not given. */
  color(name: string): string | null
  /** A tag as `language-Script-REGION`. */
  locale(name: string, fallback: string): string
  /** An ISO 4217 code; `null` when not given. */
  currency(name: string): string | null
  /** A decimal above zero; `null` when not given. */
  price(name: string): string | null
  /** Trimmed text without control characters; `null` when empty or not given. */
  text(name: string): string | null
  /** Every value of a parameter that may be repeated. */
  names(name: string): readonly string[]
}>

/** Makes a reader over a query string; what it is not asked for is never looked at. */
export function createParameterReader(query: URLSearchParams): ParameterReader {
  const read = <T>(name: string, accepts: string, parse: (text: string) => T | undefined): T | null => {
    const texts = query.getAll(name)
    const [text] = texts
    if (text === undefined) return null
    if (texts.length > 1) throw new BadOptionError(name, `one value, ${accepts}`)
    const value = parse(text)
    if (value === undefined) throw new BadOptionError(name, accepts)
    return value
  }
  return {
    word: (name, words, fallback) =>
      read(name, words.join(' or '), (text) => words.find((word) => word === text)) ?? fallback,
    number: (name, { min, max }, fallback) =>
      read(name, `a whole number from ${min} to ${max}`, (text) => parseNumber(text, min, max)) ?? fallback,
    color: (name) =>
      read(name, 'six hex digits without #', (text) =>
        /^[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined,
      ),
    locale: (name, fallback) => read(name, 'a language tag such as en or de-AT', parseLocale) ?? fallback,
    currency: (name) => read(name, 'an ISO 4217 code such as EUR', findCurrency),
    price: (name) => read(name, 'a price such as 49.99', (text) => (isPrice(text) ? text : undefined)),
    text: (name) => read(name, TEXT_ACCEPTS, parseText) || null,
    names: (name) => readNames(query.getAll(name), name),
  }
}

/** A form's own query without its empty fields: they count as not given. */
export function toGivenFields(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([, value]) => value !== ''))
}

/** What is read, or the fallback where it cannot be read: pages for people do not refuse a mistyped field. */
export function readOr<T>(read: () => T, fallback: T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof BadOptionError) return fallback
    throw error
  }
}

function parseNumber(text: string, min: number, max: number): number | undefined {
  if (!/^\d{1,6}$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}

/** Variants and extensions are dropped: they change nothing here and would multiply the answers. */
function parseLocale(text: string): string | undefined {
  if (text.length > 35) return undefined
  try {
    const { language, script, region } = new Intl.Locale(text)
    return [language, script, region].filter((part) => part !== undefined).join('-')
  } catch {
    return undefined
  }
}

function parseText(text: string): string | undefined {
  if (text.length > MAX_TEXT_CHARACTERS || CONTROL.test(text)) return undefined
  return text.toWellFormed().trim()
}

/** Lower case can be longer than what was given, and links to other pages carry it. */
function isName(text: string): boolean {
  return text !== '' && foldCase(text).length <= MAX_TEXT_CHARACTERS
}

function readNames(texts: readonly string[], name: string): readonly string[] {
  const names = texts.map((text) => parseText(text))
  const isEvery = names.length <= MAX_NAMES && names.every((text) => text !== undefined && isName(text))
  if (!isEvery) throw new BadOptionError(name, NAMES_ACCEPTS)
  return names.filter((text) => text !== undefined)
}
