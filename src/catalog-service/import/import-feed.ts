import { ImportError, StoreError, VitrineError } from '../../errors.ts'
import { findMeta, setMeta } from '../store/meta.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { Catalog } from '../store/schema.ts'
import type { FeedFormat } from './formats.ts'
import { type OpenFeed, openFeed } from './open-feed.ts'
import type { FeedRow } from './feed-row.ts'
import { type FeedRows, readFeed } from './read-feed.ts'
import { type RejectsFile, createRejectsFile } from './rejects-file.ts'
import { type ShopReport, prepareTarget } from './target.ts'
import { type FeedWriter, type RowProduct, createFeedWriter } from './writer.ts'

/** Larger batches are not faster and need more memory. */
const BATCH_ROWS = 200
const BATCH_BYTES: number = 2 * 1024 * 1024

/** `readBytes` and `totalBytes` refer to the file on disk, before decompression. */
export type ImportProgress = Readonly<{
  readBytes: number
  totalBytes: number
  rows: number
  products: number
  rejected: number
}>

/** `network` and `merchant` replace those of every offer; without `format` it is detected. */
export type ImportFeedOptions = Readonly<{
  store: CatalogStore
  file: string
  format?: FeedFormat | undefined
  /** Id of the channel; `prepareTarget` chooses one when it is absent. */
  channelId?: string | undefined
  network?: string | undefined
  merchant?: string | undefined
  /** Folder for the rejects when the feed's folder is not writable; default: the current folder. */
  currentFolder?: string | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

export type ImportSummary = ShopReport &
  Readonly<{
    format: FeedRows['format']
    products: number
    offers: number
    /** Removed offers: the file has their merchants but no longer has them. */
    removedOffers: number
    rejected: number
    channelId: string
    rejectsPath: string | null
    replacedSample: boolean
  }>

/**
 * Import a feed in one transaction. It replaces the offers of the file's merchants in the channel's network channels.
 * @throws ImportError when the file is unreadable or has no usable product, or `signal` aborts; UsageError for an unknown
 * channel; StoreError when the catalog cannot be written. Nothing is changed then; the rejects file stays to explain why.
 */
export async function importFeed(options: ImportFeedOptions): Promise<ImportSummary> {
  const { store, file, format, network, merchant, currentFolder = process.cwd() } = options
  let feed: OpenFeed | undefined
  let rejects: RejectsFile | undefined
  try {
    feed = await openFeed(file)
    const names = { network, merchant }
    const source = await readFeed({ file, chunks: feed.chunks, format, names })
    rejects = createRejectsFile(file, currentFolder)
    const run = { options, feed, source, rejects }
    // The feed is a stream that is read once, so a transaction cannot be repeated.
    return await store.write((transaction) => runImport(transaction, run), { isOneShot: true })
  } catch (error) {
    throw toImportError(error)
  } finally {
    rejects?.close()
    await feed?.close()
  }
}

function toImportError(error: unknown): unknown {
  if (error instanceof ImportError)
    return new ImportError(`${error.message}; nothing was changed`, { cause: error.cause })
  if (error instanceof VitrineError) return error
  return new StoreError('the catalog could not be written; is another import running?', { cause: error })
}

type ImportRun = Readonly<{
  options: ImportFeedOptions
  feed: OpenFeed
  source: FeedRows
  rejects: RejectsFile
}>

async function runImport(
  database: Catalog,
  { options, feed, source, rejects }: ImportRun,
): Promise<ImportSummary> {
  const { store, file, channelId, signal, onProgress } = options
  const target = await prepareTarget(database, { channelId, nowMs: store.clock.nowMs() })
  const importId = Number((await findMeta(database, 'import_id')) ?? 0) + 1
  await setMeta(database, 'import_id', String(importId))
  const writer = await createFeedWriter(database, target, importId)
  let [rows, products] = [0, 0]
  for await (const batch of toBatches(source.batches, signal)) {
    rows += batch.length
    products += await writeBatch(writer, batch, rejects)
    const readBytes = feed.getReadBytes()
    onProgress?.({ readBytes, totalBytes: feed.totalBytes, rows, products, rejected: rejects.getCount() })
  }
  const written = await writer.finish()
  throwIfAborted(signal)
  rejects.close()
  if (written.products === 0) throw new ImportError(describeEmptyImport(file, rejects))
  return {
    format: source.format,
    ...written,
    rejected: rejects.getCount(),
    channelId: target.channelId,
    rejectsPath: rejects.getPath(),
    replacedSample: target.replacedSample,
  }
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
): Promise<number> {
  const changedRows = await writer.skipUnchanged(batch)
  const products: RowProduct[] = []
  for (const row of changedRows) {
    const { product, rejects: rowRejects } = row.parse()
    rejects.add(rowRejects)
    // A row with rejects gets no digest, so that the next import reports them again.
    const digest = rowRejects.length === 0 ? row.computeDigest() : undefined
    if (product !== undefined) products.push({ row: row.row, product, digest })
  }
  rejects.add(await writer.write(products))
  return batch.length - changedRows.length + products.length
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ImportError('the import was stopped')
}

function describeEmptyImport(file: string, rejects: RejectsFile): string {
  const path = rejects.getPath()
  if (path === null) return `${file} has no usable product`
  const rejected = rejects.getCount().toLocaleString('en-US')
  const reasons = rejects
    .getTopReasons()
    .map(([reason, count]) => `${reason} (${count.toLocaleString('en-US')})`)
  return `${file} has no usable product: 0 products, ${rejected} rejected; most often: ${reasons.join('; ')}; see ${path}`
}
