import { hash } from 'node:crypto'
import { findGtin } from '../../offers/gtin.ts'
import { trimCode } from './feed-gtin.ts'
import {
  type FeedProduct,
  type FeedRow,
  MAX_RAW_CHARACTERS,
  type ParsedRow,
  type Reject,
  type RowNames,
} from './feed-product.ts'

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
  /** All that the row says, and the names of its columns. */
  getContent(): string
}>

/** What rows are read with. `salt` stands for it in digests. */
export type RowContext = Readonly<{ names: RowNames; nowMs: number; salt: string }>

/** One row being read. */
export type RowTask = Readonly<{
  row: SourceRow
  context: RowContext
  /** Writes a reject down and answers `undefined`, so that a reader can return it. */
  refuse(field: string, reason: string): undefined
  /** Says that the row gives something else on another day. */
  noteTime(): void
}>

/** How rows of a feed are read. */
export type RowMapper = Readonly<{
  /** Columns of the GTIN, the best first. */
  gtins: readonly string[]
  /** Make the product of a row; `undefined` when it has said by `refuse` why there is none. */
  map(task: RowTask): FeedProduct | undefined
}>

/** Return the row as one that is read only when it is not known. */
export function toFeedRow(row: SourceRow, mapper: RowMapper, context: RowContext): FeedRow {
  return {
    row: row.row,
    bytes: row.bytes,
    guessGtin() {
      const code = mapper.gtins.map((field) => row.read(field)).find((text) => text !== '')
      return code === undefined ? undefined : findGtin(trimCode(code))
    },
    computeDigest: () => computeDigest(context.salt, row.getContent()),
    parse: () => parseSourceRow(row, mapper, context),
  }
}

function parseSourceRow(row: SourceRow, mapper: RowMapper, context: RowContext): ParsedRow {
  const refusals = collectRefusals(row.row)
  let raw: string | undefined
  let isTimed = false
  const describe = (): string => (raw ??= row.describe())
  const refuse = (field: string, reason: string): undefined => refusals.add(field, reason, describe)
  const noteTime = (): void => {
    isTimed = true
  }
  const product =
    row.fault === undefined
      ? mapper.map({ row, context, refuse, noteTime })
      : refuse(row.fault.field, row.fault.reason)
  return { product, rejects: refusals.list(), isTimed }
}

/** Characters of a digest: 132 bits of it. */
const DIGEST_CHARACTERS = 22

/** Return the digest of a row's content. */
export function computeDigest(salt: string, content: string | Buffer): string {
  return salt + hash('sha256', content, 'base64url').slice(0, DIGEST_CHARACTERS)
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

/** Faults of one row that get a line each. */
const MAX_REFUSALS = 20

/** The rejects of one row being read. */
export type Refusals = Readonly<{
  /** Writes a reject down; beyond twenty it is only counted. `describe` is called for those that are written. */
  add(field: string, reason: string, describe: () => string): undefined
  /** All of them, and how many there are more. */
  list(): readonly Reject[]
}>

/** Collects the rejects of the row: a row of eight megabytes must not become a file of gigabytes. */
export function collectRefusals(row: number): Refusals {
  const rejects: Reject[] = []
  let more = 0
  return {
    add(field, reason, describe) {
      if (rejects.length < MAX_REFUSALS) rejects.push({ row, field, reason, raw: describe() })
      else more += 1
    },
    list() {
      if (more === 0) return rejects
      const [first] = rejects
      return [...rejects, { row, field: 'row', reason: `and ${more} more`, raw: first?.raw ?? '' }]
    },
  }
}

/** Cut a text to what a reject shows. It is a copy: a piece of a long text would keep all of that in memory. */
export function cutRaw(text: string): string {
  return Buffer.from(text.slice(0, MAX_RAW_CHARACTERS), 'utf16le').toString('utf16le')
}
