import { describe, expect, test, vi } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import type { CopyStore } from '../../src/storage/store.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { FRESHNESS, makeSources, openStore } from './sources-fixture.ts'

const fail = (): Promise<never> => Promise.reject(new StoreError('broken'))
const hang = (): Promise<never> => new Promise<never>(() => {})

describe('catalog of this server, whose feeds may not be imported yet - it returns 404', () => {
  test.each<[string, Partial<CopyStore>]>([
    ['the state of the copy cannot be read', { getCopyState: fail }],
    ['the state of the copy is not read in time', { getCopyState: hang }],
    ['the copy cannot be read', { findProduct: fail }],
    ['the copy is not read in time', { findProduct: hang }],
  ])('%s - the box is unavailable, not hidden, also for later visitors', async (_, broken) => {
    const clock = createFakeClock(NOON_MS)
    const working = await openStore(clock)
    const store = { ...working, ...broken }
    const sources = await makeSources({ clock, store, isCatalogEmbedded: true })
    sources.catalog.products.set(CHANNEL_ID, [])
    const readState = (): Promise<string> =>
      sources.getProduct(toGtin(1)).then(
        ({ value }) => (value === null ? 'hidden' : 'shown'),
        (error: { code: string }) => error.code,
      )
    const first = readState()
    clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await first).toBe('VITRINE_UNAVAILABLE')
    await vi.waitFor(async () => expect(await sources.countProductCalls()).toBe(1))
    Object.assign(store, working)
    expect(await readState()).toBe('VITRINE_UNAVAILABLE')
  })
})
