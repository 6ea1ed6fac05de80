import type { Offer } from '../catalog/contract.ts'
import { compareForBox, findMainCurrency, isInStock, pickOnePerMerchant } from '../offers/ranking.ts'
import { foldCase } from '../offers/text.ts'
import type { CommonOptions } from './options.ts'

/** Which offers a box shows, and why it leaves out the others. */

type Filters = Pick<CommonOptions, 'stock' | 'merchants' | 'excluded' | 'currency'>

/** Options that leave out offers. */
export const FILTERS = ['stock', 'merchant', 'exclude', 'currency'] as const
export type Filter = (typeof FILTERS)[number]

/** Does an option leave out an offer? `currency` without the option depends on the other offers, too. */
export const LEAVES_OUT: Readonly<Record<Filter, (offer: Offer, filters: Filters) => boolean>> = {
  stock: (offer, { stock }) => stock === 'in' && !isInStock(offer),
  merchant: ({ merchant }, { merchants }) => merchants.length > 0 && !merchants.includes(foldCase(merchant)),
  exclude: ({ merchant }, { excluded }) => excluded.includes(foldCase(merchant)),
  currency: (offer, { currency }) => currency !== null && offer.currency !== currency,
}

/** The offers of a box in the order in which they are shown; empty when nothing is left after the filters. */
export function selectOffers(offers: readonly Offer[], filters: Filters): readonly Offer[] {
  const filtered = offers.filter((offer) => !FILTERS.some((filter) => LEAVES_OUT[filter](offer, filters)))
  const currency = findMainCurrency(filtered)
  return pickOnePerMerchant(filtered.filter((offer) => offer.currency === currency)).sort(compareForBox)
}

/** An offer with the options that leave it out, or the rule that does where no option would; `null`: it is shown. */
export type JudgedOffer = Readonly<{
  offer: Offer
  leftOutBy: readonly Filter[] | 'other-currency' | 'better-offer' | null
}>

/** Every offer with why it is left out: those that are shown first, in their order. */
export function judgeOffers(offers: readonly Offer[], filters: Filters): readonly JudgedOffer[] {
  const shown = selectOffers(offers, filters)
  const judge = (offer: Offer): JudgedOffer => {
    const leftOutBy = FILTERS.filter((filter) => LEAVES_OUT[filter](offer, filters))
    if (leftOutBy.length > 0) return { offer, leftOutBy }
    return { offer, leftOutBy: offer.currency === shown[0]?.currency ? 'better-offer' : 'other-currency' }
  }
  const others = offers.filter((offer) => !shown.includes(offer))
  return [...shown.map((offer) => ({ offer, leftOutBy: null })), ...others.map(judge)]
}
