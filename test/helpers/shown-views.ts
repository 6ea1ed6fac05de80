import { createShopBook } from '../../src/offers/shop-book.ts'
import { NO_SUB_RULES } from '../../src/offers/sub-ids.ts'
import {
  type DatedProduct,
  selectProduct,
  limitBoxRows,
  limitPicksRows,
} from '../../src/widgets/offer-selection.ts'
import type { PicksOptions, BoxOptions } from '../../src/widgets/options.ts'
import * as picks from '../../src/widgets/picks.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import type { PicksView } from '../../src/widgets/picks.ts'
import type { ViewContext } from '../../src/widgets/view-parts.ts'
import * as boxes from '../../src/widgets/box.ts'
import { NOON_MS } from './harness.ts'

/** A fragment in English at noon, without a shop file. */
export const VIEW_CONTEXT: ViewContext = {
  publicUrl: 'https://widgets.example',
  stylePath: '/assets/vitrine.00000000.css',
  disclosure: { kind: 'locale' },
  timeZone: 'UTC',
  shops: createShopBook([]),
  priceMaxAgeSeconds: 3_600,
  nowMs: NOON_MS,
  surface: 'fragment',
  subRules: NO_SUB_RULES,
  countedBaseUrl: null,
}

type Given<Data> = Omit<Data, 'offers' | 'offerCount' | 'isLowestOfSeveral' | 'variants'> & DatedProduct

type BoxData = Given<Parameters<typeof boxes.toBoxView>[0]> & Readonly<{ variants?: readonly DatedProduct[] }>

/** Select the offers of a product, then build its box; `undefined` when no offer is left. */
export function toBoxView(
  { variants = [], ...data }: BoxData,
  options: BoxOptions,
  viewContext: ViewContext,
): BoxView | undefined {
  const shown = selectProduct(data, options, viewContext)
  const shownVariants = variants.flatMap((one) => selectProduct(one, options, viewContext) ?? [])
  if (shown === undefined) return undefined
  const [main, ...listedVariants] = limitBoxRows([shown, ...shownVariants], options, viewContext)
  return main && boxes.toBoxView({ ...data, ...main, variants: listedVariants }, options, viewContext)
}

/** Select the offers of a product, then build the view of its observed prices. */
export function toBoxHistory(
  data: Given<Parameters<typeof boxes.toBoxHistory>[0]>,
  options: BoxOptions,
  viewContext: ViewContext,
): ReturnType<typeof boxes.toBoxHistory> {
  const shown = selectProduct(data, options, viewContext)
  return shown === undefined ? null : boxes.toBoxHistory({ ...data, ...shown }, options, viewContext)
}

/** Select the offers of products, then build their round-up; `undefined` when no product is left. */
export function toPicksView(
  products: readonly (DatedProduct & Readonly<{ label: string | null }>)[],
  options: PicksOptions,
  viewContext: ViewContext,
): PicksView | undefined {
  const shown = products.flatMap(({ label, ...dated }) => {
    const one = selectProduct(dated, options, viewContext)
    return one === undefined ? [] : [{ ...one, label }]
  })
  const listed = limitPicksRows(shown, viewContext)
  const labelled = listed.map((one, index) => ({ ...one, label: shown[index]?.label ?? null }))
  return picks.toPicksView(labelled, options, viewContext)
}
