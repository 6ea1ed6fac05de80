import type { Offer, Product } from '../catalog/contract.ts'
import { type PriceRules, createPriceCheck } from '../offers/price-age.ts'
import { isInStock } from '../offers/ranking.ts'
import type { BoxOptions, PicksOptions, Surface } from './options.ts'
import type { SelectedProduct, ShownProduct } from './picks.ts'
import type { ViewContext } from './view-parts.ts'

/** Folded offers of a box: more are not compared by any reader. */
const MAX_FOLDED_OFFERS = 50

/** Offers of a product that a round-up, or the fold of the variants, lists. */
const MAX_LISTED_SHOPS = 20

/** Bytes of the rows of one response. With its other parts, the response stays below 300 kB. */
const MAX_ROWS_BYTES = 265_000

/** Bytes of a row without its link and names, by surface. */
const ROW_BYTES: Readonly<Record<Surface, number>> = {
  fragment: 500,
  embed: 550,
  data: 550,
  mail: 2_000,
  feed: 0,
}

/** A fold that needs no more is complete, however much the others need. */
const ORDINARY_FOLD_BYTES = 16_000

/** How often a row of a box and a line of a fold print the name of the shop. */
const NAMES_PER_ROW = 4
const NAMES_PER_LINE = 2

/** Bytes of a line of a fold without link and names. */
const LINE_BYTES = 290

/** Bytes that the id of a placement, or an address for counted clicks, adds to a link. */
const LINK_BYTES = 40

type LimitContext = PriceRules & Pick<ViewContext, 'surface' | 'countedBaseUrl'>

/** Return how many offers of a product are listed if the box or round-up has no other one. */
export function countListed(
  product: SelectedProduct,
  options: BoxOptions | PicksOptions,
  context: LimitContext,
): number {
  const [shown] =
    'limit' in options ? limitBoxRows([product], options, context) : limitPicksRows([product], context)
  return shown?.offers.length ?? 0
}

/** Estimated bytes of the first row, and of each further row. `required`: rows that come before those of other lists. */
type RowCosts = Readonly<{ first: number; others: readonly number[]; required: number }>

/**
 * Choose the offers of a box and of its variants that are listed, at least one of each. The cheapest come first, so the others
 * are left out. Products that need little are never shortened for those that need much.
 */
export function limitBoxRows(
  [main, ...variants]: readonly SelectedProduct[],
  { layout, limit }: Pick<BoxOptions, 'layout' | 'limit'>,
  context: LimitContext,
): readonly ShownProduct[] {
  if (main === undefined) return []
  const isInline = layout === 'inline'
  const shown = isInline ? 1 : limit
  const folded = isInline || context.surface === 'mail' ? 0 : MAX_FOLDED_OFFERS
  const [first = 0, ...others] = main.offers
    .slice(0, shown + folded)
    .map((offer) => toRowBytes(offer, context))
  const costs = [
    { first: first + toProductBytes(main.product), others, required: shown - 1 },
    ...variants.map((variant) => toProductCosts(variant, context)),
  ]
  return toShownProducts([main, ...variants], costs, context)
}

/** Choose the offers of a round-up that are listed. */
export function limitPicksRows(
  products: readonly SelectedProduct[],
  context: LimitContext,
): readonly ShownProduct[] {
  const costs = products.map((product) => toProductCosts(product, context))
  return toShownProducts(products, costs, context)
}

function toShownProducts(
  products: readonly SelectedProduct[],
  costs: readonly RowCosts[],
  rules: PriceRules,
): readonly ShownProduct[] {
  const counts = distribute(costs)
  return products.map(({ product, asOfMs, offers }, index) => {
    // Offers in stock with a price come first.
    const second = offers[1]
    const isPriced = createPriceCheck(asOfMs, rules)
    return {
      product,
      asOfMs,
      offers: offers.slice(0, counts[index]),
      offerCount: offers.length,
      isLowestOfSeveral: second !== undefined && isInStock(second) && isPriced(second),
    }
  })
}

/** Compute the costs of a product with its first offer, and its shops in a fold, which begins with the first one again. */
function toProductCosts({ product, offers }: SelectedProduct, context: LimitContext): RowCosts {
  const [offer] = offers
  const first = toProductBytes(product) + (offer === undefined ? 0 : toRowBytes(offer, context))
  if (context.surface === 'mail') return { first, others: [], required: 0 }
  const titleBytes = toBytes(product.title)
  const [again = 0, ...lines] = offers.slice(0, MAX_LISTED_SHOPS).map(({ merchant, affiliateUrl }) => {
    const nameBytes = NAMES_PER_LINE * toBytes(merchant) + titleBytes
    return LINE_BYTES + nameBytes + toLinkBytes(affiliateUrl, context)
  })
  return { first, others: lines.map((bytes, index) => (index === 0 ? bytes + again : bytes)), required: 0 }
}

function toProductBytes({ title, images }: Product): number {
  return 3 * toBytes(title) + toBytes(images[0] ?? '')
}

function toRowBytes({ merchant, affiliateUrl }: Offer, context: LimitContext): number {
  return ROW_BYTES[context.surface] + NAMES_PER_ROW * toBytes(merchant) + toLinkBytes(affiliateUrl, context)
}

function toLinkBytes(link: string, { countedBaseUrl }: LimitContext): number {
  return LINK_BYTES + (countedBaseUrl === null ? toBytes(link) : countedBaseUrl.length)
}

/** Compute the bytes of a text in HTML. A loop, because a regular expression takes six times as long. */
function toBytes(text: string): number {
  let bytes = Buffer.byteLength(text)
  for (let index = 0; index < text.length; index += 1)
    if (isEscaped(text.charCodeAt(index))) bytes += MAX_ESCAPE_BYTES - 1
  return bytes
}

/** Whether a character is `"`, `&`, `'`, `<` or `>`. */
function isEscaped(code: number): boolean {
  return code === 0x22 || code === 0x26 || code === 0x27 || code === 0x3c || code === 0x3e
}

/** `&quot;` */
const MAX_ESCAPE_BYTES = 6

/** Return the number of rows of each list, at least one. */
function distribute(lists: readonly RowCosts[]): readonly number[] {
  let remaining = lists.reduce((rest, { first }) => rest - first, MAX_ROWS_BYTES)
  const take = (costs: readonly number[], bytes: number): number => {
    let used = 0
    const end = costs.findIndex((cost) => (used += cost) > bytes)
    const taken = end === -1 ? costs : costs.slice(0, end)
    remaining -= sum(taken)
    return taken.length
  }
  const counts = lists.map(({ others, required }) => take(others.slice(0, required), remaining))
  const rests = lists.map(({ others }, index) => ({ index, costs: others.slice(counts[index]) }))
  const needs = rests.map(({ costs }) => sum(costs)).filter((bytes) => bytes <= ORDINARY_FOLD_BYTES)
  const areOrdinaryComplete = sum(needs) <= remaining
  // From the smallest need on, each other list may use an equal share of what is left.
  const byNeed = rests.toSorted((a, b) => sum(a.costs) - sum(b.costs))
  for (const [done, { index, costs }] of byNeed.entries()) {
    const isComplete = areOrdinaryComplete && sum(costs) <= ORDINARY_FOLD_BYTES
    const allowed = isComplete ? remaining : remaining / (byNeed.length - done)
    counts[index] = (counts[index] ?? 0) + take(costs, allowed)
  }
  return counts.map((count) => 1 + count)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
