import { DAY_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { pluralize } from '../lib/plural.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import {
  type ObservedDay,
  type PriceSeries,
  MIN_OBSERVED_DAYS,
  MIN_REFERENCE_DAYS,
  REFERENCE_DAYS,
  addPresentPrice,
  collectPrices,
  computeEarliestNoteDay,
  determineReference,
  findLowest,
  listDayLows,
  toDay,
  toPriceText,
  toSeriesKey,
} from '../offers/price-history.ts'
import { computeDiscountPercent } from '../offers/sale.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { CopyEntry, ObservedDayCounts } from '../storage/store.ts'
import { formatDiscount, formatPrice } from '../widgets/format.ts'

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
  const stored = keptDays === 0 ? [] : await store.findPriceSeries(channelId, gtin)
  const offers = entry?.product?.offers ?? []
  const asOfMs = entry?.asOfMs ?? nowMs
  const present = collectPrices(offers, createPriceCheck(asOfMs, { nowMs, priceMaxAgeSeconds }))
  const merchants = new Map(offers.map(({ merchant }) => [foldCase(merchant), merchant]))
  return {
    keptDays,
    today: toDay(nowMs),
    series: stored
      .filter(({ days }) => days.length > 0)
      .map((series) => {
        const price = present.get(toSeriesKey(series))?.price ?? null
        return {
          ...series,
          days: price === null ? series.days : addPresentPrice(series.days, price, toDay(asOfMs)),
          merchant: merchants.get(series.merchantKey) ?? series.merchantKey,
          price,
        }
      }),
  }
}

/** Describe on how many days a channel was observed: `observed on 118 days (30 imported)`. */
export function describeObservedDays({ all, imported }: ObservedDayCounts): string {
  return `observed on ${pluralize(all, 'day')}${imported === 0 ? '' : ` (${imported} imported)`}`
}

export type ObservedPricesView = ReturnType<typeof toObservedPricesView>

/** Build the view of a product's observed prices. `notes`: one sentence for each currency, or why there is none. */
export function toObservedPricesView(data: ObservedPricesData, shops: ShopBook) {
  const { series } = data
  const currencies = [...new Set(series.map(({ currency }) => currency))].sort()
  const rows = series.map((one) => toRow(one, shops))
  return {
    notes:
      series.length === 0
        ? [describeAbsence(data)]
        : currencies.map((currency) =>
            describeCurrency(
              currency,
              series.filter((one) => one.currency === currency),
              data,
            ),
          ),
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
  if (keptDays === 0)
    return 'Prices are not recorded, because VITRINE_HISTORY_DAYS is 0. Widgets say nothing about former prices.'
  return 'No price of this product has been observed yet. The first walk that finds one records it.'
}

/** Say the lowest observed price of all shops, as a box does, or from when on a box says it. */
function describeCurrency(
  currency: string,
  series: readonly ObservedSeries[],
  data: ObservedPricesData,
): string {
  const dayLows = listDayLows(series)
  const imported = countImportedDays(series)
  const observed = `Prices in ${currency} ${describeObservedDays({ all: dayLows.length, imported })}.`
  const lowest = findLowest(dayLows)
  if (lowest !== undefined)
    return `${observed} The lowest was ${formatObservedPrice(lowest.low, currency)} on ${formatDay(lowest.day)}.`
  return `${observed} ${describeNoteDay(computeEarliestNoteDay(dayLows, data.today), data)}`
}

/** Say from when on a box can show its note. */
export function describeNoteDay(day: number, { keptDays }: Pick<ObservedPricesData, 'keptDays'>): string {
  return keptDays < MIN_OBSERVED_DAYS
    ? `The note of a box needs ${MIN_OBSERVED_DAYS} observed days, and only ${keptDays} are kept (VITRINE_HISTORY_DAYS).`
    : `The note of a box (option history) appears after ${MIN_OBSERVED_DAYS} observed days, on ${formatDay(day)} at the earliest.`
}

/** Count the days on which all observations were imported. */
export function countImportedDays(series: readonly Pick<PriceSeries, 'days'>[]): number {
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
    lowestDay: formatDay(days.findLast((day) => day.low === low)?.day ?? 0),
    highest: format(Math.max(...highs)),
    last: format(last?.last ?? last?.low ?? 0),
    lastDay: formatDay(last?.day ?? 0),
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
        reason: `${found.observedDays} of the ${REFERENCE_DAYS} days before ${formatDay(found.beganDay)} observed, ${MIN_REFERENCE_DAYS} needed`,
        fall: null,
      }
    default:
      return {
        reference: formatObservedPrice(found.price, currency),
        reason: `lowest in the ${REFERENCE_DAYS} days before ${formatDay(found.beganDay)}`,
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

const DAY_FORMAT = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })

/** Format a day, the number of days since 1970-01-01. */
export function formatDay(day: number): string {
  return DAY_FORMAT.format(day * DAY_MS)
}
