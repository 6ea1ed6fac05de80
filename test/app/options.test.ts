import { describe, expect, test } from 'vitest'
import type { WireOffer, WireProduct } from '../../src/catalog/contract.ts'
import { makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  findByClass,
  getAttribute,
  getText,
  listElements,
  listRows,
  readVisibleText,
  startStockedHarness,
  useWalkedCopy,
  fetchPath,
} from './app-client.ts'

/** Create an offer of a shop with its own link. */
function makeNamedOffer(name: string, price: string, over: Partial<WireOffer> = {}): WireOffer {
  return makeWireOffer({
    merchant: { name },
    price,
    affiliate_url: `https://links.example/c?shop=${encodeURIComponent(name)}`,
    ...over,
  })
}

const OFFERS = [
  makeNamedOffer('Costly', '90.00'),
  makeNamedOffer('Cheap', '10.00'),
  makeNamedOffer('Gone', '5.00', { availability: 'out_of_stock' }),
  makeNamedOffer('Dollars', '1.00', { currency: 'USD' }),
  makeNamedOffer('Middle', '50.5', { old_price: '101' }),
]

/** Products on sale, each with one distinctive attribute. */
const DEALS: readonly WireProduct[] = [
  ['Half price', '50.00', '100.00', 'Lumen'],
  ['Big saving', '800.00', '1000.00', 'Crème'],
  ['Small change', '2.00', '2.10', 'Lumen'],
].map(([title = '', price = '', oldPrice = '', brand = ''], index) =>
  makeWireProduct({
    gtin: toGtin(index),
    title,
    brand,
    offers: [makeNamedOffer('Kopje', price, { old_price: oldPrice })],
  }),
)

describe('box', () => {
  const getHarness = useWalkedCopy([makeWireProduct({ offers: OFFERS })])
  const fetchHtml = async (query: string, path = BOX): Promise<string> =>
    (await fetchPath(getHarness(), `${path}?${query}`)).text
  const listShops = async (query: string): Promise<string[]> => listRows(await fetchHtml(query))

  test('no options - the currency of most offers, in stock first, then by price', async () => {
    expect(await listShops('')).toEqual(['Cheap', 'Middle', 'Costly', 'Gone'])
    expect(readVisibleText(await fetchHtml(''))).toContain('In stock first, then by price')
  })

  test('stock=in - only offers in stock', async () => {
    expect(await listShops('stock=in')).toEqual(['Cheap', 'Middle', 'Costly'])
  })

  test('currency - only offers in this currency', async () => {
    expect(await listShops('currency=usd')).toEqual(['Dollars'])
  })

  test('VITRINE_CURRENCY - is the default currency of widgets', async () => {
    const settings = { VITRINE_CURRENCY: 'USD' }
    const harness = await startStockedHarness([makeWireProduct({ offers: OFFERS })], { settings })
    expect(listRows((await fetchPath(harness, BOX)).text)).toEqual(['Dollars'])
    expect(listRows((await fetchPath(harness, `${BOX}?currency=EUR`)).text)).toContain('Cheap')
  })

  test('equally frequent currencies - the alphabetically first one', async () => {
    const offers = [makeNamedOffer('Dollars', '1.00', { currency: 'USD' }), makeNamedOffer('Euros', '9.00')]
    const harness = await startStockedHarness([makeWireProduct({ offers })])
    expect(listRows((await fetchPath(harness, BOX)).text)).toEqual(['Euros'])
  })

  test('merchant and exclude - filter by name without case, and can be repeated', async () => {
    expect(await listShops('merchant=CHEAP&merchant=gone')).toEqual(['Cheap', 'Gone'])
    expect(await listShops('exclude=cheap&exclude=MIDDLE')).toEqual(['Costly', 'Gone'])
    expect(await listShops('merchant=cheap&merchant=costly&exclude=cheap')).toEqual(['Costly'])
  })

  test('limit - further offers are in a disclosure element without script', async () => {
    const html = await fetchHtml('limit=3')
    const details = listElements(html).find(({ tagName }) => tagName === 'details')
    expect(details && getText(details)).toMatch(/^1 more shop Gone/)
    expect(await fetchHtml('limit=4')).not.toContain('<details')
    expect(readVisibleText(await fetchHtml('limit=1'))).toContain('3 more shops')
    expect(await listShops('limit=1')).toEqual(['Cheap', 'Middle', 'Costly', 'Gone'])
  })

  test.each(['light', 'dark', 'auto'])(
    'theme=%s - is set on the box, and sets the color scheme of the frame',
    async (theme) => {
      expect(await fetchHtml(`theme=${theme}`)).toContain(`data-theme="${theme}"`)
      const scheme = theme === 'dark' ? 'dark' : 'light'
      expect(await fetchHtml(`theme=${theme}`, BOX_EMBED)).toContain(
        `<meta name="color-scheme" content="${scheme}">`,
      )
    },
  )

  test('accent - adds its style sheet', async () => {
    for (const path of [BOX, BOX_EMBED]) {
      const html = await fetchHtml('accent=AA00cc', path)
      expect(html).toContain('data-accent="aa00cc"')
      expect(html).toContain('href="https://widgets.example/accents/aa00cc.css"')
    }
    expect(await fetchHtml('')).not.toContain('accents')
  })

  test('locale=de - German texts, prices and dates', async () => {
    const html = await fetchHtml('locale=de')
    expect(html).toMatch(/lang="de" dir="ltr"/)
    expect(readVisibleText(html)).toContain('10,00 €')
    expect(readVisibleText(html)).toContain('21. Nov. 2026')
    expect(readVisibleText(html)).not.toContain('Where to buy')
    expect(readVisibleText(await fetchHtml('locale=de-CH'))).toMatch(/EUR 10\.00|10\.00 €|EUR 10\.00/)
  })

  test('css=none - no style sheet in a fragment; a frame still has one', async () => {
    expect(await fetchHtml('')).toMatch(
      /<link rel="stylesheet" href="https:\/\/widgets\.example\/assets\/vitrine\.[0-9a-f]{8}\.css">/,
    )
    expect(await fetchHtml('css=none&accent=aa0000')).not.toContain('<link')
    expect(await fetchHtml('css=none', BOX_EMBED)).toContain('<link rel="stylesheet"')
  })

  test('isolate=shadow - a declarative shadow root in a fragment, but not in a frame', async () => {
    const html = await fetchHtml('isolate=shadow')
    expect(html).toMatch(/^<div class="vitrine-host"[^>]*><template shadowrootmode="open">/)
    expect(listRows(html)).toEqual(await listShops(''))
    expect(await fetchHtml('isolate=shadow', BOX_EMBED)).not.toContain('<template')
  })

  test('markup=schema - JSON-LD with the numbers of the box, in fragments only', async () => {
    const html = await fetchHtml('markup=schema&stock=in')
    const json = /<script type="application\/ld\+json">(.*)<\/script>$/s.exec(html)?.[1] ?? ''
    expect(JSON.parse(json)).toEqual({
      '@context': 'https://schema.org',
      '@id': '#product-09521234567899',
      '@type': 'Product',
      name: 'Lumen Arc desk lamp',
      gtin: '09521234567899',
      brand: { '@type': 'Brand', name: 'Lumen' },
      image: 'https://pictures.example/lamp.jpg',
      offers: {
        '@type': 'AggregateOffer',
        priceCurrency: 'EUR',
        lowPrice: '10.00',
        highPrice: '90.00',
        offerCount: 3,
      },
    })
    expect(await fetchHtml('')).not.toContain('ld+json')
    expect(await fetchHtml('markup=schema', BOX_EMBED)).not.toContain('ld+json')
  })
})

describe('grid', () => {
  const getHarness = useWalkedCopy([...DEALS, makeWireProduct({ gtin: toGtin(9), title: 'No sale' })])
  const fetchHtml = async (query: string, path = GRID): Promise<string> =>
    (await fetchPath(getHarness(), `${path}?${query}`)).text
  const listCards = async (query: string): Promise<string[]> => listRows(await fetchHtml(query))

  test.each([
    ['', ['Half price', 'Big saving', 'Small change'], 'Largest discount first'],
    ['sort=saving', ['Big saving', 'Half price', 'Small change'], 'Largest saving first'],
    ['sort=price', ['Small change', 'Half price', 'Big saving'], 'Lowest price first'],
    ['sort=newest', ['Half price', 'Big saving', 'Small change'], 'Newest deals first'],
    ['min_discount=20', ['Half price', 'Big saving'], ''],
    ['min_discount=21', ['Half price'], ''],
    ['max_price=50', ['Half price', 'Small change'], ''],
    ['max_price=49.9999', ['Small change'], ''],
    ['brand=LUMEN', ['Half price', 'Small change'], ''],
    ['brand=creme', [], ''],
    ['q=PRICE%20lumen', ['Half price'], ''],
    ['q=creme', ['Big saving'], ''],
    ['q=%25', [], ''],
    ['merchant=kopje&max_price=3', ['Small change'], ''],
    ['exclude=kopje', [], ''],
    ['limit=2', ['Half price', 'Big saving'], ''],
    ['limit=2&page=2', ['Small change'], ''],
    ['limit=2&page=3', [], ''],
    ['currency=USD', [], ''],
  ])('%s - %j', async (query, titles, order) => {
    expect(await listCards(query)).toEqual(titles)
    expect(readVisibleText(await fetchHtml(query))).toContain(order)
  })

  test('discount - rounded percentage with both prices', async () => {
    const [card] = findByClass(await fetchHtml('limit=1'), 'vitrine-deal')
    expect(card && getText(card)).toMatch(/€50\.00.*€100\.00.*−50%/)
  })

  test('stock - only products in stock by default', async () => {
    const offers = [makeNamedOffer('Kopje', '1.00', { old_price: '2.00', availability: 'preorder' })]
    const harness = await startStockedHarness([makeWireProduct({ offers, title: 'Later' })])
    expect(listRows((await fetchPath(harness, GRID)).text)).toEqual([])
    const any = (await fetchPath(harness, `${GRID}?stock=any`)).text
    expect(listRows(any)).toEqual(['Later'])
    expect(readVisibleText(any)).toContain('Pre-order')
  })

  test('pages - a frame has links that keep all options; a fragment has none', async () => {
    const query = 'limit=1&sort=price&theme=dark&merchant=Kopje&utm_source=x'
    const links = listElements(await fetchHtml(`${query}&page=2`, GRID_EMBED)).filter(({ attrs }) =>
      attrs.some(({ name, value }) => name === 'rel' && /^(?:prev|next)$/.test(value)),
    )
    const [previous = '', next = ''] = links.map((link) => getAttribute(link, 'href'))
    expect(previous).toMatch(/^https:\/\/widgets\.example\/embeds\/[^?]+\/deals\?/)
    expect(Object.fromEntries(new URL(previous).searchParams)).toEqual({
      theme: 'dark',
      merchant: 'kopje',
      limit: '1',
      sort: 'price',
    })
    const path = next.replace('https://widgets.example', '')
    expect(listRows((await fetchPath(getHarness(), path)).text)).toEqual(['Big saving'])
    expect(await fetchHtml(`${query}&page=2`)).not.toMatch(/rel="(?:prev|next)"/)
    expect(await fetchHtml('limit=3', GRID_EMBED)).not.toMatch(/rel="(?:prev|next)"/)
  })

  test('css=none, isolate=shadow, theme, accent, locale - work as in boxes', async () => {
    expect(await fetchHtml('css=none')).not.toContain('<link')
    expect(await fetchHtml('isolate=shadow')).toContain('<template shadowrootmode="open">')
    expect(await fetchHtml('theme=dark&accent=aa0000')).toMatch(/data-theme="dark" data-accent="aa0000"/)
    expect(readVisibleText(await fetchHtml('locale=de'))).toContain('50,00 €')
  })
})
