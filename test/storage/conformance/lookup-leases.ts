import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject } from './subject.ts'

const PRODUCT = { channelId: CHANNEL, gtin: toGtin(1) }

/** Test look-up leases, which decide which process requests a product from the catalog. */
export function describeLookupLeases(subject: Subject): void {
  describe(`${subject.name}: look-up leases`, () => {
    let fixture: CopyFixture
    let copy: Copy
    const acquire = (owner: string, product = PRODUCT): Promise<boolean> =>
      copy.acquireLookupLease(product, { owner, forMs: HOUR_MS })

    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('lease of another owner - is not available until the owner releases it', async () => {
      expect(await acquire('a')).toBe(true)
      expect(await acquire('b')).toBe(false)
      await copy.releaseLookupLease(PRODUCT, { owner: 'b' })
      expect(await acquire('b')).toBe(false)
      await copy.releaseLookupLease(PRODUCT, { owner: 'a' })
      expect(await acquire('b')).toBe(true)
    })

    test('other products, channels and catalogs - can be leased', async () => {
      expect(await acquire('a')).toBe(true)
      expect(await acquire('b', { ...PRODUCT, gtin: toGtin(2) })).toBe(true)
      expect(await acquire('b', { ...PRODUCT, channelId: 'other' })).toBe(true)
      const other = await fixture.open('https://two.example')
      expect(await other.acquireLookupLease(PRODUCT, { owner: 'b', forMs: HOUR_MS })).toBe(true)
    })

    test('lease of a crashed owner - expires', async () => {
      await acquire('a')
      await fixture.passTime(50 * MINUTE_MS)
      expect(await acquire('b')).toBe(false)
      await fixture.passTime(10 * MINUTE_MS)
      expect(await acquire('b')).toBe(true)
      // The first owner's late release has no effect.
      await copy.releaseLookupLease(PRODUCT, { owner: 'a' })
      expect(await acquire('c')).toBe(false)
    })

    test('lease acquired before the clock was set back - ends at once', async () => {
      await acquire('a')
      await fixture.passTime(-DAY_MS)
      expect(await acquire('b')).toBe(true)
    })
  })
}
