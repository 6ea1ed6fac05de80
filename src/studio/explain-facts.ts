import type { Offer, Product } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import { pluralize } from '../lib/plural.ts'
import { judgeAge } from '../freshness/age.ts'
import { findCorrectedGtin } from '../offers/gtin.ts'
import {
  TIME_UNKNOWN,
  formatCount,
  formatPrice,
  formatSince,
  formatTime,
  formatWalked,
  formatWhen,
} from '../widgets/format.ts'
import { describeDrops, nameFilter } from '../widgets/hidden-reasons.ts'
import { isPriceShown } from '../widgets/presentation.ts'
import { FILTERS, type JudgedOffer, judgeOffers } from '../widgets/offer-choice.ts'
import type { ExplanationView } from './views.ts'
import { describeHold } from '../sync/held-walk.ts'
import type { CopyState } from '../storage/store.ts'
import type { ExplainRules, Known } from './explain.ts'
import { formatAge } from './health.ts'

type Fact = ExplanationView['facts'][number]

/** What is known, from when, in the order in which a visit asks for it. The labels are always the same. */
export function listFacts(known: Known, rules: ExplainRules): readonly Fact[] {
  return [
    { label: 'Channel', value: describeChannel(known, rules) },
    { label: 'GTIN', value: describeGtin(known.gtin) },
    { label: 'Stored copy of the channel', value: describeCopy(known.state, rules) },
    { label: 'Product in the copy', value: describeEntry(known, rules) },
    { label: 'Catalog now', value: describeCatalog(known) },
    { label: 'Options that filter', value: describeOptions(rules) },
  ]
}

function describeChannel({ channelId, list }: Known, { nowMs }: ExplainRules): string {
  const listed = list?.channels.find(({ id }) => id === channelId)
  const gone = list?.gone.find(({ channel }) => channel.id === channelId)
  if (listed !== undefined && list !== undefined && list.heldSinceMs !== null)
    return `${listed.name} (${channelId}), still shown; the catalog lists no channels ${formatSince(list.heldSinceMs, nowMs)}`
  if (listed !== undefined) return `${listed.name} (${channelId}), listed`
  if (gone !== undefined)
    return `${gone.channel.name} (${channelId}), not listed any more ${formatSince(gone.goneAtMs, nowMs)}`
  return `${channelId}, not listed`
}

function describeGtin(gtin: string): string {
  const corrected = findCorrectedGtin(gtin)
  return corrected === undefined ? gtin : `${gtin}, with a wrong check digit: ${corrected} would be right`
}

function describeCopy(state: CopyState, { nowMs }: ExplainRules): string {
  const { completedAtMs, failure, failedAtMs } = state
  const drops = describeDrops(state.drops)
  return [
    completedAtMs === null
      ? 'not walked yet'
      : `${pluralize(state.productCount, 'product')}, ${formatCount(state.dealCount, 'en')} with a deal, ${formatWalked(completedAtMs, nowMs)}`,
    ...(drops.length === 0 ? [] : [`left out of it: ${drops.join(', ')}`]),
    ...listHeld(state, nowMs),
    ...(failure === null
      ? []
      : [
          `the last walk failed with ${failure}${failedAtMs === null ? '' : `, ${formatWhen(failedAtMs, nowMs)}`}`,
        ]),
  ].join('; ')
}

/** A suspicious walk that waits for a second one or for the operator. */
function listHeld(state: CopyState, nowMs: number): readonly string[] {
  const { held } = state
  if (held === null) return []
  const since = formatSince(held.sinceMs, nowMs)
  return [
    `a walk is held ${since}, because ${describeHold(held, state.productCount)}; "vitrine sync --accept" takes it`,
  ]
}

const AGE_WORDS = {
  fresh: 'fresh',
  stale: 'shown at once and refreshed behind',
  rescue: 'shown when the catalog gives no better answer',
  gone: 'too old to be shown',
  unknown: 'refreshed at once, and shown without prices until then',
} as const

function describeEntry({ entry, isCopyComplete }: Known, { config, nowMs }: ExplainRules): string {
  if (entry === undefined)
    return isCopyComplete ? 'not in it, and the copy is complete: a visit makes no call' : 'not in it'
  const seen = isFuture(entry.asOfMs, nowMs)
    ? TIME_UNKNOWN
    : `${formatTime(entry.asOfMs, 'en')}, ${formatAge(Math.max(0, nowMs - entry.asOfMs))} ago`
  if (entry.product === null) return `remembered as sold by no shop since ${seen}`
  const { title, offers, drops } = entry.product
  const isOld = !isPriceShown(entry.asOfMs, { nowMs, priceMaxAgeSeconds: config.priceMaxAgeSeconds })
  return [
    `${title}: ${pluralize(offers.length, 'offer')}, seen ${seen} (${AGE_WORDS[judgeAge(entry.asOfMs, nowMs, config.freshness)]})`,
    ...(drops === undefined ? [] : [`malformed: ${describeDrops(drops).join(', ')}`]),
    ...(isOld
      ? ['its prices are too old to be shown (VITRINE_PRICE_MAX_AGE_SECONDS), or of unknown age']
      : []),
  ].join('; ')
}

function describeCatalog({ catalog }: Known): string {
  switch (catalog.kind) {
    case 'product': {
      const { offers, drops } = catalog.product
      const malformed = drops === undefined ? '' : `; malformed: ${describeDrops(drops).join(', ')}`
      return `has the product, ${pluralize(offers.length, 'offer')}${malformed}`
    }
    case 'absent':
      return 'says that no shop of this channel sells the product (404)'
    case 'failed':
      return catalog.text
    default:
      return `not asked: ${catalog.why}`
  }
}

function describeOptions({ options, defaults, ignored }: ExplainRules): string {
  const isSet = {
    stock: options.stock === 'in',
    merchant: options.merchants.length > 0,
    exclude: options.excluded.length > 0,
    currency: options.currency !== null,
  }
  const set = FILTERS.filter((filter) => isSet[filter]).map((filter) =>
    toShortName(nameFilter(filter, options, defaults)),
  )
  const unknown = ignored.length === 0 ? '' : `; ignored, as it is no option of a box: ${ignored.join(', ')}`
  return `${set.length === 0 ? 'none' : set.join(', ')}${unknown}`
}

function toShortName(name: string): string {
  return name.replace(/^the (?:option|setting) /, '')
}

/** Every offer of a product with what a box does with it. */
export function listOfferFacts(
  product: Product | null,
  { entry }: Known,
  rules: ExplainRules,
): ExplanationView['offers'] {
  if (product === null) return []
  const isOld =
    product === entry?.product &&
    !isPriceShown(entry.asOfMs, {
      nowMs: rules.nowMs,
      priceMaxAgeSeconds: rules.config.priceMaxAgeSeconds,
    })
  return judgeOffers(product.offers, rules.options).map((judged, _index, all) => ({
    text: describeOffer(judged.offer),
    isShown: judged.leftOutBy === null,
    outcome: describeOutcome(judged, rules, { isOld, currency: all[0]?.offer.currency ?? '' }),
  }))
}

function describeOffer({ merchant, price, currency, availability, network }: Offer): string {
  return [merchant, formatPrice(price, currency, 'en'), availability, network].filter(Boolean).join(', ')
}

function describeOutcome(
  { leftOutBy }: JudgedOffer,
  { options, defaults }: ExplainRules,
  { isOld, currency }: Readonly<{ isOld: boolean; currency: string }>,
): string {
  if (leftOutBy === null) return isOld ? 'shown, without its price' : 'shown'
  if (leftOutBy === 'better-offer') return 'left out: the same shop has a better offer'
  if (leftOutBy === 'other-currency') return `left out: the box shows the offers in ${currency}`
  return `left out by ${leftOutBy.map((filter) => toShortName(nameFilter(filter, options, defaults))).join(' and ')}`
}
