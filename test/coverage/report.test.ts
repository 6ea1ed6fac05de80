import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DAY_MS } from '../../src/clock.ts'
import {
  type CoverageReport,
  type ProductDetails,
  readCoverageReport,
  readProductDetails,
  sumPlacements,
} from '../../src/coverage/report.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { StoredCopy } from '../../src/storage/stored-copy.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { makeCopyFixture } from '../storage/conformance/sql-fixture.ts'
import { CHANNEL, walkAll } from '../storage/conformance/subject.ts'

const TODAY = toDay(NOON_MS)
const [LAMP, CHAIR, TABLE, SHELF] = [toGtin(1), toGtin(2), toGtin(3), toGtin(4)]

const SHOPS = createShopBook([
  { merchant: 'Kopje', aliases: ['Kopje GmbH'], shop: { name: 'Kopje & Co', logoPath: null, terms: null } },
])

const makeSold = (gtin: string, ...offers: readonly Parameters<typeof makeParsedOffer>[0][]) =>
  makeProduct({ gtin, title: `Product ${gtin}`, offers: offers.map(makeParsedOffer) })

const sold = makeSold(SHELF, { merchant: 'Kopje' }, { merchant: 'Tafelrond' })
const soldOut = makeSold(CHAIR, { merchant: 'Tafelrond', availability: 'out_of_stock' })
const ofOneShop = makeSold(
  TABLE,
  { merchant: 'Kopje' },
  { merchant: 'Kopje GmbH' },
  { merchant: 'Tafelrond', availability: 'preorder' },
)
const lamp = makeSold(LAMP, { merchant: 'Kopje' })

describe('report', () => {
  const clock = createFakeClock(NOON_MS)
  let store: StoredCopy
  beforeEach(async () => {
    const address = { kind: 'sqlite', path: ':memory:' } as const
    const fixture = makeCopyFixture({ address, isShared: false }, () => Promise.resolve())
    onTestFinished(() => fixture.dispose())
    store = await fixture.open('c')
    await walkAll(store, [lamp, soldOut, ofOneShop, sold], NOON_MS - 2 * DAY_MS)
  })

  const count = (gtin: string, sub: string, over: Partial<Record<'day' | 'shown' | 'hidden', number>> = {}) =>
    store.addCounts({
      widgets: [{ channelId: CHANNEL, day: TODAY, gtin, sub, shown: 1, hidden: 0, unavailable: 0, ...over }],
      clicks: [],
    })
  const read = (days = 7, limit = 100): Promise<CoverageReport> =>
    readCoverageReport({ store, clock, shops: SHOPS }, CHANNEL, { days, limit })
  const readDetails = ({ period, products }: CoverageReport): Promise<ReadonlyMap<string, ProductDetails>> =>
    readProductDetails({ store }, CHANNEL, { period, products, limit: 1_000 })

  test('products - the worst first; shops by their shown name, each once', async () => {
    await count(SHELF, '', { shown: 9 })
    await count(TABLE, '')
    await count(CHAIR, '')
    await count(LAMP, '')
    await walkAll(store, [soldOut, ofOneShop, sold], NOON_MS)
    expect(
      (await read()).products.map(({ gtin, state, shops, title }) => [gtin, state, shops, title]),
    ).toEqual([
      [LAMP, 'hidden', [], null],
      [CHAIR, 'sold_out', ['Tafelrond'], `Product ${CHAIR}`],
      [TABLE, 'one_shop', ['Kopje & Co'], `Product ${TABLE}`],
      [SHELF, 'sold', ['Kopje & Co', 'Tafelrond'], `Product ${SHELF}`],
    ])
  })

  test('period - its days only, the most requested products within the limit', async () => {
    await count(SHELF, '', { day: TODAY - 7 })
    await count(TABLE, '', { day: TODAY - 6 })
    await count(CHAIR, '', { shown: 2 })
    expect((await read()).products.map(({ gtin }) => gtin)).toEqual([CHAIR, TABLE])
    expect((await read(7, 1)).products.map(({ gtin }) => gtin)).toEqual([CHAIR])
    expect((await read(8)).products).toHaveLength(3)
  })

  test('product that no shop sells - its last observed day and its placements', async () => {
    await count(LAMP, 'a', { hidden: 3 })
    await count(LAMP, 'b', { shown: 0, hidden: 9 })
    await walkAll(store, [soldOut, ofOneShop, sold], NOON_MS)
    const details = (await readDetails(await read())).get(LAMP)
    expect(details?.lastSoldDay).toBe(TODAY - 2)
    expect(details?.placements.map(({ sub, hidden }) => [sub, hidden])).toEqual([
      ['b', 9],
      ['a', 3],
    ])
  })

  test('product without observed prices - the last day on which a box showed it', async () => {
    await count(LAMP, '', { day: TODAY - 30 })
    await count(LAMP, '', { shown: 0, hidden: 1 })
    await walkAll(store, [sold], NOON_MS)
    const unobserved = { ...store, findPriceSeries: () => Promise.resolve([]) }
    const { period, products } = await read()
    const details = await readProductDetails({ store: unobserved }, CHANNEL, {
      period,
      products,
      limit: 1_000,
    })
    expect(details.get(LAMP)?.lastSoldDay).toBe(TODAY - 30)
  })

  test('products with an observed day, and products that shops sell - their counts are not searched for a last day', async () => {
    await count(LAMP, '')
    await count(SHELF, '')
    await walkAll(store, [sold], NOON_MS)
    const { period, products } = await read()
    const findLastShownDays = vi.fn<StoredCopy['findLastShownDays']>(() => Promise.resolve(new Map()))
    const request = { period, products, limit: 1_000 }
    const details = await readProductDetails({ store: { ...store, findLastShownDays } }, CHANNEL, request)
    expect([...details.values()].map(({ lastSoldDay }) => lastSoldDay)).toEqual([TODAY - 2, null])
    expect(findLastShownDays).not.toHaveBeenCalled()
  })

  test('more placements than the limit - the most requested ones are read', async () => {
    await count(LAMP, 'a')
    await count(LAMP, 'b', { shown: 2 })
    const { period, products } = await read()
    const details = await readProductDetails({ store }, CHANNEL, { period, products, limit: 1 })
    expect(details.get(LAMP)?.placements.map(({ sub }) => sub)).toEqual(['b'])
  })

  test('placements of all products - those with the most empty products first', async () => {
    await count(LAMP, 'few', { hidden: 2 })
    await count(SHELF, 'none', { shown: 50 })
    await count(LAMP, 'many', { hidden: 5 })
    await count(SHELF, 'many')
    await walkAll(store, [sold], NOON_MS)
    const report = await read()
    expect(sumPlacements(report.products, await readDetails(report))).toEqual([
      { sub: 'many', products: 2, emptyProducts: 1, shown: 2, hidden: 5, unavailable: 0 },
      { sub: 'few', products: 1, emptyProducts: 1, shown: 1, hidden: 2, unavailable: 0 },
      { sub: 'none', products: 1, emptyProducts: 0, shown: 50, hidden: 0, unavailable: 0 },
    ])
  })

  test('clicks - per product, and of all products', async () => {
    await count(SHELF, '')
    const click = { channelId: CHANNEL, day: TODAY, gtin: SHELF, merchant: 'Kopje', sub: 'a', clicks: 2 }
    await store.addCounts({ widgets: [], clicks: [click, { ...click, sub: 'b', clicks: 3 }] })
    await store.addCounts({ widgets: [], clicks: [{ ...click, gtin: TABLE }] })
    const { products, clickCount } = await read()
    expect(products.map((product) => product.clicks)).toEqual([5])
    expect(clickCount).toBe(7)
  })
})
