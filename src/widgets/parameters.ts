import { BadOptionError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { normalizeCurrency, isPrice } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'

/** Maximum length of a text, in UTF-16 units. */
export const MAX_TEXT_CHARACTERS = 100
/** Maximum length of a heading, in UTF-16 units. */
export const MAX_HEADING_CHARACTERS = 80
/** Maximum number of names in `merchant` or `exclude`. */
export const MAX_NAMES = 20
/** Maximum length of a label, in UTF-16 units, and number of labels: one for each product of a round-up. */
export const MAX_LABEL_CHARACTERS = 40
export const MAX_LABELS = 20
/** Maximum number of products that may stand in for one that is not sold. */
export const MAX_STAND_INS = 5

/** The values that a parameter accepts: one of some choices, a whole number, or a kind of text. */
export type OptionControl =
  readonly string[] | Readonly<{ min: number; max: number }> | keyof typeof TEXT_DESCRIPTIONS

const TEXT_DESCRIPTIONS = {
  text: `text up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
  heading: `text up to ${MAX_HEADING_CHARACTERS} characters, without control characters`,
  color: 'six hex digits without #',
  language: 'a language tag such as en or de-AT',
  currency: 'an ISO 4217 code such as EUR',
  price: 'a price such as 49.99',
  sub: '1 to 32 letters of A to Z, digits, hyphens and underscores',
  labels: `up to ${MAX_LABELS} texts of up to ${MAX_LABEL_CHARACTERS} characters, without control characters`,
  gtins: `up to ${MAX_STAND_INS} GTINs of 1 to 14 digits, separated by commas`,
  shops: `up to ${MAX_NAMES} merchants' names of up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
} as const

/** Describe the accepted values, for error messages and documentation. */
export function describeAccepted(control: OptionControl): string {
  if (typeof control === 'string') return TEXT_DESCRIPTIONS[control]
  if ('min' in control) return `a whole number from ${control.min} to ${control.max}`
  // `a, b or c`. Created on use, because the first one takes milliseconds.
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(control)
}

/** C0, DEL and C1, and noncharacters, which are invalid in XML. PostgreSQL rejects a text with NUL, and SQLite cuts it there. */
const CONTROL_CHARACTER = /[\p{Cc}\p{Noncharacter_Code_Point}]/u

/** Reads and validates query parameters. */
export type ParameterReader = ReturnType<typeof createParameterReader>

/**
 * Create a reader of a query string; other parameters are ignored. Each method throws `BadOptionError` for an invalid or
 * repeated value. `null`: absent.
 */
export function createParameterReader(query: URLSearchParams) {
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
    oneOf: <T extends string, F extends T | null>(name: string, values: readonly T[], fallback: F): T | F =>
      read(name, values, (text) => values.find((word) => word === text)) ?? fallback,
    number: (name: string, bounds: Readonly<{ min: number; max: number }>, fallback: number): number =>
      read(name, bounds, (text) => parseNumber(text, bounds)) ?? fallback,
    /** Six hex digits, in lower case. */
    color: (name: string): string | null =>
      read(name, 'color', (text) => (/^[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined)),
    /** A tag `language-Script-REGION`. */
    locale: (name: string, fallback: string): string => read(name, 'language', parseLocale) ?? fallback,
    /** An ISO 4217 code. */
    currency: (name: string): string | null => read(name, 'currency', normalizeCurrency),
    /** A decimal above zero. */
    price: (name: string): string | null => read(name, 'price', (text) => (isPrice(text) ? text : undefined)),
    /** Trimmed text without control characters; `null` when empty, too. */
    text: (name: string): string | null => read(name, 'text', parseText) || null,
    /** The same, of at most 80 UTF-16 units. */
    heading: (name: string): string | null =>
      read(name, 'heading', (text) =>
        text.length <= MAX_HEADING_CHARACTERS ? parseText(text) : undefined,
      ) || null,
    /** The id of a placement. */
    sub: (name: string): string | null =>
      read(name, 'sub', (text) => (/^[\w-]{1,32}$/.test(text) ? text : undefined)),
    /** GTINs of 14 digits, without repetitions. */
    gtins: (name: string): readonly string[] => read(name, 'gtins', parseStandIns) ?? [],
    /** Texts by position; an empty one stands for none. */
    labels(name: string): readonly string[] {
      const texts = query.getAll(name)
      const labels = texts.flatMap((text) =>
        text.length <= MAX_LABEL_CHARACTERS ? (parseText(text) ?? []) : [],
      )
      if (texts.length > MAX_LABELS || labels.length < texts.length)
        throw new BadOptionError(name, TEXT_DESCRIPTIONS.labels)
      return trimLabels(labels)
    },
    /** All values of a parameter that may be repeated. */
    names(name: string): readonly string[] {
      const texts = query.getAll(name)
      const names = texts.flatMap((text) => parseName(text) ?? [])
      if (texts.length > MAX_NAMES || names.length < texts.length)
        throw new BadOptionError(name, TEXT_DESCRIPTIONS.shops)
      return names
    },
  }
}

/** Remove the empty fields of a form: they count as absent. */
export function withoutEmptyFields(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([, value]) => value !== ''))
}

/** Return the parsed value, or the fallback for an invalid one: pages for people tolerate a mistyped field. */
export function parseOrDefault<T>(parse: () => T, fallback: T): T {
  try {
    return parse()
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

/** Parse a language tag. Drop variants and extensions: they have no effect and would multiply cached responses. */
export function parseLocale(text: string): string | undefined {
  if (text.length > 35) return undefined
  try {
    const { language, script, region } = new Intl.Locale(text)
    return [language, script, region].filter((part) => part !== undefined).join('-')
  } catch {
    return undefined
  }
}

/** Remove empty labels at the end. */
export function trimLabels(labels: readonly string[]): readonly string[] {
  return labels.slice(0, labels.findLastIndex((label) => label !== '') + 1)
}

function parseStandIns(text: string): readonly string[] | undefined {
  if (text.trim() === '') return []
  const gtins = text.split(',').map((part) => normalizeGtin(part))
  if (gtins.length > MAX_STAND_INS || gtins.includes(undefined)) return undefined
  return [...new Set(gtins.filter((gtin) => gtin !== undefined))]
}

function parseText(text: string): string | undefined {
  if (text.length > MAX_TEXT_CHARACTERS || CONTROL_CHARACTER.test(text)) return undefined
  return text.toWellFormed().trim()
}

function parseName(text: string): string | undefined {
  const name = parseText(text)
  // The lower-case form, which links to other pages contain, can be longer than the given text.
  return name && foldCase(name).length <= MAX_TEXT_CHARACTERS ? name : undefined
}

/** Return the part of a request target after the first "?". */
export function getQueryString(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** Parse a query string without its "?" like shared caches: a further "?" belongs to the first name. */
export function parseQueryString(query: string): URLSearchParams {
  // `URLSearchParams` would drop a leading "?".
  return new URLSearchParams(`&${query}`)
}
