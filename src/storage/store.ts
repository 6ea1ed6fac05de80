import type { Channel, Offer, Product } from '../catalog/contract.ts'
import type { DealSort } from '../offers/deals.ts'
import type { DropCounts } from '../catalog/parse.ts'
import type { QuotaStore } from '../catalog/quota.ts'

/** What the copy knows of a product: its data, or that no shop sells it, with the time at which the catalog said so. */
export type CopyEntry = Readonly<{ product: Product | null; asOfMs: number }>

/**
 * The list of channels as last believed, and those that were once listed. `heldSinceMs`: since when the catalog lists no channels,
 * Unix milliseconds, which is not believed yet; `null`: the list is what the catalog said last.
 */
export type ChannelList = Readonly<{
  asOfMs: number
  heldSinceMs: number | null
  channels: readonly Channel[]
  gone: readonly Readonly<{ channel: Channel; goneAtMs: number }>[]
}>

/** Why a walk is held: far fewer products than the copy has, or most offers malformed. */
export const HOLD_REASONS = ['few_products', 'malformed_offers'] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

/**
 * A walk that was held: the copy before it stays current. `sinceMs`: when the first of the walks that agree began, `startedAtMs`:
 * when the last one did, Unix milliseconds; `productCount`: what that one found.
 */
export type HeldWalk = Readonly<{
  reason: HoldReason
  sinceMs: number
  startedAtMs: number
  productCount: number
}>

/** The walk that readers see, or the one under way. All times in Unix milliseconds. */
export type CopyState = Readonly<{
  /** 0 before the first complete walk. */
  currentWalk: number
  completedAtMs: number | null
  completedStartedAtMs: number | null
  productCount: number
  /** Products with at least one offer on sale. */
  dealCount: number
  drops: DropCounts
  /** Were most of its offers malformed? */
  isMalformed: boolean
  /** The last walk, where it was held. */
  held: HeldWalk | null
  isRunning: boolean
  /** Code of the error that broke the last walk; `null` when it did not break. */
  failure: string | null
  failedAtMs: number | null
}>

/** Which deals of a channel; texts are as the reader typed them. */
export type DealQuery = Readonly<{
  channelId: string
  currency: string
  isInStockOnly: boolean
  merchants: readonly string[]
  excluded: readonly string[]
  minDiscountPercent: number
  maxPrice: string | null
  brand: string | null
  searchText: string | null
  sort: DealSort
  limit: number
  offset: number
}>

/** Cards before a page that is still read quickly: by discount from the index alone, else from a row for each offer. */
const MAX_SHORT_OFFSETS = { discount: 1_000, other: 200 } as const

/** Is the page read from the start of an index? Any other may go through all deals of a channel. */
export function isShortRead(query: Omit<DealQuery, 'channelId' | 'currency'>): boolean {
  const { merchants, excluded, brand, searchText, maxPrice, minDiscountPercent, sort, offset } = query
  const hasFilter =
    merchants.length > 0 || excluded.length > 0 || brand !== null || searchText !== null || maxPrice !== null
  if (hasFilter) return false
  return sort === 'discount'
    ? offset <= MAX_SHORT_OFFSETS.discount
    : minDiscountPercent === 1 && offset <= MAX_SHORT_OFFSETS.other
}

/** What a card of a grid shows: a product, without its other offers, and the offer that makes it a deal. */
export type DealEntry = Readonly<{
  gtin: string
  title: string
  brand: string | null
  imageUrl: string | null
  offer: Offer
  asOfMs: number
}>

/** A brand or a merchant, and how many products have a deal of it. */
export type DealFacet = Readonly<{ name: string; count: number }>

/** The steps of discount that are counted, in per cent. */
export const DISCOUNT_STEPS_PERCENT = [5, 10, 20, 30, 40, 50, 60, 70] as const

/** How many products a grid has, and would have with another choice of one filter. A product counts once, as it has one card. */
export type DealCounts = Readonly<{
  /** Products with a deal that passes every filter. */
  total: number
  /** There are more deals than are counted at once: every number is "at least". */
  isBounded: boolean
  /** With every filter but `brand`: most products first, then by name without case; names as the catalog writes them. */
  brands: readonly DealFacet[]
  /** With every filter but `merchants` and `excluded`, in the same order. */
  merchants: readonly DealFacet[]
  /** With every filter but the discount: products with at least so many per cent, for each of `DISCOUNT_STEPS_PERCENT`. */
  discounts: readonly Readonly<{ minPercent: number; count: number }>[]
}>

/** One page of a walk, as it is put into the copy. */
export type WalkPage = Readonly<{
  walk: number
  /** The last GTIN of the page before; empty for the first page. */
  afterGtin: string
  /** In the order of their GTINs. */
  products: readonly Product[]
  nextCursor: string | null
  asOfMs: number
  drops: DropCounts
}>

/** Where a walk goes on: the first page has neither cursor nor GTIN. */
export type WalkPosition = Readonly<{
  walk: number
  cursor: string | null
  afterGtin: string
  /** Products of the pages that are already in the copy. */
  productCount: number
  /** When the walk began, Unix milliseconds; before it broke off, where it goes on. */
  startedAtMs: number
  /** Every page is in the copy; only the end was missed. */
  hasAllPages: boolean
}>

/** A walk whose end is not known; `isOver`: its lease has ended, so that another process may take it over. */
export type UnfinishedWalk = Readonly<{ channelId: string; owner: string; isLeaseExpired: boolean }>

/** What the catalog said of one product; `product: null` in the entry: no shop sells it. */
export type Lookup = Readonly<{ channelId: string; gtin: string; entry: CopyEntry }>

type ProductKey = Pick<Lookup, 'channelId' | 'gtin'>

/** Who holds something, and for how long from now. */
type Lease = Readonly<{ owner: string; forMs: number }>

/** The stored copy of one catalog. Every method may throw a `StoreError`; the caller treats it as a miss. */
export type CopyStore = QuotaStore &
  Readonly<{
    /** `undefined`: the copy knows nothing of it. */
    findProduct(channelId: string, gtin: string): Promise<CopyEntry | undefined>
    /** Write what look-ups found, all of it or nothing. Newer data stays. */
    putLookups(lookups: readonly Lookup[]): Promise<void>
    /** Let this owner alone ask the catalog for a product, for `forMs` at most; `false`: another one does. */
    acquireLookupLease(product: ProductKey, lease: Lease): Promise<boolean>
    releaseLookupLease(product: ProductKey, lease: Pick<Lease, 'owner'>): Promise<void>
    findChannelList(): Promise<ChannelList | undefined>
    putChannelList(channels: readonly Channel[], asOfMs: number): Promise<void>
    /** Note that the catalog listed no channels at `asOfMs`, and keep the list. The first such time stays. */
    recordEmptyChannelList(asOfMs: number): Promise<void>
    getCopyState(channelId: string): Promise<CopyState>
    /** Find the cards of a page of a grid. @throws UnavailableError when it takes longer than `withinMs` */
    findDeals(query: DealQuery, withinMs?: number): Promise<readonly DealEntry[]>
    /**
     * Count what `findDeals` would find, whatever its sort and page. Only the 20,000 deals with the highest discount are
     * counted, and only 30 brands and 30 merchants named.
     */
    countDeals(query: DealQuery): Promise<DealCounts>
    /** Find the currency that most of the deals have; `undefined` without deals. */
    findDealCurrency(channelId: string): Promise<string | undefined>
    /** Find products whose title or brand has every word, or whose GTIN begins with the digits. */
    searchProducts(channelId: string, text: string, limit: number): Promise<readonly CopyEntry[]>
    /** Find walks under way, also of other processes, and those whose process has died. */
    findUnfinishedWalks(): Promise<readonly UnfinishedWalk[]>
    /** Find channels whose copy is, by its own account, of the future: a clock was wrong, and a walk is due at once. */
    findFutureCopies(): Promise<readonly string[]>
    /** Read the clock of the database, Unix milliseconds; `null` for a file, which has none. */
    readDatabaseTime(): Promise<number | null>
    /** Throws when the database cannot be read. */
    ping(): Promise<void>
    /** Throws when a server only reads, as a standby does. A file is not tried. */
    checkWritable(): Promise<void>
    close(): Promise<void>
  }>

/** What walks alone do with the copy. */
export type WalkStore = Readonly<{
  /** Take or extend the lease; `false` while another owner holds it. */
  acquireWalkLease(channelId: string, lease: Lease): Promise<boolean>
  releaseWalkLease(channelId: string, owner: string): Promise<void>
  /** Find who holds the lease, or held it last without giving it back; `null`: nobody. */
  findWalkLeaseOwner(channelId: string): Promise<string | null>
  /** Return the place to go on at: where a broken walk stopped at or after `resumableSinceMs`, else the first page. */
  beginWalk(
    channelId: string,
    times: Readonly<{ nowMs: number; resumableSinceMs: number }>,
  ): Promise<WalkPosition>
  /** Put a page into the copy; what is newer there stays. */
  applyPage(channelId: string, page: WalkPage): Promise<void>
  /** Were most offers or products of a walk malformed? Its pages are all in the copy; where some were, it reads every product. */
  isWalkMalformed(channelId: string, walk: number): Promise<boolean>
  /** Note what a walk found that is not believed: the copy before it stays current, and the next walk begins anew. */
  holdWalk(channelId: string, walk: number, held: HeldWalk): Promise<void>
  /** Make the walk the one that readers see, then remove what ended with it. */
  completeWalk(
    channelId: string,
    walk: number,
    end: Readonly<{ nowMs: number; isMalformed: boolean }>,
  ): Promise<void>
  failWalk(channelId: string, code: string, nowMs: number): Promise<void>
}>
