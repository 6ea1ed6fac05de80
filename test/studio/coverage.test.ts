import { expect, test } from 'vitest'
import type { CoveredProduct, ProductDetails } from '../../src/coverage/report.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { describeSupply, toCoverageView } from '../../src/studio/coverage.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { makeCoverageData } from '../helpers/studio-view.ts'

const TODAY = toDay(NOON_MS)

function makeCovered(index: number, over: Partial<CoveredProduct> = {}): CoveredProduct {
  return {
    gtin: toGtin(index),
    title: 'Lamp',
    state: 'sold',
    shops: ['Kopje', 'Tafelrond'],
    shown: 1_000,
    hidden: 20,
    unavailable: 0,
    clicks: 0,
    ...over,
  }
}

const makeDetails = (...subs: readonly string[]): ProductDetails => ({
  lastSoldDay: TODAY - 1,
  placements: subs.map((sub) => ({ gtin: '', sub, shown: 1, hidden: 1, unavailable: 0 })),
})

const { report: NO_REPORT } = makeCoverageData()

test('nothing counted - says what will be counted, and that nothing about visitors is kept', () => {
  const { notice, lines, sections } = toCoverageView(makeCoverageData())
  expect(notice).toMatch(/^Nothing was counted in the last 7 days\. .*Nothing about visitors is kept/)
  expect([...lines, ...sections]).toEqual([])
})

test('products without problems - are counted, and not listed', () => {
  const products = [makeCovered(1), makeCovered(2)]
  const { notice, lines, sections } = toCoverageView(makeCoverageData({ report: { ...NO_REPORT, products } }))
  expect([notice, sections]).toEqual([null, []])
  expect(lines.map(({ label, value, isHealthy }) => [label, value, isHealthy])).toEqual([
    ['Asked for', '2 products, 2,040 times', true],
    ['Empty now', 'none', true],
    ['Out of stock', 'none', true],
    ['One shop left', 'none', true],
  ])
})

test('clicks - are listed by shop and placement, with a link to the product', () => {
  const clicks = [{ gtin: toGtin(1), merchant: '<b>', sub: '', clicks: 1_234 }]
  expect(toCoverageView(makeCoverageData({ clicks })).clicks).toEqual([
    {
      gtin: toGtin(1),
      merchant: '<b>',
      placement: 'without a placement id',
      count: '1,234',
      href: `studio?channel=${CHANNEL_ID}&gtin=${toGtin(1)}`,
    },
  ])
})

test('empty boxes - need attention, name their placements, and link to the product in the studio', () => {
  const products = [makeCovered(1, { state: 'hidden', title: null, shops: [] }), makeCovered(2)]
  const details = new Map([[toGtin(1), makeDetails('a', 'b', '', 'c', 'd', 'e')]])
  const view = toCoverageView(
    makeCoverageData({ report: { ...NO_REPORT, products, clickCount: 1_234 }, details }),
  )
  expect(view.lines[1]).toEqual({
    label: 'Empty now',
    value: '1 product',
    isHealthy: false,
    remedy: 'These placements show them: without a placement id (1), a (1), b (1), c (1) and 2 more.',
  })
  expect(view.lines.at(-1)).toMatchObject({ label: 'Clicks', value: '1,234' })
  expect(view.sections).toMatchObject([
    {
      heading: 'Empty boxes',
      isHealthy: false,
      more: 0,
      rows: [
        {
          title: null,
          href: `studio?channel=${CHANNEL_ID}&gtin=${toGtin(1)}`,
          supply: 'no shop, last sold Nov 20, 2026',
          placements: 'a, b, without a placement id, c and 2 more',
          shown: '1,000',
          empty: '20',
        },
      ],
    },
  ])
})

test('more products of one state than are listed - the rest is counted', () => {
  const products = Array.from({ length: 53 }, (_, index) => makeCovered(index, { state: 'one_shop' }))
  const { sections } = toCoverageView(makeCoverageData({ report: { ...NO_REPORT, products } }))
  expect(sections.map(({ heading, rows, more }) => [heading, rows.length, more])).toEqual([
    ['One shop left', 50, 3],
  ])
})

test.each([
  [{ state: 'hidden', shops: [] }, null, 'no shop'],
  [{ state: 'hidden', shops: [] }, TODAY, 'no shop, last sold Nov 21, 2026'],
  [{ state: 'sold_out', shops: ['A', 'B'] }, null, 'out of stock at A, B'],
  [{ state: 'one_shop', shops: ['A'] }, null, 'only A'],
  [{ state: 'sold', shops: ['A', 'B', 'C', 'D', 'E'] }, null, 'A, B, C, D and 1 more'],
] as const)('supply %j, last sold on day %j - "%s"', (product, lastSoldDay, text) => {
  expect(describeSupply(product, lastSoldDay)).toBe(text)
})
