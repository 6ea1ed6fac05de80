import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/clock.ts'
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
/** The real time, because a database server uses its own clock. */
const NOW_MS: number = Date.now()
const TOMORROW_MS: number = NOW_MS + DAY_MS
/** The largest tolerated difference between clocks. */
const SOON_MS: number = NOW_MS + MINUTE_MS

const makeLamp = (title: string, gtin: string = GTIN): Product =>
  makeProduct({ title, gtin, offers: [makeParsedOffer({ oldPrice: '99.00' })] })

/** Test data that was written while a clock was a day ahead: any later write replaces it. */
export function describeFuture(subject: Subject): void {
  describe(`${subject.name}: times in the future`, () => {
    let fixture: CopyFixture
    let copy: Copy
    const put = (title: string | null, asOfMs: number): Promise<void> =>
      copy.putLookups([
        {
          channelId: CHANNEL,
          gtin: GTIN,
          entry: { product: title === null ? null : makeLamp(title), asOfMs },
        },
      ])
    const readCard = async (): Promise<string> => {
      const [deal] = await copy.findDeals(makeQuery())
      return `${deal?.title} @${deal?.asOfMs}`
    }

    beforeEach(async () => {
      fixture = await subject.start()
      fixture.clock.step(NOW_MS - fixture.clock.nowMs())
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('look-up dated tomorrow - is replaced by one dated now', async () => {
      await put('tomorrow', TOMORROW_MS)
      expect(await readBox(copy, GTIN)).toBe(`tomorrow @${TOMORROW_MS}`)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`now @${NOW_MS}`)
    })

    test('look-up dated a minute ahead - counts as newer than one dated now', async () => {
      await put('soon', SOON_MS)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`soon @${SOON_MS}`)
    })

    test('absence dated tomorrow - is replaced by a look-up and by a page dated now', async () => {
      await put(null, TOMORROW_MS)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`now @${NOW_MS}`)
      await put(null, TOMORROW_MS)
      await walkAll(copy, [makeLamp('walked')], NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`walked @${NOW_MS}`)
    })

    test('walk dated tomorrow - is replaced by one dated now, for changed and unchanged products', async () => {
      const walked = [1, 2, 3].map((index) => makeLamp('first', toGtin(index)))
      await walkAll(copy, walked, TOMORROW_MS)
      expect(await copy.findFutureCopies()).toEqual([CHANNEL])
      await walkAll(copy, [makeLamp('second', toGtin(1)), makeLamp('first', toGtin(2))], NOW_MS)
      expect(await copy.findFutureCopies()).toEqual([])
      expect(await readBox(copy, toGtin(1))).toBe(`second @${NOW_MS}`)
      expect(await readBox(copy, toGtin(2))).toBe(`first @${NOW_MS}`)
      expect(await readBox(copy, toGtin(3))).toBe('unknown')
      // When that time has come, no entry has the future date any more.
      fixture.clock.step(2 * DAY_MS)
      expect(await readBox(copy, toGtin(2))).toBe(`first @${NOW_MS}`)
    })

    test('page dated tomorrow - a look-up dated now keeps its time', async () => {
      await walkAll(copy, [makeLamp('walked')], TOMORROW_MS)
      await put('now', NOW_MS)
      expect([await readBox(copy, GTIN), await readCard()]).toEqual([`now @${NOW_MS}`, `now @${NOW_MS}`])
    })

    test('look-up by a machine a day ahead, after a page - gets the time of the page; a database server rejects it', async () => {
      await walkAll(copy, [makeLamp('walked')], NOW_MS)
      fixture.clock.step(DAY_MS)
      await put('tomorrow', TOMORROW_MS)
      fixture.clock.step(-DAY_MS)
      const title = (await copy.readDatabaseTime()) === null ? 'tomorrow' : 'walked'
      expect([await readBox(copy, GTIN), await readCard()]).toEqual([
        `${title} @${NOW_MS}`,
        `${title} @${NOW_MS}`,
      ])
    })

    test('look-up dated tomorrow - product missing from a page dated now, or absent - is stored with the current time', async () => {
      await walkAll(copy, [makeLamp('walked', toGtin(2))], NOW_MS)
      await put('tomorrow', TOMORROW_MS)
      expect(await readBox(copy, GTIN)).toBe(`tomorrow @${NOW_MS}`)
      const absent = { channelId: CHANNEL, gtin: toGtin(3) }
      await copy.putLookups([{ ...absent, entry: { product: null, asOfMs: NOW_MS } }])
      const product = makeLamp('back', toGtin(3))
      await copy.putLookups([{ ...absent, entry: { product, asOfMs: TOMORROW_MS } }])
      expect(await readBox(copy, toGtin(3))).toBe(`back @${NOW_MS}`)
    })

    test('walk that failed after a page dated tomorrow - restarts from the first page', async () => {
      const walk = await begin(copy, TOMORROW_MS)
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [makeLamp('first')], { asOfMs: TOMORROW_MS, nextCursor: 'c' }),
      )
      await copy.failWalk(CHANNEL, { code: 'VITRINE_CATALOG_STATUS', reason: 'a reason' }, TOMORROW_MS)
      const next = { nowMs: NOW_MS, resumableSinceMs: NOW_MS - MINUTE_MS }
      expect(await copy.beginWalk(CHANNEL, next)).toMatchObject({ cursor: null, productCount: 0 })
    })

    test('channel removed with a time of tomorrow - gets the time of the next list', async () => {
      const channel = { id: CHANNEL, name: 'Site', kind: 'website', url: 'https://site.example/' } as const
      await copy.putChannelList([channel], NOW_MS)
      await copy.putChannelList([], TOMORROW_MS)
      await copy.putChannelList([], NOW_MS)
      expect((await copy.findChannelList())?.gone).toMatchObject([{ goneAtMs: NOW_MS }])
    })

    test('database time - a server has a clock, a file has none', async () => {
      const timeMs = await copy.readDatabaseTime()
      // The test machine also runs the server and may be slow.
      const isNear = timeMs !== null && Math.abs(timeMs - Date.now()) < 5 * MINUTE_MS
      expect([timeMs === null, isNear]).toEqual(subject.name === 'PostgreSQL' ? [false, true] : [true, false])
    })
  })
}
