import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type Place, type Subject } from './subject.ts'

const PRODUCT = { channelId: CHANNEL, gtin: toGtin(1) }

/** Claims of look-ups: who asks the catalog for a product. */
export function describeClaims(subject: Subject): void {
  describe(`${subject.name}: claims of look-ups`, () => {
    let place: Place
    let copy: Copy
    const claim = (owner: string, nowMs: number, product = PRODUCT): Promise<boolean> =>
      copy.claimLookup(product, { owner, nowMs, untilMs: nowMs + 100 })

    beforeEach(async () => {
      place = await subject.start()
      copy = await place.open('https://one.example')
    })
    afterEach(() => place.dispose())

    test('product that another one asks for - is his until he gives it back', async () => {
      expect(await claim('a', 1_000)).toBe(true)
      expect(await claim('b', 1_050)).toBe(false)
      await copy.giveBackLookup(PRODUCT, { owner: 'b', nowMs: 1_050 })
      expect(await claim('b', 1_060)).toBe(false)
      await copy.giveBackLookup(PRODUCT, { owner: 'a', nowMs: 1_060 })
      expect(await claim('b', 1_060)).toBe(true)
    })

    test('other products, channels and catalogs - are free', async () => {
      expect(await claim('a', 1_000)).toBe(true)
      expect(await claim('b', 1_000, { ...PRODUCT, gtin: toGtin(2) })).toBe(true)
      expect(await claim('b', 1_000, { ...PRODUCT, channelId: 'other' })).toBe(true)
      const other = await place.open('https://two.example')
      expect(await other.claimLookup(PRODUCT, { owner: 'b', nowMs: 1_000, untilMs: 1_100 })).toBe(true)
    })

    test('claim of one who died - ends with its time', async () => {
      await claim('a', 1_000)
      expect(await claim('b', 1_099)).toBe(false)
      expect(await claim('b', 1_100)).toBe(true)
      // What a thought to be his is not.
      await copy.giveBackLookup(PRODUCT, { owner: 'a', nowMs: 1_110 })
      expect(await claim('c', 1_120)).toBe(false)
    })

    test('claim of one who looked at the clock before and comes after - leaves the other his', async () => {
      expect(await claim('a', 1_001)).toBe(true)
      expect(await claim('b', 1_000)).toBe(false)
    })

    test('claim made before the clock was set back - does not last until the clock is there again', async () => {
      await claim('a', 10_000)
      expect(await claim('b', 1_000)).toBe(true)
    })
  })
}
