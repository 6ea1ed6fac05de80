import { describe, expect, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { runBuilt, startBuilt } from '../../cli/cli-harness.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import {
  type CrashPlace,
  PAGE_PRODUCTS,
  expectAllShown,
  expectWhole,
  holdPage,
  killAt,
  makeCrashPlace,
  makeWalkedPlace,
  openCopy,
  setPrices,
  startListening,
  takePages,
  toBox,
  toGrid,
  visit,
  walkHere,
} from './crash-place.ts'
import { armStatement } from './statement-bomb.ts'

const PAGES = 10
const PRODUCTS: number = PAGES * PAGE_PRODUCTS
const OLD = '49.90'
const NEW = '39.90'
const QUIET: Environment = { VITRINE_SYNC_CRON: 'off' }
const EACH_SECOND: Environment = { VITRINE_SYNC_CRON: '* * * * * *' }

/** A product of each page, and the first and last of all. */
const SAMPLE: readonly number[] = [
  0,
  ...Array.from({ length: PAGES }, (_, page) => page * PAGE_PRODUCTS + 20),
  PRODUCTS - 1,
]
/** Others, which no memory knows yet. */
const OTHERS: readonly number[] = SAMPLE.slice(1, -1).map((index) => index + 1)

const pagesFrom = (page: number): number[] =>
  Array.from({ length: PAGES - page + 1 }, (_, index) => page + index)

/** A statement of a walk before which the process is killed: its name, its text, the how-manieth, and what is shown then. */
type Moment = readonly [string, RegExp, number, string]

const MOMENTS: readonly Moment[] = [
  ['the end of a page', /^insert into "walk_pages"/, 5, OLD],
  ['the switch to the new walk', /update copies set current_walk = \?, running_walk/, 1, OLD],
  ['the removal of the old', /^delete from "products"/, 1, NEW],
  ['the middle of that removal', /^delete from "products"/, 3, NEW],
]

async function makeWalked(): Promise<CrashPlace> {
  const place = await makeWalkedPlace(PRODUCTS, OLD)
  setPrices(place, PRODUCTS, NEW)
  return place
}

/** Every product of the copy, as readers see it: which prices they have. */
async function listBoxPrices(place: CrashPlace): Promise<string[]> {
  const store = await openCopy(place)
  const entries = await store.searchProducts(CHANNEL_ID, '', PRODUCTS + 1)
  await store.close()
  expect(entries).toHaveLength(PRODUCTS)
  return [...new Set(entries.map(({ product }) => product?.offers[0]?.price ?? 'none'))]
}

/** Which price the cards of the grid have: as many deals as there are products, in pages of 60. */
async function listDealPrices(place: CrashPlace): Promise<string[]> {
  const store = await openCopy(place)
  const query = { isInStockOnly: false, merchants: [], excluded: [], minDiscountPercent: 1, offset: 0 }
  const rest = { maxPrice: null, brand: null, words: null, sort: 'price', limit: PRODUCTS + 1 } as const
  const deals = await store.findDeals({ channelId: CHANNEL_ID, currency: 'EUR', ...query, ...rest })
  await store.close()
  expect(deals).toHaveLength(PRODUCTS)
  return [...new Set(deals.map(({ offer }) => offer.price))]
}

/** The next walk ends, and asks for no page that is in the copy. */
async function expectWalked(place: CrashPlace, pages: readonly number[]): Promise<void> {
  await walkHere(place)
  expect(takePages(place)).toEqual(pages)
}

/** A server believes for a moment that no other process has walked (ADR 0012). */
async function waitForGrids(url: string, price: string): Promise<void> {
  for (const page of [1, 2])
    await vi.waitFor(async () =>
      expect(await visit(url, toGrid(page))).toEqual({ state: 'shown', prices: [price] }),
    )
}

describe('kill -9 in the middle of a walk that changes every price', () => {
  test.each([2, 10])(
    'serve, page %i of 10 - the old walk is shown, before and after; the next walk goes on at that page',
    async (page) => {
      const place = await makeWalked()
      const held = holdPage(place, page)
      const first = await startListening({ ...place.settings, ...EACH_SECOND })
      await vi.waitFor(() => expect(held.isAsked()).toBe(true))
      await expectAllShown(first.url, SAMPLE, OLD)
      await killAt(first.running, held)
      expect(takePages(place)).toEqual(pagesFrom(1).slice(0, page))
      expectWhole(place.path)

      const second = await startListening({ ...place.settings, ...QUIET })
      await expectAllShown(second.url, SAMPLE, OLD)
      await expectWalked(place, pagesFrom(page))
      await waitForGrids(second.url, NEW)
      await expectAllShown(second.url, OTHERS, NEW)
      expect(await listBoxPrices(place)).toEqual([NEW])
      expect(await listDealPrices(place)).toEqual([NEW])
    },
  )

  test('sync, again and again, each at a later page - no page is asked for twice but those that were cut', async () => {
    const place = await makeWalked()
    const { url } = await startListening({ ...place.settings, ...QUIET })
    let from = 1
    for (const page of [3, 8]) {
      await killAt(startBuilt(['sync'], place.settings), holdPage(place, page))
      expect(takePages(place)).toEqual(pagesFrom(from).slice(0, page - from + 1))
      expectWhole(place.path)
      expect(await listDealPrices(place)).toEqual([OLD])
      from = page
    }
    expect(await listBoxPrices(place)).toEqual([OLD])
    await expectAllShown(url, SAMPLE, OLD)
    await expectWalked(place, pagesFrom(8))
    await waitForGrids(url, NEW)
    await expectAllShown(url, OTHERS, NEW)
  })

  test('serve, as soon as the last page is sent - one whole version, and the next walk ends', async () => {
    const place = await makeWalked()
    const { running } = await startListening({ ...place.settings, ...EACH_SECOND })
    const held = holdPage(place, PAGES)
    await vi.waitFor(() => expect(held.isAsked()).toBe(true))
    held.letGo()
    running.child.kill('SIGKILL')
    await vi.waitFor(() => expect(running.child.signalCode).toBe('SIGKILL'))
    expectWhole(place.path)
    const [price = ''] = await listDealPrices(place)
    expect([OLD, NEW]).toContain(price)
    expect(await listBoxPrices(place)).toEqual([price])
    await walkHere(place)
    expect(await listDealPrices(place)).toEqual([NEW])
  })

  test('sync, just before a statement - readers see one version, and the next walk ends', async () => {
    const seen: unknown[] = []
    const tryOne = async ([name, matches, count]: Moment): Promise<void> => {
      const place = await makeWalked()
      const bomb = armStatement(place.folder, matches, count)
      const { code } = await runBuilt(['sync'], { ...place.settings, ...bomb })
      expectWhole(place.path)
      const prices = [...(await listDealPrices(place)), ...(await listBoxPrices(place))]
      await walkHere(place)
      const after = [...(await listDealPrices(place)), ...(await listBoxPrices(place))]
      seen.push([name, code, prices, after])
    }
    // Two at a time: most of it is a program that starts.
    for (let index = 0; index < MOMENTS.length; index += 2)
      await Promise.all(MOMENTS.slice(index, index + 2).map(tryOne))
    const expected = MOMENTS.map(([name, , , price]) => [name, null, [price, price], [NEW, NEW]])
    expect(seen).toHaveLength(expected.length)
    expect(seen).toEqual(expect.arrayContaining(expected))
  })
})

describe('kill -9 in the middle of the first walk', () => {
  test.each([2, 10])(
    'page %i of 10 - what was walked is shown again, and the walk goes on there by itself',
    async (page) => {
      const place = await makeCrashPlace(PRODUCTS, OLD)
      const held = holdPage(place, page)
      const first = await startListening(place.settings)
      await vi.waitFor(() => expect(held.isAsked()).toBe(true))
      const walked = SAMPLE.filter((index) => index < (page - 1) * PAGE_PRODUCTS)
      const shown = { state: 'shown', prices: [OLD] }
      for (const index of walked) expect(await visit(first.url, toBox(index))).toEqual(shown)
      expect((await visit(first.url, toGrid())).state).toBe('unavailable')
      expect(place.catalog.countCalls(/products\/\d/)).toBe(0)
      await killAt(first.running, held)
      expectWhole(place.path)
      takePages(place)

      const again = holdPage(place, page)
      const second = await startListening(place.settings)
      await vi.waitFor(() => expect(again.isAsked()).toBe(true))
      for (const index of walked) expect(await visit(second.url, toBox(index))).toEqual(shown)
      expect((await visit(second.url, toGrid())).state).toBe('unavailable')
      expect(place.catalog.countCalls(/products\/\d/)).toBe(0)
      again.letGo()
      const { grid } = JSON.parse(await second.running.firstLine) as { grid: string }
      expect(grid).toContain('/deals')
      expect(takePages(place)).toEqual(pagesFrom(page))
      await expectAllShown(second.url, SAMPLE, OLD)
    },
  )
})

test('kill -9 between walks that change every price - each start shows the last whole walk', async () => {
  const place = await makeCrashPlace(PRODUCTS, OLD)
  const first = startBuilt(['serve', '--json'], place.settings)
  await first.firstLine
  await first.stop('SIGKILL')
  expectWhole(place.path)
  setPrices(place, PRODUCTS, NEW)
  takePages(place)
  const second = await startListening({ ...place.settings, ...QUIET })
  await expectAllShown(second.url, SAMPLE, OLD)
  await expectWalked(place, pagesFrom(1))
  await second.running.stop('SIGKILL')
  expectWhole(place.path)
  const third = await startListening(place.settings)
  await expectAllShown(third.url, SAMPLE, NEW)
  expect(takePages(place)).toEqual([])
})
