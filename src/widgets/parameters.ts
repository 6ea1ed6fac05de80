import { BadOptionError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { normalizeCurrency, isPrice } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'

/** Maximum length of a text, in UTF-16 units. */
const MAX_TEXT_CHARACTERS = 100
/** Maximum length of a heading, in UTF-16 units. */
const MAX_HEADING_CHARACTERS = 80
/** Maximum number of names in `merchant` or `exclude`. */
const MAX_NAMES = 20
/** Maximum length of a language tag. */
const MAX_LOCALE_CHARACTERS = 35
/** Maximum length of a label, in UTF-16 units, and number of labels: one for each product of a round-up. */
export const MAX_LABEL_CHARACTERS = 40
const MAX_LABELS = 20
/** Maximum number of products that may stand in for one that is not sold. */
export const MAX_STAND_INS = 5

type Json = Readonly<Record<string, unknown>>

/** `accepts`: for error messages and documentation. `schema`: JSON Schema, which accepts at least what `parse` does. */
type TextKind<Text, Value> = Readonly<{
  accepts: string
  schema: Json
  /** Return `undefined` for an invalid text. */
  parse(text: Text): Value | undefined
}>

/** Kinds of parameters with one value. An empty text can stand for none: `null`. */
const SINGLE_KINDS = {
  /** Trimmed. */
  text: {
    accepts: `text up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
    schema: { type: 'string', maxLength: MAX_TEXT_CHARACTERS },
    parse: (text: string) => toNullable(parseText(text)),
  },
  heading: {
    accepts: `text up to ${MAX_HEADING_CHARACTERS} characters, without control characters`,
    schema: { type: 'string', maxLength: MAX_HEADING_CHARACTERS },
    parse: (text: string) =>
      text.length <= MAX_HEADING_CHARACTERS ? toNullable(parseText(text)) : undefined,
  },
  /** In lower case. */
  color: {
    accepts: 'six hex digits without #',
    schema: { type: 'string', pattern: '^[0-9A-Fa-f]{6}$' },
    parse: (text: string) => (/^[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined),
  },
  /** A tag `language-Script-REGION`. */
  language: {
    accepts: 'a language tag such as en or de-AT',
    schema: { type: 'string', maxLength: MAX_LOCALE_CHARACTERS },
    parse: parseLocale,
  },
  currency: {
    accepts: 'an ISO 4217 code such as EUR',
    schema: { type: 'string', pattern: '^[A-Za-z]{3}$' },
    parse: normalizeCurrency,
  },
  /** A decimal above zero. */
  price: {
    accepts: 'a price such as 49.99',
    schema: { type: 'string', pattern: String.raw`^\d{1,12}(\.\d{1,4})?$` },
    parse: (text: string) => (isPrice(text) ? text : undefined),
  },
  /** The id of a placement. */
  sub: {
    accepts: '1 to 32 letters of A to Z, digits, hyphens and underscores',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,32}$' },
    parse: (text: string) => (/^[\w-]{1,32}$/.test(text) ? text : undefined),
  },
  /** Padded, without repetitions. */
  gtins: {
    accepts: `up to ${MAX_STAND_INS} GTINs of 1 to 14 digits, separated by commas`,
    schema: { type: 'string', pattern: String.raw`^(\d{1,14}(,\d{1,14}){0,${MAX_STAND_INS - 1}})?$` },
    parse: parseStandIns,
  },
} as const satisfies Readonly<Record<string, TextKind<string, string | readonly string[] | null>>>

/** Kinds of parameters that may be repeated. */
const LIST_KINDS = {
  /** By position; an empty one stands for none. */
  labels: {
    accepts: `up to ${MAX_LABELS} texts of up to ${MAX_LABEL_CHARACTERS} characters, without control characters`,
    schema: {
      type: 'array',
      items: { type: 'string', maxLength: MAX_LABEL_CHARACTERS },
      maxItems: MAX_LABELS,
    },
    parse: parseLabels,
  },
  /** Case-folded and sorted. */
  shops: {
    accepts: `up to ${MAX_NAMES} merchants' names of up to ${MAX_TEXT_CHARACTERS} characters, without control characters`,
    schema: {
      type: 'array',
      items: { type: 'string', maxLength: MAX_TEXT_CHARACTERS },
      maxItems: MAX_NAMES,
    },
    parse: parseNames,
  },
} as const satisfies Readonly<Record<string, TextKind<readonly string[], readonly string[]>>>

type SingleKinds = typeof SINGLE_KINDS
type ListKinds = typeof LIST_KINDS
type Kind = keyof SingleKinds | keyof ListKinds

/** The values that a parameter accepts: one of some choices, a whole number, or a kind of text. */
export type OptionControl = readonly string[] | Readonly<{ min: number; max: number }> | Kind

type KindValues = {
  [Name in keyof SingleKinds]: Exclude<ReturnType<SingleKinds[Name]['parse']>, undefined>
} & { [Name in keyof ListKinds]: readonly string[] }

/** The value of a parameter. `null`: given, but empty. */
export type ControlValue<Control extends OptionControl> = Control extends readonly (infer Choice)[]
  ? Choice
  : Control extends Kind
    ? KindValues[Control]
    : number

/** Whether a parameter may be repeated. */
export function isRepeatable(control: OptionControl): control is keyof ListKinds {
  return typeof control === 'string' && control in LIST_KINDS
}

const KINDS: Readonly<Record<Kind, Readonly<{ accepts: string; schema: Json }>>> = {
  ...SINGLE_KINDS,
  ...LIST_KINDS,
}

/** Describe the accepted values, for error messages and documentation. */
export function describeAccepted(control: OptionControl): string {
  if (typeof control === 'string') return KINDS[control].accepts
  if ('min' in control) return `a whole number from ${control.min} to ${control.max}`
  // `a, b or c`. Created on use, because the first one takes milliseconds.
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(control)
}

/** Return the JSON Schema of the accepted values. */
export function toSchema(control: OptionControl): Json {
  if (typeof control === 'string') return KINDS[control].schema
  if ('min' in control) return { type: 'integer', minimum: control.min, maximum: control.max }
  return { type: 'string', enum: control }
}

/** C0, DEL and C1, and noncharacters, which are invalid in XML. PostgreSQL rejects a text with NUL, and SQLite cuts it there. */
const CONTROL_CHARACTER = /[\p{Cc}\p{Noncharacter_Code_Point}]/u

/** Reads and validates a query parameter. `null`: absent, or empty where that is valid. @throws BadOptionError */
export type ParameterReader = <const Control extends OptionControl>(
  name: string,
  control: Control,
) => ControlValue<Control> | null

/** Create a reader of a query string; other parameters are ignored. */
export function createParameterReader(query: URLSearchParams): ParameterReader {
  return <Control extends OptionControl>(name: string, control: Control) => {
    const texts = query.getAll(name)
    return texts.length === 0 ? null : (parseValues(name, texts, control) as ControlValue<Control> | null)
  }
}

function parseValues(name: string, texts: readonly string[], control: OptionControl): unknown {
  const isList = isRepeatable(control)
  if (texts.length > 1 && !isList) throw new BadOptionError(name, `one value, ${describeAccepted(control)}`)
  const value = isList ? LIST_KINDS[control].parse(texts) : parseValue(texts[0] ?? '', control)
  if (value === undefined) throw new BadOptionError(name, describeAccepted(control))
  return value
}

function parseValue(text: string, control: Exclude<OptionControl, keyof ListKinds>): unknown {
  if (typeof control === 'string') return SINGLE_KINDS[control].parse(text)
  return 'min' in control ? parseNumber(text, control) : control.find((choice) => choice === text)
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
  if (text.length > MAX_LOCALE_CHARACTERS) return undefined
  try {
    const { language, script, region } = new Intl.Locale(text)
    // Without a language, the tag cannot be written again: some versions of Node have `undefined` here.
    if (!language || language === 'und') return undefined
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

function parseLabels(texts: readonly string[]): readonly string[] | undefined {
  const labels = texts.flatMap((text) => (text.length <= MAX_LABEL_CHARACTERS ? (parseText(text) ?? []) : []))
  return texts.length > MAX_LABELS || labels.length < texts.length ? undefined : trimLabels(labels)
}

function parseNames(texts: readonly string[]): readonly string[] | undefined {
  const names = texts.flatMap((text) => parseName(text) ?? [])
  if (texts.length > MAX_NAMES || names.length < texts.length) return undefined
  return [...new Set(names.map(foldCase))].sort()
}

/** An empty text stands for none. */
function toNullable(text: string | undefined): string | null | undefined {
  return text === '' ? null : text
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
