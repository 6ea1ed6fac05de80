import { describe, expect, test } from 'vitest'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type TestResponse,
  fetchPath,
  getAttribute,
  listElements,
  startHarness,
  startStockedHarness,
} from './app-client.ts'

const SERVER = 'https://widgets.example'
const GTINS = [1, 2, 3].map((number) => toGtin(number))
const PICKS_EMBED = `/embeds/${CHANNEL_ID}/picks/${GTINS.join(',')}`
const BOX_EMBED = `/embeds/${CHANNEL_ID}/where-to-buy/${GTINS[0]}`

const PRODUCTS = GTINS.map((gtin, index) =>
  makeWireProduct({ gtin, title: `Lamp ${index + 1}`, offers: [makeWireOffer()] }),
)

const fetchOembed = (
  harness: Harness,
  embed: string,
  more: Readonly<Record<string, string>> = {},
): Promise<TestResponse> =>
  fetchPath(harness, `/oembed?${new URLSearchParams({ url: SERVER + embed, ...more }).toString()}`)

type OembedJson = Readonly<{ title: string; width: number; height: number; html: string }>

const readJson = ({ text }: TestResponse): OembedJson => JSON.parse(text) as OembedJson

/** Return the address of the frame in a response. */
function readSource(response: TestResponse): string {
  const frame = listElements(readJson(response).html).find(({ tagName }) => tagName === 'iframe')
  return frame === undefined ? '' : getAttribute(frame, 'src')
}

/** Return the paths of the oEmbed links in the head of an embed: JSON and XML. */
async function readDiscovery(harness: Harness, embed: string): Promise<readonly string[]> {
  const { text } = await fetchPath(harness, embed)
  return listElements(text)
    .filter((element) => getAttribute(element, 'rel') === 'alternate')
    .map((link) => getAttribute(link, 'href').slice(SERVER.length))
}

describe('oEmbed of round-ups', () => {
  test('round-up - title, and a height that grows with the products', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const all = readJson(await fetchOembed(harness, PICKS_EMBED))
    expect(all).toMatchObject({ type: 'rich', title: 'Our picks', width: 600 })
    const two = readJson(await fetchOembed(harness, PICKS_EMBED.replace(`,${GTINS[2]}`, '')))
    expect(all.height).toBeGreaterThan(two.height)
    expect(two.height).toBeGreaterThan(200)
    const named = readJson(await fetchOembed(harness, `${PICKS_EMBED}?heading=Best%20lamps`))
    expect(named.title).toBe('Best lamps')
  })

  test.each([
    ['commas', PICKS_EMBED],
    ['encoded commas', PICKS_EMBED.replaceAll(',', '%2C')],
    ['GTINs without leading zeros', PICKS_EMBED.replaceAll('/0', '/').replaceAll(',0', ',')],
    ['a repeated GTIN', `${PICKS_EMBED},${GTINS[0]}`],
  ])('list with %s - the frame has the canonical address', async (_case, embed) => {
    const harness = await startStockedHarness(PRODUCTS)
    expect(readSource(await fetchOembed(harness, embed))).toBe(SERVER + PICKS_EMBED)
  })

  test('labels and placement - are in the address of the frame, and other parameters are not', async () => {
    const harness = await startStockedHarness(PRODUCTS)
    const embed = `${PICKS_EMBED}?utm_source=x&sub=p12&label=Best&label=&label=Cheap&layout=table`
    expect(readSource(await fetchOembed(harness, embed))).toBe(
      `${SERVER}${PICKS_EMBED}?layout=table&label=Best&label=&label=Cheap&sub=p12`,
    )
  })

  test('no product is sold, or the catalog fails - a frame with the default title and height', async () => {
    const hidden = await startStockedHarness([])
    const failing = await startHarness()
    failing.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
    for (const harness of [hidden, failing]) {
      const response = await fetchOembed(harness, `${PICKS_EMBED}?locale=de&sub=p1`)
      expect(response.status).toBe(200)
      expect(readJson(response).title).toBe('Unsere Auswahl')
      expect(readJson(response).height).toBeGreaterThan(400)
      expect(readSource(response)).toBe(`${SERVER}${PICKS_EMBED}?locale=de&sub=p1`)
    }
  })

  test.each([
    ['one product', `/embeds/${CHANNEL_ID}/picks/${GTINS[0]}`],
    ['an invalid GTIN', `${PICKS_EMBED},lamp`],
    ['an invalid placement', `${PICKS_EMBED}?sub=a%20b`],
    ['a label that is too long', `${PICKS_EMBED}?label=${'x'.repeat(41)}`],
  ])('%s - 404', async (_case, embed) => {
    const harness = await startStockedHarness(PRODUCTS)
    expect((await fetchOembed(harness, embed)).status).toBe(404)
  })
})

describe('discovery links in the head of an embed', () => {
  test.each([
    ['round-up', PICKS_EMBED],
    ['round-up with labels', `${PICKS_EMBED}?label=Best&label=&label=Cheap`],
    ['box', BOX_EMBED],
    ['variants with a stand-in', `${BOX_EMBED}~${GTINS[1]}?else=${GTINS[2]}`],
    ['grid', `/embeds/${CHANNEL_ID}/deals?limit=2`],
  ])('%s - name its address with the placement of the request', async (_case, embed) => {
    const harness = await startStockedHarness(PRODUCTS)
    const separator = embed.includes('?') ? '&' : '?'
    // The second request of each placement gets the cached response.
    for (const sub of ['p1', 'p1', 'home_top', null, 'p1']) {
      const address = sub === null ? embed : `${embed}${separator}sub=${sub}`
      const links = await readDiscovery(harness, address)
      expect(links).toHaveLength(2)
      for (const link of links) {
        const url = new URL(link, SERVER).searchParams.get('url') ?? ''
        expect(decodeURIComponent(url)).toBe(decodeURIComponent(SERVER + address))
        const response = await fetchPath(harness, link.replace('format=xml', 'format=json'))
        expect(new URL(readSource(response)).searchParams.get('sub')).toBe(sub)
      }
    }
  })
})
