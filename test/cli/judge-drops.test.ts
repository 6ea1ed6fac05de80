import { expect, test } from 'vitest'
import { hasMalformedOffers, judgeDrops } from '../../src/cli/judge-drops.ts'
import { WALKED } from '../helpers/studio-view.ts'

const judge = (drops: Record<string, number>, offerCount: number, productCount = 80): string | null =>
  judgeDrops({ ...WALKED, productCount, drops }, offerCount)

test.each([
  [
    'more than a fifth of the offers',
    judge({ price: 10, link: 11 }, 79),
    '21 % of what the last walk found was',
  ],
  ['all offers', judge({ shape: 5 }, 0), '100 %'],
  ['more than a fifth of the products', judge({ product: 21 }, 1_000), '21 %'],
])('%s left out - is said with its share', (_case, judged, found) => {
  expect(judged).toContain(found)
})

test.each([
  ['nothing', judge({}, 0)],
  ['a fifth of the offers', judge({ price: 20 }, 80)],
  ['a fifth of the products', judge({ product: 20 }, 1_000)],
  ['offers beyond what a product may have', judge({ too_many: 900 }, 100)],
])('%s left out - is good', (_case, judged) => {
  expect(judged).toBeNull()
})

test('offers - have to be counted only where some were malformed', () => {
  expect(
    [{ price: 1 }, { product: 1 }, { too_many: 1 }].map((drops) => hasMalformedOffers({ ...WALKED, drops })),
  ).toEqual([true, false, false])
})
