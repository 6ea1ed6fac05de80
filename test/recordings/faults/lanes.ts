import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import type { CatalogRole, CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { insertOrganization } from '../../../src/catalog-service/store/organizations.ts'
import { DAY_MS, systemClock } from '../../../src/clock.ts'
import type { DatabaseAddress } from '../../../src/config/database-address.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { createStoreHealth, logRecovery } from '../../../src/storage/store-health.ts'
import type { CopyStore } from '../../../src/storage/store.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { createOffer, createProduct, importRows } from '../../catalog-service/harness.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { START_MS } from './virtual-time.ts'
import { CHANNEL, makePage, makeQuery, walkAll } from '../../storage/conformance/subject.ts'

/** The only file that knows how the stores are opened and which method stands for a lane. */

const VISITOR_TIMEOUT_MS = 1_600
const GRID_TIMEOUT_MS = 600
const GTIN: string = toGtin(1)

/** One kind of access. `call` describes what it returned. */
export type OpenLane = Readonly<{
  call(): Promise<string>
  /** Log lines and the state of health since the last time; empty: nothing to report. */
  readHealth(): readonly string[]
  close(): Promise<void>
}>

export type LaneTarget = Readonly<{
  address: DatabaseAddress
  /** Of the copy, so that each case can have its own in one database. */
  catalog: string
  /** A folder for the file that is imported. */
  folder: string
  /** Ids of the catalog's channel and its organization. */
  channelId: string
  organizationId: string
}>

export type Lane = Readonly<{
  name: string
  method: string
  side: 'copy' | 'catalog'
  /** Open the store before the fault, or during it. */
  open(target: LaneTarget): Promise<OpenLane>
}>

export const LANES: readonly Lane[] = [
  serverLane('short read', 'findProduct', async (store) => {
    const entry = await store.findProduct(CHANNEL, GTIN)
    return entry?.product ? 'found' : 'none'
  }),
  serverLane('read', 'findProducts', async (store) => {
    const products = await store.findProducts(CHANNEL, [GTIN])
    return products.size === 1 ? 'found' : 'none'
  }),
  serverLane('grid', 'findDeals', async (store) => {
    const deals = await store.findDeals(makeQuery(), GRID_TIMEOUT_MS)
    return deals.length === 1 ? 'found' : 'none'
  }),
  serverLane('write', 'putLookups', async (store) => {
    const gtin = toGtin(2)
    const entry = { product: makeProduct({ gtin, title: makeLongText() }), asOfMs: systemClock.nowMs() }
    await store.putLookups([{ channelId: CHANNEL, gtin, entry }])
    return 'written'
  }),
  { name: 'walk write', method: 'applyPage', side: 'copy', open: openWalk },
  catalogLane('read', 'findProduct', 'standalone', async (store, { organizationId, channelId }) => {
    const found = await store.findProduct({ organizationId, channelId }, GTIN)
    return found ? 'found' : 'none'
  }),
  catalogLane('page', 'fetchPage', 'standalone', async (store, { organizationId, channelId }) => {
    const page = await store.fetchPage({ organizationId, channelId, afterGtin: '', limit: 5 })
    return page?.items.length ? 'found' : 'none'
  }),
  catalogLane('count', 'countRequest', 'standalone', async (store, { organizationId }) =>
    (await store.countRequest({ id: organizationId, dailyLimit: null })) ? 'written' : 'limit reached',
  ),
  catalogLane('write', 'write', 'command', async (store) => {
    await store.write((transaction) =>
      insertOrganization(transaction, {
        name: makeLongText(),
        dailyLimit: null,
        // Later than the first organization, which is the default.
        createdAtMs: systemClock.nowMs() + 1,
      }),
    )
    return 'written'
  }),
  catalogLane('import', 'importFeed', 'command', async (store, { folder }, calls) => {
    const { products } = await importProducts(store, folder, calls)
    return products > 0 ? 'written' : 'none'
  }),
]

/** Fill an empty catalog, and close it. */
export async function seedCatalog({
  address,
  folder,
}: Pick<LaneTarget, 'address' | 'folder'>): Promise<Pick<LaneTarget, 'channelId' | 'organizationId'>> {
  const store = await openCatalogStore({ database: address, clock: createFakeClock(START_MS) })
  const { channelId } = await importProducts(store, folder, 0)
  const caller = await store.findDefaultCaller()
  await store.close()
  return { channelId, organizationId: caller?.organization.id ?? '' }
}

/** Fill the copy of one catalog, and close it. */
export async function seedCopy({ address, catalog }: Pick<LaneTarget, 'address' | 'catalog'>): Promise<void> {
  const store = await openStoredCopy({ database: address, catalog, clock: createFakeClock(START_MS) })
  const nowMs = START_MS
  await store.putChannelList(
    [{ id: CHANNEL, name: 'Shop', kind: 'website', url: 'https://shop.example' }],
    nowMs,
  )
  await walkAll(store, [makeDeal()], nowMs)
  await store.close()
}

function makeDeal() {
  return makeProduct({ gtin: GTIN, offers: [makeParsedOffer({ oldPrice: '79.90' })] })
}

const MAX_OTHERS = 90

/** Import the product, and others that no earlier import had: more with each call, so that the database grows. */
function importProducts(store: CatalogStore, folder: string, calls: number) {
  const images = [`https://pictures.example/${'x'.repeat(1_500)}`]
  const length = Math.min(MAX_OTHERS, 25 * calls)
  const others = Array.from({ length }, () => createProduct(toGtin((nextIndex += 1)), { images }))
  return importRows({ store, folder }, [createProduct(GTIN, { offers: [createOffer()] }), ...others])
}

let nextIndex = 1_000

/** Fill pages, so that each write makes the database larger. */
function makeLongText(): string {
  return `${(nextIndex += 1)} ${'x'.repeat(40_000)}`
}

/** A method of the store of a server, opened as `createContext` does. */
function serverLane(name: string, method: string, call: (store: CopyStore) => Promise<string>): Lane {
  return {
    name,
    method,
    side: 'copy',
    async open({ address, catalog }) {
      const lines: string[] = []
      const logger = createLogger({ level: 'info', stream: { write: (line) => void lines.push(line) } })
      const metrics = createMetrics()
      let failures = 0
      const health = createStoreHealth({
        clock: systemClock,
        logger,
        metrics: { ...metrics, countStoreFailure: () => (failures += 1) },
      })
      let lastAtMs: number | undefined
      const store: CopyStore = await openStoredCopy({
        database: address,
        catalog,
        clock: systemClock,
        service: {
          visitorTimeoutMs: VISITOR_TIMEOUT_MS,
          onFailure: health.recordFailure,
          onRecovered: () => void logRecovery(logger, store),
          onReadOnly: health.recordReadOnly,
          onWritable: health.recordWritable,
        },
      })
      return {
        call: () => call(store),
        readHealth() {
          const found = lines.splice(0).map(describeLine)
          const last = health.getLastFailure()
          if (last !== null && last.atMs !== lastAtMs) found.push(`last failure: ${last.reason}`)
          lastAtMs = last?.atMs
          if (failures > 0) found.push(`failures counted: ${failures}`)
          failures = 0
          return found
        },
        close: () => store.close(),
      }
    },
  }
}

function describeLine(line: string): string {
  const { level, msg } = JSON.parse(line) as { level: number; msg: string }
  const names: Readonly<Record<number, string>> = { 30: 'info', 40: 'warn', 50: 'error' }
  return `log ${names[level] ?? level}: ${msg}`
}

/** The store of a walk, which has the lease and writes one page after another. */
async function openWalk({ address, catalog }: LaneTarget): Promise<OpenLane> {
  const store = await openStoredCopy({ database: address, catalog, clock: systemClock })
  const nowMs = systemClock.nowMs()
  await store.acquireWalkLease(CHANNEL, { owner: 'walk', forMs: DAY_MS })
  const { walk } = await store.beginWalk(CHANNEL, { nowMs, resumableSinceMs: nowMs })
  let pages = 0
  return {
    async call() {
      pages += 1
      const afterGtin = pages === 1 ? '' : toGtin(pages - 1)
      const page = makePage(walk, [makeProduct({ gtin: toGtin(pages), title: makeLongText() })], {
        asOfMs: nowMs,
      })
      await store.applyPage(CHANNEL, { ...page, afterGtin, nextCursor: `page ${pages}` })
      return 'written'
    },
    readHealth: () => [],
    close: () => store.close(),
  }
}

function catalogLane(
  name: string,
  method: string,
  role: CatalogRole,
  call: (store: CatalogStore, target: LaneTarget, calls: number) => Promise<string>,
): Lane {
  return {
    name,
    method,
    side: 'catalog',
    async open(target) {
      const store = await openCatalogStore({ database: target.address, clock: systemClock, role })
      let calls = 0
      const news = store.problem ? [`open error: ${store.problem.message}`] : []
      return {
        call: () => call(store, target, (calls += 1)),
        readHealth: () => news.splice(0),
        close: () => store.close(),
      }
    },
  }
}
