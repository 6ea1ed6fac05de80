import {
  type FeedProduct,
  MAX_RAW_CHARACTERS,
  type ParsedRow,
  type Reject,
  type RowNames,
} from './feed-product.ts'

/** A record of a table or an item of an XML feed. Names are those of `toColumnName`. */
export type SourceRow = Readonly<{
  /** From 1; the header of a table is 1. */
  row: number
  /** Its size, roughly, for batches of even weight. */
  bytes: number
  /** Why nothing of it can be used; `undefined` when it can be read. */
  fault: string | undefined
  /** The first value under the name that is not empty, without white space around; `''` when there is none. */
  read(name: string): string
  /** Every value under the name that is not empty, without white space around. */
  readAll(name: string): readonly string[]
  /** The row as it came, for the rejects file. */
  describe(): string
}>

/** What rows are read with. */
export type RowContext = Readonly<{
  names: RowNames
  nowMs: number
  /** Called for each offer whose shop is named after the host of its link. */
  noteLinkMerchant(): void
}>

/** One row being read. */
export type RowTask = Readonly<{
  row: SourceRow
  context: RowContext
  /** Writes a reject down and answers `undefined`, so that a reader can return it. */
  refuse(field: string, reason: string): undefined
}>

/** Makes a product of a row; `undefined` when it has said by `refuse` why there is none. */
export type RowMapper = (task: RowTask) => FeedProduct | undefined

/** Reads one row. Never throws: what cannot be used is a reject. */
export function readSourceRow(row: SourceRow, mapper: RowMapper, context: RowContext): ParsedRow {
  const rejects: Reject[] = []
  const refuse = (field: string, reason: string): undefined => {
    rejects.push({ row: row.row, field, reason, raw: row.describe().slice(0, MAX_RAW_CHARACTERS) })
  }
  if (row.fault !== undefined) return { product: refuse('row', row.fault), rejects }
  return { product: mapper({ row, context, refuse }), rejects }
}

/** `image_link` from `g:image link`, `Image_Link` and ` IMAGE LINK `: the names of columns and elements are written freely. */
export function toColumnName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^g:/, '')
    .trim()
    .replace(/[\s_]+/g, '_')
}
