import type { Product } from '../../../src/catalog/contract.ts'
import type { SqlStore } from '../../../src/storage/sql-store.ts'
import type { CopyStore, DealQuery, WalkPage, WalkStore } from '../../../src/storage/store.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import type { FakeClock } from '../../helpers/fake-clock.ts'

/** Both sides of one catalog's copy. */
export type Copy = CopyStore & WalkStore

/** A database under test. */
export type Subject = Readonly<{
  name: string
  /** Makes an empty database; the copies that `open` gave are closed with it. */
  start(): Promise<CopyFixture>
}>

/** One empty database. */
export type CopyFixture = Readonly<{
  /** A copy of the named catalog in it. `isShared`: two copies that are open at once see the same data. */
  open(catalog: string): Promise<SqlStore>
  isShared: boolean
  /** Of the copies; a server has its own for leases. */
  clock: FakeClock
  /** Lets time pass for leases and claims: of a server, by moving their ends. */
  passTime(byMs: number): Promise<void>
  dispose(): Promise<void>
}>

/** The channel of the conformance tests. */
export const CHANNEL: string = CHANNEL_ID

/** A question for every deal in EUR, changed by `over`. */
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
    sort: 'discount',
    limit: 61,
    offset: 0,
    ...over,
  }
}

/** Begins a walk at `nowMs` and gives its number. */
export async function begin(copy: Copy, nowMs: number): Promise<number> {
  const { walk } = await copy.beginWalk(CHANNEL, { nowMs, resumableSinceMs: nowMs })
  return walk
}

/** A page of a walk; by default the whole catalog. */
export function makePage(
  walk: number,
  products: readonly Product[],
  over: Partial<WalkPage> & Readonly<{ asOfMs: number }>,
): WalkPage {
  return { walk, afterGtin: '', products, nextCursor: null, drops: {}, ...over }
}

/** Walks the whole catalog in one page. */
export async function walkAll(copy: Copy, products: readonly Product[], asOfMs: number): Promise<void> {
  const walk = await begin(copy, asOfMs)
  await copy.applyPage(CHANNEL, makePage(walk, products, { asOfMs }))
  await copy.completeWalk(CHANNEL, walk, { nowMs: asOfMs, isMalformed: false })
}

/** The title and time of a product as a box reads it; `'absent'` and `'unknown'` where there is none. */
export async function readBox(copy: Copy, gtin: string): Promise<string> {
  const entry = await copy.findProduct(CHANNEL, gtin)
  if (entry === undefined) return 'unknown'
  return `${entry.product === null ? 'absent' : entry.product.title} @${entry.asOfMs}`
}

/** Titles of a grid's cards in order. */
export async function readGrid(copy: Copy, over: Partial<DealQuery> = {}): Promise<string[]> {
  const deals = await copy.findDeals(makeQuery(over))
  return deals.map(({ title }) => title)
}

/** A box and the grid at one moment. */
export async function readView(
  copy: Copy,
  gtin: string,
): Promise<Readonly<{ box: string; grid: readonly string[] }>> {
  return { box: await readBox(copy, gtin), grid: await readGrid(copy) }
}
