import { array, assert, asyncProperty, constantFrom, integer, option, record } from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import type { DealsJson, PicksJson, WhereToBuyJson } from '../../src/widgets/json-types.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { IS_FULL } from '../helpers/property-runs.ts'
import {
  BOX,
  GRID,
  fetchPath,
  getAttribute,
  listElements,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  startStockedHarness,
} from './app-client.ts'

/** As named in the setting. */
const ALLOWED = 'Alpha, beta'
const SETTINGS = { VITRINE_MAIL_NETWORKS: ALLOWED, VITRINE_JSON: 'on' }

const OTHER_NETWORK_REASON =
  /^Only shops of other networks sell it\. VITRINE_MAIL_NETWORKS names the networks of newsletters\.$/

const isAllowed = (network: string): boolean => ['alpha', 'beta'].includes(network.toLowerCase())

/** A channel with the offers of the allowed networks only. */
const ALLOWED_CHANNEL = '3f2b8c1e-6a54-4d0b-9c7e-000000000002'
const PRODUCT_COUNT = 8

type Offer = WireProduct['offers'][number]

const offer = record({
  merchant: constantFrom('Kopje', 'Zaal', 'Ost', 'West'),
  network: constantFrom('alpha', 'ALPHA', 'Beta', 'Gamma', 'alpha2', 'b'),
  price: integer({ min: 1, max: 40 }),
  old: option(integer({ min: 1, max: 80 })),
  currency: constantFrom('EUR', 'EUR', 'EUR', 'USD'),
  availability: constantFrom('in_stock', 'in_stock', 'out_of_stock'),
}).map(({ merchant, network, price, old, currency, availability }): Offer =>
  makeWireOffer({
    merchant: { name: merchant },
    network,
    price: `${price}.00`,
    ...(old !== null && { old_price: `${old}.00` }),
    currency,
    availability,
    affiliate_url: `https://links.example/${network}/${merchant}/${price}/${currency}`,
  }),
)

const offerLists = array(array(offer, { maxLength: 6 }), {
  minLength: PRODUCT_COUNT,
  maxLength: PRODUCT_COUNT,
})

const query = record({
  limit: constantFrom('', '&limit=1', '&limit=50'),
  stock: constantFrom('', '&stock=in', '&stock=any'),
  filter: constantFrom('', '&merchant=Kopje', '&exclude=ost', '&currency=EUR', '&currency=USD'),
  layout: constantFrom('', '&layout=inline', '&layout=table'),
}).map((parts) => Object.values(parts).join(''))

const BOX_PATHS = [toGtin(0), `${toGtin(1)}~${toGtin(2)}`, `${toGtin(3)}?else=${toGtin(4)},${toGtin(5)}`]
const PICKS_PATH = `picks/${Array.from({ length: PRODUCT_COUNT }, (_, index) => toGtin(index)).join(',')}`

const toProducts = (lists: readonly (readonly Offer[])[]): WireProduct[] =>
  lists.map((offers, index) => makeWireProduct({ gtin: toGtin(index), offers: [...offers] }))

/** List the links of a newsletter in order. */
function listLinks(html: string): readonly string[] {
  return listElements(html)
    .filter(({ tagName }) => tagName === 'a')
    .map((element) => getAttribute(element, 'href'))
}

/** List the links of the data that newsletters show, in order. */
function listDataLinks(text: string): readonly string[] {
  const data = JSON.parse(text) as AnyData
  if (data.kind === undefined) return []
  if (data.kind === 'deals') return data.deals.map((deal) => deal.offer.link)
  const products = data.kind === 'picks' ? data.products : data.variants
  const firstLinks = products.flatMap(({ offers }) => offers[0]?.link ?? [])
  return data.kind === 'picks' ? firstLinks : [...data.offers.map(({ link }) => link), ...firstLinks]
}

type AnyData = WhereToBuyJson | PicksJson | DealsJson | { kind?: undefined }

/** Whether a box shows a product itself; `false` for a stand-in. */
function isProductShown(text: string): boolean {
  const data = JSON.parse(text) as AnyData
  return data.kind === 'where-to-buy' && data.standIn === null
}

describe('networks', () => {
  test('any offers and options - the links are those of the allowed networks, in the order of the data', async () => {
    let dealCount = 0
    await assert(
      asyncProperty(offerLists, array(query, { minLength: 4, maxLength: 8 }), async (lists, queries) => {
        const { catalog, ...harness } = await startHarness({ settings: SETTINGS })
        const [channel] = catalog.channels
        if (channel === undefined) throw new TypeError('no channel')
        catalog.channels.push({ ...channel, id: ALLOWED_CHANNEL })
        catalog.products.set(CHANNEL_ID, toProducts(lists))
        const allowed = lists.map((offers) => offers.filter(({ network }) => isAllowed(network)))
        catalog.products.set(ALLOWED_CHANNEL, toProducts(allowed))
        await harness.context.walks.runNow()
        const read = async (surface: string, channelId: string, path: string): Promise<string> =>
          (await fetchPath(harness, `/${surface}/${channelId}/${path}`)).text
        for (const options of queries) {
          for (const path of [...BOX_PATHS.map((one) => `where-to-buy/${one}`), PICKS_PATH]) {
            const target = `${path}${path.includes('?') ? options : options.replace('&', '?')}`
            const links = listLinks(await read('mail', CHANNEL_ID, target))
            const data = await read('data', ALLOWED_CHANNEL, target)
            // Nothing stands in for a product that another network sells.
            const isSoldElsewhere =
              path.includes('else=') &&
              !isProductShown(data) &&
              isProductShown(await read('data', CHANNEL_ID, target))
            expect(links).toEqual(isSoldElsewhere ? [] : listDataLinks(data))
          }
          const deals = listLinks(await read('mail', CHANNEL_ID, `deals${options.replace('&', '?')}`))
          expect(deals.filter((link) => !isAllowed(link.split('/')[3] ?? ''))).toEqual([])
          dealCount += deals.length
        }
      }),
      { numRuns: IS_FULL ? 60 : 6 },
    )
    expect(dealCount).toBeGreaterThan(0)
  })

  test('deals - the offers of allowed networks, in the order of the data', async () => {
    const products = Array.from({ length: 20 }, (_, index) => {
      const network = ['Alpha', 'gamma', 'BETA', 'Gamma'][index % 4] ?? ''
      const link = { network, affiliate_url: `https://links.example/${network}/${index}` }
      const own = makeWireOffer({ old_price: `${60 + index * 3}.00`, ...link })
      return makeWireProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers: [own] })
    })
    const harness = await startStockedHarness(products, { settings: SETTINGS })
    const mail = await fetchPath(harness, `/mail/${CHANNEL_ID}/deals?limit=8`)
    const data = await fetchPath(harness, `/data/${CHANNEL_ID}/deals?limit=60`)
    const links = listDataLinks(data.text).filter((link) => isAllowed(link.split('/')[3] ?? ''))
    expect(listLinks(mail.text)).toEqual(links.slice(0, 8))
    expect(links).toHaveLength(10)
  })

  test('no network allowed - hidden, with the reason', async () => {
    const harness = await startStockedHarness(undefined, { settings: { VITRINE_MAIL_NETWORKS: 'other' } })
    for (const [path, reason] of [
      [BOX, OTHER_NETWORK_REASON],
      [GRID, /\. Newsletters show only the networks in VITRINE_MAIL_NETWORKS\.$/],
    ] as const) {
      const { status, headers, body } = await fetchPath(harness, toMail(path))
      expect([status, headers['vitrine-state'], body.length]).toEqual([200, 'hidden', 0])
      expect(headers['vitrine-reason']).toMatch(reason)
    }
  })

  test('product of another network with a stand-in - hidden, because the product is available', async () => {
    const products = ['gamma', 'alpha'].map((network, index) =>
      makeWireProduct({ gtin: toGtin(index), offers: [makeWireOffer({ network })] }),
    )
    const harness = await startStockedHarness(products, { settings: SETTINGS })
    const { headers, text } = await fetchPath(
      harness,
      `/mail/${CHANNEL_ID}/where-to-buy/${toGtin(0)}?else=${toGtin(1)}`,
    )
    expect([headers['vitrine-state'], text]).toEqual(['hidden', ''])
    expect(headers['vitrine-reason']).toMatch(OTHER_NETWORK_REASON)
  })

  test('offers of all networks hidden by an option - the reason names the option', async () => {
    const harness = await startStockedHarness(
      [makeWireProduct({ gtin: toGtin(0), offers: [makeWireOffer({ network: 'gamma' })] })],
      { settings: SETTINGS },
    )
    const { headers } = await fetchPath(harness, `/mail/${CHANNEL_ID}/where-to-buy/${toGtin(0)}?currency=USD`)
    expect(headers['vitrine-reason']).toMatch(/^The option currency=USD hides the only offer/)
  })

  test('products that only the networks hide - are not counted as hidden', async () => {
    const products = ['alpha', 'gamma', 'Beta'].map((network, index) =>
      makeWireProduct({ gtin: toGtin(index), offers: [makeWireOffer({ network })] }),
    )
    const { context, ...harness } = await startStockedHarness(products, { settings: SETTINGS })
    const counted: string[] = []
    vi.spyOn(context.coverage, 'countWidget').mockImplementation(({ gtin, state }) => {
      counted.push(`${gtin} ${state}`)
    })
    const gtins = [0, 1, 2].map(toGtin)
    for (const path of [`picks/${gtins.join(',')}`, `where-to-buy/${toGtin(1)}`])
      await fetchPath(harness, `/mail/${CHANNEL_ID}/${path}`)
    expect(counted).toEqual([`${toGtin(0)} shown`, `${toGtin(2)} shown`])
  })

  test('round-up without the products of other networks - says why', async () => {
    const products = ['alpha', 'gamma', 'Beta'].map((network, index) =>
      makeWireProduct({ gtin: toGtin(index), offers: [makeWireOffer({ network })] }),
    )
    const harness = await startStockedHarness(products, { settings: SETTINGS })
    const { headers } = await fetchPath(
      harness,
      `/mail/${CHANNEL_ID}/picks/${[0, 1, 2].map(toGtin).join(',')}`,
    )
    expect(headers['vitrine-state']).toBe('shown')
    expect(headers['vitrine-reason']).toMatch(
      /^1 of 3 products is not shown\. \d+: Only shops of other networks sell it\./,
    )
  })

  test('without the setting - 404 with what to do', async () => {
    const { status, text } = await fetchPath(await startStockedHarness(), toMail(BOX))
    expect(status).toBe(404)
    expect(text).toContain('The setting VITRINE_MAIL_NETWORKS names the networks that allow links in e-mail.')
  })
})

describe('response', () => {
  test.each([`where-to-buy/${toGtin(0)}`, `picks/${toGtin(0)},${toGtin(1)}`])(
    '%s - the first picture that is no SVG',
    async (path) => {
      const images = ['a.svg', 'b.jpg', 'c.png'].map((name) => ({ url: `https://pics.example/${name}` }))
      const offers = [makeWireOffer({ network: 'alpha' })]
      const products = [0, 1].map((index) => makeWireProduct({ gtin: toGtin(index), images, offers }))
      const harness = await startStockedHarness(products, { settings: SETTINGS })
      const { text } = await fetchPath(harness, `/mail/${CHANNEL_ID}/${path}`)
      expect(text).toContain('src="https://pics.example/b.jpg"')
      expect(text).not.toMatch(/a\.svg|c\.png/)
    },
  )

  test('box - one table, with prices at sending time, and not for search engines', async () => {
    const harness = await startStockedHarness([makeProductOnSale()], {
      settings: { VITRINE_MAIL_NETWORKS: 'brightlink' },
    })
    const { text, headers } = await fetchPath(harness, `${toMail(BOX)}?sub=letter-7`)
    expect(text).toMatch(/^<table [^]*<\/table>$/)
    expect(readVisibleText(text)).toContain('Prices at sending time; see the shop for the current price')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'vitrine-state': 'shown',
      'x-robots-tag': 'noindex',
    })
    const known = await fetchPath(harness, `${toMail(BOX)}?sub=letter-7`, {
      'if-none-match': headers['etag'] ?? '',
    })
    expect(known.status).toBe(304)
  })
})

function toMail(path: string): string {
  return path.replace('/fragments', '/mail')
}
