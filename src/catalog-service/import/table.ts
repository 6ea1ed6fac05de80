import { type Parser, parse } from 'csv-parse'
import { ImportError } from '../../errors.ts'
import type { Delimiter } from './column-map.ts'
import { MAX_RAW_CHARACTERS, MAX_ROW_BYTES, type SourceRow, truncateRaw, toColumnName } from './feed-row.ts'

const MAX_COLUMNS = 1_000

/** A line that tells spreadsheets the delimiter. */
export const SEPARATOR_LINE = /^"?sep=.?"?\s*$/i

export type TableOptions = Readonly<{
  file: string
  delimiter: Delimiter
  /** Lines before the header that are no part of the table. */
  skippedLines?: number | undefined
  /** Whether a carriage return alone ends a line, as on classic Mac OS. */
  hasBareCarriageReturns: boolean
  /** Names of the columns of a table without a header. */
  columnNames?: readonly string[] | undefined
  /**
   * Rows of Rakuten: between a line `HDR` and a line `TRL`, without quotes, and with more cells than there are names. A file
   * without its last line is not complete.
   */
  isFramed?: boolean | undefined
  /** Check the normalized names of the header. @throws ImportError */
  checkHeader?: ((names: ReadonlySet<string>) => void) | undefined
}>

/**
 * - `csv`: RFC 4180
 * - `whole`: only quotes around the whole cell, which cannot contain line breaks; for tab-separated tables
 */
type Quoting = 'csv' | 'whole' | 'none'

/** A record in Latin-1, so that each character is one byte of the file. */
type TableRecord = Readonly<{ record: readonly string[]; raw: string }>

/** Columns by name; several columns may have the same name. `header`: the unchanged line. */
type TableColumns = Readonly<{
  count: number
  byName: ReadonlyMap<string, readonly number[]>
  delimiter: Delimiter
  quoting: Quoting
  isFramed: boolean
  header: string
}>

/**
 * Read a table in UTF-8. Memory is bounded by one chunk and one record.
 * @yields the rows of each chunk of the file, which may be none
 * @throws ImportError when a quoted cell does not end, a record is too long, there are too many columns, or the file ends within
 * a row.
 */
export async function* readTable(
  chunks: AsyncIterable<Buffer>,
  options: TableOptions,
): AsyncGenerator<SourceRow[]> {
  const tableReader = createTableReader(options)
  for await (const records of splitRecords(chunks, options)) {
    const rows: SourceRow[] = []
    for (const record of records) tableReader.read(record, rows)
    yield rows
  }
  tableReader.close()
}

function createTableReader(options: TableOptions) {
  const { file, isFramed = false, columnNames, skippedLines = 0 } = options
  let columns = columnNames === undefined ? undefined : toColumns(columnNames, '', options)
  let [row, firstLine, isEnded] = [0, 1, false]
  /** Return whether the record is the first or last line of a framed table. */
  const isFrame = ({ record }: TableRecord): boolean => {
    if (isEnded) throw new ImportError(`${file} has rows after its TRL line`)
    isEnded = isFramed && record[0]?.trim() === 'TRL'
    return isEnded || (isFramed && row === 1)
  }
  return {
    read(record: TableRecord, rows: SourceRow[]): void {
      const { raw } = record
      const lines = raw.includes('"') ? splitLines(raw).length : 1
      const location = { row: (row += 1), firstLine, lines }
      firstLine += lines
      if (isBlank(record) || isFrame(record) || location.firstLine <= skippedLines) return
      if (columns === undefined) {
        if (!SEPARATOR_LINE.test(raw)) columns = readHeader(record, options)
        return
      }
      throwIfCut(record, columns, file)
      rows.push(toSourceRow(record, location, columns))
    },
    close(): void {
      if (isFramed && !isEnded)
        throw new ImportError(`${file} has no TRL line at its end: it is not complete`)
    },
  }
}

function isBlank({ record }: TableRecord): boolean {
  return record.length === 1 && record[0]?.trim() === ''
}

const LAST_LINE_END = /(?:\r\n|\n|\r)$/

/** Only the last row can have no line end. With all its cells it is complete. */
function throwIfCut({ record, raw }: TableRecord, { count }: TableColumns, file: string): void {
  if (record.length < count && !LAST_LINE_END.test(raw))
    throw new ImportError(`${file} ends in the middle of a row: it is not complete`)
}

function findQuoting({ delimiter, isFramed }: TableOptions): Quoting {
  if (isFramed === true) return 'none'
  return delimiter === '\t' ? 'whole' : 'csv'
}

/** @yields the records of each chunk, as undecoded bytes, so that invalid UTF-8 can be detected per row */
async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  options: TableOptions,
): AsyncGenerator<readonly TableRecord[]> {
  const { file, delimiter, hasBareCarriageReturns } = options
  let rows: TableRecord[] = []
  let pendingBytes = 0
  const parser = parse({
    delimiter,
    encoding: 'latin1',
    // Where a line break always ends a row, an open quote cannot absorb the next row.
    quote: findQuoting(options) === 'csv' ? '"' : null,
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
        ? `a quoted cell is not closed: row ${parser.info.records + 1} extends to the end of the file`
        : error
      reject(new ImportError(`${file} is not a valid table: ${String(reason)}`, { cause: error }))
    }
    if (chunk === undefined) parser.end(settle)
    else parser.write(chunk, settle)
  })
}

function readHeader(header: TableRecord, options: TableOptions): TableColumns {
  const { file, checkHeader } = options
  const quoting = findQuoting(options)
  const names = header.record.map((cell) => readCell(cell, quoting) ?? cell)
  const columns = toColumns(names, header.raw, options)
  const problem = findQuoteProblem(header.raw, columns, Infinity)
  if (problem !== undefined)
    throw new ImportError(`${file} is not a valid table: in its first line ${problem}`)
  if (columns.count > MAX_COLUMNS)
    throw new ImportError(`${file} has ${columns.count} columns; at most ${MAX_COLUMNS} are supported`)
  checkHeader?.(new Set(columns.byName.keys()))
  return columns
}

function toColumns(names: readonly string[], header: string, options: TableOptions): TableColumns {
  const byName = new Map<string, number[]>()
  for (const [index, text] of names.entries()) {
    const name = toColumnName(text)
    byName.set(name, [...(byName.get(name) ?? []), index])
  }
  const { delimiter, isFramed = false } = options
  return { count: names.length, byName, delimiter, quoting: findQuoting(options), isFramed, header }
}

type RowLocation = Readonly<{ row: number; firstLine: number; lines: number }>

function toSourceRow({ record, raw }: TableRecord, location: RowLocation, columns: TableColumns): SourceRow {
  const cells = record.map((cell) => readCell(cell, columns.quoting))
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
    read(name) {
      for (const index of columns.byName.get(name) ?? []) {
        const text = cells[index]?.trim() ?? ''
        if (text !== '') return text
      }
      return ''
    },
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
  columns: TableColumns,
): string | undefined {
  const { count, header, isFramed } = columns
  const problem = findQuoteProblem(raw, columns, count)
  // Each of these lines may be a lost row, so name them.
  if (problem !== undefined && lines > 1)
    return `${problem}; lines ${firstLine} to ${firstLine + lines - 1} of the file are left out`
  if (problem !== undefined) return problem
  if (cells.length < count || (cells.length > count && !isFramed))
    return `has ${cells.length} cells, the ${header === '' ? 'column map' : 'header'} has ${count}`
  if (cells.includes(undefined)) return 'has bytes that cannot be decoded'
  return cells.some((cell) => cell?.includes('\u0000')) ? 'contains the character U+0000' : undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decode the bytes of a cell; `undefined` for invalid UTF-8. */
function readCell(bytes: string, quoting: Quoting): string | undefined {
  const cell = quoting === 'whole' ? unquoteCell(bytes) : bytes
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  if (/^[\u0000-\u007f]*$/.test(cell)) return cell
  try {
    return decoder.decode(Buffer.from(cell, 'latin1'))
  } catch {
    return undefined
  }
}

/** Unquote a cell. Quotes count only when they enclose the whole cell. */
function unquoteCell(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const inside = cell.slice(1, -1)
  return inside.replaceAll('""', '').includes('"') ? cell : inside.replaceAll('""', '"')
}

function splitLines(raw: string): string[] {
  return raw.replace(LAST_LINE_END, '').split(/\r\n|\n|\r/)
}

/**
 * Return why a record may be several rows, of which a stray quote made one: it would mix the price and link of two products.
 * - a cell begins with a quote but does not end with one before a delimiter or line end (RFC 4180)
 * - each of the record's lines has enough delimiters for a separate row: two inch marks look like a quoted cell
 */
function findQuoteProblem(
  raw: string,
  { delimiter, quoting }: TableColumns,
  columns: number,
): string | undefined {
  if (quoting !== 'csv' || !raw.includes('"')) return undefined
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
