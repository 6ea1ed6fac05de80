import { createBatcher } from '../lib/concurrency.ts'
import { createRequestThread } from '../lib/request-thread.ts'
import { type SerializedError, deserializeError } from '../lib/thread.ts'
import type { LongReads } from './long-reads.ts'
import type { HistoryRules } from './price-history.ts'
import type { CopyStore, Lookup } from './store.ts'

/** Threads with their own connections to the SQLite file of a copy, so that the thread that serves visitors does not wait. */
export type StoreThreads = Readonly<{
  openLongReads(data: ReadThreadData): LongReads & Closable
  openLookupWriter(data: WriteThreadData): Pick<CopyStore, 'putLookups'> & Closable
}>

type Closable = Readonly<{ close(): Promise<void> }>

export type ReadThreadData = Readonly<{ path: string; catalog: string }>
export type WriteThreadData = ReadThreadData & Readonly<{ history: HistoryRules }>

/** A read for the thread, which stops it after `timeoutMs`. */
export type ReadRequest = Readonly<{
  method: keyof LongReads
  parameters: readonly unknown[]
  timeoutMs: number
}>

/** The look-ups of several calls; each call is written atomically. The result has the error of each, or `null`. */
export type WriteRequest = readonly (readonly Lookup[])[]
export type WriteResult = readonly (SerializedError | null)[]

/** Threads that start with their first request. */
export const STORE_THREADS: StoreThreads = {
  openLongReads(data) {
    const { request, close } = createRequestThread('storage/read-thread.js', data)
    const read = <T>(readRequest: ReadRequest): Promise<T> => request(readRequest) as Promise<T>
    const readWithoutDeadline =
      <Method extends keyof LongReads>(method: Method) =>
      (...parameters: Parameters<LongReads[Method]>): ReturnType<LongReads[Method]> =>
        read({ method, parameters, timeoutMs: Infinity }) as ReturnType<LongReads[Method]>
    return {
      findDeals: (query, timeoutMs = Infinity) =>
        read({ method: 'findDeals', parameters: [query], timeoutMs }),
      countDeals: readWithoutDeadline('countDeals'),
      searchProducts: readWithoutDeadline('searchProducts'),
      listAskedProducts: readWithoutDeadline('listAskedProducts'),
      listPlacements: readWithoutDeadline('listPlacements'),
      listClicks: readWithoutDeadline('listClicks'),
      sumClicks: readWithoutDeadline('sumClicks'),
      findLastShownDays: readWithoutDeadline('findLastShownDays'),
      close,
    }
  },
  openLookupWriter(data) {
    const { request, close } = createRequestThread('storage/write-thread.js', data)
    const put = createBatcher((calls: WriteRequest) => request(calls) as Promise<WriteResult>)
    return {
      async putLookups(lookups) {
        const error = await put(lookups)
        if (error !== null) throw deserializeError(error)
      },
      close,
    }
  },
}
