import { type Parser, parse } from 'csv-parse'
import { ImportError } from '../../errors.ts'
import type { Delimiter } from './formats.ts'
import { MAX_RAW_CHARACTERS, MAX_ROW_BYTES, type SourceRow, truncateRaw, toColumnName } from './feed-row.ts'

const MAX_COLUMNS = 1_000

const SEPARATOR_LINE = /^"?sep=.?"?\s*$/i

export type TableOptions = Readonly<{
  file: string
  delimiter: Delimiter
  /** Whether a carriage return alone ends a line, as on classic Mac OS. */
  hasBareCarriageReturns: boolean
}>

/** A record in Latin-1, so that each character is one byte of the file. */
type TableRecord = Readonly<{ record: readonly string[]; raw: string }>

/** Columns by name; several columns may have the same name. `header`: the unchanged line. */
type TableColumns = Readonly<{
  count: number
  byName: ReadonlyMap<string, readonly number[]>
  delimiter: Delimiter
  header: string
}>

/**
 * Read a table in UTF-8. Memory is bounded by one chunk and one record.
 * @yields the rows of each chunk of the file, which may be none
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

/** @yields the records of each chunk, as undecoded bytes, so that invalid UTF-8 can be detected per row */
async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  { file, delimiter, hasBareCarriageReturns }: TableOptions,
): AsyncGenerator<readonly TableRecord[]> {
  let rows: TableRecord[] = []
  let pendingBytes = 0
  const parser = parse({
    delimiter,
    encoding: 'latin1',
    // In a tab-separated table a line break always ends a row, so an open quote cannot absorb the next row.
    quote: delimiter === '\t' ? null : '"',
    raw: true,
    record_delimiter: hasBareCarriageReturns ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    on_record: (row) => {
      // With `raw`, csv-parse passes an object; its types do not declare that.
      rows.push(row as unknown as TableRecord)
      pendingBytes = 0
      return null
    },
  })
  parser.resume()
  // Errors are also passed to the callback of `write`.
  parser.on('error', () => {})
  const parseChunk = async (chunk: Buffer | undefined): Promise<readonly TableRecord[]> => {
    pendingBytes += chunk?.length ?? 0
    await writeChunk(parser, chunk, file)
    if (pendingBytes > MAX_ROW_BYTES)
      throw new ImportError(`${file}: a row is longer than ${MAX_ROW_BYTES} bytes; is a quote not closed?`)
    const records = rows
    rows = []
    return records
  }
  for await (const chunk of chunks) yield await parseChunk(chunk)
  yield await parseChunk(undefined)
}

/** Resolve when the parser has processed the chunk, or has ended (`undefined`). @throws ImportError when it fails. */
function writeChunk(parser: Parser, chunk: Buffer | undefined, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null): void => {
      if (!error) return resolve()
      const isUnclosed = 'code' in error && error.code === 'CSV_QUOTE_NOT_CLOSED'
      const reason = isUnclosed
        ? 'a quoted cell is not closed; its row extends to the end of the file'
        : error
      reject(new ImportError(`${file} is not a valid table: ${String(reason)}`, { cause: error }))
    }
    if (chunk === undefined) parser.end(settle)
    else parser.write(chunk, settle)
  })
}

function readColumns({ record, raw }: TableRecord, { file, delimiter }: TableOptions): TableColumns {
  const problem = findQuoteProblem(raw, delimiter, Infinity)
  if (problem !== undefined)
    throw new ImportError(`${file} is not a valid table: in its first line ${problem}`)
  if (record.length > MAX_COLUMNS)
    throw new ImportError(`${file} has ${record.length} columns; at most ${MAX_COLUMNS} are supported`)
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
    // A character has at most four bytes in UTF-8.
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
  // Each of these lines may be a lost row, so name them.
  if (problem !== undefined && lines > 1)
    return `${problem}; lines ${firstLine} to ${firstLine + lines - 1} of the file are left out`
  if (problem !== undefined) return problem
  if (cells.length !== count) return `has ${cells.length} cells, the header has ${count}`
  if (cells.includes(undefined)) return 'not UTF-8'
  return cells.some((cell) => cell?.includes('\u0000')) ? 'contains the character U+0000' : undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decode the bytes of a cell; `undefined` for invalid UTF-8. */
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

/** Unquote a cell of a tab-separated table. Quotes count only when they enclose the whole cell. */
function unquoteCell(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const inside = cell.slice(1, -1)
  return inside.replaceAll('""', '').includes('"') ? cell : inside.replaceAll('""', '"')
}

const LAST_LINE_END = /(?:\r\n|\n|\r)$/

function splitLines(raw: string): string[] {
  return raw.replace(LAST_LINE_END, '').split(/\r\n|\n|\r/)
}

/**
 * Return why a record may be several rows, of which a stray quote made one: it would mix the price and link of two products.
 * - a cell begins with a quote but does not end with one before a delimiter or line end (RFC 4180)
 * - each of the record's lines has enough delimiters for a separate row: two inch marks look like a quoted cell
 */
function findQuoteProblem(raw: string, delimiter: Delimiter, columns: number): string | undefined {
  if (delimiter === '\t' || !raw.includes('"')) return undefined
  if (!isQuotedCorrectly(raw.replace(LAST_LINE_END, ''), delimiter))
    return 'a cell begins with a quote that is not closed'
  const lines = splitLines(raw).filter((line) => line.trim() !== '')
  const isSuspicious = lines.length > 1 && lines.every((line) => line.split(delimiter).length >= columns)
  return isSuspicious ? 'a quoted cell spans lines that look like separate rows' : undefined
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

/** Return the index after the closing quote of a cell; -1 when it is not closed. Two quotes are an escaped quote. */
function findQuoteEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1
  }
  return -1
}
