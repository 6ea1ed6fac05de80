import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import { toPictureHash } from '../../../src/offers/pictures.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, begin, makePage, walkAll } from './subject.ts'

const LAMP = 'https://shop.example/lamp.jpg'
const CHAIR = 'https://shop.example/chair.jpg'

const makePictured = (index: number, ...images: readonly string[]): Product =>
  makeProduct({ gtin: toGtin(index), images: [...images] })

/** Test which pictures the copy finds by name: the first one of each visible product. */
export function describePictures(subject: Subject): void {
  describe(`${subject.name}: pictures`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    const find = (address: string): Promise<string | undefined> => copy.findPicture(toPictureHash(address))
    const lookUp = (product: Product | null, asOfMs: number): Promise<void> =>
      copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry: { product, asOfMs } }])

    test('picture of a product that was walked or looked up - is found; other names are not', async () => {
      expect(await find(LAMP)).toBeUndefined()
      await walkAll(copy, [makePictured(1, LAMP), makePictured(2)], 100)
      await lookUp(makePictured(1, LAMP), 200)
      expect(await find(LAMP)).toBe(LAMP)
      expect(await find(CHAIR)).toBeUndefined()
    })

    test('second picture of a product - is not found, because nothing shows it', async () => {
      await walkAll(copy, [makePictured(1, LAMP, CHAIR)], 100)
      expect(await find(CHAIR)).toBeUndefined()
    })

    test('picture of two products - is found until both are gone', async () => {
      await walkAll(copy, [makePictured(1, LAMP), makePictured(2, LAMP)], 100)
      await walkAll(copy, [makePictured(2, LAMP)], 200)
      expect(await find(LAMP)).toBe(LAMP)
      await walkAll(copy, [makePictured(3)], 300)
      expect(await find(LAMP)).toBeUndefined()
    })

    test('picture that a look-up replaces - is gone at once', async () => {
      await walkAll(copy, [makePictured(1, LAMP)], 100)
      await lookUp(makePictured(1, CHAIR), 200)
      expect([await find(LAMP), await find(CHAIR)]).toEqual([undefined, CHAIR])
      await lookUp(null, 300)
      expect(await find(CHAIR)).toBeUndefined()
    })

    test('picture that a running walk replaces - stays until the walk is complete', async () => {
      await walkAll(copy, [makePictured(1, LAMP)], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makePictured(1, CHAIR)], { asOfMs: 200 }))
      expect([await find(LAMP), await find(CHAIR)]).toEqual([LAMP, undefined])
      await copy.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
      expect([await find(LAMP), await find(CHAIR)]).toEqual([undefined, CHAIR])
    })

    test('picture of another catalog - is not found', async () => {
      const other = await fixture.open('https://two.example')
      await walkAll(other, [makePictured(1, LAMP)], 100)
      expect(await find(LAMP)).toBeUndefined()
    })
  })
}
