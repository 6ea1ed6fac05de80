import type { BoxLayout, GridLayout, PicksLayout } from './option-list.ts'
import type { BoxOptions } from './options.ts'
import type { BoxView, GridView, PicksView } from './view-models.ts'

/** The properties of a box that determine its height. */
type BoxSize = Readonly<{
  layout: BoxLayout
  /** Visible shops. */
  shownCount: number
  /** Visible shops with a former price. */
  saleCount: number
  /** Visible shops with a line of terms. */
  termsCount: number
  /** Whether the box has only offers and disclosure. */
  isBare: boolean
  /** Whether there are folded shops. */
  isFolded: boolean
  /** What stands below the shops about observed prices. */
  history: BoxOptions['history']
}>

/** The properties of a grid that determine its height. */
type GridSize = Readonly<{ layout: GridLayout; cardCount: number }>

/** The properties of a round-up that determine its height. */
type PicksSize = Readonly<{ layout: PicksLayout; productCount: number }>

/** The properties that the height of a widget depends on. */
export type WidgetSize = BoxSize | PicksSize | GridSize

/** Get the size of a view. */
export function toWidgetSize(view: BoxView | PicksView | GridView): WidgetSize {
  if ('products' in view) return { layout: view.layout, productCount: view.products.length }
  if ('deals' in view) return { layout: view.layout, cardCount: view.deals.length }
  const { layout, offers, more, header, history } = view
  const saleCount = offers.filter(({ price }) => price !== null && price.oldPrice !== null).length
  return {
    layout,
    shownCount: offers.length,
    saleCount,
    termsCount: offers.filter(({ terms }) => terms !== null).length,
    isBare: header.head === 'none',
    isFolded: more.length > 0,
    history: history === null ? 'none' : history.chart === null ? 'note' : 'chart',
  }
}

/** Estimate a sufficient height of a widget in pixels. Very long titles and some languages need another line. */
export function estimateHeightPx(size: WidgetSize, widthPx: number): number {
  if ('cardCount' in size) return estimateGridHeightPx(size, widthPx)
  return 'productCount' in size ? estimatePicksHeightPx(size) : estimateBoxHeightPx(size, widthPx)
}

/** A line of small print. */
const LINE_PX = 20
/** From this width, a shop is one line; from the second one, the product stands beside the shops. */
const WIDE_ROW_PX = 576
const SIDE_BY_SIDE_PX = 992
/** Height of the line that opens the folded shops. */
const FOLD_PX = 46
/** Heights of the sentence about observed prices, with two lines and, from this width, with one; and of the chart. */
const HISTORY_PX = { noteLines: 58, note: 40, chart: 74 }
const ONE_LINE_PX = 440

/**
 * Heights of header and notices, of a shop, and of a shop with a former price: Chromium, font Inter, three-line title.
 * `minPx`: height of the product beside the shops.
 */
type BoxMeasure = Readonly<{
  minWidthPx: number
  basePx: number
  rowPx: number
  saleRowPx: number
  columns: number
  minPx: number
}>

const NARROWEST: BoxMeasure = {
  minWidthPx: 0,
  basePx: 268,
  rowPx: 58,
  saleRowPx: 62,
  columns: 1,
  minPx: 0,
}
const NARROW_LIST: readonly BoxMeasure[] = [
  NARROWEST,
  { ...NARROWEST, minWidthPx: 470, basePx: 224 },
  { ...NARROWEST, minWidthPx: 530, basePx: 206 },
]
const LARGE_BUTTON = { ...NARROWEST, columns: 2 }

/** By layout and minimum width; the last match applies. */
const BOX_MEASURES: Readonly<Record<BoxLayout, readonly BoxMeasure[]>> = {
  list: [
    ...NARROW_LIST,
    { ...NARROWEST, minWidthPx: WIDE_ROW_PX, basePx: 210, saleRowPx: 58 },
    { ...NARROWEST, minWidthPx: 640, basePx: 198, saleRowPx: 58 },
    { ...NARROWEST, minWidthPx: SIDE_BY_SIDE_PX, basePx: 115, saleRowPx: 58, minPx: 420 },
  ],
  table: [
    ...NARROW_LIST,
    { ...NARROWEST, minWidthPx: 600, basePx: 239, rowPx: 60, saleRowPx: 60 },
    { ...NARROWEST, minWidthPx: 640, basePx: 230, rowPx: 59, saleRowPx: 59 },
    { ...NARROWEST, minWidthPx: SIDE_BY_SIDE_PX, basePx: 156, rowPx: 61, saleRowPx: 61, minPx: 420 },
  ],
  card: [{ ...NARROWEST, basePx: 370 }],
  button: [
    { ...NARROWEST, basePx: 256, rowPx: 56, saleRowPx: 66 },
    { ...LARGE_BUTTON, minWidthPx: 608, basePx: 180, rowPx: 70 },
    { ...LARGE_BUTTON, minWidthPx: SIDE_BY_SIDE_PX, basePx: 112, rowPx: 70 },
  ],
  // One or two lines.
  inline: [{ ...NARROWEST, basePx: 56, rowPx: 0, saleRowPx: 0 }],
}

function estimateBoxHeightPx(size: BoxSize, widthPx: number): number {
  const measures = BOX_MEASURES[size.layout]
  // Without a header, nothing stands beside the shops.
  const measuredWidthPx = size.isBare ? Math.min(widthPx, SIDE_BY_SIDE_PX - 1) : widthPx
  const measure = measures.findLast(({ minWidthPx }) => measuredWidthPx >= minWidthPx) ?? NARROWEST
  const { basePx, rowPx, saleRowPx, columns, minPx } = measure
  const shops =
    columns === 1
      ? size.saleCount * saleRowPx + (size.shownCount - size.saleCount) * rowPx
      : Math.ceil(size.shownCount / columns) * rowPx
  const foldPx = size.isFolded && size.layout !== 'inline' ? FOLD_PX : 0
  const termsPx = size.termsCount * (widthPx < WIDE_ROW_PX ? 2 * LINE_PX : LINE_PX)
  const historyPx = estimateHistoryHeightPx(size, widthPx)
  return Math.max(minPx, basePx + shops + foldPx + termsPx + historyPx - estimateHeadHeightPx(size, widthPx))
}

/** The height that a box without a header saves. */
function estimateHeadHeightPx({ layout, isBare }: BoxSize, widthPx: number): number {
  if (!isBare || layout === 'inline') return 0
  if (widthPx >= WIDE_ROW_PX) return 56
  return layout === 'button' ? 68 : 80
}

function estimateHistoryHeightPx({ layout, history }: BoxSize, widthPx: number): number {
  if (history === 'none') return 0
  const isOneLine = widthPx >= ONE_LINE_PX && layout !== 'card'
  // A sentence with a chart of the height of a line.
  if (layout === 'inline') return isOneLine ? 16 : 24
  const notePx = isOneLine ? HISTORY_PX.note : HISTORY_PX.noteLines
  return history === 'chart' ? notePx + HISTORY_PX.chart : notePx
}

/**
 * Columns of a grid by minimum width, and those of other numbers of cards, as in the style sheet. Below 340 px the cards are
 * rows.
 */
const GRID_COLUMNS: readonly Readonly<{
  minWidthPx: number
  columns: number
  byCards: Readonly<Record<number, number>>
}>[] = [
  { minWidthPx: 340, columns: 2, byCards: {} },
  { minWidthPx: 512, columns: 3, byCards: { 2: 2, 4: 2 } },
  { minWidthPx: 704, columns: 4, byCards: { 3: 3, 6: 3, 9: 3 } },
  { minWidthPx: 1_088, columns: 6, byCards: { 1: 4, 2: 4, 3: 3, 4: 4, 8: 4 } },
]

/** From this width, padding and gaps are larger, and texts need fewer lines. */
const WIDE_GRID_PX = 440

/** Heights of header and notices, and of a row of the layout `list`, by minimum width. */
const ROW_MEASURES = [
  { minWidthPx: 0, basePx: 264, rowPx: 163 },
  { minWidthPx: 340, basePx: 258, rowPx: 147 },
  { minWidthPx: WIDE_GRID_PX, basePx: 200, rowPx: 121 },
  { minWidthPx: 560, basePx: 184, rowPx: 109 },
] as const

/** Heights of header and notices, and of a product of a round-up. */
const PICKS_MEASURES: Readonly<Record<PicksLayout, Readonly<{ basePx: number; productPx: number }>>> = {
  rank: { basePx: 190, productPx: 230 },
  table: { basePx: 230, productPx: 120 },
  row: { basePx: 190, productPx: 110 },
}

function estimatePicksHeightPx({ layout, productCount }: PicksSize): number {
  const { basePx, productPx } = PICKS_MEASURES[layout]
  return basePx + productCount * productPx
}

/** A carousel is always one row; on the narrowest phones its texts need another line. */
const CAROUSEL_PX = 600
const NARROW_CAROUSEL_PX = 622
const NARROW_CAROUSEL_BELOW_PX = 340

/** Count the columns of a grid; `undefined`: the cards are rows. */
function countColumns(cardCount: number, widthPx: number): number | undefined {
  const entry = GRID_COLUMNS.findLast(({ minWidthPx }) => widthPx >= minWidthPx)
  return entry?.byCards[cardCount] ?? entry?.columns
}

function estimateGridHeightPx({ layout, cardCount }: GridSize, widthPx: number): number {
  if (layout === 'carousel') return widthPx < NARROW_CAROUSEL_BELOW_PX ? NARROW_CAROUSEL_PX : CAROUSEL_PX
  const columns = countColumns(cardCount, widthPx)
  if (layout === 'list' || columns === undefined) {
    const { basePx, rowPx } =
      ROW_MEASURES.findLast(({ minWidthPx }) => widthPx >= minWidthPx) ?? ROW_MEASURES[0]
    return basePx + cardCount * rowPx
  }
  const { basePx, textPx, sidePx, gapPx } =
    widthPx < WIDE_GRID_PX
      ? { basePx: 262, textPx: 216, sidePx: 16, gapPx: 16 }
      : { basePx: 206, textPx: 208, sidePx: 22, gapPx: 20 }
  const pictureHeightPx = (widthPx - 2 * sidePx - (columns - 1) * gapPx) / columns
  return basePx + Math.ceil(cardCount / columns) * Math.ceil(textPx + pictureHeightPx)
}
