import { describe, expect, test } from 'vitest'
import { createAddressParsers } from '../../src/widgets/address.ts'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS } from '../../src/widgets/option-list.ts'
import { estimateHeightPx, toExpectedSize, toWidgetSize } from '../../src/widgets/heights.ts'
import { toGtin } from '../helpers/products.ts'
import {
  SALE_PRICE,
  makeBox,
  makeDeal,
  makeGrid,
  makeHistory,
  makeOffer,
  makePick,
  makePicks,
} from '../helpers/views.ts'

const PLAIN = {
  layout: 'list',
  shownCount: 3,
  saleCount: 0,
  termsCount: 0,
  isBare: false,
  isFolded: false,
  hasVariants: false,
  isStandIn: false,
  history: 'none',
} as const

/** test/system/browser/heights.test.ts compares the estimates with the layout of Chromium. */
describe('heights', () => {
  test.each(BOX_LAYOUTS.filter((layout) => layout !== 'inline'))(
    '%s - a box is higher with more shops, former prices or a fold',
    (layout) => {
      for (const widthPx of [360, 680]) {
        const estimate = (shownCount: number, saleCount: number, isFolded: boolean): number =>
          estimateHeightPx({ ...PLAIN, layout, shownCount, saleCount, isFolded }, widthPx)
        expect(estimate(7, 0, false)).toBeGreaterThan(estimate(1, 0, false))
        expect(estimate(3, 3, false)).toBeGreaterThanOrEqual(estimate(3, 0, false))
        expect(estimate(3, 0, true) - estimate(3, 0, false)).toBe(46)
      }
    },
  )

  test('inline - has the height of a sentence, whatever the number of shops', () => {
    const heights = [1, 5].map((shownCount) =>
      estimateHeightPx({ ...PLAIN, layout: 'inline', shownCount, isFolded: true }, 360),
    )
    expect(heights).toEqual([56, 56])
  })

  test.each(GRID_LAYOUTS)('%s - a grid is not lower with more cards, and not higher when wider', (layout) => {
    const estimate = (cardCount: number, widthPx: number): number =>
      estimateHeightPx({ layout, cardCount }, widthPx)
    expect(estimate(12, 360)).toBeGreaterThanOrEqual(estimate(1, 360))
    expect(estimate(12, 680)).toBeLessThanOrEqual(estimate(12, 360))
  })

  test.each([300, 360, 480, 680, 1_000])(
    '%i px - observed prices add their sentence, and a chart, which is a part of the line in a sentence',
    (widthPx) => {
      for (const layout of BOX_LAYOUTS) {
        const [none = 0, note = 0, chart = 0] = (['none', 'note', 'chart'] as const).map((history) =>
          estimateHeightPx({ ...PLAIN, layout, shownCount: 9, history }, widthPx),
        )
        expect(note).toBeGreaterThan(none)
        expect([layout, chart - note]).toEqual([layout, layout === 'inline' ? 0 : 74])
      }
    },
  )

  test.each(PICKS_LAYOUTS)(
    '%s - a round-up is higher with more products, and not when it is wider',
    (layout) => {
      for (const hasPictures of [true, false]) {
        const estimate = (productCount: number, widthPx: number): number =>
          estimateHeightPx(
            { layout, productCount, labelCount: 0, foldCount: productCount, hasPictures },
            widthPx,
          )
        expect(estimate(3, 360)).toBeGreaterThan(estimate(2, 360))
        const heights = [300, 360, 480, 680, 1_000].map((widthPx) => estimate(8, widthPx))
        expect(heights).toEqual([...heights].sort((a, b) => b - a))
      }
    },
  )

  test.each([360, 680])(
    '%i px - labels and folds of products, of variants, and a stand-in need space',
    (widthPx) => {
      const row = { layout: 'row', productCount: 4, labelCount: 0, foldCount: 0, hasPictures: true } as const
      const none = estimateHeightPx(row, widthPx)
      expect(estimateHeightPx({ ...row, labelCount: 2 }, widthPx)).toBe(none + 44)
      expect(estimateHeightPx({ ...row, foldCount: 4 }, widthPx)).toBe(none + 112)
      const box = estimateHeightPx(PLAIN, widthPx)
      expect(estimateHeightPx({ ...PLAIN, hasVariants: true }, widthPx)).toBe(box + 52)
      for (const isBare of [true, false])
        expect(estimateHeightPx({ ...PLAIN, isBare, isStandIn: true }, widthPx)).toBeGreaterThan(
          estimateHeightPx({ ...PLAIN, isBare }, widthPx),
        )
    },
  )

  test('view of a round-up - its size has its products, labels and folds', () => {
    const products = [makePick(), makePick({ label: '', shops: null }), makePick({ label: null })]
    expect(toWidgetSize(makePicks({ products, hasPictures: false }))).toEqual({
      layout: 'rank',
      productCount: 3,
      labelCount: 1,
      foldCount: 2,
      hasPictures: false,
    })
  })

  test('view - its size has what is shown of the observed prices', () => {
    const sizes = [null, makeHistory({ chart: null }), makeHistory()].map((history) =>
      toWidgetSize(makeBox({ history })),
    )
    expect(sizes.map((size) => 'history' in size && size.history)).toEqual(['none', 'note', 'chart'])
  })

  test.each(['none', 'note', 'chart'])('address with history=%s - its expected size has it', (history) => {
    const { parseBoxAddress } = createAddressParsers({ locale: 'en', currency: null })
    const parts = { surface: 'embed', channelId: '', gtin: toGtin(1), query: `history=${history}` } as const
    expect(toExpectedSize(parseBoxAddress(parts))).toMatchObject({ history })
  })

  test('view - its size has the shown shops, those on sale, and whether shops are folded', () => {
    const offers = [makeOffer(), makeOffer({ price: SALE_PRICE }), makeOffer({ price: null })]
    expect(toWidgetSize(makeBox({ offers, more: [makeOffer()] }))).toEqual({
      layout: 'list',
      shownCount: 3,
      saleCount: SALE_PRICE.oldPrice === null ? 0 : 1,
      termsCount: 0,
      isBare: false,
      isFolded: true,
      hasVariants: false,
      isStandIn: false,
      history: 'none',
    })
    expect(toWidgetSize(makeBox({ offers, more: [] }))).toMatchObject({ isFolded: false })
    expect(toWidgetSize(makeGrid({ deals: [makeDeal(), makeDeal()] }))).toEqual({
      layout: 'grid',
      cardCount: 2,
    })
  })
})
