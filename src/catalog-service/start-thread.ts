import { type Clock, SECOND_MS } from '../clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../config/database-address.ts'
import { type SerializedProxies, serializeProxies } from '../config/proxies.ts'
import type { Proxies, Secret } from '../config/secrets.ts'
import { createLeaseOwner } from '../database/leases.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { createRestartBackoff } from '../lib/backoff.ts'
import { describeInternalError } from '../lib/internal-error.ts'
import { createRpcChannel } from '../lib/rpc-channel.ts'
import { openThread } from '../lib/thread.ts'
import type { FeedReport } from '../catalog/feed-report.ts'
import type { Logger } from '../observability/logger.ts'
import type { FeedSecrets } from './feeds/feed-address.ts'
import { type CatalogContent, findMeta, getCatalogId, isCatalogEmpty, setMeta } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** `key`, the password in `database` and the values of `feeds` are secrets. Port 0: any free port. */
export type ThreadOptions = Readonly<{
  database: string
  key: string
  port: number
  priceMaxAgeSeconds: number
  /** `null`: do not run feeds. */
  feeds: Readonly<{
    owner: string
    secrets: readonly (readonly [name: string, value: string])[]
    proxies: SerializedProxies
  }> | null
}>

export type ThreadRequest = Readonly<
  { type: 'close' } | { type: 'content'; id: number } | { type: 'feeds'; id: number; hasWarnings: boolean }
>

export type ThreadMessage = Readonly<
  | { type: 'listening'; url: string }
  | { type: 'log'; level: 'info' | 'warn' | 'error'; fields: object; message: string }
  | { type: 'content'; id: number; content: CatalogContent }
  | { type: 'feeds'; id: number; report: FeedReport | undefined }
  /** A feed ran: offers have changed, or the time of their prices. */
  | { type: 'feed-run' }
>

type CatalogThread = Readonly<{
  catalogId: string
  /** The address that the sample data links to; `null` without sample data. */
  sampleBaseUrl: string | null
  /** `true` when the catalog is empty although the stored copy has its content. It then takes over the copy's catalog id. */
  isContentLost: boolean
  url: string
  /** Return `own` also when the thread does not respond. */
  readCatalogContent(): Promise<CatalogContent>
  /** Return `undefined` when the thread does not respond. */
  readFeeds(hasWarnings: boolean): Promise<FeedReport | undefined>
  close(): Promise<void>
}>

type CatalogThreadOptions = Readonly<{
  database: DatabaseAddress
  /** Where the pictures and links of sample data lead; `null`: do not create sample data. */
  sampleBaseUrl: string | null
  /** Find the id of the catalog in the stored copy: `undefined` without a copy or for sample data, `null` when unknown. */
  findCopiedCatalogId(): Promise<string | null | undefined>
  key: Secret
  clock: Clock
  logger: Logger
  priceMaxAgeSeconds: number
  /** Run feeds with these secrets when they are due; `null`: do not. */
  feedSecrets: FeedSecrets | null
  proxies: Proxies
  /** Called after each successful run of a feed. */
  onFeedRun?: (() => void) | undefined
}>

/** A page of 200 products takes a few megabytes; a thread that exceeds this limit crashes and is restarted. */
const MAX_HEAP_MB = 256

const CLOSE_TIMEOUT_MS: number = 4 * SECOND_MS

const CONTENT_TIMEOUT_MS: number = SECOND_MS

/** Warnings compare the offers of many shops. */
const FEEDS_TIMEOUT_MS: number = 5 * SECOND_MS

/**
 * Run the embedded catalog service in its own thread, on a free loopback port. A thread that exits unexpectedly is restarted
 * on the same port: all its state is in the database.
 * @throws StoreError when the database cannot be opened; StoreVersionError when another version made it.
 */
export async function startCatalogThread(options: CatalogThreadOptions): Promise<CatalogThread> {
  const { clock, logger } = options
  const preparedCatalog = await prepareCatalog(options)
  const closing = new AbortController()
  const backoff = createRestartBackoff(clock)
  let thread = startThread(options, 0)
  const url = await thread.listening
  const superviseThread = async (): Promise<void> => {
    for (;;) {
      const error = await thread.exitError
      if (closing.signal.aborted) return
      const waitMs = backoff.nextMs()
      logger.error({ err: error, waitMs }, 'embedded catalog exited unexpectedly, restarting')
      await clock.wait(waitMs, closing.signal)
      if (closing.signal.aborted) return
      backoff.recordStart()
      thread = startThread(options, Number(new URL(url).port))
      thread.listening.catch(() => {})
    }
  }
  void superviseThread()
  return {
    ...preparedCatalog,
    url,
    readCatalogContent: () => thread.readCatalogContent(),
    readFeeds: (hasWarnings) => thread.readFeeds(hasWarnings),
    async close() {
      closing.abort()
      await thread.close()
    },
  }
}

/** Migrate the database. Fill an empty catalog with sample data, unless the stored copy has another catalog's content. */
async function prepareCatalog({ database, sampleBaseUrl, findCopiedCatalogId, clock }: CatalogThreadOptions) {
  const store = await openCatalogStore({ database, clock, role: 'embedded' })
  try {
    let isContentLost = false
    if (sampleBaseUrl !== null) {
      const copiedCatalogId = (await store.read(isCatalogEmpty)) ? await findCopiedCatalogId() : undefined
      if (copiedCatalogId === undefined) {
        const { seedSampleData } = await import('./sample/seed-sample-data.ts')
        await seedSampleData(store, sampleBaseUrl)
      } else if (copiedCatalogId !== null) {
        isContentLost = await store.write(async (transaction) => {
          if (!(await isCatalogEmpty(transaction))) return false
          // With the lost catalog's id, the stored copy stays valid: it is served until the next import updates it.
          await setMeta(transaction, 'catalog_id', copiedCatalogId)
          return true
        })
      }
    }
    const storedSampleBaseUrl = (await store.read((reader) => findMeta(reader, 'sample_base'))) ?? null
    return { catalogId: await store.read(getCatalogId), sampleBaseUrl: storedSampleBaseUrl, isContentLost }
  } finally {
    await store.close()
  }
}

function startThread(options: CatalogThreadOptions, port: number) {
  const { database, key, clock, logger, priceMaxAgeSeconds, feedSecrets, proxies, onFeedRun } = options
  const threadOptions: ThreadOptions = {
    database: serializeDatabaseAddress(database),
    key: key.reveal(),
    port,
    priceMaxAgeSeconds,
    feeds: feedSecrets && {
      owner: createLeaseOwner(),
      secrets: [...feedSecrets].map(([name, secret]) => [name, secret.reveal()] as const),
      proxies: serializeProxies(proxies),
    },
  }
  let setUrl: ((url: string) => void) | undefined
  const thread = openThread('catalog-service/service-thread.js', {
    data: threadOptions,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    clock,
    onMessage(message: ThreadMessage) {
      if (message.type === 'listening') setUrl?.(message.url)
      else if (message.type === 'log') logger[message.level](message.fields, message.message)
      else if (message.type === 'content') contentCalls.resolve(message.id, message.content)
      else if (message.type === 'feeds') feedCalls.resolve(message.id, message.report)
      else onFeedRun?.()
    },
  })
  const { exitError, ended: endSignal } = thread
  const contentCalls = createRpcChannel({ clock, timeoutMs: CONTENT_TIMEOUT_MS, endSignal })
  const feedCalls = createRpcChannel({ clock, timeoutMs: FEEDS_TIMEOUT_MS, endSignal })
  const send = (request: ThreadRequest): void => thread.send(request)
  const listening = new Promise<string>((resolve, reject) => {
    setUrl = resolve
    void exitError.then((error) => reject(toStartError(error)))
  })
  return {
    listening,
    exitError,
    async close() {
      send({ type: 'close' })
      await thread.waitForEnd(CLOSE_TIMEOUT_MS)
    },
    async readCatalogContent() {
      const content = await contentCalls.call((id) => send({ type: 'content', id }))
      return (content as CatalogContent | undefined) ?? 'own'
    },
    async readFeeds(hasWarnings: boolean) {
      return (await feedCalls.call((id) => send({ type: 'feeds', id, hasWarnings }))) as
        FeedReport | undefined
    },
  }
}

/** Errors of the project contain no secret. */
function toStartError(cause: unknown): StoreError {
  const isKnown = cause instanceof VitrineError
  const reason = isKnown ? cause.message : cause instanceof Error && describeInternalError(cause)
  return new StoreError(`the embedded catalog exited while starting: ${reason || 'no reason is known'}`, {
    cause,
    remedy: isKnown ? cause.remedy : null,
  })
}
