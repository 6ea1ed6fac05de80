import { array, type core, discriminatedUnion, literal, object, strictObject, string, union } from 'zod'
import { MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { UsageError } from '../../errors.ts'
import { cleanText } from '../../offers/text.ts'
import { findEncoding } from './encoding.ts'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { toFeedText, toAvailability, toAwinAvailability, normalizeCondition } from './feed-values.ts'
import { toXmlKey } from './xml-items.ts'

export const DELIMITERS = [',', ';', '|', '\t'] as const

export type Delimiter = (typeof DELIMITERS)[number]

/**
 * Fields of a column map. `salePrice` is the current price while it is below `price`; `oldPrice` is a former price above `price`.
 * `saleDates`: `start/end` in one column.
 */
const FIELD_NAMES = [
  'gtin',
  'title',
  'brand',
  'price',
  'oldPrice',
  'salePrice',
  'saleDates',
  'saleStartsAt',
  'saleEndsAt',
  'currency',
  'availability',
  'trackingLink',
  'pageLink',
  'image',
  'moreImages',
  'merchant',
  'merchantReference',
  'condition',
  'forSale',
  'network',
  'checkedAt',
] as const

export type FieldName = (typeof FIELD_NAMES)[number]

type Constant = Readonly<{ value: string }>

/** A column or path, a constant, or a list of which the first non-empty one is used. */
type FieldValue = string | Constant | readonly (string | Constant)[]

/** How to read a feed. Columns are compared without case; paths of XML and JSON start at the item. */
export type FeedMap = Readonly<{
  format: 'table' | 'json' | 'xml'
  /** Detected when absent. */
  delimiter?: Delimiter | undefined
  /** Names of the columns of a table without a header. */
  columns?: readonly string[] | undefined
  encoding?: string | undefined
  decimal?: '.' | ',' | undefined
  /** Words of the condition that mean new, besides those that Vitrine knows. */
  newConditions?: readonly string[] | undefined
  /** The repeated XML element, or a list of them; the JSON array (absent: an array or JSON lines). */
  items?: string | readonly string[] | undefined
  /** A repeated element or array within an item: each gives an offer. */
  offers?: string | undefined
  fields: Readonly<Partial<Record<FieldName, FieldValue>>>
}>

/** Changes to the map of a format: its other fields stay. */
export type FeedMapChanges = Readonly<{ format?: undefined }> &
  Pick<FeedMap, 'encoding' | 'decimal' | 'newConditions'> &
  Readonly<{ fields?: FeedMap['fields'] | undefined }>

/**
 * A map of a format. If a network delivers several layouts of XML, each but the last one says by the first characters of a file
 * whether it is its own.
 */
export type Preset = FeedMap & Readonly<{ layout?: string; matchesHead?: (head: string) => boolean }>

/** Limits the work per row. */
const MAX_ALTERNATIVES = 50

const MAX_PATH_CHARACTERS = 500

const MAX_COLUMNS = 1_000

/** `a/b[@name=EAN]/c`, possibly with `@attribute` at the end. */
const XML_PATH = /^(?:[^/@[\]\s]+(?:\[@[^/@[\]=\s]+=[^[\]/]+\])?(?:\/(?!$)|$))*(?:@[^/@[\]\s]+)?$/

/** `a.b[0].c` */
const JSON_PATH = /^[^.[\]]+(?:\[\d{1,4}\])?(?:\.[^.[\]]+(?:\[\d{1,4}\])?)*$/

/** `a.b` */
const JSON_KEYS = /^[^.[\]]+(?:\.[^.[\]]+)*$/

const textSchema = string().trim().min(1).max(MAX_PATH_CHARACTERS)
const xmlPathSchema = textSchema.regex(XML_PATH)
const jsonPathSchema = textSchema.regex(JSON_PATH)
const jsonKeysSchema = textSchema.regex(JSON_KEYS)

function createFieldsSchema(pathSchema: typeof textSchema) {
  const alternativeSchema = union([pathSchema, strictObject({ value: textSchema })])
  const fieldSchema = union([alternativeSchema, array(alternativeSchema).min(1).max(MAX_ALTERNATIVES)])
  return strictObject(Object.fromEntries(FIELD_NAMES.map((name) => [name, fieldSchema.optional()])))
}

const commonShape = {
  encoding: textSchema.refine((label) => findEncoding(label) !== undefined).optional(),
  decimal: literal(['.', ',']).optional(),
  newConditions: array(textSchema).min(1).max(MAX_ALTERNATIVES).optional(),
}

const SHAPES = {
  table: {
    ...commonShape,
    format: literal('table'),
    delimiter: literal(DELIMITERS).optional(),
    columns: array(textSchema).min(1).max(MAX_COLUMNS).optional(),
    fields: createFieldsSchema(textSchema),
  },
  json: {
    ...commonShape,
    format: literal('json'),
    items: jsonKeysSchema.optional(),
    offers: jsonPathSchema.optional(),
    fields: createFieldsSchema(jsonPathSchema),
  },
  xml: {
    ...commonShape,
    format: literal('xml'),
    items: union([xmlPathSchema, array(xmlPathSchema).min(1).max(MAX_ALTERNATIVES)]),
    offers: xmlPathSchema.optional(),
    fields: createFieldsSchema(xmlPathSchema),
  },
}

const feedMapSchema = discriminatedUnion('format', [
  strictObject(SHAPES.table),
  strictObject(SHAPES.json),
  strictObject(SHAPES.xml),
])

/** The format is not known yet, so that `checkPaths` checks paths when the feed is read. */
const CHANGES_SHAPE = { ...commonShape, fields: createFieldsSchema(textSchema).optional() }

const changesSchema = strictObject(CHANGES_SHAPE)

const formatSchema = object({ format: literal(['table', 'json', 'xml']) })

/** What each key accepts, for messages. */
const ACCEPTED: ReadonlyMap<string, string> = new Map([
  ['format', '"table", "json" or "xml"; a map without it changes the detected format'],
  ['delimiter', '",", ";", "|" or "\\t"'],
  ['columns', 'a list of column names'],
  ['encoding', 'the name of an encoding, such as "windows-1252"'],
  ['decimal', '"." or ","'],
  ['newConditions', 'a list of words in the column of the condition that mean new'],
  ['items', 'a path, such as "products/product" in XML or "data.items" in JSON'],
  ['offers', 'a path within an item'],
  ['fields', `an object with ${FIELD_NAMES.join(', ')}`],
])

const ACCEPTED_FIELD = 'a column or path, a list of them, or {"value": "…"}'

/** @throws UsageError that names the wrong key and what it accepts. */
export function parseFeedMap(json: unknown): FeedMap | FeedMapChanges {
  const isWhole = typeof json === 'object' && json !== null && 'format' in json
  return isWhole ? parseWholeMap(json) : parseChanges(json)
}

function parseChanges(json: unknown): FeedMapChanges {
  const parsed = changesSchema.safeParse(json)
  if (!parsed.success) throw new UsageError(describeIssue(parsed.error.issues[0], json))
  if (Object.keys(parsed.data).length === 0) throw new UsageError('the column map is empty')
  return parsed.data
}

/** @throws UsageError for a path that the format does not have */
export function checkPaths(format: FeedMap['format'], { fields }: FeedMapChanges): void {
  const parsed = SHAPES[format].fields.safeParse(fields ?? {})
  const field = parsed.error?.issues[0]?.path[0]
  if (field !== undefined)
    throw new UsageError(`"fields.${String(field)}" of the column map accepts ${ACCEPTED_FIELD}`)
}

function parseWholeMap(json: unknown): FeedMap {
  const parsed = feedMapSchema.safeParse(json)
  if (!parsed.success) throw new UsageError(describeIssue(parsed.error.issues[0], json))
  const map = parsed.data as FeedMap
  const { gtin, title, price, salePrice, trackingLink, pageLink } = map.fields
  const required = { gtin, title, price: price ?? salePrice, trackingLink: trackingLink ?? pageLink }
  for (const [name, value] of Object.entries(required)) {
    if (value === undefined) throw new UsageError(`the column map needs "fields.${name}": ${ACCEPTED_FIELD}`)
  }
  return map
}

function describeIssue(issue: core.$ZodIssue | undefined, json: unknown): string {
  const path = issue?.path.map(String) ?? []
  if (issue?.code === 'unrecognized_keys') return describeUnknownKey([...path, issue.keys[0] ?? ''], json)
  const [key, field] = path
  if (key === undefined) return 'the column map is not a JSON object'
  return key === 'fields' && field !== undefined
    ? `"fields.${field}" of the column map accepts ${ACCEPTED_FIELD}`
    : `"${key}" of the column map accepts ${ACCEPTED.get(key)}`
}

function describeUnknownKey(path: readonly string[], json: unknown): string {
  const { format } = formatSchema.safeParse(json).data ?? {}
  const shape = format === undefined ? { format, ...CHANGES_SHAPE } : SHAPES[format]
  const isField = path[0] === 'fields' && path.length === 2
  const accepted = path.length > 2 ? ['value'] : isField ? FIELD_NAMES : Object.keys(shape)
  return `the column map has the unknown key "${path.join('.')}"; it accepts ${accepted.join(', ')}`
}

/** A field of the rows of one feed, resolved once from its column map. */
export type Field = Readonly<{
  /** Columns or paths with normalized names, of which the first non-empty one is used. */
  columns: readonly string[]
  /** The value without one; `''`: none. */
  value: string
  /** Return the value, trimmed; `''` without one. */
  read(row: SourceRow): string
  /** Return the value as plain text without markup; `undefined` when there is none. */
  findText(row: SourceRow): string | undefined
  /** Return the value on one line, cut after `MAX_NAME_CHARACTERS` and one more. */
  readName(row: SourceRow): string
  /** Return the name for a reject: the column that was read, else the first one. */
  describe(row?: SourceRow): string
}>

/** A column map, resolved for one feed. */
export type ColumnMap = Readonly<{
  fields: Readonly<Record<FieldName, Field>>
  /** Decimal sign of prices; `undefined`: detected for each price. */
  decimal: FeedMap['decimal']
  /** Currency of prices that name none; `''`: there must be one. */
  currency: string
  /** Words of the condition that mean new here, normalized. */
  newConditions: ReadonlySet<string>
  readAvailability(row: SourceRow): string
}>

/** How to read values that a feed leaves open. They replace those of a map. */
export type ValueSettings = Readonly<{ decimal?: FeedMap['decimal']; currency?: string | undefined }>

export function toColumnMap(map: FeedMap, format: string, settings: ValueSettings = {}): ColumnMap {
  const toKey = { table: toColumnName, xml: toXmlKey, json: (path: string) => path }[map.format]
  const fields = Object.fromEntries(
    FIELD_NAMES.map((name) => [name, createField(name, map.fields[name] ?? [], toKey)]),
  ) as Record<FieldName, Field>
  const readAvailability =
    format === 'awin-csv'
      ? toAwinAvailability
      : (row: SourceRow) => toAvailability(fields.availability.read(row))
  return {
    fields,
    decimal: settings.decimal ?? map.decimal,
    currency: settings.currency ?? '',
    newConditions: new Set(map.newConditions?.map(normalizeCondition)),
    readAvailability,
  }
}

function createField(name: FieldName, given: FieldValue, toKey: (path: string) => string): Field {
  const alternatives = typeof given === 'object' && 'length' in given ? given : [given]
  const columns: string[] = []
  let value = ''
  for (const alternative of alternatives) {
    if (typeof alternative === 'object') {
      value = alternative.value
      break
    }
    columns.push(toKey(alternative))
  }
  const read = (row: SourceRow): string => {
    for (const column of columns) {
      const text = row.read(column)
      if (text !== '') return text
    }
    return value
  }
  return {
    columns,
    value,
    read,
    readName: (row) => cleanText(read(row), MAX_NAME_CHARACTERS + 1),
    findText(row) {
      for (const column of columns) {
        const text = toFeedText(row.read(column))
        if (text !== '') return text
      }
      return value === '' ? undefined : value
    },
    describe: (row) =>
      columns.find((column) => row !== undefined && row.read(column) !== '') ?? columns[0] ?? name,
  }
}

/** A table without one of these has no usable row. Each needs one of its fields. */
const REQUIRED_FIELDS: readonly (readonly FieldName[])[] = [
  ['gtin'],
  ['title'],
  ['price', 'salePrice'],
  ['trackingLink', 'pageLink'],
]

/** Return the names of a required field of which the table has no column. */
export function findMissingColumns({ fields }: ColumnMap, header: ReadonlySet<string>): readonly string[] {
  for (const names of REQUIRED_FIELDS) {
    const sources = names.map((name) => fields[name])
    const columns = sources.flatMap((source) => source.columns)
    const isConstant = sources.some(({ value }) => value !== '')
    if (!isConstant && !columns.some((column) => header.has(column))) return columns
  }
  return []
}
