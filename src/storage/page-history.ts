import type { Transaction } from 'kysely'
import type { Offer, Product } from '../catalog/contract.ts'
import { DAY_MS, isFuture } from '../clock.ts'
import { type OfferTimes, createPriceCheck, findPriceEndMs } from '../offers/price-age.ts'
import { MAX_UNOBSERVED_DAYS, collectPrices, toDay } from '../offers/price-history.ts'
import { parseCheckedAt } from './rows.ts'
import { splitRange } from './versions.ts'
import type { CopyTables } from './schema.ts'
import {
  type FallFinder,
  createFallFinder,
  findNoReference,
  readFallenGtins,
  refreshFalls,
} from './observed-deals.ts'
import {
  type GtinRange,
  type HistoryRules,
  readWalkedDays,
  recordSightings,
  recordWalkedRange,
} from './price-history.ts'
import type { WalkPage } from './store.ts'

/** The rest of a page that is not yet applied. */
type PageRange = GtinRange &
  Readonly<{ copyId: number; page: WalkPage; nowMs: number; history: HistoryRules }>

/** What a page recorded. `changedGtins`: products whose history changed. */
export type RecordedPrices = Readonly<{ findReference: FallFinder; changedGtins: ReadonlySet<string> }>

/** Without a history, nothing is recorded. */
export const NO_RECORDED_PRICES: RecordedPrices = { findReference: findNoReference, changedGtins: new Set() }

/** Offers of a product that a page shows, empty when it lacks the product; `null`: nothing to record. */
type SeenProduct = Readonly<{ gtin: string; seenOffers: readonly Offer[] | null }>

/** What a page adds to the history of its products. */
export type PageHistory = Readonly<{
  /** Whether the prices of an unchanged product may have to be recorded: its first ones, and those that became too old or fresh again. */
  hasChanged(offers: Product['offers'], formerCheckedAt: string | null): boolean
  /** Record prices. Return the finder of reference prices for the deals of these products, and those with changes. */
  record(products: readonly SeenProduct[]): Promise<RecordedPrices>
  /** Compute the falls of products again. */
  refreshFalls(gtins: readonly string[]): Promise<void>
  /** Record that the walk has seen all products of the page. */
  recordPage(): Promise<void>
}>

/** Read what is known about the days of a page's products; `undefined` when no history is kept or the time is unknown. */
export async function readPageHistory(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs, history }: PageRange,
): Promise<PageHistory | undefined> {
  const { asOfMs } = page
  if (history.keptDays === 0 || isFuture(asOfMs, nowMs)) return undefined
  const day = toDay(asOfMs)
  const period = { fromDay: day - history.keptDays, untilDay: day }
  const walkedDays = await readWalkedDays(transaction, copyId, period, { afterGtin, untilGtin })
  const lastDay = walkedDays.lastWholeDay
  const refresh = (gtins: readonly string[]): Promise<void> =>
    refreshFalls(transaction, copyId, { gtins, ...period, seenDay: day })
  // Without observation for long, only look-ups can have kept a fall.
  if (lastDay === undefined || day - lastDay - 1 > MAX_UNOBSERVED_DAYS)
    await refresh(await readFallenGtins(transaction, copyId, { afterGtin, untilGtin }))
  const { priceMaxAgeSeconds } = history
  const isPriced = createPriceCheck(asOfMs, { nowMs: asOfMs, priceMaxAgeSeconds })
  return {
    hasChanged(offers, formerCheckedAt) {
      if (lastDay === undefined) return true
      if (formerCheckedAt === null && offers.every(isUndated)) return false
      const toFormerTime = parseCheckedAt(formerCheckedAt)
      return offers.some((offer, index) => {
        const former = { checkedAtMs: toFormerTime?.(index) ?? null, saleEndsAtMs: offer.saleEndsAtMs }
        // The start of the day finds more candidates; recording one without a change writes nothing.
        return isPriced(offer)
          ? !isPriced(former)
          : findPriceEndMs({ offer: former, asOfMs }, priceMaxAgeSeconds) >= lastDay * DAY_MS
      })
    },
    async record(products) {
      const seen = products.flatMap(({ gtin, seenOffers }) =>
        seenOffers === null ? [] : { gtin, seenOffers },
      )
      if (seen.length === 0) return NO_RECORDED_PRICES
      const sightings = seen.map(({ gtin, seenOffers }) => ({
        gtin,
        prices: collectPrices(seenOffers, isPriced),
        sighting: { day, wasSeenBefore: walkedDays.has(gtin, day), isDayWalked: true },
      }))
      const { histories, changedGtins } = await recordSightings(transaction, copyId, sightings)
      return { findReference: createFallFinder(histories, walkedDays, day), changedGtins }
    },
    refreshFalls: refresh,
    async recordPage() {
      // Later walks of the day add nothing.
      if (lastDay === day && afterGtin === page.afterGtin) return
      const wholeRange = { afterGtin: page.afterGtin, untilGtin }
      for (const range of splitRange(wholeRange, page.leftOutGtins ?? []))
        await recordWalkedRange(transaction, copyId, {
          day,
          after_gtin: range.afterGtin,
          until_gtin: range.untilGtin,
        })
    },
  }
}

/** Whether the price of an offer is as old as the page, so that it never becomes too old. */
function isUndated({ checkedAtMs, saleEndsAtMs }: OfferTimes): boolean {
  return checkedAtMs === null && saleEndsAtMs === null
}
