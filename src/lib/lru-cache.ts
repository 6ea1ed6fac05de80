import { LRUCache } from 'lru-cache'

/** Bookkeeping of the cache itself for one entry beside its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 200

/** `isThere` is true until the value goes: replaced by another, deleted, or dropped for want of room. */
export type Watch = Readonly<{ isThere: boolean }>

/** Both bounds are required: memory is finite in entries and in bytes. */
export type MemoryBounds = Readonly<{ maxEntries: number; maxBytes: number }>

/** A bounded memory; what was used longest ago goes first. Ages are the business of the one who asks. */
export type Memory<T> = Readonly<{
  get(key: string): T | undefined
  /** `bytes`: of the value alone. What is larger than all of the memory is not kept. */
  set(key: string, value: T, bytes: number): void
  delete(key: string): void
  /** Tells from now on, without a look, whether the value of a key is still the same; `undefined` where there is none. */
  watch(key: string): Watch | undefined
  entryCount(): number
  byteCount(): number
}>

type Slot<T> = Readonly<{ value: T; watch: { isThere: boolean } }>

/**
 * Makes a memory on lru-cache `get` and `set`; its `fetch` drops good copies on failure and is not used. `onDrop` is told of
 * each value that is no longer in it, whatever the reason.
 */
export function createMemory<T extends object>(bounds: MemoryBounds, onDrop?: (value: T) => void): Memory<T> {
  const cache = new LRUCache<string, Slot<T>>({
    max: bounds.maxEntries,
    maxSize: bounds.maxBytes,
    dispose({ value, watch }) {
      watch.isThere = false
      onDrop?.(value)
    },
  })
  return {
    get: (key) => cache.get(key)?.value,
    set(key, value, bytes) {
      const slot = { value, watch: { isThere: true } }
      cache.set(key, slot, { size: bytes + key.length * 2 + ENTRY_OVERHEAD_BYTES })
    },
    watch: (key) => cache.peek(key)?.watch,
    delete(key) {
      cache.delete(key)
    },
    entryCount: () => cache.size,
    byteCount: () => cache.calculatedSize,
  }
}
