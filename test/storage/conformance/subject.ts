import type { Product } from '../../../src/catalog/contract.ts'
import type { HistoryRules } from '../../../src/storage/price-history.ts'
import type { StoredCopy } from '../../../src/storage/stored-copy.ts'
import type { CopyStore, DealQuery, WalkPage, WalkStore } from '../../../src/storage/store.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import type { FakeClock } from '../../helpers/fake-clock.ts'

/** The reading and the writing interface of one catalog's copy. */
export type Copy = CopyStore & WalkStore

/** A database under test. */
export type Subject = Readonly<{
  name: string
  /** Two copies that are open at once see the same data. */
  isShared: boolean
  /** Create an empty database. Disposing it closes the copies that `open` returned. */
  start(): Promise<CopyFixture>
}>

/** One empty database. */
export type CopyFixture = Readonly<{
  /** Open a copy of the named catalog. By default, it keeps prices of 400 days that are at most a day old when seen. */
  open(catalog: string, history?: HistoryRules): Promise<StoredCopy>
  /** Two copies that are open at once see the same data. */
  isShared: boolean
  /** The clock of the copies. A database server uses its own clock for leases. */
  clock: FakeClock
  /** Simulate elapsed time for leases. On a database server, this moves their expiry times. */
  passTime(byMs: number): Promise<void>
  dispose(): Promise<void>
}>

/** The channel of the conformance tests. */
export const CHANNEL: string = CHANNEL_ID

/** Build a query for every deal in EUR, changed by `over`. */
export function makeQuery(over: Partial<DealQuery> = {}): DealQuery {
  return {
    channelId: CHANNEL,
    currency: 'EUR',
    isInStockOnly: false,
    merchants: [],
    excluded: [],
    minDiscountPercent: 1,
    maxPrice: null,
    brand: null,
    searchText: null,
    evidence: 'shop',
    sort: 'discount',
    limit: 61,
    offset: 0,
    ...over,
  }
}

/** Begin a walk at `nowMs` and return its number. */
export async function begin(copy: Copy, nowMs: number): Promise<number> {
  const { walk } = await copy.beginWalk(CHANNEL, { nowMs, resumableSinceMs: nowMs })
  return walk
}

/** Build a page of a walk; by default, it is the last page. */
export function makePage(
  walk: number,
  products: readonly Product[],
  over: Partial<WalkPage> & Readonly<{ asOfMs: number }>,
): WalkPage {
  return { walk, afterGtin: '', products, nextCursor: null, drops: {}, ...over }
}

/** Walk the whole catalog in one page. */
export async function walkAll(copy: Copy, products: readonly Product[], asOfMs: number): Promise<void> {
  const walk = await begin(copy, asOfMs)
  await copy.applyPage(CHANNEL, makePage(walk, products, { asOfMs }))
  await copy.completeWalk(CHANNEL, walk, { nowMs: asOfMs, isMalformed: false })
}

/** Return the title and time of a product as a box reads it, or `'absent'` or `'unknown'`. */
export async function readBox(copy: Copy, gtin: string): Promise<string> {
  const entry = await copy.findProduct(CHANNEL, gtin)
  if (entry === undefined) return 'unknown'
  return `${entry.product === null ? 'absent' : entry.product.title} @${entry.asOfMs}`
}

/** Return the titles of a grid's cards in order. */
export async function readGrid(copy: Copy, over: Partial<DealQuery> = {}): Promise<string[]> {
  const deals = await copy.findDeals(makeQuery(over))
  return deals.map(({ title }) => title)
}

/** Read a box and the grid. */
export async function readView(
  copy: Copy,
  gtin: string,
): Promise<Readonly<{ box: string; grid: readonly string[] }>> {
  return { box: await readBox(copy, gtin), grid: await readGrid(copy) }
}
