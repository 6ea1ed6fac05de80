import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import { importBench } from '../../bench/bench-library.ts'
import {
  type Found,
  type Plan,
  computeNeededLimit,
  divideLimit,
  judgeCopy,
  simulateCell,
  simulateOnce,
} from './simulation-library.ts'

/** Small enough for every view to be an event. */
const SMALL: Plan = { viewsPerDay: 75_000, products: 10_000, channels: 2, points: 5, replicas: 2 }

/** How far the scaled simulation may be from the whole one: a part of the number, and for shares of views in points. */
const NUMBERS = 0.06
const SHARES = 0.03

function expectSame(scaled: Found, whole: Found): void {
  for (const name of ['views', 'originPerSecond', 'readsPerSecond', 'meanAgeS'] as const)
    expect(Math.abs(scaled[name] / whole[name] - 1), name).toBeLessThan(NUMBERS)
  for (const name of ['offload', 'fromEdge', 'hotShare'] as const)
    expect(Math.abs(scaled[name] - whole[name]), name).toBeLessThan(SHARES)
  for (const ageS of [300, 3_600])
    expect(Math.abs((scaled.olderShares[ageS] ?? 0) - (whole.olderShares[ageS] ?? 0))).toBeLessThan(SHARES)
  expect(Math.abs(scaled.calls.refresh / whole.calls.refresh - 1), 'refreshes').toBeLessThan(NUMBERS)
  expect(scaled.calls.walk).toBe(whole.calls.walk)
}

/** So few views that walks are what there is to see. */
function walk(dailyLimit: number | null): Promise<Found> {
  return simulateOnce({ ...SMALL, viewsPerDay: 1_000, dailyLimit })
}

describe('the simulation of a fleet', () => {
  it.each<[string, Plan]>([
    ['a CDN with a shield', SMALL],
    ['a CDN without one, and memories that are too small', { ...SMALL, hasShield: false, entries: 60 }],
    ['no CDN, and memories that are too small', { ...SMALL, points: 0, entries: 60 }],
    ['a limit that is spent in the morning', { ...SMALL, dailyLimit: 10_000 }],
    ['another seed', { ...SMALL, seed: 5 }],
  ])('scaled - %s - says what a simulation of every view says', async (_name, plan) => {
    const [scaled, whole] = [await simulateOnce(plan), await simulateOnce(plan, { isWhole: true })]
    expect(whole.boxCount).toBe(plan.products)
    expect(scaled.boxCount).toBeLessThan(whole.boxCount / 5)
    expectSame(scaled, whole)
  })

  it('a plan - simulated twice - says the same', async () => {
    const plan = { ...SMALL, viewsPerDay: 20_000, products: 2_000 }
    expect(await simulateCell(plan)).toEqual(await simulateCell(plan))
  })

  it.each([100, 1_000, 10_000])(
    'a daily limit of %s - scaled and whole - is passed by no kind of call, and refreshes use their share up',
    async (dailyLimit) => {
      const shares = divideLimit(dailyLimit)
      for (const isWhole of [false, true]) {
        const { calls, spentAtS } = await simulateOnce({ ...SMALL, dailyLimit }, { isWhole })
        expect(calls.walk).toBeLessThanOrEqual(shares.walk)
        expect(calls.refresh).toBeLessThanOrEqual(shares.refresh)
        expect(calls.lookup).toBeLessThanOrEqual(shares.lookup)
        expect(calls.refresh).toBeGreaterThan(shares.refresh * 0.98)
        expect(spentAtS).toBeLessThan(86_400)
      }
    },
  )

  it('walks - of fifty pages - run each hour, and with less as often as half of the limit lets them', async () => {
    const free = await walk(null)
    expect({ pages: free.pages, walksPerDay: free.walksPerDay, calls: free.calls.walk }).toEqual({
      pages: 50,
      walksPerDay: 24,
      calls: 24 * 51,
    })
    expect((await walk(2 * 51 * 6)).walksPerDay).toBeCloseTo(6, 1)
    const slow = await walk(50)
    expect(slow.walksPerDay).toBeCloseTo(25 / 51, 2)
    expect(slow.olderShares[86_400]).toBeGreaterThan(0.3)
  })

  it('a walk - whose pages take long - ends later than it would begin again, and is not begun twice', async () => {
    const { walksPerDay, meanAgeS } = await simulateOnce({ ...SMALL, viewsPerDay: 1_000, pageSeconds: 100 })
    expect(walksPerDay).toBeGreaterThan(11)
    expect(walksPerDay).toBeLessThan(12.5)
    expect(meanAgeS).toBeGreaterThan(0)
  })

  it('more views of the same products - let a CDN keep more of them', async () => {
    const [few, many] = [await simulateOnce(SMALL), await simulateOnce({ ...SMALL, viewsPerDay: 750_000 })]
    expect(many.offload).toBeGreaterThan(few.offload + 0.1)
    expect(many.originPerSecond).toBeGreaterThan(few.originPerSecond)
  })

  it('a copy in a CDN - by its age - is fresh, then stale while it is renewed, then gone', () => {
    const copy = { madeAtS: 1_000, maxAgeS: 60, whileRevalidateS: 600 }
    const ages = [0, 59.9, 60, 659.9, 660].map((ageS) => judgeCopy(copy, copy.madeAtS + ageS))
    expect(ages).toEqual(['fresh', 'fresh', 'stale', 'stale', 'gone'])
    expect(judgeCopy(undefined, 0)).toBe('gone')
  })

  it('the limit that a day needs - is the least whose shares hold its calls', () => {
    const calls = { walk: 624, refresh: 19_900, lookup: 3 }
    const limit = computeNeededLimit(calls)
    expect(divideLimit(limit).refresh).toBeGreaterThanOrEqual(calls.refresh)
    expect(divideLimit(limit).walk).toBeGreaterThanOrEqual(calls.walk)
    expect(divideLimit(limit - 1).refresh).toBeLessThan(calls.refresh)
  })
})

describe('docs/sizing.md', () => {
  it('the small publisher - simulated now - is what the page says', async () => {
    type Table = Readonly<{ rows: readonly (readonly (string | number)[])[] }>
    type Scenario = Readonly<{
      toPlanTable(found: Readonly<Record<string, Found>>, need: typeof computeNeededLimit): Table
    }>
    const { SMALL: plan } = await importBench<{ SMALL: Plan }>('simulation/plans.mjs')
    const { toPlanTable } = await importBench<Scenario>('scenarios/fleet.mjs')
    const { rows } = toPlanTable({ small: await simulateOnce(plan) }, computeNeededLimit)
    const page = readFileSync(join(PACKAGE_FOLDER, 'docs/sizing.md'), 'utf8')
    const [, block = ''] = page.split('<!-- figures: fleet -->')
    const written = (block.split('<!-- end -->')[0] ?? '')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim()))
    expect(rows.length).toBeGreaterThan(10)
    for (const [name, value] of rows)
      expect(
        written.filter((cells) => cells[1] === name).map((cells) => cells[2]),
        String(name),
      ).toEqual([String(value)])
  })
})
