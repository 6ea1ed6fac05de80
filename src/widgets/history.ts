import { DAY_MS } from '../clock.ts'
import {
  type DayLow,
  type PriceSeries,
  findLowest,
  isUnchanged,
  listDayLows,
  toPriceText,
} from '../offers/price-history.ts'
import { formatCount, formatDay, formatPrice } from './format.ts'
import type { Localization, TextPart } from './locales/index.ts'
import type { BoxOptions } from './options.ts'

/** `series`: of the merchants and the currency of the box, with the present prices. `today`: the present day. */
type HistoryData = Readonly<{
  series: readonly PriceSeries[]
  currency: string
  today: number
}>

export type HistoryView = Readonly<{
  /** `Lowest price in 90 observed days: €189.00 on November 3`, in parts. */
  sentence: readonly TextPart[]
  chart: ChartView | null
}>

export type ChartView = ReturnType<typeof toChartView>

/** Build the view of the observed prices of a box; `null` before 30 observed days. */
export function toHistoryView(
  { series, currency, today }: HistoryData,
  { history }: Pick<BoxOptions, 'history'>,
  localization: Localization,
): HistoryView | null {
  const dayLows = listDayLows(series)
  const lowest = findLowest(dayLows)
  if (lowest === undefined) return null
  const { locale, messages } = localization
  const chart = history === 'chart' ? toPriceChart(dayLows, today, localization.dir) : undefined
  const values = {
    days: formatCount(dayLows.length, locale),
    price: formatPrice(toPriceText(lowest.low), currency, locale),
  }
  return {
    sentence: isUnchanged(dayLows)
      ? messages.splitLowestUnchanged(values)
      : messages.splitLowestObserved({ ...values, date: formatPastDay(lowest, today, locale) }),
    chart: chart === undefined ? null : toChartView(chart, { currency, today }, localization),
  }
}

/** The year is said only of another year. */
function formatPastDay({ day }: Pick<DayLow, 'day'>, today: number, locale: string): string {
  return formatDay(day, locale, isSameYear(day, today) ? 'long' : 'long-with-year')
}

function isSameYear(day: number, otherDay: number): boolean {
  const [year, otherYear] = [day, otherDay].map((one) => new Date(one * DAY_MS).getUTCFullYear())
  return year === otherYear
}

/** Build the view of a chart: its lines, its text equivalent, and the labels at its edges. */
export function toChartView(
  { firstDay, low, high, ...lines }: PriceChart,
  { currency, today }: Pick<HistoryData, 'currency' | 'today'>,
  { locale, messages }: Localization,
) {
  const format = (price: number): string => formatPrice(toPriceText(price), currency, locale)
  const style = isSameYear(firstDay, today) ? 'short' : 'short-with-year'
  return {
    lines,
    /** The text equivalent: what is drawn, its period, and its lowest and highest price. */
    label: messages.formatPriceChart({
      from: formatPastDay({ day: firstDay }, today, locale),
      to: formatDay(today, locale, 'long'),
      low: format(low),
      high: format(high),
    }),
    /** Labels at the edges; `low` is `null` when the price was constant. */
    high: format(high),
    low: low === high ? null : format(low),
    from: formatDay(firstDay, locale, style),
    to: formatDay(today, locale, 'short'),
  }
}

/** Days that a chart shows at most, with today. */
export const CHART_DAYS = 120

/** Height of the coordinate system; a day is one unit wide. Small numbers keep the path short. */
const CHART_HEIGHT = 40
/** Space above and below the line, for its width and the mark. */
const MARGIN = 4

/** Coordinates of the view box. */
type Point = Readonly<{ x: number; y: number }>

export type PriceChart = NonNullable<ReturnType<typeof toPriceChart>>

/**
 * Build the chart of the last 120 days, until `today`: a step for each day, and nothing on days without an observation. `dayLows`
 * must be sorted. `undefined` when fewer than two of the days were observed. `dir`: right to left, today is on the left.
 */
export function toPriceChart(dayLows: readonly DayLow[], today: number, dir: 'ltr' | 'rtl') {
  const shown = dayLows.filter(({ day }) => day > today - CHART_DAYS && day <= today)
  const [first] = shown
  if (first === undefined || shown.length < 2) return undefined
  const prices = shown.map((entry) => entry.low)
  const low = Math.min(...prices)
  const high = Math.max(...prices)
  const toPoint = ({ day, low: price }: DayLow): Point => ({
    x: dir === 'rtl' ? today - day : day - first.day,
    y: toY(price, low, high),
  })
  const lowestPrice = Math.min(...dayLows.map((entry) => entry.low))
  const lowest = shown.findLast((entry) => entry.low === lowestPrice)
  const points = shown.map(toPoint)
  return {
    width: today - first.day + 1,
    height: CHART_HEIGHT,
    path: toStepPath(dir === 'rtl' ? points.toReversed() : points),
    /** Marks the last day with the lowest price of all days; `null` when it is not in the chart, or the price was constant. */
    lowPath: low === high || lowest === undefined ? null : toMarkPath(toPoint(lowest)),
    firstDay: first.day,
    /** Prices in ten-thousandths. */
    low,
    high,
  }
}

/** A constant price is a line in the middle. */
function toY(price: number, low: number, high: number): number {
  if (low === high) return CHART_HEIGHT / 2
  return MARGIN + Math.round(((high - price) / (high - low)) * (CHART_HEIGHT - 2 * MARGIN))
}

/** Draw each point as a horizontal line of one unit, connected to the next one unless there is a gap. */
function toStepPath(points: readonly Point[]): string {
  let pen = points[0] ?? { x: 0, y: 0 }
  let path = `M${pen.x} ${pen.y}`
  let length = 0
  for (const { x, y } of points) {
    const gap = x - pen.x - length
    const fall = y - pen.y
    if (gap !== 0 || fall !== 0) {
      path += `h${length}${gap === 0 ? `v${fall}` : `m${gap}${fall < 0 ? '' : ' '}${fall}`}`
      pen = { x, y }
      length = 0
    }
    length += 1
  }
  return `${path}h${length}`
}

/**
 * A line almost without length has round caps: a dot that stays round when the chart is stretched. WebKit stretches that of a line
 * without any length.
 */
function toMarkPath({ x, y }: Point): string {
  return `M${x + 0.5} ${y}h.01`
}
