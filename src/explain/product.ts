import type { Offer, Product } from '../catalog/contract.ts'
import { SECOND_MS, isFuture, isWithin } from '../clock.ts'
import { type Config, isServed } from '../config/config.ts'
import { classifyAge, listVisibleChannels } from '../freshness/age.ts'
import { formatAge, formatNumber, pluralize } from '../lib/format.ts'
import { findCorrectedGtin, isCheckDigitValid } from '../offers/gtin.ts'
import { findPriceProblem } from '../offers/price-age.ts'
import type { CopyState } from '../storage/store.ts'
import { describeHold, describeRetry, describeWalkFailure } from '../sync/held-walk.ts'
import { TIME_UNKNOWN, formatPastTime, formatSince, formatTime, formatWalkTime } from '../widgets/format.ts'
import {
  CHANNEL_GONE_REASON,
  describeDrops,
  explainHiddenBox,
  explainMalformedProduct,
  formatFilter,
} from '../widgets/hidden-reasons.ts'
import { listFilters } from '../widgets/offer-selection.ts'
import type { BoxInputs, CatalogLookupResult } from './inputs.ts'
import { explainHistory } from './observed-prices.ts'
import { type ExplainRules, listOfferFacts, toPriceRules } from './offers.ts'

type Problem = Readonly<{ reason: string; remedy: string }>

type Fact = Readonly<{ label: string; value: string }>

/** An offer, and whether and why it is shown. */
type OfferFact = ReturnType<typeof listOfferFacts>[number]

/** What is known about a product, and why it is shown or not. */
export type ProductFacts = Readonly<{
  gtin: string
  /** `null` if it is not known. */
  title: string | null
  /** `false`: nothing is known about it, so a shop may sell it. */
  isKnown: boolean
  /** Why it is not shown; `null`: it is shown. */
  problem: Problem | null
  /** Why no product of the channel is shown; `null`: no such reason. */
  channelProblem: Problem | null
  /** Of the channel, and of the filters of the widget. */
  widgetFacts: readonly Fact[]
  productFacts: readonly Fact[]
  offers: readonly OfferFact[]
}>

/** Explain why a product is shown or not, by the rules of a request for a widget with it. */
export function explainProduct(inputs: BoxInputs, rules: ExplainRules): ProductFacts {
  const product = findShownProduct(inputs, rules)
  // What the copy knows of a product that is not shown.
  const known = product ?? inputs.entry?.product ?? null
  const channelProblem = findChannelProblem(inputs, rules) ?? null
  const offers = listOfferFacts(known, inputs, rules)
  return {
    gtin: inputs.gtin,
    title: known === null ? null : known.title,
    isKnown: product !== undefined,
    problem: channelProblem ?? findProductProblem(inputs, rules, { product, offers }) ?? null,
    channelProblem,
    widgetFacts: [
      { label: 'Channel', value: describeChannel(inputs, rules) },
      { label: 'Stored copy of the channel', value: describeCopy(inputs.state, rules) },
      { label: 'Filters', value: describeOptions(rules) },
    ],
    productFacts: listProductFacts(inputs, rules, product?.offers ?? []),
    offers,
  }
}

function listProductFacts(inputs: BoxInputs, rules: ExplainRules, offers: readonly Offer[]): readonly Fact[] {
  return [
    { label: 'GTIN', value: describeGtin(inputs.gtin) },
    { label: 'Product in the copy', value: describeEntry(inputs, rules) },
    { label: 'Catalog now', value: describeCatalog(inputs) },
    ...describeHistory(offers, rules),
  ]
}

/** A round-up has no observed prices. */
function describeHistory(offers: readonly Offer[], rules: ExplainRules): readonly Fact[] {
  const { options } = rules
  return 'history' in options
    ? [{ label: 'Observed prices', value: explainHistory(offers, { ...rules, options }) }]
    : []
}

/** Find the product that a response would be built from. `null`: no shop sells it; `undefined`: nothing is known. */
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

/** Return the product, `null` after a 404, `undefined` without a catalog response. */
function findCatalogProduct(catalog: CatalogLookupResult): Product | null | undefined {
  if (catalog.kind === 'product') return catalog.product
  return catalog.kind === 'not-found' ? null : undefined
}

/** A catalog response whose offers are all malformed never replaces usable offers. */
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
      remedy: `Add its id to VITRINE_CHANNELS, or use a channel that it names: ${config.channels?.join(', ')}.`,
    }
  if (list === undefined)
    return {
      reason:
        'The stored copy has no data of this catalog, and the catalog has not sent its list of channels yet.',
      remedy: getFailureRemedy(catalog),
    }
  if (listVisibleChannels(list, nowMs, config.freshness).some(({ id }) => id === channelId)) return undefined
  if (list.channels.length === 0)
    return { reason: 'The catalog lists no channel for this key.', remedy: getNoChannelsRemedy(config) }
  return {
    reason: list.gone.some(({ channel }) => channel.id === channelId)
      ? CHANNEL_GONE_REASON
      : 'The catalog lists no channel with this id.',
    remedy: `Use a listed channel: ${list.channels.map(({ name, id }) => `${name} (${id})`).join(', ')}.`,
  }
}

export function getNoChannelsRemedy({ catalog }: Config): string {
  return catalog.kind === 'embedded'
    ? 'Create a channel in the catalog, or import a feed: vitrine catalog import FILE'
    : 'Check that VITRINE_CATALOG_KEY belongs to the organization of the channel, and that the channel still exists.'
}

function findProductProblem(
  inputs: BoxInputs,
  rules: ExplainRules,
  { product, offers }: Readonly<{ product: Product | null | undefined; offers: readonly OfferFact[] }>,
): Problem | undefined {
  const { catalog, gtin } = inputs
  if (product === undefined)
    return {
      reason: `Nothing is known about this product, and the catalog ${catalog.kind === 'failed' ? catalog.text : 'did not respond'}.`,
      remedy: getFailureRemedy(catalog),
    }
  if (product === null) return explainMissingProduct(inputs, rules)
  if (offers.some((offer) => offer.isShown)) return undefined
  const reason = explainHiddenBox(gtin, product, rules)
  if (product.offers.length > 0)
    return { reason, remedy: 'Remove or change the option or the setting that hides them.' }
  return {
    reason,
    remedy:
      product.drops === undefined
        ? 'Approve a shop that sells it for this channel, or import its feed; then run "vitrine sync".'
        : 'Correct the catalog or its feed (a price has the form 12.50, a link begins with https://); then run "vitrine sync".',
  }
}

const MALFORMED_REMEDY = 'Correct this product in the catalog; then run "vitrine sync".'

function explainMissingProduct(inputs: BoxInputs, rules: ExplainRules): Problem {
  const { malformed, catalog } = inputs
  const hasResponse = catalog.kind === 'product' || catalog.kind === 'not-found'
  return malformed === undefined || hasResponse
    ? explainUnsoldProduct(inputs, rules)
    : { reason: explainMalformedProduct(malformed), remedy: MALFORMED_REMEDY }
}

function explainUnsoldProduct({ gtin, state, entry, catalog }: BoxInputs, { nowMs }: ExplainRules): Problem {
  const corrected = findCorrectedGtin(gtin)
  if (corrected !== undefined)
    return {
      reason: `The check digit (last digit) of the GTIN ${gtin} is wrong.`,
      remedy: `Check it for a typing error. With the correct check digit it is ${corrected}.`,
    }
  const lastWalk = formatLastWalk(state, nowMs)
  const isInCatalog = catalog.kind === 'product'
  const syncRemedy = isInCatalog ? 'The catalog has this product now: run "vitrine sync".' : null
  if (state.currentWalk > 0 && state.productCount === 0)
    return {
      reason: `The stored copy of this channel is empty: ${lastWalk} found no product at all.`,
      remedy:
        syncRemedy ??
        'Import a feed, or find out why the catalog lists no product for this channel; then run "vitrine sync".',
    }
  if (syncRemedy !== null)
    return { reason: `The stored copy lacks this product: ${lastWalk} did not find it.`, remedy: syncRemedy }
  return {
    reason:
      catalog.kind === 'not-found' || entry !== undefined
        ? 'The catalog responded that no shop of this channel sells this product (404).'
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
  return remedy ?? 'Run "vitrine check" to find out what is wrong with the catalog or the key.'
}

function describeChannel({ channelId, list }: BoxInputs, { nowMs }: ExplainRules): string {
  const listed = list?.channels.find(({ id }) => id === channelId)
  const gone = list?.gone.find(({ channel }) => channel.id === channelId)
  if (listed !== undefined && list !== undefined && list.heldSinceMs !== null)
    return `${listed.name}, still shown; the catalog has listed no channels ${formatSince(list.heldSinceMs, nowMs)}`
  if (listed !== undefined) return `${listed.name}, listed by the catalog`
  if (gone !== undefined)
    return `${gone.channel.name}, not listed by the catalog ${formatSince(gone.goneAtMs, nowMs)}`
  return `${channelId}, not listed by the catalog`
}

function describeGtin(gtin: string): string {
  const corrected = findCorrectedGtin(gtin)
  return corrected === undefined ? gtin : `${gtin}, wrong check digit: the correct GTIN would be ${corrected}`
}

function describeCopy(state: CopyState, { nowMs }: ExplainRules): string {
  const { completedAtMs, failure, failedAtMs, held } = state
  const failedAt = failedAtMs === null ? '' : `, ${formatPastTime(failedAtMs, nowMs)}`
  const drops = describeDrops(state.drops)
  return [
    completedAtMs === null
      ? 'not walked yet'
      : `${pluralize(state.productCount, 'product')}, ${formatNumber(state.dealCount)} with a deal, ${formatWalkTime(completedAtMs, nowMs)}`,
    ...(drops.length === 0 ? [] : [`dropped: ${drops.join(', ')}`]),
    ...(held === null
      ? []
      : [
          `a walk is held ${formatSince(held.sinceMs, nowMs)}, because ${describeHold(held, state.productCount)}`,
          '"vitrine sync --accept" makes it current',
        ]),
    ...(failure === null
      ? []
      : [`the last walk ${describeWalkFailure(failure, state.failureReason)}${failedAt}`]),
    ...(state.retry === null ? [] : [describeRetry(state.retry)]),
  ].join('; ')
}

const AGE_DESCRIPTIONS = {
  fresh: 'fresh',
  stale: 'shown at once and refreshed in the background',
  rescue: 'shown if the catalog call fails or is late',
  gone: 'too old to show',
  unknown: 'of unknown age: refreshed at once, shown without prices until then',
} as const

/** Whether no price of the product is recent enough to be shown. */
function arePricesTooOld({ offers }: Product, asOfMs: number, rules: ExplainRules): boolean {
  const problems = offers.map((offer) => findPriceProblem({ offer, asOfMs }, toPriceRules(rules)))
  return problems.every((problem) => problem === 'too-old' || problem === 'unknown-age')
}

function describeEntry({ entry, isCopyComplete }: BoxInputs, rules: ExplainRules): string {
  const { config, nowMs } = rules
  if (entry === undefined)
    return isCopyComplete
      ? 'not in the copy; the copy is complete, so requests make no catalog call'
      : 'not in the copy'
  const seen = isFuture(entry.asOfMs, nowMs)
    ? TIME_UNKNOWN
    : `${formatTime(entry.asOfMs, 'en')}, ${formatAge(Math.max(0, nowMs - entry.asOfMs))} ago`
  if (entry.product === null) return `known as sold by no shop (404), seen ${seen}`
  const { title, offers, drops } = entry.product
  return [
    `${title}: ${pluralize(offers.length, 'offer')}, seen ${seen} (${AGE_DESCRIPTIONS[classifyAge(entry.asOfMs, nowMs, config.freshness)]})`,
    ...(drops === undefined ? [] : [`malformed: ${describeDrops(drops).join(', ')}`]),
    ...(offers.length > 0 && arePricesTooOld(entry.product, entry.asOfMs, rules)
      ? ['its prices are too old to show (VITRINE_PRICE_MAX_AGE_SECONDS) or of unknown age']
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
      return 'responded that no shop of this channel sells the product (404)'
    case 'failed':
      return catalog.text
    default:
      return `not called: ${catalog.reason}`
  }
}

function describeOptions({ options, defaults, ignoredParameters }: ExplainRules): string {
  const activeFilters = listFilters(options).map((filter) => formatFilter(filter, options, defaults))
  const unknown =
    ignoredParameters.length === 0
      ? ''
      : `; ignored (not an option of a box): ${ignoredParameters.join(', ')}`
  return `${activeFilters.length === 0 ? 'none' : activeFilters.join(', ')}${unknown}`
}
