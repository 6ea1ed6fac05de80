import { pluralize } from '../lib/format.ts'
import { PICKS_COUNT } from '../widgets/address.ts'
import type { BoxInputs } from './inputs.ts'
import type { ExplainRules } from './offers.ts'
import { type ProductFacts, explainProduct } from './product.ts'

/** A product of a widget with several, and what became of it. */
export type ProductExplanation = Pick<ProductFacts, 'gtin' | 'title' | 'offers'> &
  Readonly<{
    /** What the product is in the widget. */
    role: string
    isShown: boolean
    outcome: string
    remedy: string | null
    facts: ProductFacts['productFacts']
  }>

/** Why a widget shows what it shows. `remedy` is `null` when it is shown. */
export type ExplanationView = Readonly<{
  isShown: boolean
  summary: string
  remedy: string | null
  facts: ProductFacts['widgetFacts']
  /** Of a single product. */
  offers: ProductFacts['offers']
  /** The products of a widget with several; otherwise empty. */
  products: readonly ProductExplanation[]
}>

/** Labels of facts, in the order in which a request reads them. */
const FACT_ORDER = [
  'Channel',
  'GTIN',
  'Stored copy of the channel',
  'Product in the copy',
  'Catalog now',
  'Filters',
  'Observed prices',
]

/** Explain a box with one product. */
export function explainBox(inputs: BoxInputs, rules: ExplainRules): ExplanationView {
  const product = explainProduct(inputs, rules)
  const { problem, widgetFacts, productFacts, offers } = product
  return {
    isShown: problem === null,
    summary:
      problem === null ? `A box is shown: ${countOffers(product)}.` : `Nothing is shown. ${problem.reason}`,
    remedy: problem?.remedy ?? null,
    facts: [...widgetFacts, ...productFacts].toSorted(
      (a, b) => FACT_ORDER.indexOf(a.label) - FACT_ORDER.indexOf(b.label),
    ),
    offers,
    products: [],
  }
}

/** The inputs of a box with variants, the chosen product first, and of its stand-ins. */
export type BoxProductInputs = Readonly<{ variants: readonly BoxInputs[]; standIns: readonly BoxInputs[] }>

/** Explain a box: which of its products is shown, and why. */
export function explainBoxProducts(inputs: BoxProductInputs, rules: ExplainRules): ExplanationView {
  const [main, ...others] = inputs.variants
  if (main !== undefined && others.length === 0 && inputs.standIns.length === 0)
    return explainBox(main, rules)
  const variants = inputs.variants.map((one) => explainProduct(one, rules))
  const standIns = inputs.standIns.map((one) => explainProduct(one, rules))
  const first = variants.find(isShown)
  const isUnknown = variants.some(({ isKnown }) => !isKnown)
  const standIn = first !== undefined || isUnknown ? undefined : standIns.find(isShown)
  const isInline = rules.options.layout === 'inline'
  const products = [
    ...variants.map((one, index) => ({
      ...toExplanation(one, index === 0 ? 'product' : 'variant'),
      isShown: isShown(one) && !(isInline && one !== first),
      outcome: describeVariant(one, { isFirst: one === first, isInline }),
    })),
    ...standIns.map((one) => ({
      ...toExplanation(one, 'stand-in'),
      isShown: one === standIn,
      outcome: describeStandIn(one, { standIn, isSold: first !== undefined, isUnknown }),
    })),
  ]
  return toView(variants, products, summarizeBox(first, standIn, variants))
}

/** Explain a round-up: which of its products are shown, and why others are not. */
export function explainPicks(inputs: readonly BoxInputs[], rules: ExplainRules): ExplanationView {
  const found = inputs.map((one) => explainProduct(one, rules))
  const shownCount = found.filter(isShown).length
  const products = found.map((one, index) => ({
    ...toExplanation(one, `number ${index + 1}`),
    outcome: one.problem === null ? `shown with ${countOffers(one)}` : `not shown. ${one.problem.reason}`,
  }))
  const summary =
    shownCount === 0
      ? null
      : found.length < PICKS_COUNT.min
        ? `A round-up needs at least ${PICKS_COUNT.min} products.`
        : `A round-up is shown: ${shownCount} of ${pluralize(found.length, 'product')}, in your order.`
  return toView(found, products, summary)
}

/** `summary`: `null` when nothing is shown. */
function toView(
  found: readonly ProductFacts[],
  products: readonly ProductExplanation[],
  summary: string | null,
): ExplanationView {
  const problem = found[0]?.channelProblem ?? null
  return {
    isShown: summary !== null,
    summary: summary ?? `Nothing is shown. ${problem?.reason ?? 'The reason of each product is below.'}`,
    remedy: problem?.remedy ?? null,
    facts: found[0]?.widgetFacts ?? [],
    offers: [],
    products,
  }
}

function toExplanation(one: ProductFacts, role: string) {
  const { gtin, title, offers, problem, productFacts } = one
  return {
    gtin,
    title,
    role,
    isShown: problem === null,
    remedy: problem?.remedy ?? null,
    // The view "Prices" has those of the chosen product.
    facts: productFacts.filter(({ label }) => label !== 'Observed prices'),
    offers,
  }
}

function summarizeBox(
  first: ProductFacts | undefined,
  standIn: ProductFacts | undefined,
  [main]: readonly ProductFacts[],
): string | null {
  const shown = first ?? standIn
  if (shown === undefined) return null
  const text = `A box is shown: ${countOffers(shown)} of ${toName(shown)}`
  if (standIn !== undefined) return `${text}, which stands in for ${main === undefined ? '' : toName(main)}.`
  return first === main ? `${text}.` : `${text}, the first variant with an offer to show.`
}

function describeVariant(
  one: ProductFacts,
  { isFirst, isInline }: Readonly<{ isFirst: boolean; isInline: boolean }>,
): string {
  if (one.problem !== null) return `not shown. ${one.problem.reason}`
  if (isFirst) return `shown, because it is the first with an offer to show: ${countOffers(one)}`
  if (isInline) return 'not shown: the layout inline shows one product'
  return `shown below the first one: ${countOffers(one)}`
}

function describeStandIn(
  one: ProductFacts,
  {
    standIn,
    isSold,
    isUnknown,
  }: Readonly<{ standIn: ProductFacts | undefined; isSold: boolean; isUnknown: boolean }>,
): string {
  if (isSold) return 'not needed: the product or a variant is shown'
  if (isUnknown) return 'not used: the catalog did not respond, so a shop may sell the product itself'
  if (one.problem !== null) return `not shown. ${one.problem.reason}`
  if (one === standIn)
    return `shown instead, because it is the first stand-in with an offer to show: ${countOffers(one)}`
  return 'not needed: another stand-in is shown'
}

function isShown({ problem }: ProductFacts): boolean {
  return problem === null
}

function countOffers({ offers }: ProductFacts): string {
  return pluralize(offers.filter((offer) => offer.isShown).length, 'offer')
}

function toName({ title, gtin }: ProductFacts): string {
  return title ?? gtin
}
