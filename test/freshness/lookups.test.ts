import { expect, onTestFinished, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { createLookups } from '../../src/freshness/lookups.ts'
import { defer } from '../helpers/defer.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  CALL_TIMEOUT_MS,
  type Sources,
  makeSources,
  openStore,
  setLargeProducts,
  setOutcome,
} from './sources-fixture.ts'

const GTIN = toGtin(1)

/** Two processes that share a store and a catalog. */
async function makePair(): Promise<readonly [Sources, Sources]> {
  const firstProcess = await makeSources({ hasOtherProcesses: true, walkPeriodMs: null })
  const { catalog, clock, store } = firstProcess
  // Both know the channels, so only product calls are counted.
  await firstProcess.channels.getChannel(CHANNEL_ID)
  const secondProcess = await makeSources({
    catalog,
    clock,
    store,
    hasOtherProcesses: true,
    walkPeriodMs: null,
  })
  await secondProcess.channels.getChannel(CHANNEL_ID)
  return [firstProcess, secondProcess]
}

const visit = async (sources: Sources): Promise<string> => {
  const { value, status } = await sources.getProduct(GTIN)
  return `${value?.title ?? 'nothing'}, ${status}`
}
const fail = (): Promise<never> => Promise.reject(new StoreError('no store'))

const visitAll = (pair: readonly Sources[]): Promise<string[]> =>
  Promise.all([...pair, ...pair, ...pair].map(visit))

/** Delay the catalog's response until `release`, which waits until both processes have tried to lease the call. */
function blockCall(pair: readonly [Sources, Sources]): {
  release(outcome: 'responds' | '404'): Promise<void>
} {
  const [{ catalog, store }] = pair
  const blocked = setOutcome(catalog, 'late', GTIN)
  const leaseRequests = vi.spyOn(store, 'acquireLookupLease')
  return {
    async release(outcome) {
      await vi.waitFor(() => {
        expect(blocked.responses).toHaveLength(1)
        expect(new Set(leaseRequests.mock.calls.map(([, { owner }]) => owner)).size).toBe(2)
      })
      setOutcome(catalog, outcome, GTIN)
      if (outcome === 'responds') blocked.release()
      else blocked.responses.splice(0).forEach((response) => sendJson(response, 404, { error: 'none' }))
    },
  }
}

test('concurrent visitors of two processes - share one call', async () => {
  const pair = await makePair()
  const blocked = blockCall(pair)
  const visits = visitAll(pair)
  await blocked.release('responds')
  // A request that starts late finds the result of the others.
  for (const seen of await visits) expect(seen).toMatch(/^from the catalog, (?:miss|hit)$/)
  expect(await pair[0].countProductCalls()).toBe(1)
  // Each process has the product in memory now.
  const reads = vi.spyOn(pair[0].store, 'findProduct')
  expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, hit']))
  expect(reads).not.toHaveBeenCalled()
})

test('product that is stale in two processes - is refreshed once', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, 'responds', GTIN)
  await visitAll(pair)
  pair[0].clock.advance(301 * SECOND_MS)
  const blocked = blockCall(pair)
  expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, stale']))
  await blocked.release('responds')
  await vi.waitFor(async () =>
    expect(new Set(await visitAll(pair))).toEqual(new Set(['from the catalog, hit'])),
  )
  expect(await pair[0].countProductCalls()).toBe(2)
})

test('404 - is used by both', async () => {
  const pair = await makePair()
  const blocked = blockCall(pair)
  const visits = visitAll(pair)
  await blocked.release('404')
  for (const seen of await visits) expect(seen).toMatch(/^nothing, (?:miss|hit)$/)
  expect(await pair[0].countProductCalls()).toBe(1)
})

test('call that fails - each process calls once and leaves no lease', async () => {
  const pair = await makePair()
  setOutcome(pair[0].catalog, '500', GTIN)
  await expect(Promise.allSettled(pair.map(visit))).resolves.toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
  ])
  expect(await pair[0].countProductCalls()).toBe(2)
  const product = { channelId: CHANNEL_ID, gtin: GTIN }
  await vi.waitFor(async () =>
    expect(await pair[0].store.acquireLookupLease(product, { owner: 'test', forMs: 0 })).toBe(true),
  )
})

test('lease of a dead process - expires, and the next visitor gets a response', async () => {
  const [sources] = await makePair()
  setOutcome(sources.catalog, 'responds', GTIN)
  await sources.store.acquireLookupLease(
    { channelId: CHANNEL_ID, gtin: GTIN },
    { owner: 'dead', forMs: CALL_TIMEOUT_MS },
  )
  const waiting = visit(sources).catch(({ message }: Error) => message)
  // The visitor timeout.
  await vi.waitFor(() => expect(sources.clock.pendingWaits).toBeGreaterThan(0))
  sources.clock.advance(800)
  expect(await waiting).toContain('not in the stored copy')
  expect(await sources.countProductCalls()).toBe(0)
  sources.clock.advance(CALL_TIMEOUT_MS)
  await vi.waitFor(async () => expect(await visit(sources)).toMatch(/^from the catalog/))
  expect(await sources.countProductCalls()).toBe(1)
})

test('lease - outlives the longest call by the time in which its result is written', async () => {
  const [sources] = await makePair()
  const blocked = setOutcome(sources.catalog, 'late', GTIN)
  const visiting = visit(sources)
  await vi.waitFor(() => expect(blocked.responses).toHaveLength(1))
  const acquireAsOther = (): Promise<boolean> =>
    sources.store.acquireLookupLease(
      { channelId: CHANNEL_ID, gtin: GTIN },
      { owner: 'other', forMs: CALL_TIMEOUT_MS },
    )
  sources.clock.step(CALL_TIMEOUT_MS + SECOND_MS)
  expect(await acquireAsOther()).toBe(false)
  sources.clock.step(2 * SECOND_MS)
  expect(await acquireAsOther()).toBe(true)
  blocked.release()
  expect(await visiting).toBe('from the catalog, miss')
})

test('stop - waits until the lease is released, because nothing may use the store after it', async () => {
  const store = await openStore()
  const release = defer<void>()
  const lookups = createLookups({
    store: { ...store, releaseLookupLease: () => release.promise },
    isShared: true,
    clock: createFakeClock(NOON_MS),
    timeoutMs: CALL_TIMEOUT_MS,
    isFresh: () => false,
    onStoreFailure: () => {},
  })
  const entry = { product: null, asOfMs: NOON_MS }
  await lookups.run({ channelId: CHANNEL_ID, gtin: GTIN }, () => Promise.resolve({ entry, bytes: 0 }))
  const ends: string[] = []
  const stopping = lookups.stop().then(() => ends.push('stopped'))
  await lookups.waitForWrites()
  // Time for a stop that waits for nothing else.
  await store.ping()
  ends.push('released')
  release.resolve()
  await stopping
  expect(ends).toEqual(['released', 'stopped'])
})

test('store that fails - each process makes its own call', async () => {
  const [sources] = await makePair()
  setOutcome(sources.catalog, 'responds', GTIN)
  const store = { ...sources.store, acquireLookupLease: fail, releaseLookupLease: fail }
  const { catalog, clock } = sources
  const broken = await makeSources({ catalog, clock, store, hasOtherProcesses: true, walkPeriodMs: null })
  expect(await visit(broken)).toBe('from the catalog, miss')
  expect(broken.storeFailures.length).toBeGreaterThan(0)
})

test('more than 8 MB of writes one after the other, while another one is pending - are all written', async () => {
  const store = await openStore()
  const firstWrite = defer<void>()
  const writes: Promise<void>[] = []
  const putLookups: typeof store.putLookups = (lookups) => {
    if (lookups[0]?.gtin === toGtin(0)) return firstWrite.promise
    writes.push(store.putLookups(lookups))
    return writes.at(-1) ?? Promise.resolve()
  }
  const sources = await makeSources({ store: { ...store, putLookups } })
  onTestFinished(() => firstWrite.resolve())
  for (const gtin of setLargeProducts(sources)) {
    expect((await sources.getProduct(gtin)).status).toBe('miss')
    await writes.at(-1)
  }
  expect([writes.length, sources.storeFailures]).toEqual([29, []])
})
