import type { Config } from './config/config.ts'
import type { CopyEntry } from './storage/store.ts'
import type { RememberedDeals } from './freshness/deals.ts'
import { type Memory, type MemoryBounds, createMemory } from './lib/lru-cache.ts'
import { type HotCache, type HotCacheDetails, createHotCache } from './http/hot-cache.ts'

/** What sources remember. */
export type DataMemories = Readonly<{ products: Memory<CopyEntry>; deals: Memory<RememberedDeals> }>

/** The caches in memory. */
export type Memories = DataMemories & Readonly<{ answers: HotCache }>

/**
 * The bounds of the settings hold for all caches together; each takes its share. Answers have the most: while one is warm,
 * nobody asks for the data that it was made of.
 */
const SHARES = {
  products: { entries: 1 / 4, bytes: 1 / 16 },
  deals: { entries: 1 / 8, bytes: 1 / 16 },
  answers: { entries: 5 / 8, bytes: 7 / 8 },
} as const

/** Room for the tags of one answer, as a list and as text. */
const TAG_BYTES = 512

/** Makes the caches of data of one process within the bounds of the settings. */
export function createDataMemories(config: Config): DataMemories {
  return {
    products: createMemory(shareBounds(config, 'products')),
    deals: createMemory(shareBounds(config, 'deals')),
  }
}

/** Makes the cache of answers of one process within the bounds of the settings. */
export function createAnswerMemory(
  config: Config,
  details: Omit<HotCacheDetails, 'bounds' | 'tagBytes'>,
): HotCache {
  const tagBytes = config.cacheTagHeader === null ? 0 : TAG_BYTES
  return createHotCache({ ...details, tagBytes, bounds: shareBounds(config, 'answers') })
}

/** Entries and bytes that one of the caches may have of what the settings allow for all. */
export function shareBounds(
  config: Pick<Config, 'cacheMaxEntries' | 'cacheMaxBytes'>,
  name: keyof typeof SHARES,
): MemoryBounds {
  const { entries, bytes } = SHARES[name]
  return {
    maxEntries: Math.max(1, Math.floor(config.cacheMaxEntries * entries)),
    maxBytes: Math.max(1, Math.floor(config.cacheMaxBytes * bytes)),
  }
}
