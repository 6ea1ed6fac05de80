import type { Offer } from '../catalog/contract.ts'
import { compareForBox, findMainCurrency, isInStock, pickOnePerMerchant } from '../offers/ranking.ts'
import { foldCase } from '../offers/text.ts'
import type { CommonOptions } from './options.ts'

type Filters = Pick<CommonOptions, 'stock' | 'merchants' | 'excluded' | 'currency'>

const FILTERS = ['stock', 'merchant', 'exclude', 'currency'] as const
export type Filter = (typeof FILTERS)[number]

/** List the filters that are set. */
export function listFilters({ stock, merchants, excluded, currency }: Filters): readonly Filter[] {
  const isSet = {
    stock: stock === 'in',
    merchant: merchants.length > 0,
    exclude: excluded.length > 0,
    currency: currency !== null,
  }
  return FILTERS.filter((filter) => isSet[filter])
}

/** Whether a filter that is set leaves out an offer. */
export const EXCLUSION_RULES: Readonly<Record<Filter, (offer: Offer, filters: Filters) => boolean>> = {
  stock: (offer) => !isInStock(offer),
  merchant: ({ merchant }, { merchants }) => !merchants.includes(foldCase(merchant)),
  exclude: ({ merchant }, { excluded }) => excluded.includes(foldCase(merchant)),
  currency: (offer, { currency }) => offer.currency !== currency,
}

/** Return the offers that a box shows, in their order. */
export function selectOffers(offers: readonly Offer[], filters: Filters): readonly Offer[] {
  const activeFilters = listFilters(filters)
  const filtered = offers.filter(
    (offer) => !activeFilters.some((filter) => EXCLUSION_RULES[filter](offer, filters)),
  )
  const currency = findMainCurrency(filtered)
  return pickOnePerMerchant(filtered.filter((offer) => offer.currency === currency)).sort(compareForBox)
}

/** An offer with the options or the rule that leave it out; `null`: it is shown. */
export type ClassifiedOffer = Readonly<{
  offer: Offer
  excludedBy: readonly Filter[] | 'other-currency' | 'better-offer' | null
}>

/** Return every offer with the reason it is left out; the shown ones come first, in their order. */
export function classifyOffers(offers: readonly Offer[], filters: Filters): readonly ClassifiedOffer[] {
  const activeFilters = listFilters(filters)
  const shown = selectOffers(offers, filters)
  const classify = (offer: Offer): ClassifiedOffer => {
    const excludedBy = activeFilters.filter((filter) => EXCLUSION_RULES[filter](offer, filters))
    if (excludedBy.length > 0) return { offer, excludedBy }
    return { offer, excludedBy: offer.currency === shown[0]?.currency ? 'better-offer' : 'other-currency' }
  }
  const others = offers.filter((offer) => !shown.includes(offer))
  return [...shown.map((offer) => ({ offer, excludedBy: null })), ...others.map(classify)]
}
