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
import { toPriceChart } from './price-chart.ts'

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
  { firstDay, low, high, ...lines }: NonNullable<ReturnType<typeof toPriceChart>>,
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
