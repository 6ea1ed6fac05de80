import { beforeEach, describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { WALK_VISIBLE_WITHIN_MS } from '../../src/freshness/age.ts'
import { walkAll } from '../storage/conformance/subject.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { type Outcome, type Sources, makeSources, setOutcome } from './sources-fixture.ts'

const GTIN = toGtin(1)
const OTHER_GTIN = toGtin(2)
const FRESH = 300 * SECOND_MS
const STALE = 3_600 * SECOND_MS
const RESCUE = 604_800 * SECOND_MS

/** `expected`: the title or `hidden` with the cache status, or the error code. */
type Row = readonly [knownAgeMs: number, outcome: Outcome, expected: string, calls: number]

const KNOWN: readonly Row[] = [
  [0, '500', 'copy, hit', 0],
  [FRESH - 1, 'responds', 'copy, hit', 0],
  [FRESH - 1, '404', 'copy, hit', 0],
  [FRESH, 'responds', 'copy, stale', 1],
  [FRESH, '404', 'copy, stale', 1],
  [FRESH, '500', 'copy, stale', 1],
  [FRESH, 'late', 'copy, stale', 1],
  [STALE, 'responds', 'copy, stale', 1],
  [STALE + 1, 'responds', 'from the catalog, miss', 1],
  [STALE + 1, '404', 'hidden, miss', 1],
  [STALE + 1, '500', 'copy, rescued', 1],
  [STALE + 1, 'invalid', 'copy, rescued', 1],
  [STALE + 1, 'late', 'copy, rescued', 1],
  [RESCUE, 'responds', 'from the catalog, miss', 1],
  [RESCUE, '500', 'copy, rescued', 1],
  [RESCUE, 'late', 'copy, rescued', 1],
  [RESCUE + 1, 'responds', 'from the catalog, miss', 1],
  [RESCUE + 1, '404', 'hidden, miss', 1],
  [RESCUE + 1, '500', 'VITRINE_UNAVAILABLE', 1],
  [RESCUE + 1, 'late', 'VITRINE_UNAVAILABLE', 1],
]

/** Request a product and wait for the whole visitor timeout. */
async function visit(sources: Sources, gtin: string = GTIN): Promise<string> {
  const visiting = sources.getProduct(gtin).then(
    ({ value, status }) => `${value === null ? 'hidden' : value.title}, ${status}`,
    (error: { code: string }) => error.code,
  )
  let isDone = false
  const watching = visiting.finally(() => (isDone = true))
  const { catalog } = sources
  const callsBefore = catalog.countCalls(/\/products\//)
  const hasCalled = (): boolean => catalog.countCalls(/\/products\//) > callsBefore
  await vi.waitFor(() => expect(isDone || (catalog.fault !== null && hasCalled())).toBe(true))
  if (!isDone && catalog.fault !== null) sources.clock.advance(800)
  return watching
}

describe('product in the copy', () => {
  const cases = KNOWN.flatMap(([ageMs, outcome, expected, calls]) =>
    (['look-up', 'walk'] as const).map(
      (writer) => [writer, ageMs / SECOND_MS, outcome, expected, calls] as const,
    ),
  )

  test.each(cases)('by a %s, %d s old - catalog %s - %s, %i calls', async (...row) => {
    const [writer, ageSeconds, outcome, expected, calls] = row
    // Without a schedule no copy counts as complete: an expired product is unknown, not hidden.
    const sources = await makeSources({ walkPeriodMs: null })
    const asOfMs = NOON_MS - ageSeconds * SECOND_MS
    const product = makeProduct({ gtin: GTIN, title: 'copy' })
    if (writer === 'walk') await walkAll(sources.store, [product], asOfMs)
    else await sources.store.putLookups([{ channelId: CHANNEL_ID, gtin: GTIN, entry: { product, asOfMs } }])
    setOutcome(sources.catalog, outcome, GTIN)
    expect(await visit(sources)).toBe(expected)
    await vi.waitFor(async () => expect(await sources.countProductCalls()).toBe(calls))
  })

  test.each([
    [STALE, NOON_MS - STALE],
    [STALE + 1, NOON_MS],
  ])('%d ms old - its date is the time of the catalog response that is shown', async (ageMs, asOfMs) => {
    const sources = await makeSources()
    setOutcome(sources.catalog, 'responds', GTIN)
    const entry = { product: makeProduct({ gtin: GTIN }), asOfMs: NOON_MS - ageMs }
    await sources.store.putLookups([{ channelId: CHANNEL_ID, gtin: GTIN, entry }])
    expect((await sources.getProduct(GTIN)).asOfMs).toBe(asOfMs)
  })
})

describe('product not in the copy', () => {
  test.each([
    ['responds', 'from the catalog, miss'],
    ['404', 'hidden, miss'],
    ['500', 'VITRINE_UNAVAILABLE'],
    ['invalid', 'VITRINE_UNAVAILABLE'],
    ['late', 'VITRINE_UNAVAILABLE'],
  ] as const)('no copy at all - catalog %s - %s, one call', async (outcome, expected) => {
    const sources = await makeSources()
    setOutcome(sources.catalog, outcome, GTIN)
    expect(await visit(sources)).toBe(expected)
    expect(await sources.countProductCalls()).toBe(1)
  })

  test.each([
    ['younger than two periods', 2 * HOUR_MS - 1, HOUR_MS, 'hidden, hit', 0],
    ['as old as two periods', 2 * HOUR_MS, HOUR_MS, 'from the catalog, miss', 1],
    ['young, but walks are not scheduled', 1, null, 'from the catalog, miss', 1],
  ] as const)('complete copy %s - %s', async (...row) => {
    const [, ageMs, walkPeriodMs, expected, calls] = row
    const sources = await makeSources({ walkPeriodMs })
    await walkAll(sources.store, [makeProduct({ gtin: OTHER_GTIN })], NOON_MS - ageMs)
    setOutcome(sources.catalog, 'responds', GTIN)
    expect(await visit(sources)).toBe(expected)
    expect(await sources.countProductCalls()).toBe(calls)
  })

  test('copy of an unfinished walk - does not hide products', async () => {
    const sources = await makeSources()
    const { walk } = await sources.store.beginWalk(CHANNEL_ID, { nowMs: NOON_MS, resumableSinceMs: 0 })
    const page = { walk, afterGtin: '', products: [], nextCursor: 'c', asOfMs: NOON_MS, drops: {} }
    await sources.store.applyPage(CHANNEL_ID, page)
    setOutcome(sources.catalog, 'responds', GTIN)
    expect(await visit(sources)).toBe('from the catalog, miss')
  })

  test('first walk - a 404 counts only after its first page', async () => {
    const sources = await makeSources()
    const { walk } = await sources.store.beginWalk(CHANNEL_ID, { nowMs: NOON_MS, resumableSinceMs: 0 })
    setOutcome(sources.catalog, '404', GTIN)
    expect(await visit(sources)).toBe('VITRINE_UNAVAILABLE')
    const products = [makeProduct({ gtin: OTHER_GTIN })]
    const page = { walk, afterGtin: '', products, nextCursor: 'c', asOfMs: NOON_MS, drops: {} }
    await sources.store.applyPage(CHANNEL_ID, page)
    // The response before the page proves nothing after it either.
    expect(await visit(sources)).toBe('VITRINE_UNAVAILABLE')
    expect(await sources.countProductCalls()).toBe(1)
    sources.clock.advance(MINUTE_MS)
    expect(await visit(sources)).toBe('hidden, miss')
    expect(await sources.countProductCalls()).toBe(2)
  })

  test('wrong check digit - is hidden without a call', async () => {
    const sources = await makeSources()
    const wrong = `${GTIN.slice(0, -1)}${(Number(GTIN.at(-1)) + 1) % 10}`
    setOutcome(sources.catalog, 'responds', wrong)
    expect(await visit(sources, wrong)).toBe('hidden, hit')
    expect(await sources.countProductCalls()).toBe(0)
  })

  test('wrong check digit in the copy - is shown', async () => {
    const sources = await makeSources()
    const wrong = `${GTIN.slice(0, -1)}${(Number(GTIN.at(-1)) + 1) % 10}`
    const product = makeProduct({ gtin: wrong, title: 'copy' })
    await sources.store.putLookups([
      { channelId: CHANNEL_ID, gtin: wrong, entry: { product, asOfMs: NOON_MS } },
    ])
    expect(await visit(sources, wrong)).toBe('copy, hit')
  })
})

describe('404', () => {
  let sources: Sources
  beforeEach(async () => {
    sources = await makeSources()
    setOutcome(sources.catalog, '404', GTIN)
    await visit(sources)
    setOutcome(sources.catalog, 'responds', GTIN)
  })

  test('cached - no call until it expires', async () => {
    sources.clock.advance(FRESH - 1)
    expect(await visit(sources)).toBe('hidden, hit')
    expect(await sources.countProductCalls()).toBe(1)
    sources.clock.advance(1)
    expect(await visit(sources)).toBe('from the catalog, miss')
    expect(await sources.countProductCalls()).toBe(2)
  })

  test('cached response - is valid until a walk may be visible, and never longer than the 404', async () => {
    expect((await sources.getProduct(GTIN)).validUntilMs).toBe(NOON_MS + WALK_VISIBLE_WITHIN_MS)
    sources.clock.advance(FRESH - 1)
    expect((await sources.getProduct(GTIN)).validUntilMs).toBe(NOON_MS + FRESH)
  })

  test('cached by one process - is used by another', async () => {
    const { catalog, clock, store } = sources
    await sources.settle()
    const other = await makeSources({ catalog, clock, store })
    expect(await visit(other)).toBe('hidden, hit')
    expect(await other.countProductCalls()).toBe(1)
  })

  test('of a known product - deletes the copy', async () => {
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toEqual({ product: null, asOfMs: NOON_MS })
  })
})

describe('404 for a product of a channel that is not listed', () => {
  test('known product - keeps its copy', async () => {
    const sources = await makeSources({ walkPeriodMs: null })
    const product = makeProduct({ gtin: GTIN, title: 'copy' })
    await sources.store.putLookups([
      { channelId: CHANNEL_ID, gtin: GTIN, entry: { product, asOfMs: NOON_MS - STALE - 1 } },
    ])
    sources.catalog.channels = []
    setOutcome(sources.catalog, '404', GTIN)
    expect(await visit(sources)).toBe('copy, rescued')
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toMatchObject({ product: { title: 'copy' } })
  })

  test('unknown product - is unavailable, not hidden', async () => {
    const sources = await makeSources()
    sources.catalog.channels = []
    setOutcome(sources.catalog, '404', GTIN)
    expect(await visit(sources)).toBe('VITRINE_UNAVAILABLE')
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toBeUndefined()
  })
})
