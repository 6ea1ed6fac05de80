import type { Offer } from '../catalog/contract.ts'
import { createBoxOrder, findMainCurrency, isInStock, pickOnePerMerchant } from '../offers/ranking.ts'
import { foldCase } from '../offers/text.ts'
import type { CommonOptions } from './options.ts'

/** Selects the offers of a box, and explains why others are hidden. */

type Filters = Pick<CommonOptions, 'stock' | 'merchants' | 'excluded' | 'currency'>

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

/** Whether the price of an offer is shown. */
type PriceCheck = (offer: Offer) => boolean

/** Select the offers of a box in their order; empty when the filters hide all. */
export function selectOffers(
  offers: readonly Offer[],
  filters: Filters,
  isPriced: PriceCheck,
): readonly Offer[] {
  const activeFilters = listFilters(filters)
  const filtered = offers.filter(
    (offer) => !activeFilters.some((filter) => EXCLUSION_RULES[filter](offer, filters)),
  )
  const currency = findMainCurrency(filtered)
  const order = createBoxOrder(isPriced)
  return pickOnePerMerchant(
    filtered.filter((offer) => offer.currency === currency),
    order,
  ).sort(order)
}

/** An offer with the options that hide it, or else the rule that does; `null`: it is shown. */
export type ClassifiedOffer = Readonly<{
  offer: Offer
  excludedBy: readonly Filter[] | 'other-currency' | 'better-offer' | null
}>

/** Explain every offer: shown ones first, in their order. */
export function classifyOffers(
  offers: readonly Offer[],
  filters: Filters,
  isPriced: PriceCheck,
): readonly ClassifiedOffer[] {
  const activeFilters = listFilters(filters)
  const shown = selectOffers(offers, filters, isPriced)
  const classify = (offer: Offer): ClassifiedOffer => {
    const excludedBy = activeFilters.filter((filter) => EXCLUSION_RULES[filter](offer, filters))
    if (excludedBy.length > 0) return { offer, excludedBy }
    return { offer, excludedBy: offer.currency === shown[0]?.currency ? 'better-offer' : 'other-currency' }
  }
  const others = offers.filter((offer) => !shown.includes(offer))
  return [...shown.map((offer) => ({ offer, excludedBy: null })), ...others.map(classify)]
}
