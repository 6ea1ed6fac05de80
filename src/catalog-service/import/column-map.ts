import { toAvailability, toAwinAvailability } from './availability.ts'
import { normalizeCondition } from './condition.ts'
import type { FeedMap, FieldName, FieldValue } from './feed-map.ts'
import { FIELD_NAMES } from './feed-map.ts'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { toXmlKey } from './xml-paths.ts'

/** Columns or paths of a field, of which the first non-empty one is used, and the value without one. */
export type FieldSource = Readonly<{ columns: readonly string[]; value: string }>

/** A column map with normalized names. */
export type ColumnMap = Readonly<{
  fields: Readonly<Record<FieldName, FieldSource>>
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
    FIELD_NAMES.map((name) => [name, toFieldSource(map.fields[name] ?? [], toKey)]),
  ) as Record<FieldName, FieldSource>
  const readAvailability =
    format === 'awin-csv'
      ? toAwinAvailability
      : (row: SourceRow) => toAvailability(readSource(row, fields.availability))
  return {
    fields,
    decimal: settings.decimal ?? map.decimal,
    currency: settings.currency ?? '',
    newConditions: new Set(map.newConditions?.map(normalizeCondition)),
    readAvailability,
  }
}

function toFieldSource(value: FieldValue, toKey: (path: string) => string): FieldSource {
  const alternatives = typeof value === 'object' && 'length' in value ? value : [value]
  const columns: string[] = []
  for (const alternative of alternatives) {
    if (typeof alternative === 'object') return { columns, value: alternative.value }
    columns.push(toKey(alternative))
  }
  return { columns, value: '' }
}

export function readSource(row: SourceRow, source: FieldSource): string {
  for (const column of source.columns) {
    const text = row.read(column)
    if (text !== '') return text
  }
  return source.value
}

/** Return the name of a field for a reject: the column that was read, else the first one. */
export function describeField({ fields }: ColumnMap, name: FieldName, row?: SourceRow): string {
  const { columns } = fields[name]
  return columns.find((column) => row !== undefined && row.read(column) !== '') ?? columns[0] ?? name
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
