import type { BoxLayout, GridLayout, PicksLayout } from './option-list.ts'
import type { AnyOptions, BoxOptions } from './options.ts'
import type { PicksView } from './picks.ts'
import type { AnyView } from './view-models.ts'

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
  /** Whether there are folded variants. */
  hasVariants: boolean
  /** Whether the box says that its product stands in for another one. */
  isStandIn: boolean
  /** What stands below the shops about observed prices. */
  history: BoxOptions['history']
}>

/** The properties of a grid that determine its height. */
type GridSize = Readonly<{ layout: GridLayout; cardCount: number }>

/** The properties of a round-up that determine its height. */
type PicksSize = Readonly<{
  layout: PicksLayout
  productCount: number
  /** Products with a label. */
  labelCount: number
  /** Products with folded shops. */
  foldCount: number
  /** Whether there is space for pictures. */
  hasPictures: boolean
}>

/** The properties that the height of a widget depends on. */
export type WidgetSize = BoxSize | PicksSize | GridSize

/** Get the size of a view. */
export function toWidgetSize(view: AnyView): WidgetSize {
  if (view.kind === 'picks') return toPicksSize(view)
  if (view.kind === 'deals') return { layout: view.layout, cardCount: view.deals.length }
  const { layout, offers, more, header, history } = view
  const saleCount = offers.filter(({ price }) => price !== null && price.oldPrice !== null).length
  return {
    layout,
    shownCount: offers.length,
    saleCount,
    termsCount: offers.filter(({ terms }) => terms !== null).length,
    isBare: header.head === 'none',
    isFolded: more.length > 0,
    hasVariants: view.variants !== null,
    isStandIn: view.standIn !== null,
    history: history === null ? 'none' : history.chart === null ? 'note' : 'chart',
  }
}

function toPicksSize({ layout, products, hasPictures }: PicksView): PicksSize {
  return {
    layout,
    productCount: products.length,
    labelCount: products.filter(({ label }) => label !== null && label !== '').length,
    foldCount: products.filter(({ shops }) => shops !== null).length,
    hasPictures,
  }
}

/** Shops that a hidden box is expected to have later, one of them with a former price. */
const EXPECTED_SHOPS = 3

/** Get the size that a hidden or unavailable widget is expected to have later. */
export function toExpectedSize({
  gtins,
  options,
}: Readonly<{ gtins: readonly string[]; options: AnyOptions }>): WidgetSize {
  if ('labels' in options)
    return {
      layout: options.layout,
      productCount: gtins.length,
      labelCount: options.labels.filter((label) => label !== '').length,
      foldCount: gtins.length,
      hasPictures: options.head === 'full',
    }
  if ('page' in options) return { layout: options.layout, cardCount: options.limit }
  return {
    layout: options.layout,
    shownCount: Math.min(options.limit, EXPECTED_SHOPS),
    saleCount: 1,
    termsCount: 0,
    isBare: options.head === 'none',
    isFolded: options.limit < EXPECTED_SHOPS,
    hasVariants: gtins.length > 1,
    isStandIn: false,
    history: options.history,
  }
}

/** Estimate a sufficient height of a widget in pixels. Very long titles and some languages need another line. */
export function estimateHeightPx(size: WidgetSize, widthPx: number): number {
  if ('cardCount' in size) return estimateGridHeightPx(size, widthPx)
  return 'productCount' in size ? estimatePicksHeightPx(size, widthPx) : estimateBoxHeightPx(size, widthPx)
}

/** A line of small print. */
const LINE_PX = 20
/** From this width, a shop is one line; from the second one, the product stands beside the shops. */
const WIDE_ROW_PX = 576
const SIDE_BY_SIDE_PX = 992
/** Height of the line that opens the folded shops. */
const FOLD_PX = 46
/** Height of the line that opens the variants, and of lines of longer titles. */
const VARIANTS_PX = 52
/** Heights of the sentence about observed prices, with two lines and, from this width, with one; and of the chart. */
const HISTORY_PX = { noteLines: 58, note: 40, chart: 74 }
const ONE_LINE_PX = 440
/** Heights of the words about a stand-in: in the title or a sentence, and as lines or a line without a header. */
const STAND_IN_PX = { title: 34, bareLines: 72, bare: 34 }

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
  const foldPx = estimateFoldsHeightPx(size)
  const termsPx = size.termsCount * (widthPx < WIDE_ROW_PX ? 2 * LINE_PX : LINE_PX)
  const historyPx = estimateHistoryHeightPx(size, widthPx)
  const headPx = estimateStandInHeightPx(size, widthPx) - estimateHeadHeightPx(size, widthPx)
  return Math.max(minPx, basePx + shops + foldPx + termsPx + historyPx + headPx)
}

function estimateFoldsHeightPx({ layout, isFolded, hasVariants }: BoxSize): number {
  if (layout === 'inline') return 0
  return (isFolded ? FOLD_PX : 0) + (hasVariants ? VARIANTS_PX : 0)
}

/** The height that the words about a stand-in add: another line of the title, or a line of their own. */
function estimateStandInHeightPx({ layout, isStandIn, isBare }: BoxSize, widthPx: number): number {
  if (!isStandIn) return 0
  if (!isBare || layout === 'inline') return STAND_IN_PX.title
  return widthPx < WIDE_ROW_PX ? STAND_IN_PX.bareLines : STAND_IN_PX.bare
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

/**
 * Heights of header and notices, and of a product of a round-up with and without pictures: two-line title, a former price, no label
 * and no fold. `minPx`: height of its picture with padding.
 */
type PicksMeasure = Readonly<{
  minWidthPx: number
  basePx: number
  productPx: number
  barePx: number
  minPx: number
}>

const NARROW_PICK: PicksMeasure = { minWidthPx: 0, basePx: 208, productPx: 297, barePx: 257, minPx: 0 }
const WIDE_RANK = { basePx: 128, minPx: 188 }
const ROW = { minPx: 97 }

/** By layout and minimum width; the last match applies. */
const PICKS_MEASURES: Readonly<Record<PicksLayout, readonly PicksMeasure[]>> = {
  rank: [
    NARROW_PICK,
    { ...NARROW_PICK, minWidthPx: 340, basePx: 194, productPx: 288, barePx: 250 },
    { ...NARROW_PICK, minWidthPx: 420, basePx: 170, productPx: 268, barePx: 242 },
    { ...WIDE_RANK, minWidthPx: 560, productPx: 248, barePx: 230 },
    { ...WIDE_RANK, minWidthPx: 704, productPx: 174, barePx: 166 },
    { ...WIDE_RANK, minWidthPx: SIDE_BY_SIDE_PX, productPx: 164, barePx: 144 },
  ],
  table: [
    { ...NARROW_PICK, productPx: 216, barePx: 192 },
    { ...NARROW_PICK, minWidthPx: 340, basePx: 190, productPx: 200, barePx: 186 },
    { ...NARROW_PICK, minWidthPx: 420, basePx: 164, productPx: 190, barePx: 175 },
    // Price and button are higher than label, fold and title.
    { ...NARROW_PICK, minWidthPx: 600, basePx: 170, productPx: 53, barePx: 53, minPx: 98 },
  ],
  row: [
    { ...ROW, minWidthPx: 0, basePx: 208, productPx: 162, barePx: 124 },
    { ...ROW, minWidthPx: 340, basePx: 194, productPx: 138, barePx: 120 },
    { ...ROW, minWidthPx: 420, basePx: 164, productPx: 124, barePx: 119 },
    { ...ROW, minWidthPx: 560, basePx: 126, productPx: 118, barePx: 101 },
    { ...ROW, minWidthPx: 640, basePx: 128, productPx: 101, barePx: 99 },
  ],
}

/** Heights of the label of a product, and of the line that opens its shops. */
const LABEL_PX = 22
const PICK_FOLD_PX = 28

function estimatePicksHeightPx(size: PicksSize, widthPx: number): number {
  const { productCount, labelCount, foldCount, hasPictures } = size
  const measure =
    PICKS_MEASURES[size.layout].findLast(({ minWidthPx }) => widthPx >= minWidthPx) ?? NARROW_PICK
  const textPx = hasPictures ? measure.productPx : measure.barePx
  const minPx = hasPictures || size.layout === 'table' ? measure.minPx : 0
  const morePx = labelCount * LABEL_PX + foldCount * PICK_FOLD_PX
  return measure.basePx + Math.max(productCount * minPx, productCount * textPx + morePx)
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
