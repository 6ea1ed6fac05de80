import { expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { CALL_TIMEOUT_MS, type Sources, makeSources, setOutcome } from './sources.ts'

const GTIN = toGtin(1)

/** Two processes over one store and one catalog. */
async function makePair(): Promise<readonly [Sources, Sources]> {
  const one = await makeSources({ isOneOfMany: true, walkPeriodMs: null })
  const { catalog, clock, store } = one
  // Both know the channels: calls for those are no matter here.
  await one.channels.getChannel(CHANNEL_ID)
  const other = await makeSources({ catalog, clock, store, isOneOfMany: true, walkPeriodMs: null })
  await other.channels.getChannel(CHANNEL_ID)
  return [one, other]
}

const visit = async ({ products }: Sources): Promise<string> => {
  const { value, status } = await products.getProduct(CHANNEL_ID, GTIN)
  return `${value?.title ?? 'nothing'}, ${status}`
}
const fail = (): Promise<never> => Promise.reject(new StoreError('no store'))

const visitAll = (pair: readonly Sources[]): Promise<string[]> =>
  Promise.all([...pair, ...pair, ...pair].map(visit))

test('visitors of two processes at one moment - share one call', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, 'answers', GTIN)
  expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, miss']))
  expect(await pair[0].countProductCalls()).toBe(1)
  // Each has it in memory now.
  expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, hit']))
})

test('product that has become stale for two processes - is refreshed once', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, 'answers', GTIN)
  await visitAll(pair)
  pair[0].clock.advance(301 * SECOND_MS)
  expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, stale']))
  await vi.waitFor(async () =>
    expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, hit'])),
  )
  expect(await pair[0].countProductCalls()).toBe(2)
})

test('404 - is believed by both', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, '404', GTIN)
  expect(new Set(await visitAll(pair))).toEqual(new Set(['nothing, miss']))
  expect(await pair[0].countProductCalls()).toBe(1)
})

test('call that fails - each process asks once by itself, and leaves no claim behind', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, '500', GTIN)
  await expect(Promise.allSettled(pair.map(visit))).resolves.toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
  ])
  expect(await pair[0].countProductCalls()).toBe(2)
  const product = { channelId: CHANNEL_ID, gtin: GTIN }
  await vi.waitFor(async () =>
    expect(await pair[0].store.claimLookup(product, { owner: 'test', forMs: 0 })).toBe(true),
  )
})

test('claim of a process that died - ends, and the next visitor is answered', async () => {
  const [sources] = await makePair()
  setOutcome(sources.catalog, 'answers', GTIN)
  await sources.store.claimLookup(
    { channelId: CHANNEL_ID, gtin: GTIN },
    { owner: 'dead', forMs: CALL_TIMEOUT_MS },
  )
  const waiting = visit(sources).catch(({ message }: Error) => message)
  // As long as a visitor is patient.
  await vi.waitFor(() => expect(sources.clock.pendingWaits).toBeGreaterThan(0))
  sources.clock.advance(800)
  expect(await waiting).toContain('nothing is known')
  expect(await sources.countProductCalls()).toBe(0)
  sources.clock.advance(CALL_TIMEOUT_MS)
  await vi.waitFor(async () => expect(await visit(sources)).toMatch(/^from the catalog/))
  expect(await sources.countProductCalls()).toBe(1)
})

test('store that fails - everybody asks for himself', async () => {
  const [sources] = await makePair()
  setOutcome(sources.catalog, 'answers', GTIN)
  const store = { ...sources.store, claimLookup: fail, giveBackLookup: fail }
  const { catalog, clock } = sources
  const broken = await makeSources({ catalog, clock, store, isOneOfMany: true, walkPeriodMs: null })
  expect(await visit(broken)).toBe('from the catalog, miss')
  expect(broken.storeFailures.length).toBeGreaterThan(0)
})
