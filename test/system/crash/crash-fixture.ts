import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import request from 'supertest'
import { expect, onTestFinished, vi } from 'vitest'
import { HOUR_MS, systemClock } from '../../../src/clock.ts'
import type { Environment } from '../../../src/config/config.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { CopyStore } from '../../../src/storage/store.ts'
import { runWalk } from '../../../src/sync/walk.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { type RunningCommand, makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  makeWireProduct,
  sendJson,
} from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'

/** Products per page: fewer than a walk requests, which the contract allows, so that ten pages are walked quickly. */
export const PAGE_PRODUCTS = 40

/** Tests block a call for as long as they need, and the first look-up of a process may be slow. */
const LONG_TIMEOUTS = { VITRINE_CATALOG_TIMEOUT_MS: '600000', VITRINE_VISITOR_TIMEOUT_MS: '10000' }

/** A folder with a fake catalog, and the settings of a real program that stores its files there. */
export type CrashFixture = Readonly<{
  folder: string
  /** The file of the stored copy. */
  path: string
  catalog: FakeCatalog
  settings: Environment
}>

/** Create a fixture whose catalog has `productCount` products, all on sale at one price. */
export async function makeCrashFixture(productCount: number, price: string): Promise<CrashFixture> {
  const folder = makeFolder()
  const { catalog, settings } = await startRemoteCatalog(folder)
  const fixture = {
    folder,
    path: join(folder, 'copy.db'),
    catalog,
    settings: { ...settings, ...LONG_TIMEOUTS, VITRINE_LOG_LEVEL: 'info' },
  }
  setPrices(fixture, productCount, price)
  blockPage(fixture, 0)
  return fixture
}

/** Set the catalog to `productCount` products, all at the same price. */
export function setPrices({ catalog }: CrashFixture, productCount: number, price: string): void {
  const offers = [makeWireOffer({ price, old_price: '99.00' })]
  const products = Array.from({ length: productCount }, (_, index) =>
    makeWireProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers }),
  )
  catalog.products.set(CHANNEL_ID, products)
}

/** Run a complete walk in this process: faster than a program, for tests that do not test the walk. */
export async function walkInProcess({ catalog, path }: CrashFixture): Promise<void> {
  const report = await runWalk(
    {
      database: `sqlite:${path}`,
      catalog: catalog.url,
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
      owner: 'the test',
      isAccepted: false,
      isListAccepted: false,
      confirmAfterMs: HOUR_MS,
    },
    { signal: new AbortController().signal },
    systemClock,
  )
  expect(report.walks.map(({ outcome }) => outcome)).toEqual(['complete'])
}

/** Bytes of walked copies by product count and price: a new walk for each test would take most of the time. */
const walkedCopies = new Map<string, Readonly<{ bytes: Buffer; url: string }>>()

/** Create a fixture whose copy has a complete and recent walk at this price. */
export async function makeWalkedFixture(productCount: number, price: string): Promise<CrashFixture> {
  const fixture = await makeCrashFixture(productCount, price)
  const key = `${productCount} ${price}`
  const cachedCopy = walkedCopies.get(key)
  if (cachedCopy === undefined) {
    await walkInProcess(fixture)
    walkedCopies.set(key, { bytes: readFileSync(fixture.path), url: fixture.catalog.url })
  } else {
    writeFileSync(fixture.path, cachedCopy.bytes)
    renameCatalog(fixture.path, cachedCopy.url, fixture.catalog.url)
  }
  fixture.catalog.calls.length = 0
  return fixture
}

/** Move a copy to another catalog: its rows belong to the catalog's address. */
function renameCatalog(path: string, from: string, to: string): void {
  const database = openSqlite({ path, role: 'writer' })
  for (const table of ['copies', 'channels', 'channel_lists', 'quota_days'])
    database.prepare(`update ${table} set catalog = ? where catalog = ?`).run([to, from])
  database.close()
}

/** A page of the walk that the catalog blocks. `isRequested`: it was requested, and the pages before it are stored. */
export type BlockedPage = Readonly<{ isRequested(): boolean; release(): void }>

/** Block page number `page`, counted from 1, until `release`; 0 blocks no page. */
export function blockPage(fixture: CrashFixture, page: number): BlockedPage {
  const responses: ServerResponse[] = []
  let isBlocked = page > 0
  fixture.catalog.fault = {
    pathPattern: /\/products\?/,
    respond(call, response) {
      const requestedPage = toPage(new URL(call.url ?? '', fixture.catalog.url))
      if (isBlocked && requestedPage === page) responses.push(response)
      else sendPage(fixture, requestedPage, response)
    },
  }
  return {
    isRequested: () => responses.length > 0 && countStoredPages(fixture) >= page - 1,
    release() {
      isBlocked = false
      for (const response of responses) sendPage(fixture, page, response)
    },
  }
}

/** Count the stored pages of the current walk: a page is requested while the previous one is still being written. */
function countStoredPages({ path }: CrashFixture): number {
  const database = openSqlite({ path, role: 'reader' })
  const statement = database.prepare(
    'select count(*) as count from walk_pages where walk = (select max(running_walk) from copies)',
  )
  const [row] = statement.all([]) as readonly { count: number }[]
  database.close()
  return row?.count ?? 0
}

/** Send a page, as the catalog does. */
function sendPage({ catalog }: CrashFixture, page: number, response: ServerResponse): void {
  const products = catalog.products.get(CHANNEL_ID) ?? []
  const items = products.slice((page - 1) * PAGE_PRODUCTS, page * PAGE_PRODUCTS)
  const isLast = page * PAGE_PRODUCTS >= products.length
  sendJson(response, 200, { items, next_cursor: isLast ? null : (items.at(-1)?.gtin ?? null) })
}

/** Return the numbers of the requested pages, counted from 1, and clear the recorded calls. */
export function takeRequestedPages({ catalog }: CrashFixture): number[] {
  const calls = catalog.calls.splice(0)
  return calls
    .filter(({ path }) => path.includes('/products?'))
    .map(({ path }) => toPage(new URL(path, catalog.url)))
}

/** Return the page number for a cursor, which is the last GTIN of the previous page. */
function toPage({ searchParams }: URL): number {
  const cursor = searchParams.get('cursor')
  return cursor === null ? 1 : 1 + Math.ceil((findIndex(cursor) + 1) / PAGE_PRODUCTS)
}

function findIndex(gtin: string): number {
  return Number(gtin.slice(0, 13)) - Number(toGtin(0).slice(0, 13))
}

/** Start the server and wait until it listens; its first walk may still be running. */
export async function startListening(
  settings: Environment,
): Promise<Readonly<{ running: RunningCommand; url: string }>> {
  const running = startBuilt(['serve', '--json'], settings)
  const findUrl = (): string | undefined => /"publicUrl":"([^"]+)"/.exec(running.output())?.[1]
  await vi.waitFor(() => expect(findUrl(), running.output()).toBeDefined())
  return { running, url: findUrl() ?? '' }
}

/** Wait until the blocked page is requested, and kill the process before the catalog responds. */
export async function killAt(running: RunningCommand, page: BlockedPage): Promise<void> {
  await vi.waitFor(() => expect(page.isRequested(), running.output()).toBe(true))
  await running.stop('SIGKILL')
  page.release()
}

/** What a visitor sees: the state and the distinct prices. */
export type VisitResult = Readonly<{ state: string; prices: readonly string[] }>

/** Visit a fragment. */
export async function visit(url: string, path: string): Promise<VisitResult> {
  const { status, headers, text } = await request(url).get(path)
  expect(status).toBe(200)
  const prices = [...text.matchAll(/€(\d+\.\d\d)/g)].map(([, price = '']) => price)
  return {
    state: String(headers['vitrine-state']),
    prices: [...new Set(prices)].filter((price) => price !== '99.00'),
  }
}

/** Return the address of a product's box. */
export function toBox(index: number): string {
  return `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(index)}`
}

/** Return the address of a page of the grid. */
export function toGrid(page = 1): string {
  return `/fragments/${CHANNEL_ID}/deals?limit=60&page=${page}`
}

/** Expect these boxes and two pages of the grid to show only this price. */
export async function expectAllShown(url: string, indices: readonly number[], price: string): Promise<void> {
  for (const index of indices)
    expect([index, await visit(url, toBox(index))]).toEqual([index, { state: 'shown', prices: [price] }])
  for (const page of [1, 2])
    expect(await visit(url, toGrid(page))).toEqual({ state: 'shown', prices: [price] })
}

/** Run SQLite's integrity check on copies of the files: the program must find them as the kill left them. */
export function expectIntact(path: string): void {
  const copy = join(makeFolder(), 'copy.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  const database = openSqlite({ path: copy, role: 'writer' })
  expect(database.prepare('pragma integrity_check').all([])).toEqual([{ integrity_check: 'ok' }])
  database.close()
}

/** Return the size of a file in bytes; -1 if it does not exist. */
export function getFileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1
}

/** Open the stored copy; other processes may use it at the same time. */
export async function openCopy({ catalog, path }: CrashFixture): Promise<CopyStore> {
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
  onTestFinished(() => store.close().catch(() => {}))
  return store
}
