import type { Offer, Product } from '../catalog/contract.ts'
import { SECOND_MS, isFuture, isWithin } from '../clock.ts'
import { type Config, isServed } from '../config/config.ts'
import { judgeAge, listShown } from '../freshness/age.ts'
import { pluralize } from '../lib/plural.ts'
import { findCorrectedGtin, isCheckDigitRight } from '../offers/gtin.ts'
import type { CopyEntry, CopyState } from '../storage/store.ts'
import { describeHold } from '../sync/held-walk.ts'
import {
  TIME_UNKNOWN,
  formatCount,
  formatPrice,
  formatSince,
  formatTime,
  formatWalked,
  formatWhen,
} from '../widgets/format.ts'
import { GONE_REASON, describeDrops, explainHiddenBox, formatFilter } from '../widgets/hidden-reasons.ts'
import { type JudgedOffer, judgeOffers, listFilters, selectOffers } from '../widgets/offer-choice.ts'
import type { CommonOptions, OptionDefaults } from '../widgets/options.ts'
import { isPriceShown } from '../widgets/presentation.ts'
import { formatAge } from './health.ts'
import type { CatalogAnswer, Known } from './known.ts'

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
type Fault = Readonly<{ reason: string; remedy: string }>

/** Why a box shows what it shows, or nothing. */
export type ExplanationView = ReturnType<typeof explainBox>

/** Explain by the rules of a visit why a box shows what it shows, or nothing. `remedy` is `null` when a box is shown. */
export function explainBox(known: Known, rules: ExplainRules) {
  const product = findShownProduct(known, rules)
  const fault = findChannelFault(known, rules) ?? explainNothing(known, rules, product)
  const offers = listOfferFacts(product ?? known.entry?.product ?? null, known, rules)
  const shownCount = offers.filter(({ isShown }) => isShown).length
  return {
    isShown: fault === undefined,
    verdict:
      fault === undefined
        ? `A box is shown: ${pluralize(shownCount, 'offer')}.`
        : `Nothing is shown. ${fault.reason}`,
    remedy: fault?.remedy ?? null,
    facts: listFacts(known, rules),
    offers,
  }
}

/**
 * Find the product that a visit would be answered from (product.md, section 2: "When the catalog is called"). `null`: it is known
 * that no shop sells it; `undefined`: nothing is known.
 */
function findShownProduct(
  { entry, catalog, isCopyComplete, gtin }: Known,
  { config: { freshness }, nowMs }: ExplainRules,
): Product | null | undefined {
  const reply = findReply(catalog)
  const unknown = isCopyComplete || !isCheckDigitRight(gtin) ? null : reply
  if (entry === undefined) return unknown
  const { product, asOfMs } = entry
  if (product === null) return isWithin(asOfMs, freshness.notFoundSeconds * SECOND_MS, nowMs) ? null : unknown
  switch (judgeAge(asOfMs, nowMs, freshness)) {
    case 'gone':
      return unknown
    case 'rescue':
    case 'unknown':
      return isUsable(reply, product) ? reply : product
    default:
      return product
  }
}

/** The product, `null` after a 404, `undefined` where the catalog gave no answer. */
function findReply(catalog: CatalogAnswer): Product | null | undefined {
  if (catalog.kind === 'product') return catalog.product
  return catalog.kind === 'absent' ? null : undefined
}

/** A reply whose offers are all malformed never replaces usable ones. */
function isUsable(reply: Product | null | undefined, known: Product): reply is Product | null {
  if (reply === undefined) return false
  return reply === null || reply.offers.length > 0 || reply.drops === undefined || known.offers.length === 0
}

function findChannelFault(
  { channelId, list, catalog }: Known,
  { config, nowMs }: ExplainRules,
): Fault | undefined {
  if (!isServed(config, channelId))
    return {
      reason: 'VITRINE_CHANNELS does not name this channel.',
      remedy: `Add its id to VITRINE_CHANNELS, or use one that is named: ${config.channels?.join(', ')}.`,
    }
  if (list === undefined)
    return {
      reason:
        'The stored copy has nothing of this catalog, and the catalog has not said yet which channels there are.',
      remedy: adviseOnFailure(catalog),
    }
  if (listShown(list, nowMs, config.freshness).some(({ id }) => id === channelId)) return undefined
  if (list.channels.length === 0)
    return { reason: 'The catalog lists no channel for this key.', remedy: adviseNoChannels(config) }
  return {
    reason: list.gone.some(({ channel }) => channel.id === channelId)
      ? GONE_REASON
      : 'The catalog lists no channel of this id.',
    remedy: `Use a channel that it lists: ${list.channels.map(({ name, id }) => `${name} (${id})`).join(', ')}.`,
  }
}

/** What to do about a key that has no channels. */
export function adviseNoChannels({ catalog }: Config): string {
  return catalog.kind === 'embedded'
    ? 'Make a channel in the catalog, or import a feed: vitrine catalog import FILE'
    : 'Check that VITRINE_CATALOG_KEY belongs to the organization that has the channel, and that the channel still exists.'
}

function explainNothing(
  known: Known,
  rules: ExplainRules,
  product: Product | null | undefined,
): Fault | undefined {
  const { catalog, gtin } = known
  if (product === undefined)
    return {
      reason: 'Nothing is known of this product, and the catalog gave no answer.',
      remedy: adviseOnFailure(catalog),
    }
  if (product === null) return explainAbsent(known, rules)
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
function explainAbsent({ gtin, state, entry, catalog }: Known, { nowMs }: ExplainRules): Fault {
  const corrected = findCorrectedGtin(gtin)
  if (corrected !== undefined)
    return {
      reason: `The last digit of the GTIN ${gtin} is wrong: is it mistyped?`,
      remedy: `With the check digit ${corrected.slice(-1)} it is ${corrected}.`,
    }
  const walk = nameWalk(state, nowMs)
  const isThere = catalog.kind === 'product'
  const again = isThere ? 'The catalog has this product now: run "vitrine sync".' : null
  if (state.currentWalk > 0 && state.productCount === 0)
    return {
      reason: `The stored copy of this channel is empty: ${walk} found no product at all.`,
      remedy: again ?? 'Find out why the catalog lists no product for this channel; then run "vitrine sync".',
    }
  if (again !== null)
    return { reason: `The stored copy lacks this product: ${walk} did not find it.`, remedy: again }
  return {
    reason:
      catalog.kind === 'absent' || entry !== undefined
        ? 'The catalog says that no shop of this channel sells this product (404).'
        : `No shop of this channel sells this product: ${walk} did not find it.`,
    remedy: 'Approve a shop that sells it for this channel, or import its feed; then run "vitrine sync".',
  }
}

function nameWalk({ completedAtMs }: CopyState, nowMs: number): string {
  if (completedAtMs === null || isFuture(completedAtMs, nowMs)) return 'the last walk'
  return `the walk of ${formatTime(completedAtMs, 'en')}`
}

function adviseOnFailure(catalog: CatalogAnswer): string {
  const remedy = catalog.kind === 'failed' ? catalog.remedy : null
  return remedy ?? '"vitrine check" says what is wrong with catalog and key.'
}

/** What is known, from when, in the order in which a visit asks for it. The labels are always the same. */
function listFacts(known: Known, rules: ExplainRules) {
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
  const { completedAtMs, failure, failedAtMs, held } = state
  const failedAt = failedAtMs === null ? '' : `, ${formatWhen(failedAtMs, nowMs)}`
  const drops = describeDrops(state.drops)
  return [
    completedAtMs === null
      ? 'not walked yet'
      : `${pluralize(state.productCount, 'product')}, ${formatCount(state.dealCount, 'en')} with a deal, ${formatWalked(completedAtMs, nowMs)}`,
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

const AGE_WORDS = {
  fresh: 'fresh',
  stale: 'shown at once and refreshed behind',
  rescue: 'shown when the catalog gives no better answer',
  gone: 'too old to be shown',
  unknown: 'refreshed at once, and shown without prices until then',
} as const

function isPriceOld({ asOfMs }: CopyEntry, { nowMs, config: { priceMaxAgeSeconds } }: ExplainRules): boolean {
  return !isPriceShown(asOfMs, { nowMs, priceMaxAgeSeconds })
}

function describeEntry({ entry, isCopyComplete }: Known, rules: ExplainRules): string {
  const { config, nowMs } = rules
  if (entry === undefined)
    return isCopyComplete ? 'not in it, and the copy is complete: a visit makes no call' : 'not in it'
  const seen = isFuture(entry.asOfMs, nowMs)
    ? TIME_UNKNOWN
    : `${formatTime(entry.asOfMs, 'en')}, ${formatAge(Math.max(0, nowMs - entry.asOfMs))} ago`
  if (entry.product === null) return `remembered as sold by no shop since ${seen}`
  const { title, offers, drops } = entry.product
  return [
    `${title}: ${pluralize(offers.length, 'offer')}, seen ${seen} (${AGE_WORDS[judgeAge(entry.asOfMs, nowMs, config.freshness)]})`,
    ...(drops === undefined ? [] : [`malformed: ${describeDrops(drops).join(', ')}`]),
    ...(isPriceOld(entry, rules)
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
  const set = listFilters(options).map((filter) => formatFilter(filter, options, defaults))
  const unknown = ignored.length === 0 ? '' : `; ignored, as it is no option of a box: ${ignored.join(', ')}`
  return `${set.length === 0 ? 'none' : set.join(', ')}${unknown}`
}

/** Every offer of a product with what a box does with it, those that are shown first. */
function listOfferFacts(product: Product | null, { entry }: Known, rules: ExplainRules) {
  if (product === null) return []
  const isOld = product === entry?.product && isPriceOld(entry, rules)
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
  return `left out by ${leftOutBy.map((filter) => formatFilter(filter, options, defaults)).join(' and ')}`
}
