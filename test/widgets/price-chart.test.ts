import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DayLow } from '../../src/offers/price-history.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { CHART_DAYS, type PriceChart, toPriceChart } from '../../src/widgets/history.ts'
import { makeBox, makeHistory } from '../helpers/views.ts'

const TODAY = 20_000

/** One price per day, the last one today; `null`: not observed. */
const toLows = (prices: readonly (number | null)[]): readonly DayLow[] =>
  prices.flatMap((low, index) => (low === null ? [] : [{ day: TODAY - prices.length + 1 + index, low }]))

const draw = (prices: readonly (number | null)[], dir: 'ltr' | 'rtl' = 'ltr'): PriceChart | undefined =>
  toPriceChart(toLows(prices), TODAY, dir)

/** Read a path back: the height at which each day is drawn. */
function readPath(path: string): readonly [x: number, y: number][] {
  const days: [number, number][] = []
  let [x, y] = [0, 0]
  const commands: Readonly<Record<string, (first: number, second: number) => void>> = {
    M: (first, second) => void ([x, y] = [first, second]),
    m: (first, second) => void ([x, y] = [x + first, y + second]),
    v: (first) => void (y += first),
    h: (length) => {
      for (let day = 0; day < length; day += 1) days.push([x + day, y])
      x += length
    },
  }
  for (const [, command = '', text = ''] of path.matchAll(/([Mmhv])([-\d. ]+)/g)) {
    const [first = 0, second = 0] = (text.match(/-?[\d.]+/g) ?? []).map(Number)
    commands[command]?.(first, second)
  }
  return days
}

const renderer = createRenderer()

/** Render the chart and return its SVG. */
function renderSvg(lines: PriceChart): string {
  const { chart } = makeHistory()
  const html = renderer.renderWidget(
    makeBox({ history: makeHistory({ chart: chart && { ...chart, lines } }) }),
  )
  return /<svg.*<\/svg>/s.exec(html)?.[0] ?? ''
}

describe('chart of prices', () => {
  test('steps - equal days are one line, the lowest day is marked', () => {
    expect(draw([30, 30, 10, 20])).toEqual({
      width: 4,
      height: 40,
      path: 'M0 4h2v32h1v-16h1',
      lowPath: 'M2.5 36h.01',
      firstDay: TODAY - 3,
      low: 10,
      high: 30,
    })
  })

  test('gaps - stay empty, and end before today', () => {
    expect(draw([30, null, 10, null, null])?.path).toBe('M0 4h1m1 32h1')
    expect(draw([10, null, 30])?.path).toBe('M0 36h1m1-32h1')
  })

  test('right to left - is the mirror image', () => {
    const chart = draw([30, null, 10, 10], 'rtl')
    expect([chart?.path, chart?.lowPath]).toEqual(['M0 36h2m1-32h1', 'M0.5 36h.01'])
  })

  test('lowest price on several days - the last one is marked', () => {
    expect(draw([10, 20, 10, 20])?.lowPath).toBe('M2.5 36h.01')
  })

  test('constant price - a line in the middle, no day is marked', () => {
    expect(draw([10, 10, 10])).toMatchObject({ path: 'M0 20h3', lowPath: null, low: 10, high: 10 })
  })

  test('older than 120 days, or after today - is not shown', () => {
    const prices = Array.from({ length: 130 }, (_, index) => 100 + index)
    expect(draw(prices)).toMatchObject({ width: CHART_DAYS, low: 110, firstDay: TODAY - 119 })
    expect(toPriceChart(toLows(prices), TODAY - 1, 'ltr')?.high).toBe(228)
  })

  test('fewer than two observed days - no chart', () => {
    expect(draw([])).toBeUndefined()
    expect(draw([10])).toBeUndefined()
    expect(draw([10, ...Array.from({ length: 119 }, () => null)])).toBeUndefined()
  })

  test('any prices - each observed day is drawn once at its price, and no other day', () => {
    const price = fc.option(fc.integer({ min: 1, max: 1_000 }), { freq: 3 })
    fc.assert(
      fc.property(
        fc.array(price, { maxLength: CHART_DAYS }),
        fc.constantFrom('ltr', 'rtl'),
        (prices, dir) => {
          const lows = toLows(prices)
          const chart = toPriceChart(lows, TODAY, dir)
          if (chart === undefined) return lows.length < 2
          const { low, high, firstDay } = chart
          const expected = lows.map((entry): [number, number] => [
            dir === 'rtl' ? TODAY - entry.day : entry.day - firstDay,
            low === high ? 20 : 4 + Math.round(((high - entry.low) / (high - low)) * 32),
          ])
          expect(readPath(chart.path)).toEqual(dir === 'rtl' ? expected.toReversed() : expected)
          return true
        },
      ),
    )
  })
})

describe('size of the chart', () => {
  test.each([
    ['another price each day', (index: number) => (index % 2) * 1_000 + index],
    [
      'gaps on alternate days',
      (index: number) => (index % 2 === 0 ? (index % 4) * 1_000 - index + 500 : null),
    ],
    ['a gap after each two days', (index: number) => (index % 3 === 2 ? null : (index % 2) * 1_000 + index)],
    ['highest and lowest in turn', (index: number) => (index % 2) * 1_000],
  ])('%s on 120 days - the element has at most 1,024 bytes', (_name, toPrice) => {
    const prices = Array.from({ length: CHART_DAYS }, (_, index) => toPrice(index))
    for (const dir of ['ltr', 'rtl'] as const) {
      const lines = draw(prices, dir)
      if (lines === undefined) throw new Error('no chart')
      const svg = renderSvg(lines)
      expect(svg).toContain(`d="${lines.path}"`)
      expect(Buffer.byteLength(svg)).toBeLessThanOrEqual(1_024)
    }
  })

  test('any prices on 120 days - at most 1,024 bytes', () => {
    const price = fc.option(fc.integer({ min: 1, max: 9_000_000 }), { freq: 4 })
    fc.assert(
      fc.property(fc.array(price, { minLength: CHART_DAYS, maxLength: CHART_DAYS }), (prices) => {
        const lines = draw(prices)
        expect(lines === undefined ? 0 : Buffer.byteLength(renderSvg(lines))).toBeLessThanOrEqual(1_024)
      }),
    )
  })

  test('element - has sizes of its own, and no style, script or id', () => {
    const lines = draw([30, 10])
    if (lines === undefined) throw new Error('no chart')
    const svg = renderSvg(lines)
    expect(svg).toContain('viewBox="0 0 2 40" width="4" height="80"')
    expect(svg).not.toMatch(/ (style|id|on\w+)=|<style|<script/)
  })
})
