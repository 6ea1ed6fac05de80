import { hash } from 'node:crypto'
import { toObservedPrice } from '../../offers/price-history.ts'
import { type PriceRun, subtractRuns } from '../../offers/price-runs.ts'
import { pickOnePerMerchant } from '../../offers/ranking.ts'
import { foldCase } from '../../offers/text.ts'
import { type SampleChannel, type SampleOffer, getSampleData, includesName } from './sample-data.ts'

/** Days of invented prices before today. */
const SAMPLE_DAYS = 120

/** The first and the last day of a period, in days before today. */
type DaysAgo = readonly [first: number, last: number]

/** No shop was observed. */
const OUTAGE: DaysAgo = [58, 55]

/** A shop sold nothing for two weeks. */
const ABSENCE: DaysAgo = [92, 79]
const ABSENT_SHOP = 'Hearthline'

/** A price in ten-thousandths, and how many days ago it began to apply. */
type Step = readonly [daysAgo: number, price: number]

type SampleRun = PriceRun & Readonly<{ gtin: string; merchantKey: string; currency: string }>

/** Invent the prices that a channel's products had on the days before `today`. They depend on nothing but the sample. */
export function createSampleHistory({ networks, shops }: SampleChannel, today: number): readonly SampleRun[] {
  return getSampleData().products.flatMap(({ gtin, offers }) => {
    const sold = offers
      .filter(({ network, shop }) => includesName(networks, network) && includesName(shops, shop))
      .map(toRankableOffer)
    return pickOnePerMerchant(sold).flatMap((offer) => {
      const key = { gtin, merchantKey: foldCase(offer.shop), currency: offer.currency }
      return listRuns(offer, findSteps(gtin, offer), today).map((run) => ({ ...key, ...run }))
    })
  })
}

function toRankableOffer(offer: SampleOffer) {
  const { shop: merchant, oldPrice = null, availability = 'in_stock' } = offer
  return { ...offer, merchant, oldPrice, availability, affiliateUrl: '' }
}

type PricedOffer = ReturnType<typeof toRankableOffer>

function listRuns({ shop }: PricedOffer, steps: readonly Step[], today: number): readonly PriceRun[] {
  const isAbsent = shop === ABSENT_SHOP
  const gaps = [...(isAbsent ? [ABSENCE] : []), OUTAGE].map((period) => toRun(period, 0, today))
  const runs = steps.flatMap(([firstDaysAgo, price], index) => {
    const lastDaysAgo = (steps[index + 1]?.[0] ?? 0) + 1
    return subtractRuns(toRun([firstDaysAgo, lastDaysAgo], price, today), gaps)
  })
  return isAbsent ? runs.flatMap((run) => splitLastDay(run, today - ABSENCE[0] - 1)) : runs
}

/** Build a run; it is empty when the period is. */
function toRun([firstDaysAgo, lastDaysAgo]: DaysAgo, price: number, today: number): PriceRun {
  return {
    day: today - firstDaysAgo,
    untilDay: today - lastDaysAgo,
    low: price,
    last: price,
    isImported: true,
  }
}

/** On the last day before its absence, the shop stopped selling. */
function splitLastDay(run: PriceRun, leavingDay: number): readonly PriceRun[] {
  if (run.untilDay !== leavingDay) return [run]
  const leaving = { ...run, day: leavingDay, last: null }
  return run.day === leavingDay ? [leaving] : [{ ...run, untilDay: leavingDay - 1 }, leaving]
}

/** The first box of the studio: a lowest price some weeks ago, and a former price that it contradicts. */
const SHOWCASE_GTIN = '09520001001024'
const SHOWCASE_STEPS: Readonly<Record<string, readonly Step[]>> = {
  'Novabrück EUR': toSteps([120, '219.00'], [62, '209.00'], [6, '199.00']),
  'Velofjell EUR': toSteps([120, '249.00'], [76, '239.00'], [34, '179.90'], [28, '249.00'], [3, '211.65']),
  'Tindra Home EUR': toSteps([120, '249.00'], [9, '224.10']),
  'Maison Verlay EUR': toSteps([120, '249.00'], [2, '189.00']),
}

function findSteps(gtin: string, offer: PricedOffer): readonly Step[] {
  const { shop, currency, price: priceText, oldPrice: oldText } = offer
  const showcase = gtin === SHOWCASE_GTIN ? SHOWCASE_STEPS[`${shop} ${currency}`] : undefined
  if (showcase !== undefined) return showcase
  const price = toPrice(priceText)
  const seed = computeSeed(`${gtin} ${shop} ${currency}`)
  return oldText === null ? inventSteady(price, seed) : inventReduction(price, toPrice(oldText), seed)
}

/** Invent prices of an offer without a former price. */
function inventSteady(price: number, seed: number): readonly Step[] {
  const start: Step = [SAMPLE_DAYS, price]
  const variants: readonly (readonly Step[])[] = [
    [start],
    [start],
    // A rise, a promotion of a week, one of a day, and a slow fall.
    [
      [SAMPLE_DAYS, toLevel(price, 0.93)],
      [50 + (seed % 40), price],
    ],
    [start, [75 + (seed % 20), toLevel(price, 0.9)], [68, price]],
    [start, [33, toLevel(price, 0.85)], [32, price]],
    [
      [SAMPLE_DAYS, toLevel(price, 1.12)],
      [64, toLevel(price, 1.06)],
      [20, price],
    ],
  ]
  return pickVariant(variants, seed)
}

/** Invent prices of an offer with a former price: not every one is confirmed. */
function inventReduction(price: number, oldPrice: number, seed: number): readonly Step[] {
  const began = Math.floor(seed / 8) % 13
  const before: Step = [SAMPLE_DAYS, oldPrice]
  const now: Step = [began, price]
  const variants: readonly (readonly Step[])[] = [
    // The former price applied until the reduction.
    [before, now],
    [before, now],
    [before, now],
    // The price fell by more and by less than the shop says.
    [before, [70, toLevel(oldPrice, 1.1)], now],
    [before, [60, Math.max(toLevel((price + oldPrice) / 2, 1), price)], now],
    // The shop raised its price for a week before the reduction.
    [before, [48, toLevel(price, 0.9)], [began + 8, oldPrice], now],
    // The former price was never seen.
    [[SAMPLE_DAYS, price]],
    [[SAMPLE_DAYS, price]],
  ]
  return pickVariant(variants, seed)
}

function pickVariant(variants: readonly (readonly Step[])[], seed: number): readonly Step[] {
  return variants[seed % variants.length] ?? []
}

function toSteps(...steps: readonly (readonly [number, string])[]): readonly Step[] {
  return steps.map(([daysAgo, price]) => [daysAgo, toPrice(price)])
}

function toPrice(text: string): number {
  const price = toObservedPrice(text)
  if (price === undefined) throw new TypeError(`the sample has the price ${text}`)
  return price
}

/** Prices below 20 change by ten cents, others by whole units, so that they keep their last digits. */
const SMALL_PRICE = 200_000
const SMALL_UNIT = 1_000
const UNIT = 10_000

function toLevel(price: number, factor: number): number {
  const unit = price < SMALL_PRICE ? SMALL_UNIT : UNIT
  return Math.floor((price * factor) / unit) * unit + (Math.round(price) % unit)
}

const SEED_DIGITS = 8

function computeSeed(key: string): number {
  return Number.parseInt(hash('sha256', key).slice(0, SEED_DIGITS), 16)
}
