import { describe, expect, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import {
  type CrashFixture,
  PAGE_PRODUCTS,
  expectAllShown,
  expectIntact,
  blockPage,
  killAt,
  makeCrashFixture,
  makeWalkedFixture,
  openCopy,
  setPrices,
  startListening,
  takeRequestedPages,
  toBox,
  toGrid,
  visit,
  walkInProcess,
} from './crash-fixture.ts'
import { killAtStatement } from './kill-at-statement.ts'

const PAGES = 10
const PRODUCTS: number = PAGES * PAGE_PRODUCTS
const OLD = '49.90'
const NEW = '39.90'
const NO_SCHEDULE: Environment = { VITRINE_SYNC_CRON: 'off' }
const EACH_SECOND: Environment = { VITRINE_SYNC_CRON: '* * * * * *' }

/** One product of each page, and the first and last product. */
const SAMPLE: readonly number[] = [
  0,
  ...Array.from({ length: PAGES }, (_, page) => page * PAGE_PRODUCTS + 20),
  PRODUCTS - 1,
]
/** Other products, which no cache contains yet. */
const OTHER_PRODUCTS: readonly number[] = SAMPLE.slice(1, -1).map((index) => index + 1)

const pagesFrom = (page: number): number[] =>
  Array.from({ length: PAGES - page + 1 }, (_, index) => page + index)

/** A statement before which the process is killed: its name, its pattern, which match it is, and the price shown then. */
type KillPoint = readonly [string, RegExp, number, string]

const KILL_POINTS: readonly KillPoint[] = [
  ['the end of a page', /^insert into "walk_pages"/, 5, OLD],
  ['the switch to the new walk', /update copies set current_walk = \?, running_walk/, 1, OLD],
  ['the removal of the old', /^delete from "products"/, 1, NEW],
  ['the middle of that removal', /^delete from "products"/, 3, NEW],
]

async function makeWalkedWithNewPrices(): Promise<CrashFixture> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  return fixture
}

/** Return the distinct prices of all products in the copy. */
async function listBoxPrices(fixture: CrashFixture): Promise<string[]> {
  const store = await openCopy(fixture)
  const entries = await store.searchProducts(CHANNEL_ID, '', PRODUCTS + 1)
  await store.close()
  expect(entries).toHaveLength(PRODUCTS)
  return [...new Set(entries.map(({ product }) => product?.offers[0]?.price ?? 'none'))]
}

/** Return the distinct prices of all deals in the copy. */
async function listDealPrices(fixture: CrashFixture): Promise<string[]> {
  const store = await openCopy(fixture)
  const query = { isInStockOnly: false, merchants: [], excluded: [], minDiscountPercent: 1, offset: 0 }
  const rest = {
    maxPrice: null,
    brand: null,
    searchText: null,
    evidence: 'shop',
    sort: 'price',
    limit: PRODUCTS + 1,
  } as const
  const deals = await store.findDeals({ channelId: CHANNEL_ID, currency: 'EUR', ...query, ...rest })
  await store.close()
  expect(deals).toHaveLength(PRODUCTS)
  return [...new Set(deals.map(({ offer }) => offer.price))]
}

/** Expect the next walk to complete and to request exactly these pages. */
async function expectWalked(fixture: CrashFixture, pages: readonly number[]): Promise<void> {
  await walkInProcess(fixture)
  expect(takeRequestedPages(fixture)).toEqual(pages)
}

/** Wait until the grids show this price: a server notices the walk of another process after a moment (ADR 0012). */
async function waitForGrids(url: string, price: string): Promise<void> {
  for (const page of [1, 2])
    await vi.waitFor(async () =>
      expect(await visit(url, toGrid(page))).toEqual({ state: 'shown', prices: [price] }),
    )
}

describe('kill -9 during a walk that changes every price', () => {
  test.each([2, 10])(
    'serve, page %i of 10 - the old walk is shown before and after; the next walk resumes at that page',
    async (page) => {
      const fixture = await makeWalkedWithNewPrices()
      const blocked = blockPage(fixture, page)
      const first = await startListening({ ...fixture.settings, ...EACH_SECOND })
      await vi.waitFor(() => expect(blocked.isRequested()).toBe(true))
      await expectAllShown(first.url, SAMPLE, OLD)
      await killAt(first.running, blocked)
      expect(takeRequestedPages(fixture)).toEqual(pagesFrom(1).slice(0, page))
      expectIntact(fixture.path)

      const second = await startListening({ ...fixture.settings, ...NO_SCHEDULE })
      await expectAllShown(second.url, SAMPLE, OLD)
      await expectWalked(fixture, pagesFrom(page))
      await waitForGrids(second.url, NEW)
      await expectAllShown(second.url, OTHER_PRODUCTS, NEW)
      expect(await listBoxPrices(fixture)).toEqual([NEW])
      expect(await listDealPrices(fixture)).toEqual([NEW])
    },
  )

  test('sync, killed twice, each time at a later page - only the interrupted pages are requested twice', async () => {
    const fixture = await makeWalkedWithNewPrices()
    const { url } = await startListening({ ...fixture.settings, ...NO_SCHEDULE })
    let from = 1
    for (const page of [3, 8]) {
      await killAt(startBuilt(['sync'], fixture.settings), blockPage(fixture, page))
      expect(takeRequestedPages(fixture)).toEqual(pagesFrom(from).slice(0, page - from + 1))
      expectIntact(fixture.path)
      expect(await listDealPrices(fixture)).toEqual([OLD])
      from = page
    }
    expect(await listBoxPrices(fixture)).toEqual([OLD])
    await expectAllShown(url, SAMPLE, OLD)
    await expectWalked(fixture, pagesFrom(8))
    await waitForGrids(url, NEW)
    await expectAllShown(url, OTHER_PRODUCTS, NEW)
  })

  test('serve, as soon as the last page is sent - one complete version is shown, and the next walk completes', async () => {
    const fixture = await makeWalkedWithNewPrices()
    const { running } = await startListening({ ...fixture.settings, ...EACH_SECOND })
    const blocked = blockPage(fixture, PAGES)
    await vi.waitFor(() => expect(blocked.isRequested()).toBe(true))
    blocked.release()
    running.child.kill('SIGKILL')
    await vi.waitFor(() => expect(running.child.signalCode).toBe('SIGKILL'))
    expectIntact(fixture.path)
    const [price = ''] = await listDealPrices(fixture)
    expect([OLD, NEW]).toContain(price)
    expect(await listBoxPrices(fixture)).toEqual([price])
    await walkInProcess(fixture)
    expect(await listDealPrices(fixture)).toEqual([NEW])
  })

  test('sync, just before a statement - visitors see one version, and the next walk completes', async () => {
    const seen: unknown[] = []
    const testKillPoint = async ([name, matches, count]: KillPoint): Promise<void> => {
      const fixture = await makeWalkedWithNewPrices()
      const killSettings = killAtStatement(fixture.folder, matches, count)
      const { code } = await runBuilt(['sync'], { ...fixture.settings, ...killSettings })
      expectIntact(fixture.path)
      const prices = [...(await listDealPrices(fixture)), ...(await listBoxPrices(fixture))]
      await walkInProcess(fixture)
      const after = [...(await listDealPrices(fixture)), ...(await listBoxPrices(fixture))]
      seen.push([name, code, prices, after])
    }
    // Two at a time: most of the time is starting programs.
    for (let index = 0; index < KILL_POINTS.length; index += 2)
      await Promise.all(KILL_POINTS.slice(index, index + 2).map(testKillPoint))
    const expected = KILL_POINTS.map(([name, , , price]) => [name, null, [price, price], [NEW, NEW]])
    expect(seen).toHaveLength(expected.length)
    expect(seen).toEqual(expect.arrayContaining(expected))
  })
})

describe('kill -9 during the first walk', () => {
  test.each([2, 10])(
    'page %i of 10 - walked products are shown after the restart, and the walk resumes at that page',
    async (page) => {
      const fixture = await makeCrashFixture(PRODUCTS, OLD)
      const blocked = blockPage(fixture, page)
      const first = await startListening(fixture.settings)
      await vi.waitFor(() => expect(blocked.isRequested()).toBe(true))
      const walked = SAMPLE.filter((index) => index < (page - 1) * PAGE_PRODUCTS)
      const shown = { state: 'shown', prices: [OLD] }
      for (const index of walked) expect(await visit(first.url, toBox(index))).toEqual(shown)
      expect((await visit(first.url, toGrid())).state).toBe('unavailable')
      expect(fixture.catalog.countCalls(/products\/\d/)).toBe(0)
      await killAt(first.running, blocked)
      expectIntact(fixture.path)
      takeRequestedPages(fixture)

      const again = blockPage(fixture, page)
      const second = await startListening(fixture.settings)
      await vi.waitFor(() => expect(again.isRequested()).toBe(true))
      for (const index of walked) expect(await visit(second.url, toBox(index))).toEqual(shown)
      expect((await visit(second.url, toGrid())).state).toBe('unavailable')
      expect(fixture.catalog.countCalls(/products\/\d/)).toBe(0)
      again.release()
      const { grid } = JSON.parse(await second.running.firstLine) as { grid: string }
      expect(grid).toContain('/deals')
      expect(takeRequestedPages(fixture)).toEqual(pagesFrom(page))
      await expectAllShown(second.url, SAMPLE, OLD)
    },
  )
})

test('kill -9 between walks that change every price - each start shows the last complete walk', async () => {
  const fixture = await makeCrashFixture(PRODUCTS, OLD)
  const first = startBuilt(['serve', '--json'], fixture.settings)
  await first.firstLine
  await first.stop('SIGKILL')
  expectIntact(fixture.path)
  setPrices(fixture, PRODUCTS, NEW)
  takeRequestedPages(fixture)
  const second = await startListening({ ...fixture.settings, ...NO_SCHEDULE })
  await expectAllShown(second.url, SAMPLE, OLD)
  await expectWalked(fixture, pagesFrom(1))
  await second.running.stop('SIGKILL')
  expectIntact(fixture.path)
  const third = await startListening(fixture.settings)
  await expectAllShown(third.url, SAMPLE, NEW)
  expect(takeRequestedPages(fixture)).toEqual([])
})
