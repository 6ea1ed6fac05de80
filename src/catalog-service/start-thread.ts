import { Worker } from 'node:worker_threads'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { toDatabaseText } from '../config/database-address.ts'
import type { Secret } from '../config/secrets.ts'
import { StoreError, StoreNewerError, UsageError, type VitrineError } from '../errors.ts'
import { createRestartBackoff } from '../lib/backoff.ts'
import { createRpcChannel } from '../lib/rpc-channel.ts'
import type { Logger } from '../observability/logger.ts'
import type { CatalogContent } from './store/meta.ts'

/** What the thread is given; the key, and the password of a database, go there and nowhere else. */
export type ThreadOrder = Readonly<{
  /** The database's address, as a text. */
  database: string
  /** Where the pictures and links of sample data lead, when it may be put. */
  sampleBase: string | null
  key: string
  /** 0: any free one. */
  port: number
}>

/** Which catalog the stored copy was made of, but for sample data: `undefined` is none, `null` is not known. */
export type CopiedCatalog = string | null | undefined

/** Messages to the thread. */
export type ThreadRequest =
  | Readonly<{ type: 'close' }>
  | Readonly<{ type: 'content'; id: number }>
  | Readonly<{ type: 'copied'; catalogId: CopiedCatalog }>

type Listening = Readonly<{
  type: 'listening'
  url: string
  catalogId: string
  sampleBase: string | null
  isLost: boolean
}>

type Failed = Readonly<{
  type: 'failed'
  name: string
  message: string
  reason: string | null
  remedy: string | null
}>

/** Messages of the thread. */
export type ThreadMessage =
  | Listening
  /** The catalog is empty, and sample data may be put: the thread waits for `copied`. */
  | Readonly<{ type: 'empty' }>
  | Failed
  | Readonly<{ type: 'log'; fields: object; words: string }>
  | Readonly<{ type: 'content'; id: number; content: CatalogContent }>

/** The embedded catalog. */
export type CatalogThread = Readonly<{
  /** `{base_url}`; the same as long as it lives, also after a restart of the thread. */
  url: string
  catalogId: string
  /** The address that its sample data was made for; `null` without any. */
  sampleBase: string | null
  /** Is it empty in the place of the catalog that the stored copy was made of? It has taken that one's id. */
  isLost: boolean
  /** `own` also when the thread does not answer. */
  readContent(): Promise<CatalogContent>
  /** Closing twice does nothing more. */
  close(): Promise<void>
}>

/** What the thread is started with; `sampleBase` as in `ThreadOrder`, and `findCopied` is asked before it is used. */
export type CatalogThreadOptions = Readonly<{
  database: DatabaseAddress
  sampleBase: string | null
  findCopied(): Promise<CopiedCatalog>
  key: Secret
  clock: Clock
  logger: Logger
}>

/** The built body, from `src/` and `dist/` alike: a thread needs JavaScript. */
const BODY = new URL('../../dist/catalog-service/service-thread.js', import.meta.url)

/** A page of 200 products is a few megabytes; beyond this something is wrong, and the thread is restarted. */
const MAX_HEAP_MB = 256

/** How long responses under way, and the database, may take to close. */
const CLOSE_TIMEOUT_MS: number = 4 * SECOND_MS

/** How long the thread may take to say what it holds. */
const CONTENT_TIMEOUT_MS: number = SECOND_MS

/**
 * Run the embedded catalog service in a thread of its own, on loopback at a port that it chooses. A thread that ends by itself
 * is restarted on the same port: all that it knows is in its database.
 * @throws StoreError when the database cannot be opened; StoreNewerError when a newer version made it; UsageError when it
 * cannot listen.
 */
export async function startCatalogThread(options: CatalogThreadOptions): Promise<CatalogThread> {
  const { clock, logger } = options
  const closing = new AbortController()
  const backoff = createRestartBackoff(clock)
  let thread = startThread(options, 0)
  const { url, catalogId, sampleBase, isLost } = await thread.listening
  const keepAlive = async (): Promise<void> => {
    for (;;) {
      const error = await thread.end
      if (closing.signal.aborted) return
      const waitMs = backoff.nextMs()
      logger.error({ err: error, waitMs }, 'the embedded catalog ended: a bug; it is started again')
      await clock.wait(waitMs, closing.signal)
      if (closing.signal.aborted) return
      backoff.noteStart()
      thread = startThread({ ...options, sampleBase: null }, Number(new URL(url).port))
      thread.listening.catch(() => {})
    }
  }
  const ended = keepAlive()
  return {
    url,
    catalogId,
    sampleBase,
    isLost,
    readContent: () => thread.readContent(),
    async close() {
      closing.abort()
      thread.send({ type: 'close' })
      await Promise.race([ended, clock.wait(CLOSE_TIMEOUT_MS, thread.ended)])
      await thread.worker.terminate()
    },
  }
}

/** One life of the thread. */
type Thread = Readonly<{
  worker: Worker
  listening: Promise<Listening>
  /** Resolves at its end, with what ended it if that was an error. */
  end: Promise<unknown>
  ended: AbortSignal
  send(request: ThreadRequest): void
  readContent(): Promise<CatalogContent>
}>

function startThread(options: CatalogThreadOptions, port: number): Thread {
  const { database, sampleBase, key, clock, logger } = options
  const order: ThreadOrder = { database: toDatabaseText(database), sampleBase, key: key.reveal(), port }
  const worker = new Worker(BODY, {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const ended = new AbortController()
  const calls = createRpcChannel({ clock, timeoutMs: CONTENT_TIMEOUT_MS, ended: ended.signal })
  const send = (request: ThreadRequest): void => worker.postMessage(request)
  let failure: unknown
  const listening = new Promise<Listening>((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      if (message.type === 'listening') resolve(message)
      else if (message.type === 'empty')
        void options.findCopied().then((catalogId) => send({ type: 'copied', catalogId }))
      else if (message.type === 'failed') reject((failure = toError(message)))
      else if (message.type === 'log') logger.error(message.fields, message.words)
      else calls.resolve(message.id, message.content)
    })
    worker.on('error', (error) => reject((failure = error)))
    worker.on('exit', () => reject(new StoreError('the thread of the embedded catalog ended at its start')))
  })
  const end = new Promise<unknown>((resolve) => worker.on('exit', () => resolve(failure)))
  worker.on('exit', () => ended.abort())
  return {
    worker,
    listening,
    end,
    ended: ended.signal,
    send,
    async readContent() {
      const content = await calls.call((id) => send({ type: 'content', id }))
      return (content as CatalogContent | undefined) ?? 'own'
    },
  }
}

/** The errors that a start may end with, as they were thrown in the thread. */
function toError({ name, message, reason, remedy }: Failed): VitrineError {
  const options = reason === null ? {} : { cause: new Error(reason) }
  if (name === 'StoreNewerError') return new StoreNewerError(message, options)
  if (name === 'UsageError') return new UsageError(message, options)
  return new StoreError(message, { ...options, remedy })
}
