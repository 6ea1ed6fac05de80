import type { ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { createCallPolicy } from '../../src/catalog/call-policy.ts'
import { createCatalogClient } from '../../src/catalog/client.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { type Clock, HOUR_MS, systemClock } from '../../src/clock.ts'
import type { FreshnessConfig } from '../../src/config/config.ts'
import { Secret } from '../../src/config/secrets.ts'
import { createLookups } from '../../src/freshness/lookups.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { CopyEntry, CopyStore, WalkStore } from '../../src/storage/store.ts'
import { classifyAge } from '../../src/freshness/age.ts'
import { ChannelSource } from '../../src/freshness/channels.ts'
import { createNegativeCache } from '../../src/freshness/negative-cache.ts'
import { type LruCache, createLruCache } from '../../src/lib/lru-cache.ts'
import { ProductSource } from '../../src/freshness/products.ts'
import {
  CHANNEL_ID,
  type FakeCatalog,
  FAKE_KEY,
  makeWireOffer,
  makeWireProduct,
  sendJson,
  startFakeCatalog,
} from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

/** The default settings. */
export const FRESHNESS: FreshnessConfig = {
  freshSeconds: 300,
  staleSeconds: 3_600,
  rescueSeconds: 604_800,
  notFoundSeconds: 300,
  visitorTimeoutMs: 800,
  unknownLookupsPerHour: 600,
}

/** Deadline of a call. */
export const CALL_TIMEOUT_MS = 5_000

/** `store`: lets a test share or break it. */
export type SourceOptions = Readonly<{
  catalog?: FakeCatalog
  clock?: FakeClock
  store?: CopyStore & WalkStore
  config?: Partial<FreshnessConfig>
  walkPeriodMs?: number | null
  isCatalogEmbedded?: boolean
  served?: readonly string[] | null
  random?: () => number
  bounds?: Readonly<{ maxEntries: number; maxBytes: number }>
  /** Whether other processes share its store. */
  hasOtherProcesses?: boolean
}>

/** The sources of one process with a fake catalog, and what tests inspect. */
export type Sources = Readonly<{
  catalog: FakeCatalog
  clock: FakeClock
  store: CopyStore & WalkStore
  /** Request a product with the full visitor timeout. */
  getProduct(gtin: string): ReturnType<ProductSource['getProduct']>
  channels: ChannelSource
  cache: LruCache<CopyEntry>
  storeFailures: unknown[]
  /** Resolve when every look-up is written. */
  settle(): Promise<void>
  /** Count the product calls, after all pending calls have arrived. */
  countProductCalls(): Promise<number>
  countChannelCalls(): number
}>

/** Create the sources of one process; their resources are closed after the test. */
export async function makeSources(options: SourceOptions = {}): Promise<Sources> {
  const catalog = options.catalog ?? (await startCatalog())
  const clock = options.clock ?? createFakeClock(NOON_MS)
  const store = options.store ?? (await openStore(clock))
  const config = { ...FRESHNESS, ...options.config }
  const callPolicy = createCallPolicy({ clock, unknownLookupsPerHour: config.unknownLookupsPerHour })
  const client = createCatalogClient({
    baseUrl: catalog.url,
    key: createFixedKeySource(new Secret(FAKE_KEY)),
    timeoutMs: CALL_TIMEOUT_MS,
    maxBytes: 1_000_000,
    proxies: NO_PROXIES,
    ownOrigin: 'https://widgets.example',
    clock,
    callPolicy,
  })
  onTestFinished(() => client.close())
  const storeFailures: unknown[] = []
  const onStoreFailure = (error: unknown): void => void storeFailures.push(error)
  const failures = createNegativeCache(clock, options.random ?? (() => 0))
  const shared = { client, callPolicy, store, clock, config, failures, onStoreFailure }
  const channels = new ChannelSource({ ...shared, channels: options.served ?? null })
  const cache = createLruCache<CopyEntry>(options.bounds ?? { maxEntries: 100, maxBytes: 1_000_000 })
  const lookups = createLookups({
    ...shared,
    isShared: options.hasOtherProcesses === true,
    timeoutMs: CALL_TIMEOUT_MS,
    isFresh: (asOfMs) => classifyAge(asOfMs, clock.nowMs(), config) === 'fresh',
  })
  onTestFinished(lookups.waitForWrites)
  const products = new ProductSource({
    ...shared,
    lookups,
    channels,
    cache,
    isCatalogEmbedded: options.isCatalogEmbedded === true,
    findWalkPeriodMs: () => (options.walkPeriodMs === undefined ? HOUR_MS : options.walkPeriodMs),
    onDrops: () => {},
  })
  const countChannelCalls = (): number => catalog.countCalls(/channels$/)
  return {
    catalog,
    clock,
    store,
    getProduct: (gtin) => products.getProduct(CHANNEL_ID, gtin, clock.nowMs() + config.visitorTimeoutMs),
    channels,
    cache,
    storeFailures,
    settle: lookups.waitForWrites,
    countChannelCalls,
    async countProductCalls() {
      // Calls sent before this one have arrived when this one gets its response.
      await client.fetchChannels().catch(() => {})
      return catalog.countCalls(/\/products\//)
    },
  }
}

async function startCatalog(): Promise<FakeCatalog> {
  const catalog = await startFakeCatalog()
  onTestFinished(() => catalog.close())
  return catalog
}

/** Create a copy in memory. */
export async function openStore(clock: Clock = systemClock): Promise<CopyStore & WalkStore> {
  const store = await openStoredCopy({ database: { kind: 'sqlite', path: ':memory:' }, catalog: 'c', clock })
  onTestFinished(() => store.close())
  return store
}

/** Give the catalog 30 products of some 800 kB of memory each. Return their GTINs. */
export function setLargeProducts({ catalog }: Sources): readonly string[] {
  const offers = Array.from({ length: 100 }, (_, index) =>
    makeWireOffer({ affiliate_url: `https://links.example/${index}?${'x'.repeat(4_000)}` }),
  )
  const products = Array.from({ length: 30 }, (_, index) => makeWireProduct({ gtin: toGtin(index), offers }))
  catalog.products.set(CHANNEL_ID, products)
  return products.map(({ gtin }) => gtin)
}

/** The catalog's response to look-ups. */
export type Outcome = 'responds' | '404' | '500' | 'invalid' | 'late'

/** Delayed responses of the fake catalog. */
export type BlockedResponses = Readonly<{ responses: ServerResponse[]; release(): void }>

/** Set the outcome of look-ups; a late response is delayed until `release`. */
export function setOutcome(catalog: FakeCatalog, outcome: Outcome, gtin: string): BlockedResponses {
  const product = makeWireProduct({ gtin, title: 'from the catalog' })
  catalog.products.set(CHANNEL_ID, outcome === '404' ? [] : [product])
  const responses: ServerResponse[] = []
  const blocked = {
    responses,
    release: () => responses.splice(0).forEach((response) => sendJson(response, 200, product)),
  }
  const faults = {
    responds: null,
    '404': null,
    '500': (response: ServerResponse) => sendJson(response, 500, {}),
    invalid: (response: ServerResponse) => sendJson(response, 200, { not: 'a product' }),
    late: (response: ServerResponse) => void responses.push(response),
  }
  const respond = faults[outcome]
  catalog.fault =
    respond === null
      ? null
      : { pathPattern: /\/products\//, respond: (_request, response) => respond(response) }
  return blocked
}
