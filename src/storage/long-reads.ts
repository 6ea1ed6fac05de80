import { sql } from 'kysely'
import { SECOND_MS } from '../clock.ts'
import { isPostgres } from '../database/dialect.ts'
import { isTimeout } from '../database/failures.ts'
import { StoreError, UnavailableError } from '../errors.ts'
import { createSerialQueue } from '../lib/concurrency.ts'
import { type SerializedError, type Thread, deserializeError, openThread } from '../lib/thread.ts'
import {
  type CountReads,
  findLastShownDays,
  listAskedProducts,
  listClicks,
  listPlacements,
  sumClicks,
} from './counts.ts'
import { EMPTY_DEAL_COUNTS, countDeals, findDeals } from './deals.ts'
import type { CopyReader } from './copies.ts'
import { searchProducts } from './search.ts'
import type { CopyStore } from './store.ts'

/** Reads that may scan a whole copy, so they must not run on the thread that serves visitors. */
export type LongReads = CountReads & Pick<CopyStore, 'findDeals' | 'countDeals' | 'searchProducts'>

export type OpenLongReads = (
  source: Readonly<{ path: string; catalog: string }>,
) => LongReads & Readonly<{ close(): Promise<void> }>

/**
 * Create the long reads of a connection. SQLite runs them to completion on the calling thread. PostgreSQL cancels each
 * statement of `findDeals` after `timeoutMs`, or after `statementTimeoutMs` as any other.
 */
export function createLongReads(readCopy: CopyReader, statementTimeoutMs = Infinity): LongReads {
  return {
    findDeals: (query, timeoutMs) =>
      readCopy(query.channelId, [], async (snapshot, copy) => {
        if (timeoutMs === undefined || !isPostgres(snapshot)) return findDeals(snapshot, copy, query)
        const limitMs = Math.max(1, Math.ceil(Math.min(timeoutMs, statementTimeoutMs)))
        await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(snapshot)
        return findDeals(snapshot, copy, query).catch((error: unknown) => {
          throw isTimeout(error) ? createTimeoutError(error) : error
        })
      }),
    countDeals: (query, shopKeys) =>
      readCopy(query.channelId, EMPTY_DEAL_COUNTS, (snapshot, copy) =>
        countDeals(snapshot, copy, query, shopKeys),
      ),
    searchProducts: (channelId, text, limit) =>
      readCopy(channelId, [], (snapshot, copy) => searchProducts(snapshot, copy, { text, limit })),
    listAskedProducts: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listAskedProducts(snapshot, id, request)),
    listPlacements: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listPlacements(snapshot, id, request)),
    listClicks: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listClicks(snapshot, id, request)),
    sumClicks: (channelId, request) =>
      readCopy(channelId, new Map<string | null, number>(), (snapshot, { id }) =>
        sumClicks(snapshot, id, request),
      ),
    findLastShownDays: (channelId, gtins) =>
      readCopy(channelId, new Map<string, number>(), (snapshot, { id }) =>
        findLastShownDays(snapshot, id, gtins),
      ),
  }
}

/** A read for the thread, which stops it after `timeoutMs`. */
export type ReadRequest = Readonly<{
  method: keyof LongReads
  parameters: readonly unknown[]
  timeoutMs: number
}>

/** A message to the thread, which runs one read at a time. */
export type ReadThreadMessage = ReadRequest | 'close'

export type ReadResponse = Readonly<{ value: unknown }> | Readonly<{ error: SerializedError }>

export type ReadThreadData = Parameters<OpenLongReads>[0]

/** How long a closing thread may take to finish its read before it is terminated. */
const CLOSE_TIMEOUT_MS: number = 2 * SECOND_MS

/** Open a thread with its own connection for the long reads of a SQLite file. The first read starts the thread. */
export const openReadThread: OpenLongReads = (source) => {
  const thread = new ReadThread(source)
  const runWithoutDeadline =
    <Method extends keyof LongReads>(method: Method) =>
    (...parameters: Parameters<LongReads[Method]>): ReturnType<LongReads[Method]> =>
      thread.read({ method, parameters, timeoutMs: Infinity }) as ReturnType<LongReads[Method]>
  return {
    findDeals: (query, timeoutMs = Infinity) =>
      thread.read({ method: 'findDeals', parameters: [query], timeoutMs }),
    countDeals: runWithoutDeadline('countDeals'),
    searchProducts: runWithoutDeadline('searchProducts'),
    listAskedProducts: runWithoutDeadline('listAskedProducts'),
    listPlacements: runWithoutDeadline('listPlacements'),
    listClicks: runWithoutDeadline('listClicks'),
    sumClicks: runWithoutDeadline('sumClicks'),
    findLastShownDays: runWithoutDeadline('findLastShownDays'),
    close: () => thread.close(),
  }
}

export function createTimeoutError(cause?: unknown): UnavailableError {
  return new UnavailableError('the deals were not read in time', { cause })
}

/** Starts its thread for the first read, and again for the next read after the thread crashed. */
class ReadThread {
  readonly #source: ReadThreadData
  readonly #queue = createSerialQueue()
  #running: Thread | undefined
  #isClosed = false

  constructor(source: ReadThreadData) {
    this.#source = source
  }

  async read<T>(request: ReadRequest): Promise<T> {
    if (this.#isClosed) throw new StoreError('the stored copy is closed')
    return this.#queue.run(async () => {
      // It may have crashed since.
      const thread = (this.#running ??= this.#start())
      thread.send(request satisfies ReadThreadMessage)
      const response = (await thread.receive()) as ReadResponse
      if ('value' in response) return response.value as T
      throw deserializeError(response.error)
    })
  }

  #start(): Thread {
    const thread = openThread('storage/read-thread.js', { data: this.#source })
    thread.ended.addEventListener('abort', () => (this.#running = undefined))
    thread.unref()
    return thread
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const thread = this.#running
    if (thread === undefined) return
    void this.#queue.run(async () => this.#running?.send('close' satisfies ReadThreadMessage))
    await thread.waitForEnd(CLOSE_TIMEOUT_MS)
  }
}
