import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type Place, type Subject } from './subject.ts'

const PRODUCT = { channelId: CHANNEL, gtin: toGtin(1) }

/** Claims of look-ups: who asks the catalog for a product. */
export function describeClaims(subject: Subject): void {
  describe(`${subject.name}: claims of look-ups`, () => {
    let place: Place
    let copy: Copy
    const claim = (owner: string, product = PRODUCT): Promise<boolean> =>
      copy.claimLookup(product, { owner, forMs: HOUR_MS })

    beforeEach(async () => {
      place = await subject.start()
      copy = await place.open('https://one.example')
    })
    afterEach(() => place.dispose())

    test('product that another one asks for - is his until he gives it back', async () => {
      expect(await claim('a')).toBe(true)
      expect(await claim('b')).toBe(false)
      await copy.releaseLookup(PRODUCT, { owner: 'b' })
      expect(await claim('b')).toBe(false)
      await copy.releaseLookup(PRODUCT, { owner: 'a' })
      expect(await claim('b')).toBe(true)
    })

    test('other products, channels and catalogs - are free', async () => {
      expect(await claim('a')).toBe(true)
      expect(await claim('b', { ...PRODUCT, gtin: toGtin(2) })).toBe(true)
      expect(await claim('b', { ...PRODUCT, channelId: 'other' })).toBe(true)
      const other = await place.open('https://two.example')
      expect(await other.claimLookup(PRODUCT, { owner: 'b', forMs: HOUR_MS })).toBe(true)
    })

    test('claim of one who died - ends with its time', async () => {
      await claim('a')
      await place.passTime(50 * MINUTE_MS)
      expect(await claim('b')).toBe(false)
      await place.passTime(10 * MINUTE_MS)
      expect(await claim('b')).toBe(true)
      // What a thought to be his is not.
      await copy.releaseLookup(PRODUCT, { owner: 'a' })
      expect(await claim('c')).toBe(false)
    })

    test('claim made before the clock was set back - does not last until the clock is there again', async () => {
      await claim('a')
      await place.passTime(-DAY_MS)
      expect(await claim('b')).toBe(true)
    })
  })
}
