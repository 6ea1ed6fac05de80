import { MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { cleanText } from '../../offers/text.ts'
import { toAvailability, toAwinAvailability } from './availability.ts'
import { normalizeCondition } from './condition.ts'
import type { FeedMap, FieldName, FieldValue } from './feed-map.ts'
import { FIELD_NAMES } from './feed-map.ts'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { toFeedText } from './feed-text.ts'
import { toXmlKey } from './xml-paths.ts'

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
