import { hash, randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { Clock } from '../../clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../../config/database-address.ts'
import { FeedFetchError, UsageError, VitrineError } from '../../errors.ts'
import { VERSION } from '../../lib/files.ts'
import { type ImportProgress, type ImportSummary, importFeed } from '../import/import-feed.ts'
import { toReadSettings } from '../import/read-feed.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { Catalog } from '../store/schema.ts'
import {
  type FeedAttempt,
  type FeedFailure,
  FEED_LEASE_MS,
  acquireFeedLease,
  cancelFeedAttempt,
  extendFeedLease,
  finishFeedAttempt,
} from '../store/feed-attempts.ts'
import { type Feed, findFeedById, saveFeedResult } from '../store/feeds.ts'
import type { FeedSecrets } from './feed-address.ts'
import { type FetchedFeed, fetchFeed } from './fetch-feed.ts'
import type { Proxies } from '../../config/secrets.ts'

const LEASE_EXTENSION_MS: number = FEED_LEASE_MS / 4

export type RunFeedOptions = Readonly<{
  store: CatalogStore
  feedId: number
  /** Name of this process (`createLeaseOwner`). */
  owner: string
  /** Folder for downloads and rejected rows (`getFeedsFolder`). */
  folder: string
  secrets: FeedSecrets
  proxies: Proxies
  /** Import the file even if it has not changed, and accept any loss of offers. */
  isLossAccepted?: boolean | undefined
  /** Checked again once this process has the lease: another one may have run the feed just before. */
  isDue?: ((previous: FeedAttempt | undefined) => Promise<boolean>) | undefined
  signal?: AbortSignal | undefined
  /** Resolves when no other run of this process imports: the catalog has one writer. */
  waitForImport?: (() => Promise<void>) | undefined
  onDownload?: ((receivedBytes: number) => void) | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

export type FeedRun =
  /** Another process runs the feed, or it is not due any more. */
  | Readonly<{ kind: 'skipped' }>
  /** The feed has not changed since its last successful run. Only its time was updated. */
  | Readonly<{ kind: 'unchanged'; feed: Feed }>
  | Readonly<{ kind: 'imported'; summary: ImportSummary }>

/** Return the folder for downloads and rejected rows of feeds. */
export function getFeedsFolder(database: DatabaseAddress): string {
  if (database.kind === 'sqlite')
    return join(dirname(database.path), `${basename(database.path, '.db')}-feeds`)
  // A machine may run several installations, also of other users.
  const id = hash('sha256', `${process.getuid?.()} ${serializeDatabaseAddress(database)}`).slice(0, 12)
  return join(tmpdir(), `vitrine-feeds-${id}`)
}

/** Return the path of the rejected rows of a feed. */
export function getRejectsPath(folder: string, feedName: string): string {
  return join(folder, `${feedName}.rejects`)
}

/** Create the folder. @throws FeedFetchError when it belongs to another user, who could replace files in it */
export function createFeedsFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stats = lstatSync(folder)
  const isOwn = process.getuid === undefined || stats.uid === process.getuid()
  if (!stats.isDirectory() || !isOwn)
    throw new FeedFetchError(`${folder} cannot be used: it belongs to another user`)
}

/**
 * Fetch and import a feed with an address, and record the outcome.
 * @throws FeedFetchError, ImportError, FeedHeldError or StoreError; nothing is changed then, unless the connection was lost during the
 * commit.
 */
export async function runFeed(options: RunFeedOptions): Promise<FeedRun> {
  const { store, feedId, owner } = options
  const acquired = await acquireFeedLease(store, feedId, owner)
  if (acquired === null) return { kind: 'skipped' }
  const { previous } = acquired
  const lease = keepLease(options)
  try {
    if (options.isDue !== undefined && !(await options.isDue(previous))) {
      await cancelFeedAttempt(store, feedId, { owner, previous })
      return { kind: 'skipped' }
    }
    const run = await fetchAndImport({ ...options, signal: lease.signal })
    await finishFeedAttempt(store, feedId, { owner, failure: null })
    return run
  } catch (error) {
    // A stop says nothing about the feed, which is due again.
    if (options.signal?.aborted) await cancelFeedAttempt(store, feedId, { owner, previous })
    // A bug ends the thread or program, and counts as any other crash: its lease says that the run was interrupted.
    else if (error instanceof VitrineError)
      await finishFeedAttempt(store, feedId, { owner, failure: toFailure(error) })
    throw error
  } finally {
    lease.stop()
  }
}

function toFailure(error: VitrineError): FeedFailure {
  const { code, message } = error
  return error instanceof FeedFetchError
    ? { code, message, retryAfterMs: error.retryAfterMs }
    : { code, message }
}

/** Extend the lease while the feed runs. `signal` aborts with the run's own, or when another process has the lease. */
function keepLease({ store, feedId, owner, signal }: RunFeedOptions) {
  const ending = new AbortController()
  const onAbort = (): void => ending.abort()
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted) ending.abort()
  const extend = async (): Promise<void> => {
    // The database may be unavailable for a moment; the lease ends by itself then.
    const isHeld = await extendFeedLease(store, feedId, owner).catch(() => true)
    if (!isHeld) ending.abort()
  }
  const cancel = repeat(store.clock, LEASE_EXTENSION_MS, () => void extend())
  return {
    signal: ending.signal,
    stop() {
      cancel()
      signal?.removeEventListener('abort', onAbort)
    },
  }
}

function repeat(clock: Clock, intervalMs: number, work: () => void): () => void {
  let cancel = clock.startTimer(intervalMs, tick)
  function tick(): void {
    work()
    cancel = clock.startTimer(intervalMs, tick)
  }
  return () => cancel()
}

type RunnableFeed = Feed & Readonly<{ url: string }>

/** @throws UsageError */
async function getRunnableFeed({ read }: CatalogStore, feedId: number): Promise<RunnableFeed> {
  const feed = await read((reader) => findFeedById(reader, feedId))
  if (feed === undefined) throw new UsageError('the feed was removed')
  const { name, url, channelId } = feed
  if (url === null) throw new UsageError(`the feed ${name} has no address`)
  if (channelId === null) throw new UsageError(`the channel of the feed ${name} was removed`)
  return { ...feed, url }
}

async function fetchAndImport(options: RunFeedOptions): Promise<FeedRun> {
  const { store, feedId, folder, isLossAccepted = false } = options
  const feed = await getRunnableFeed(store, feedId)
  const settingsDigest = await store.read((reader) => computeSettingsDigest(reader, feed))
  const isKnown = !isLossAccepted && feed.fetchedAtMs !== null && feed.settingsDigest === settingsDigest
  createFeedsFolder(folder)
  const path = createDownloadPath(folder, feed.name)
  try {
    const startedAtMs = store.clock.nowMs()
    const fetched = await fetchFeed({
      url: feed.url,
      headerFile: feed.headerFile,
      secrets: options.secrets,
      proxies: options.proxies,
      validators: isKnown ? { etag: feed.etag, lastModified: feed.lastModified } : null,
      path,
      clock: store.clock,
      signal: options.signal,
      onProgress: options.onDownload,
    })
    // Both ways end with a write, and an import that runs holds the lock for minutes.
    await options.waitForImport?.()
    if (fetched === null || (isKnown && isSameContent(feed, fetched))) {
      const { fetchedAtMs, etag, lastModified } = fetched ?? { ...feed, fetchedAtMs: startedAtMs }
      await store.write(async (database) => {
        const current = await findFeedById(database, feedId)
        // A command may have removed a shop meanwhile: then the next run must import the file.
        const isCurrent = current?.etag === feed.etag && current.contentDigest === feed.contentDigest
        const validators = isCurrent ? { etag, lastModified } : {}
        await saveFeedResult(database, feedId, { fetchedAtMs, removedCount: 0, ...validators })
      })
      return { kind: 'unchanged', feed }
    }
    return { kind: 'imported', summary: await importFetched(options, feed, fetched) }
  } finally {
    rmSync(path, { force: true })
  }
}

/** Choose a path that no other run uses. Remove downloads of runs that ended without cleaning up: only this run has the lease. */
function createDownloadPath(folder: string, feedName: string): string {
  for (const file of readdirSync(folder))
    if (file.startsWith(`${feedName}.`) && DOWNLOAD_END.test(file.slice(feedName.length)))
      rmSync(join(folder, file), { force: true })
  return join(folder, `${feedName}.${randomUUID()}.download`)
}

const DOWNLOAD_END = /^\.[0-9a-f-]{36}\.download$/

function isSameContent(feed: Feed, { contentDigest }: FetchedFeed): boolean {
  return contentDigest !== null && contentDigest === feed.contentDigest
}

function importFetched(
  { store, feedId, folder, isLossAccepted, signal, onProgress }: RunFeedOptions,
  feed: Feed,
  fetched: FetchedFeed,
): Promise<ImportSummary> {
  const { path, label, charset, fetchedAtMs, etag, lastModified, contentDigest } = fetched
  return importFeed({
    store,
    file: {
      path,
      label,
      charset,
      rejectsPaths: [getRejectsPath(folder, feed.name)],
      result: { fetchedAtMs, etag, lastModified, contentDigest },
      computeSettingsDigest: (database) => computeSettingsDigest(database, feed),
    },
    feed: { id: feedId },
    settings: toReadSettings(feed),
    maxRemovedPercent: isLossAccepted === true ? 100 : undefined,
    signal,
    onProgress,
  })
}

/** Digest of everything but the file that determines what a run writes. */
async function computeSettingsDigest(database: Catalog, feed: Feed): Promise<string> {
  const { url, headerFile, channelId, format, map, network, merchant, currency, decimal, encoding } = feed
  const select = sql<{ id: number; network_id: number }>`
    select id, network_id from network_channels where channel_id = ${channelId} order by id`
  const { rows: networkChannels } = await select.execute(database)
  // Another address may respond that it has not changed since the time of the former one.
  const reading = [format, map, network, merchant, currency, decimal, encoding]
  const settings = [VERSION, url, headerFile, channelId, ...reading, networkChannels]
  return hash('sha256', JSON.stringify(settings), 'base64url')
}
