import { expect, it, vi } from 'vitest'
import type { FaultProxy, FaultMode, ProxyRoute, PageRoute } from './fault-proxy.ts'
import type { IncludeFixture } from './include-fixture.ts'
import { readTable } from './recipe.ts'
import { HANG_TIMEOUT_MS, type PageOutcome, READER_WAIT_MS } from './page-outcome.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** Heading of the table of pages that nothing is kept for yet. */
export const COLD_TABLE = 'Without a cached box'

/** Heading of the table of pages whose box is kept, and no longer fresh. */
export const CACHED_TABLE = 'With a cached box'

/** What a consumer meets, by the column of both tables. */
const MODES: Readonly<Record<string, FaultMode>> = {
  shown: 'shown',
  hidden: 'hidden',
  'no-store': 'unavailable',
  '500': '500',
  hang: 'hang',
  reset: 'reset',
  down: 'down',
}

/** A consumer whose pages each have a lane of the gate: its tests run at once. */
type IsolatedConsumer = Readonly<{
  fixture(): Pick<IncludeFixture, 'faultProxy' | 'nextName'>
  /** How long a page may take from the moment at which the server hangs; more than usual where it goes on building. */
  hangTimeoutMs?: number
}>

/** A consumer whose pages share the gate: its tests run one after the other. */
type SharedConsumer = Readonly<{ faultProxy(): FaultProxy }>

/** A consumer under test. `open` says what is seen of a page that was never asked for before. */
export type Consumer =
  | (IsolatedConsumer & Readonly<{ open(route: PageRoute): Promise<PageOutcome> }>)
  | (SharedConsumer & Readonly<{ open(): Promise<PageOutcome> }>)

/** One test for each cell of a row: what is seen is what the page says. */
export function itMatchesColdTable(row: string, consumer: Consumer): void {
  for (const [column, mode] of listColumns(COLD_TABLE)) {
    const cell = readCell(COLD_TABLE, row, column)
    itConcurrently(mode, consumer)(`${row} - ${column} - ${cell}`, async ({ onTestFinished }) => {
      const open = (): Promise<PageOutcome> => openIn(mode, { subject: consumer, cell, onTestFinished })
      expect(await (cell === 'box' ? openUntilBox(open) : open())).toBe(cell)
    })
  }
}

/**
 * A consumer on a machine that stands still takes the server for one that does not answer. The next two pages must show the box
 * then: one that is there every second time is none.
 */
async function openUntilBox(open: () => Promise<PageOutcome>): Promise<PageOutcome> {
  if ((await open()) === 'box') return 'box'
  const second = await open()
  return second === 'box' ? open() : second
}

type AddCleanup = (end: () => Promise<void>) => void

/** What is seen of a page that was never asked for before. */
async function openIn(
  mode: FaultMode,
  {
    subject: consumer,
    cell,
    onTestFinished,
  }: Readonly<{ subject: Consumer; cell: string; onTestFinished: AddCleanup }>,
): Promise<PageOutcome> {
  if ('fixture' in consumer) {
    const route = openRoute(consumer, onTestFinished, cell)
    await route.setMode(mode)
    return consumer.open(route)
  }
  await consumer.faultProxy().setMode(mode)
  const first = await consumer.open()
  // A busy machine can stand still for longer than a reader waits, so a page that should not wait is opened once more.
  return first === 'waits' && cell !== 'waits' ? consumer.open() : first
}

/** A gate that is down is down for all pages. */
const itConcurrently = (mode: FaultMode, consumer: IsolatedConsumer | SharedConsumer): typeof it =>
  'fixture' in consumer && mode !== 'down' ? (it.concurrent as typeof it) : it

/** A lane of a page of its own, which is cut off when the test is over; the gate is up then, whatever the test did. */
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

/** Opens a page once more. */
export type Reload = (headers?: Readonly<Record<string, string>>) => Promise<PageOutcome>

/** A consumer that may keep a box. */
export type CachingConsumer = Readonly<{
  /** One opening asks the server and settles what is seen: builds, and programs without a refresh behind. */
  isSynchronous?: true
}> &
  // `open` makes a page of its own for the test, and what it gives opens again and again the same one.
  (
    | (IsolatedConsumer & Readonly<{ open(route: PageRoute): Promise<Reload> }>)
    | (SharedConsumer & Readonly<{ open(): Promise<Reload> }>)
  )

/** Freshness that the gate gives, and the time after which every consumer's clock must have noticed that it is over. */
const FRESH_SECONDS = 1
const STALE_AFTER_MS = 2200

/** The limit of the recipes for the server's answer. */
const RECIPE_LIMIT_MS = 1000

/** A page of a keeper's that shows its box, and what it asks. */
type CachedPage = Readonly<{ pageRoute: ProxyRoute; reload: Reload }>

/** How a keeper's page is opened: with these stale times, and with this patience. */
type CachedPageOptions = Readonly<{ atEnd: AddCleanup; staleSeconds?: number; cell?: string }>

/** A page that shows its box, which is fresh for a second; where it does not at first, another page is tried. */
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
 * One test for each cell of a row: a box is shown, the gate changes, the box's second of freshness passes, the consumer
 * asks again, and what is seen then and the next times is what the page says. A box that stays is there at every visit.
 */
export function itMatchesCachedTable(row: string, cachingConsumer: CachingConsumer): void {
  for (const [column, mode] of listColumns(CACHED_TABLE)) {
    const cell = readCell(CACHED_TABLE, row, column)
    itConcurrently(mode, cachingConsumer)(
      `${row}, box kept - ${column} - ${cell}`,
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
        // A box that stays is seen at every visit; any other answer of the server's shows sooner or later.
        expect(new Set(cell === 'box' ? seen : [cell])).toEqual(new Set([cell]))
        expect(cachingConsumer.isSynchronous === true ? seen.at(-1) : await waitAndReload(reload, cell)).toBe(
          cell,
        )
      },
    )
  }
}

/** What is seen the next time after it was seen for the first time. */
async function waitAndReload(reload: Reload, cell: string): Promise<PageOutcome> {
  await vi.waitFor(async () => expect(await reload()).toBe(cell), { interval: 50 })
  return reload()
}

/**
 * A page that shows its box: after an outage a consumer may need a moment until it asks again. It is opened twice, since a
 * program may put a box away a moment after it has sent it.
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
  /** Most of its time goes into its own start. */
  isBuild?: true | undefined
}>

/** Until the box is no longer fresh by any clock and the consumer has asked for another, as far as that can be seen. */
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
      // A closed port is refused at once. A page that takes a second all the same is one of a machine that stands still, and the consumer's own limit may have passed.
      if (mode !== 'down' || isBuild === true || Date.now() - beganAtMs < RECIPE_LIMIT_MS) seen.push(outcome)
      const isStale =
        mode === 'down' ? Date.now() - shownAtMs > STALE_AFTER_MS : pageRoute.requests.length > before
      expect({ isStale, hasOutcome: seen.length > 0 }).toEqual({ isStale: true, hasOutcome: true })
    },
    { interval: 100 },
  )
  return seen
}

/** What is seen of a kept box in an outage, once the server's own limit for old boxes is over. */
export function itExpiresAfterStaleIfError(
  row: string,
  cachingConsumer: CachingConsumer,
  outcome: PageOutcome,
): void {
  const title = `${row}, box kept - longer than stale-if-error, 500 - ${outcome}`
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

/** Whatever a visitor sends along stays outside, and the box is whole for the next one. */
export function itDropsVisitorHeaders(row: string, cachingConsumer: CachingConsumer): void {
  const title = `${row} - a visitor's own headers - never reach the server, nor change the box`
  itConcurrently('shown', cachingConsumer)(title, async ({ onTestFinished }) => {
    const lanes = new Set<ProxyRoute>()
    const ask = async (): Promise<CachedPage> => {
      const pageRoute =
        'fixture' in cachingConsumer
          ? openRoute(cachingConsumer, onTestFinished)
          : cachingConsumer.faultProxy()
      lanes.add(pageRoute)
      await pageRoute.setMode('shown')
      const reload = await cachingConsumer.open(pageRoute as PageRoute)
      expect(await reload(VISITOR_HEADERS)).toBe('box')
      return { pageRoute, reload }
    }
    const { pageRoute, reload } = await vi.waitFor(ask)
    expect(pageRoute.requests.length).toBeGreaterThan(0)
    // Of every page that was tried, also of one that did not show its box.
    expect([...lanes].flatMap(({ requests }) => requests.flatMap(findVisitorHeaders))).toEqual([])
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
