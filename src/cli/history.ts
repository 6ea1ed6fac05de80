import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { ImportError, StoreError, UsageError, VitrineError } from '../errors.ts'
import { formatNumber, pluralize } from '../lib/format.ts'
import { toDay } from '../offers/price-history.ts'
import type { HistoryRun, ImportedRuns } from '../storage/history-transfer.ts'
import { type StoredCopy, openStoredCopy } from '../storage/stored-copy.ts'
import { type CommandContext, print } from '../command.ts'
import { HISTORY_HEADER, type HistoryRow, formatHistoryRow, readHistoryFile } from './history-csv.ts'
import { openCatalog } from './open-catalog.ts'

type ExportOptions = Readonly<{ channel?: string; output?: string }>

type ExportCounts = Readonly<{ rows: number; products: number; channels: number }>

/**
 * Write the kept observed prices as CSV to standard output, or to a file, which appears only when it is complete.
 * @throws UsageError for an unknown channel, or when nothing is kept; StoreError when the copy or the file cannot be used.
 */
export async function runHistoryExport(context: CommandContext, options: ExportOptions): Promise<void> {
  const { config, io, isJson } = context
  const { database } = config
  const { output } = options
  if (isJson && output === undefined)
    throw new UsageError('the exported prices are CSV; with --json, name their file with --output')
  if (database.kind === 'sqlite' && !existsSync(database.path))
    throw new UsageError(`there is no stored copy at ${database.path} yet; set VITRINE_DATABASE_URL`)
  await withStore(context, async (store) => {
    const channelIds = await listExportedChannels(store, options.channel)
    const writeTo = (write: Write): Promise<ExportCounts> =>
      writeExport(context, store, { channelIds, write, hasProgress: output !== undefined })
    if (output === undefined) {
      const counts = await writeTo(async (lines) => {
        for (const line of lines) io.out(line)
        // SQLite and a pipe block the thread: handle the signals that arrived in the meantime.
        await setImmediate()
      })
      io.err(`${describeExport(counts)}.`)
      return
    }
    const counts = await writeFile(output, writeTo).finally(() => io.drawProgress(''))
    print(context, { file: output, ...counts }, [`${output}: ${describeExport(counts)}`])
  })
}

async function listExportedChannels(
  store: StoredCopy,
  channelId: string | undefined,
): Promise<readonly string[]> {
  const channelIds = await store.listCopiedChannels()
  if (channelId === undefined) return channelIds
  if (channelIds.includes(channelId)) return [channelId]
  throw new UsageError(`the stored copy has no channel ${channelId}`)
}

/** Write lines, without their ends. */
type Write = (lines: readonly string[]) => Promise<void>

/** `hasProgress`: standard output is free, so a terminal shows the progress. */
type ExportOrder = Readonly<{ channelIds: readonly string[]; write: Write; hasProgress: boolean }>

async function writeExport(
  { io }: CommandContext,
  store: StoredCopy,
  { channelIds, write, hasProgress }: ExportOrder,
): Promise<ExportCounts> {
  const counts = { rows: 0, products: 0, channels: 0 }
  await write([HISTORY_HEADER])
  for (const channelId of channelIds) {
    const rowsBefore = counts.rows
    for await (const runs of readRuns(store, channelId)) {
      if (io.signal.aborted) throw new StoreError('the export was stopped')
      await write(runs.map((run) => formatHistoryRow(channelId, run)))
      counts.rows += runs.length
      counts.products += new Set(runs.map(({ gtin }) => gtin)).size
      if (hasProgress) io.drawProgress(`${pluralize(counts.rows, 'row')} …`)
    }
    if (counts.rows > rowsBefore) counts.channels += 1
  }
  return counts
}

/** @yields all runs of a channel, some products at a time */
async function* readRuns(store: StoredCopy, channelId: string): AsyncGenerator<readonly HistoryRun[]> {
  let afterGtin: string | null = ''
  while (afterGtin !== null) {
    const { runs, untilGtin } = await store.readHistoryPage(channelId, afterGtin)
    yield runs
    afterGtin = untilGtin
  }
}

/** Write a file beside `path` and rename it. */
async function writeFile<Result>(path: string, work: (write: Write) => Promise<Result>): Promise<Result> {
  const partialPath = `${path}.${randomUUID()}.part`
  try {
    const file = await open(partialPath, 'wx')
    try {
      const result = await work((lines) => writeLines(file, lines))
      await file.sync()
      await file.close()
      await rename(partialPath, path)
      return result
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof VitrineError) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    throw new StoreError(`the file ${path} cannot be written (${code})`, { cause: error })
  } finally {
    await rm(partialPath, { force: true })
  }
}

async function writeLines(file: Awaited<ReturnType<typeof open>>, lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await file.appendFile(`${lines.join('\n')}\n`)
}

function describeExport({ rows, products, channels }: ExportCounts): string {
  return `${pluralize(rows, 'row')} of ${pluralize(products, 'product')} in ${pluralize(channels, 'channel')}`
}

/** Rows of one transaction; a product is never divided. */
const BATCH_ROWS = 2_000

/** Invalid rows that are shown; all are counted. */
const SHOWN_PROBLEMS = 10

/**
 * Import observed prices from a CSV file. Nothing is written unless all rows are valid. A stopped import can be repeated.
 * @throws ImportError for an invalid file; UsageError when nothing is kept; StoreError when the copy cannot be used.
 */
export async function runHistoryImport(context: CommandContext, file: string): Promise<void> {
  const { clock, config, io } = context
  const today = toDay(clock.nowMs())
  assertKept(context)
  await assertValid(context, file, today)
  await withStore(context, async (store) => {
    const knownIds = await store.listCopiedChannels()
    const totals = { rows: 0, imported: 0, old: 0, observed: 0 }
    const newChannels = new Set<string>()
    for await (const rows of readBatches(file, today)) {
      if (io.signal.aborted)
        throw new ImportError(`the import was stopped after ${pluralize(totals.rows, 'row')}; repeat it`)
      const channelId = rows[0]?.channelId ?? ''
      addCounts(totals, await store.importRuns(channelId, rows))
      totals.rows += rows.length
      if (!knownIds.includes(channelId)) newChannels.add(channelId)
      io.drawProgress(`${pluralize(totals.rows, 'row')} imported …`)
    }
    io.drawProgress('')
    for (const channelId of newChannels)
      io.err(
        `The stored copy does not know the channel ${channelId} yet; its prices count once it is walked.`,
      )
    if (totals.imported > 0)
      io.err(
        `A running server may show cached boxes for up to ${config.freshness.freshSeconds} more seconds.`,
      )
    print(context, { file, ...totals, newChannels: [...newChannels] }, [
      `${pluralize(totals.imported, 'row')} of ${formatNumber(totals.rows)} imported${describeSkipped(context, totals)}`,
    ])
  })
}

type ImportTotals = Readonly<{ rows: number }> & ImportedRuns

function describeSkipped({ config }: CommandContext, { old, observed }: ImportTotals): string {
  const parts = [
    ...(old > 0 ? [`${pluralize(old, 'row')} older than ${config.history.keptDays} days skipped`] : []),
    ...(observed > 0
      ? [`${pluralize(observed, 'row')} skipped, because this server has observed these prices itself`]
      : []),
  ]
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`
}

function addCounts(totals: { -readonly [Key in keyof ImportedRuns]: number }, counts: ImportedRuns): void {
  totals.imported += counts.imported
  totals.old += counts.old
  totals.observed += counts.observed
}

/** Read the whole file. Print the first invalid rows. @throws ImportError when there are any. */
async function assertValid({ io }: CommandContext, file: string, today: number): Promise<void> {
  let count = 0
  for await (const { problems } of readHistoryFile(file, today)) {
    for (const { row, reason } of problems) {
      if (count < SHOWN_PROBLEMS) io.err(`Row ${row}: ${reason}`)
      count += 1
    }
    if (io.signal.aborted) throw new ImportError('the import was stopped; nothing was imported')
  }
  if (count > 0) throw new ImportError(`${file} has ${pluralize(count, 'invalid row')}; nothing was imported`)
}

/** @yields rows of whole products of one channel */
async function* readBatches(file: string, today: number): AsyncGenerator<readonly HistoryRow[]> {
  let batch: HistoryRow[] = []
  for await (const { rows, problems } of readHistoryFile(file, today)) {
    if (problems.length > 0) throw new ImportError(`${file} was changed during the import; repeat it`)
    const isOtherChannel = batch[0]?.channelId !== rows[0]?.channelId
    if (batch.length > 0 && (isOtherChannel || batch.length + rows.length > BATCH_ROWS)) {
      yield batch
      batch = []
    }
    batch.push(...rows)
  }
  if (batch.length > 0) yield batch
}

function assertKept({ config }: CommandContext): void {
  if (config.history.keptDays === 0)
    throw new UsageError(
      'VITRINE_HISTORY_DAYS is 0, so no observed prices are kept; set it to the number of days to keep',
    )
}

/** Open the stored copy of the catalog. @throws UsageError when no history is kept; StoreError. */
async function withStore(context: CommandContext, work: (store: StoredCopy) => Promise<void>): Promise<void> {
  assertKept(context)
  const { clock, config } = context
  const { catalog, close } = await openCatalog(context)
  try {
    const { database, history } = config
    const store = await openStoredCopy({ database, catalog: catalog.copyName, clock, history })
    try {
      await work(store)
    } finally {
      context.io.drawProgress('')
      await store.close()
    }
  } finally {
    await close()
  }
}
