import type { Offer, Product } from '../catalog/contract.ts'
import { SECOND_MS, isFuture, isWithin } from '../clock.ts'
import { type Config, isServed } from '../config/config.ts'
import { classifyAge, listVisibleChannels } from '../freshness/age.ts'
import { pluralize } from '../lib/plural.ts'
import { findCorrectedGtin, isCheckDigitValid } from '../offers/gtin.ts'
import type { CopyEntry, CopyState } from '../storage/store.ts'
import { describeHold } from '../sync/held-walk.ts'
import {
  TIME_UNKNOWN,
  formatCount,
  formatPrice,
  formatSince,
  formatTime,
  formatWalkTime,
  formatPastTime,
} from '../widgets/format.ts'
import {
  CHANNEL_GONE_REASON,
  describeDrops,
  explainHiddenBox,
  formatFilter,
} from '../widgets/hidden-reasons.ts'
import {
  type ClassifiedOffer,
  classifyOffers,
  listFilters,
  selectOffers,
} from '../widgets/offer-selection.ts'
import type { CommonOptions, OptionDefaults } from '../widgets/options.ts'
import { isPriceShown } from '../widgets/view-parts.ts'
import { formatAge } from './health.ts'
import type { CatalogLookupResult, BoxInputs } from './box-inputs.ts'

/** By what rules a box is made. */
export type ExplainRules = Readonly<{
  options: CommonOptions
  defaults: OptionDefaults
  /** Names in the address that are no option of a box. */
  ignored: readonly string[]
  config: Config
  nowMs: number
}>

/** Why nothing is shown, and what to do about it. */
type Problem = Readonly<{ reason: string; remedy: string }>

/** Why a box shows what it shows, or nothing. */
export type ExplanationView = ReturnType<typeof explainBox>

/** Explain by the rules of a visit why a box shows what it shows, or nothing. `remedy` is `null` when a box is shown. */
export function explainBox(inputs: BoxInputs, rules: ExplainRules) {
  const product = findShownProduct(inputs, rules)
  const problem = findChannelProblem(inputs, rules) ?? findProductProblem(inputs, rules, product)
  const offers = listOfferFacts(product ?? inputs.entry?.product ?? null, inputs, rules)
  const shownCount = offers.filter(({ isShown }) => isShown).length
  return {
    isShown: problem === undefined,
    verdict:
      problem === undefined
        ? `A box is shown: ${pluralize(shownCount, 'offer')}.`
        : `Nothing is shown. ${problem.reason}`,
    remedy: problem?.remedy ?? null,
    facts: listFacts(inputs, rules),
    offers,
  }
}

/**
 * Find the product that a visit would be answered from (product.md, section 2: "When the catalog is called"). `null`: it is known
 * that no shop sells it; `undefined`: nothing is known.
 */
function findShownProduct(
  { entry, catalog, isCopyComplete, gtin }: BoxInputs,
  { config: { freshness }, nowMs }: ExplainRules,
): Product | null | undefined {
  const catalogProduct = findCatalogProduct(catalog)
  const fallback = isCopyComplete || !isCheckDigitValid(gtin) ? null : catalogProduct
  if (entry === undefined) return fallback
  const { product, asOfMs } = entry
  if (product === null)
    return isWithin(asOfMs, freshness.notFoundSeconds * SECOND_MS, nowMs) ? null : fallback
  switch (classifyAge(asOfMs, nowMs, freshness)) {
    case 'gone':
      return fallback
    case 'rescue':
    case 'unknown':
      return isReplacementUsable(catalogProduct, product) ? catalogProduct : product
    default:
      return product
  }
}

/** The product, `null` after a 404, `undefined` where the catalog gave no answer. */
function findCatalogProduct(catalog: CatalogLookupResult): Product | null | undefined {
  if (catalog.kind === 'product') return catalog.product
  return catalog.kind === 'not-found' ? null : undefined
}

/** A reply whose offers are all malformed never replaces usable ones. */
function isReplacementUsable(
  catalogProduct: Product | null | undefined,
  current: Product,
): catalogProduct is Product | null {
  if (catalogProduct === undefined) return false
  return (
    catalogProduct === null ||
    catalogProduct.offers.length > 0 ||
    catalogProduct.drops === undefined ||
    current.offers.length === 0
  )
}

function findChannelProblem(
  { channelId, list, catalog }: BoxInputs,
  { config, nowMs }: ExplainRules,
): Problem | undefined {
  if (!isServed(config, channelId))
    return {
      reason: 'VITRINE_CHANNELS does not name this channel.',
      remedy: `Add its id to VITRINE_CHANNELS, or use one that is named: ${config.channels?.join(', ')}.`,
    }
  if (list === undefined)
    return {
      reason:
        'The stored copy has nothing of this catalog, and the catalog has not said yet which channels there are.',
      remedy: getFailureRemedy(catalog),
    }
  if (listVisibleChannels(list, nowMs, config.freshness).some(({ id }) => id === channelId)) return undefined
  if (list.channels.length === 0)
    return { reason: 'The catalog lists no channel for this key.', remedy: getNoChannelsRemedy(config) }
  return {
    reason: list.gone.some(({ channel }) => channel.id === channelId)
      ? CHANNEL_GONE_REASON
      : 'The catalog lists no channel of this id.',
    remedy: `Use a channel that it lists: ${list.channels.map(({ name, id }) => `${name} (${id})`).join(', ')}.`,
  }
}

/** What to do about a key that has no channels. */
export function getNoChannelsRemedy({ catalog }: Config): string {
  return catalog.kind === 'embedded'
    ? 'Make a channel in the catalog, or import a feed: vitrine catalog import FILE'
    : 'Check that VITRINE_CATALOG_KEY belongs to the organization that has the channel, and that the channel still exists.'
}

function findProductProblem(
  inputs: BoxInputs,
  rules: ExplainRules,
  product: Product | null | undefined,
): Problem | undefined {
  const { catalog, gtin } = inputs
  if (product === undefined)
    return {
      reason: 'Nothing is known of this product, and the catalog gave no answer.',
      remedy: getFailureRemedy(catalog),
    }
  if (product === null) return explainMissingProduct(inputs, rules)
  if (selectOffers(product.offers, rules.options).length > 0) return undefined
  const reason = explainHiddenBox(gtin, product, rules)
  if (product.offers.length > 0)
    return { reason, remedy: 'Take what hides them out of the address or the settings, or change it.' }
  return {
    reason,
    remedy:
      product.drops === undefined
        ? 'Approve a shop that sells it for this channel, or import its feed; then run "vitrine sync".'
        : 'Have the catalog or the feed behind it corrected (a price is written 12.50, a link begins with https://); then run "vitrine sync".',
  }
}

/** Nobody sells it, or so it seems: the most likely cause first. */
function explainMissingProduct({ gtin, state, entry, catalog }: BoxInputs, { nowMs }: ExplainRules): Problem {
  const corrected = findCorrectedGtin(gtin)
  if (corrected !== undefined)
    return {
      reason: `The last digit of the GTIN ${gtin} is wrong: is it mistyped?`,
      remedy: `With the check digit ${corrected.slice(-1)} it is ${corrected}.`,
    }
  const lastWalk = formatLastWalk(state, nowMs)
  const isInCatalog = catalog.kind === 'product'
  const syncRemedy = isInCatalog ? 'The catalog has this product now: run "vitrine sync".' : null
  if (state.currentWalk > 0 && state.productCount === 0)
    return {
      reason: `The stored copy of this channel is empty: ${lastWalk} found no product at all.`,
      remedy:
        syncRemedy ?? 'Find out why the catalog lists no product for this channel; then run "vitrine sync".',
    }
  if (syncRemedy !== null)
    return { reason: `The stored copy lacks this product: ${lastWalk} did not find it.`, remedy: syncRemedy }
  return {
    reason:
      catalog.kind === 'not-found' || entry !== undefined
        ? 'The catalog says that no shop of this channel sells this product (404).'
        : `No shop of this channel sells this product: ${lastWalk} did not find it.`,
    remedy: 'Approve a shop that sells it for this channel, or import its feed; then run "vitrine sync".',
  }
}

function formatLastWalk({ completedAtMs }: CopyState, nowMs: number): string {
  if (completedAtMs === null || isFuture(completedAtMs, nowMs)) return 'the last walk'
  return `the walk of ${formatTime(completedAtMs, 'en')}`
}

function getFailureRemedy(catalog: CatalogLookupResult): string {
  const remedy = catalog.kind === 'failed' ? catalog.remedy : null
  return remedy ?? '"vitrine check" says what is wrong with catalog and key.'
}

/** What is known, from when, in the order in which a visit asks for it. The labels are always the same. */
function listFacts(inputs: BoxInputs, rules: ExplainRules) {
  return [
    { label: 'Channel', value: describeChannel(inputs, rules) },
    { label: 'GTIN', value: describeGtin(inputs.gtin) },
    { label: 'Stored copy of the channel', value: describeCopy(inputs.state, rules) },
    { label: 'Product in the copy', value: describeEntry(inputs, rules) },
    { label: 'Catalog now', value: describeCatalog(inputs) },
    { label: 'Options that filter', value: describeOptions(rules) },
  ]
}

function describeChannel({ channelId, list }: BoxInputs, { nowMs }: ExplainRules): string {
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
  const { completedAtMs, failure, failedAtMs, held } = state
  const failedAt = failedAtMs === null ? '' : `, ${formatPastTime(failedAtMs, nowMs)}`
  const drops = describeDrops(state.drops)
  return [
    completedAtMs === null
      ? 'not walked yet'
      : `${pluralize(state.productCount, 'product')}, ${formatCount(state.dealCount, 'en')} with a deal, ${formatWalkTime(completedAtMs, nowMs)}`,
    ...(drops.length === 0 ? [] : [`left out of it: ${drops.join(', ')}`]),
    ...(held === null
      ? []
      : [
          `a walk is held ${formatSince(held.sinceMs, nowMs)}, because ${describeHold(held, state.productCount)}`,
          '"vitrine sync --accept" takes it',
        ]),
    ...(failure === null ? [] : [`the last walk failed with ${failure}${failedAt}`]),
  ].join('; ')
}

const AGE_DESCRIPTIONS = {
  fresh: 'fresh',
  stale: 'shown at once and refreshed behind',
  rescue: 'shown when the catalog gives no better answer',
  gone: 'too old to be shown',
  unknown: 'refreshed at once, and shown without prices until then',
} as const

function arePricesTooOld(
  { asOfMs }: CopyEntry,
  { nowMs, config: { priceMaxAgeSeconds } }: ExplainRules,
): boolean {
  return !isPriceShown(asOfMs, { nowMs, priceMaxAgeSeconds })
}

function describeEntry({ entry, isCopyComplete }: BoxInputs, rules: ExplainRules): string {
  const { config, nowMs } = rules
  if (entry === undefined)
    return isCopyComplete ? 'not in it, and the copy is complete: a visit makes no call' : 'not in it'
  const seen = isFuture(entry.asOfMs, nowMs)
    ? TIME_UNKNOWN
    : `${formatTime(entry.asOfMs, 'en')}, ${formatAge(Math.max(0, nowMs - entry.asOfMs))} ago`
  if (entry.product === null) return `remembered as sold by no shop since ${seen}`
  const { title, offers, drops } = entry.product
  return [
    `${title}: ${pluralize(offers.length, 'offer')}, seen ${seen} (${AGE_DESCRIPTIONS[classifyAge(entry.asOfMs, nowMs, config.freshness)]})`,
    ...(drops === undefined ? [] : [`malformed: ${describeDrops(drops).join(', ')}`]),
    ...(arePricesTooOld(entry, rules)
      ? ['its prices are too old to be shown (VITRINE_PRICE_MAX_AGE_SECONDS), or of unknown age']
      : []),
  ].join('; ')
}

function describeCatalog({ catalog }: BoxInputs): string {
  switch (catalog.kind) {
    case 'product': {
      const { offers, drops } = catalog.product
      const malformed = drops === undefined ? '' : `; malformed: ${describeDrops(drops).join(', ')}`
      return `has the product, ${pluralize(offers.length, 'offer')}${malformed}`
    }
    case 'not-found':
      return 'says that no shop of this channel sells the product (404)'
    case 'failed':
      return catalog.text
    default:
      return `not asked: ${catalog.reason}`
  }
}

function describeOptions({ options, defaults, ignored }: ExplainRules): string {
  const activeFilters = listFilters(options).map((filter) => formatFilter(filter, options, defaults))
  const unknown = ignored.length === 0 ? '' : `; ignored, as it is no option of a box: ${ignored.join(', ')}`
  return `${activeFilters.length === 0 ? 'none' : activeFilters.join(', ')}${unknown}`
}

/** Every offer of a product with what a box does with it, those that are shown first. */
function listOfferFacts(product: Product | null, { entry }: BoxInputs, rules: ExplainRules) {
  if (product === null) return []
  const arePricesOld = product === entry?.product && arePricesTooOld(entry, rules)
  return classifyOffers(product.offers, rules.options).map((classified, _index, all) => ({
    text: describeOffer(classified.offer),
    isShown: classified.excludedBy === null,
    outcome: describeOutcome(classified, rules, {
      isOld: arePricesOld,
      currency: all[0]?.offer.currency ?? '',
    }),
  }))
}

function describeOffer({ merchant, price, currency, availability, network }: Offer): string {
  return [merchant, formatPrice(price, currency, 'en'), availability, network].filter(Boolean).join(', ')
}

function describeOutcome(
  { excludedBy }: ClassifiedOffer,
  { options, defaults }: ExplainRules,
  { isOld: arePricesOld, currency }: Readonly<{ isOld: boolean; currency: string }>,
): string {
  if (excludedBy === null) return arePricesOld ? 'shown, without its price' : 'shown'
  if (excludedBy === 'better-offer') return 'left out: the same shop has a better offer'
  if (excludedBy === 'other-currency') return `left out: the box shows the offers in ${currency}`
  return `left out by ${excludedBy.map((filter) => formatFilter(filter, options, defaults)).join(' and ')}`
}
