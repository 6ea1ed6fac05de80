import { beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../src/clock.ts'
import type { CopyEntry } from '../../src/copy/store.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { readBox } from './conformance/subject.ts'
import { type WalkPlace, makeWalkPlace, makeWireProducts, stock } from './walk-place.ts'

/** Look-ups that come between the walk's question what the copy knows and the page. */

const PAGES = /\/products\?/

let place: WalkPlace
beforeEach(async () => {
  place = await makeWalkPlace()
  stock(place.catalog, makeWireProducts(250))
  await place.walk()
  place.clock.advance(HOUR_MS)
})

/** While a page of the second walk is on its way, a look-up says something of one of its products. */
function lookUpWithin(path: RegExp, gtin: string, toEntry: (nowMs: number) => CopyEntry): void {
  place.catalog.fault = {
    matches: path,
    async does(request, response) {
      place.catalog.fault = null
      const entry = toEntry(place.clock.nowMs() - 1)
      await place.copy.putLookups([{ channelId: CHANNEL_ID, gtin, entry }])
      const start = (request.url ?? '').includes('cursor=') ? 200 : 0
      const items = makeWireProducts(250).slice(start, start + 200)
      sendJson(response, 200, { items, next_cursor: start === 0 ? toGtin(199) : null })
    },
  }
}

const countPages = (): number => place.catalog.countCalls(PAGES)

describe('look-up while a page is on its way', () => {
  test.each([
    ['first', /\/products\?(?!.*cursor=)/, 5],
    ['last', /\/products\?.*cursor=/, 240],
  ])(
    'another price in the %s page - the page, which is newer, is read once more and stands',
    async (...[, path, index]) => {
      const gtin = toGtin(index)
      const product = makeProduct({ gtin, title: 'Seen meanwhile' })
      const before = countPages()
      lookUpWithin(path, gtin, (asOfMs) => ({ product, asOfMs }))
      expect((await place.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 250 }])
      expect(await readBox(place.copy, gtin)).toBe(`Lamp ${index} @${place.clock.nowMs()}`)
      // What was fetched ahead of the first page is asked for again, too.
      expect(countPages() - before).toBe(index < 200 ? 4 : 3)
    },
  )

  test('no shop sells it - the page, which is newer and has it, stands', async () => {
    const gtin = toGtin(240)
    lookUpWithin(/\/products\?.*cursor=/, gtin, (asOfMs) => ({ product: null, asOfMs }))
    await place.walk()
    expect(await readBox(place.copy, gtin)).toBe(`Lamp 240 @${place.clock.nowMs()}`)
  })

  test('the same as before - costs no further call', async () => {
    const gtin = toGtin(240)
    const known = await place.copy.findProduct(CHANNEL_ID, gtin)
    if (known === undefined) throw new Error('the product is missing')
    const before = countPages()
    lookUpWithin(/\/products\?.*cursor=/, gtin, (asOfMs) => ({ ...known, asOfMs }))
    await place.walk()
    expect(await readBox(place.copy, gtin)).toBe(`Lamp 240 @${place.clock.nowMs()}`)
    expect(countPages() - before).toBe(2)
  })
})
