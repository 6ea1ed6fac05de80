import { LRUCache } from 'lru-cache'

/** Bookkeeping of the cache itself for one entry beside its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 200

/** Both bounds are required: memory is finite in entries and in bytes. */
export type MemoryBounds = Readonly<{ maxEntries: number; maxBytes: number }>

/** A bounded memory; what was used longest ago goes first. Ages are the business of the one who asks. */
export type Memory<T> = Readonly<{
  get(key: string): T | undefined
  /** `bytes`: of the value alone. What is larger than all of the memory is not kept. */
  set(key: string, value: T, bytes: number): void
  delete(key: string): void
  entryCount(): number
  byteCount(): number
}>

/**
 * Makes a memory on lru-cache `get` and `set`; its `fetch` drops good copies on failure and is not used. `onDrop` is told of
 * each value that is no longer in it, whatever the reason.
 */
export function createMemory<T extends object>(bounds: MemoryBounds, onDrop?: (value: T) => void): Memory<T> {
  const cache = new LRUCache<string, T>({
    max: bounds.maxEntries,
    maxSize: bounds.maxBytes,
    ...(onDrop && { dispose: onDrop }),
  })
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
