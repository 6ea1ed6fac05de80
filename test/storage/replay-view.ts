import { DAY_MS } from '../../src/clock.ts'
import type { PriceSeries } from '../../src/offers/price-history.ts'
import { toHistoryView } from '../../src/widgets/history.ts'
import { getLocalization } from '../../src/widgets/locales/index.ts'
import { DAY_0 } from './replay-world.ts'

/** A day of the replay and its lowest price in cents. */
export type Point = readonly [day: number, low: number]

/** Return the sentence of a box, and the days and heights that its chart draws. */
export function describeView(series: readonly PriceSeries[], currency: string, today: number): string {
  const data = { series, currency, today: DAY_0 + today }
  const view = toHistoryView(data, { history: 'chart' }, getLocalization('en'))
  if (view === null) return 'nothing'
  const sentence = view.sentence.map(({ text }) => text.replaceAll('\u00A0', ' ')).join('')
  if (view.chart === null) return `${sentence}; no chart`
  const firstDay = today - view.chart.lines.width + 1
  return `${sentence}; ${readPath(view.chart.lines.path, firstDay).join()}`
}

/** Read a path as `day height` for each unit that it draws. */
function readPath(path: string, firstDay: number): string[] {
  const drawn: string[] = []
  let x = 0
  let y = 0
  for (const [, command = '', numbers = ''] of path.matchAll(/([MmhvV])([^MmhvV]*)/g)) {
    const [a = 0, b = 0] = (numbers.match(/-?\d+/g) ?? []).map(Number)
    if (command === 'h') for (let unit = 0; unit < a; unit += 1) drawn.push(`${firstDay + x + unit} ${y}`)
    const ends: Readonly<Record<string, readonly [number, number]>> = {
      M: [a, b],
      m: [x + a, y + b],
      h: [x + a, y],
      v: [x, y + a],
    }
    ;[x, y] = ends[command] ?? [NaN, NaN]
  }
  return drawn
}

/** Say the same from the points: 36 is the height of the lowest price, 4 that of the highest. */
export function describeExpectedView(points: readonly Point[], currency: string, today: number): string {
  if (points.length < 30) return 'nothing'
  const [lowest = [0, 0]] = points.toSorted(([dayA, a], [dayB, b]) => a - b || dayB - dayA)
  const price = new Intl.NumberFormat('en', { style: 'currency', currency }).format(lowest[1] / 100)
  const date = new Intl.DateTimeFormat('en', { month: 'long', day: 'numeric', timeZone: 'UTC' })
  const sentence = points.every(([, low]) => low === lowest[1])
    ? `Lowest price unchanged in ${points.length} observed days: ${price}`
    : `Lowest price in ${points.length} observed days: ${price} on ${date.format((DAY_0 + lowest[0]) * DAY_MS)}`
  const shown = points.filter(([day]) => day > today - 120 && day <= today)
  if (shown.length < 2) return `${sentence}; no chart`
  const lows = shown.map(([, low]) => low)
  const [low, high] = [Math.min(...lows), Math.max(...lows)]
  const toHeight = (one: number): number =>
    low === high ? 20 : 4 + Math.round((32 * (high - one)) / (high - low))
  return `${sentence}; ${shown.map(([day, one]) => `${day} ${toHeight(one)}`).join()}`
}
