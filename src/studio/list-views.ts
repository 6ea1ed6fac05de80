import type { Product } from '../catalog/contract.ts'
import type { ExplanationView, ProductExplanation } from '../explain/widgets.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { PICKS_COUNT } from '../widgets/address.ts'
import { toChange } from './changes.ts'
import type { BoxListData, ListedProduct } from './product-data.ts'
import { BOX_PRODUCT_LIMITS, type PicksList, isFull } from './product-lists.ts'
import type { StudioSelection } from './selection.ts'
import { capitalize } from '../lib/format.ts'

type ListViewOptions = Readonly<{
  selection: StudioSelection
  explanation: ExplanationView | null
  findPictureUrl(product: Product): string | null
}>

/** Build the editor of a round-up's list, and the products that can be added. `matches`: those of the search. */
export function toPicksView(
  {
    picks,
    products,
    matches,
  }: Readonly<{
    picks: PicksList
    products: readonly ListedProduct[]
    matches: readonly Product[]
  }>,
  options: ListViewOptions,
) {
  const { searchText } = options.selection
  const typedGtin = matches.length === 0 ? normalizeGtin(searchText) : undefined
  const found = matches.map((product): ListedProduct => ({ gtin: product.gtin, product }))
  const candidates = typedGtin === undefined ? found : [{ gtin: typedGtin, product: null }]
  return {
    count: `${picks.length} of ${PICKS_COUNT.max}`,
    fullNote: isFull(picks)
      ? `The list is full: a round-up has at most ${PICKS_COUNT.max} products. Remove one to add another.`
      : null,
    searchNote: candidates.length === 0 ? describeNoMatch(searchText) : null,
    searchText,
    candidates: candidates.map((candidate) => ({
      ...toProductView(candidate, options),
      isListed: picks.some(({ gtin }) => gtin === candidate.gtin),
      isClosed: isFull(picks),
      add: toChange('add', candidate.gtin),
    })),
    rows: picks.map(({ gtin, label }, index) => ({
      ...toProductView(products[index] ?? { gtin, product: null }, options),
      label,
      number: index + 1,
      up: index === 0 ? null : toChange('up', gtin),
      down: index === picks.length - 1 ? null : toChange('down', gtin),
      remove: toChange('remove', gtin),
      problem: describeProblem(options.explanation?.products[index]),
    })),
  }
}

/** Build the lists of a box's variants and stand-ins, and the products that can be added. */
export function toBoxListView(
  { product, gtin, list }: Readonly<{ product: Product | null; gtin: string; list: BoxListData }>,
  options: ListViewOptions,
) {
  const { variants, standIns, matches } = list
  const { boxSearchText } = options.selection
  const explained = options.explanation?.products ?? []
  const toRow = (one: ListedProduct) => ({
    ...toProductView(one, options),
    outcome: capitalize(explained.find((other) => other.gtin === one.gtin)?.outcome ?? ''),
    remove: one.gtin === gtin ? null : toChange('drop', one.gtin),
  })
  const count = variants.length + standIns.length
  return {
    count,
    isOpen: count > 0 || boxSearchText !== '',
    variants: variants.length === 0 ? [] : [{ gtin, product }, ...variants].map(toRow),
    standIns: standIns.map(toRow),
    searchText: boxSearchText,
    searchNote: boxSearchText !== '' && matches.length === 0 ? describeNoMatch(boxSearchText) : null,
    fullNotes: [
      ...(variants.length < BOX_PRODUCT_LIMITS.variants
        ? []
        : [`A box has at most ${BOX_PRODUCT_LIMITS.variants + 1} variants. Remove one to add another.`]),
      ...(standIns.length < BOX_PRODUCT_LIMITS.standIns
        ? []
        : [`A box has at most ${BOX_PRODUCT_LIMITS.standIns} stand-ins. Remove one to add another.`]),
    ],
    candidates: matches.map((candidate) => ({
      ...toProductView(candidate, options),
      roles: [
        toRole('Variant', {
          change: toChange('variant', candidate.gtin),
          isTaken: hasProduct(variants, candidate.gtin),
          isClosed: variants.length >= BOX_PRODUCT_LIMITS.variants,
        }),
        toRole('Stand-in', {
          change: toChange('stand-in', candidate.gtin),
          isTaken: hasProduct(standIns, candidate.gtin),
          isClosed: standIns.length >= BOX_PRODUCT_LIMITS.standIns,
        }),
      ],
    })),
  }
}

type RoleState = Readonly<{ change: string; isTaken: boolean; isClosed: boolean }>

function toRole(text: string, { change, isTaken, isClosed }: RoleState) {
  return { text, change, isTaken, isClosed: isClosed && !isTaken }
}

function hasProduct(products: readonly ListedProduct[], gtin: string): boolean {
  return products.some((one) => one.gtin === gtin)
}

/** `title` is `null` for a product that the stored copy does not have. */
function toProductView({ gtin, product }: ListedProduct, { findPictureUrl }: ListViewOptions) {
  return {
    gtin,
    title: product?.title ?? null,
    name: product?.title ?? `GTIN ${gtin}`,
    brand: product?.brand ?? null,
    imageUrl: product === null ? null : findPictureUrl(product),
  }
}

function describeProblem(explained: ProductExplanation | undefined): string {
  return explained === undefined || explained.isShown ? '' : capitalize(explained.outcome)
}

function describeNoMatch(searchText: string): string {
  return searchText === ''
    ? 'The catalog has no product for this channel.'
    : `No product of this channel matches "${searchText}".`
}
