import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLruCache } from '../../src/lib/lru-cache.ts'

describe('LRU cache', () => {
  test('value - is returned until it is deleted or replaced', () => {
    const cache = createLruCache<{ n: number }>({ maxEntries: 2, maxBytes: 10_000 })
    cache.set('a', { n: 1 }, 0)
    cache.set('a', { n: 2 }, 0)
    expect([cache.get('a'), cache.get('b'), cache.entryCount()]).toEqual([{ n: 2 }, undefined, 1])
    cache.delete('a')
    expect([cache.get('a'), cache.entryCount(), cache.byteCount()]).toEqual([undefined, 0, 0])
  })

  test('too many entries - the least recently used is evicted', () => {
    const cache = createLruCache<object>({ maxEntries: 2, maxBytes: 10_000 })
    cache.set('a', {}, 0)
    cache.set('b', {}, 0)
    cache.get('a')
    cache.set('c', {}, 0)
    expect(['a', 'b', 'c'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true])
  })

  test('value larger than the cache - is not stored and evicts nothing', () => {
    const cache = createLruCache<object>({ maxEntries: 10, maxBytes: 10_000 })
    cache.set('a', {}, 100)
    cache.set('b', {}, 10_001)
    expect([cache.get('a'), cache.get('b')]).toEqual([{}, undefined])
  })

  test('long keys - count towards the size', () => {
    const cache = createLruCache<object>({ maxEntries: 10, maxBytes: 10_000 })
    cache.set('k'.repeat(2_000), {}, 0)
    expect(cache.byteCount()).toBeGreaterThanOrEqual(4_000)
  })

  test('any values - never more entries or bytes than allowed', () => {
    const entry = fc.tuple(fc.string(), fc.nat(4_000))
    fc.assert(
      fc.property(fc.array(entry), fc.integer({ min: 1, max: 5 }), (entries, maxEntries) => {
        const cache = createLruCache<object>({ maxEntries, maxBytes: 6_000 })
        for (const [key, bytes] of entries) {
          cache.set(key, {}, bytes)
          expect(cache.entryCount()).toBeLessThanOrEqual(maxEntries)
          expect(cache.byteCount()).toBeLessThanOrEqual(6_000)
        }
      }),
    )
  })
})
