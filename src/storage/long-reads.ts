import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { sql } from 'kysely'
import { SECOND_MS, systemClock } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { UnavailableError } from '../errors.ts'
import { createSerialQueue } from '../lib/serial-queue.ts'
import type { CopyReader } from './sql-copies.ts'
import { EMPTY_DEAL_COUNTS, countDeals } from './sql-deal-counts.ts'
import { findDeals } from './sql-deals.ts'
import { searchProducts } from './sql-search.ts'
import type { CopyStore } from './store.ts'
import { isTimeout } from './store-failures.ts'

/** Reads that may go through a whole copy, so that they must not run on a thread that answers visitors. */
export type LongReads = Pick<CopyStore, 'findDeals' | 'countDeals' | 'searchProducts'>

/** Open what makes the long reads of a catalog's copy in the SQLite file at `path`. */
export type OpenLongReads = (
  source: Readonly<{ path: string; catalog: string }>,
) => LongReads & Readonly<{ close(): Promise<void> }>

/**
 * Create the long reads of a connection. SQLite runs them on the calling thread, to their end; a server ends each statement of
 * `findDeals` after its time.
 */
export function createLongReads(readCopy: CopyReader): LongReads {
  return {
    findDeals: (query, withinMs) =>
      readCopy(query.channelId, [], async (snapshot, copy) => {
        if (withinMs === undefined || !isPostgres(snapshot)) return findDeals(snapshot, copy, query)
        await sql`set local statement_timeout = ${sql.lit(Math.max(1, Math.ceil(withinMs)))}`.execute(
          snapshot,
        )
        return findDeals(snapshot, copy, query).catch((error: unknown) => {
          throw isTimeout(error) ? createTimeoutError(error) : error
        })
      }),
    countDeals: (query) =>
      readCopy(query.channelId, EMPTY_DEAL_COUNTS, (snapshot, copy) => countDeals(snapshot, copy, query)),
    searchProducts: (channelId, text, limit) =>
      readCopy(channelId, [], (snapshot, copy) => searchProducts(snapshot, copy, { text, limit })),
  }
}

/** One read, as it goes to a thread. `withinMs`: it is ended after that. */
export type ReadRequest = Readonly<{
  method: keyof LongReads
  parameters: readonly unknown[]
  withinMs: number
}>

/** What a thread is told: a read, or to end. It has one read at a time. */
export type ReadThreadMessage = ReadRequest | 'close'

/** What a thread answers; `failure`: in the words of the database, or `null` when the time was over. */
export type ReadResponse = Readonly<{ value: unknown }> | Readonly<{ failure: string | null }>

/** What a thread is made with. */
export type ReadThreadData = Parameters<OpenLongReads>[0]

/** How long a thread may take to end its reads at a stop. */
const CLOSE_TIMEOUT_MS: number = 2 * SECOND_MS

/** Open a thread that makes the long reads of a SQLite file, with a connection of its own. It starts with its first read. */
export const openReadThread: OpenLongReads = (source) => {
  const thread = new ReadThread(source)
  return {
    findDeals: (query, withinMs = Infinity) =>
      thread.read({ method: 'findDeals', parameters: [query], withinMs }),
    countDeals: (query) => thread.read({ method: 'countDeals', parameters: [query], withinMs: Infinity }),
    searchProducts: (...parameters) =>
      thread.read({ method: 'searchProducts', parameters, withinMs: Infinity }),
    close: () => thread.close(),
  }
}

function createTimeoutError(cause?: unknown): UnavailableError {
  return new UnavailableError('the deals were not read in time', { cause })
}

/** A thread that starts with its first read, and again after it has failed. */
class ReadThread {
  readonly #source: ReadThreadData
  readonly #queue = createSerialQueue()
  #running: Readonly<{ worker: Worker; ended: AbortSignal }> | undefined

  constructor(source: ReadThreadData) {
    this.#source = source
  }

  read<T>(request: ReadRequest): Promise<T> {
    const { worker, ended } = (this.#running ??= this.#start())
    return this.#queue.run(async () => {
      worker.postMessage(request satisfies ReadThreadMessage)
      const [response] = (await once(worker, 'message', { signal: ended })) as [ReadResponse]
      if ('value' in response) return response.value as T
      throw response.failure === null ? createTimeoutError() : new Error(response.failure)
    })
  }

  #start(): Readonly<{ worker: Worker; ended: AbortSignal }> {
    const worker = new Worker(new URL('./read-thread.js', import.meta.url), { workerData: this.#source })
    const ended = new AbortController()
    let cause: unknown
    worker.on('error', (error) => (cause = error))
    worker.once('exit', () => {
      this.#running = undefined
      ended.abort(new Error('the thread that reads grids has ended', { cause }))
    })
    worker.unref()
    return { worker, ended: ended.signal }
  }

  async close(): Promise<void> {
    if (this.#running === undefined) return
    const { worker, ended } = this.#running
    worker.ref()
    void this.#queue.run(async () => worker.postMessage('close' satisfies ReadThreadMessage))
    await systemClock.wait(CLOSE_TIMEOUT_MS, ended)
    if (!ended.aborted) await worker.terminate()
  }
}
