import { MAX_NAME_CHARACTERS } from '../catalog/contract.ts'
import type { SourceRow } from '../catalog-service/import/feed-row.ts'
import { openFeed } from '../catalog-service/import/open-feed.ts'
import { readTable } from '../catalog-service/import/table.ts'
import { ImportError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { isPrice } from '../offers/money.ts'
import { toDay, toObservedPrice, toPriceText, toSeriesKey } from '../offers/price-history.ts'
import { foldCase } from '../offers/text.ts'
import type { HistoryRun } from '../storage/history-transfer.ts'
import { FORMULA_START, formatIsoDay, toCsvCell } from './csv.ts'

/** The columns of an export. `source` may be missing in an import, where it has no meaning. */
const COLUMNS = ['channel', 'gtin', 'merchant', 'currency', 'from', 'until', 'low', 'last', 'source'] as const
type Column = (typeof COLUMNS)[number]

export const HISTORY_HEADER: string = COLUMNS.join(',')

export function formatHistoryRow(channelId: string, run: HistoryRun): string {
  const { gtin, merchantKey, currency, day, untilDay, low, last, isImported } = run
  const cells = [
    channelId,
    gtin,
    toCsvCell(merchantKey),
    currency,
    formatIsoDay(day),
    formatIsoDay(untilDay),
    toPriceText(low),
    last === null ? '' : toPriceText(last),
    isImported ? 'imported' : 'observed',
  ]
  return cells.join(',')
}

/** Most rows of one product, which are in memory at once. */
const MAX_PRODUCT_ROWS = 100_000

/** A row of a file. `row`: its number; the header is 1. */
export type HistoryRow = HistoryRun & Readonly<{ channelId: string; row: number }>

export type RowProblem = Readonly<{ row: number; reason: string }>

/** The valid rows of one product, which are adjacent in a file, or what is wrong with rows. */
export type ProductRows = Readonly<{ rows: readonly HistoryRow[]; problems: readonly RowProblem[] }>

const UNSORTED = 'the rows must be sorted by channel and gtin, as in an export'

/**
 * Read a CSV file, optionally compressed. Days after `today` are invalid.
 * @yields the rows of each product, and the problems
 * @throws ImportError when the file cannot be read, is no table, or has other columns.
 */
export async function* readHistoryFile(file: string, today: number): AsyncGenerator<ProductRows> {
  const feed = await openFeed(file)
  let product: HistoryRow[] = []
  try {
    const checkHeader = (names: ReadonlySet<string>): void => assertColumns(file, names)
    const table = { file, delimiter: ',', hasBareCarriageReturns: false, checkHeader } as const
    for await (const sourceRows of readTable(feed.chunks, table)) {
      const problems: RowProblem[] = []
      for (const source of sourceRows) {
        const row = parseRow(source, today)
        const order = typeof row === 'string' ? 0 : compareProducts(product[0], row)
        if (typeof row === 'string') problems.push({ row: source.row, reason: row })
        else if (order > 0) problems.push({ row: source.row, reason: UNSORTED })
        else if (order === 0 && product.length === MAX_PRODUCT_ROWS)
          throw new ImportError(
            `${file} has over ${MAX_PRODUCT_ROWS} rows of one product, at row ${source.row}`,
          )
        else if (order === 0) product.push(row)
        else {
          yield { rows: product, problems: findOverlaps(product) }
          product = [row]
        }
      }
      if (problems.length > 0) yield { rows: [], problems }
    }
    yield { rows: product, problems: findOverlaps(product) }
  } finally {
    await feed.close()
  }
}

function assertColumns(file: string, names: ReadonlySet<string>): void {
  const missing = COLUMNS.filter((name) => name !== 'source' && !names.has(name))
  const unknown = [...names].filter((name) => !COLUMNS.includes(name as Column))
  if (missing.length > 0)
    throw new ImportError(
      `${file} lacks the column ${missing.join(', ')}; its first line must name ${HISTORY_HEADER}`,
    )
  if (unknown.length > 0)
    throw new ImportError(`${file} has an unknown column; its first line may name ${HISTORY_HEADER}`)
}

/** Return a negative number when `row` begins the next product, 0 when it belongs to the same one, and else a positive number. */
function compareProducts(first: HistoryRow | undefined, row: HistoryRow): number {
  if (first === undefined) return 0
  const [a, b] = [first, row].map(({ channelId, gtin }) => `${channelId} ${gtin}`) as [string, string]
  return a < b ? -1 : a > b ? 1 : 0
}

function findOverlaps(rows: readonly HistoryRow[]): readonly RowProblem[] {
  const lastRows = new Map<string, HistoryRow>()
  const problems: RowProblem[] = []
  for (const row of [...rows].sort((a, b) => a.day - b.day || a.row - b.row)) {
    const key = toSeriesKey(row)
    const before = lastRows.get(key)
    if (before !== undefined && before.untilDay >= row.day)
      problems.push({ row: row.row, reason: `its days overlap with row ${before.row}` })
    lastRows.set(key, row)
  }
  return problems
}

/** Convert a row; text: why it is invalid. */
function parseRow(source: SourceRow, today: number): HistoryRow | string {
  if (source.problem !== undefined) return source.problem.reason
  const read = (column: Column): string => source.read(column)
  const key = parseKey(read)
  if (typeof key === 'string') return key
  const days = parseDays(read, today)
  if (typeof days === 'string') return days
  const prices = parsePrices(read)
  if (typeof prices === 'string') return prices
  const { channelId, gtin, merchantKey, currency } = key
  const { day, untilDay } = days
  const { low, last } = prices
  const { row } = source
  return { channelId, gtin, merchantKey, currency, day, untilDay, low, last, isImported: true, row }
}

type ReadCell = (column: Column) => string

const CHANNEL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function parseKey(
  read: ReadCell,
): Pick<HistoryRow, 'channelId' | 'gtin' | 'merchantKey' | 'currency'> | string {
  const channelId = read('channel').toLowerCase()
  if (!CHANNEL_ID.test(channelId)) return 'channel is not the id of a channel'
  const gtin = normalizeGtin(read('gtin'))
  if (gtin === undefined) return 'gtin is not 1 to 14 digits'
  const merchantKey = parseMerchant(read('merchant'))
  if (merchantKey === '' || merchantKey.length > MAX_KEY_CHARACTERS) return 'merchant is empty or too long'
  const currency = parseCurrency(read('currency'))
  return currency === undefined
    ? 'currency is not a code such as EUR'
    : { channelId, gtin, merchantKey, currency }
}

/** A lower-case name can be longer. */
const MAX_KEY_CHARACTERS: number = 3 * MAX_NAME_CHARACTERS

function parseMerchant(text: string): string {
  const isProtected = text.startsWith("'") && FORMULA_START.test(text)
  return foldCase(isProtected ? text.slice(1) : text)
}

/** As in the catalog, which may also have codes that ISO 4217 lacks. */
function parseCurrency(text: string): string | undefined {
  return /^[a-z]{3}$/i.test(text) ? text.toUpperCase() : undefined
}

function parseDays(read: ReadCell, today: number): Pick<HistoryRow, 'day' | 'untilDay'> | string {
  const [day, untilDay] = [parseIsoDay(read('from')), parseIsoDay(read('until'))]
  if (day === undefined || untilDay === undefined) return 'from and until are not dates such as 2026-01-31'
  if (untilDay > today) return 'until is in the future'
  return day > untilDay ? 'from is later than until' : { day, untilDay }
}

function parseIsoDay(text: string): number | undefined {
  const timeMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  // A day that a month lacks becomes one of the next month.
  const isDay = new Date(timeMs).getUTCDate() === Number(text.slice(-2))
  return isDay ? toDay(timeMs) : undefined
}

function parsePrices(read: ReadCell): Pick<HistoryRow, 'low' | 'last'> | string {
  const low = parsePrice(read('low'))
  if (low === undefined) return 'low is not a price such as 12.90'
  const lastText = read('last')
  const last = lastText === '' ? null : parsePrice(lastText)
  if (last === undefined) return 'last is not a price such as 12.90, or empty'
  return last !== null && low > last ? 'low is above last' : { low, last }
}

function parsePrice(text: string): number | undefined {
  return isPrice(text) ? toObservedPrice(text) : undefined
}
