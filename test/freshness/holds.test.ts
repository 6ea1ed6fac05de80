import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { type Hold, joinHolds } from '../../src/freshness/cached.ts'
import { createDealSource } from '../../src/freshness/deals.ts'
import { createMemory } from '../../src/freshness/memory.ts'
import { makeQuery, walkAll } from '../copy/conformance/subject.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { FRESHNESS, type Sources, makeSources, setOutcome } from './sources.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const GTIN = toGtin(1)
const FRESH_MS = FRESHNESS.freshSeconds * SECOND_MS

const ask = (sources: Sources): ReturnType<Sources['products']['getProduct']> =>
  sources.products.getProduct(CHANNEL_ID, GTIN)

const put = (sources: Sources, ageMs: number): Promise<void> =>
  sources.store.putLookups([
    {
      channelId: CHANNEL_ID,
      gtin: GTIN,
      entry: {
        product: makeProduct({ gtin: GTIN }),
        asOfMs: sources.clock.nowMs() - ageMs,
      },
    },
  ])

describe('hold of a product', () => {
  test('fetched now, and from memory after it - as long as it is fresh', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, 'answers', GTIN)
    for (const status of ['miss', 'hit']) {
      const { status: seen, hold } = await ask(sources)
      expect([seen, hold?.untilMs, hold?.isCurrent()]).toEqual([status, NOON_MS + FRESH_MS, true])
    }
  })

  test('last millisecond of freshness - is held; the next has no hold', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, 'answers', GTIN)
    await put(sources, FRESH_MS - 1)
    expect((await ask(sources)).hold?.untilMs).toBe(sources.clock.nowMs() + 1)
    sources.clock.advance(1)
    expect(await ask(sources)).toMatchObject({ status: 'stale', hold: null })
  })

  test('newer answer in memory - the older one is not current', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, 'answers', GTIN)
    await put(sources, FRESH_MS - 1)
    const { hold } = await ask(sources)
    sources.clock.advance(1)
    await ask(sources)
    await vi.waitFor(async () => expect((await ask(sources)).status).toBe('hit'))
    expect(hold?.isCurrent()).toBe(false)
  })

  test('404 - as long as it is remembered', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, '404', GTIN)
    expect(await ask(sources)).toMatchObject({ value: null, status: 'miss' })
    const heldSeconds = Math.min(FRESHNESS.freshSeconds, FRESHNESS.notFoundSeconds)
    expect((await ask(sources)).hold?.untilMs).toBe(NOON_MS + heldSeconds * SECOND_MS)
  })
})

describe('what a hold keeps alive', () => {
  test('product that was dropped from memory - is free to go, and its hold is as current as before', async () => {
    const sources = await makeSources()
    await put(sources, 0)
    const { hold, product } = await askWeakly(sources)
    sources.memory.delete(`${CHANNEL_ID} ${GTIN}`)
    await vi.waitFor(() => {
      collectGarbage()
      // Not the product itself: what fails would keep it.
      expect(product.deref() === undefined).toBe(true)
    })
    expect(hold?.isCurrent()).toBe(true)
  })
})

async function askWeakly(
  sources: Sources,
): Promise<Readonly<{ hold: Hold | null; product: WeakRef<object> }>> {
  const { value, hold } = await ask(sources)
  return { hold, product: new WeakRef(value ?? {}) }
}

describe('hold of a page of deals', () => {
  test.each([
    ['fresh: until it is stale', 100, FRESH_MS - 100 * SECOND_MS],
    ['stale: as long as it is in memory', 1_000, FRESH_MS],
    ['about to be rescued: to the millisecond', 3_600, 1],
  ])('%s', async (_name, ageSeconds, heldMs) => {
    const { store, clock } = await makeSources()
    const offers = [makeParsedOffer({ oldPrice: '99.00' })]
    await walkAll(store, [makeProduct({ offers })], NOON_MS - ageSeconds * SECOND_MS)
    const memory = createMemory<never>({ maxEntries: 10, maxBytes: 1_000_000 })
    const deals = createDealSource({ store, memory, clock, config: FRESHNESS, onStoreFailure: () => {} })
    const wanted = {
      channelId: CHANNEL_ID,
      key: 'k',
      currency: 'EUR',
      toQuery: (currency: string) => makeQuery({ currency }),
    }
    const { hold } = await deals.getDeals(wanted)
    expect([hold?.untilMs, hold?.isCurrent()]).toEqual([NOON_MS + heldMs, true])
    clock.advance(SECOND_MS)
    expect(hold?.isCurrent()).toBe(false)
    await deals.getDeals({ ...wanted, key: 'other' }).catch(() => {})
    expect(hold?.isCurrent()).toBe(true)
    await walkAll(store, [], NOON_MS)
    await deals.getDeals(wanted)
    expect(hold?.isCurrent()).toBe(false)
  })
})

const makeHold = (untilMs: number, isCurrent: boolean): Hold => ({ untilMs, isCurrent: () => isCurrent })

describe('two holds', () => {
  test.each([
    [makeHold(1, true), makeHold(2, true), [1, true]],
    [makeHold(3, true), makeHold(2, false), [2, false]],
    [makeHold(3, false), makeHold(2, true), [2, false]],
  ])('%# - the shorter, and both have to be current', (a, b, expected) => {
    const joined = joinHolds(a, b)
    expect([joined?.untilMs, joined?.isCurrent()]).toEqual(expected)
  })

  test('one is missing - there is none', () => {
    expect([joinHolds(null, makeHold(1, true)), joinHolds(makeHold(1, true), null)]).toEqual([null, null])
  })
})
