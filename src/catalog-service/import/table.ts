import { type Parser, parse } from 'csv-parse'
import { ImportError } from '../../errors.ts'
import type { Delimiter } from './formats.ts'
import { MAX_RAW_CHARACTERS, MAX_ROW_BYTES, type SourceRow, truncateRaw, toColumnName } from './feed-row.ts'

/** Most columns of a table; an Awin export with everything has about a hundred. */
const MAX_COLUMNS = 1_000

const SEPARATOR_LINE = /^"?sep=.?"?\s*$/i

export type TableOptions = Readonly<{
  file: string
  delimiter: Delimiter
  /** Are carriage returns alone line ends, too, as on old Macintoshes? */
  hasBareCarriageReturns: boolean
}>

/** A record as it came, byte by byte: one character a byte. */
type TableRecord = Readonly<{ record: readonly string[]; raw: string }>

/** Columns by name; a name may stand above several. `header`: as it came. */
type TableColumns = Readonly<{
  count: number
  byName: ReadonlyMap<string, readonly number[]>
  delimiter: Delimiter
  header: string
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
  let columns: TableColumns | undefined
  let [row, firstLine] = [0, 1]
  for await (const records of splitRecords(chunks, options)) {
    const rows: SourceRow[] = []
    for (const { record, raw } of records) {
      // Without quotes a record is one line.
      const lines = raw.includes('"') ? splitLines(raw).length : 1
      const location = { row: (row += 1), firstLine, lines }
      firstLine += lines
      if (record.length === 1 && record[0]?.trim() === '') continue
      if (columns !== undefined) rows.push(toSourceRow({ record, raw }, location, columns))
      else if (!SEPARATOR_LINE.test(raw)) columns = readColumns({ record, raw }, options)
    }
    yield rows
  }
}

/**
 * Records of a stream of bytes. Cells stay bytes, so that a row that is no UTF-8 is known.
 * @yields the records of each piece
 */
async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  { file, delimiter, hasBareCarriageReturns }: TableOptions,
): AsyncGenerator<readonly TableRecord[]> {
  let rows: TableRecord[] = []
  let pendingBytes = 0
  const parser = parse({
    delimiter,
    encoding: 'latin1',
    // Between tabs a line break always ends a row: a quote that nobody closed cannot take in the next one.
    quote: delimiter === '\t' ? null : '"',
    raw: true,
    record_delimiter: hasBareCarriageReturns ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    on_record: (row) => {
      // With `raw` a record comes in an object, which the types of csv-parse do not say.
      rows.push(row as unknown as TableRecord)
      pendingBytes = 0
      return null
    },
  })
  parser.resume()
  // Every failure is also handed to the one who wrote.
  parser.on('error', () => {})
  const parseChunk = async (chunk: Buffer | undefined): Promise<readonly TableRecord[]> => {
    pendingBytes += chunk?.length ?? 0
    await writeChunk(parser, chunk, file)
    // A quote that nobody closed takes in all that follows.
    if (pendingBytes > MAX_ROW_BYTES)
      throw new ImportError(`${file}: a row is longer than ${MAX_ROW_BYTES} bytes; is a quote not closed?`)
    const records = rows
    rows = []
    return records
  }
  for await (const chunk of chunks) yield await parseChunk(chunk)
  yield await parseChunk(undefined)
}

/** Resolve when the parser has read the bytes, or all of them (`undefined`). @throws ImportError when it fails. */
function writeChunk(parser: Parser, chunk: Buffer | undefined, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null): void => {
      if (!error) return resolve()
      const isUnclosed = 'code' in error && error.code === 'CSV_QUOTE_NOT_CLOSED'
      const reason = isUnclosed
        ? 'a quoted cell is not closed; its row reaches to the end of the file'
        : error
      reject(new ImportError(`${file} is no whole table: ${String(reason)}`, { cause: error }))
    }
    if (chunk === undefined) parser.end(settle)
    else parser.write(chunk, settle)
  })
}

function readColumns({ record, raw }: TableRecord, { file, delimiter }: TableOptions): TableColumns {
  const problem = findQuoteProblem(raw, delimiter, Infinity)
  if (problem !== undefined) throw new ImportError(`${file} is no whole table: in its first line ${problem}`)
  if (record.length > MAX_COLUMNS)
    throw new ImportError(`${file} has ${record.length} columns; at most ${MAX_COLUMNS} are read`)
  const byName = new Map<string, number[]>()
  for (const [index, cell] of record.entries()) {
    const name = toColumnName(readCell(cell, delimiter) ?? cell)
    byName.set(name, [...(byName.get(name) ?? []), index])
  }
  return { count: record.length, byName, delimiter, header: raw }
}

type RowLocation = Readonly<{ row: number; firstLine: number; lines: number }>

function toSourceRow({ record, raw }: TableRecord, location: RowLocation, columns: TableColumns): SourceRow {
  const cells = record.map((cell) => readCell(cell, columns.delimiter))
  const readAll = (name: string): readonly string[] => {
    const indexes = columns.byName.get(name) ?? []
    return indexes.map((index) => cells[index]?.trim() ?? '').filter((text) => text !== '')
  }
  const problem = findRowProblem(raw, cells, location, columns)
  return {
    row: location.row,
    bytes: raw.length,
    problem: problem === undefined ? undefined : { field: 'row', reason: problem },
    hasLists: true,
    read: (name) => readAll(name)[0] ?? '',
    readAll,
    // Four bytes are a character at most, so that these are enough.
    toRawText: () =>
      truncateRaw(
        Buffer.from(raw.slice(0, MAX_RAW_CHARACTERS * 4), 'latin1')
          .toString()
          .trimEnd(),
      ),
    getContent: () => columns.header + raw,
  }
}

function findRowProblem(
  raw: string,
  cells: readonly (string | undefined)[],
  { firstLine, lines }: RowLocation,
  { delimiter, count }: TableColumns,
): string | undefined {
  const problem = findQuoteProblem(raw, delimiter, count)
  // Each of the lines may be a row that is lost.
  if (problem !== undefined && lines > 1)
    return `${problem}; lines ${firstLine} to ${firstLine + lines - 1} of the file are left out`
  if (problem !== undefined) return problem
  if (cells.length !== count) return `has ${cells.length} cells, the header has ${count}`
  if (cells.includes(undefined)) return 'not UTF-8'
  return cells.some((cell) => cell?.includes('\u0000')) ? 'holds the character U+0000' : undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The bytes of a cell as text; `undefined` when they are no UTF-8. */
function readCell(bytes: string, delimiter: Delimiter): string | undefined {
  const cell = delimiter === '\t' ? unquoteCell(bytes) : bytes
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  if (/^[\u0000-\u007f]*$/.test(cell)) return cell
  try {
    return decoder.decode(Buffer.from(cell, 'latin1'))
  } catch {
    return undefined
  }
}

/** A cell of a table with tabs, where quotes stand around whole cells or mean nothing. */
function unquoteCell(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const inside = cell.slice(1, -1)
  return inside.replaceAll('""', '').includes('"') ? cell : inside.replaceAll('""', '"')
}

const LAST_LINE_END = /(?:\r\n|\n|\r)$/

/** The lines that a record takes in the file. */
function splitLines(raw: string): string[] {
  return raw.replace(LAST_LINE_END, '').split(/\r\n|\n|\r/)
}

/**
 * Why a record may be more than one row of the file; `undefined` when it is surely one. A quote too many takes in whatever
 * comes up to the next quote, so that a product gets the price and the link of another row:
 * - a cell that begins with a quote must end with one, in front of a delimiter or the end of the line (RFC 4180)
 * - when each of its lines has delimiters enough for a row of its own, two inch marks look like a cell with line breaks
 */
function findQuoteProblem(raw: string, delimiter: Delimiter, columns: number): string | undefined {
  if (delimiter === '\t' || !raw.includes('"')) return undefined
  if (!isQuotedCorrectly(raw.replace(LAST_LINE_END, ''), delimiter))
    return 'a cell begins with a quote that is not closed'
  const lines = splitLines(raw).filter((line) => line.trim() !== '')
  const isSuspicious = lines.length > 1 && lines.every((line) => line.split(delimiter).length >= columns)
  return isSuspicious ? 'a cell in quotes reaches over lines that look like rows of their own' : undefined
}

function isQuotedCorrectly(text: string, delimiter: Delimiter): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const end = text[at] === '"' ? findQuoteEnd(text, at + 1) : text.indexOf(delimiter, at)
    if (end === -1) return text[at] !== '"'
    if (end === text.length) return true
    if (text[end] !== delimiter) return false
    at = end
  }
  return true
}

/** Where a cell in quotes ends, behind its last quote; -1: nowhere. Two quotes are a quote in it. */
function findQuoteEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1
  }
  return -1
}
