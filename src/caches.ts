import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { CachedDeals } from './freshness/deals.ts'
import type { CachedHistory } from './freshness/histories.ts'
import { createResponseCache } from './http/response-cache.ts'
import { type CacheBounds, createLruCache } from './lib/lru-cache.ts'
import type { CopyEntry } from './storage/store.ts'

export type Caches = ReturnType<typeof createCaches>

/** Create the in-memory caches of one process, which share the bounds of the settings. */
export function createCaches({ cacheMaxEntries, cacheMaxBytes }: Config, clock: Clock) {
  const toBounds = (entriesShare: number, bytesShare: number): CacheBounds => ({
    maxEntries: Math.max(1, Math.floor(cacheMaxEntries * entriesShare)),
    maxBytes: Math.max(1, Math.floor(cacheMaxBytes * bytesShare)),
  })
  // A cached response needs no other data, so responses get the largest share.
  return {
    products: createLruCache<CopyEntry>(toBounds(1 / 4, 1 / 16)),
    deals: createLruCache<CachedDeals>(toBounds(1 / 8, 1 / 16)),
    histories: createLruCache<CachedHistory>(toBounds(1 / 16, 1 / 16)),
    responses: createResponseCache(toBounds(9 / 16, 13 / 16), clock),
  }
}
