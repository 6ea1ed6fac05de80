import { describe, expect, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type TestResponse,
  fetchPath,
  getAttribute,
  getText,
  listElements,
  startHarness,
  startStockedHarness,
  readVisibleText,
} from './app-client.ts'

/** Products 1 to 17 are sold by two shops; 18 is sold out, 19 has no offers, and 20 is unknown. */
const GTINS = Array.from({ length: 20 }, (_, index) => toGtin(index + 1))
const SOLD_OUT = 18
const UNSOLD = 19
const UNKNOWN = 20

function makeProduct(number: number): WireProduct {
  const shop = (name: string, price: string, availability = 'in_stock') =>
    makeWireOffer({
      merchant: { name },
      price,
      availability,
      affiliate_url: `https://links.example/${name}/${number}`,
    })
  const offers = {
    [SOLD_OUT]: [shop('Kopje', '5.00', 'out_of_stock')],
    [UNSOLD]: [],
  }[number] ?? [shop('Kopje', `${number + 10}.50`), shop('Brava', `${number + 10}.00`)]
  return makeWireProduct({ gtin: toGtin(number), title: `Product ${number}`, offers })
}

const PRODUCTS = GTINS.slice(0, UNKNOWN - 1).map((_, index) => makeProduct(index + 1))

const toPath = (numbers: readonly number[], query = '', surface = 'fragments'): string =>
  `/${surface}/${CHANNEL_ID}/picks/${numbers.map(toGtin).join(',')}${query && `?${query}`}`

/** The titles of the shown products, in their order. */
function listTitles({ text }: TestResponse): readonly string[] {
  return listElements(text)
    .filter((element) => getAttribute(element, 'class').split(' ').includes('vitrine-pick'))
    .map((element) => /Product \d+/.exec(getText(element))?.[0] ?? '')
}

function failCatalog(harness: Harness): void {
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

const state = ({ status, headers }: TestResponse) => [status, headers['vitrine-state']]

describe('round-up', () => {
  test('17 good products, one sold out, one unsold, one unknown - 18 in the order of the editor with their labels', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const numbers = [20, 3, 18, 1, 19, 2, ...Array.from({ length: 14 }, (_, index) => index + 4)]
    const labels = numbers.map((number) => `label=${number % 2 === 0 ? '' : `Best%20${number}`}`)
    for (const layout of ['rank', 'table', 'row']) {
      const found = await fetchPath(harness, toPath(numbers, [...labels, `layout=${layout}`].join('&')))
      expect(state(found)).toEqual([200, 'shown'])
      const shown = numbers.filter((number) => number !== UNSOLD && number !== UNKNOWN)
      expect(listTitles(found)).toEqual(shown.map((number) => `Product ${number}`))
      expect([...found.text.matchAll(/Best (\d+)/g)].map(([, number]) => Number(number))).toEqual(
        shown.filter((number) => number % 2 === 1),
      )
      expect(found.text).toContain('Out of stock')
      expect(found.headers['vitrine-reason']).toMatch(/^2 of 20 products are not shown\. /)
      for (const number of [UNSOLD, UNKNOWN])
        expect(found.headers['vitrine-reason']).toContain(toGtin(number))
    }
  })

  test('one disclosure, one date, one ETag, and no markup for search engines', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const { text, headers } = await fetchPath(harness, toPath([1, 2, 3], 'markup=schema'))
    expect(text.match(/vitrine-note/g)).toHaveLength(1)
    expect(text.indexOf('vitrine-note')).toBeLessThan(text.indexOf('<a '))
    expect(text.match(/<time /g)).toHaveLength(1)
    expect(text).not.toContain('ld+json')
    const again = await fetchPath(harness, toPath([1, 2, 3]), { 'If-None-Match': headers['etag'] ?? '' })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test('another order, or a changed price - another ETag', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const readTag = async (numbers: readonly number[]): Promise<string | undefined> =>
      (await fetchPath(harness, toPath(numbers))).headers['etag']
    const before = await readTag([1, 2])
    expect(await readTag([2, 1])).not.toBe(before)
    harness.catalog.products.set(CHANNEL_ID, [makeProduct(1), { ...makeProduct(3), gtin: toGtin(2) }])
    harness.clock.advance(2 * HOUR_MS)
    expect(await readTag([1, 2])).not.toBe(before)
  })

  test('no product is sold - hidden, with the reasons', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const found = await fetchPath(harness, toPath([UNSOLD, UNKNOWN]))
    expect(state(found)).toEqual([200, 'hidden'])
    expect(found.body).toHaveLength(0)
    expect(found.headers['vitrine-reason']).toContain(`${toGtin(UNKNOWN)}: No shop of this channel sells`)
    const embed = await fetchPath(harness, toPath([UNSOLD, UNKNOWN], '', 'embeds'))
    expect(embed.text).toContain('data-vitrine-state="hidden"')
  })

  test('20 cold products - at most 20 calls for them', async () => {
    const harness = await startHarness({ settings: { VITRINE_SYNC_CRON: 'off' } })
    harness.catalog.products.set(CHANNEL_ID, PRODUCTS)
    const found = await fetchPath(harness, toPath(GTINS.map((_, index) => index + 1)))
    expect(listTitles(found)).toHaveLength(18)
    expect(harness.catalog.countCalls(/\/products\//)).toBe(20)
    await fetchPath(harness, toPath(GTINS.map((_, index) => index + 1)))
    expect(harness.catalog.countCalls(/\/products\//)).toBe(20)
  })

  test('failing catalog - shows the products that the copy knows, and asks again soon', async () => {
    const harness = await startHarness({ settings: { VITRINE_SYNC_CRON: 'off' } })
    harness.catalog.products.set(CHANNEL_ID, PRODUCTS)
    await fetchPath(harness, toPath([1, 2]))
    failCatalog(harness)
    const found = await fetchPath(harness, toPath([3, 2, 1]))
    expect(listTitles(found)).toEqual(['Product 2', 'Product 1'])
    expect(found.headers['cache-control']).toContain('max-age=60,')
    expect(found.headers['vitrine-reason']).toContain(`${toGtin(3)}: The catalog did not respond in time`)
    expect(state(await fetchPath(harness, toPath([3, 4])))).toEqual([200, 'unavailable'])
    harness.catalog.fault = null
    harness.clock.advance(60_000)
    expect(listTitles(await fetchPath(harness, toPath([3, 2, 1])))).toHaveLength(3)
  })

  test('25 shops - the fold has the first 20, and says how many there are', async () => {
    const offers = Array.from({ length: 25 }, (_, index) =>
      makeWireOffer({ merchant: { name: `Shop ${index}` }, price: String(index + 1) }),
    )
    const harness = await startStockedHarness([makeWireProduct({ gtin: toGtin(1), offers }), makeProduct(2)])
    const { text } = await fetchPath(harness, toPath([1, 2], 'layout=row'))
    expect(text).toContain('25 shops')
    expect(text).toContain('Shop 19')
    expect(text).not.toContain('Shop 20')
  })

  test('20 products with labels of 40 characters in Cyrillic - fit into an address', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const label = `label=${encodeURIComponent('Лучший'.padEnd(40, 'й'))}`
    const path = toPath(
      GTINS.map((_, index) => index + 1),
      GTINS.map(() => label).join('&'),
    )
    expect(state(await fetchPath(harness, path))).toEqual([200, 'shown'])
  })

  test('one spelling of an address - equal bytes from one cached response', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const [a, b] = [toGtin(1), toGtin(2)]
    const base = `/fragments/${CHANNEL_ID.toUpperCase()}/picks/`
    const texts = await Promise.all(
      [
        `${a},${b}?label=X`,
        `${a.slice(1)},${b.slice(1)}?label=X&utm_source=y`,
        `${a}%2C${b}?label=X&label=`,
        `${a},,${b},${a}?label=X`,
      ].map(async (path) => (await fetchPath(harness, base + path)).text),
    )
    expect(new Set(texts).size).toBe(1)
    expect(texts[0]).toContain('>X<')
    expect(harness.context.caches.responses.entryCount()).toBe(1)
  })

  test('repeated product - keeps the labels of the others', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const found = await fetchPath(harness, toPath([1, 1, 2], 'label=First&label=Again&label=Second'))
    expect(found.text).not.toContain('Again')
    expect(found.text.indexOf('First')).toBeLessThan(found.text.indexOf('Product 1<'))
    expect(found.text.indexOf('Second')).toBeGreaterThan(found.text.indexOf('Product 1<'))
  })

  test.each([
    ['one product', '1', 'A round-up has 2 to 20 different GTINs'],
    ['21 products', Array.from({ length: 21 }, (_, index) => index + 1).join(','), '2 to 20'],
    ['no product', '', 'A GTIN is 1 to 14 digits'],
    ['no digits', '1,abc', 'Correct "abc".'],
    ['broken encoding', '1,50%', 'A GTIN is 1 to 14 digits'],
  ])('%s - readers see nothing, and the author what is wrong', async (_name, gtins, message) => {
    const harness = await startStockedHarness(PRODUCTS)
    const found = await fetchPath(harness, `/fragments/${CHANNEL_ID}/picks/${gtins}`)
    expect([...state(found), found.text]).toEqual([200, 'invalid', ''])
    expect(found.headers['vitrine-error']).toContain(message)
  })
})

const box = (gtin: string, query = ''): string =>
  `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}${query && `?${query}`}`
const join = (numbers: readonly number[]): string => numbers.map(toGtin).join('~')

describe('variants of a product', () => {
  test('the first with offers is shown, the others are folded', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const { text, headers } = await fetchPath(harness, box(join([UNKNOWN, 3, 1, UNSOLD, 2])))
    const titles = [...text.matchAll(/Product \d+/g)].map(([title]) => title)
    expect([...new Set(titles)]).toEqual(['Product 3', 'Product 1', 'Product 2'])
    expect(text.indexOf('Product 1')).toBeGreaterThan(text.indexOf('2 other versions'))
    expect(headers['vitrine-reason']).toMatch(/^2 of 5 products are not shown\. /)
  })

  test('layout=inline - only the first', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const { text } = await fetchPath(harness, box(join([1, 2]), 'layout=inline'))
    expect(text).toContain('Brava')
    expect(text).not.toContain('<details')
  })

  test('one variant is unavailable - the others are shown; none is known - unavailable', async () => {
    const harness = await startHarness({ settings: { VITRINE_SYNC_CRON: 'off' } })
    harness.catalog.products.set(CHANNEL_ID, PRODUCTS)
    await fetchPath(harness, box(join([2])))
    failCatalog(harness)
    const found = await fetchPath(harness, box(join([1, 2])))
    expect(state(found)).toEqual([200, 'shown'])
    expect(found.text).toContain('Product 2')
    expect(state(await fetchPath(harness, box(join([1, 3]))))).toEqual([200, 'unavailable'])
  })

  test('nine variants - says how many a box shows', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const found = await fetchPath(harness, box(join([1, 2, 3, 4, 5, 6, 7, 8, 9])))
    expect(state(found)).toEqual([200, 'invalid'])
    expect(found.headers['vitrine-error']).toContain('at most 8 variants')
  })

  test.each(['list', 'table', 'card', 'button', 'inline'])(
    'else, %s - the first product that a shop sells stands in, and is named as what it is',
    async (layout) => {
      const harness = await startStockedHarness(PRODUCTS)
      const query = `else=${[UNSOLD, 3, 2].map(toGtin).join(',')}&markup=schema&layout=${layout}`
      for (const head of ['full', 'none']) {
        const { text } = await fetchPath(harness, box(toGtin(UNKNOWN), `${query}&head=${head}`))
        expect(readVisibleText(text)).toContain('Not available. Instead: Product 3')
        expect(text).not.toContain('Product 2')
        expect(text).not.toContain('ld+json')
      }
      const sold = await fetchPath(harness, box(toGtin(1), query))
      expect(sold.text).not.toContain('Not available')
      expect(sold.text).not.toContain('Product 3')
    },
  )

  test('else with the product itself - looks it up and counts it once', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const found = await fetchPath(harness, box(toGtin(1), `merchant=nobody&else=${toGtin(1)}`))
    expect(state(found)).toEqual([200, 'hidden'])
    expect(found.headers['vitrine-reason']).not.toMatch(/0952.*0952/)
  })

  test('without else, or with stand-ins that no shop sells - hidden', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    for (const query of ['', `else=${toGtin(UNSOLD)}`]) {
      const found = await fetchPath(harness, box(toGtin(UNKNOWN), query))
      expect([...state(found), found.text]).toEqual([200, 'hidden', ''])
    }
  })

  test('failing catalog - nothing stands in for a product that may be sold', async () => {
    const harness = await startHarness({ settings: { VITRINE_SYNC_CRON: 'off' } })
    harness.catalog.products.set(CHANNEL_ID, PRODUCTS)
    await fetchPath(harness, box(toGtin(2)))
    failCatalog(harness)
    const found = await fetchPath(harness, box(toGtin(1), `else=${toGtin(2)}`))
    expect(state(found)).toEqual([200, 'unavailable'])
  })
})
