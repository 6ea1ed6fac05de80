import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import request from 'supertest'
import { expect, onTestFinished, vi } from 'vitest'
import { HOUR_MS, systemClock } from '../../../src/clock.ts'
import type { Environment } from '../../../src/config/config.ts'
import { openSqlStore } from '../../../src/storage/sql-store.ts'
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

/** Products per page: fewer than a walk requests, as the contract allows, so that ten pages are quick. */
export const PAGE_PRODUCTS = 40

/** A test may delay a call, and the first look-up of a process can be slow. */
const LONG_TIMEOUTS = { VITRINE_CATALOG_TIMEOUT_MS: '600000', VITRINE_VISITOR_TIMEOUT_MS: '10000' }

/** A fake catalog, and the settings of a real program with its files in one folder. */
export type CrashFixture = Readonly<{
  folder: string
  /** The file of the stored copy. */
  path: string
  catalog: FakeCatalog
  settings: Environment
}>

/** Create a fixture whose catalog has this many products, all at one price and on sale. */
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

/** Set the same price for every product of the catalog. */
export function setPrices({ catalog }: CrashFixture, productCount: number, price: string): void {
  const offers = [makeWireOffer({ price, old_price: '99.00' })]
  const products = Array.from({ length: productCount }, (_, index) =>
    makeWireProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers }),
  )
  catalog.products.set(CHANNEL_ID, products)
}

/** Walk in this process, which is faster than starting a program. */
export async function walkInProcess({ catalog, path }: CrashFixture): Promise<void> {
  const report = await runWalk(
    {
      database: `sqlite:${path}`,
      catalog: catalog.url,
      baseUrl: catalog.url,
      key: FAKE_KEY,
      timeoutMs: 5_000,
      maxBytes: 8_000_000,
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

/** Walked copies by content: walking again for each test would take most of the time. */
const walkedCopies = new Map<string, Readonly<{ bytes: Buffer; url: string }>>()

/** Create a fixture whose copy has a recent complete walk at this price. */
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

/** Set the catalog address to which the copy belongs. */
function renameCatalog(path: string, from: string, to: string): void {
  const database = openSqlite({ path, role: 'writer' })
  for (const table of ['copies', 'channels', 'channel_lists', 'quota_days'])
    database.prepare(`update ${table} set catalog = ? where catalog = ?`).run([to, from])
  database.close()
}

/** A page that the catalog does not send while it is blocked. `isAsked`: requested, and all pages before it are in the copy. */
export type BlockedPage = Readonly<{ isRequested(): boolean; release(): void }>

/** Block the `page`-th page, counted from 1; 0 blocks none. */
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

/** Number of stored pages of the running walk: the next one is requested while the last is written. */
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

/** Return the requested pages, counted from 1, and reset the calls. */
export function takeRequestedPages({ catalog }: CrashFixture): number[] {
  const calls = catalog.calls.splice(0)
  return calls
    .filter(({ path }) => path.includes('/products?'))
    .map(({ path }) => toPage(new URL(path, catalog.url)))
}

/** Pages are identified by their cursor: the last GTIN before them. */
function toPage({ searchParams }: URL): number {
  const cursor = searchParams.get('cursor')
  return cursor === null ? 1 : 1 + Math.ceil((findIndex(cursor) + 1) / PAGE_PRODUCTS)
}

function findIndex(gtin: string): number {
  return Number(gtin.slice(0, 13)) - Number(toGtin(0).slice(0, 13))
}

/** Start the server and wait until it listens; its first walk may still run. */
export async function startListening(
  settings: Environment,
): Promise<Readonly<{ running: RunningCommand; url: string }>> {
  const running = startBuilt(['serve', '--json'], settings)
  const findUrl = (): string | undefined => /"publicUrl":"([^"]+)"/.exec(running.output())?.[1]
  await vi.waitFor(() => expect(findUrl(), running.output()).toBeDefined())
  return { running, url: findUrl() ?? '' }
}

/** Wait for the request of a page, and kill the process before the response. */
export async function killAt(running: RunningCommand, page: BlockedPage): Promise<void> {
  await vi.waitFor(() => expect(page.isRequested(), running.output()).toBe(true))
  await running.stop('SIGKILL')
  page.release()
}

/** The state of a response, and its distinct prices. */
export type VisitResult = Readonly<{ state: string; prices: readonly string[] }>

/** Request a fragment. */
export async function visit(url: string, path: string): Promise<VisitResult> {
  const { status, headers, text } = await request(url).get(path)
  expect(status).toBe(200)
  const prices = [...text.matchAll(/€(\d+\.\d\d)/g)].map(([, price = '']) => price)
  return {
    state: String(headers['vitrine-state']),
    prices: [...new Set(prices)].filter((price) => price !== '99.00'),
  }
}

/** Return the path of a product's box. */
export function toBox(index: number): string {
  return `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(index)}`
}

/** Return the path of a page of the grid. */
export function toGrid(page = 1): string {
  return `/fragments/${CHANNEL_ID}/deals?limit=60&page=${page}`
}

/** Visit boxes of all pages, and grids; all of them must have the same version. */
export async function expectAllShown(url: string, indices: readonly number[], price: string): Promise<void> {
  for (const index of indices)
    expect([index, await visit(url, toBox(index))]).toEqual([index, { state: 'shown', prices: [price] }])
  for (const page of [1, 2])
    expect(await visit(url, toGrid(page))).toEqual({ state: 'shown', prices: [price] })
}

/** Run SQLite's integrity check on copies of the files, so that the originals stay as the kill left them. */
export function expectIntact(path: string): void {
  const copy = join(makeFolder(), 'copy.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  const database = openSqlite({ path: copy, role: 'writer' })
  expect(database.prepare('pragma integrity_check').all([])).toEqual([{ integrity_check: 'ok' }])
  database.close()
}

/** Return the size of a file; -1 when it does not exist. */
export function getFileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1
}

/** Open the stored copy for reading, also while a program uses it. */
export async function openCopy({ catalog, path }: CrashFixture): Promise<CopyStore> {
  const store = await openSqlStore({ database: { kind: 'sqlite', path }, catalog: catalog.url })
  onTestFinished(() => store.close().catch(() => {}))
  return store
}
