import { type Channel, MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { type DroppedGtins, type Drops, addDroppedGtins, addDrops } from '../catalog/parse.ts'
import type { WalkPage, WalkPlace } from '../storage/store.ts'
import { createTakenOver } from './lease-lost.ts'
import { createStuck, toUsablePage } from './usable-page.ts'
import { extendLease } from './walk-lease.ts'
import { createStopped, withRetries } from './walk-retries.ts'
import { waitForShare } from './walk-throttle.ts'
import type { WalkDetails } from './walk.ts'

/** Pages in a row without one usable product: beyond, the catalog makes up cursors and the walk would not end. */
const MAX_BARREN_PAGES = 50

/** How far a walk is: the place up to which it is stored, and pages behind it that held nothing to store. */
export type WalkStep = Readonly<{ place: WalkPlace; barrenPages: number; barrenDrops: Drops }>

/** A page with the place behind it. `stored`: what of it goes into the copy; `null` where it has no usable product. */
export type FetchedPage = Readonly<{ stored: WalkPage | null; next: WalkStep }>

/** `droppedGtins`: grows by what the pages of the walk left out. */
export type PagedDetails = WalkDetails & Readonly<{ droppedGtins: DroppedGtins }>

/** Fetches the page at a place, when its turn has come. */
export async function fetchPage(
  details: PagedDetails,
  channel: Channel,
  step: WalkStep & Readonly<{ expectedCount: number; isWhole: boolean }>,
): Promise<FetchedPage> {
  const { place, expectedCount } = step
  await waitForShare(details, channel, { expectedCount, productCount: place.productCount })
  if (details.signal.aborted) throw createStopped()
  const query = { channelId: channel.id, cursor: place.cursor, limit: MAX_PAGE_PRODUCTS }
  const isUnknown = expectedCount === 0 || step.isWhole
  let tries = 0
  const { value, asOfMs } = await withRetries(details, async () => {
    tries += 1
    if (tries > 1 && !(await extendLease(details, channel.id))) throw createTakenOver()
    const known = isUnknown ? '' : await details.store.listKnown(channel.id, place.afterGtin)
    return details.pages.fetch(query, { hasDeals: expectedCount === 0, known })
  })
  const { products, nextCursor, drops } = toUsablePage(value, place)
  addDrops(drops, step.barrenDrops)
  addDroppedGtins(details.droppedGtins, value.droppedGtins)
  // A page without a usable product has no range of its own: the next one covers it.
  if (products.length === 0 && nextCursor !== null)
    return { stored: null, next: toBarrenStep(step, nextCursor, drops) }
  const { walk, afterGtin } = place
  return {
    stored: { walk, afterGtin, products, nextCursor, asOfMs, drops },
    next: {
      place: {
        walk,
        cursor: nextCursor,
        afterGtin: products.at(-1)?.gtin ?? afterGtin,
        productCount: place.productCount + products.length,
        startedAtMs: place.startedAtMs,
        isWalked: nextCursor === null,
      },
      barrenPages: 0,
      barrenDrops: {},
    },
  }
}

function toBarrenStep(step: WalkStep, cursor: string, barrenDrops: Drops): WalkStep {
  const barrenPages = step.barrenPages + 1
  if (barrenPages > MAX_BARREN_PAGES) throw createStuck()
  return { place: { ...step.place, cursor }, barrenPages, barrenDrops }
}
