import { describe, expect, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  getAttribute,
  listElements,
  listRows,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  startStockedHarness,
  stockCatalog,
  fetchPath,
} from './app-client.ts'

const PATHS = [BOX, BOX_EMBED, GRID, GRID_EMBED]
const LINK = 'https://links.example/c?shop=kopje'

function failCatalog(harness: Harness): void {
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => response.writeHead(500).end() }
}

const offer = (name: string, over: object): ReturnType<typeof makeWireOffer> =>
  makeWireOffer({
    merchant: { name },
    affiliate_url: `https://links.example/${encodeURIComponent(name)}`,
    ...over,
  })

/** Return the picture addresses in a box whose product has these pictures. */
const listShownPictures = async (urls: readonly string[]): Promise<string[]> => {
  const harness = await startHarness()
  await stockCatalog(harness, [makeProductOnSale({ images: urls.map((url) => ({ url })) })])
  const elements = listElements((await fetchPath(harness, BOX)).text)
  return elements.filter(({ tagName }) => tagName === 'img').map((image) => getAttribute(image, 'src'))
}

describe('prices that are too old', () => {
  const settings = { VITRINE_PRICE_MAX_AGE_SECONDS: '7200' }

  test.each(PATHS)('%s - shows "See price at shop" and keeps the link', async (path) => {
    const harness = await startStockedHarness(undefined, { settings })
    failCatalog(harness)
    harness.clock.advance(7_200_000)
    expect(readVisibleText((await fetchPath(harness, path)).text)).toContain('€49.90')
    harness.clock.advance(1)
    const { text, headers } = await fetchPath(harness, path)
    expect(readVisibleText(text)).toContain('See price at shop')
    expect(text).not.toMatch(/49[.,]90|99[.,]80|−50/)
    expect(text).toContain(`href="${LINK}"`)
    expect(headers['vitrine-state']).toBe('shown')
  })

  test('markup=schema - no JSON-LD', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    failCatalog(harness)
    expect((await fetchPath(harness, `${BOX}?markup=schema`)).text).toContain('ld+json')
    harness.clock.advance(7_200_001)
    expect((await fetchPath(harness, `${BOX}?markup=schema`)).text).not.toContain('ld+json')
  })

  test.each([
    [0, 600, 7_200],
    [6_000, 600, 1_200],
    [7_000, 200, 200],
    [7_200, 0, 0],
  ])(
    '%i seconds old - the remaining price age limits the stale times',
    async (ageSeconds, revalidate, onError) => {
      const harness = await startStockedHarness(undefined, { settings })
      failCatalog(harness)
      harness.clock.advance(ageSeconds * 1_000)
      for (const path of PATHS) {
        expect((await fetchPath(harness, path)).headers['cache-control']).toMatch(
          new RegExp(`, stale-while-revalidate=${revalidate}, stale-if-error=${onError}$`),
        )
      }
    },
  )
})

describe('notices', () => {
  // A box with one offer has no order.
  const NO_ORDER = /^(?!.*(In stock first|All in stock|Lowest price first))/s
  test.each([
    [BOX, NO_ORDER],
    [BOX_EMBED, NO_ORDER],
    [GRID, /Largest discount first/],
    [GRID_EMBED, /Largest discount first/],
  ])('%s - shows date, disclosure, order, shipping and coverage', async (path, order) => {
    const text = readVisibleText((await fetchPath(await startStockedHarness(), path)).text)
    expect(text).toContain('Prices checked on Nov 21, 2026, 12:00 PM UTC')
    expect(text).toContain('We may earn a commission')
    expect(text).toMatch(order)
    expect(text).toContain('Shipping not included')
    expect(text).toContain('Not all shops are compared')
  })

  test.each(PATHS)(
    '%s, VITRINE_DISCLOSURE - off removes the disclosure, a text replaces it',
    async (path) => {
      const off = await startStockedHarness(undefined, { settings: { VITRINE_DISCLOSURE: 'off' } })
      expect(readVisibleText((await fetchPath(off, path)).text)).not.toContain('commission')
      const custom = await startStockedHarness(undefined, {
        settings: { VITRINE_DISCLOSURE: 'Advert: <b>we earn</b>' },
      })
      const text = readVisibleText((await fetchPath(custom, path)).text)
      expect(text).toContain('Advert: <b>we earn</b>')
      expect(text).not.toContain('commission')
    },
  )
})

describe('shown offers and products', () => {
  test('merchant with several offers - shows the cheapest one in stock', async () => {
    const offers = [
      offer('Kopje', { price: '9.00', network: 'b' }),
      offer('KOPJE', { price: '8.00', network: 'a', affiliate_url: 'https://links.example/best' }),
      offer('kopje', { price: '1.00', network: 'c', availability: 'out_of_stock' }),
    ]
    const { text } = await fetchPath(await startStockedHarness([makeWireProduct({ offers })]), BOX)
    expect(listRows(text)).toEqual(['KOPJE'])
    expect(text).toContain('https://links.example/best')
  })

  test('equal prices - ordered by merchant without case, then by network', async () => {
    const offers = ['b', 'A', 'c'].map((name) => offer(name, {}))
    const { text } = await fetchPath(await startStockedHarness([makeWireProduct({ offers })]), BOX)
    expect(listRows(text)).toEqual(['A', 'b', 'c'])
  })

  test('prices - compared as decimals, not as texts or floats', async () => {
    const offers = [
      offer('long', { price: '0.3001' }),
      offer('ten', { price: '10' }),
      offer('nine', { price: '9.9' }),
      offer('huge', { price: '999999999999.9999' }),
      offer('short', { price: '0.3' }),
    ]
    const { text } = await fetchPath(await startStockedHarness([makeWireProduct({ offers })]), BOX)
    expect(listRows(text)).toEqual(['short', 'long', 'nine', 'ten', 'huge'])
    expect(readVisibleText(text)).toContain('€999,999,999,999.9999')
  })

  test('malformed offers - are dropped and counted; the others are served', async () => {
    const offers = [
      offer('good', { availability: 'whatever', network: 'unheard of', extra: { deep: [1] } }),
      offer('price', { price: '0' }),
      offer('price', { price: '-1' }),
      offer('price', { price: '1.23456' }),
      offer('price', { price: '1234567890123' }),
      offer('price', { price: '1e5' }),
      offer('link', { affiliate_url: '//links.example/x' }),
      offer('link', { affiliate_url: 'ftp://links.example/x' }),
      offer('link', { affiliate_url: 'https://user:pass@links.example/x' }),
      offer('', {}),
    ]
    const harness = await startStockedHarness([makeWireProduct({ offers })])
    const { text } = await fetchPath(harness, BOX)
    expect(listRows(text)).toEqual(['good'])
    expect(readVisibleText(text)).toContain('Availability: see shop')
    const { drops } = await harness.context.store.getCopyState(CHANNEL_ID)
    expect(drops).toEqual({ price: 5, link: 3, merchant: 1 })
  })

  test.each([
    ['title', null, 'no title'],
    ['offers', null, 'no list of offers'],
  ])(
    'entry whose %s is %j - its box is hidden, and the reason says what it lacks',
    async (field, value, lack) => {
      const entry = { ...makeWireProduct({ gtin: toGtin(2) }), [field]: value } as WireProduct
      const harness = await startStockedHarness([makeWireProduct({ gtin: toGtin(1) }), entry])
      const { status, text, headers } = await fetchPath(
        harness,
        `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(2)}`,
      )
      expect([status, text]).toEqual([200, ''])
      expect(headers['vitrine-reason']).toBe(`The catalog's entry of this product is malformed: ${lack}.`)
      const missing = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(3)}`)
      expect(missing.headers['vitrine-reason']).toContain('No shop of this channel sells the product')
    },
  )

  test('links - unchanged, with rel and target', async () => {
    const link = 'HTTP://Links.example:80/a//b?q=%7e&x=ä&y[]=1#frag'
    const offers = [offer('Kopje', { affiliate_url: link, old_price: '99.00' })]
    const harness = await startStockedHarness([makeWireProduct({ offers })])
    for (const path of PATHS) {
      const links = listElements((await fetchPath(harness, path)).text).filter(
        ({ tagName }) => tagName === 'a',
      )
      expect(links.length).toBeGreaterThan(0)
      for (const element of links) {
        expect(getAttribute(element, 'href')).toBe(link)
        expect(getAttribute(element, 'rel')).toBe('sponsored nofollow noopener')
        expect(getAttribute(element, 'target')).toBe('_blank')
      }
    }
  })

  test('pictures - the first usable one: HTTPS, or from this server', async () => {
    const ownPicture = 'https://widgets.example/demo/pictures/a.svg'
    expect(
      await listShownPictures(['http://a.example/1.jpg', 'data:image/png;base64,AA', ownPicture]),
    ).toEqual([ownPicture])
    expect(await listShownPictures(['/relative.jpg', 'https://a.example/2.jpg'])).toEqual([
      'https://a.example/2.jpg',
    ])
    expect(await listShownPictures(['http://a.example/1.jpg'])).toEqual([])
  })

  test('on sale - only if the former price is above the price', async () => {
    for (const oldPrice of ['49.90', '49.9', '10.00', '0', 'x']) {
      const harness = await startStockedHarness([
        makeProductOnSale({ offers: [offer('Kopje', { old_price: oldPrice })] }),
      ])
      expect((await fetchPath(harness, GRID)).headers['vitrine-state']).toBe('hidden')
      expect((await fetchPath(harness, BOX)).text).not.toContain('<s>')
    }
  })

  test('card - shows the offer with the highest discount, then the lowest price', async () => {
    const offers = [
      offer('low discount', { price: '10.00', old_price: '11.00' }),
      offer('costly', { price: '60.00', old_price: '120.00' }),
      offer('best', { price: '50.00', old_price: '100.00' }),
      offer('out of stock', { price: '1.00', old_price: '100.00', availability: 'no' }),
    ]
    const { text } = await fetchPath(await startStockedHarness([makeProductOnSale({ offers })]), GRID)
    expect(readVisibleText(text)).toContain('at best')
    expect(listRows(text)).toHaveLength(1)
  })
})
