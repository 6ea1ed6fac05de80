import type { Offer, Product } from '../catalog/contract.ts'
import { HOUR_SECONDS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { pluralize } from '../lib/format.ts'
import { type PriceRules, createPriceCheck, findPriceProblem, toPriceTimeMs } from '../offers/price-age.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import { formatPastTime, formatPrice, formatTime } from '../widgets/format.ts'
import { formatFilter } from '../widgets/hidden-reasons.ts'
import { type ClassifiedOffer, classifyOffers, countListed, expandShops } from '../widgets/offer-selection.ts'
import type { BoxOptions, OptionDefaults, PicksOptions } from '../widgets/options.ts'
import type { BoxInputs } from './inputs.ts'
import type { ObservedPricesData } from './observed-prices.ts'

export type ExplainRules = Readonly<{
  /** With the shops as the author named them. */
  options: BoxOptions | PicksOptions
  defaults: OptionDefaults
  /** Parameters of the address that are not options of the widget. */
  ignoredParameters: readonly string[]
  config: Config
  shops: ShopBook
  /** Only needed with the option `history`. */
  observedPrices: ObservedPricesData | null
  nowMs: number
}>

export function toPriceRules({ nowMs, config: { priceMaxAgeSeconds } }: ExplainRules): PriceRules {
  return { nowMs, priceMaxAgeSeconds }
}

/** Explain each offer of a product: the shown ones first, in their order. */
export function listOfferFacts(
  product: Product | null,
  { entry }: Pick<BoxInputs, 'entry'>,
  rules: ExplainRules,
) {
  if (product === null) return []
  const asOfMs = product === entry?.product ? entry.asOfMs : rules.nowMs
  const isPriced = createPriceCheck(asOfMs, toPriceRules(rules))
  const selectionRules = { isPriced, shops: rules.shops }
  const classifiedOffers = classifyOffers(
    product.offers,
    expandShops(rules.options, rules.shops),
    selectionRules,
  )
  const offers = listShown(classifiedOffers)
  const context = { ...toPriceRules(rules), surface: 'fragment', countedBaseUrl: null } as const
  const maxListed = countListed({ product, asOfMs, offers }, rules.options, context)
  return classifiedOffers.map((classified, index) => {
    const isSelected = classified.excludedBy === null
    const outcome = describeOutcome(classified, rules, { asOfMs, shown: offers })
    return {
      text: describeOffer(classified.offer, rules),
      isShown: isSelected && index < maxListed,
      outcome: isSelected && index >= maxListed ? `left out: the list has ${maxListed} offers` : outcome,
    }
  })
}

function listShown(all: readonly ClassifiedOffer[]): readonly Offer[] {
  return all.filter(({ excludedBy }) => excludedBy === null).map(({ offer }) => offer)
}

function describeOffer(offer: Offer, { shops, nowMs }: ExplainRules): string {
  const { merchant, price, currency, availability, network, checkedAtMs, saleEndsAtMs } = offer
  const shownName = shops.toShownName(merchant)
  return [
    shownName === merchant ? merchant : `${shownName} (in the catalog: ${merchant})`,
    formatPrice(price, currency, 'en'),
    availability,
    network,
    checkedAtMs !== null && `price checked ${formatPastTime(checkedAtMs, nowMs)}`,
    saleEndsAtMs !== null && `sale until ${formatTime(saleEndsAtMs, 'en')}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function describeOutcome(
  { offer, excludedBy }: ClassifiedOffer,
  rules: ExplainRules,
  { asOfMs, shown }: Readonly<{ asOfMs: number; shown: readonly Offer[] }>,
): string {
  const { options, defaults } = rules
  if (excludedBy === null) {
    const problem = describePriceProblem(offer, asOfMs, rules)
    return problem === undefined ? 'shown' : `shown, without its price: ${problem}`
  }
  if (excludedBy === 'not-inline')
    return 'left out: the layout inline shows one offer, the cheapest in stock with a current price'
  if (excludedBy === 'better-offer') return describeBetterOffer(offer, shown, rules)
  if (excludedBy === 'other-currency')
    return `left out: the box shows the offers in ${shown[0]?.currency ?? ''}`
  return `left out by ${excludedBy.map((filter) => formatFilter(filter, options, defaults)).join(' and ')}`
}

/** An alias in the shop file makes two merchants of the catalog one shop. */
function describeBetterOffer({ merchant }: Offer, shown: readonly Offer[], { shops }: ExplainRules): string {
  const better = shown.find((offer) => shops.toKey(offer.merchant) === shops.toKey(merchant))
  if (better === undefined || foldCase(better.merchant) === foldCase(merchant))
    return 'left out: the same shop has a better offer'
  return `left out: by the shop file (VITRINE_SHOPS_FILE), ${merchant} and ${better.merchant} are one shop, and ${better.merchant} has a better offer`
}

/** Explain why the price of an offer is not shown, with a remedy; `undefined` when it is shown. */
function describePriceProblem(offer: Offer, asOfMs: number, rules: ExplainRules): string | undefined {
  const checkedAtMs = toPriceTimeMs({ offer, asOfMs })
  switch (findPriceProblem({ offer, asOfMs }, toPriceRules(rules))) {
    case 'sale-ended':
      return `the sale ended on ${formatTime(offer.saleEndsAtMs ?? 0, 'en')}. Run "vitrine sync" to read the price after it`
    case 'unknown-age':
      return 'it has a time in the future. Set the clocks of this server and of the catalog'
    case 'too-old':
      return `the price was checked on ${formatTime(checkedAtMs, 'en')} and is older than ${formatMaxAge(rules.config)}. ${
        offer.checkedAtMs === null
          ? 'Run "vitrine sync"'
          : 'Find out why the feed of this shop is no longer fetched'
      }, or raise VITRINE_PRICE_MAX_AGE_SECONDS`
    default:
      return undefined
  }
}

function formatMaxAge({ priceMaxAgeSeconds }: Config): string {
  const hours = priceMaxAgeSeconds / HOUR_SECONDS
  return Number.isInteger(hours) ? `${hours} h` : pluralize(priceMaxAgeSeconds, 'second')
}
