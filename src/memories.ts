import type { Config } from './config/config.ts'
import type { CopyEntry } from './copy/store.ts'
import type { RememberedDeals } from './freshness/deals.ts'
import { type Memory, createMemory } from './freshness/memory.ts'
import type { EncodedBody } from './http/encodings.ts'

/** An answer that was made once: its state, its validator, and its bytes; a fragment has only the first of the three. */
export type ReadyAnswer = Readonly<{
  state: 'shown' | 'hidden'
  /** `null` for an empty fragment, which has nothing to revalidate. */
  etag: string | null
  body: EncodedBody
}>

/** The caches in memory. */
export type Memories = Readonly<{
  products: Memory<CopyEntry>
  deals: Memory<RememberedDeals>
  answers: Memory<ReadyAnswer>
}>

/** Makes the caches of one process within the bounds of the settings. */
export function createMemories(config: Config): Memories {
  return {
    products: createMemory(shareBounds(config, 4)),
    deals: createMemory(shareBounds(config, 4)),
    answers: createMemory(shareBounds(config, 2)),
  }
}

/** The bounds of the settings hold for all caches together; each takes its share. */
function shareBounds(config: Config, parts: number): Readonly<{ maxEntries: number; maxBytes: number }> {
  return {
    maxEntries: Math.max(1, Math.floor(config.cacheMaxEntries / parts)),
    maxBytes: Math.max(1, Math.floor(config.cacheMaxBytes / parts)),
  }
}
