import type { Channel, Product } from '../catalog/contract.ts'
import { SECOND_MS, isFuture, isWithin } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { ChannelList, CopyEntry, CopyState } from '../storage/store.ts'
import { pluralize } from '../lib/plural.ts'
import { judgeAge, listShown } from '../freshness/age.ts'
import { findCorrectedGtin, isCheckDigitRight } from '../offers/gtin.ts'
import { formatTime } from '../widgets/format.ts'
import { GONE_REASON, explainHiddenBox } from '../widgets/hidden-reasons.ts'
import { selectOffers } from '../widgets/offer-choice.ts'
import type { CommonOptions, OptionDefaults } from '../widgets/options.ts'
import type { ExplanationView } from './views.ts'
import { listFacts, listOfferFacts } from './explain-facts.ts'

/** What the catalog says of the product now, or why it was not asked. */
export type CatalogAnswer =
  | Readonly<{ kind: 'product'; product: Product }>
  | Readonly<{ kind: 'absent' }>
  | Readonly<{ kind: 'failed'; text: string; remedy: string | null }>
  | Readonly<{ kind: 'not-asked'; why: string }>

/** Everything that a box depends on beside its options. */
export type Known = Readonly<{
  channelId: string
  /** 14 digits. */
  gtin: string
  /** `undefined`: no list was ever fetched. */
  list: ChannelList | undefined
  state: CopyState
  entry: CopyEntry | undefined
  /** Is the last complete walk recent enough to believe that the copy knows every product? */
  isCopyComplete: boolean
  catalog: CatalogAnswer
}>

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
