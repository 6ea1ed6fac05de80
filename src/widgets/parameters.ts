import { BadOptionError } from '../errors.ts'
import { findCurrency, isPrice } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'

/** Longest text of a parameter, in UTF-16 units. */
const MAX_TEXT_CHARACTERS = 100
/** Most names of one `merchant` or `exclude` list. */
const MAX_NAMES = 20

/** What a parameter accepts, and so what a field for it looks like: one of some words, a whole number, or a text of some kind. */
export type OptionControl = readonly string[] | Readonly<{ min: number; max: number }> | keyof typeof TEXTS

const TEXTS = {
  text: `text up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
  color: 'six hex digits without #',
  language: 'a language tag such as en or de-AT',
  currency: 'an ISO 4217 code such as EUR',
  price: 'a price such as 49.99',
  shops: `up to ${MAX_NAMES} merchants' names of up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
} as const

/** Say what a parameter accepts, as error messages and the documentation do. */
export function describeAccepted(control: OptionControl): string {
  if (typeof control === 'string') return TEXTS[control]
  return 'min' in control ? `a whole number from ${control.min} to ${control.max}` : control.join(' or ')
}

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
  const read = <T>(
    name: string,
    control: OptionControl,
    parse: (text: string) => T | undefined,
  ): T | null => {
    const texts = query.getAll(name)
    const [text] = texts
    if (text === undefined) return null
    if (texts.length > 1) throw new BadOptionError(name, `one value, ${describeAccepted(control)}`)
    const value = parse(text)
    if (value === undefined) throw new BadOptionError(name, describeAccepted(control))
    return value
  }
  return {
    word: (name, words, fallback) =>
      read(name, words, (text) => words.find((word) => word === text)) ?? fallback,
    number: (name, bounds, fallback) => read(name, bounds, (text) => parseNumber(text, bounds)) ?? fallback,
    color: (name) =>
      read(name, 'color', (text) => (/^[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined)),
    locale: (name, fallback) => read(name, 'language', parseLocale) ?? fallback,
    currency: (name) => read(name, 'currency', findCurrency),
    price: (name) => read(name, 'price', (text) => (isPrice(text) ? text : undefined)),
    text: (name) => read(name, 'text', parseText) || null,
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

function parseNumber(text: string, { min, max }: Readonly<{ min: number; max: number }>): number | undefined {
  if (!/^\d{1,6}$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}

/** Parse a language tag. Variants and extensions are dropped: they change nothing here and would multiply the answers. */
export function parseLocale(text: string): string | undefined {
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
  if (!isEvery) throw new BadOptionError(name, TEXTS.shops)
  return names.filter((text) => text !== undefined)
}

/** Return what follows the first `?` of a request target. */
export function findQuery(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** Parse a query string, given without its `?`, the way shared caches read one: a further `?` belongs to the first name. */
export function parseQueryString(query: string): URLSearchParams {
  // `URLSearchParams` drops a leading "?", so the text must not begin with one.
  return new URLSearchParams(`&${query}`)
}
