import type { Kysely } from 'kysely'
import { ImportError, StoreError, VitrineError } from '../../errors.ts'
import { findMeta, putMeta } from '../store/meta.ts'
import type { CatalogStore } from '../store/open-store.ts'
import type { CatalogTables } from '../store/schema.ts'
import type { FeedProduct, RowNames } from './feed-product.ts'
import { MAX_LINE_BYTES, readLines } from './lines.ts'
import { type OpenFeed, openFeed } from './open-feed.ts'
import { parseRow } from './parse-row.ts'
import { type Rejects, createRejects } from './rejects.ts'
import { prepareTarget } from './target.ts'
import { type FeedWriter, createFeedWriter } from './writer.ts'

/** Products, or bytes of their lines, that are written at once; more of them are no faster, and double the memory. */
const BATCH_PRODUCTS = 200
const BATCH_BYTES: number = 2 * 1024 * 1024

/** How far an import is. `readBytes` and `totalBytes` are of the file as it lies there. */
export type ImportProgress = Readonly<{
  readBytes: number
  totalBytes: number
  products: number
  rejected: number
}>

/** What to import, for which channel. */
export type ImportFeedOptions = Readonly<{
  store: CatalogStore
  /** Newline-delimited JSON in the Product shape, plain or gzip. */
  file: string
  /** Id of the channel; see `prepareTarget` for what happens without. */
  channelId?: string | undefined
  /** Stands in for the network of every offer. */
  network?: string | undefined
  /** Stands in for the merchant of every offer. */
  merchant?: string | undefined
  /** Where the rejects go when the feed's folder is not writable; default: the process's current folder. */
  currentFolder?: string | undefined
  /** Lines above this are rejected. Default 8 MiB. */
  maxLineBytes?: number | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

/** What an import did. */
export type ImportSummary = Readonly<{
  products: number
  offers: number
  /** Offers of the file's merchants that the file no longer has. */
  removedOffers: number
  /** Lines of the rejects file. */
  rejected: number
  channelId: string
  /** Where the rejects file is; `null` when there is none. */
  rejectsPath: string | null
  /** Was sample data replaced? */
  replacedSample: boolean
}>

/**
 * Imports a feed in one transaction: readers see all of it or nothing. It replaces the offers that the file's
 * merchants had in the channel's network channels; others stay.
 * @throws ImportError when the file is unreadable, truncated, empty, or has no usable product, or `signal` aborts;
 * UsageError when the channel is unknown; StoreError when the catalog cannot be written. Nothing is changed then; the rejects file stays, as it tells why.
 */
export async function importFeed(options: ImportFeedOptions): Promise<ImportSummary> {
  const feed = await openFeed(options.file)
  const rejects = createRejects(options.file, options.currentFolder ?? process.cwd())
  try {
    return await options.store.writer
      .transaction()
      .execute((transaction) => runImport(transaction, { options, feed, rejects }))
  } catch (error) {
    if (error instanceof VitrineError) throw error
    throw new StoreError('the catalog could not be written; is another import running?', { cause: error })
  } finally {
    rejects.close()
    await feed.close()
  }
}

type Run = Readonly<{ options: ImportFeedOptions; feed: OpenFeed; rejects: Rejects }>

async function runImport(database: Kysely<CatalogTables>, run: Run): Promise<ImportSummary> {
  const { options, rejects } = run
  const target = await prepareTarget(database, {
    channelId: options.channelId,
    nowMs: options.store.clock.nowMs(),
  })
  const importId = Number((await findMeta(database, 'import_id')) ?? 0) + 1
  await putMeta(database, 'import_id', String(importId))
  const writer = await createFeedWriter(database, target, importId)
  await writeFeed(writer, run)
  const written = await writer.finish()
  rejects.close()
  if (written.products === 0) throw new ImportError(describeNothing(options.file, rejects))
  return {
    ...written,
    rejected: rejects.getCount(),
    channelId: target.channelId,
    rejectsPath: rejects.getPath(),
    replacedSample: target.replacedSample,
  }
}

/** Reads line by line and writes batch by batch; memory holds one batch. */
async function writeFeed(writer: FeedWriter, run: Run): Promise<void> {
  const { options, feed, rejects } = run
  const names: RowNames = { network: options.network, merchant: options.merchant }
  let batch: FeedProduct[] = []
  let batchBytes = 0
  let products = 0
  const flush = async (): Promise<void> => {
    if (options.signal?.aborted) throw new ImportError('the import was stopped; nothing was changed')
    await writer.write(batch)
    products += batch.length
    batch = []
    batchBytes = 0
    options.onProgress?.({
      readBytes: feed.getReadBytes(),
      totalBytes: feed.totalBytes,
      products,
      rejected: rejects.getCount(),
    })
  }
  for await (const line of readLines(feed.chunks, options.maxLineBytes ?? MAX_LINE_BYTES)) {
    const parsed = parseRow(line, names)
    rejects.add(parsed.rejects)
    if (parsed.product !== undefined) batch.push(parsed.product)
    batchBytes += line.bytes.length
    if (batch.length >= BATCH_PRODUCTS || batchBytes >= BATCH_BYTES) await flush()
  }
  await flush()
}

function describeNothing(file: string, rejects: Rejects): string {
  const path = rejects.getPath()
  const why = path === null ? '' : `; rejected rows: ${rejects.getCount()}, see ${path}`
  return `${file} has no usable product${why}; nothing was changed`
}
