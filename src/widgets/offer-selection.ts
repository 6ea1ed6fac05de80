import type { Offer, Product } from '../catalog/contract.ts'
import type { Cached } from '../freshness/age.ts'
import { type PriceRules, createPriceCheck, findPriceTimes } from '../offers/price-age.ts'
import { createBoxOrder, findMainCurrency, isInStock, pickOnePerMerchant } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { PicksLayout } from './option-list.ts'
import type { BoxOptions, CommonOptions, PicksOptions, Surface } from './options.ts'

type Filters = Pick<CommonOptions, 'stock' | 'merchants' | 'excluded' | 'currency'>

/** The layout `inline` shows one price, so it needs an offer in stock whose price is shown. */
export type BoxFilters = Filters & Readonly<{ layout: BoxOptions['layout'] | PicksLayout }>

/** Options that filter offers. */
const FILTERS = ['stock', 'merchant', 'exclude', 'currency'] as const
export type Filter = (typeof FILTERS)[number]

/** List the active filters. */
export function listFilters({ stock, merchants, excluded, currency }: Filters): readonly Filter[] {
  const isSet = {
    stock: stock === 'in',
    merchant: merchants.length > 0,
    exclude: excluded.length > 0,
    currency: currency !== null,
  }
  return FILTERS.filter((filter) => isSet[filter])
}

/** Whether an active filter hides an offer. Without the option, `currency` also depends on the other offers. */
export const EXCLUSION_RULES: Readonly<Record<Filter, (offer: Offer, filters: Filters) => boolean>> = {
  stock: (offer) => !isInStock(offer),
  merchant: ({ merchant }, { merchants }) => !merchants.includes(foldCase(merchant)),
  exclude: ({ merchant }, { excluded }) => excluded.includes(foldCase(merchant)),
  currency: (offer, { currency }) => offer.currency !== currency,
}

/** Whether the options select a merchant. `merchantKey`: its case-folded name. */
export function isMerchantSelected(
  merchantKey: string,
  { merchants, excluded }: Pick<Filters, 'merchants' | 'excluded'>,
): boolean {
  return (merchants.length === 0 || merchants.includes(merchantKey)) && !excluded.includes(merchantKey)
}

/** `isPriced`: whether the price of an offer is shown. */
type SelectionRules = Readonly<{ isPriced(offer: Offer): boolean; shops: ShopBook }>

/** Replace names of shops in the filters by all their merchant names. */
export function expandShops<T extends Pick<Filters, 'merchants' | 'excluded'>>(
  filters: T,
  shops: ShopBook,
): T {
  return {
    ...filters,
    merchants: shops.expandNames(filters.merchants),
    excluded: shops.expandNames(filters.excluded),
  }
}

/** Select the offers of a box in their order; empty when the filters hide all. */
export function selectOffers(
  offers: readonly Offer[],
  filters: BoxFilters,
  { isPriced, shops }: SelectionRules,
): readonly Offer[] {
  const activeFilters = listFilters(filters)
  const filtered = offers.filter(
    (offer) => !activeFilters.some((filter) => EXCLUSION_RULES[filter](offer, filters)),
  )
  const usable =
    filters.layout === 'inline' ? filtered.filter((offer) => isInStock(offer) && isPriced(offer)) : filtered
  const currency = findMainCurrency(usable)
  const inCurrency = usable.filter((offer) => offer.currency === currency)
  const order = createBoxOrder(isPriced)
  return pickOnePerMerchant(inCurrency, order, shops.toKey).sort(order)
}

/** An offer with the options that hide it, or else the rule that does; `null`: it is shown. */
export type ClassifiedOffer = Readonly<{
  offer: Offer
  excludedBy: readonly Filter[] | 'other-currency' | 'better-offer' | 'not-inline' | null
}>

/** Explain every offer: shown ones first, in their order. */
export function classifyOffers(
  offers: readonly Offer[],
  filters: BoxFilters,
  rules: SelectionRules,
): readonly ClassifiedOffer[] {
  const activeFilters = listFilters(filters)
  const selected = selectOffers(offers, filters, rules)
  const isInline = filters.layout === 'inline'
  const shown = isInline ? selected.slice(0, 1) : selected
  // Without a shown offer, no currency is chosen.
  const currency = shown[0]?.currency
  const classify = (offer: Offer): ClassifiedOffer => {
    const excludedBy = activeFilters.filter((filter) => EXCLUSION_RULES[filter](offer, filters))
    if (excludedBy.length > 0) return { offer, excludedBy }
    if (currency !== undefined && offer.currency !== currency) return { offer, excludedBy: 'other-currency' }
    return { offer, excludedBy: isInline ? 'not-inline' : 'better-offer' }
  }
  const others = offers.filter((offer) => !shown.includes(offer))
  return [...shown.map((offer) => ({ offer, excludedBy: null })), ...others.map(classify)]
}

/** `asOfMs`: when the catalog returned the product, Unix milliseconds. */
export type DatedProduct = Readonly<{ product: Product; asOfMs: number }>

/** A product with the offers that the options select, at least one, in their order. */
export type SelectedProduct = DatedProduct & Readonly<{ offers: readonly Offer[] }>

/** A product with the offers that are listed of it: the first of those that are selected (`limitBoxRows`). */
export type ShownProduct = SelectedProduct &
  Readonly<{
    /** Selected offers. */
    offerCount: number
    /** Whether the first offer has the lowest price of several in stock. */
    isLowestOfSeveral: boolean
  }>

/**
 * The result for a product of an address. `found` is `null` when it is unavailable; its value is `null` when no shop sells it, and has
 * only the offers of allowed networks. `unfiltered` has the offers of all networks.
 */
export type FoundProduct = Readonly<{ gtin: string; unfiltered: Product | null }> &
  (Readonly<{ found: Cached<Product | null>; failure: null }> | Readonly<{ found: null; failure: Error }>)

type SelectionContext = PriceRules & Readonly<{ shops: ShopBook }>

/** Select the offers of a product by the rules of a box; `undefined` when none is left. */
export function selectProduct(
  { product, asOfMs }: DatedProduct,
  options: BoxFilters,
  { shops, ...rules }: SelectionContext,
): SelectedProduct | undefined {
  const isPriced = createPriceCheck(asOfMs, rules)
  const offers = selectOffers(product.offers, options, { isPriced, shops })
  return offers.length === 0 ? undefined : { product, asOfMs, offers }
}

/** Return the products with offers to show, in the same order. */
export function selectProducts(
  products: readonly FoundProduct[],
  options: BoxFilters,
  context: SelectionContext,
): readonly SelectedProduct[] {
  return products.flatMap(({ found }) => {
    const product = found?.value ?? null
    if (found === null || product === null) return []
    return selectProduct({ product, asOfMs: found.asOfMs }, options, context) ?? []
  })
}

/** Whether a product that is not shown would be, if the offers of all networks were allowed. */
export function isHiddenByNetworks(
  { found, unfiltered: product }: FoundProduct,
  options: BoxFilters,
  context: SelectionContext,
): boolean {
  if (found === null || product === null || found.value === product) return false
  return selectProduct({ product, asOfMs: found.asOfMs }, options, context) !== undefined
}

/** Find the times of the offers of several products. */
export function findProductTimes(
  shown: readonly SelectedProduct[],
  rules: PriceRules,
): ReturnType<typeof findPriceTimes> {
  return findPriceTimes(
    shown.flatMap(({ offers, asOfMs }) => offers.map((offer) => ({ offer, asOfMs }))),
    rules,
  )
}

/** Maximum number of folded offers of a box. */
const MAX_FOLDED_OFFERS = 50

/** Offers of a product that a round-up, or the fold of the variants, lists. */
const MAX_LISTED_SHOPS = 20

/** Bytes of the rows of one response. With its other parts, the response stays below 300 kB. */
const MAX_ROWS_BYTES = 265_000

/** Bytes of a row without its link and names, by surface. */
const ROW_BYTES: Readonly<Record<Surface, number>> = {
  fragment: 500,
  embed: 550,
  data: 550,
  mail: 2_000,
  feed: 0,
}

/** Folds up to this size are never shortened. */
const ORDINARY_FOLD_BYTES = 16_000

/** How often a row of a box and a line of a fold print the name of the shop. */
const NAMES_PER_ROW = 4
const NAMES_PER_LINE = 2

/** Bytes of a line of a fold without link and names. */
const LINE_BYTES = 290

/** Bytes that the id of a placement, or an address for counted clicks, adds to a link. */
const LINK_BYTES = 40

/** `countedBaseUrl`: address of `/go/{channel}/` if clicks are counted there. */
type LimitContext = PriceRules & Readonly<{ surface: Surface; countedBaseUrl: string | null }>

/** Return how many offers of a product are listed if the box or round-up has no other one. */
export function countListed(
  product: SelectedProduct,
  options: BoxOptions | PicksOptions,
  context: LimitContext,
): number {
  const [shown] =
    'limit' in options ? limitBoxRows([product], options, context) : limitPicksRows([product], context)
  return shown?.offers.length ?? 0
}

/** Estimated bytes of the first row, and of each further row. `required`: rows that come before those of other lists. */
type RowCosts = Readonly<{ first: number; others: readonly number[]; required: number }>

/**
 * Choose the offers of a box and of its variants that are listed, at least one of each. The cheapest come first, so the others
 * are left out. Products that need little are never shortened for those that need much.
 */
export function limitBoxRows(
  [main, ...variants]: readonly SelectedProduct[],
  { layout, limit }: Pick<BoxOptions, 'layout' | 'limit'>,
  context: LimitContext,
): readonly ShownProduct[] {
  if (main === undefined) return []
  const isInline = layout === 'inline'
  const shown = isInline ? 1 : limit
  const folded = isInline || context.surface === 'mail' ? 0 : MAX_FOLDED_OFFERS
  const [first = 0, ...others] = main.offers
    .slice(0, shown + folded)
    .map((offer) => toRowBytes(offer, context))
  const costs = [
    { first: first + toProductBytes(main.product), others, required: shown - 1 },
    ...variants.map((variant) => toProductCosts(variant, context)),
  ]
  return toShownProducts([main, ...variants], costs, context)
}

/** Choose the offers of a round-up that are listed. */
export function limitPicksRows(
  products: readonly SelectedProduct[],
  context: LimitContext,
): readonly ShownProduct[] {
  const costs = products.map((product) => toProductCosts(product, context))
  return toShownProducts(products, costs, context)
}

function toShownProducts(
  products: readonly SelectedProduct[],
  costs: readonly RowCosts[],
  rules: PriceRules,
): readonly ShownProduct[] {
  const counts = distribute(costs)
  return products.map(({ product, asOfMs, offers }, index) => {
    // Offers in stock with a price come first.
    const second = offers[1]
    const isPriced = createPriceCheck(asOfMs, rules)
    return {
      product,
      asOfMs,
      offers: offers.slice(0, counts[index]),
      offerCount: offers.length,
      isLowestOfSeveral: second !== undefined && isInStock(second) && isPriced(second),
    }
  })
}

/** Compute the costs of a product with its first offer, and its shops in a fold, which begins with the first one again. */
function toProductCosts({ product, offers }: SelectedProduct, context: LimitContext): RowCosts {
  const [offer] = offers
  const first = toProductBytes(product) + (offer === undefined ? 0 : toRowBytes(offer, context))
  if (context.surface === 'mail') return { first, others: [], required: 0 }
  const titleBytes = toBytes(product.title)
  const [again = 0, ...lines] = offers.slice(0, MAX_LISTED_SHOPS).map(({ merchant, affiliateUrl }) => {
    const nameBytes = NAMES_PER_LINE * toBytes(merchant) + titleBytes
    return LINE_BYTES + nameBytes + toLinkBytes(affiliateUrl, context)
  })
  return { first, others: lines.map((bytes, index) => (index === 0 ? bytes + again : bytes)), required: 0 }
}

function toProductBytes({ title, images }: Product): number {
  return 3 * toBytes(title) + toBytes(images[0] ?? '')
}

function toRowBytes({ merchant, affiliateUrl }: Offer, context: LimitContext): number {
  return ROW_BYTES[context.surface] + NAMES_PER_ROW * toBytes(merchant) + toLinkBytes(affiliateUrl, context)
}

function toLinkBytes(link: string, { countedBaseUrl }: LimitContext): number {
  return LINK_BYTES + (countedBaseUrl === null ? toBytes(link) : countedBaseUrl.length)
}

/** Compute the bytes of a text in HTML. A loop, because a regular expression takes six times as long. */
function toBytes(text: string): number {
  let bytes = Buffer.byteLength(text)
  for (let index = 0; index < text.length; index += 1)
    if (isEscaped(text.charCodeAt(index))) bytes += MAX_ESCAPE_BYTES - 1
  return bytes
}

/** Whether a character is `"`, `&`, `'`, `<` or `>`. */
function isEscaped(code: number): boolean {
  return code === 0x22 || code === 0x26 || code === 0x27 || code === 0x3c || code === 0x3e
}

/** `&quot;` */
const MAX_ESCAPE_BYTES = 6

/** Return the number of rows of each list, at least one. */
function distribute(lists: readonly RowCosts[]): readonly number[] {
  let remaining = lists.reduce((rest, { first }) => rest - first, MAX_ROWS_BYTES)
  const take = (costs: readonly number[], bytes: number): number => {
    let used = 0
    const end = costs.findIndex((cost) => (used += cost) > bytes)
    const taken = end === -1 ? costs : costs.slice(0, end)
    remaining -= sum(taken)
    return taken.length
  }
  const counts = lists.map(({ others, required }) => take(others.slice(0, required), remaining))
  const rests = lists.map(({ others }, index) => ({ index, costs: others.slice(counts[index]) }))
  const needs = rests.map(({ costs }) => sum(costs)).filter((bytes) => bytes <= ORDINARY_FOLD_BYTES)
  const areOrdinaryComplete = sum(needs) <= remaining
  // From the smallest need on, each other list may use an equal share of what is left.
  const byNeed = rests.toSorted((a, b) => sum(a.costs) - sum(b.costs))
  for (const [done, { index, costs }] of byNeed.entries()) {
    const isComplete = areOrdinaryComplete && sum(costs) <= ORDINARY_FOLD_BYTES
    const allowed = isComplete ? remaining : remaining / (byNeed.length - done)
    counts[index] = (counts[index] ?? 0) + take(costs, allowed)
  }
  return counts.map((count) => 1 + count)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
