import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { CachedDeals } from './freshness/deals.ts'
import { type ResponseCache, createResponseCache } from './http/response-cache.ts'
import { type CacheBounds, type Memory, createMemory } from './lib/lru-cache.ts'
import type { CopyEntry } from './storage/store.ts'

/** The caches in memory of one process. */
export type Memories = Readonly<{
  products: Memory<CopyEntry>
  deals: Memory<CachedDeals>
  responses: ResponseCache
}>

/** Each cache has its share of the bounds of the settings. Responses have most: nobody asks for the data of a cached response. */
const SHARES = {
  products: { entries: 1 / 4, bytes: 1 / 16 },
  deals: { entries: 1 / 8, bytes: 1 / 16 },
  responses: { entries: 5 / 8, bytes: 7 / 8 },
} as const

/** Create the caches of one process within the bounds of the settings. */
export function createMemories(config: Config, clock: Clock): Memories {
  return {
    products: createMemory(shareBounds(config, 'products')),
    deals: createMemory(shareBounds(config, 'deals')),
    responses: createResponseCache(shareBounds(config, 'responses'), clock),
  }
}

/** Entries and bytes that one of the caches may have of what the settings allow for all. */
function shareBounds(
  config: Pick<Config, 'cacheMaxEntries' | 'cacheMaxBytes'>,
  name: keyof typeof SHARES,
): CacheBounds {
  const { entries, bytes } = SHARES[name]
  return {
    maxEntries: Math.max(1, Math.floor(config.cacheMaxEntries * entries)),
    maxBytes: Math.max(1, Math.floor(config.cacheMaxBytes * bytes)),
  }
}
