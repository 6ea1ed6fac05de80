import { Worker } from 'node:worker_threads'
import { type Clock, SECOND_MS } from '../clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../config/database-address.ts'
import type { Secret } from '../config/secrets.ts'
import { StoreError } from '../errors.ts'
import { createRestartBackoff } from '../lib/backoff.ts'
import { createRpcChannel } from '../lib/rpc-channel.ts'
import type { Logger } from '../observability/logger.ts'
import { type CatalogContent, findMeta, getOrCreateCatalogId, isCatalogEmpty, setMeta } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** What the thread is given; the key, and the password of a database, go there and nowhere else. Port 0: any free one. */
export type ThreadOptions = Readonly<{ database: string; key: string; port: number }>

export type ThreadRequest = Readonly<{ type: 'close' } | { type: 'content'; id: number }>

export type ThreadMessage = Readonly<
  | { type: 'listening'; url: string }
  | { type: 'log'; fields: object; message: string }
  | { type: 'content'; id: number; content: CatalogContent }
>

/** The running service, and what its catalog held at the start. */
type CatalogThread = Readonly<{
  catalogId: string
  /** The address that its sample data was made for; `null` without any. */
  sampleBase: string | null
  /** Is it empty in the place of the catalog that the stored copy was made of? It has taken that one's id. */
  isContentLost: boolean
  /** `{base_url}`; the same as long as it lives, also after a restart of the thread. */
  url: string
  /** `own` also when the thread does not answer. */
  readContent(): Promise<CatalogContent>
  close(): Promise<void>
}>

type CatalogThreadOptions = Readonly<{
  database: DatabaseAddress
  /** Where the pictures and links of sample data lead; `null`: none may be put. */
  sampleBase: string | null
  /** Find the catalog that the stored copy was made of, but for sample data: `undefined` is none, `null` is not known. */
  findCopiedCatalogId(): Promise<string | null | undefined>
  key: Secret
  clock: Clock
  logger: Logger
}>

/** The built body, from `src/` and `dist/` alike: a thread needs JavaScript. */
const THREAD_FILE = new URL('../../dist/catalog-service/service-thread.js', import.meta.url)

/** A page of 200 products is a few megabytes; beyond this something is wrong, and the thread is restarted. */
const MAX_HEAP_MB = 256

const CLOSE_TIMEOUT_MS: number = 4 * SECOND_MS

const CONTENT_TIMEOUT_MS: number = SECOND_MS

/**
 * Run the embedded catalog service in a thread of its own, on loopback at a port that it chooses. A thread that ends by itself
 * is restarted on the same port: all that it knows is in its database.
 * @throws StoreError when the database cannot be opened; StoreNewerError when a newer version made it.
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
      logger.error({ err: error, waitMs }, 'the embedded catalog ended: a bug; it is started again')
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
    readContent: () => thread.readContent(),
    async close() {
      closing.abort()
      thread.send({ type: 'close' })
      await clock.wait(CLOSE_TIMEOUT_MS, thread.ended)
      await thread.worker.terminate()
    },
  }
}

/** Migrate the database, and fill an empty catalog with sample data, unless the stored copy was made of another one. */
async function prepareCatalog({ database, sampleBase, findCopiedCatalogId, clock }: CatalogThreadOptions) {
  const store = await openCatalogStore({ database, clock, role: 'embedded' })
  try {
    let isContentLost = false
    if (sampleBase !== null) {
      const copiedCatalogId = (await isCatalogEmpty(store.reader)) ? await findCopiedCatalogId() : undefined
      if (copiedCatalogId === undefined) {
        const { seedSampleData } = await import('./sample/seed-sample-data.ts')
        await seedSampleData(store, sampleBase)
      } else if (copiedCatalogId !== null) {
        isContentLost = await store.write(async (transaction) => {
          if (!(await isCatalogEmpty(transaction))) return false
          // With the id of the lost catalog, its copy is that of this one: it is shown, and an import goes on with it.
          await setMeta(transaction, 'catalog_id', copiedCatalogId)
          return true
        })
      }
    }
    const storedSampleBase = (await findMeta(store.reader, 'sample_base')) ?? null
    return { catalogId: await getOrCreateCatalogId(store), sampleBase: storedSampleBase, isContentLost }
  } finally {
    await store.close()
  }
}

function startThread({ database, key, clock, logger }: CatalogThreadOptions, port: number) {
  const threadOptions: ThreadOptions = {
    database: serializeDatabaseAddress(database),
    key: key.reveal(),
    port,
  }
  const worker = new Worker(THREAD_FILE, {
    workerData: threadOptions,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const ended = new AbortController()
  const calls = createRpcChannel({ clock, timeoutMs: CONTENT_TIMEOUT_MS, endSignal: ended.signal })
  const send = (request: ThreadRequest): void => worker.postMessage(request)
  let failure: unknown
  const listening = new Promise<string>((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      if (message.type === 'listening') resolve(message.url)
      else if (message.type === 'log') logger.error(message.fields, message.message)
      else calls.resolve(message.id, message.content)
    })
    worker.on('error', (error) => (failure = error))
    worker.on('exit', () =>
      reject(new StoreError('the thread of the embedded catalog ended at its start', { cause: failure })),
    )
  })
  /** What ended it; `undefined` if that was no error. */
  const exitError = new Promise<unknown>((resolve) => worker.on('exit', () => resolve(failure)))
  worker.on('exit', () => ended.abort())
  return {
    worker,
    listening,
    exitError,
    ended: ended.signal,
    send,
    async readContent() {
      const content = await calls.call((id) => send({ type: 'content', id }))
      return (content as CatalogContent | undefined) ?? 'own'
    },
  }
}
