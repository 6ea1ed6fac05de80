import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/clock.ts'
import { toDay } from '../../../src/offers/price-history.ts'
import { createShopBook } from '../../../src/offers/shop-book.ts'
import {
  type LeasedEvent,
  type ObservedFeed,
  type StoredEvent,
  DELIVERY_PERIOD_MS,
} from '../../../src/storage/events.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, begin, makePage, walkAll } from './subject.ts'

const LAMP = toGtin(1)
const CHAIR = toGtin(2)
const TABLE = toGtin(3)

function sell(gtin: string, ...merchants: readonly string[]): Product {
  const offers: readonly Offer[] = merchants.map((merchant) => makeParsedOffer({ merchant }))
  return makeProduct({ gtin, title: `Title ${gtin.slice(-2)}`, offers })
}

const TODAY = toDay(NOON_MS)

const LEASE = { owner: 'one', forMs: MINUTE_MS } as const

/** Test that state changes become events once, and that one process delivers them in order. */
export function describeEvents(subject: Subject): void {
  describe(`${subject.name}: events`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    /** Count requests of placements, each `sub gtin`. */
    const askOn = async (day: number, ...placements: readonly string[]): Promise<void> => {
      const widgets = placements.map((placement) => {
        const [sub = '', gtin = ''] = placement.split(' ')
        return { channelId: CHANNEL, day, sub, gtin, shown: 1, hidden: 0, unavailable: 0 }
      })
      await copy.addCounts({ widgets, clicks: [] })
    }
    /** Count them on two days, so that the products are watched. */
    const ask = async (...placements: readonly string[]): Promise<void> => {
      await askOn(TODAY - 1, ...placements)
      await askOn(TODAY, ...placements)
    }
    let walkedAtMs = NOON_MS
    const walk = (...products: readonly Product[]): Promise<void> =>
      walkAll(copy, products, (walkedAtMs += 1))
    /** List the events, the oldest walk first, each as `type subject`. */
    const list = async (from: Copy = copy): Promise<readonly string[]> =>
      (await from.listEvents(100)).toSorted((a, b) => a.atMs - b.atMs).map(describeEvent)

    test('product gone, back, gone again - three events with title and placements', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'))
      await ask(`post-1 ${LAMP}`, `post-2 ${LAMP}`, `post-2 ${LAMP}`, ` ${LAMP}`)
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'))
      expect(await list()).toEqual([])
      await walk(sell(CHAIR, 'Kopje'))
      await walk(sell(CHAIR, 'Kopje'))
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'))
      await walk(sell(LAMP), sell(CHAIR, 'Kopje'))
      expect(await list()).toEqual([`product.gone ${LAMP}`, `product.back ${LAMP}`, `product.gone ${LAMP}`])
      const [newest] = await copy.listEvents(1)
      expect(newest).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        atMs: walkedAtMs,
        channel: { id: CHANNEL, name: CHANNEL },
        details: {
          type: 'product.gone',
          gtin: LAMP,
          title: 'Title 13',
          placements: ['post-2', 'post-1'],
          morePlacements: 0,
        },
      })
      expect(new Set((await copy.listEvents(9)).map(({ id }) => id)).size).toBe(3)
    })

    test('product that no page asks for, or was not sold when it was first seen - no event', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'), sell(TABLE))
      await ask(`a ${TABLE}`)
      await walk(sell(CHAIR, 'Kopje'), sell(TABLE))
      await walk(sell(CHAIR, 'Kopje'), sell(TABLE))
      expect(await list()).toEqual([])
      await walk(sell(CHAIR, 'Kopje'), sell(TABLE, 'Kopje'))
      expect(await list()).toEqual([`product.back ${TABLE}`])
    })

    test('product that pages asked for on one day of the period, as bots do - no event', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'), sell(TABLE, 'Kopje'))
      await askOn(TODAY, `a ${LAMP}`, `b ${LAMP}`, ` ${CHAIR}`, ` ${TABLE}`)
      await askOn(TODAY - 27, ` ${CHAIR}`)
      await askOn(TODAY - 28, ` ${TABLE}`)
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'), sell(TABLE, 'Kopje'))
      await walk(sell(toGtin(4), 'Kopje'))
      expect(await list()).toEqual([`product.gone ${CHAIR}`])
    })

    test('more products than are watched - those with the most placements are', async () => {
      const gtins = Array.from({ length: 2_002 }, (_, index) => toGtin(index))
      const products = gtins.map((gtin) => sell(gtin, 'Kopje'))
      await walk(...products)
      await ask(...gtins.slice(1, -1).flatMap((gtin) => [`a ${gtin}`, `b ${gtin}`]), `a ${gtins[0]}`)
      // A bot's requests of one day.
      await askOn(TODAY, ...Array.from({ length: 9 }, (_, index) => `${index} ${gtins.at(-1)}`))
      await walk(...products)
      await walk(...products.slice(2, -1))
      expect(await list()).toEqual([`product.gone ${gtins[1]}`])
    })

    test('events of one walk - shops first, then the most requested products', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'), sell(TABLE, 'Tafelrond'))
      await ask(` ${LAMP}`, ` ${CHAIR}`, ` ${CHAIR}`)
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'), sell(TABLE, 'Tafelrond'))
      await walk(sell(TABLE, 'Tafelrond'))
      const events = await copy.listEvents(9)
      const expected = ['shop.gone Kopje', `product.gone ${CHAIR}`, `product.gone ${LAMP}`]
      expect(events.map(describeEvent)).toEqual(expected)
    })

    test('many placements - the most requested ones are named, the others counted', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'))
      await ask(...Array.from({ length: 23 }, (_, index) => `post-${index} ${LAMP}`))
      await walk(sell(LAMP, 'Kopje'), sell(CHAIR, 'Kopje'))
      await walk(sell(CHAIR, 'Kopje'))
      const [event] = await copy.listEvents(1)
      expect(event?.details).toMatchObject({ morePlacements: 3 })
    })

    test('shop without an offer in a complete walk - one event when it goes, and one when it goes again', async () => {
      await walk(sell(LAMP, 'Kopje', 'Tafelrond'))
      await walk(sell(LAMP, 'Kopje'))
      await walk(sell(LAMP, 'Kopje'))
      expect(await list()).toEqual(['shop.gone Tafelrond'])
      await walk(sell(LAMP, 'Kopje', 'Tafelrond'))
      await walk(sell(LAMP, 'Tafelrond'))
      expect(await list()).toEqual(['shop.gone Tafelrond', 'shop.gone Kopje'])
    })

    test('names of one shop in the shop file - are one shop', async () => {
      const shop = { name: 'Kopje & Co', logoPath: null, terms: null }
      const shops = createShopBook([{ merchant: 'Kopje', aliases: ['Kopje DE'], shop }])
      const walkWithShops = async (product: Product): Promise<void> => {
        const asOfMs = (walkedAtMs += 1)
        const number = await begin(copy, asOfMs)
        await copy.applyPage(CHANNEL, makePage(number, [product], { asOfMs }))
        await copy.completeWalk(CHANNEL, number, { nowMs: asOfMs, isMalformed: false, shops })
      }
      await walkWithShops(sell(LAMP, 'KOPJE DE', 'Tafelrond'))
      await walkWithShops(sell(LAMP, 'Kopje', 'Tafelrond'))
      expect(await list()).toEqual([])
      await walkWithShops(sell(LAMP, 'Tafelrond'))
      const [event] = await copy.listEvents(1)
      expect(event?.details).toEqual({ type: 'shop.gone', merchant: 'Kopje', name: 'Kopje & Co' })
    })

    test('walk that was held, failed or restarted - does not count what it saw', async () => {
      await walk(sell(LAMP, 'Kopje', 'Tafelrond'))
      await ask(`a ${LAMP}`)
      await walk(sell(LAMP, 'Kopje', 'Tafelrond'))
      const held = {
        reason: 'few_products',
        sinceMs: NOON_MS,
        startedAtMs: NOON_MS,
        productCount: 1,
      } as const
      const number = await begin(copy, (walkedAtMs += 1))
      const page = makePage(number, [sell(CHAIR, 'Boomhut')], { asOfMs: walkedAtMs, nextCursor: 'next' })
      await copy.applyPage(CHANNEL, page)
      await copy.holdWalk(CHANNEL, number, held)
      await copy.failWalk(CHANNEL, { code: 'VITRINE_CATALOG_RATE_LIMITED', reason: 'a reason' }, walkedAtMs)
      expect(await list()).toEqual([])
      // The next walk has the same number.
      await walk(sell(LAMP, 'Tafelrond'))
      expect(await list()).toEqual(['shop.gone Kopje'])
    })

    test('walk in two parts - counts the pages of both', async () => {
      await walk(sell(LAMP, 'Kopje'), sell(TABLE, 'Tafelrond'))
      const asOfMs = (walkedAtMs += 1)
      const number = await begin(copy, asOfMs)
      const first = makePage(number, [sell(LAMP, 'Kopje')], { asOfMs, nextCursor: 'next' })
      await copy.applyPage(CHANNEL, first)
      const { walk: resumed, afterGtin } = await copy.beginWalk(CHANNEL, {
        nowMs: asOfMs,
        resumableSinceMs: 0,
      })
      const page = makePage(resumed, [sell(TABLE, 'Boomhut')], { asOfMs, afterGtin })
      await copy.applyPage(CHANNEL, page)
      await copy.completeWalk(CHANNEL, resumed, { nowMs: asOfMs, isMalformed: false })
      await copy.completeWalk(CHANNEL, resumed, { nowMs: asOfMs, isMalformed: false })
      expect(await list()).toEqual(['shop.gone Tafelrond'])
    })

    test('feed - one event when it becomes stale, and none when it is stale at first or removed', async () => {
      await copy.recordFeeds([feed('awin', false), feed('old', true)], NOON_MS)
      await copy.recordFeeds([feed('awin', true), feed('old', true)], NOON_MS + 1)
      await copy.recordFeeds([feed('awin', true)], NOON_MS + 2)
      await copy.recordFeeds([feed('awin', false), feed('old', true)], NOON_MS + 3)
      await copy.recordFeeds([feed('awin', true)], NOON_MS + 4)
      expect(await list()).toEqual(['feed.stale awin', 'feed.stale awin'])
      const [event] = await copy.listEvents(1)
      expect(event).toMatchObject({ channel: null, details: { fetchedAtMs: NOON_MS - DAY_MS } })
    })

    /** Make shops A, B … go at once. */
    const loseShops = async (...shops: readonly string[]): Promise<void> => {
      walkedAtMs = fixture.clock.nowMs()
      await walk(sell(LAMP, 'Kopje', ...shops))
      await walk(sell(LAMP, 'Kopje'))
    }

    test('delivery - in order, once, and after a failure only when its time has come', async () => {
      expect(await copy.leaseEvent(LEASE)).toBeUndefined()
      await loseShops('A', 'B')
      const first = await copy.leaseEvent(LEASE)
      expect(describeLeased(first)).toBe('shop.gone A, 0 failures')
      const id = first?.event.id ?? ''
      const nextAttemptMs = fixture.clock.nowMs() + MINUTE_MS
      await copy.recordDelivery({ owner: 'one', id, failure: 'status 500', nextAttemptMs })
      expect(await copy.leaseEvent(LEASE)).toBeUndefined()
      expect(await copy.readDeliveryState()).toEqual({
        pendingCount: 2,
        deliveredAtMs: null,
        failure: 'status 500',
        failedAtMs: nextAttemptMs - MINUTE_MS,
      })
      fixture.clock.advance(MINUTE_MS)
      expect(describeLeased(await copy.leaseEvent(LEASE))).toBe('shop.gone A, 1 failures')
      await copy.recordDelivery({ owner: 'one', id, failure: null, nextAttemptMs: 0 })
      expect(describeLeased(await copy.leaseEvent(LEASE))).toBe('shop.gone B, 0 failures')
      await copy.releaseDelivery('one')
      expect(await copy.readDeliveryState()).toMatchObject({
        pendingCount: 1,
        deliveredAtMs: nextAttemptMs,
        failure: null,
      })
    })

    test('event that was not delivered for three days - is given up, but listed', async () => {
      await loseShops('A')
      fixture.clock.advance(DELIVERY_PERIOD_MS - HOUR_MS)
      await loseShops('B')
      fixture.clock.advance(HOUR_MS + SECOND_MS)
      expect(describeLeased(await copy.leaseEvent(LEASE))).toBe('shop.gone B, 0 failures')
      expect(await list()).toEqual(['shop.gone A', 'shop.gone B'])
    })

    test('events - older than 30 days are deleted with the next ones', async () => {
      await loseShops('A')
      fixture.clock.advance(31 * DAY_MS)
      await loseShops('B')
      expect(await list()).toEqual(['shop.gone B'])
    })

    test('two catalogs in one database - have their own events', async () => {
      const other = await fixture.open('https://two.example')
      await loseShops('A')
      expect([await list(other), await other.leaseEvent(LEASE)]).toEqual([[], undefined])
      // A clock that is far ahead, or a catalog with newer events.
      fixture.clock.advance(31 * DAY_MS)
      walkedAtMs = fixture.clock.nowMs()
      await walkAll(other, [sell(LAMP, 'Kopje', 'B')], (walkedAtMs += 1))
      await walkAll(other, [sell(LAMP, 'Kopje')], (walkedAtMs += 1))
      expect([await list(), await list(other)]).toEqual([['shop.gone A'], ['shop.gone B']])
    })

    if (!subject.isShared) return

    test('two processes - one delivers; after a crash, the other', async () => {
      const other = await fixture.open('https://one.example')
      await loseShops('A')
      expect(describeLeased(await copy.leaseEvent(LEASE))).toBe('shop.gone A, 0 failures')
      expect(await other.leaseEvent({ owner: 'two', forMs: MINUTE_MS })).toBeUndefined()
      await fixture.passTime(MINUTE_MS + SECOND_MS)
      const retried = await other.leaseEvent({ owner: 'two', forMs: MINUTE_MS })
      expect(describeLeased(retried)).toBe('shop.gone A, 0 failures')
      // The result of the former owner is ignored.
      const id = retried?.event.id ?? ''
      await copy.recordDelivery({ owner: 'one', id, failure: 'late', nextAttemptMs: NOON_MS })
      expect(await copy.readDeliveryState()).toMatchObject({ failure: null })
      await other.recordDelivery({ owner: 'two', id, failure: null, nextAttemptMs: 0 })
      expect(await copy.leaseEvent(LEASE)).toBeUndefined()
      expect(await list(other)).toEqual(['shop.gone A'])
    })
  })
}

function describeEvent({ details }: StoredEvent): string {
  const subject =
    'gtin' in details ? details.gtin : details.type === 'shop.gone' ? details.merchant : details.feed
  return `${details.type} ${subject}`
}

function describeLeased(leased: LeasedEvent | undefined): string {
  return leased === undefined ? 'nothing' : `${describeEvent(leased.event)}, ${leased.failures} failures`
}

function feed(name: string, isStale: boolean): ObservedFeed {
  return { name, channelId: null, isStale, fetchedAtMs: NOON_MS - DAY_MS }
}
