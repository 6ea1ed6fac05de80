import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, begin, makePage, walkAll } from './subject.ts'

const ONE = toGtin(1)

/** Test what the copy keeps of failures: retried calls, failed walks and malformed entries. */
export function describeWalkReasons(subject: Subject): void {
  describe(`${subject.name}: reasons of walks`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('failed call of a walk - retried - the state has its code and reason, until it succeeds or the walk ends', async () => {
      await walkAll(copy, [makeProduct({ gtin: ONE, title: 'one' })], 100)
      const walk = await begin(copy, 200)
      const failure = { code: 'VITRINE_CATALOG_STATUS', reason: `the database\u0000 ${'x'.repeat(10_000)}` }
      const readState = async (): Promise<unknown> => {
        const { retry, failure: code, failureReason, isRunning } = await copy.getCopyState(CHANNEL)
        return [retry?.code, retry?.reason.length, code, failureReason, isRunning]
      }
      await copy.recordRetry(CHANNEL, failure)
      expect(await readState()).toEqual([failure.code, 500, null, null, true])
      await copy.recordRetry(CHANNEL, null)
      expect(await readState()).toEqual([undefined, undefined, null, null, true])
      await copy.recordRetry(CHANNEL, failure)
      await copy.failWalk(CHANNEL, { code: 'VITRINE_CATALOG_INVALID', reason: 'it is over' }, 210)
      expect(await readState()).toEqual([
        undefined,
        undefined,
        'VITRINE_CATALOG_INVALID',
        'it is over',
        false,
      ])
      expect(await begin(copy, 300)).toBe(walk)
      await copy.recordRetry(CHANNEL, failure)
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [makeProduct({ gtin: ONE, title: 'one' })], { asOfMs: 300 }),
      )
      await copy.completeWalk(CHANNEL, walk, { nowMs: 300, isMalformed: false })
      expect(await readState()).toEqual([undefined, undefined, null, null, false])
    })

    test('malformed entries - are found in the walk that readers see, at the start and end of pages and beside left-out products', async () => {
      const walk = await begin(copy, 100)
      const product = makeProduct({ gtin: toGtin(5), title: 'five' })
      await copy.applyPage(
        CHANNEL,
        makePage(walk, [product], {
          asOfMs: 100,
          nextCursor: 'c',
          leftOutGtins: [toGtin(4)],
          malformed: new Map([
            [toGtin(3), 'title'],
            [toGtin(6), 'offers'],
          ]),
        }),
      )
      const find = (index: number): Promise<unknown> => copy.findMalformedEntry(CHANNEL, toGtin(index))
      const findAll = (): Promise<unknown[]> => Promise.all([3, 4, 5, 6, 7].map(find))
      expect(await findAll()).toEqual(['title', undefined, undefined, 'offers', undefined])
      await copy.applyPage(CHANNEL, makePage(walk, [], { afterGtin: toGtin(5), asOfMs: 100 }))
      await copy.completeWalk(CHANNEL, walk, { nowMs: 100, isMalformed: false })
      expect(await findAll()).toEqual(['title', undefined, undefined, 'offers', undefined])
      expect(await copy.findMalformedEntry(toGtin(1), toGtin(3))).toBeUndefined()
      await walkAll(copy, [product], 200)
      expect(await findAll()).toEqual([undefined, undefined, undefined, undefined, undefined])
    })
  })
}
