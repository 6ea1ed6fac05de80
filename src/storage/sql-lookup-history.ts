import type { Transaction } from 'kysely'
import type { Offer } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import { collectPrices, toDay } from '../offers/price-history.ts'
import type { CopyTables } from './schema.ts'
import {
  type FallFinder,
  createFallFinder,
  deleteHistories,
  findNoReference,
  refreshFalls,
} from './sql-observed-deals.ts'
import {
  type HistoryRules,
  deleteObservedDays,
  readWalkedDays,
  recordObservedDays,
  recordSightings,
} from './sql-price-history.ts'

/**
 * A product that a look-up found, with its offers, empty when no shop sells it. `asOfMs`, `formerMs`: when the catalog returned it,
 * now and before, Unix milliseconds; `formerMs` is 0 without a stored version. `isStored`: whether its content changed.
 */
export type LookedUpProduct = Readonly<{
  gtin: string
  offers: readonly Offer[]
  asOfMs: number
  formerMs: number
  isStored: boolean
}>

/** Record the prices of look-ups. Return the finder of reference prices for the deals of changed products. */
export async function recordLookups(
  transaction: Transaction<CopyTables>,
  copyId: number,
  {
    looked,
    nowMs,
    history,
  }: Readonly<{ looked: readonly LookedUpProduct[]; nowMs: number; history: HistoryRules }>,
): Promise<FallFinder> {
  const { keptDays, priceMaxAgeSeconds } = history
  if (keptDays === 0) {
    // Otherwise the last recorded price would seem to go on when observation is turned on again. Without days, the next walk then
    // records every product.
    await deleteObservedDays(transaction, copyId)
    await deleteHistories(
      transaction,
      copyId,
      looked.map(({ gtin }) => gtin),
    )
    return findNoReference
  }
  const dated = looked.filter(({ asOfMs }) => !isFuture(asOfMs, nowMs))
  const days = [...new Set(dated.map(({ asOfMs }) => toDay(asOfMs)))]
  if (days.length === 0) return findNoReference
  const [fromDay, untilDay] = [Math.min(...days), Math.max(...days)]
  const walked = await readWalkedDays(transaction, copyId, { fromDay, untilDay })
  const sightings = dated.map(({ gtin, offers, asOfMs, formerMs }) => {
    const day = toDay(asOfMs)
    const isDayWalked = walked.has(gtin, day)
    const isPriced = createPriceCheck(asOfMs, { nowMs: asOfMs, priceMaxAgeSeconds })
    const wasSeenBefore = isDayWalked || toDay(formerMs) === day
    return { gtin, prices: collectPrices(offers, isPriced), sighting: { day, wasSeenBefore, isDayWalked } }
  })
  const { histories } = await recordSightings(transaction, copyId, sightings)
  await recordObservedDays(transaction, copyId, { days, isImported: false })
  const period = { fromDay: untilDay - keptDays, untilDay }
  const gtins = dated.flatMap(({ gtin, isStored }, index) =>
    isStored || sightings[index]?.sighting.wasSeenBefore === true ? [] : gtin,
  )
  // A product that was not seen for long has no known fall any longer.
  await refreshFalls(transaction, copyId, { gtins, ...period })
  if (dated.every(({ isStored }) => !isStored)) return findNoReference
  return createFallFinder(histories, await readWalkedDays(transaction, copyId, period), untilDay)
}
