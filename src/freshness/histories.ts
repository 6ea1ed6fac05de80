import { type Clock, SECOND_MS, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import { tryReadBeforeDeadline } from '../lib/with-timeout.ts'
import type { PriceSeries } from '../offers/price-history.ts'
import type { CopyStore } from '../storage/store.ts'

type HistorySourceOptions = Readonly<{
  store: Pick<CopyStore, 'findPriceSeries'>
  cache: LruCache<CachedHistory>
  clock: Clock
  config: FreshnessConfig
  onStoreFailure(error: unknown): void
}>

/** Observed prices that were read at `readAtMs`, for the product of `asOfMs`. */
export type CachedHistory = Readonly<{ series: readonly PriceSeries[]; asOfMs: number; readAtMs: number }>

/** `asOfMs`: when the catalog returned the product. `deadlineMs`: of the whole request. Unix milliseconds. */
type HistoryRequest = Readonly<{ channelId: string; gtin: string; asOfMs: number; deadlineMs: number }>

/** `validUntilMs`: until when the series can be reused, Unix milliseconds. */
type History = Readonly<{ series: readonly PriceSeries[]; validUntilMs: number }>

/** Reads the observed prices of a product from memory, then from the stored copy. */
export type HistorySource = ReturnType<typeof createHistorySource>

export function createHistorySource({ store, cache, clock, config, onStoreFailure }: HistorySourceOptions) {
  const flights = createSingleFlight<CachedHistory>()
  const freshMs = config.freshSeconds * SECOND_MS

  async function read({ channelId, gtin, asOfMs }: HistoryRequest, key: string): Promise<CachedHistory> {
    const readAtMs = clock.nowMs()
    try {
      const history = { series: await store.findPriceSeries(channelId, gtin), asOfMs, readAtMs }
      cache.set(key, history, estimateBytes(history.series))
      return history
    } catch (error) {
      onStoreFailure(error)
      throw error
    }
  }

  return {
    /** Return the observed prices; `undefined` when the store fails or the deadline passes. */
    async findHistory(request: HistoryRequest): Promise<History | undefined> {
      const key = `${request.channelId} ${request.gtin}`
      const cached = cache.get(key)
      // A new state of the product came with new prices.
      const isCurrent = cached?.asOfMs === request.asOfMs && isWithin(cached.readAtMs, freshMs, clock.nowMs())
      const history = isCurrent
        ? cached
        : await tryReadBeforeDeadline(
            { clock, config },
            request.deadlineMs,
            flights.run(`${key} ${request.asOfMs}`, () => read(request, key)),
          )
      return history && { series: history.series, validUntilMs: history.readAtMs + freshMs }
    },
  }
}

/** Estimated memory of a series and of one of its days. */
const SERIES_BYTES = 200
const DAY_BYTES = 64

function estimateBytes(series: readonly PriceSeries[]): number {
  return series.reduce((sum, { days }) => sum + SERIES_BYTES + days.length * DAY_BYTES, 0)
}
