import { describe, expect, test } from 'vitest'
import { type Caches, createCaches } from '../src/caches.ts'
import { systemClock } from '../src/clock.ts'
import { parseConfig } from '../src/config/config.ts'
import { makeResponse } from './helpers/responses.ts'

const NAMES = ['products', 'deals', 'responses'] as const

const makeCaches = (maxEntries: number, maxBytes: number): Caches => {
  const settings = {
    VITRINE_CACHE_MAX_ENTRIES: String(maxEntries),
    VITRINE_CACHE_MAX_BYTES: String(maxBytes),
  }
  return createCaches(parseConfig(settings).config, systemClock)
}

/** Put more into each cache than all of them may hold together. */
function fill(memories: Caches, count: number, bytes: number): void {
  const response = makeResponse({ bodies: { identity: 'x'.repeat(bytes) } })
  for (let index = 0; index < count; index += 1) {
    const key = String(index).padStart(8, '0')
    memories.products.set(key, { product: null, asOfMs: 0 }, bytes)
    memories.deals.set(key, { page: { deals: [], hasNext: false }, asOfMs: 0, readAtMs: 0, walk: 1 }, bytes)
    memories.responses.set(key, response, key)
  }
}

const sum = (memories: Caches, read: 'entryCount' | 'byteCount'): number =>
  NAMES.reduce((total, name) => total + memories[name][read](), 0)

describe('caches in memory', () => {
  test('new - are empty', () => {
    const memories = makeCaches(100, 1_000_000)
    expect([sum(memories, 'entryCount'), sum(memories, 'byteCount')]).toEqual([0, 0])
  })

  test('more entries than the setting - the total stays within it, responses get the largest share', () => {
    const memories = makeCaches(96, 67_108_864)
    fill(memories, 500, 1)
    expect(NAMES.map((name) => memories[name].entryCount())).toEqual([24, 12, 60])
  })

  test('more bytes than the setting - the total stays within it, responses get the largest share', () => {
    const memories = makeCaches(20_000, 4_000_000)
    fill(memories, 500, 50_000)
    expect(sum(memories, 'byteCount')).toBeLessThanOrEqual(4_000_000)
    expect(memories.products.byteCount()).toBeLessThanOrEqual(250_000)
    expect(memories.deals.byteCount()).toBeLessThanOrEqual(250_000)
    expect(memories.responses.byteCount()).toBeGreaterThan(3_400_000)
  })

  test('entry evicted from one cache - stays in the others', () => {
    const memories = makeCaches(8, 67_108_864)
    fill(memories, 1, 1)
    for (let index = 0; index < 10; index += 1)
      memories.products.set(`p${index}`, { product: null, asOfMs: 0 }, 1)
    expect(memories.products.get('00000000')).toBeUndefined()
    expect(memories.responses.find('00000000')).toBeDefined()
  })
})
