import type { FeedProduct, ParsedRow, RowNames } from './feed-product.ts'
import { collectRefusals } from './refusals.ts'

/** Why nothing of a row can be used. */
export type RowFault = Readonly<{ field: string; reason: string }>

/** A record of a table or an item of an XML feed. Names are those of `toColumnName`. */
export type SourceRow = Readonly<{
  /** From 1; the header of a table is 1. */
  row: number
  /** Its size, roughly, for batches of even weight. */
  bytes: number
  /** Why nothing of it can be used; `undefined` when it can be read. */
  fault: RowFault | undefined
  /** May one value be a list of addresses with commas between them? Elements of XML repeat instead. */
  hasLists: boolean
  /** The first value under the name that is not empty, without white space around; `''` when there is none. */
  read(name: string): string
  /** Every value under the name that is not empty, without white space around. */
  readAll(name: string): readonly string[]
  /** The row as it came, for the rejects file: at most `MAX_RAW_CHARACTERS`. */
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
  const refusals = collectRefusals(row.row)
  let raw: string | undefined
  const describe = (): string => (raw ??= row.describe())
  const refuse = (field: string, reason: string): undefined => {
    refusals.add(field, reason, describe)
  }
  const product =
    row.fault === undefined ? mapper({ row, context, refuse }) : refuse(row.fault.field, row.fault.reason)
  return { product, rejects: refusals.list() }
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
