import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import { DAY_MS } from '../../../src/clock.ts'
import type { DropCounts } from '../../../src/catalog/parse.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  CHANNEL,
  type Copy,
  type CopyFixture,
  type Subject,
  begin,
  makePage,
  readBox,
  readGrid,
  readView,
  walkAll,
} from './subject.ts'

const [ONE, TWO, THREE] = [toGtin(1), toGtin(2), toGtin(3)]

/** Build a product on sale. The title identifies the walk that stored it. */
function makeSale(gtin: string, title: string): Product {
  return makeProduct({ gtin, title, offers: [makeParsedOffer({ price: '50.00', oldPrice: '100.00' })] })
}

/** Test versions: what readers see while a walk is being written. */
export function describeWalks(subject: Subject): void {
  describe(`${subject.name}: versions`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('first walk, incomplete - boxes of its pages are served, grids are not', async () => {
      const walk = await begin(copy, 100)
      const first = makePage(walk, [makeSale(ONE, 'one')], { asOfMs: 100, nextCursor: 'c' })
      await copy.applyPage(CHANNEL, first)
      expect(await readView(copy, ONE)).toEqual({ box: 'one @100', grid: [] })
      expect(await readBox(copy, TWO)).toBe('unknown')
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 0, isRunning: true })
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(TWO, 'two')], { asOfMs: 110, afterGtin: ONE }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 120, isMalformed: false })
      expect(await readView(copy, TWO)).toEqual({ box: 'two @110', grid: ['one', 'two'] })
    })

    test('second walk - half done - is invisible to readers; complete - is fully visible', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const before = ['one', 'two']
      const walk = await begin(copy, 200)
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [makeSale(ONE, 'one, new')], { asOfMs: 200, nextCursor: 'c' }),
      )
      expect(await readView(copy, ONE)).toEqual({ box: 'one @100', grid: before })
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [makeSale(THREE, 'three')], { asOfMs: 210, afterGtin: ONE }),
      )
      expect(await readView(copy, ONE)).toEqual({ box: 'one @100', grid: before })
      expect(await readView(copy, TWO)).toEqual({ box: 'two @100', grid: before })
      expect(await readView(copy, THREE)).toEqual({ box: 'unknown', grid: before })
      await copy.completeWalk(CHANNEL, walk, { nowMs: 220, isMalformed: false })
      const after = ['one, new', 'three']
      expect(await readView(copy, ONE)).toEqual({ box: 'one, new @200', grid: after })
      expect(await readView(copy, TWO)).toEqual({ box: 'unknown', grid: after })
      expect(await readView(copy, THREE)).toEqual({ box: 'three @210', grid: after })
    })

    test('product that walks leave out - its data stay and age, its neighbours that are gone end', async () => {
      const four = toGtin(4)
      await walkAll(
        copy,
        [ONE, TWO, THREE, four].map((gtin) => makeSale(gtin, gtin)),
        100,
      )
      await walkAll(
        copy,
        [ONE, TWO, THREE, four].map((gtin) => makeSale(gtin, gtin)),
        200,
      )
      for (const nowMs of [300, 400]) {
        const walk = await begin(copy, nowMs)
        const page = { asOfMs: nowMs, leftOutGtins: [TWO, four] }
        await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, ONE)], page))
        await copy.completeWalk(CHANNEL, walk, { nowMs, isMalformed: false })
        const boxes = await Promise.all([ONE, TWO, THREE, four].map((gtin) => readBox(copy, gtin)))
        expect(boxes).toEqual([`${ONE} @${nowMs}`, `${TWO} @200`, 'unknown', `${four} @200`])
        expect((await readGrid(copy)).toSorted()).toEqual([ONE, TWO, four])
      }
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ productCount: 1 })
    })

    test('state after a walk - has its counts, times and drops', async () => {
      const walk = await begin(copy, 100)
      const first = { asOfMs: 100, nextCursor: 'c', drops: { price: 2 } }
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'one')], first))
      const last = { asOfMs: 110, afterGtin: ONE, drops: { price: 1, link: 1 } }
      await copy.applyPage(CHANNEL, makePage(walk, [makeProduct({ gtin: TWO })], last))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 120, isMalformed: true })
      expect(await copy.getCopyState(CHANNEL)).toEqual({
        currentWalk: 1,
        completedStartedAtMs: 100,
        completedAtMs: 120,
        productCount: 2,
        hadProducts: true,
        hasProducts: true,
        dealCount: 1,
        drops: { price: 3, link: 1 },
        isMalformed: true,
        held: null,
        isRunning: false,
        failure: null,
        failedAtMs: null,
        failureReason: null,
        retry: null,
      })
    })

    test('state of an empty catalog - has products from the first page or look-up on', async () => {
      const readHasProducts = async (): Promise<boolean> => (await copy.getCopyState(CHANNEL)).hasProducts
      expect(await readHasProducts()).toBe(false)
      await walkAll(copy, [], 100)
      const absence = { channelId: CHANNEL, gtin: ONE, entry: { product: null, asOfMs: 150 } }
      await copy.putLookups([absence])
      expect(await readHasProducts()).toBe(false)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'one')], { asOfMs: 200 }))
      expect(await readBox(copy, ONE)).toBe('absent @150')
      expect(await readHasProducts()).toBe(true)
      await copy.completeWalk(CHANNEL, walk, { nowMs: 210, isMalformed: false })
      expect(await readBox(copy, ONE)).toBe('one @200')
      const other = await fixture.open('https://other.example')
      const entry = { product: makeSale(TWO, 'two'), asOfMs: 100 }
      await other.putLookups([{ channelId: CHANNEL, gtin: TWO, entry }])
      expect(await other.getCopyState(CHANNEL)).toMatchObject({ hasProducts: true, productCount: 0 })
    })

    test('channel without products - had some if a complete walk found them', async () => {
      const readHadProducts = async (): Promise<boolean> => (await copy.getCopyState(CHANNEL)).hadProducts
      await walkAll(copy, [], 100)
      expect(await readHadProducts()).toBe(false)
      await walkAll(copy, [makeSale(ONE, 'one')], 200)
      await walkAll(copy, [], 300)
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ productCount: 0, hasProducts: false })
      expect(await readHadProducts()).toBe(true)
    })

    test('walk - failed - the old copy stays and the state has the failure, until the next walk begins', async () => {
      await walkAll(copy, [makeSale(ONE, 'one')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [], { asOfMs: 200, nextCursor: 'c' }))
      await copy.failWalk(CHANNEL, { code: 'VITRINE_CATALOG_STATUS', reason: 'a reason' }, 210)
      expect(await readView(copy, ONE)).toEqual({ box: 'one @100', grid: ['one'] })
      const failed = { isRunning: false, failure: 'VITRINE_CATALOG_STATUS', failedAtMs: 210 }
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ ...failed, currentWalk: 1 })
      await begin(copy, 300)
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ isRunning: true, failure: null })
    })

    test('suspicious walk - held - readers see the previous copy, and the next walk restarts', async () => {
      const products = Array.from({ length: 100 }, (_, index) => makeSale(toGtin(index), `lamp ${index}`))
      await walkAll(copy, products, 100)
      const walk = await begin(copy, 200)
      const malformed = { ...makeProduct({ gtin: ONE, title: 'spoilt' }), offers: [] }
      await copy.applyPage(CHANNEL, makePage(walk, [malformed], { asOfMs: 200, drops: { price: 2 } }))
      const held = { reason: 'few_products', sinceMs: 200, startedAtMs: 200, productCount: 1 } as const
      await copy.holdWalk(CHANNEL, walk, held)
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ held, isRunning: false, productCount: 100 })
      expect((await readView(copy, ONE)).box).toBe('lamp 1 @100')
      expect(await readBox(copy, toGtin(99))).toBe('lamp 99 @100')
      expect(await readGrid(copy)).toHaveLength(61)
      const restarted = await copy.beginWalk(CHANNEL, { nowMs: 300, resumableSinceMs: 0 })
      expect(restarted).toMatchObject({ walk, cursor: null, productCount: 0, startedAtMs: 300 })
      await copy.applyPage(CHANNEL, makePage(walk, products, { asOfMs: 300 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 300, isMalformed: false })
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({
        held: null,
        productCount: 100,
        dealCount: 100,
      })
      expect(await readBox(copy, ONE)).toBe('lamp 1 @300')
    })

    test('held walk - store closed and opened again - is still held, and the next walk restarts', async () => {
      if (!fixture.isShared) return
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two'), makeSale(THREE, 'three')], 100)
      const before = ['one', 'two', 'three']
      const walk = await begin(copy, 200)
      const first = { asOfMs: 200, nextCursor: 'c', drops: { price: 1 } }
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(TWO, 'spoilt')], first))
      const held = { reason: 'few_products', sinceMs: 150, startedAtMs: 200, productCount: 1 } as const
      await copy.holdWalk(CHANNEL, walk, held)
      await copy.close()
      const again = await fixture.open('https://one.example')
      const state = { currentWalk: 1, completedAtMs: 100, productCount: 3, dealCount: 3, drops: {}, held }
      expect(await again.getCopyState(CHANNEL)).toMatchObject({ ...state, isRunning: false, failure: null })
      expect(await readView(again, ONE)).toEqual({ box: 'one @100', grid: before })
      expect(await readView(again, TWO)).toEqual({ box: 'two @100', grid: before })
      const restarted = {
        walk,
        cursor: null,
        afterGtin: '',
        productCount: 0,
        startedAtMs: 210,
        hasAllPages: false,
      }
      expect(await again.beginWalk(CHANNEL, { nowMs: 210, resumableSinceMs: 0 })).toEqual(restarted)
      expect(await again.getCopyState(CHANNEL)).toMatchObject({ ...state, isRunning: true })
      expect(await readView(again, TWO)).toEqual({ box: 'two @100', grid: before })
    })

    test('walk with more malformed offers than usable ones - is malformed', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const checkMalformed = async (drops: DropCounts): Promise<boolean> => {
        const walk = await begin(copy, 200)
        const page = makePage(walk, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], { asOfMs: 200, drops })
        await copy.applyPage(CHANNEL, page)
        return copy.isWalkMalformed(CHANNEL, walk)
      }
      expect(await checkMalformed({ price: 2, too_many: 9, product: 2 })).toBe(false)
      expect(await checkMalformed({ price: 2, link: 1 })).toBe(true)
    })

    test('unchanged products - walked again - get the time of the page', async () => {
      const products = [makeSale(ONE, 'one'), makeSale(TWO, 'two')]
      await walkAll(copy, products, 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, products.slice(0, 1), { asOfMs: 200, nextCursor: 'c' }))
      await copy.applyPage(CHANNEL, makePage(walk, products.slice(1), { asOfMs: 250, afterGtin: ONE }))
      expect(await readBox(copy, ONE)).toBe('one @100')
      await copy.completeWalk(CHANNEL, walk, { nowMs: 260, isMalformed: false })
      expect([await readBox(copy, ONE), await readBox(copy, TWO)]).toEqual(['one @200', 'two @250'])
    })

    test('page applied twice - changes nothing', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const walk = await begin(copy, 200)
      const page = makePage(walk, [makeSale(ONE, 'one, new'), makeSale(THREE, 'three')], {
        asOfMs: 200,
        drops: { price: 1 },
      })
      await copy.applyPage(CHANNEL, page)
      await copy.applyPage(CHANNEL, page)
      await copy.completeWalk(CHANNEL, walk, { nowMs: 210, isMalformed: false })
      expect(await readView(copy, ONE)).toEqual({ box: 'one, new @200', grid: ['one, new', 'three'] })
      expect(await readView(copy, TWO)).toEqual({ box: 'unknown', grid: ['one, new', 'three'] })
      const state = await copy.getCopyState(CHANNEL)
      expect(state).toMatchObject({ productCount: 2, dealCount: 2, drops: { price: 1 } })
    })

    test('product - missing, then back while a walk is repeated - is unchanged', async () => {
      await walkAll(copy, [makeSale(ONE, 'one')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(TWO, 'staged')], { asOfMs: 200 }))
      const again = await copy.beginWalk(CHANNEL, { nowMs: 300, resumableSinceMs: 250 })
      expect(again.walk).toBe(walk)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'one')], { asOfMs: 300 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 310, isMalformed: false })
      expect(await readView(copy, ONE)).toEqual({ box: 'one @300', grid: ['one'] })
      expect(await readView(copy, TWO)).toEqual({ box: 'unknown', grid: ['one'] })
    })
  })

  describe(`${subject.name}: walks and look-ups`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('look-up - newer than the page - is neither overwritten nor removed by the walk', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const walk = await begin(copy, 200)
      await copy.putLookups([
        { channelId: CHANNEL, gtin: ONE, entry: { product: makeSale(ONE, 'looked up'), asOfMs: 300 } },
      ])
      await copy.putLookups([
        { channelId: CHANNEL, gtin: TWO, entry: { product: makeSale(TWO, 'two, looked up'), asOfMs: 300 } },
      ])
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'walked')], { asOfMs: 200 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 310, isMalformed: false })
      const grid = ['looked up', 'two, looked up']
      expect(await readView(copy, ONE)).toEqual({ box: 'looked up @300', grid })
      expect(await readView(copy, TWO)).toEqual({ box: 'two, looked up @300', grid })
    })

    test('look-up - while its page is staged - is visible at once and after the walk', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'walked')], { asOfMs: 200 }))
      await copy.putLookups([
        { channelId: CHANNEL, gtin: ONE, entry: { product: makeSale(ONE, 'looked up'), asOfMs: 300 } },
      ])
      await copy.putLookups([
        { channelId: CHANNEL, gtin: TWO, entry: { product: makeSale(TWO, 'back'), asOfMs: 300 } },
      ])
      expect(await readView(copy, ONE)).toEqual({ box: 'looked up @300', grid: ['looked up', 'back'] })
      await copy.completeWalk(CHANNEL, walk, { nowMs: 310, isMalformed: false })
      expect(await readView(copy, ONE)).toEqual({ box: 'looked up @300', grid: ['looked up', 'back'] })
      expect(await readBox(copy, TWO)).toBe('back @300')
    })

    test('look-up - older than the staged page - does not replace the data of the walk', async () => {
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(ONE, 'walked')], { asOfMs: 300 }))
      await copy.putLookups([
        { channelId: CHANNEL, gtin: ONE, entry: { product: makeSale(ONE, 'slow'), asOfMs: 250 } },
      ])
      await copy.putLookups([
        { channelId: CHANNEL, gtin: TWO, entry: { product: makeSale(TWO, 'slow'), asOfMs: 250 } },
      ])
      await copy.completeWalk(CHANNEL, walk, { nowMs: 310, isMalformed: false })
      expect(await readView(copy, ONE)).toEqual({ box: 'walked @300', grid: ['walked'] })
      expect(await readBox(copy, TWO)).toBe('unknown')
    })

    test('absence - newer than the page - stays; older - is replaced', async () => {
      await copy.putLookups([{ channelId: CHANNEL, gtin: ONE, entry: { product: null, asOfMs: 300 } }])
      await copy.putLookups([{ channelId: CHANNEL, gtin: TWO, entry: { product: null, asOfMs: 100 } }])
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], 200)
      expect(await readView(copy, ONE)).toEqual({ box: 'absent @300', grid: ['two'] })
      expect(await readView(copy, TWO)).toEqual({ box: 'two @200', grid: ['two'] })
    })

    test('look-up of a product that the copy lacks - is visible at once and survives an older walk', async () => {
      await walkAll(copy, [], 100)
      await copy.putLookups([
        { channelId: CHANNEL, gtin: ONE, entry: { product: makeSale(ONE, 'new'), asOfMs: 300 } },
      ])
      expect(await readView(copy, ONE)).toEqual({ box: 'new @300', grid: ['new'] })
      await walkAll(copy, [], 200)
      expect(await readView(copy, ONE)).toEqual({ box: 'new @300', grid: ['new'] })
      await walkAll(copy, [], 400)
      expect(await readView(copy, ONE)).toEqual({ box: 'unknown', grid: [] })
    })

    test('first-seen time - of a product that returns by a look-up after more than 7 days - is that of the look-up', async () => {
      const lookUp = (product: Product | null, asOfMs: number): Promise<void> => {
        fixture.clock.step(asOfMs - fixture.clock.nowMs())
        return copy.putLookups([{ channelId: CHANNEL, gtin: ONE, entry: { product, asOfMs } }])
      }
      await walkAll(copy, [makeSale(ONE, 'one')], 100)
      const startMs = fixture.clock.nowMs()
      await lookUp(null, startMs)
      await lookUp(makeSale(ONE, 'one'), startMs + 8 * DAY_MS)
      await walkAll(copy, [makeSale(ONE, 'one'), makeSale(TWO, 'two')], startMs + 7 * DAY_MS)
      expect(await readGrid(copy, { sort: 'newest' })).toEqual(['one', 'two'])
    })

    test('first-seen time - of an offer on sale - survives walks and look-ups, and ends with the sale', async () => {
      const sell = (oldPrice: string | null, price = '50.00'): Product =>
        makeProduct({ gtin: ONE, title: 'one', offers: [makeParsedOffer({ price, oldPrice })] })
      await walkAll(copy, [sell('100.00')], 100)
      await walkAll(copy, [sell('100.00'), makeSale(TWO, 'two')], 200)
      await walkAll(copy, [sell('100.00', '49.00'), makeSale(TWO, 'two, renamed')], 300)
      expect(await readGrid(copy, { sort: 'newest' })).toEqual(['two, renamed', 'one'])
      await copy.putLookups([
        { channelId: CHANNEL, gtin: ONE, entry: { product: sell('100.00', '48.00'), asOfMs: 400 } },
      ])
      expect(await readGrid(copy, { sort: 'newest' })).toEqual(['two, renamed', 'one'])
      await walkAll(copy, [sell(null), makeSale(TWO, 'two')], 500)
      await walkAll(copy, [sell('100.00'), makeSale(TWO, 'two')], 600)
      expect(await readGrid(copy, { sort: 'newest' })).toEqual(['one', 'two'])
    })
  })
}
