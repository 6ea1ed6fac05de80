import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { Secret } from '../../src/config/secrets.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { createFolder } from '../catalog-service/harness.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GTIN,
  fetchPath,
  makeProductOnSale,
  startHarness,
  startStockedHarness,
  stockCatalog,
} from './app-client.ts'

const OTHER_GTIN = toGtin(8)
const PICKS = `/fragments/${CHANNEL_ID}/picks/${GTIN},${toGtin(9)}`
const STAND_IN = `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(9)}?else=${GTIN}`
const BOX_PATHS = [BOX, BOX_EMBED, PICKS, STAND_IN]
const OTHER = makeProductOnSale({ gtin: OTHER_GTIN })

/** Return `state, whether caches may store it`. */
async function readState(harness: Harness, path: string): Promise<string> {
  const { headers } = await fetchPath(harness, path)
  return `${headers['vitrine-state']}, ${headers['cache-control'] === 'no-store' ? 'no-store' : 'cacheable'}`
}

const countProductCalls = ({ catalog }: Harness): number => catalog.countCalls(/\/products\//)

describe('channel whose catalog has no products yet', () => {
  test.each([...BOX_PATHS, GRID])('%s, walked - is unavailable, and shown after the walk', async (path) => {
    const harness = await startStockedHarness([])
    expect(await readState(harness, path)).toBe('unavailable, no-store')
    const calls = countProductCalls(harness)
    harness.clock.advance(MINUTE_MS - 1)
    expect(await readState(harness, path)).toBe('unavailable, no-store')
    expect(countProductCalls(harness)).toBe(calls)
    await stockCatalog(harness)
    harness.clock.advance(SECOND_MS)
    expect(await readState(harness, path)).toBe('shown, cacheable')
  })

  test('product that the catalog has before the next walk - is looked up', async () => {
    const harness = await startStockedHarness([])
    await fetchPath(harness, BOX)
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    // Longer than a failure is remembered.
    harness.clock.advance(72 * SECOND_MS)
    expect(await readState(harness, BOX)).toBe('shown, cacheable')
  })

  test('embedded catalog, before the first walk - is unavailable', async () => {
    const settings = { VITRINE_CATALOG_URL: undefined, VITRINE_CATALOG_KEY: undefined }
    expect(await readState(await startHarness({ settings }), BOX)).toBe('unavailable, no-store')
  })

  test('walks are off - a 404 counts', async () => {
    const settings = { VITRINE_SYNC_CRON: 'off' }
    expect(await readState(await startStockedHarness([], { settings }), BOX)).toBe('hidden, cacheable')
  })
})

test.each([...BOX_PATHS, GRID])('%s of a channel that lost all products - is hidden', async (path) => {
  const harness = await startStockedHarness()
  expect(await readState(harness, path)).toBe('shown, cacheable')
  harness.clock.advance(HOUR_MS)
  await stockCatalog(harness, [])
  harness.clock.advance(SECOND_MS)
  expect(await readState(harness, path)).toBe('hidden, cacheable')
})

/** Start two processes that share a database; the first has walked the products. */
async function startPair(products: readonly WireProduct[]): Promise<readonly [Harness, Harness]> {
  const settings = { VITRINE_DATABASE_URL: `sqlite:${join(createFolder(), 'copy.db')}` }
  const first = await startStockedHarness(products, { settings })
  const { url } = first.catalog
  const catalog = { baseUrl: url, key: createFixedKeySource(new Secret(FAKE_KEY)), copyName: url }
  return [first, await startHarness({ settings, over: { catalog } })]
}

/** Whether the response came from memory. */
async function isFromMemory(harness: Harness, path: string): Promise<boolean> {
  const read = vi.spyOn(harness.context.store, 'findProduct')
  await fetchPath(harness, path)
  const isRead = read.mock.calls.length > 0
  read.mockRestore()
  return !isRead
}

describe.each([
  ['not in the complete copy', 0],
  ['404 of the catalog', 3 * HOUR_MS],
])('missing product, %s', (_reason, walkAgeMs) => {
  test.each([BOX, BOX_EMBED, PICKS, STAND_IN])('%s - is hidden until a walk finds it', async (path) => {
    const harness = await startStockedHarness([OTHER])
    harness.clock.advance(walkAgeMs)
    expect(await readState(harness, path)).toBe('hidden, cacheable')
    expect(await isFromMemory(harness, path)).toBe(true)
    harness.clock.advance(10 * SECOND_MS)
    await stockCatalog(harness, [makeProductOnSale(), OTHER])
    harness.clock.advance(SECOND_MS)
    expect(await readState(harness, path)).toBe('shown, cacheable')
  })

  test('walk of another process - is shown within a second', async () => {
    const [first, second] = await startPair([OTHER])
    for (const { clock } of [first, second]) clock.advance(walkAgeMs)
    expect(await readState(second, BOX)).toBe('hidden, cacheable')
    first.clock.advance(10 * SECOND_MS)
    await stockCatalog(first, [makeProductOnSale(), OTHER])
    second.clock.advance(11 * SECOND_MS)
    expect(await readState(second, BOX)).toBe('shown, cacheable')
  })
})
