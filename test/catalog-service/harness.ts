import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Test } from 'supertest'
import { addCleanup } from '../helpers/cleanup.ts'
import type { ImportSummary } from '../../src/catalog-service/import/import-feed.ts'
import { type ImportFileOptions, importFile } from '../../src/catalog-service/import/import-file.ts'
import { type CatalogService, createCatalogService } from '../../src/catalog-service/service.ts'
import { type NewApiKey, insertApiKey } from '../../src/catalog-service/store/keys.ts'
import { getOrCreateOrganizationId } from '../../src/catalog-service/store/organizations.ts'
import type { CatalogStore, ChannelQuery } from '../../src/catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import type { WireProduct } from '../../src/catalog/contract.ts'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { createCatalogDatabase } from './database-fixture.ts'
import { requestValidated } from './openapi-validation.ts'
import { getReader } from './store-handles.ts'

/** Half an hour before midnight UTC. */
const START_MS: number = Date.UTC(2026, 4, 1, 23, 30)

/** When the price of an offer was checked that was imported at the start of a test. */
export const CHECKED_AT: string = new Date(START_MS).toISOString()

/** Create a folder that is removed after the test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-catalog-'))
  addCleanup(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export type StoreUnderTest = {
  store: CatalogStore
  folder: string
  database: DatabaseAddress
  clock: FakeClock
}

/** Open a store that is closed after the test. */
export async function openTestStore(): Promise<StoreUnderTest> {
  const folder = createFolder()
  const clock = createFakeClock(START_MS)
  const database = await createCatalogDatabase(folder)
  const store = await openCatalogStore({ database, clock })
  addCleanup(() => store.close())
  return { store, folder, database, clock }
}

/** Like `openTestStore`, always on SQLite. */
export async function openSqliteTestStore(): Promise<StoreUnderTest & { path: string }> {
  const folder = createFolder()
  const clock = createFakeClock(START_MS)
  const path = join(folder, 'catalog.db')
  const database = { kind: 'sqlite', path } as const
  const store = await openCatalogStore({ database, clock })
  addCleanup(() => store.close())
  return { store, folder, path, database, clock }
}

/** A service with one valid key. `logs`: the lines that it logged. */
export type ServiceUnderTest = StoreUnderTest & {
  service: CatalogService
  url: string
  key: string
  logs: string[]
  /** Send a GET with the valid key and validate the response against openapi.json. */
  get(path: string): Test
}

/** Start a service that is closed after the test. */
export async function startTestService(
  options: { prepared?: StoreUnderTest } = {},
): Promise<ServiceUnderTest> {
  const prepared = options.prepared ?? (await openTestStore())
  const { store } = prepared
  const logs: string[] = []
  const logger = createLogger({ level: 'trace', stream: { write: (line: string) => logs.push(line) } })
  const service = createCatalogService({ store, logger })
  const { url } = await service.listen('127.0.0.1', 0)
  addCleanup(() => service.close())
  const { key } = await addApiKey(store, 'test')
  const get = (path: string): Test => requestValidated(url).get(path).set('Authorization', `Bearer ${key}`)
  return { ...prepared, service, url, key, logs, get }
}

export function createOffer(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    merchant: { name: 'Shop A' },
    network: 'Net',
    price: '10.00',
    currency: 'EUR',
    availability: 'in_stock',
    affiliate_url: 'https://track.example/a?b=1&c=%2F',
    ...change,
  }
}

/** Create a product as in a JSON feed. */
export function createProduct(gtin: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  return { gtin, title: `Product ${gtin}`, brand: 'Brand', images: [], offers: [createOffer()], ...change }
}

/** GTINs with valid check digits, in order. */
export const GTINS = [
  '00000000000017',
  '00000000000024',
  '00000000000031',
  '00000000000048',
  '00000000000055',
] as const

/** Write rows as NDJSON; strings and buffers stay unchanged. */
export function writeFeed(file: string, rows: readonly unknown[], options: { gzip?: boolean } = {}): string {
  const lines = rows.map((row) =>
    Buffer.isBuffer(row) ? row : Buffer.from(typeof row === 'string' ? row : JSON.stringify(row)),
  )
  const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
  writeFileSync(file, options.gzip ? gzipSync(bytes) : bytes)
  return file
}

export async function importRows(
  fixture: Pick<StoreUnderTest, 'store' | 'folder'>,
  rows: readonly unknown[],
  options: Partial<ImportFileOptions> = {},
): Promise<ImportSummary> {
  const file = writeFeed(join(fixture.folder, 'feed.ndjson'), rows)
  return importFile({ store: fixture.store, file, currentFolder: fixture.folder, ...options })
}

/** Fetch the first 200 products that a channel may show. */
export async function fetchProducts(
  fixture: StoreUnderTest,
  channelId: string,
): Promise<readonly WireProduct[]> {
  const channel = await findChannel(fixture, channelId)
  return (await fixture.store.fetchPage({ ...channel, afterGtin: '', limit: 200 }))?.items ?? []
}

/** Find a product as a channel may show it; `null` when it may not. */
export async function findProduct(
  fixture: StoreUnderTest,
  channelId: string,
  gtin: string,
): Promise<WireProduct | null | undefined> {
  const found = await fixture.store.findProduct(await findChannel(fixture, channelId), gtin)
  return found ? found.product : found
}

async function findChannel({ store }: StoreUnderTest, channelId: string): Promise<ChannelQuery> {
  const channel = (await getReader(store))
    .selectFrom('channels')
    .select('organization_id')
    .where('id', '=', channelId)
  return { channelId, organizationId: (await channel.executeTakeFirst())?.organization_id ?? '' }
}

/** Import a feed of any format. */
export async function importText(
  fixture: StoreUnderTest,
  content: string | Buffer,
  options: Partial<ImportFileOptions> = {},
): Promise<ImportSummary> {
  const file = join(fixture.folder, 'feed')
  writeFileSync(file, content)
  return importFile({ store: fixture.store, file, currentFolder: fixture.folder, ...options })
}

/** Create a key for the first organization, which is created if missing. */
export async function addApiKey(store: CatalogStore, name: string): Promise<NewApiKey> {
  const nowMs = store.clock.nowMs()
  return store.write(async (transaction) => {
    const organizationId = await getOrCreateOrganizationId(transaction, nowMs)
    return insertApiKey(transaction, { organizationId, name, nowMs })
  })
}
