import { onTestFinished } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { type Clock, HOUR_MS } from '../../src/clock.ts'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { serializeDatabaseAddress } from '../../src/config/database-address.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { runWalk } from '../../src/sync/walk.ts'
import type { WalkJob, WalkReport, WalkProgress } from '../../src/sync/walk-runner.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  makeWireProduct,
  startFakeCatalog,
} from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import type { Copy } from '../storage/conformance/subject.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

/** A fake catalog, a copy in a file, and a clock that the test controls. */
export type WalkFixture = Readonly<{
  catalog: FakeCatalog
  clock: FakeClock
  copy: Copy
  job: WalkJob
  walk(options?: WalkOptions): Promise<WalkReport>
}>

export type WalkOptions = Readonly<{
  job?: Partial<WalkJob>
  clock?: Clock
  signal?: AbortSignal
  onProgress?: (progress: WalkProgress) => void
}>

/** Create a fixture that is removed after the test, by default with its own SQLite file. */
export async function makeWalkFixture(address?: DatabaseAddress): Promise<WalkFixture> {
  const file = await makeCopyFile()
  const catalog = await startFakeCatalog()
  const clock = createFakeClock(NOON_MS)
  const database = address ?? ({ kind: 'sqlite', path: file.path } as const)
  const copy = await openStoredCopy({ database, catalog: 'c', clock })
  onTestFinished(async () => {
    await copy.close()
    await catalog.close()
    await file.remove()
  })
  const job: WalkJob = {
    database: serializeDatabaseAddress(database),
    catalog: 'c',
    history: { keptDays: 400, priceMaxAgeSeconds: 86_400 },
    shops: [],
    baseUrl: catalog.url,
    key: FAKE_KEY,
    timeoutMs: 5_000,
    maxBytes: 8_000_000,
    proxies: NO_PROXIES,
    ownOrigin: 'https://widgets.example',
    channels: null,
    pausedUntilMs: 0,
    dailyLimit: null,
    canWait: false,
    skipWalkedSinceMs: null,
    isTakeover: false,
    owner: 'walker',
    isAccepted: false,
    isListAccepted: false,
    confirmAfterMs: HOUR_MS,
  }
  const walk: WalkFixture['walk'] = (options = {}) =>
    runWalk(
      { ...job, ...options.job },
      {
        signal: options.signal ?? new AbortController().signal,
        ...(options.onProgress && { onProgress: options.onProgress }),
      },
      options.clock ?? clock,
    )
  return { catalog, clock, copy, job, walk }
}

/** Create products on sale with consecutive GTINs; `name` starts their titles. */
export function makeWireProducts(count: number, name = 'Lamp'): WireProduct[] {
  return Array.from({ length: count }, (_, index) =>
    makeWireProduct({
      gtin: toGtin(index),
      title: `${name} ${index}`,
      offers: [makeWireOffer({ old_price: '99.00' })],
    }),
  )
}

/** Give the first `count` products a malformed price. */
export function withMalformedPrices(products: readonly WireProduct[], count: number): WireProduct[] {
  const offers = [makeWireOffer({ price: '12,50', old_price: '99.00' })]
  return products.map((product, index) => (index < count ? { ...product, offers } : product))
}

/** Set the products of the fake catalog's only channel. */
export function setProducts(catalog: FakeCatalog, products: WireProduct[]): void {
  catalog.products.set(CHANNEL_ID, products)
}
