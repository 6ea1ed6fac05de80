import type { Channel, Offer, Product, ProductProblem } from '../catalog/contract.ts'
import type { DealSort, Evidence } from '../offers/deals.ts'
import type { DropCounts, MalformedEntries } from '../catalog/parse.ts'
import type { QuotaStore } from '../catalog/quota.ts'
import type { Lease } from '../database/leases.ts'
import type { PriceSeries } from '../offers/price-history.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import type { CountStore } from './counts.ts'
import type { EventStore } from './events.ts'

/** The data of a product, or `null` when no shop sells it, with the time of the catalog response. */
export type CopyEntry = Readonly<{ product: Product | null; asOfMs: number }>

/**
 * The accepted list of channels, and channels that were listed before. `heldSinceMs`: since when the catalog returns an empty
 * list, which is held, Unix milliseconds; `null` when the last list was accepted.
 */
export type ChannelList = Readonly<{
  asOfMs: number
  heldSinceMs: number | null
  channels: readonly Channel[]
  gone: readonly Readonly<{ channel: Channel; goneAtMs: number }>[]
}>

/** Days with an observation, all and those that were imported from another server. */
export type ObservedDayCounts = Readonly<{ all: number; imported: number }>

/** Why a walk is held: far fewer products than the copy has, or most offers malformed. */
export const HOLD_REASONS = ['few_products', 'malformed_offers'] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

/**
 * A held walk: the copy before it stays current. `sinceMs` and `startedAtMs`: start of the first and of the last walk with this
 * result, Unix milliseconds. `productCount`: products of the last one.
 */
export type HeldWalk = Readonly<{
  reason: HoldReason
  sinceMs: number
  startedAtMs: number
  productCount: number
}>

/** The current walk and the running one. All times are Unix milliseconds. */
export type CopyState = Readonly<{
  /** 0 before the first complete walk. */
  currentWalk: number
  completedAtMs: number | null
  completedStartedAtMs: number | null
  productCount: number
  /** Whether any complete walk found products. */
  hadProducts: boolean
  /** Whether any product is stored, also of the running walk or of a look-up. */
  hasProducts: boolean
  /** Products with at least one offer on sale. */
  dealCount: number
  drops: DropCounts
  /** Whether most offers of the current walk were malformed. */
  isMalformed: boolean
  /** The last walk if it was held. */
  held: HeldWalk | null
  isRunning: boolean
  /** Error code of the last walk; `null` when it did not fail. */
  failure: string | null
  failedAtMs: number | null
  /** Why the last walk failed, without the text of a response; `null` when it did not. */
  failureReason: string | null
  /** The failed call that the running walk retries; `null`: none. */
  retry: WalkFailure | null
}>

/** The error code, and the reason in words. */
export type WalkFailure = Readonly<{ code: string; reason: string }>

/** Texts are as the reader typed them. */
export type DealQuery = Readonly<{
  channelId: string
  currency: string
  isInStockOnly: boolean
  merchants: readonly string[]
  excluded: readonly string[]
  /** Case-folded networks; absent or `null`: all. */
  networks?: readonly string[] | null
  minDiscountPercent: number
  maxPrice: string | null
  brand: string | null
  searchText: string | null
  /** With `observed`, deals have the reference price as old price. */
  evidence: Evidence
  sort: DealSort
  limit: number
  offset: number
}>

/** Largest offsets of short reads. Sorting by discount reads only the index; other orders read a row per offer. */
const MAX_SHORT_OFFSETS = { discount: 1_000, other: 200 } as const

/** Return the order that has an index. The old price of an observed deal is its reference price, so its fall is its discount. */
export function toIndexedSort({ sort, evidence }: Pick<DealQuery, 'sort' | 'evidence'>): DealQuery['sort'] {
  return sort === 'drop' && evidence === 'observed' ? 'discount' : sort
}

/** `true` when the page is near the start of an index. Any other page can scan all deals of a channel. */
export function isShortRead(query: Omit<DealQuery, 'channelId' | 'currency'>): boolean {
  const { merchants, excluded, networks = null, brand, searchText, maxPrice } = query
  const { minDiscountPercent, offset } = query
  const texts = [networks, brand, searchText, maxPrice]
  const hasFilter = merchants.length > 0 || excluded.length > 0 || texts.some((text) => text !== null)
  if (hasFilter) return false
  return toIndexedSort(query) === 'discount'
    ? offset <= MAX_SHORT_OFFSETS.discount
    : minDiscountPercent === 1 && offset <= MAX_SHORT_OFFSETS.other
}

/** A card of a grid: a product with the offer that makes it a deal. */
export type DealEntry = Readonly<{
  gtin: string
  title: string
  brand: string | null
  imageUrl: string | null
  offer: Offer
  /** Whether our own observation confirms that the price has fallen. */
  hasFall: boolean
  /** When this server first saw the deal, Unix milliseconds. */
  firstSeenMs: number
  asOfMs: number
}>

/** A brand or merchant, and its number of products with a deal. */
export type DealFacet = Readonly<{ name: string; count: number }>

export const DISCOUNT_STEPS_PERCENT = [5, 10, 20, 30, 40, 50, 60, 70] as const

/** The products of a grid, and of the grid with another value of one filter. A product counts once. */
export type DealCounts = Readonly<{
  /** Products with a deal that passes every filter. */
  total: number
  /** `true` when there were too many deals to count: every number is a lower bound. */
  isBounded: boolean
  /** With every filter except `brand`: most products first, then by case-folded name. Names are as in the catalog. */
  brands: readonly DealFacet[]
  /** With every filter except `merchants` and `excluded`, in the same order. */
  merchants: readonly DealFacet[]
  /** With every filter except the discount: products with at least `minPercent`, for each of `DISCOUNT_STEPS_PERCENT`. */
  discounts: readonly Readonly<{ minPercent: number; count: number }>[]
}>

export type WalkPage = Readonly<{
  walk: number
  /** The last GTIN of the previous page; empty for the first page. */
  afterGtin: string
  /** Sorted by GTIN. */
  products: readonly Product[]
  nextCursor: string | null
  asOfMs: number
  drops: DropCounts
  /** Products that the page lacks because they are too large, sorted; absent: none. Their stored data stay and age. */
  leftOutGtins?: readonly string[]
  /** Products that the page lacks because their entries are malformed; absent: none. */
  malformed?: MalformedEntries
}>

/** Where a walk continues. For the first page, `cursor` is `null` and `afterGtin` empty. */
export type WalkPosition = Readonly<{
  walk: number
  cursor: string | null
  afterGtin: string
  /** Products of the pages that are already stored. */
  productCount: number
  /** When the walk began, before any interruption, Unix milliseconds. */
  startedAtMs: number
  /** Every page is stored; only completing the walk is missing. */
  hasAllPages: boolean
}>

/** A walk without a result. `isLeaseExpired`: another process may take it over. */
export type UnfinishedWalk = Readonly<{ channelId: string; owner: string; isLeaseExpired: boolean }>

export type Lookup = Readonly<{ channelId: string; gtin: string; entry: CopyEntry }>

type ProductKey = Pick<Lookup, 'channelId' | 'gtin'>

/** The stored copy of one catalog. Every method may throw a `StoreError`; the caller treats it as a miss. */
export type CopyStore = QuotaStore &
  CountStore &
  EventStore &
  Readonly<{
    /** `undefined` when the copy has no information about the product. */
    findProduct(channelId: string, gtin: string): Promise<CopyEntry | undefined>
    /** Find several products, by GTIN, without those that no shop sells. */
    findProducts(channelId: string, gtins: readonly string[]): Promise<ReadonlyMap<string, CopyEntry>>
    /** Find the address of a picture by its name (`offers/pictures.ts`); `undefined` when no visible product has it. */
    findPicture(hash: string): Promise<string | undefined>
    /** Write the results of look-ups atomically. Newer stored data is not overwritten. */
    putLookups(lookups: readonly Lookup[]): Promise<void>
    /** Reserve the catalog call for a product for at most `forMs`; `false` when another owner has the lease. */
    acquireLookupLease(product: ProductKey, lease: Lease): Promise<boolean>
    releaseLookupLease(product: ProductKey, lease: Pick<Lease, 'owner'>): Promise<void>
    findChannelList(): Promise<ChannelList | undefined>
    putChannelList(channels: readonly Channel[], asOfMs: number): Promise<void>
    /** Record that the catalog listed no channels at `asOfMs`, and keep the list. A repeated call keeps the first time. */
    recordEmptyChannelList(asOfMs: number): Promise<void>
    getCopyState(channelId: string): Promise<CopyState>
    /** Find what the entry of a product lacked in the walk that readers see; `undefined` when it was not malformed. */
    findMalformedEntry(channelId: string, gtin: string): Promise<ProductProblem | undefined>
    /** Find a page of a grid. @throws UnavailableError when it, or on PostgreSQL one of its statements, takes longer than `timeoutMs` */
    findDeals(query: DealQuery, timeoutMs?: number): Promise<readonly DealEntry[]>
    /**
     * Count the deals of a grid: the 20,000 with the highest discount, with at most 30 brands and 30 merchants.
     * `shopKeys` maps case-folded names of merchants: those with the same key are counted as one.
     */
    countDeals(query: DealQuery, shopKeys: ReadonlyMap<string, string>): Promise<DealCounts>
    /** Find the currency of most deals; `undefined` without deals. */
    findDealCurrency(channelId: string): Promise<string | undefined>
    /** Read the observed prices of a product, within the kept days until today. */
    findPriceSeries(channelId: string, gtin: string): Promise<readonly PriceSeries[]>
    /** Count the days on which any product of the channel was observed, and those of them that were only imported; `null` without a history. */
    countObservedDays(channelId: string): Promise<ObservedDayCounts | null>
    /** Find products whose title or brand has every word, or whose GTIN begins with the digits. */
    searchProducts(channelId: string, text: string, limit: number): Promise<readonly CopyEntry[]>
    /** Find running walks of all processes, and walks whose process has crashed. */
    findUnfinishedWalks(): Promise<readonly UnfinishedWalk[]>
    /** Find channels whose copy has a time in the future, from a wrong clock: they need a walk immediately. */
    findFutureCopies(): Promise<readonly string[]>
    /** Read the database server's clock, Unix milliseconds; `null` for a file. */
    readDatabaseTime(): Promise<number | null>
    /** @throws StoreError when the database cannot be read. */
    ping(): Promise<void>
    /** @throws StoreError when a server is read-only. A file is not checked. */
    checkWritable(): Promise<void>
    close(): Promise<void>
  }>

export type WalkStore = Readonly<{
  /** Acquire or extend the lease; `false` while another owner has it. */
  acquireWalkLease(channelId: string, lease: Lease): Promise<boolean>
  releaseWalkLease(channelId: string, owner: string): Promise<void>
  /** Find the owner of the lease, even when it has expired; `null` when it was released. */
  findWalkLeaseOwner(channelId: string): Promise<string | null>
  /** Return where an interrupted walk resumes if its last page is not older than `resumableSinceMs`, else the first page. */
  beginWalk(
    channelId: string,
    times: Readonly<{ nowMs: number; resumableSinceMs: number }>,
  ): Promise<WalkPosition>
  /** Write a page to the copy. Newer stored data is not overwritten. */
  applyPage(channelId: string, page: WalkPage): Promise<void>
  /** Whether most offers or products of a walk with all its pages were malformed. Can read every product. */
  isWalkMalformed(channelId: string, walk: number): Promise<boolean>
  /** Hold a walk: the copy before it stays current, and the next walk starts from the beginning. */
  holdWalk(channelId: string, walk: number, held: HeldWalk): Promise<void>
  /**
   * Make the walk current and add the events of what it changed, then delete the versions that ended with it. `shops`: which
   * merchant names are one shop; by default, each is its own.
   */
  completeWalk(
    channelId: string,
    walk: number,
    end: Readonly<{ nowMs: number; isMalformed: boolean; shops?: ShopBook }>,
  ): Promise<void>
  /** Record the call that a running walk retries, or `null` when it has succeeded. */
  recordRetry(channelId: string, failure: WalkFailure | null): Promise<void>
  failWalk(channelId: string, failure: WalkFailure, nowMs: number): Promise<void>
}>
