import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { type Hold, isCurrent, narrowHold } from '../../src/freshness/cached.ts'
import { createDealSource } from '../../src/freshness/deals.ts'
import { createMemory } from '../../src/lib/lru-cache.ts'
import { makeQuery, walkAll } from '../storage/conformance/subject.ts'
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
      expect([seen, hold?.untilMs, hold && isCurrent(hold)]).toEqual([status, NOON_MS + FRESH_MS, true])
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
    expect(hold && isCurrent(hold)).toBe(false)
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
    expect(hold && isCurrent(hold)).toBe(true)
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
    expect([hold?.untilMs, hold && isCurrent(hold)]).toEqual([NOON_MS + heldMs, true])
    clock.advance(SECOND_MS)
    expect(hold && isCurrent(hold)).toBe(false)
    await deals.getDeals({ ...wanted, key: 'other' }).catch(() => {})
    expect(hold && isCurrent(hold)).toBe(true)
    await walkAll(store, [], NOON_MS)
    await deals.getDeals(wanted)
    expect(hold && isCurrent(hold)).toBe(false)
  })
})

const makeHold = (over: Partial<Hold> = {}): Hold => ({
  untilMs: 2,
  watch: null,
  isSame: () => true,
  isServed: () => true,
  ...over,
})
const no = (): boolean => false

describe('a hold', () => {
  test.each([
    ['data that are the same', {}, true],
    ['other data', { isSame: no }, false],
    ['watch that is there - nothing is looked up', { watch: { isThere: true }, isSame: no }, true],
    ['watch that is gone - the data are asked', { watch: { isThere: false } }, true],
    ['watch that is gone, other data', { watch: { isThere: false }, isSame: no }, false],
    ['channel of another list', { watch: { isThere: true }, isServed: no }, false],
  ])('%s', (_name, over, expected) => {
    expect(isCurrent(makeHold(over))).toBe(expected)
  })

  test.each([1, 3])('narrowed to %i ms - ends at the earlier of both, and with its channel', (untilMs) => {
    const narrowed = narrowHold(makeHold(), { untilMs, isServed: no })
    expect(narrowed).toMatchObject({ untilMs: Math.min(2, untilMs) })
    expect(narrowed && isCurrent(narrowed)).toBe(false)
  })

  test('none - stays none', () => {
    expect(narrowHold(null, makeHold())).toBeNull()
  })
})
