import { MAX_IMAGES } from '../../catalog/contract.ts'
import { FeedHeldError, ImportError, StoreError, UsageError, VitrineError } from '../../errors.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { describeReasons } from '../../catalog/feed-report.ts'
import { describeStoreFailure, isUnavailable } from '../../database/failures.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { type FeedResult, findFeedById, insertFeed, saveFeedResult, updateFeed } from '../store/feeds.ts'
import { findMeta, setMeta } from '../store/meta.ts'
import type { Catalog } from '../store/schema.ts'
import type { FeedRow } from './feed-row.ts'
import { findFeedForImport, type ImportTarget, type ShopReport, prepareTarget } from './feed-target.ts'
import { END_BYTES, type OpenFeed, endsWithLine, endsWithRow, openFeed } from './open-feed.ts'
import { type FeedRows, readFeed, type ReadSettings, toReaderOptions, toStoredSettings } from './read-feed.ts'
import { type RejectsFile, createRejectsFile } from './rejects-file.ts'
import { type FeedWriter, type OfferCounts, type RowProduct, createFeedWriter } from './writer.ts'

/** Part of an error whose cause may be rejected rows. */
export const REJECTED_MARK = 'rejected; most often:'

/** Larger batches are not faster and need more memory. */
const BATCH_ROWS = 200
const BATCH_BYTES: number = 2 * 1024 * 1024

/** From this number of offers on, a run may not remove more than the feed's limit. */
const MIN_GUARDED_OFFERS = 100

export const DEFAULT_MAX_REMOVED_PERCENT = 50

/** `readBytes` and `totalBytes` refer to the file on disk, before decompression. */
export type ImportProgress = Readonly<{
  readBytes: number
  totalBytes: number
  rows: number
  products: number
  rejected: number
}>

/** A complete file on disk. */
export type FeedFile = Readonly<{
  path: string
  /** What messages call it: its path, or its address without secrets. */
  label: string
  /** `charset` of the response. */
  charset?: string | undefined
  /** Where rejected rows are written; the first writable path is used. */
  rejectsPaths: readonly string[]
  /** Known for a file that was fetched. */
  result: Pick<FeedResult, 'etag' | 'lastModified' | 'contentDigest'> & Readonly<{ fetchedAtMs: number }>
  /** Compute the digest of the settings after the import, which can create network channels. Default: `null`. */
  computeSettingsDigest?: ((database: Catalog) => Promise<string>) | undefined
}>

/**
 * The feed that the file replaces: an existing one, or one that is found or created by its name. `isNameChosen`: the name
 * must not be changed when another channel or an address has it. Without `channelId`, `prepareTarget` chooses one.
 */
export type ImportedFeed =
  Readonly<{ id: number }> | Readonly<{ name: string; isNameChosen: boolean; channelId?: string | undefined }>

export type ImportFeedOptions = Readonly<{
  store: CatalogStore
  file: FeedFile
  feed: ImportedFeed
  settings?: ReadSettings | undefined
  /** `100`: accept any loss. Default: the feed's own limit. */
  maxRemovedPercent?: number | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

export type ImportSummary = ShopReport &
  Readonly<{
    feed: string
    format: FeedRows['format']
    /** The encoding, if it was guessed; else `null`. */
    guessedEncoding: string | null
    rows: number
    products: number
    offers: number
    /** Offers that the feed had before and no longer has. */
    removedOffers: number
    rejected: number
    /** Pictures of new and changed rows beyond those that a product keeps. */
    leftOutPictures: number
    channelId: string
    rejectsPath: string | null
    replacedSample: boolean
  }>

/**
 * Import a file in one transaction. It replaces what the same feed brought before.
 * @throws ImportError when the file is unreadable or has no usable product, or `signal` aborts; FeedHeldError when too many
 * offers would be removed; UsageError for an unknown channel or feed; StoreError when the catalog cannot be written. Nothing is
 * changed then, unless the connection was lost during the commit; the rejects file stays to explain why.
 */
export async function importFeed(options: ImportFeedOptions): Promise<ImportSummary> {
  const { store, file, settings = {} } = options
  const { path, label, charset } = file
  let feed: OpenFeed | undefined
  let rejects: RejectsFile | undefined
  let isCommitting = false
  try {
    feed = await openFeed(path, label)
    const { map, ...others } = toReaderOptions(settings)
    const ending = trackEnd(feed.chunks)
    const source = await readFeed({ ...others, map, file: label, chunks: ending.chunks, charset })
    const run = { options, feed, source, ending }
    // The feed is a stream that is read once, so a transaction cannot be repeated.
    const write = async (transaction: Catalog): Promise<ImportSummary> => {
      // It replaces the file of the last import, so not before this one has the lock.
      rejects = createRejectsFile(file.rejectsPaths)
      const summary = await runImport(transaction, { ...run, rejects })
      isCommitting = true
      return summary
    }
    return await store.write(write, { isOneShot: true })
  } catch (error) {
    throw toImportError(error, isCommitting)
  } finally {
    rejects?.close()
    await feed?.close()
  }
}

function toImportError(error: unknown, isCommitting: boolean): unknown {
  if (error instanceof ImportError)
    return new ImportError(`${error.message}; nothing was changed`, { cause: error.cause })
  const isExplained =
    error instanceof VitrineError && !(error instanceof StoreError && error.cause !== undefined)
  if (isExplained) return error
  const reason = describeStoreFailure(error)
  if (isCommitting && isUnavailable(error))
    return new StoreError(
      `the connection was lost before the database confirmed the import: ${reason}. Import the feed again, which changes nothing if it was stored`,
      { cause: error },
    )
  return new StoreError(`the feed could not be imported: ${reason}. Nothing was changed`, { cause: error })
}

type ImportTask = Readonly<{
  options: ImportFeedOptions
  feed: OpenFeed
  source: FeedRows
  rejects: RejectsFile
  ending: Ending
}>

type Ending = ReturnType<typeof trackEnd>

/** Remember the end of the file while it is read. */
function trackEnd(chunks: AsyncIterable<Buffer>) {
  let end: Buffer = Buffer.alloc(0)
  const read = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      end = Buffer.concat([end, chunk.subarray(-END_BYTES)]).subarray(-END_BYTES)
      yield chunk
    }
  }
  return {
    chunks: read(),
    isLineEnded: (): boolean => endsWithLine(end),
    mayBeCut: (): boolean => !endsWithRow(end),
  }
}

async function runImport(database: Catalog, task: ImportTask): Promise<ImportSummary> {
  const { options, source, rejects } = task
  const { file, signal } = options
  const importId = Number((await findMeta(database, 'import_id')) ?? 0) + 1
  await setMeta(database, 'import_id', String(importId))
  const target = await prepareFeed(database, options)
  const writer = await createFeedWriter(database, target, { feedId: target.feedId, importId })
  const { rows, rejectedRows, leftOutPictures } = await writeRows(writer, task)
  const counts = await writer.countOffers()
  throwIfAborted(signal)
  rejects.close()
  const maxRemovedPercent = options.maxRemovedPercent ?? target.maxRemovedPercent
  checkLoss(counts, task, maxRemovedPercent)
  if (target.isLineEnded === true && task.ending.mayBeCut() && maxRemovedPercent < 100)
    throw new FeedHeldError(
      `${file.label} ends without a line end, unlike before, so it may be incomplete; nothing was changed`,
    )
  const written = await writer.finish(counts)
  const { products, offers } = counts
  const rejected = rejects.getCount()
  await saveFeedResult(database, target.feedId, {
    ...file.result,
    settingsDigest: (await file.computeSettingsDigest?.(database)) ?? null,
    isLineEnded: task.ending.isLineEnded(),
    rowCount: rows,
    productCount: products,
    offerCount: offers,
    rejectedCount: rejected,
    removedCount: written.removedOffers,
    rejectedRowCount: rejectedRows,
    topReasons: rejects.getTopReasons(),
    rejectsPath: rejects.getPath(),
  })
  return {
    feed: target.name,
    format: source.format,
    guessedEncoding: source.isEncodingGuessed ? source.encoding : null,
    rows,
    products,
    offers,
    ...written,
    rejected,
    leftOutPictures,
    channelId: target.channelId,
    rejectsPath: rejects.getPath(),
    replacedSample: target.replacedSample,
  }
}

type FeedTarget = ImportTarget &
  Readonly<{ feedId: number; name: string; maxRemovedPercent: number; isLineEnded: boolean | null }>

/** @throws UsageError when the feed or its channel was removed, or its name belongs to another channel. */
function prepareFeed(database: Catalog, options: ImportFeedOptions): Promise<FeedTarget> {
  const { feed } = options
  return 'id' in feed ? findTarget(database, feed.id) : prepareNamedFeed(database, options, feed)
}

async function findTarget(database: Catalog, id: number): Promise<FeedTarget> {
  const feed = await findFeedById(database, id)
  if (feed === undefined) throw new UsageError('the feed was removed')
  const { name, organizationId, channelId, maxRemovedPercent, isLineEnded } = feed
  if (channelId === null) throw new UsageError('the channel of the feed was removed')
  return {
    feedId: id,
    name,
    organizationId,
    channelId,
    maxRemovedPercent,
    isLineEnded,
    replacedSample: false,
  }
}

async function prepareNamedFeed(
  database: Catalog,
  { store, settings = {} }: ImportFeedOptions,
  feed: Exclude<ImportedFeed, Readonly<{ id: number }>>,
): Promise<FeedTarget> {
  const nowMs = store.clock.nowMs()
  const target = await prepareTarget(database, { channelId: feed.channelId, nowMs })
  const readSettings = toStoredSettings(settings)
  const { name, existing } = await findFeedForImport(database, target.channelId, feed)
  if (existing !== undefined) {
    if (existing.url === null) await updateFeed(database, existing.id, readSettings)
    const { id: feedId, maxRemovedPercent, isLineEnded } = existing
    return { ...target, feedId, name, maxRemovedPercent, isLineEnded }
  }
  const { organizationId, channelId } = target
  const maxRemovedPercent = DEFAULT_MAX_REMOVED_PERCENT
  const owner = { name, organizationId, channelId, createdAtMs: nowMs }
  const noAddress = { url: null, headerFile: null, everySeconds: null }
  const feedId = await insertFeed(database, { ...owner, ...noAddress, ...readSettings, maxRemovedPercent })
  return { ...target, feedId, name, maxRemovedPercent, isLineEnded: null }
}

/** The import of a feed with hardly any usable rows ends after so many, because other imports wait for it. */
const MAX_REJECTED_ROWS = 1_000_000
const MIN_USABLE_SHARE = 0.001

type WrittenRows = Readonly<{ rows: number; rejectedRows: number; leftOutPictures: number }>

async function writeRows(
  writer: FeedWriter,
  { options, feed, source, rejects }: ImportTask,
): Promise<WrittenRows> {
  let [rows, rejectedRows, products, leftOutPictures] = [0, 0, 0, 0]
  for await (const batch of toBatches(source.batches, options.signal)) {
    rows += batch.length
    const written = await writeBatch(writer, batch, rejects)
    products += written.products
    rejectedRows += written.rejectedRows
    leftOutPictures += written.leftOutPictures
    if (rejectedRows > MAX_REJECTED_ROWS && rows - rejectedRows < rows * MIN_USABLE_SHARE)
      throw new ImportError(`${options.file.label} has hardly any usable rows: ${describeRejects(rejects)}`)
    const readBytes = feed.getReadBytes()
    const rejected = rejects.getCount()
    options.onProgress?.({ readBytes, totalBytes: feed.totalBytes, rows, products, rejected })
  }
  return { rows, rejectedRows, leftOutPictures }
}

/** @throws FeedHeldError when too much would be lost; ImportError when a new feed is empty. */
function checkLoss(
  { products, former, lost }: OfferCounts,
  { options, rejects }: ImportTask,
  maxRemovedPercent: number,
): void {
  const isAccepted = maxRemovedPercent >= 100
  const { label } = options.file
  if (products === 0 && (former === 0 || !isAccepted)) {
    const reason = describeEmptyImport(label, rejects)
    if (former === 0) throw new ImportError(reason)
    throw new FeedHeldError(`${reason}; the feed keeps its ${pluralize(former, 'offer')}`)
  }
  if (isAccepted || former < MIN_GUARDED_OFFERS || lost * 100 <= former * maxRemovedPercent) return
  const reasons = describeRejects(rejects)
  throw new FeedHeldError(
    `${label} has ${pluralize(products, 'product')}: ${formatNumber(lost)} of the feed's ` +
      `${pluralize(former, 'offer')} would be removed, more than ${maxRemovedPercent} %; nothing was changed` +
      (reasons === '' ? '' : `; ${reasons}`),
  )
}

/** @yields batches of bounded size; the last one may be empty */
async function* toBatches(
  rowBatches: FeedRows['batches'],
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly FeedRow[]> {
  let batch: FeedRow[] = []
  let batchBytes = 0
  for await (const rows of rowBatches) {
    throwIfAborted(signal)
    for (const row of rows) {
      batch.push(row)
      batchBytes += row.bytes
      if (batch.length < BATCH_ROWS && batchBytes < BATCH_BYTES) continue
      yield batch
      batch = []
      batchBytes = 0
    }
  }
  yield batch
}

async function writeBatch(
  writer: FeedWriter,
  batch: readonly FeedRow[],
  rejects: RejectsFile,
): Promise<Omit<WrittenRows, 'rows'> & Readonly<{ products: number }>> {
  const changedRows = await writer.skipUnchanged(batch)
  const products: RowProduct[] = []
  let [rejectedRows, leftOutPictures] = [0, 0]
  for (const row of changedRows) {
    const { product, rejects: rowRejects } = row.parse()
    rejects.add(rowRejects)
    if (product === undefined && rowRejects.length > 0) rejectedRows += 1
    // A row with rejects gets no digest, so that the next import reports them again.
    const digest = rowRejects.length === 0 ? row.computeDigest() : undefined
    if (product === undefined) continue
    const images = product.images.slice(0, MAX_IMAGES)
    leftOutPictures += product.images.length - images.length
    products.push({ row: row.row, product: { ...product, images }, digest })
  }
  rejects.add(await writer.write(products))
  return { products: batch.length - changedRows.length + products.length, rejectedRows, leftOutPictures }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ImportError('the import was stopped')
}

function describeEmptyImport(label: string, rejects: RejectsFile): string {
  const reasons = describeRejects(rejects)
  return `${label} has no usable product${reasons === '' ? '' : `: 0 products, ${reasons}`}`
}

/** Say what was rejected and where the list is; `''` if nothing was. */
function describeRejects(rejects: RejectsFile): string {
  const path = rejects.getPath()
  if (path === null) return ''
  const reasons = describeReasons(rejects.getTopReasons())
  return `${formatNumber(rejects.getCount())} ${REJECTED_MARK} ${reasons.join('; ')}; see ${path}`
}
