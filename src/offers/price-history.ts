import { DAY_MS } from '../clock.ts'
import { toScaledPrice } from './money.ts'
import { foldCase } from './text.ts'

/**
 * The rules of observed prices (ADR 0031). A day is a UTC day, as the number of days since 1970-01-01. Prices are integers in
 * ten-thousandths of the currency. The history of a product has one series for each merchant and currency; they are never mixed.
 */

/** Days before the present price began from which its reference price is taken. */
export const REFERENCE_DAYS = 30

/** Days of these that may be unobserved. Longer gaps also end what is known about the present price. */
export const MAX_UNOBSERVED_DAYS = 5

/** Days of these that must be observed. */
export const MIN_REFERENCE_DAYS: number = REFERENCE_DAYS - MAX_UNOBSERVED_DAYS

/** The lowest price is shown once this many days have been observed. */
export const MIN_OBSERVED_DAYS = 30

/** What was seen of a merchant's price on one day. `last`: `null` when the merchant no longer sold the product at the end. */
export type ObservedDay = Readonly<{ day: number; low: number; last: number | null; isImported: boolean }>

/** The observed days of one merchant and currency, by day. `merchantKey`: the case-folded name. */
export type PriceSeries = Readonly<{ merchantKey: string; currency: string; days: readonly ObservedDay[] }>

/**
 * A stored change of a price on `day`: the lowest and the last price of the day, `null` without one. The last price also holds on
 * later walked days, until the next change. `untilDay`: of an imported run of equal days, the last one; `null` when observed here.
 */
export type PriceChange = Readonly<{
  day: number
  untilDay: number | null
  low: number | null
  last: number | null
}>

export function toDay(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

/** Return a key of a series that is unique within a product. */
export function toSeriesKey({ merchantKey, currency }: Omit<PriceSeries, 'days'>): string {
  return `${currency} ${merchantKey}`
}

/** Return the merchant and currency of a series key. */
export function parseSeriesKey(key: string): Omit<PriceSeries, 'days'> {
  const end = key.indexOf(' ')
  return { currency: key.slice(0, end), merchantKey: key.slice(end + 1) }
}

/** Convert a price; `undefined` when it is too large to be exact, above 900 billion. */
export function toObservedPrice(price: string): number | undefined {
  const scaled = Number(toScaledPrice(price))
  return Number.isSafeInteger(scaled) ? scaled : undefined
}

/** Convert back to decimal text without unneeded digits, such as `12.9`. */
export function toPriceText(price: number): string {
  const digits = String(price).padStart(5, '0')
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`.replace(/\.?0+$/, '')
}

type PricedOffer = Readonly<Record<'merchant' | 'currency' | 'price', string>>

/** The present prices of a product by series key. */
export type MerchantPrices = ReadonlyMap<string, Omit<PriceSeries, 'days'> & Readonly<{ price: number }>>

/**
 * Collect the lowest price per merchant and currency, in stock or not: an offer that sells out must not look like a new price.
 * `isPriced`: whether the price of an offer is shown.
 */
export function collectPrices<T extends PricedOffer>(
  offers: readonly T[],
  isPriced: (offer: T) => boolean,
): MerchantPrices {
  const prices = new Map<string, Omit<PriceSeries, 'days'> & { price: number }>()
  for (const { merchant, currency, price: text } of offers.filter(isPriced)) {
    const price = toObservedPrice(text)
    if (price === undefined) continue
    const series = { merchantKey: foldCase(merchant), currency }
    const key = toSeriesKey(series)
    prices.set(key, { ...series, price: Math.min(price, prices.get(key)?.price ?? price) })
  }
  return prices
}

/**
 * When a price was seen. `wasSeenBefore`: whether the product was already seen on that day, at its former price.
 * `isDayWalked`: whether the store knows without a change that it was seen on that day.
 */
export type Sighting = Readonly<{ day: number; wasSeenBefore: boolean; isDayWalked: boolean }>

/**
 * Compute the change to store for a series; `undefined` for none. `latest`: its latest stored change, not after the sighting.
 * `price`: `undefined` when the merchant does not sell the product.
 */
export function computeChange(
  latest: PriceChange | undefined,
  price: number | undefined,
  sighting: Sighting,
): PriceChange | undefined {
  return computeOwnChange(latest?.untilDay === null ? latest : undefined, price ?? null, sighting)
}

/** `own`: the latest change, if it was observed here. */
function computeOwnChange(
  own: PriceChange | undefined,
  last: number | null,
  { day, wasSeenBefore, isDayWalked }: Sighting,
): PriceChange | undefined {
  const former = own?.last ?? null
  if (own?.day === day)
    return last === former ? undefined : { day, untilDay: null, low: findMinimum([last, own.low]), last }
  if (last === former && (last === null || isDayWalked)) return undefined
  return { day, untilDay: null, low: findMinimum([last, wasSeenBefore ? former : null]), last }
}

/** List the observed days of a series. `changes` and `walkedDays`, on which walks saw the product, must be sorted. */
export function listObservedDays(
  changes: readonly PriceChange[],
  walkedDays: readonly number[],
): readonly ObservedDay[] {
  const days: ObservedDay[] = []
  let position = 0
  for (const [index, change] of changes.entries()) {
    const nextDay = changes[index + 1]?.day ?? Infinity
    if (change.untilDay === null) position = addOwnDays(days, change, { walkedDays, position, nextDay })
    else addImportedDays(days, change, Math.min(change.untilDay, nextDay - 1))
  }
  return days
}

/** `position`: of the first walked day that may be after the change. Return that of the next change. */
function addOwnDays(
  days: ObservedDay[],
  { day, low, last }: PriceChange,
  {
    walkedDays,
    position,
    nextDay,
  }: Readonly<{ walkedDays: readonly number[]; position: number; nextDay: number }>,
): number {
  if (low !== null) days.push({ day, low, last, isImported: false })
  let next = position
  for (
    let walkedDay = walkedDays[next];
    walkedDay !== undefined && walkedDay < nextDay;
    walkedDay = walkedDays[++next]
  )
    if (last !== null && walkedDay > day) days.push({ day: walkedDay, low: last, last, isImported: false })
  return next
}

function addImportedDays(days: ObservedDay[], { day, low, last }: PriceChange, untilDay: number): void {
  if (low === null) return
  for (let current = day; current <= untilDay; current += 1)
    days.push({ day: current, low, last, isImported: true })
}

/** Add the present prices of a product, seen on `day`, which can be newer than the stored history. */
export function addPresentPrices(
  series: readonly PriceSeries[],
  present: MerchantPrices,
  day: number,
): readonly PriceSeries[] {
  const unseen = [...present.values()].map(({ merchantKey, currency }) => ({
    merchantKey,
    currency,
    days: [],
  }))
  const byKey = new Map<string, PriceSeries>([...unseen, ...series].map((one) => [toSeriesKey(one), one]))
  return [...byKey].map(([key, one]) => {
    const price = present.get(key)?.price
    return price === undefined ? one : { ...one, days: addPresentPrice(one.days, price, day) }
  })
}

/** The same for one series. */
export function addPresentPrice(
  days: readonly ObservedDay[],
  price: number,
  day: number,
): readonly ObservedDay[] {
  const latest = days.at(-1)
  if (latest !== undefined && latest.day > day) return days
  if (latest?.day !== day) return [...days, { day, low: price, last: price, isImported: false }]
  return [...days.slice(0, -1), { ...latest, low: Math.min(latest.low, price), last: price }]
}

/**
 * The reference price of the present price, which began on `beganDay`, or why there is none. `unobserved`: too few of the 30 days
 * before were observed, only `observedDays`; `superseded`: the last observed price is another one.
 */
export type Reference =
  | Readonly<{ kind: 'known'; beganDay: number; price: number }>
  | Readonly<{ kind: 'unobserved'; beganDay: number; observedDays: number }>
  | Readonly<{ kind: 'superseded' }>

/** Determine the reference price: the lowest price of the 30 days before the present price began (Directive 98/6/EC, Article 6a). */
export function determineReference(days: readonly ObservedDay[], price: number): Reference {
  const began = findBeginning(days, price)
  if (began === undefined) return { kind: 'superseded' }
  const firstDay = began.day - REFERENCE_DAYS
  const before = days.filter(({ day }) => day >= firstDay && day < began.day)
  // The day on which the price began may have had a lower one before.
  const lows = [...before, ...(began.low < price ? [began] : [])].map(({ low }) => low)
  return before.length < MIN_REFERENCE_DAYS
    ? { kind: 'unobserved', beganDay: began.day, observedDays: before.length }
    : { kind: 'known', beganDay: began.day, price: Math.min(...lows) }
}

/** Find the reference price of the present price; `null` when there is none. */
export function findReferencePrice(days: readonly ObservedDay[], price: number): number | null {
  const reference = determineReference(days, price)
  return reference.kind === 'known' ? reference.price : null
}

/** Find the day on which the present price began: the first of the last days with no other last price, lower price or long gap. */
function findBeginning(days: readonly ObservedDay[], price: number): ObservedDay | undefined {
  let began = days.at(-1)
  if (began?.last !== price) return undefined
  for (const day of days.slice(0, -1).toReversed()) {
    const isGap = began.day - day.day - 1 > MAX_UNOBSERVED_DAYS
    // A merchant that was away for a while and returned with the same price has not changed it.
    if (began.low !== price || (day.last ?? day.low) !== price || isGap) break
    began = day
  }
  return began
}

/** Find the reference price if the present price is below it: only then has the price fallen. */
export function findFall(days: readonly ObservedDay[], price: number): number | null {
  const reference = findReferencePrice(days, price)
  return reference !== null && price < reference ? reference : null
}

/** The lowest price of each day on which any of the series was observed, by day. */
export type DayLow = Readonly<{ day: number; low: number }>

export function listDayLows(series: readonly Pick<PriceSeries, 'days'>[]): readonly DayLow[] {
  const lows = new Map<number, number>()
  for (const { day, low } of series.flatMap(({ days }) => days))
    lows.set(day, Math.min(low, lows.get(day) ?? low))
  return [...lows].map(([day, low]) => ({ day, low })).sort((a, b) => a.day - b.day)
}

/** Find the lowest price and the last day that had it; `undefined` before 30 observed days. */
export function findLowest(dayLows: readonly DayLow[]): DayLow | undefined {
  if (dayLows.length < MIN_OBSERVED_DAYS) return undefined
  const low = findMinimum(dayLows.map((entry) => entry.low))
  return dayLows.findLast((entry) => entry.low === low)
}

/** Whether the lowest price was the same on all days. With its last day, it would look like a new record. */
export function isUnchanged(dayLows: readonly DayLow[]): boolean {
  return dayLows.every(({ low }) => low === dayLows[0]?.low)
}

/** Compute the first day on which the lowest price may be shown, if each day until then is observed. */
export function computeEarliestNoteDay(dayLows: readonly DayLow[], today: number): number {
  const missingDays = MIN_OBSERVED_DAYS - dayLows.length
  const isTodayMissing = dayLows.at(-1)?.day !== today
  return today + Math.max(0, missingDays - Number(isTodayMissing))
}

function findMinimum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : Math.min(...known)
}
