import { expect, it, vi } from 'vitest'
import type { FaultProxy, FaultMode, ProxyRoute, PageRoute } from './fault-proxy.ts'
import type { IncludeFixture } from './include-fixture.ts'
import { readTable } from './recipe.ts'
import { HANG_TIMEOUT_MS, type PageOutcome, READER_WAIT_MS } from './page-outcome.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

export const COLD_TABLE = 'Without a cached box'

/** Heading of the table for cached boxes that are no longer fresh. */
export const CACHED_TABLE = 'With a cached box'

/** Fault modes by the columns of both tables. */
const MODES: Readonly<Record<string, FaultMode>> = {
  shown: 'shown',
  hidden: 'hidden',
  'no-store': 'unavailable',
  '500': '500',
  hang: 'hang',
  reset: 'reset',
  down: 'down',
}

/** A consumer whose pages have a proxy route each, so that its tests run concurrently. */
type IsolatedConsumer = Readonly<{
  fixture(): Pick<IncludeFixture, 'faultProxy' | 'nextName'>
  /** How long a page may take after the server begins to hang; longer for builds. */
  hangTimeoutMs?: number
}>

/** A consumer whose pages share the mode of the proxy, so that its tests run in sequence. */
type SharedConsumer = Readonly<{ faultProxy(): FaultProxy }>

/** A consumer under test. `open` returns the outcome of a new page. */
export type Consumer =
  | (IsolatedConsumer & Readonly<{ open(route: PageRoute): Promise<PageOutcome> }>)
  | (SharedConsumer & Readonly<{ open(): Promise<PageOutcome> }>)

/** Define one test per cell of a row: the outcome is that of the table. */
export function itMatchesColdTable(row: string, consumer: Consumer): void {
  for (const [column, mode] of listColumns(COLD_TABLE)) {
    const cell = readCell(COLD_TABLE, row, column)
    itConcurrently(mode, consumer)(`${row} - ${column} - ${cell}`, async ({ onTestFinished }) => {
      const open = (): Promise<PageOutcome> => openIn(mode, { consumer, cell, onTestFinished })
      expect(await (cell === 'box' ? openUntilBox(open) : open())).toBe(cell)
    })
  }
}

/**
 * On a stalled machine, a consumer can time out although the server responds. Then the next two pages must both show the box,
 * because a box on every second page would be a failure.
 */
async function openUntilBox(open: () => Promise<PageOutcome>): Promise<PageOutcome> {
  if ((await open()) === 'box') return 'box'
  const second = await open()
  return second === 'box' ? open() : second
}

type AddCleanup = (end: () => Promise<void>) => void

/** Return the outcome of a new page. */
async function openIn(
  mode: FaultMode,
  {
    consumer,
    cell,
    onTestFinished,
  }: Readonly<{ consumer: Consumer; cell: string; onTestFinished: AddCleanup }>,
): Promise<PageOutcome> {
  if ('fixture' in consumer) {
    const route = openRoute(consumer, onTestFinished, cell)
    await route.setMode(mode)
    return consumer.open(route)
  }
  await consumer.faultProxy().setMode(mode)
  const first = await consumer.open()
  // A stalled machine can exceed the reader's wait, so open a page that should not wait once more.
  return first === 'waits' && cell !== 'waits' ? consumer.open() : first
}

/** The mode `down` applies to all pages, so its tests cannot run concurrently. */
const itConcurrently = (mode: FaultMode, consumer: IsolatedConsumer | SharedConsumer): typeof it =>
  'fixture' in consumer && mode !== 'down' ? (it.concurrent as typeof it) : it

/** Open a route for a new page. The cleanup closes it and makes sure that the proxy is up. */
function openRoute(
  { fixture, hangTimeoutMs = HANG_TIMEOUT_MS }: IsolatedConsumer,
  addCleanup: AddCleanup,
  cell?: string,
): PageRoute {
  const { faultProxy, nextName } = fixture()
  const route = faultProxy.openRoute(nextName(), cell === 'waits' ? READER_WAIT_MS : hangTimeoutMs)
  addCleanup(async () => {
    await route.setMode('shown')
    route.close()
  })
  return route
}

/** Reload the same page. */
export type Reload = (headers?: Readonly<Record<string, string>>) => Promise<PageOutcome>

/** A consumer with a cache. */
export type CachingConsumer = Readonly<{
  /** One reload fetches and shows the new state: builds, and programs without background refresh. */
  isSynchronous?: true
}> &
  // `open` creates a new page; the returned function reloads it.
  (
    | (IsolatedConsumer & Readonly<{ open(route: PageRoute): Promise<Reload> }>)
    | (SharedConsumer & Readonly<{ open(): Promise<Reload> }>)
  )

/** Freshness that the proxy sets, and the time after which every consumer treats the box as stale. */
const FRESH_SECONDS = 1
const STALE_AFTER_MS = 2200

/** Timeout of the recipes for a response. */
const RECIPE_LIMIT_MS = 1000

type CachedPage = Readonly<{ pageRoute: ProxyRoute; reload: Reload }>

type CachedPageOptions = Readonly<{ atEnd: AddCleanup; staleSeconds?: number; cell?: string }>

/** Open a page with a box that is fresh for a second; try other pages until one shows its box. */
async function openCachedPage(
  cachingConsumer: CachingConsumer,
  options: CachedPageOptions,
): Promise<CachedPage> {
  let pageRoute: ProxyRoute | undefined
  const reload = await openShown({
    ...cachingConsumer,
    async open() {
      const route =
        'fixture' in cachingConsumer
          ? openRoute(cachingConsumer, options.atEnd, options.cell)
          : cachingConsumer.faultProxy()
      pageRoute = route
      route.setMaxAge(FRESH_SECONDS, options.staleSeconds)
      await route.setMode('shown')
      return cachingConsumer.open(route as PageRoute)
    },
  })
  if (pageRoute === undefined) throw new Error('no page was opened')
  return { pageRoute, reload }
}

/**
 * Define one test per cell of a row: a box is shown, the proxy changes its mode, the box becomes stale, the consumer requests it
 * again, and the outcome from then on is that of the table. A box that stays must be there at every visit.
 */
export function itMatchesCachedTable(row: string, cachingConsumer: CachingConsumer): void {
  for (const [column, mode] of listColumns(CACHED_TABLE)) {
    const cell = readCell(CACHED_TABLE, row, column)
    itConcurrently(mode, cachingConsumer)(
      `${row}, box cached - ${column} - ${cell}`,
      async ({ onTestFinished }) => {
        const { pageRoute, reload } = await openCachedPage(cachingConsumer, { atEnd: onTestFinished, cell })
        const shownAtMs = Date.now()
        await pageRoute.setMode(mode)
        const seen = await reloadUntilStale({
          pageRoute,
          mode,
          reload,
          shownAtMs,
          isBuild: cachingConsumer.isSynchronous,
        })
        // A box that stays is visible at every visit; other outcomes may appear after some visits.
        expect(new Set(cell === 'box' ? seen : [cell])).toEqual(new Set([cell]))
        expect(cachingConsumer.isSynchronous === true ? seen.at(-1) : await waitAndReload(reload, cell)).toBe(
          cell,
        )
      },
    )
  }
}

/** Reload until the outcome appears, and return the outcome of the next reload. */
async function waitAndReload(reload: Reload, cell: string): Promise<PageOutcome> {
  await vi.waitFor(async () => expect(await reload()).toBe(cell), { interval: 50 })
  return reload()
}

/**
 * Open a page that shows its box; after an outage, a consumer may need a moment until it requests again. The page is opened
 * twice, because a program may cache a box only after it has sent it.
 */
export async function openShown(
  cachingConsumer: Readonly<{ isSynchronous?: true; open(): Promise<Reload> }>,
): Promise<Reload> {
  return vi.waitFor(
    async () => {
      const reload = await cachingConsumer.open()
      expect(await reload()).toBe('box')
      expect(cachingConsumer.isSynchronous === true ? 'box' : await reload()).toBe('box')
      return reload
    },
    { interval: 50 },
  )
}

type StaleWait = Readonly<{
  pageRoute: ProxyRoute
  mode: FaultMode
  reload: Reload
  shownAtMs: number
  /** A build spends most of its time in its start. */
  isBuild?: true | undefined
}>

/** Reload until the box is stale and, unless the proxy is down, the consumer has requested it again. */
async function reloadUntilStale({
  pageRoute,
  mode,
  reload,
  shownAtMs,
  isBuild,
}: StaleWait): Promise<readonly PageOutcome[]> {
  const before = pageRoute.requests.length
  const seen: PageOutcome[] = []
  await vi.waitFor(
    async () => {
      const beganAtMs = Date.now()
      const outcome = await reload()
      // A closed port fails at once. A slow page is due to a stalled machine, and the consumer may have timed out: ignore it.
      if (mode !== 'down' || isBuild === true || Date.now() - beganAtMs < RECIPE_LIMIT_MS) seen.push(outcome)
      const isStale =
        mode === 'down' ? Date.now() - shownAtMs > STALE_AFTER_MS : pageRoute.requests.length > before
      expect({ isStale, hasOutcome: seen.length > 0 }).toEqual({ isStale: true, hasOutcome: true })
    },
    { interval: 100 },
  )
  return seen
}

/** Define a test: the outcome for a cached box in an outage that lasts longer than stale-if-error. */
export function itExpiresAfterStaleIfError(
  row: string,
  cachingConsumer: CachingConsumer,
  outcome: PageOutcome,
): void {
  const title = `${row}, box cached - longer than stale-if-error, 500 - ${outcome}`
  itConcurrently('500', cachingConsumer)(title, async ({ onTestFinished }) => {
    const { pageRoute, reload } = await openCachedPage(cachingConsumer, {
      atEnd: onTestFinished,
      staleSeconds: 0,
    })
    const shownAtMs = Date.now()
    await pageRoute.setMode('500')
    await reloadUntilStale({ pageRoute, mode: 'down', reload, shownAtMs })
    expect([await reload(), await reload()]).toEqual([outcome, outcome])
  })
}

/** Define a test: headers of a visitor do not reach the server and do not change the box. */
export function itDropsVisitorHeaders(row: string, cachingConsumer: CachingConsumer): void {
  const title = `${row} - a visitor's headers - do not reach the server or change the box`
  itConcurrently('shown', cachingConsumer)(title, async ({ onTestFinished }) => {
    const routes = new Set<ProxyRoute>()
    const openPage = async (): Promise<CachedPage> => {
      const pageRoute =
        'fixture' in cachingConsumer
          ? openRoute(cachingConsumer, onTestFinished)
          : cachingConsumer.faultProxy()
      routes.add(pageRoute)
      await pageRoute.setMode('shown')
      const reload = await cachingConsumer.open(pageRoute as PageRoute)
      expect(await reload(VISITOR_HEADERS)).toBe('box')
      return { pageRoute, reload }
    }
    const { pageRoute, reload } = await vi.waitFor(openPage)
    expect(pageRoute.requests.length).toBeGreaterThan(0)
    // Includes pages that did not show their box.
    expect([...routes].flatMap(({ requests }) => requests.flatMap(findVisitorHeaders))).toEqual([])
    expect(await reload()).toBe('box')
  })
}

function listColumns(table: string): readonly (readonly [string, FaultMode])[] {
  const [first] = readTable(table).values()
  return [...(first?.keys() ?? [])].slice(1).map((column) => [column, MODES[column] ?? 'down'])
}

function readCell(table: string, row: string, column: string): string {
  const cell = readTable(table).get(row)?.get(column)
  if (cell === undefined)
    throw new Error(`bench/results/includes.md, "${table}" has no cell ${row} x ${column}`)
  return cell
}
