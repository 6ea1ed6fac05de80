import { copyFile, rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { findLowest, listDayLows } from '../../src/offers/price-history.ts'
import { computeDiscountPercent } from '../../src/offers/sale.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { DealEntry, Lookup } from '../../src/storage/store.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { toGtin } from '../helpers/products.ts'
import { toIndex } from './conformance/price-history-fixture.ts'
import { CHANNEL, makeQuery } from './conformance/subject.ts'
import {
  type Observation,
  type ReplayDeal,
  computeCalendar,
  computeDeals,
  computeDropOrder,
  computeFalls,
  listKeys,
} from './replay-reference.ts'
import { type Point, describeExpectedView, describeView } from './replay-view.ts'
import {
  COURT_CASE,
  DAYS,
  DAY_0,
  PRODUCTS,
  SEEN_FLASH,
  UNSEEN_FLASH,
  UP_AND_DOWN,
  createWorld,
} from './replay-world.ts'

const PAGE_PRODUCTS = 200
const ALL_DEALS = 10_000

/** Days without walks. Visitors still look products up on some of them. */
const OUTAGES: readonly (readonly [from: number, until: number, lookups: number])[] = [
  [20, 23, 0],
  [40, 47, 40],
  [90, 95, 0],
]
/** Walks that end after half of their pages. The next walk resumes the second one, and restarts after the others. */
const INTERRUPTED_DAYS: ReadonlySet<number> = new Set([15, 34, 77])
const RESUMED_DAY = 34
/** The server is restarted, and a backup of the first day replaces the copy on the last one. */
const RESTART_DAY = 45
const BACKUP_DAYS = { from: 60, until: 63 } as const
/** Grids are compared on these days, also just after each outage, and not while prices are too old. */
const COMPARED_DAYS: ReadonlySet<number> = new Set([
  29, 30, 36, 47, 49, 60, 63, 75, 81, 95, 98, 100, 105, 112, 119,
])

/** Return the hours at which walks of a day begin. The last one is at times so late that it crosses midnight. */
function listWalkHours(day: number): number[] {
  if (OUTAGES.some(([from, until]) => day >= from && day < until)) return []
  if (day % 10 === 0) return [0.5, 6.5, 12.5, 18.5]
  return day % 7 === 1 ? [12.5, 17.5, 23.8] : [6.5, 12.5]
}

/** Replay a catalog and record what the copy has seen. */
async function startReplay() {
  const world = createWorld()
  const file = await makeCopyFile()
  const clock = createFakeClock(DAY_0 * DAY_MS)
  const open = (): Promise<StoredCopy> =>
    openStoredCopy({
      database: { kind: 'sqlite', path: file.path },
      catalog: 'c',
      clock,
      history: { keptDays: 400, priceMaxAgeSeconds: 86_400 },
    })
  let store = await open()
  onTestFinished(async () => {
    await store.close()
    await file.remove()
  })
  let observations: Observation[][] = Array.from({ length: PRODUCTS }, () => [])
  const products: (Product | null)[] = []
  const setTime = (timeMs: number): void => clock.step(timeMs - clock.nowMs())

  const observe = (index: number, timeMs: number): Product | null => {
    const { product, prices } = world.see(index, timeMs)
    observations[index]?.push({ timeMs, prices })
    products[index] = product
    return product
  }

  const lookUp = async (count: number, timeMs: number): Promise<void> => {
    setTime(timeMs)
    const indexes = new Set(Array.from({ length: count }, () => world.draw(PRODUCTS)))
    const lookups = [...indexes].map((index): Lookup => ({
      channelId: CHANNEL,
      gtin: toGtin(index),
      entry: { product: observe(index, timeMs), asOfMs: timeMs },
    }))
    await store.putLookups(lookups)
  }

  /** Find where the page that begins at an index ends: at a product that a shop sells. */
  const findPageEnd = (first: number, timeMs: number): number => {
    let end = first + PAGE_PRODUCTS
    if (end >= PRODUCTS) return PRODUCTS
    while (world.see(end - 1, timeMs).product === null) end -= 1
    return end
  }

  const applyPage = async (walk: number, first: number, timeMs: number): Promise<number> => {
    setTime(timeMs)
    const end = findPageEnd(first, timeMs)
    const page: Product[] = []
    for (let index = first; index < end; index += 1) {
      const product = observe(index, timeMs)
      if (product !== null) page.push(product)
    }
    await store.applyPage(CHANNEL, {
      walk,
      afterGtin: first === 0 ? '' : toGtin(first - 1),
      products: page,
      nextCursor: end === PRODUCTS ? null : 'c',
      asOfMs: timeMs,
      drops: {},
    })
    return end
  }

  const walk = async (
    startMs: number,
    { isInterrupted, canResume }: Readonly<{ isInterrupted: boolean; canResume: boolean }>,
  ): Promise<void> => {
    setTime(startMs)
    world.advance(startMs)
    const position = await store.beginWalk(CHANNEL, {
      nowMs: startMs,
      resumableSinceMs: canResume ? 0 : startMs,
    })
    let first = position.afterGtin === '' ? 0 : toIndex(position.afterGtin) + 1
    let timeMs = startMs
    const until = isInterrupted ? PRODUCTS / 2 : PRODUCTS
    while (first < until) {
      timeMs += 2 * MINUTE_MS
      if (first >= PRODUCTS - PAGE_PRODUCTS) await lookUp(4, timeMs - MINUTE_MS)
      first = await applyPage(position.walk, first, timeMs)
    }
    if (!isInterrupted)
      await store.completeWalk(CHANNEL, position.walk, { nowMs: timeMs, isMalformed: false })
  }

  const walkDay = async (day: number): Promise<void> => {
    const startMs = (DAY_0 + day) * DAY_MS
    const lookups = OUTAGES.find(([from, until]) => day >= from && day < until)?.[2] ?? 0
    if (lookups > 0) await lookUp(lookups, startMs + 9 * HOUR_MS)
    for (const [position, hour] of listWalkHours(day).entries()) {
      const isInterrupted = position === 0 && INTERRUPTED_DAYS.has(day)
      const canResume = position === 1 && day === RESUMED_DAY
      await walk(startMs + hour * HOUR_MS, { isInterrupted, canResume })
      await lookUp(8, startMs + hour * HOUR_MS + HOUR_MS)
    }
  }

  return {
    world,
    products,
    walkDay,
    getStore: (): StoredCopy => store,
    getObservations: (index: number): readonly Observation[] => observations[index] ?? [],
    async restart() {
      await store.close()
      store = await open()
    },
    /** Copy the file, and return the function that replaces the present one by it. */
    async backUp() {
      await store.close()
      await copyFile(file.path, `${file.path}.backup`)
      const saved = observations.map((list) => [...list])
      store = await open()
      return async (): Promise<void> => {
        await store.close()
        for (const end of ['-wal', '-shm']) await rm(`${file.path}${end}`, { force: true })
        await copyFile(`${file.path}.backup`, file.path)
        observations = saved
        store = await open()
      }
    },
  }
}

type Replay = Awaited<ReturnType<typeof startReplay>>

const toCents = (text: string | null): number => Math.round(Number(text) * 100)

function describeFall({ gtin, offer }: DealEntry): string {
  const percent = computeDiscountPercent(offer.price, offer.oldPrice ?? '0')
  return `${toIndex(gtin)} ${offer.merchant} ${toCents(offer.price)}<${toCents(offer.oldPrice)} ${percent} %`
}

/** Compare the grids with what the observations give. */
async function compareGrids(replay: Replay, day: number): Promise<number> {
  const store = replay.getStore()
  const deals = replay.products.flatMap((product, index): ReplayDeal[] =>
    computeDeals(product, index, replay.getObservations(index)),
  )
  const falls = computeFalls(deals)
  for (const sort of ['discount', 'drop'] as const) {
    const found = await store.findDeals(makeQuery({ evidence: 'observed', sort, limit: ALL_DEALS }))
    expect([day, sort, found.map(describeFall).join('\n')]).toEqual([day, sort, falls.join('\n')])
  }
  const page = await store.findDeals(makeQuery({ evidence: 'observed', limit: 12, offset: 12 }))
  expect(page.map(describeFall)).toEqual(falls.slice(12, 24))
  const counts = await store.countDeals(makeQuery({ evidence: 'observed' }), new Map())
  expect(counts.total).toBe(falls.length)
  const dropped = await store.findDeals(makeQuery({ sort: 'drop', limit: ALL_DEALS }))
  const found = dropped.map(({ gtin, offer }) => `${toIndex(gtin)} ${offer.merchant} ${toCents(offer.price)}`)
  expect([day, found]).toEqual([day, computeDropOrder(deals)])
  return falls.length
}

/** Describe each day of the series of a product, and the daily lows, sentence and chart of a box in each currency. */
async function describeFound(replay: Replay, index: number, today: number): Promise<readonly string[]> {
  const series = await replay.getStore().findPriceSeries(CHANNEL, toGtin(index))
  const keys = series.map(({ currency, merchantKey, days }) => {
    const texts = days.map(({ day, low, last }) => describeDay(day - DAY_0, low / 100, last && last / 100))
    return `${currency} ${merchantKey}: ${texts.join()}`
  })
  const currencies = [...new Set(series.map(({ currency }) => currency))].sort()
  const charts = currencies.map((currency) => {
    const own = series.filter((one) => one.currency === currency)
    const points = listDayLows(own).map(({ day, low }) => `${day - DAY_0} ${low / 100}`)
    return `${currency}: ${points.join()}; ${describeView(own, currency, today)}`
  })
  return [...keys.sort(), ...charts]
}

/** Describe the same from the observations. */
function describeExpected(observations: readonly Observation[], today: number): readonly string[] {
  const keys = listKeys(observations)
  const calendars = new Map(keys.map((key) => [key, computeCalendar(observations, key)]))
  const series = keys.map((key) => {
    const texts = calendars.get(key)?.flatMap((seen, day) => seen && describeDay(day, seen.low, seen.last))
    return `${key}: ${texts?.filter((text) => text !== undefined).join()}`
  })
  const charts = [...new Set(keys.map((key) => key.slice(0, 3)))].map((currency) => {
    const own = keys.flatMap((key) => (key.startsWith(currency) ? [calendars.get(key) ?? []] : []))
    const points: Point[] = []
    for (let day = 0; day <= DAYS; day += 1) {
      const lows = own.flatMap((calendar) => calendar[day]?.low ?? [])
      if (lows.length > 0) points.push([day, Math.min(...lows)])
    }
    const texts = points.map((point) => point.join(' '))
    return `${currency}: ${texts.join()}; ${describeExpectedView(points, currency, today)}`
  })
  return [...series, ...charts]
}

function describeDay(day: number, low: number, last: number | null): string {
  return `${day} ${low} ${last ?? 'gone'}`
}

/** Compare every series, chart and sentence. */
async function compareSeries(replay: Replay, today: number): Promise<void> {
  for (let index = 0; index < PRODUCTS; index += 1) {
    const found = await describeFound(replay, index, today)
    expect([index, found.join('\n')]).toEqual([
      index,
      describeExpected(replay.getObservations(index), today).join('\n'),
    ])
  }
}

test('120 days of many products - every series, sentence, badge and order equals what the observations give', async () => {
  const replay = await startReplay()
  let restore: (() => Promise<void>) | undefined
  const falls: number[] = []
  for (let day = 0; day < DAYS; day += 1) {
    if (day === RESTART_DAY) await replay.restart()
    if (day === BACKUP_DAYS.from) restore = await replay.backUp()
    if (day === BACKUP_DAYS.until) await restore?.()
    await replay.walkDay(day)
    if (COMPARED_DAYS.has(day)) falls.push(await compareGrids(replay, day))
    if (day === 55) await compareSeries(replay, day + 1)
  }
  await compareSeries(replay, DAYS)
  // Enough falls to make the comparisons worthwhile.
  expect(Math.max(...falls)).toBeGreaterThan(PRODUCTS / 20)

  const deals = await replay.getStore().findDeals(makeQuery({ evidence: 'observed', limit: ALL_DEALS }))
  const fallen = deals.map(({ gtin }) => toIndex(gtin))
  for (const index of [COURT_CASE, UP_AND_DOWN, SEEN_FLASH, UNSEEN_FLASH]) expect(fallen).not.toContain(index)
  const readLow = async (index: number): Promise<unknown> => {
    const series = await replay.getStore().findPriceSeries(CHANNEL, toGtin(index))
    return findLowest(listDayLows(series))
  }
  expect(await readLow(UNSEEN_FLASH)).toMatchObject({ low: 500_000 })
  expect(await readLow(SEEN_FLASH)).toEqual({ day: DAY_0 + 100, low: 50_000 })
})
