import { describe, expect, test } from 'vitest'
import { type Caches, createCaches } from '../src/caches.ts'
import { systemClock } from '../src/clock.ts'
import { parseConfig } from '../src/config/config.ts'
import { makeBodies, makeResponse, putResponse } from './helpers/responses.ts'

const NAMES = ['products', 'deals', 'histories', 'responses'] as const

const makeCaches = (maxEntries: number, maxBytes: number): Caches => {
  const settings = {
    VITRINE_CACHE_MAX_ENTRIES: String(maxEntries),
    VITRINE_CACHE_MAX_BYTES: String(maxBytes),
  }
  return createCaches(parseConfig(settings).config, systemClock)
}

/** Add `count` entries of `bytes` bytes each to every cache. */
function fill(caches: Caches, count: number, bytes: number): void {
  for (let index = 0; index < count; index += 1) {
    const key = String(index).padStart(8, '0')
    caches.products.set(key, { product: null, asOfMs: 0 }, bytes)
    caches.deals.set(
      key,
      { page: { deals: [], hasNext: false }, asOfMs: 0, saleEndMs: null, readAtMs: 0, walk: 1 },
      bytes,
    )
    caches.histories.set(key, { series: [], asOfMs: 0, readAtMs: 0 }, bytes)
    const response = makeResponse({ digest: key })
    putResponse(caches.responses, { key, sub: null }, response, key, makeBodies('x'.repeat(bytes)))
  }
}

const sum = (caches: Caches, read: 'entryCount' | 'byteCount'): number =>
  NAMES.reduce((total, name) => total + caches[name][read](), 0)

describe('caches in memory', () => {
  test('new - are empty', () => {
    const caches = makeCaches(100, 1_000_000)
    expect([sum(caches, 'entryCount'), sum(caches, 'byteCount')]).toEqual([0, 0])
  })

  test('more entries than the limit - the total stays within it, and responses get the largest share', () => {
    const caches = makeCaches(96, 67_108_864)
    fill(caches, 500, 1)
    expect(NAMES.map((name) => caches[name].entryCount())).toEqual([24, 12, 6, 54])
  })

  test('more bytes than the limit - the total stays within it, and responses get the largest share', () => {
    const caches = makeCaches(20_000, 4_000_000)
    fill(caches, 500, 50_000)
    expect(sum(caches, 'byteCount')).toBeLessThanOrEqual(4_000_000)
    expect(caches.products.byteCount()).toBeLessThanOrEqual(250_000)
    expect(caches.deals.byteCount()).toBeLessThanOrEqual(250_000)
    expect(caches.histories.byteCount()).toBeLessThanOrEqual(250_000)
    expect(caches.responses.byteCount()).toBeGreaterThan(2_800_000)
  })

  test('entry evicted from one cache - stays in the others', () => {
    const caches = makeCaches(8, 67_108_864)
    fill(caches, 1, 1)
    for (let index = 0; index < 10; index += 1)
      caches.products.set(`p${index}`, { product: null, asOfMs: 0 }, 1)
    expect(caches.products.get('00000000')).toBeUndefined()
    expect(caches.responses.findBodies('00000000')).toBeDefined()
  })
})
