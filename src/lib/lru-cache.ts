import { LRUCache } from 'lru-cache'

/** Overhead of one entry in bytes, without its key. */
const ENTRY_OVERHEAD_BYTES = 200

export type CacheBounds = Readonly<{ maxEntries: number; maxBytes: number }>

/** A bounded cache that evicts the least recently used entry. Entries do not expire. */
export type LruCache<T extends object> = ReturnType<typeof createLruCache<T>>

/** lru-cache `fetch` is not used, because it drops a good value on failure. */
export function createLruCache<T extends object>({ maxEntries, maxBytes }: CacheBounds) {
  const cache = new LRUCache<string, T>({ max: maxEntries, maxSize: maxBytes })
  return {
    get: (key: string): T | undefined => cache.get(key),
    /** `bytes`: size of the value alone. A value larger than the whole cache is not stored. */
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
