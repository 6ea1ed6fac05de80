import type { Offer } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { pluralize } from '../lib/format.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import {
  type ObservedDay,
  type PriceSeries,
  MIN_OBSERVED_DAYS,
  MIN_REFERENCE_DAYS,
  REFERENCE_DAYS,
  addPresentPrices,
  collectPrices,
  computeEarliestNoteDay,
  determineReference,
  findLowest,
  isUnchanged,
  listDayLows,
  toDay,
  toPriceText,
  toSeriesKey,
} from '../offers/price-history.ts'
import { computeDiscountPercent } from '../offers/sale.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { CopyEntry, ObservedDayCounts } from '../storage/store.ts'
import { formatDay, formatDiscount, formatPrice } from '../widgets/format.ts'
import { toChartView, toPriceChart } from '../widgets/history.ts'
import { getLocalization } from '../widgets/locales/index.ts'
import { expandShops, isMerchantSelected, selectOffers } from '../widgets/offer-selection.ts'
import type { BoxOptions } from '../widgets/options.ts'

/** `merchant`: as in the catalog, or case-folded when it no longer sells the product. `price`: the present one, if there is one. */
type ObservedSeries = PriceSeries & Readonly<{ merchant: string; price: number | null }>

/** The observed prices of a product. `today`: as in `offers/price-history.ts`. */
export type ObservedPricesData = Readonly<{
  keptDays: number
  today: number
  series: readonly ObservedSeries[]
}>

/** Read the observed prices of a product, with the present ones of `entry`, without calling the catalog. */
export async function readObservedPrices(
  { store, config, clock }: Context,
  { channelId, gtin, entry }: Readonly<{ channelId: string; gtin: string; entry: CopyEntry | undefined }>,
): Promise<ObservedPricesData> {
  const { keptDays, priceMaxAgeSeconds } = config.history
  const nowMs = clock.nowMs()
  const stored = await store.findPriceSeries(channelId, gtin)
  const offers = entry?.product?.offers ?? []
  const asOfMs = entry?.asOfMs ?? nowMs
  const present = collectPrices(offers, createPriceCheck(asOfMs, { nowMs, priceMaxAgeSeconds }))
  const merchants = new Map(offers.map(({ merchant }) => [foldCase(merchant), merchant]))
  const series = keptDays === 0 ? [] : addPresentPrices(stored, present, toDay(asOfMs))
  return {
    keptDays,
    today: toDay(nowMs),
    series: series.map((one) => ({
      ...one,
      merchant: merchants.get(one.merchantKey) ?? one.merchantKey,
      price: present.get(toSeriesKey(one))?.price ?? null,
    })),
  }
}

/** Describe on how many days a channel was observed: `observed on 118 days (30 imported)`. */
export function describeObservedDays({ all, imported }: ObservedDayCounts): string {
  return `observed on ${pluralize(all, 'day')}${imported === 0 ? '' : ` (${imported} imported)`}`
}

/** Said wherever observed prices are expected. */
export const NOT_RECORDED = 'Prices are not recorded, because VITRINE_HISTORY_DAYS is 0.'

export type ObservedPricesView = ReturnType<typeof toObservedPricesView>

/** Build the view of a product's observed prices. `absence`: why there are none, else `null`. */
export function toObservedPricesView(data: ObservedPricesData, shops: ShopBook) {
  const { series } = data
  const currencies = [...new Set(series.map(({ currency }) => currency))]
  const countShops = (currency: string): number => series.filter((one) => one.currency === currency).length
  const rows = series.map((one) => toRow(one, shops))
  return {
    absence: series.length === 0 ? describeAbsence(data) : null,
    /** The one of most shops first. */
    currencies: currencies
      .toSorted((a, b) => countShops(b) - countShops(a) || a.localeCompare(b, 'en'))
      .map((currency) => toCurrencyView(currency, data)),
    rows: rows
      .map((row) => ({ ...row, isNameShared: rows.some((other) => isSameShop(row, other)) }))
      .sort(
        (a, b) =>
          Number(b.isSold) - Number(a.isSold) ||
          a.shop.localeCompare(b.shop, 'en') ||
          a.currency.localeCompare(b.currency, 'en') ||
          a.merchant.localeCompare(b.merchant, 'en'),
      ),
  }
}

type ObservedRow = ReturnType<typeof toRow>

/** Whether two merchants of the catalog are one shop for readers. */
function isSameShop(a: ObservedRow, b: ObservedRow): boolean {
  return a.shop === b.shop && a.currency === b.currency && a.merchant !== b.merchant
}

function describeAbsence({ keptDays }: ObservedPricesData): string {
  if (keptDays === 0) return `${NOT_RECORDED} Widgets say nothing about them.`
  return 'No price of this product has been observed yet. The first walk that finds one records it.'
}

/** The chart is the one of a box without filters; `null` before two observed days, and while the price is constant. */
function toCurrencyView(currency: string, data: ObservedPricesData) {
  const { today } = data
  const series = data.series.filter((one) => one.currency === currency)
  const localization = getLocalization('en')
  const chart = toPriceChart(listDayLows(series), today, localization.dir)
  return {
    note: `Prices in ${currency} were ${describeNote(series, currency, data)}`,
    chart:
      chart === undefined || chart.low === chart.high
        ? null
        : toChartView(chart, { currency, today }, localization),
  }
}

/** Say the lowest observed price of some shops, as the note of a box does, or from when on a box has its note. */
function describeNote(
  series: readonly ObservedSeries[],
  currency: string,
  { today, keptDays }: Pick<ObservedPricesData, 'today' | 'keptDays'>,
): string {
  const dayLows = listDayLows(series)
  const observed = describeObservedDays({ all: dayLows.length, imported: countImportedDays(series) })
  const lowest = findLowest(dayLows)
  if (lowest !== undefined) {
    const days = isUnchanged(dayLows) ? 'all of them' : formatDate(lowest.day)
    return `${observed}. The lowest was ${formatObservedPrice(lowest.low, currency)} on ${days}.`
  }
  if (keptDays < MIN_OBSERVED_DAYS)
    return `${observed}. A note needs ${MIN_OBSERVED_DAYS} days, and only ${keptDays} are kept (VITRINE_HISTORY_DAYS).`
  const day = formatDate(computeEarliestNoteDay(dayLows, today))
  return `${observed}. With the option history, a box says the lowest price after ${MIN_OBSERVED_DAYS} observed days, on ${day} at the earliest.`
}

type ExplainedBox = Readonly<{
  options: BoxOptions
  shops: ShopBook
  observedPrices: ObservedPricesData | null
}>

/** Explain what the option `history` of a box shows, or from when on: of the shops of its filters, in its currency. */
export function explainHistory(
  offers: readonly Offer[],
  { options: written, shops, observedPrices }: ExplainedBox,
): string {
  const options = expandShops(written, shops)
  if (options.history === 'none' || observedPrices === null) return 'not shown: the option history is not set'
  const option = `history=${options.history}`
  if (observedPrices.keptDays === 0) return `${option} shows nothing. ${NOT_RECORDED}`
  const [shown] = selectOffers(offers, options, { isPriced: () => true, shops })
  if (shown === undefined) return `${option} shows nothing: the box has no offers`
  const { currency } = shown
  const series = observedPrices.series.filter(
    (one) => one.currency === currency && isMerchantSelected(one.merchantKey, options),
  )
  return `${option}, prices in ${currency}: ${describeNote(series, currency, observedPrices)}`
}

/** Count the days on which all observations were imported. */
function countImportedDays(series: readonly Pick<PriceSeries, 'days'>[]): number {
  const days = series.flatMap((one) => one.days)
  const own = new Set(days.filter(({ isImported }) => !isImported).map(({ day }) => day))
  return new Set(days.filter(({ day }) => !own.has(day)).map(({ day }) => day)).size
}

function toRow({ merchant, currency, days, price }: ObservedSeries, shops: ShopBook) {
  const format = (value: number): string => formatObservedPrice(value, currency)
  const lows = days.map(({ low }) => low)
  const low = Math.min(...lows)
  const last = days.at(-1)
  const highs = days.map((day) => Math.max(day.low, day.last ?? 0))
  const imported = days.filter(({ isImported }) => isImported).length
  return {
    shop: shops.toShownName(merchant),
    merchant,
    currency,
    /** Whether the shop has a present price. */
    isSold: price !== null,
    days: String(days.length),
    /** `null`: none. */
    imported: imported === 0 ? null : `${imported} imported`,
    lowest: format(low),
    lowestDay: formatDate(days.findLast((day) => day.low === low)?.day ?? 0),
    highest: format(Math.max(...highs)),
    last: format(last?.last ?? last?.low ?? 0),
    lastDay: formatDate(last?.day ?? 0),
    ...describeReference(days, price, currency),
  }
}

/** `reference`: `null` when there is none; `reason` says why, or the day before which it was the lowest price. */
function describeReference(days: readonly ObservedDay[], price: number | null, currency: string) {
  if (price === null) return { reference: null, reason: 'no present price', fall: null }
  const found = determineReference(days, price)
  switch (found.kind) {
    case 'superseded':
      return { reference: null, reason: 'another price was observed later', fall: null }
    case 'unobserved':
      return {
        reference: null,
        reason:
          found.beganDay === days[0]?.day
            ? `unchanged since the first observed day, ${formatDate(found.beganDay)}`
            : `${found.observedDays} of the ${REFERENCE_DAYS} days before ${formatDate(found.beganDay)} observed, ${MIN_REFERENCE_DAYS} needed`,
        fall: null,
      }
    default:
      return {
        reference: formatObservedPrice(found.price, currency),
        reason: `lowest in the ${REFERENCE_DAYS} days before ${formatDate(found.beganDay)}`,
        fall: describeFall(price, found.price),
      }
  }
}

function describeFall(price: number, reference: number): string {
  if (price > reference) return 'none: the price is higher'
  if (price === reference) return 'none: the price is the same'
  return formatDiscount(computeDiscountPercent(toPriceText(price), toPriceText(reference)), 'en')
}

function formatObservedPrice(price: number, currency: string): string {
  return formatPrice(toPriceText(price), currency, 'en')
}

/** With plain spaces: commands print it too. */
function formatDate(day: number): string {
  return formatDay(day, 'en', 'short-with-year').replaceAll('\u00A0', ' ')
}
