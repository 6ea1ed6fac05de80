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
import { GONE_REASON, describeDrops, explainHiddenBox, nameFilter } from '../widgets/hidden-reasons.ts'
import { FILTERS, type JudgedOffer, judgeOffers, selectOffers } from '../widgets/offer-choice.ts'
import type { CommonOptions, OptionDefaults } from '../widgets/options.ts'
import { isPriceShown } from '../widgets/presentation.ts'
import { formatAge } from './health.ts'
import type { CatalogAnswer, Known } from './known.ts'
import type { ExplanationView } from './views.ts'

/** By what rules a box is made. */
export type ExplainRules = Readonly<{
  options: CommonOptions
  defaults: OptionDefaults
  /** Names in the address that are no option of a box. */
  ignored: readonly string[]
  config: Config
  nowMs: number
}>

/** What stands in the first line, and what to do about it. */
type Verdict = Readonly<{ reason: string; remedy: string }>

/** Why a box shows what it shows, or nothing: the same rules as a visit, told. */
export function explainBox(known: Known, rules: ExplainRules): ExplanationView {
  const product = findShownProduct(known, rules)
  const fault = findChannelFault(known, rules) ?? explainNothing(known, rules, product)
  const view = {
    facts: listFacts(known, rules),
    offers: listOfferFacts(product ?? known.entry?.product ?? null, known, rules),
  }
  if (fault !== undefined)
    return { isShown: false, verdict: `Nothing is shown. ${fault.reason}`, remedy: fault.remedy, ...view }
  const shownCount = view.offers.filter(({ isShown }) => isShown).length
  const verdict = `A box is shown: ${pluralize(shownCount, 'offer')}.`
  return { isShown: true, verdict, remedy: null, ...view }
}

/**
 * The product that a visit would be answered from (product.md, section 2: "When the catalog is called"); `null`: it is known that no
 * shop sells it; `undefined`: nothing is known.
 */
function findShownProduct(known: Known, { config, nowMs }: ExplainRules): Product | null | undefined {
  const { entry } = known
  const said = findSaid(known.catalog)
  if (entry === undefined) return findUnknownProduct(known, said)
  const { product, asOfMs } = entry
  if (product === null) return isRemembered(entry, config, nowMs) ? null : findUnknownProduct(known, said)
  switch (judgeAge(asOfMs, nowMs, config.freshness)) {
    case 'gone':
      return findUnknownProduct(known, said)
    case 'rescue':
    case 'unknown':
      return said === undefined || isWorse(said, product) ? product : said
    default:
      return product
  }
}

function findUnknownProduct(
  { isCopyComplete, gtin }: Known,
  said: Product | null | undefined,
): Product | null | undefined {
  return isCopyComplete || !isCheckDigitRight(gtin) ? null : said
}

/** Is "no shop sells it" believed without asking again? */
function isRemembered({ asOfMs }: CopyEntry, { freshness }: Config, nowMs: number): boolean {
  return isWithin(asOfMs, freshness.notFoundSeconds * SECOND_MS, nowMs)
}

/** The product, `null` after a 404, `undefined` where the catalog gave no answer. */
function findSaid(catalog: CatalogAnswer): Product | null | undefined {
  if (catalog.kind === 'product') return catalog.product
  return catalog.kind === 'absent' ? null : undefined
}

/** An answer whose offers are all malformed never replaces usable ones. */
function isWorse(said: Product | null, known: Product): boolean {
  return said !== null && said.offers.length === 0 && said.drops !== undefined && known.offers.length > 0
}

function findChannelFault(
  { channelId, list, catalog }: Known,
  { config, nowMs }: ExplainRules,
): Verdict | undefined {
  if (config.channels !== null && !config.channels.includes(channelId))
    return {
      reason: 'VITRINE_CHANNELS does not name this channel.',
      remedy: `Add its id to VITRINE_CHANNELS, or use one that is named: ${config.channels.join(', ')}.`,
    }
  if (list === undefined)
    return {
      reason:
        'The stored copy has nothing of this catalog, and the catalog has not said yet which channels there are.',
      remedy: catalog.kind === 'failed' ? toRemedy(catalog.remedy) : toRemedy(null),
    }
  if (listShown(list, nowMs, config.freshness).some(({ id }) => id === channelId)) return undefined
  if (list.channels.length === 0)
    return { reason: 'The catalog lists no channel for this key.', remedy: adviseNoChannels(config) }
  return {
    reason: list.gone.some(({ channel }) => channel.id === channelId)
      ? GONE_REASON
      : 'The catalog lists no channel of this id.',
    remedy: `Use a channel that it lists: ${list.channels.map(nameChannel).join(', ')}.`,
  }
}

/** What to do about a key that has no channels. */
export function adviseNoChannels({ catalog }: Config): string {
  return catalog.kind === 'embedded'
    ? 'Make a channel in the catalog, or import a feed: vitrine catalog import FILE'
    : 'Check that VITRINE_CATALOG_KEY belongs to the organization that has the channel, and that the channel still exists.'
}

/** A channel for a sentence. */
export function nameChannel({ name, id }: Channel): string {
  return `${name} (${id})`
}

function explainNothing(
  known: Known,
  rules: ExplainRules,
  product: Product | null | undefined,
): Verdict | undefined {
  const { catalog, gtin } = known
  if (product === undefined)
    return {
      reason: 'Nothing is known of this product, and the catalog gave no answer.',
      remedy: toRemedy(catalog.kind === 'failed' ? catalog.remedy : null),
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
function explainAbsent({ gtin, state, entry, catalog }: Known, { nowMs }: ExplainRules): Verdict {
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

function toRemedy(remedy: string | null): string {
  return remedy ?? '"vitrine check" says what is wrong with catalog and key.'
}

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
