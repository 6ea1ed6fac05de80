import { join } from 'node:path'
import { type FeedRun, type RunFeedOptions, runFeed } from '../../../src/catalog-service/feeds/run-feed.ts'
import { fetchFeedStates } from '../../../src/catalog-service/feeds/feed-warnings.ts'
import { prepareTarget } from '../../../src/catalog-service/import/feed-target.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { insertChannel } from '../../../src/catalog-service/store/channels.ts'
import { type NewFeed, insertFeed } from '../../../src/catalog-service/store/feeds.ts'
import { HOUR_SECONDS } from '../../../src/clock.ts'
import { createLeaseOwner } from '../../../src/database/leases.ts'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { computeCheckDigit } from '../../../src/offers/gtin.ts'
import type { FeedState } from '../../../src/catalog/feed-report.ts'
import { type StoreUnderTest, fetchProducts, importText, openTestStore } from '../harness.ts'
import { type FeedHandler, send, startFeedServer } from './feed-server.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'
import { getReader } from '../store-handles.ts'

export const CHANNEL = '952a0000-0000-4000-8000-0000000000f1'

export const PRICE_MAX_AGE = { priceMaxAgeSeconds: 48 * HOUR_SECONDS } as const

/** Return the GTIN of 14 digits with this number and a valid check digit. */
export function toGtin(number: number): string {
  const digits = String(952_000_000_000 + number).padStart(13, '0')
  return `${digits}${computeCheckDigit(digits)}`
}

const TABLE_HEAD = 'gtin,title,link,availability,price\n'

/** Create a table of offers; `page`: part of each link. */
export function createTable(
  count: number,
  {
    first = 1,
    page = 'p',
    price = '10.50',
  }: Readonly<{ first?: number; page?: string; price?: string }> = {},
): string {
  const rows = Array.from({ length: count }, (_, index) => {
    const number = first + index
    return `${toGtin(number)},Product ${number},https://shop.example/${page}/${number},in_stock,${price} EUR\n`
  })
  return TABLE_HEAD + rows.join('')
}

type StoreFixture = Pick<StoreUnderTest, 'store'>

/** Add a feed to `CHANNEL`, which is created for the first one. Return its id. */
export async function addFeed({ store }: StoreFixture, feed: Partial<NewFeed> = {}): Promise<number> {
  const nowMs = store.clock.nowMs()
  return store.write(async (database) => {
    const channelId = feed.channelId === undefined ? CHANNEL : (feed.channelId ?? undefined)
    const target = await prepareTarget(database, { channelId, nowMs })
    return insertFeed(database, {
      name: 'feed',
      organizationId: target.organizationId,
      channelId: target.channelId,
      url: null,
      headerFile: null,
      format: null,
      map: null,
      network: null,
      currency: null,
      decimal: null,
      encoding: null,
      merchant: null,
      everySeconds: HOUR_SECONDS,
      maxRemovedPercent: 50,
      createdAtMs: nowMs,
      ...feed,
    })
  })
}

/** Add a channel to the catalog's first organization, or to another one, which is created. */
export async function addChannel(
  { store }: StoreFixture,
  id: string,
  organizationId?: string,
): Promise<string> {
  return store.write(async (database) => {
    const existing = await database.selectFrom('organizations').select('id').orderBy('id').execute()
    const owner = organizationId ?? existing[0]?.id ?? 'first'
    if (!existing.some((organization) => organization.id === owner))
      await database
        .insertInto('organizations')
        .values({ id: owner, name: owner, daily_limit: null, created_at_ms: 0 })
        .execute()
    await insertChannel(database, {
      id,
      name: id,
      kind: 'website',
      url: null,
      organizationId: owner,
      createdAtMs: store.clock.nowMs(),
    })
    return owner
  })
}

export function runTestFeed(
  { store, folder }: Pick<StoreUnderTest, 'store' | 'folder'>,
  feedId: number,
  options: Partial<RunFeedOptions> = {},
): Promise<FeedRun> {
  const files = { folder: join(folder, 'feeds'), secrets: new Map(), proxies: NO_PROXIES }
  return runFeed({ store, feedId, owner: createLeaseOwner(), ...files, ...options })
}

/** Return the state of the only feed, or of the named one. */
export async function getState({ store }: StoreFixture, name = 'feed'): Promise<FeedState> {
  const states = await fetchFeedStates(store, PRICE_MAX_AGE)
  const state = states.find((candidate) => candidate.name === name)
  if (state === undefined) throw new Error(`there is no feed ${name}`)
  return state
}

/** Return all that imports write, as text. `isWithFeeds`: with the results of the feeds. */
export async function dumpCatalog(
  store: Pick<CatalogStore, 'read'>,
  { isWithFeeds = true }: Readonly<{ isWithFeeds?: boolean }> = {},
): Promise<string> {
  const reader = await getReader(store)
  const keys = ['gtin', 'feed_id', 'network_id', 'merchant_id', 'currency', 'variant'] as const
  const shopKeys = ['feed_id', 'network_id', 'merchant_id', 'network_channel_id', 'is_page'] as const
  const tables = [
    await reader.selectFrom('products').selectAll().orderBy('gtin').orderBy('feed_id').execute(),
    await keys.reduce((query, key) => query.orderBy(key), reader.selectFrom('offers').selectAll()).execute(),
    await shopKeys
      .reduce((query, key) => query.orderBy(key), reader.selectFrom('feed_shops').selectAll())
      .execute(),
    isWithFeeds ? await reader.selectFrom('feeds').selectAll().orderBy('id').execute() : [],
  ]
  return tables.flatMap((rows) => rows.map((row) => JSON.stringify(row))).join('\n')
}

/** What readers see of products: without times and without what depends on the number of an import. */
export async function fetchContent(
  fixture: StoreUnderTest,
  channelId = CHANNEL,
): Promise<readonly unknown[]> {
  const products = await fetchProducts(fixture, channelId)
  return products.map(withoutTimes)
}

function withoutTimes({ offers, ...product }: WireProduct): unknown {
  return { ...product, offers: offers.map((offer) => ({ ...offer, checked_at: undefined })) }
}

/** Start a server and a catalog with a feed of it. */
export async function startFeed(
  respond: FeedHandler = send(createTable(3)),
  feed: Parameters<typeof addFeed>[1] = {},
) {
  const server = await startFeedServer(respond)
  const fixture = await openTestStore()
  const feedId = await addFeed(fixture, { url: `${server.url}/feed`, ...feed })
  return { ...fixture, server, feedId }
}

/** What a catalog shows in which this file is the first import. */
export async function fetchFreshContent(body: string): Promise<readonly unknown[]> {
  const fixture = await openTestStore()
  await importText(fixture, body, { channelId: CHANNEL })
  return fetchContent(fixture)
}
