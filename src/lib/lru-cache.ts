import { LRUCache } from 'lru-cache'

/** Bookkeeping of the cache itself for one entry beside its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 200

/** Both bounds are required: memory is finite in entries and in bytes. */
export type CacheBounds = Readonly<{ maxEntries: number; maxBytes: number }>

/** A bounded cache; what was used longest ago goes first. The caller judges ages. */
export type Memory<T> = Readonly<{
  get(key: string): T | undefined
  /** `bytes`: of the value alone. A value that is larger than the whole cache is not kept. */
  set(key: string, value: T, bytes: number): void
  delete(key: string): void
  entryCount(): number
  byteCount(): number
}>

/** Create a cache on lru-cache `get` and `set`; its `fetch` drops good values on failure and is not used. */
export function createMemory<T extends object>(bounds: CacheBounds): Memory<T> {
  const cache = new LRUCache<string, T>({ max: bounds.maxEntries, maxSize: bounds.maxBytes })
  return {
    get: (key) => cache.get(key),
    set(key, value, bytes) {
      cache.set(key, value, { size: bytes + key.length * 2 + ENTRY_OVERHEAD_BYTES })
    },
    delete(key) {
      cache.delete(key)
    },
    entryCount: () => cache.size,
    byteCount: () => cache.calculatedSize,
  }
}
