import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLruCache } from '../../src/lib/lru-cache.ts'

describe('LRU cache', () => {
  test('value - is returned until it is deleted or replaced', () => {
    const memory = createLruCache<{ n: number }>({ maxEntries: 2, maxBytes: 10_000 })
    memory.set('a', { n: 1 }, 0)
    memory.set('a', { n: 2 }, 0)
    expect([memory.get('a'), memory.get('b'), memory.entryCount()]).toEqual([{ n: 2 }, undefined, 1])
    memory.delete('a')
    expect([memory.get('a'), memory.entryCount(), memory.byteCount()]).toEqual([undefined, 0, 0])
  })

  test('too many entries - the least recently used is evicted', () => {
    const memory = createLruCache<object>({ maxEntries: 2, maxBytes: 10_000 })
    memory.set('a', {}, 0)
    memory.set('b', {}, 0)
    memory.get('a')
    memory.set('c', {}, 0)
    expect(['a', 'b', 'c'].map((key) => memory.get(key) !== undefined)).toEqual([true, false, true])
  })

  test('value larger than the cache - is not stored and evicts nothing', () => {
    const memory = createLruCache<object>({ maxEntries: 10, maxBytes: 10_000 })
    memory.set('a', {}, 100)
    memory.set('b', {}, 10_001)
    expect([memory.get('a'), memory.get('b')]).toEqual([{}, undefined])
  })

  test('long keys - count towards the size', () => {
    const memory = createLruCache<object>({ maxEntries: 10, maxBytes: 10_000 })
    memory.set('k'.repeat(2_000), {}, 0)
    expect(memory.byteCount()).toBeGreaterThanOrEqual(4_000)
  })

  test('any values - never more entries or bytes than allowed', () => {
    const entry = fc.tuple(fc.string(), fc.nat(4_000))
    fc.assert(
      fc.property(fc.array(entry), fc.integer({ min: 1, max: 5 }), (entries, maxEntries) => {
        const memory = createLruCache<object>({ maxEntries, maxBytes: 6_000 })
        for (const [key, bytes] of entries) {
          memory.set(key, {}, bytes)
          expect(memory.entryCount()).toBeLessThanOrEqual(maxEntries)
          expect(memory.byteCount()).toBeLessThanOrEqual(6_000)
        }
      }),
    )
  })
})
