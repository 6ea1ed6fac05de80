import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { HOUR_MS } from '../../src/clock.ts'
import type { CopyEntry } from '../../src/storage/store.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { begin, makePage, readBox, walkAll } from '../storage/conformance/subject.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from './walk-fixture.ts'

/** Look-ups during the fetch or write of a page. */

const PAGES = /\/products\?/

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
  setProducts(fixture.catalog, makeWireProducts(250))
  await fixture.walk()
  fixture.clock.advance(HOUR_MS)
})

/** Write a look-up for one product of a page while the second walk fetches that page. */
function lookUpDuring(path: RegExp, gtin: string, toEntry: (nowMs: number) => CopyEntry): void {
  fixture.catalog.fault = {
    pathPattern: path,
    async respond(request, response) {
      fixture.catalog.fault = null
      const entry = toEntry(fixture.clock.nowMs() - 1)
      await fixture.copy.putLookups([{ channelId: CHANNEL_ID, gtin, entry }])
      const start = (request.url ?? '').includes('cursor=') ? 200 : 0
      const items = makeWireProducts(250).slice(start, start + 200)
      sendJson(response, 200, { items, next_cursor: start === 0 ? toGtin(199) : null })
    },
  }
}

const countPages = (): number => fixture.catalog.countCalls(PAGES)

describe('look-up while a page is fetched', () => {
  test.each([
    ['first', /\/products\?(?!.*cursor=)/, 5],
    ['last', /\/products\?.*cursor=/, 240],
  ])('another price in the %s page - the newer page wins', async (...[, path, index]) => {
    const gtin = toGtin(index)
    const product = makeProduct({ gtin, title: 'Seen meanwhile' })
    const before = countPages()
    lookUpDuring(path, gtin, (asOfMs) => ({ product, asOfMs }))
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 250 }])
    expect(await readBox(fixture.copy, gtin)).toBe(`Lamp ${index} @${fixture.clock.nowMs()}`)
    expect(countPages() - before).toBe(2)
  })

  test('404 - the newer page, which has the product, wins', async () => {
    const gtin = toGtin(240)
    lookUpDuring(/\/products\?.*cursor=/, gtin, (asOfMs) => ({ product: null, asOfMs }))
    await fixture.walk()
    expect(await readBox(fixture.copy, gtin)).toBe(`Lamp 240 @${fixture.clock.nowMs()}`)
  })

  test('no change - gets the time of the page', async () => {
    const gtin = toGtin(240)
    const known = await fixture.copy.findProduct(CHANNEL_ID, gtin)
    if (known === undefined) throw new Error('the product is missing')
    const before = countPages()
    lookUpDuring(/\/products\?.*cursor=/, gtin, (asOfMs) => ({ ...known, asOfMs }))
    await fixture.walk()
    expect(await readBox(fixture.copy, gtin)).toBe(`Lamp 240 @${fixture.clock.nowMs()}`)
    expect(countPages() - before).toBe(2)
  })
})

/** Two hundred products; the price of the first one does not change. */
const makeCatalog = (price: string): Product[] =>
  Array.from({ length: 200 }, (_, index) =>
    makeProduct({
      gtin: toGtin(index),
      title: `Lamp ${index}`,
      offers: [makeParsedOffer({ price: index === 0 ? '49.90' : price, oldPrice: '99.00' })],
    }),
  )

/** A page with so many changes that several transactions write it. */
describe('look-up between the transactions of a page', () => {
  const gtin = toGtin(0)
  test.each([
    ['another title', makeProduct({ gtin, title: 'Before' })],
    ['a 404', null],
  ])('older than the page, with %s for an unchanged product - is ignored', async (_, product) => {
    const { copy, clock } = fixture
    const nowMs = clock.nowMs()
    await walkAll(copy, makeCatalog('50.00'), nowMs)
    const walk = await begin(copy, nowMs + 1_000)
    const page = copy.applyPage(CHANNEL_ID, makePage(walk, makeCatalog('60.00'), { asOfMs: nowMs + 1_000 }))
    // The page yields after each transaction: this runs after the first one.
    await setImmediate()
    await copy.putLookups([{ channelId: CHANNEL_ID, gtin, entry: { product, asOfMs: nowMs + 500 } }])
    await page
    await copy.completeWalk(CHANNEL_ID, walk, { nowMs: nowMs + 1_000, isMalformed: false })
    expect(await readBox(copy, gtin)).toBe(`Lamp 0 @${nowMs + 1_000}`)
  })
})
