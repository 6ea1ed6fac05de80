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
/** The real time, as a server's own clock tells it. */
const NOW_MS: number = Date.now()
const TOMORROW_MS: number = NOW_MS + DAY_MS
/** As far ahead as clocks may differ. */
const SOON_MS: number = NOW_MS + MINUTE_MS

const makeLamp = (title: string, gtin: string = GTIN): Product =>
  makeProduct({ title, gtin, offers: [makeParsedOffer({ oldPrice: '99.00' })] })

/** What was written while a clock was a day ahead: it is written over, and is no news beside anything else. */
export function describeFuture(subject: Subject): void {
  describe(`${subject.name}: times of the future`, () => {
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

    test('look-up of tomorrow - is replaced by one of now', async () => {
      await put('tomorrow', TOMORROW_MS)
      expect(await readBox(copy, GTIN)).toBe(`tomorrow @${TOMORROW_MS}`)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`now @${NOW_MS}`)
    })

    test('look-up a minute ahead - is newer than one of now', async () => {
      await put('soon', SOON_MS)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`soon @${SOON_MS}`)
    })

    test('absence of tomorrow - gives way to a look-up and to a page of now', async () => {
      await put(null, TOMORROW_MS)
      await put('now', NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`now @${NOW_MS}`)
      await put(null, TOMORROW_MS)
      await walkAll(copy, [makeLamp('walked')], NOW_MS)
      expect(await readBox(copy, GTIN)).toBe(`walked @${NOW_MS}`)
    })

    test('walk of tomorrow - is written over by one of now, what has changed and what has not', async () => {
      const walked = [1, 2, 3].map((index) => makeLamp('first', toGtin(index)))
      await walkAll(copy, walked, TOMORROW_MS)
      expect(await copy.findFutureCopies()).toEqual([CHANNEL])
      await walkAll(copy, [makeLamp('second', toGtin(1)), makeLamp('first', toGtin(2))], NOW_MS)
      expect(await copy.findFutureCopies()).toEqual([])
      expect(await readBox(copy, toGtin(1))).toBe(`second @${NOW_MS}`)
      expect(await readBox(copy, toGtin(2))).toBe(`first @${NOW_MS}`)
      expect(await readBox(copy, toGtin(3))).toBe('unknown')
      // The future has come: nothing is dated by it any more.
      fixture.clock.step(2 * DAY_MS)
      expect(await readBox(copy, toGtin(2))).toBe(`first @${NOW_MS}`)
    })

    test('page of tomorrow - leaves a look-up of now its time', async () => {
      await walkAll(copy, [makeLamp('walked')], TOMORROW_MS)
      await put('now', NOW_MS)
      expect([await readBox(copy, GTIN), await readCard()]).toEqual([`now @${NOW_MS}`, `now @${NOW_MS}`])
    })

    test('look-up of a machine a day ahead, after a page - is as young as the page, and a server knows better', async () => {
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

    test('look-up of tomorrow - of what a page and an absence of now lack - is stored, as it was never known', async () => {
      await walkAll(copy, [makeLamp('walked', toGtin(2))], NOW_MS)
      await put('tomorrow', TOMORROW_MS)
      expect(await readBox(copy, GTIN)).toBe(`tomorrow @${NOW_MS}`)
      const absent = { channelId: CHANNEL, gtin: toGtin(3) }
      await copy.putLookups([{ ...absent, entry: { product: null, asOfMs: NOW_MS } }])
      const product = makeLamp('back', toGtin(3))
      await copy.putLookups([{ ...absent, entry: { product, asOfMs: TOMORROW_MS } }])
      expect(await readBox(copy, toGtin(3))).toBe(`back @${NOW_MS}`)
    })

    test('walk that broke after a page of tomorrow - begins anew', async () => {
      const walk = await begin(copy, TOMORROW_MS)
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [makeLamp('first')], { asOfMs: TOMORROW_MS, nextCursor: 'c' }),
      )
      await copy.failWalk(CHANNEL, 'VITRINE_CATALOG_STATUS', TOMORROW_MS)
      const next = { nowMs: NOW_MS, resumableSinceMs: NOW_MS - MINUTE_MS }
      expect(await copy.beginWalk(CHANNEL, next)).toMatchObject({ cursor: null, productCount: 0 })
    })

    test('channel gone tomorrow - has gone at the next list', async () => {
      const channel = { id: CHANNEL, name: 'Site', kind: 'website', url: 'https://site.example/' } as const
      await copy.putChannelList([channel], NOW_MS)
      await copy.putChannelList([], TOMORROW_MS)
      await copy.putChannelList([], NOW_MS)
      expect((await copy.findChannelList())?.gone).toMatchObject([{ goneAtMs: NOW_MS }])
    })

    test('time of the database - a server has a clock, a file has none', async () => {
      const timeMs = await copy.readDatabaseTime()
      // The machine of the test may be slow, and its server is on it.
      const isNear = timeMs !== null && Math.abs(timeMs - Date.now()) < 5 * MINUTE_MS
      expect([timeMs === null, isNear]).toEqual(subject.name === 'PostgreSQL' ? [false, true] : [true, false])
    })
  })
}
