import type { BoxLayout, GridLayout } from './options.ts'
import type { BoxView, GridView } from './view-models.ts'

/** The properties of a box that determine its height. */
type BoxSize = Readonly<{
  layout: BoxLayout
  /** Visible shops. */
  shownCount: number
  /** Visible shops with a former price. */
  saleCount: number
  /** Whether there are folded shops. */
  isFolded: boolean
}>

/** The properties of a grid that determine its height. */
type GridSize = Readonly<{ layout: GridLayout; cardCount: number }>

/** The properties that the height of a widget depends on. */
export type WidgetSize = BoxSize | GridSize

/** Get the size of a view. */
export function toWidgetSize(view: BoxView | GridView): WidgetSize {
  if ('deals' in view) return { layout: view.layout, cardCount: view.deals.length }
  const { layout, offers, more } = view
  const saleCount = offers.filter(({ price }) => price !== null && price.oldPrice !== null).length
  return { layout, shownCount: offers.length, saleCount, isFolded: more.length > 0 }
}

/** Estimate a sufficient height of a widget in pixels. Very long titles and some languages need another line. */
export function estimateHeightPx(size: WidgetSize, widthPx: number): number {
  return 'cardCount' in size ? estimateGridHeightPx(size, widthPx) : estimateBoxHeightPx(size, widthPx)
}

/** Height of the line that opens the folded shops. */
const FOLD_PX = 46

/** Heights of header and notices, of a shop, and of a shop with a former price: Chromium, font Inter, three-line title. */
type BoxMeasure = Readonly<{
  minWidthPx: number
  basePx: number
  rowPx: number
  saleRowPx: number
  columns: number
}>

const NARROWEST: BoxMeasure = { minWidthPx: 0, basePx: 324, rowPx: 67, saleRowPx: 87, columns: 1 }
const NARROW_LIST: readonly BoxMeasure[] = [
  NARROWEST,
  { ...NARROWEST, minWidthPx: 340, basePx: 296 },
  { ...NARROWEST, minWidthPx: 460, basePx: 274 },
  { ...NARROWEST, minWidthPx: 560, basePx: 244 },
]

/** By layout and minimum width; the last match applies. */
const BOX_MEASURES: Readonly<Record<BoxLayout, readonly BoxMeasure[]>> = {
  list: [...NARROW_LIST, { minWidthPx: 640, basePx: 228, rowPx: 67, saleRowPx: 67, columns: 1 }],
  table: [
    ...NARROW_LIST,
    { minWidthPx: 600, basePx: 312, rowPx: 57, saleRowPx: 66, columns: 1 },
    { minWidthPx: 640, basePx: 260, rowPx: 57, saleRowPx: 66, columns: 1 },
  ],
  inline: [{ minWidthPx: 0, basePx: 56, rowPx: 0, saleRowPx: 0, columns: 1 }],
  card: [{ minWidthPx: 0, basePx: 582, rowPx: 67, saleRowPx: 88, columns: 1 }],
  button: [
    { minWidthPx: 0, basePx: 322, rowPx: 56, saleRowPx: 70, columns: 1 },
    { minWidthPx: 340, basePx: 300, rowPx: 52, saleRowPx: 68, columns: 1 },
    { minWidthPx: 560, basePx: 260, rowPx: 68, saleRowPx: 68, columns: 2 },
    { minWidthPx: 780, basePx: 260, rowPx: 68, saleRowPx: 68, columns: 3 },
  ],
}

function estimateBoxHeightPx(size: BoxSize, widthPx: number): number {
  const measures = BOX_MEASURES[size.layout]
  const measure = measures.findLast(({ minWidthPx }) => widthPx >= minWidthPx) ?? NARROWEST
  const { basePx, rowPx, saleRowPx, columns } = measure
  const shops =
    columns === 1
      ? size.saleCount * saleRowPx + (size.shownCount - size.saleCount) * rowPx
      : Math.ceil(size.shownCount / columns) * rowPx
  return basePx + shops + (size.isFolded && size.layout !== 'inline' ? FOLD_PX : 0)
}

/** From this width in pixels, header and notices of a grid need one line less. */
const WIDE_GRID_PX = 640
/** Minimum width of a card in a grid. */
const CARD_WIDTH_PX = 168
/** A carousel is always one row; on the narrowest phones its texts need two more lines. */
const CAROUSEL_PX = 574
const NARROW_CAROUSEL_PX = 606
const NARROW_CAROUSEL_BELOW_PX = 340

function estimateGridHeightPx({ layout, cardCount }: GridSize, widthPx: number): number {
  if (layout === 'carousel') return widthPx < NARROW_CAROUSEL_BELOW_PX ? NARROW_CAROUSEL_PX : CAROUSEL_PX
  const columns = Math.max(1, Math.floor(widthPx / CARD_WIDTH_PX))
  if (layout === 'list' || columns === 1) return widthPx < 560 ? 262 + cardCount * 171 : 204 + cardCount * 109
  const pictureHeightPx = 0.8 * ((widthPx - 32) / columns - 16)
  const rowPx = Math.ceil(218 + pictureHeightPx)
  return (widthPx < WIDE_GRID_PX ? 244 : 220) + Math.ceil(cardCount / columns) * rowPx
}
