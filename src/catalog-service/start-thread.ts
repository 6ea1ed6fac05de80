import { Worker } from 'node:worker_threads'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { DatabaseAddress } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import type { Secret } from '../config/secrets.ts'
import { StoreError, StoreNewerError, UsageError, type VitrineError } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import { createRpcChannel } from '../lib/rpc-channel.ts'
import { type RestartBackoff, createRestartBackoff } from '../lib/backoff.ts'
import type { CatalogContent } from './store/sample-state.ts'

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

/** What the thread is told and asked. */
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

/** What the thread tells. */
export type ThreadMessage =
  | Listening
  /** The catalog is empty, and sample data may be put: it waits to be told what the stored copy was made of. */
  | Readonly<{ type: 'empty' }>
  | Failed
  | Readonly<{ type: 'log'; fields: object; words: string }>
  | Readonly<{ type: 'content'; id: number; content: CatalogContent }>

/** The embedded catalog, as whoever started its thread sees it. */
export type CatalogThread = Readonly<{
  /** `{base_url}`; the same as long as it lives, whatever happens to the thread. */
  url: string
  catalogId: string
  /** The address that its sample data was made for; `null` without any. */
  sampleBase: string | null
  /** Is it empty in the place of the catalog that the stored copy was made of? It has taken that one's id. */
  isLost: boolean
  readContent(): Promise<CatalogContent>
  /** Twice is once. */
  close(): Promise<void>
}>

/** What the thread is started with; `sampleBase` as in `ThreadOrder`, and before it is used `findCopied` is asked. */
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

/** A page of 200 products is a few megabytes; beyond this something is wrong, and the thread is started again. */
const MAX_HEAP_MB = 256

/** How long answers under way, and the database, may take to close. */
const CLOSE_WITHIN_MS: number = 4 * SECOND_MS

/** How long it may take to say what it holds. */
const ANSWER_WITHIN_MS: number = SECOND_MS

/**
 * Runs the embedded catalog service in a thread of its own, on loopback at a port that it chooses. A thread that ends by
 * itself is started again on the same port: all that it knows is in its database.
 * @throws StoreError when the database cannot be opened; StoreNewerError when a newer version made it; UsageError when it
 * cannot listen.
 */
export async function startCatalogThread(options: CatalogThreadOptions): Promise<CatalogThread> {
  const { clock } = options
  const closing = new AbortController()
  const waits = createRestartBackoff(clock)
  const first = startThread(options, 0)
  const { url, catalogId, sampleBase, isLost } = await first.listening
  const current = { thread: first }
  const kept = keepAlive({ options, current, waits, signal: closing.signal, port: Number(new URL(url).port) })
  return {
    url,
    catalogId,
    sampleBase,
    isLost,
    readContent: () => current.thread.askContent(),
    async close() {
      closing.abort()
      current.thread.close()
      await Promise.race([kept, clock.wait(CLOSE_WITHIN_MS, current.thread.ended)])
      await current.thread.terminate()
    },
  }
}

type Keeping = Readonly<{
  options: CatalogThreadOptions
  current: { thread: Thread }
  waits: RestartBackoff
  port: number
  signal: AbortSignal
}>

/** Resolves when the thread has ended and was told to. */
async function keepAlive({ options, current, waits, port, signal }: Keeping): Promise<void> {
  const { clock, logger } = options
  for (;;) {
    const error = await current.thread.end
    if (signal.aborted) return
    const waitMs = waits.nextMs()
    logger.error({ err: error, waitMs }, 'the embedded catalog ended: a bug; it is started again')
    await clock.wait(waitMs, signal)
    if (signal.aborted) return
    waits.noteStart()
    current.thread = startThread({ ...options, sampleBase: null }, port)
    current.thread.listening.catch(() => {})
  }
}

/** One life of the thread. */
type Thread = Readonly<{
  listening: Promise<Listening>
  /** Resolves at its end, with what ended it if that was an error. */
  end: Promise<unknown>
  ended: AbortSignal
  /** `own` also when it does not answer. */
  askContent(): Promise<CatalogContent>
  close(): void
  terminate(): Promise<void>
}>

function startThread(options: CatalogThreadOptions, port: number): Thread {
  const { database, sampleBase, key, clock, logger } = options
  const order: ThreadOrder = { database: toDatabaseText(database), sampleBase, key: key.reveal(), port }
  const worker = new Worker(BODY, {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const ended = new AbortController()
  const calls = createRpcChannel({ clock, timeoutMs: ANSWER_WITHIN_MS, ended: ended.signal })
  const tell = (request: ThreadRequest): void => worker.postMessage(request)
  let failure: unknown
  const listening = new Promise<Listening>((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      if (message.type === 'listening') resolve(message)
      else if (message.type === 'empty')
        void options.findCopied().then((catalogId) => tell({ type: 'copied', catalogId }))
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
    listening,
    end,
    ended: ended.signal,
    askContent: async () =>
      ((await calls.call((id) => tell({ type: 'content', id }))) as CatalogContent | undefined) ?? 'own',
    close: () => tell({ type: 'close' }),
    terminate: async () => void (await worker.terminate()),
  }
}

/** The errors that a start may end with, as they were thrown there. */
function toError({ name, message, reason, remedy }: Failed): VitrineError {
  const options = reason === null ? {} : { cause: new Error(reason) }
  if (name === 'StoreNewerError') return new StoreNewerError(message, options)
  if (name === 'UsageError') return new UsageError(message, options)
  return new StoreError(message, { ...options, remedy })
}
