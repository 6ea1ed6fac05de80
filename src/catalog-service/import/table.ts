import { type Parser, parse } from 'csv-parse'
import { ImportError } from '../../errors.ts'
import type { Delimiter } from './formats.ts'
import { MAX_RAW_CHARACTERS } from './feed-product.ts'
import { type RowFault, type SourceRow, cutRaw, toColumnName } from './source-row.ts'

/** Most columns of a table; an Awin export with everything has about a hundred. */
const MAX_COLUMNS = 1_000

/** What Excel is told its delimiter with. */
const SEPARATOR_LINE = /^"?sep=.?"?\s*$/i

/** What a table is read with. `file` is for messages. */
export type TableOptions = Readonly<{
  file: string
  delimiter: Delimiter
  /** Are carriage returns alone line ends, too, as on old Macintoshes? */
  hasBareReturns: boolean
  /** A record above this, such as one behind a quote that nobody closed, ends the import. */
  maxRowBytes: number
}>

/** A record as it came, byte by byte: one character a byte. */
type Row = Readonly<{ record: readonly string[]; raw: string }>

/** Where a row stands in the file, from 1. */
type Place = Readonly<{ row: number; firstLine: number; lines: number }>

/** Columns by name; a name may stand above several. */
type Columns = Readonly<{
  count: number
  byName: ReadonlyMap<string, readonly number[]>
  delimiter: Delimiter
  /** The header as it came. */
  raw: string
}>

/**
 * The rows of a table in UTF-8, with memory for one piece of it and one record.
 * @yields the rows of each piece of the file, which may be none
 * @throws ImportError when a quoted cell does not end, a record is too long, or there are too many columns.
 */
export async function* readTable(
  chunks: AsyncIterable<Buffer>,
  options: TableOptions,
): AsyncGenerator<SourceRow[]> {
  let columns: Columns | undefined
  let row = 0
  let firstLine = 1
  for await (const records of splitRecords(chunks, options)) {
    const rows: SourceRow[] = []
    for (const { record, raw } of records) {
      row += 1
      const lines = countLines(raw)
      if (columns === undefined) {
        if (!isBlank(record) && !SEPARATOR_LINE.test(raw)) columns = readColumns({ record, raw }, options)
      } else if (!isBlank(record)) rows.push(toSourceRow({ record, raw }, { row, firstLine, lines }, columns))
      firstLine += lines
    }
    yield rows
  }
}

function isBlank(record: readonly string[]): boolean {
  return record.length === 1 && record[0]?.trim() === ''
}

/**
 * Records of a stream of bytes. Cells stay bytes, so that a row that is no UTF-8 is known.
 * @yields the records of each piece
 */
async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  { file, delimiter, hasBareReturns, maxRowBytes }: TableOptions,
): AsyncGenerator<readonly Row[]> {
  let rows: Row[] = []
  let pendingBytes = 0
  const parser = parse({
    delimiter,
    encoding: 'latin1',
    // Between tabs a line break always ends a row: a quote that nobody closed cannot take in the next one.
    quote: delimiter === '\t' ? null : '"',
    raw: true,
    record_delimiter: hasBareReturns ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    on_record: (row) => {
      // With `raw` a record comes in an object, which the types of csv-parse do not say.
      rows.push(row as unknown as Row)
      pendingBytes = 0
      return null
    },
  })
  parser.resume()
  // Every failure is also handed to the one who wrote.
  parser.on('error', () => {})
  const feed = async (chunk: Buffer | undefined): Promise<readonly Row[]> => {
    pendingBytes += chunk?.length ?? 0
    await write(parser, chunk).catch((error: unknown) => {
      throw toImportError(error, file)
    })
    if (pendingBytes > maxRowBytes)
      throw new ImportError(`${file}: a row is longer than ${maxRowBytes} bytes; is a quote not closed?`)
    const taken = rows
    rows = []
    return taken
  }
  for await (const chunk of chunks) yield await feed(chunk)
  yield await feed(undefined)
}

/** Settles when the parser has read the bytes, or all of them (`undefined`), or has failed. */
function write(parser: Parser, chunk: Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null): void => (error ? reject(error) : resolve())
    if (chunk === undefined) parser.end(settle)
    else parser.write(chunk, settle)
  })
}

function toImportError(error: unknown, file: string): ImportError {
  const isOpen = error instanceof Error && 'code' in error && error.code === 'CSV_QUOTE_NOT_CLOSED'
  const reason = isOpen
    ? 'a quoted cell is not closed; its row reaches to the end of the file'
    : String(error)
  return new ImportError(`${file} is no whole table: ${reason}`, { cause: error })
}

function readColumns({ record, raw }: Row, { file, delimiter }: TableOptions): Columns {
  const fault = delimiter === '\t' ? undefined : findQuoteFault({ raw, delimiter, columns: Infinity })
  if (fault !== undefined) throw new ImportError(`${file} is no whole table: in its first line ${fault}`)
  if (record.length > MAX_COLUMNS)
    throw new ImportError(`${file} has ${record.length} columns; at most ${MAX_COLUMNS} are read`)
  const byName = new Map<string, number[]>()
  for (const [index, cell] of record.entries()) {
    const name = toColumnName(readCell(cell, delimiter) ?? cell)
    byName.set(name, [...(byName.get(name) ?? []), index])
  }
  return { count: record.length, byName, delimiter, raw }
}

function toSourceRow({ record, raw }: Row, place: Place, columns: Columns): SourceRow {
  const cells = record.map((cell) => readCell(cell, columns.delimiter))
  const readAll = (name: string): readonly string[] => {
    const indexes = columns.byName.get(name) ?? []
    return indexes.map((index) => cells[index]?.trim() ?? '').filter((text) => text !== '')
  }
  return {
    row: place.row,
    bytes: raw.length,
    fault: findFault({ cells, raw }, place, columns),
    hasLists: true,
    read: (name) => readAll(name)[0] ?? '',
    readAll,
    describe: () => describeRaw(raw),
    getContent: () => columns.raw + raw,
  }
}

/** Four bytes are a character at most, so that these are enough. */
function describeRaw(raw: string): string {
  return cutRaw(
    Buffer.from(raw.slice(0, MAX_RAW_CHARACTERS * 4), 'latin1')
      .toString('utf8')
      .trimEnd(),
  )
}

type Cells = Readonly<{ cells: readonly (string | undefined)[]; raw: string }>

function findFault(row: Cells, place: Place, { count, delimiter }: Columns): RowFault | undefined {
  const reason = findQuoteFaultOf(row.raw, place, { count, delimiter }) ?? findCellFault(row.cells, count)
  return reason === undefined ? undefined : { field: 'row', reason }
}

/** Names the lines: each of them may be a row that is lost. */
function findQuoteFaultOf(
  raw: string,
  { firstLine, lines }: Place,
  { count, delimiter }: Pick<Columns, 'count' | 'delimiter'>,
): string | undefined {
  const fault = delimiter === '\t' ? undefined : findQuoteFault({ raw, delimiter, columns: count })
  if (fault === undefined || lines === 1) return fault
  return `${fault}; lines ${firstLine} to ${firstLine + lines - 1} of the file are left out`
}

function findCellFault(cells: Cells['cells'], count: number): string | undefined {
  if (cells.length !== count) return `has ${cells.length} cells, the header has ${count}`
  if (cells.includes(undefined)) return 'not UTF-8'
  return cells.some((cell) => cell?.includes('\u0000')) ? 'holds the character U+0000' : undefined
}

function readCell(cell: string, delimiter: Delimiter): string | undefined {
  return decode(delimiter === '\t' ? unquoteCell(cell) : cell)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes as text; `undefined` when they are no UTF-8. */
function decode(cell: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  if (/^[\u0000-\u007f]*$/.test(cell)) return cell
  try {
    return decoder.decode(Buffer.from(cell, 'latin1'))
  } catch {
    return undefined
  }
}

/** A record of a table as it came, with its line end perhaps, and how many columns the table has. */
export type RawRecord = Readonly<{ raw: string; delimiter: Delimiter; columns: number }>

/**
 * Why a record may be more than one row of the file; `undefined` when it is surely one. A quote too many takes in whatever
 * comes up to the next quote, so that a product gets the price and the link of another row:
 * - a cell that begins with a quote must end with one, in front of a delimiter or the end of the line (RFC 4180)
 * - when each of its lines has delimiters enough for a row of its own, two inch marks look like a cell with line breaks
 */
export function findQuoteFault({ raw, delimiter, columns }: RawRecord): string | undefined {
  if (!raw.includes('"')) return undefined
  const text = raw.replace(/(?:\r\n|\n|\r)$/, '')
  if (!isWellQuoted(text, delimiter)) return 'a cell begins with a quote that is not closed'
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '')
  const isSuspicious = lines.length > 1 && lines.every((line) => line.split(delimiter).length >= columns)
  return isSuspicious ? 'a cell in quotes reaches over lines that look like rows of their own' : undefined
}

/** Lines that a record takes in the file; without quotes it is one. */
export function countLines(raw: string): number {
  if (!raw.includes('"')) return 1
  return raw.replace(/(?:\r\n|\n|\r)$/, '').split(/\r\n|\n|\r/).length
}

function isWellQuoted(text: string, delimiter: Delimiter): boolean {
  let at = 0
  while (at < text.length) {
    if (text[at] === '"') {
      const end = findQuoteEnd(text, at + 1)
      if (end === text.length) return true
      if (end === undefined || text[end] !== delimiter) return false
      at = end + 1
    } else {
      const end = text.indexOf(delimiter, at)
      if (end === -1) return true
      at = end + 1
    }
  }
  return true
}

/** Where a cell in quotes ends, behind its last quote. Two quotes are a quote in it. */
function findQuoteEnd(text: string, start: number): number | undefined {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1
  }
  return undefined
}

/** A cell of a table with tabs, where quotes stand around whole cells or mean nothing. */
export function unquoteCell(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const inside = cell.slice(1, -1)
  return inside.replaceAll('""', '').includes('"') ? cell : inside.replaceAll('""', '"')
}
