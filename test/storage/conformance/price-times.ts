import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { MINUTE_MS } from '../../../src/clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  CHANNEL,
  type Copy,
  type CopyFixture,
  type Subject,
  begin,
  makePage,
  makeQuery,
  readBox,
  walkAll,
} from './subject.ts'

const GTIN = toGtin(1)
const END_MS = NOON_MS + MINUTE_MS

const makeSale = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, price, oldPrice: '100.00', ...over })

/** Build a product with two deals, whose prices were checked at the given times. */
const makeChecked = (...times: readonly (number | null)[]): Product =>
  makeProduct({
    offers: times.map((checkedAtMs, index) => makeSale(`Shop ${index}`, `${50 + index}.00`, { checkedAtMs })),
  })

const makeProducts = (checkedAtMs: number): Product[] =>
  Array.from({ length: 1_200 }, (_, index) =>
    makeProduct({ gtin: toGtin(index), offers: [makeSale('Shop', '50.00', { checkedAtMs })] }),
  )

const makeEnding = (saleEndsAtMs: number | null): Product =>
  makeProduct({ offers: [makeSale('Shop', '50.00', { saleEndsAtMs })] })

/** Test when prices were checked, which a walk updates in place, and when sales end. */
export function describePriceTimes(subject: Subject): void {
  describe(`${subject.name}: times of prices`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    const readTimes = async (): Promise<unknown> => {
      const [deal] = await copy.findDeals(makeQuery())
      const [found] = await copy.searchProducts(CHANNEL, 'lamp', 1)
      const box = (await copy.findProduct(CHANNEL, GTIN))?.product?.offers
      expect(found?.product?.offers).toEqual(box)
      return { box: box?.map(({ checkedAtMs }) => checkedAtMs), grid: deal?.offer.checkedAtMs }
    }
    const listDeals = async (over: Parameters<typeof makeQuery>[0] = {}): Promise<string[]> =>
      (await copy.findDeals(makeQuery(over))).map(
        ({ gtin, offer }) => `${Number(gtin.slice(-3, -1))} ${offer.merchant}`,
      )

    test.each([
      ['none', [null, null]],
      ['equal', [5, 5]],
      ['different', [5, 6]],
      ['of one offer', [null, 6]],
    ])('times, %s - walked or looked up - are read back in box, grid and search', async (_case, times) => {
      await walkAll(copy, [makeChecked(...times)], 100)
      expect(await readTimes()).toEqual({ box: times, grid: times[0] })
      const later = times.map((time) => time && time + 10)
      await copy.putLookups([
        { channelId: CHANNEL, gtin: GTIN, entry: { product: makeChecked(...later), asOfMs: 200 } },
      ])
      expect(await readTimes()).toEqual({ box: later, grid: later[0] })
      expect(await readBox(copy, GTIN)).toBe('Lumen Arc desk lamp @200')
    })

    test('walk with later times - readers get them; then without times - none', async () => {
      await walkAll(copy, [makeChecked(5, 6)], 100)
      await walkAll(copy, [makeChecked(7, 7)], 200)
      expect(await readTimes()).toEqual({ box: [7, 7], grid: 7 })
      await walkAll(copy, [makeChecked(null, null)], 300)
      expect(await readTimes()).toEqual({ box: [null, null], grid: null })
      expect(await readBox(copy, GTIN)).toBe('Lumen Arc desk lamp @300')
    })

    test('page older than a look-up - keeps the times of the look-up', async () => {
      await walkAll(copy, [makeChecked(5, 5)], 100)
      await copy.putLookups([
        { channelId: CHANNEL, gtin: GTIN, entry: { product: makeChecked(8, 8), asOfMs: 300 } },
      ])
      await walkAll(copy, [makeChecked(6, 6)], 200)
      expect(await readTimes()).toEqual({ box: [8, 8], grid: 8 })
    })

    test('product that returns in the same walk - has the times of the page', async () => {
      await walkAll(copy, [makeChecked(5, 5)], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [], { asOfMs: 200 }))
      await copy.applyPage(CHANNEL, makePage(walk, [makeChecked(6, 6)], { asOfMs: 200 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
      expect(await readTimes()).toEqual({ box: [6, 6], grid: 6 })
    })

    test('more products than fit into one transaction - all get their times', async () => {
      await walkAll(copy, makeProducts(5), 100)
      await walkAll(copy, makeProducts(6), 200)
      for (const index of [0, 499, 500, 999, 1_000, 1_199])
        expect((await copy.findProduct(CHANNEL, toGtin(index)))?.product?.offers[0]?.checkedAtMs).toBe(6)
    })

    test('sale - until its end - is in grids and counts; from then on, the next best deal is', async () => {
      await walkAll(
        copy,
        [
          makeProduct({
            offers: [
              makeSale('Ending', '50.00', { saleEndsAtMs: END_MS }),
              makeSale('Later', '60.00', { saleEndsAtMs: END_MS + 1 }),
              makeSale('Sold out', '70.00', { availability: 'out_of_stock' }),
              makeSale('Lasting', '80.00'),
            ],
          }),
          makeProduct({ gtin: toGtin(2), offers: [makeSale('Ending', '55.00', { saleEndsAtMs: END_MS })] }),
          makeProduct({ gtin: toGtin(3), offers: [makeSale('Lasting', '90.00')] }),
        ],
        100,
      )
      const countMerchants = async (): Promise<unknown> => {
        const { total, merchants } = await copy.countDeals(makeQuery(), new Map())
        return [total, ...merchants.map(({ name, count }) => `${name} ${count}`)]
      }
      fixture.clock.step(MINUTE_MS - 1)
      expect(await listDeals()).toEqual(['1 Ending', '2 Ending', '3 Lasting'])
      expect(await countMerchants()).toEqual([3, 'Ending 2', 'Lasting 2', 'Later 1', 'Sold out 1'])
      fixture.clock.step(1)
      expect(await listDeals()).toEqual(['1 Later', '3 Lasting'])
      fixture.clock.step(1)
      expect(await listDeals()).toEqual(['1 Sold out', '3 Lasting'])
      expect(await listDeals({ isInStockOnly: true })).toEqual(['1 Lasting', '3 Lasting'])
      expect(await listDeals({ excluded: ['sold out'] })).toEqual(['1 Lasting', '3 Lasting'])
      expect(await listDeals({ merchants: ['ending', 'later'] })).toEqual([])
      expect(await listDeals({ sort: 'price', minDiscountPercent: 15 })).toEqual(['1 Sold out'])
      expect(await listDeals({ searchText: 'lamp' })).toEqual(['1 Sold out', '3 Lasting'])
      expect(await listDeals({ searchText: 'rc des' })).toEqual(['1 Sold out', '3 Lasting'])
      expect(await countMerchants()).toEqual([2, 'Lasting 2', 'Sold out 1'])
    })

    test('new end of a sale - walked - replaces the old one', async () => {
      await walkAll(copy, [makeEnding(END_MS)], 100)
      fixture.clock.step(MINUTE_MS)
      expect(await listDeals()).toEqual([])
      await walkAll(copy, [makeEnding(END_MS + MINUTE_MS)], 200)
      expect(await listDeals()).toEqual(['1 Shop'])
      expect((await copy.findProduct(CHANNEL, GTIN))?.product?.offers[0]?.saleEndsAtMs).toBe(
        END_MS + MINUTE_MS,
      )
      await walkAll(copy, [makeEnding(null)], 300)
      fixture.clock.step(MINUTE_MS)
      expect(await listDeals()).toEqual(['1 Shop'])
    })
  })
}
