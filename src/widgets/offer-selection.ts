import type { Offer } from '../catalog/contract.ts'
import { createBoxOrder, findMainCurrency, isInStock, pickOnePerMerchant } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { PicksLayout } from './option-list.ts'
import type { BoxOptions, CommonOptions } from './options.ts'

/** Selects the offers of a box, and explains why others are hidden. */

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
