import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, begin, makePage, walkAll } from './subject.ts'

/** Test walk leases, and where a failed walk resumes. */
export function describeWalkLeases(subject: Subject): void {
  describe(`${subject.name}: leases and resuming`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())
    const acquire = (owner: string): Promise<boolean> =>
      copy.acquireWalkLease(CHANNEL, { owner, forMs: HOUR_MS })

    test('lease - of another owner - is not available until it has expired', async () => {
      expect(await acquire('a')).toBe(true)
      await fixture.passTime(50 * MINUTE_MS)
      expect(await acquire('b')).toBe(false)
      await fixture.passTime(10 * MINUTE_MS)
      expect(await acquire('b')).toBe(true)
      expect(await acquire('a')).toBe(false)
    })

    test('lease - acquired again by its owner - is extended', async () => {
      await acquire('a')
      await fixture.passTime(50 * MINUTE_MS)
      expect(await acquire('a')).toBe(true)
      await fixture.passTime(50 * MINUTE_MS)
      expect(await acquire('b')).toBe(false)
    })

    test('lease - acquired while the clock was a day ahead - has expired once the clock is correct', async () => {
      expect(await acquire('a')).toBe(true)
      await fixture.passTime(-DAY_MS)
      expect(await acquire('b')).toBe(true)
    })

    test('lease - released by its owner - is free; released by another - is not', async () => {
      await acquire('a')
      await copy.releaseWalkLease(CHANNEL, 'b')
      expect(await acquire('b')).toBe(false)
      await copy.releaseWalkLease(CHANNEL, 'a')
      expect(await acquire('b')).toBe(true)
    })

    test('lease of one channel - does not affect others', async () => {
      await acquire('a')
      const lease = { owner: 'b', forMs: HOUR_MS }
      expect(await copy.acquireWalkLease('00000000-0000-4000-8000-000000000002', lease)).toBe(true)
    })

    test('walk that another owner took over - the first owner can no longer hold it', async () => {
      if (!fixture.isShared) return
      await walkAll(copy, [makeProduct({ gtin: toGtin(1) })], 100)
      const other = await fixture.open('https://one.example')
      await acquire('a')
      const walk = await begin(copy, 200)
      const first = makePage(walk, [makeProduct({ gtin: toGtin(2) })], { asOfMs: 200, nextCursor: 'c' })
      await copy.applyPage(CHANNEL, first)
      const heldWalk = { reason: 'few_products', sinceMs: 200, startedAtMs: 200, productCount: 1 } as const
      const holdAfterTakeover = (): Promise<void> => copy.holdWalk(CHANNEL, walk, heldWalk)
      await fixture.passTime(HOUR_MS)
      expect(await other.acquireWalkLease(CHANNEL, { owner: 'b', forMs: HOUR_MS })).toBe(true)
      await expect(holdAfterTakeover()).rejects.toThrow('took over the walk')
      expect(await other.getCopyState(CHANNEL)).toMatchObject({ held: null, isRunning: true })
      // The new owner resumes after the stored page.
      const resumed = await other.beginWalk(CHANNEL, { nowMs: 210, resumableSinceMs: 200 })
      expect(resumed).toMatchObject({ walk, cursor: 'c', productCount: 1 })
      const last = { asOfMs: 210, afterGtin: toGtin(2) }
      await other.applyPage(CHANNEL, makePage(walk, [makeProduct({ gtin: toGtin(3) })], last))
      await other.completeWalk(CHANNEL, walk, { nowMs: 220, isMalformed: false })
      await other.releaseWalkLease(CHANNEL, 'b')
      await expect(holdAfterTakeover()).rejects.toThrow('took over the walk')
      expect(await other.getCopyState(CHANNEL)).toMatchObject({ currentWalk: walk, held: null })
    })

    test('walk - never started - starts at the first page', async () => {
      const started = await copy.beginWalk(CHANNEL, { nowMs: 100, resumableSinceMs: 0 })
      expect(started).toEqual({
        walk: 1,
        cursor: null,
        afterGtin: '',
        productCount: 0,
        startedAtMs: 100,
        hasAllPages: false,
      })
    })

    test('walk - failed after two pages - resumes after the second', async () => {
      await walkAll(copy, [], 50)
      const walk = await begin(copy, 100)
      const first = { asOfMs: 100, nextCursor: 'c1' }
      await copy.applyPage(CHANNEL, makePage(walk, [makeProduct({ gtin: toGtin(1) })], first))
      const second = { asOfMs: 110, nextCursor: 'c2', afterGtin: toGtin(1) }
      await copy.applyPage(CHANNEL, makePage(walk, [makeProduct({ gtin: toGtin(2) })], second))
      await copy.failWalk(CHANNEL, { code: 'VITRINE_CATALOG_STATUS', reason: 'a reason' }, 120)
      expect(await copy.beginWalk(CHANNEL, { nowMs: 200, resumableSinceMs: 110 })).toEqual({
        walk,
        cursor: 'c2',
        afterGtin: toGtin(2),
        productCount: 2,
        startedAtMs: 100,
        hasAllPages: false,
      })
    })

    test('walk - failed too long ago - restarts and counts its pages once', async () => {
      const walk = await begin(copy, 100)
      const page = makePage(walk, [makeProduct({ gtin: toGtin(1) })], { asOfMs: 100, nextCursor: 'c1' })
      await copy.applyPage(CHANNEL, page)
      const restarted = await copy.beginWalk(CHANNEL, { nowMs: 200, resumableSinceMs: 101 })
      expect(restarted).toMatchObject({ walk, cursor: null, afterGtin: '', productCount: 0 })
      const products = [1, 2].map((index) => makeProduct({ gtin: toGtin(index) }))
      await copy.applyPage(CHANNEL, makePage(walk, products, { asOfMs: 200 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 210, isMalformed: false })
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ productCount: 2, completedStartedAtMs: 200 })
    })

    test('walk - interrupted after its last page - resumes with all pages stored', async () => {
      const walk = await begin(copy, 100)
      await copy.applyPage(CHANNEL, makePage(walk, [makeProduct()], { asOfMs: 100 }))
      const resumed = await copy.beginWalk(CHANNEL, { nowMs: 200, resumableSinceMs: 0 })
      expect(resumed).toMatchObject({ walk, hasAllPages: true, productCount: 1 })
      await copy.completeWalk(CHANNEL, walk, { nowMs: 210, isMalformed: false })
      expect(await copy.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 1, completedStartedAtMs: 100 })
    })

    test('walk - complete - the next one gets the next number', async () => {
      await walkAll(copy, [], 100)
      expect(await begin(copy, 200)).toBe(2)
      await copy.completeWalk(CHANNEL, 1, { nowMs: 300, isMalformed: false })
      expect((await copy.getCopyState(CHANNEL)).completedAtMs).toBe(100)
    })
  })
}
