import type { Kysely } from 'kysely'
import { ImportError, StoreError, VitrineError } from '../../errors.ts'
import { findMeta, putMeta } from '../store/meta.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { CatalogTables } from '../store/schema.ts'
import type { FeedFormat } from './formats.ts'
import { type OpenFeed, openFeed } from './open-feed.ts'
import { type FeedRows, readFeed } from './read-feed.ts'
import { type Rejects, createRejects } from './rejects.ts'
import type { PageNetworks } from './shops.ts'
import { prepareTarget } from './target.ts'
import { type FeedWriter, type NumberedProduct, createFeedWriter } from './writer.ts'

/** Products, or bytes of their lines, that are written at once; more of them are no faster, and double the memory. */
const BATCH_PRODUCTS = 200
const BATCH_BYTES: number = 2 * 1024 * 1024

/** How far an import is. `readBytes` and `totalBytes` are of the file as it lies there. */
export type ImportProgress = Readonly<{
  readBytes: number
  totalBytes: number
  /** Rows of the file that were read, usable or not. */
  rows: number
  products: number
  rejected: number
}>

/** What to import, for which channel. */
export type ImportFeedOptions = Readonly<{
  store: CatalogStore
  /** In any of the formats, plain or gzip. */
  file: string
  /** Default: told by the first bytes of the file. */
  format?: FeedFormat | undefined
  /** Id of the channel; see `prepareTarget` for what happens without. */
  channelId?: string | undefined
  /** Stands in for the network of every offer. */
  network?: string | undefined
  /** Stands in for the merchant of every offer. */
  merchant?: string | undefined
  /** Where the rejects go when the feed's folder is not writable; default: the process's current folder. */
  currentFolder?: string | undefined
  /** Longest line, record or item: a line above it is rejected, and of others the file. Default 8 MiB. */
  maxRowBytes?: number | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

/** What an import did. */
export type ImportSummary = Readonly<{
  format: FeedFormat
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
  /** Was a shop named after the host of its link, as the feed names none? */
  hasLinkMerchants: boolean
  /** What became of links to the shops' own pages. */
  pageNetworks: PageNetworks
  /** Networks whose offers nobody sees: their network channel was taken from the channel, and stays so. */
  unassignedNetworks: readonly string[]
}>

/**
 * Imports a feed in one transaction: readers see all of it or nothing. It replaces the offers that the file's
 * merchants had in the channel's network channels; others stay.
 * @throws ImportError when the file is unreadable, truncated, empty, or has no usable product, or `signal` aborts;
 * UsageError when the channel is unknown; StoreError when the catalog cannot be written. Nothing is changed then; the rejects file stays, as it tells why.
 */
export async function importFeed(options: ImportFeedOptions): Promise<ImportSummary> {
  const feed = await openFeed(options.file)
  try {
    const source = await readFeed({
      file: options.file,
      chunks: feed.chunks,
      format: options.format,
      names: { network: options.network, merchant: options.merchant },
      nowMs: options.store.clock.nowMs(),
      maxRowBytes: options.maxRowBytes,
    })
    return await importRows({ options, feed, source })
  } finally {
    await feed.close()
  }
}

async function importRows(read: Omit<Run, 'rejects'>): Promise<ImportSummary> {
  const { store, file, currentFolder } = read.options
  const rejects = createRejects(file, currentFolder ?? process.cwd())
  try {
    // The feed is read once, as it goes.
    return await store.write((transaction) => runImport(transaction, { ...read, rejects }), { isOnce: true })
  } catch (error) {
    if (error instanceof VitrineError) throw error
    throw new StoreError('the catalog could not be written; is another import running?', { cause: error })
  } finally {
    rejects.close()
  }
}

type Run = Readonly<{ options: ImportFeedOptions; feed: OpenFeed; source: FeedRows; rejects: Rejects }>

async function runImport(database: Kysely<CatalogTables>, run: Run): Promise<ImportSummary> {
  const { options, source, rejects } = run
  const target = await prepareTarget(database, {
    channelId: options.channelId,
    nowMs: options.store.clock.nowMs(),
  })
  const importId = Number((await findMeta(database, 'import_id')) ?? 0) + 1
  await putMeta(database, 'import_id', String(importId))
  const writer = await createFeedWriter(database, target, importId)
  await writeFeed(writer, run)
  const written = await writer.finish()
  refuseStopped(options.signal)
  rejects.close()
  if (written.products === 0) throw new ImportError(describeNothing(options.file, rejects))
  return {
    format: source.format,
    ...written,
    rejected: rejects.getCount(),
    channelId: target.channelId,
    rejectsPath: rejects.getPath(),
    replacedSample: target.replacedSample,
    hasLinkMerchants: source.hasLinkMerchants(),
  }
}

/** Reads piece by piece and writes batch by batch; memory holds one batch and one piece. */
async function writeFeed(writer: FeedWriter, run: Run): Promise<void> {
  const { options, feed, source, rejects } = run
  let batch: NumberedProduct[] = []
  let batchBytes = 0
  let products = 0
  let rows = 0
  const flush = async (): Promise<void> => {
    refuseStopped(options.signal)
    rejects.add(await writer.write(batch))
    products += batch.length
    batch = []
    batchBytes = 0
    options.onProgress?.({
      readBytes: feed.getReadBytes(),
      totalBytes: feed.totalBytes,
      rows,
      products,
      rejected: rejects.getCount(),
    })
  }
  for await (const read of source.batches) {
    refuseStopped(options.signal)
    for (const { row, parsed, bytes } of read) {
      rejects.add(parsed.rejects)
      if (parsed.product !== undefined) batch.push({ row, product: parsed.product })
      batchBytes += bytes
      rows += 1
      if (batch.length >= BATCH_PRODUCTS || batchBytes >= BATCH_BYTES) await flush()
    }
  }
  await flush()
}

function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ImportError('the import was stopped; nothing was changed')
}

/** Why there is nothing to import, with the reasons that came most often. */
function describeNothing(file: string, rejects: Rejects): string {
  const path = rejects.getPath()
  if (path === null) return `${file} has no usable product; nothing was changed`
  const rejected = rejects.getCount().toLocaleString('en-US')
  const reasons = rejects
    .getTopReasons()
    .map(([reason, count]) => `${reason} (${count.toLocaleString('en-US')})`)
  return `${file} has no usable product: 0 products, ${rejected} rejected; most often: ${reasons.join('; ')}; see ${path}; nothing was changed`
}
