import {
  type DropReason,
  type Offer,
  type Product,
  type ProductProblem,
  describeProductProblem,
} from '../catalog/contract.ts'
import type { DropCounts } from '../catalog/parse.ts'
import { capitalize, formatNumber, joinFirst, pluralize } from '../lib/format.ts'
import { findCorrectedGtin } from '../offers/gtin.ts'
import { MIN_REFERENCE_DAYS, REFERENCE_DAYS } from '../offers/price-history.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import {
  type FoundProduct,
  type Filter,
  EXCLUSION_RULES,
  expandShops,
  listFilters,
} from './offer-selection.ts'
import type { BoxOptions, CommonOptions, GridOptions, OptionDefaults, PicksOptions } from './options.ts'
import type { ProductState, Widget } from './widget.ts'

export const CHANNEL_GONE_REASON = 'The catalog no longer lists this channel.'

const NOT_INLINE_REASON =
  'The layout inline shows one price, and no offer that the options allow is in stock with a current price.'

/** British English: no comma before "and". */
const LIST_FORMAT = new Intl.ListFormat('en-GB')

/** Longer lists of names end with "and 15 more". */
const MAX_LISTED_NAMES = 5

export const EVIDENCE_EXPLANATION = `A price has dropped if it is below the lowest price of the ${REFERENCE_DAYS} days before it began. This server must have observed at least ${MIN_REFERENCE_DAYS} of these days.`

/** Added to the reason of an empty grid in a newsletter. */
export const MAIL_GRID_NOTE = 'Newsletters show only the networks in VITRINE_MAIL_NETWORKS.'

/** Explain to the author of the page why a grid is empty. */
export function explainHiddenGrid(options: GridOptions, defaults: OptionDefaults): string {
  const isInStock = options.stock === 'in'
  if (options.evidence === 'observed') {
    const offers = `offer${isInStock ? ' in stock' : ''} with an observed price drop`
    return `${explainEmptyGrid(offers, options, defaults)} ${EVIDENCE_EXPLANATION}`
  }
  const offers = isInStock ? 'offer that is on sale and in stock' : 'offer that is on sale'
  return explainEmptyGrid(offers, options, defaults)
}

function explainEmptyGrid(offers: string, options: GridOptions, defaults: OptionDefaults): string {
  const activeFilters = listGridFilters(options, defaults).map(describeFilter)
  const filterText = activeFilters.length === 0 ? '' : ` matches ${LIST_FORMAT.format(activeFilters)}`
  if (options.page > 1)
    return `Page ${options.page} is empty: too few products have an ${offers}${filterText && ` and${filterText}`}. Use a lower page number.`
  return activeFilters.length === 0
    ? `No product of this channel has an ${offers}.`
    : `No ${offers}${filterText}. Remove or change a filter.`
}

/** What decides which offers of a box or a round-up are shown. `options`: with the shops as the author named them. */
type ExplainOptions = Readonly<{
  options: BoxOptions | PicksOptions
  defaults: OptionDefaults
  shops: ShopBook
}>

const OTHER_NETWORK_REASON =
  'Only shops of other networks sell it. VITRINE_MAIL_NETWORKS names the networks of newsletters.'

export const UNAVAILABLE_REASON =
  'The catalog did not respond in time, or has no product of the channel yet, and there is no stored copy.'

/** Create the explanations of a box or a round-up. `isGone`: whether the channel was removed. */
export function createExplanations(
  products: readonly FoundProduct[],
  states: readonly ProductState[],
  { isGone, ...options }: ExplainOptions & Readonly<{ isGone: boolean }>,
): Pick<Widget<unknown>, 'explainHidden' | 'explainMissing'> {
  return {
    explainHidden: () => (isGone ? CHANNEL_GONE_REASON : explainHiddenProducts(products, states, options)),
    explainMissing: () => explainMissingProducts(products, states, options),
  }
}

/** Explain why nothing is shown of the products of an address. */
function explainHiddenProducts(
  products: readonly FoundProduct[],
  states: readonly ProductState[],
  options: ExplainOptions,
): string {
  return products
    .map((product, index) => {
      const reason = explainProduct(product, states[index]?.state, options)
      return products.length === 1 ? reason : `${product.gtin}: ${reason}`
    })
    .join(' ')
}

/** Explain which products of a shown widget are not shown; `null`: none. */
function explainMissingProducts(
  products: readonly FoundProduct[],
  states: readonly ProductState[],
  options: ExplainOptions,
): string | null {
  const reasons = products.flatMap((product, index) => {
    const state = states[index]?.state
    return state === 'shown' ? [] : [`${product.gtin}: ${explainProduct(product, state, options)}`]
  })
  if (reasons.length === 0) return null
  return `${reasons.length} of ${pluralize(products.length, 'product')} ${reasons.length === 1 ? 'is' : 'are'} not shown. ${reasons.join(' ')}`
}

function explainProduct(
  { gtin, found, unfiltered }: FoundProduct,
  state: ProductState['state'] | undefined,
  options: ExplainOptions,
): string {
  if (state === 'other-network') return OTHER_NETWORK_REASON
  return found === null ? UNAVAILABLE_REASON : explainHiddenBox(gtin, unfiltered, options)
}

/** Explain why a box is empty; `gtin` is padded, `product` is `null` if no shop sells it. */
export function explainHiddenBox(gtin: string, product: Product | null, rules: ExplainOptions): string {
  if (product === null) {
    const corrected = findCorrectedGtin(gtin)
    return corrected === undefined
      ? 'No shop of this channel sells the product with this GTIN. Check the GTIN and the channel.'
      : `The last digit of this GTIN is wrong (it should be ${corrected.slice(-1)}): check the GTIN for a typing error. No shop of this channel sells it.`
  }
  const { offers, problem } = product
  if (problem !== undefined) return explainMalformedProduct(problem)
  if (offers.length === 0) return explainNoOffers(product)
  const malformed =
    product.drops === undefined
      ? ''
      : ` The catalog also sent malformed offers: ${describeDrops(product.drops).join(', ')}.`
  const shownOffers = offers.map((offer) => ({ ...offer, shop: rules.shops.toShownName(offer.merchant) }))
  return `${explainFiltered(shownOffers, rules)}${malformed}`
}

export function explainMalformedProduct(problem: ProductProblem): string {
  return `${capitalize(describeProductProblem(problem))}.`
}

function explainNoOffers({ drops }: Product): string {
  if (drops === undefined)
    return 'The catalog lists this product, but no shop of this channel has an offer for it.'
  const count = Object.values(drops).reduce((sum, dropped) => sum + dropped, 0)
  const offerText =
    count === 1 ? 'one offer of this product, but it is' : `${count} offers of this product, all of them`
  return `The catalog sent ${offerText} malformed: ${describeDrops(drops).join(', ')}.`
}

/** `shop`: the name that readers see. */
type NamedOffer = Offer & Readonly<{ shop: string }>

function explainFiltered(
  offers: readonly NamedOffer[],
  { options, defaults, shops }: ExplainOptions,
): string {
  const expanded = expandShops(options, shops)
  const isHiddenBy = (filter: Filter, offer: Offer): boolean => EXCLUSION_RULES[filter](offer, expanded)
  const count = (filter: Filter): number => offers.filter((offer) => isHiddenBy(filter, offer)).length
  const activeFilters = listFilters(options)
  const isAnyAllowed = offers.some((offer) => !activeFilters.some((filter) => isHiddenBy(filter, offer)))
  if (options.layout === 'inline' && isAnyAllowed) return NOT_INLINE_REASON
  const sufficientFilters = activeFilters.filter((filter) => count(filter) === offers.length)
  const filters =
    sufficientFilters.length > 0 ? sufficientFilters : activeFilters.filter((filter) => count(filter) > 0)
  const names = LIST_FORMAT.format(
    filters.map((filter) => describeFilter(formatFilter(filter, options, defaults))),
  )
  const all = offers.length === 1 ? 'the only offer' : `all ${offers.length} offers`
  const verb = filters.length === 1 ? 'hides' : sufficientFilters.length > 1 ? 'each hide' : 'together hide'
  return [`${capitalize(names)} ${verb} ${all} of this product.`, ...listAlternatives(filters, offers)].join(
    ' ',
  )
}

/** List the shops and currencies that exist, for the options that exclude them. */
function listAlternatives(filters: readonly Filter[], offers: readonly NamedOffer[]): readonly string[] {
  const shops = joinFirst(listDistinct(offers.map(({ shop }) => shop)), MAX_LISTED_NAMES)
  const currencies = joinFirst(listDistinct(offers.map(({ currency }) => currency)), MAX_LISTED_NAMES)
  const isByShop = filters.includes('merchant') || filters.includes('exclude')
  return [
    ...(isByShop ? [`Its shops: ${shops}.`] : []),
    ...(filters.includes('currency') ? [`Its prices are in ${currencies}.`] : []),
  ]
}

/** Format a filter as in an address, or as the setting that it comes from. */
export function formatFilter(filter: Filter, options: CommonOptions, defaults: OptionDefaults): string {
  switch (filter) {
    case 'stock':
      return 'stock=in'
    case 'merchant':
      return `merchant=${joinFirst(options.merchants, MAX_LISTED_NAMES)}`
    case 'exclude':
      return `exclude=${joinFirst(options.excluded, MAX_LISTED_NAMES)}`
    default:
      // An option that equals the setting has the same normalized address, so name the setting.
      return options.currency === defaults.currency
        ? `VITRINE_CURRENCY=${options.currency ?? ''}`
        : `currency=${options.currency ?? ''}`
  }
}

function describeFilter(filter: string): string {
  return `the ${filter.startsWith('VITRINE_') ? 'setting' : 'option'} ${filter}`
}

function listGridFilters(options: GridOptions, defaults: OptionDefaults): readonly string[] {
  const { minDiscountPercent, maxPrice, brand, searchText } = options
  const common = listFilters(options).filter((filter) => filter !== 'stock')
  return [
    ...common.map((filter) => formatFilter(filter, options, defaults)),
    ...(minDiscountPercent > 1 ? [`min_discount=${minDiscountPercent}`] : []),
    ...(maxPrice === null ? [] : [`max_price=${maxPrice}`]),
    ...(brand === null ? [] : [`brand=${brand}`]),
    ...(searchText === null ? [] : [`q=${searchText}`]),
  ]
}

function listDistinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort((a, b) => a.localeCompare(b, 'en'))
}

const DROP_DESCRIPTIONS: Readonly<Record<DropReason, readonly [noun: string, why: string]>> = {
  product: ['product', 'without GTIN, title or offers'],
  product_too_large: ['product', 'larger than VITRINE_CATALOG_MAX_BYTES'],
  merchant: ['offer', 'without a shop’s name'],
  price: ['offer', 'without a usable price'],
  currency: ['offer', 'without a currency'],
  link: ['offer', 'without a usable link'],
  shape: ['offer', 'that cannot be read'],
  too_many: ['offer', 'above the limit of offers per product'],
  too_large: ['offer', 'above the size limit of a product'],
}

/** Describe the dropped products and offers, one text per reason. */
export function describeDrops(drops: Readonly<DropCounts>): readonly string[] {
  const descriptions = new Map(Object.entries(DROP_DESCRIPTIONS))
  return Object.entries(drops).map(([reason, dropped]) => {
    const [noun, why] = descriptions.get(reason) ?? []
    return noun === undefined
      ? `${formatNumber(dropped)} left out: ${reason}`
      : `${pluralize(dropped, noun)} ${why}`
  })
}
