import { LRUCache } from 'lru-cache'

/** Bookkeeping of the cache itself for one entry beside its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 200

/** Both bounds are required: memory is finite in entries and in bytes. */
export type CacheBounds = Readonly<{ maxEntries: number; maxBytes: number }>

/** A bounded cache; the least recently used entry goes first. The caller judges ages. */
export type LruCache<T extends object> = ReturnType<typeof createLruCache<T>>

/** Create a cache on lru-cache `get` and `set`; its `fetch` drops good values on failure and is not used. */
export function createLruCache<T extends object>({ maxEntries, maxBytes }: CacheBounds) {
  const cache = new LRUCache<string, T>({ max: maxEntries, maxSize: maxBytes })
  return {
    get: (key: string): T | undefined => cache.get(key),
    /** `bytes`: of the value alone. A value that is larger than the whole cache is not kept. */
    set(key: string, value: T, bytes: number): void {
      cache.set(key, value, { size: bytes + key.length * 2 + ENTRY_OVERHEAD_BYTES })
    },
    delete(key: string): void {
      cache.delete(key)
    },
    entryCount: (): number => cache.size,
    byteCount: (): number => cache.calculatedSize,
  }
}
