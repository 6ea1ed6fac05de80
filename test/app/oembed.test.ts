import { decodeXML } from 'entities'
import { parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX_EMBED,
  GRID_EMBED,
  GTIN,
  type TestResponse,
  getAttribute,
  listElements,
  startHarness,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'

const SERVER = 'https://widgets.example'

const fetchOembed = (
  harness: Harness,
  url: string,
  more: Readonly<Record<string, string>> = {},
): Promise<TestResponse> => fetchPath(harness, `/oembed?${new URLSearchParams({ url, ...more }).toString()}`)

type OembedJson = Readonly<{ title: string; width: number; height: number; html: string }>

const readJson = (seen: TestResponse): OembedJson => JSON.parse(seen.text) as OembedJson

/** Return the frame of the HTML of a response by its attributes. */
function readFrame(html: string): Readonly<Record<string, string>> {
  const frame = listElements(html).find(({ tagName }) => tagName === 'iframe')
  return Object.fromEntries((frame?.attrs ?? []).map(({ name, value }) => [name, value]))
}

describe('oEmbed', () => {
  test('box - rich response: an empty blockquote, then the frame, and no price', async () => {
    const harness = await startStockedHarness()
    const seen = await fetchOembed(harness, SERVER + BOX_EMBED)
    expect(seen.status).toBe(200)
    expect(seen.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'access-control-allow-origin': '*',
    })
    const oembed = readJson(seen)
    expect(oembed).toMatchObject({
      version: '1.0',
      type: 'rich',
      title: 'Where to buy Lumen Arc desk lamp',
      provider_name: 'Vitrine',
      provider_url: SERVER,
      width: 600,
    })
    expect(parseFragment(oembed.html).childNodes.map(({ nodeName }) => nodeName)).toEqual([
      'blockquote',
      'iframe',
    ])
    expect(readFrame(oembed.html)).toMatchObject({
      src: SERVER + BOX_EMBED,
      title: 'Where to buy Lumen Arc desk lamp',
      width: '600',
      height: String(oembed.height),
    })
    expect(oembed.html).toMatch(/^<blockquote><\/blockquote><iframe /)
    expect(seen.text).not.toMatch(/€|EUR|\d\.\d\d"/)
  })

  test('options of the address - are sorted, without campaign tags and defaults', async () => {
    const harness = await startStockedHarness()
    const seen = await fetchOembed(
      harness,
      `${SERVER}${GRID_EMBED}?utm_source=x&sort=price&limit=12&theme=dark&merchant=A%26B`,
    )
    const { html, title } = readJson(seen)
    expect(readFrame(html)['src']).toBe(`${SERVER}${GRID_EMBED}?theme=dark&merchant=a%26b&sort=price`)
    expect(title).toBe('Deals')
  })

  test('maxwidth and maxheight - limit the frame', async () => {
    const harness = await startStockedHarness()
    const oembed = readJson(
      await fetchOembed(harness, SERVER + BOX_EMBED, { maxwidth: '320', maxheight: '200' }),
    )
    expect(oembed).toMatchObject({ width: 320, height: 200 })
    const wide = readJson(
      await fetchOembed(harness, SERVER + BOX_EMBED, { maxwidth: '5000', maxheight: '5000' }),
    )
    expect(wide.width).toBe(1_200)
    expect(wide.height).toBeLessThan(700)
    expect(readFrame(wide.html)).toMatchObject({ width: '1200', height: String(wide.height) })
  })

  test('XML - the same fields, escaped', async () => {
    const title = 'Lamp <b> & "quotes" \'n\' more'
    const harness = await startStockedHarness([makeWireProduct({ title })])
    const seen = await fetchOembed(harness, SERVER + BOX_EMBED, { format: 'xml' })
    expect(seen.headers['content-type']).toBe('text/xml; charset=utf-8')
    expect(seen.text).toMatch(
      /^<\?xml version="1\.0" encoding="utf-8" standalone="yes"\?>\n<oembed><version>1\.0</,
    )
    const json = readJson(await fetchOembed(harness, SERVER + BOX_EMBED))
    for (const [name, value] of Object.entries(json)) {
      const [, text = ''] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(seen.text) ?? []
      expect(decodeXML(text)).toBe(String(value))
    }
    expect(json.title).toBe(`Where to buy ${title}`)
  })

  test('XML - is well-formed with any title', async () => {
    const harness = await startStockedHarness([
      makeWireProduct({ title: 'Lamp\ufffe\uffffX\u0000\u{1ffff}\ufdd0 Y' }),
    ])
    const seen = await fetchOembed(harness, SERVER + BOX_EMBED, { format: 'xml' })
    expect(seen.text).toContain('<title>Where to buy Lamp X Y</title>')
    const { SaxesParser } = await import('saxes')
    expect(() => new SaxesParser().write(seen.text).close()).not.toThrow()
  })

  test('product without offers - has a frame, because a shop may sell it later', async () => {
    const harness = await startStockedHarness()
    const embed = BOX_EMBED.replace(GTIN, '09521234500005')
    const seen = await fetchOembed(harness, SERVER + embed)
    expect(seen.status).toBe(200)
    expect(readFrame(readJson(seen).html)['src']).toBe(SERVER + embed)
    expect(readJson(seen).title).toBe('Where to buy')
  })

  test('unknown channels because the catalog fails - a frame with the canonical address, no-store', async () => {
    const harness = await startHarness()
    harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
    for (const embed of [BOX_EMBED, GRID_EMBED]) {
      const upperCased = embed.replace(CHANNEL_ID, CHANNEL_ID.toUpperCase()).replace(GTIN, '9521234567899')
      const seen = await fetchOembed(
        harness,
        `${SERVER}${upperCased}?utm_source=x&isolate=shadow&locale=de&theme=dark`,
      )
      expect([seen.status, seen.headers['cache-control']]).toEqual([200, 'no-store'])
      expect(seen.text).not.toContain('cache_age')
      const { html, title } = readJson(seen)
      expect(readFrame(html)['src']).toBe(`${SERVER}${embed}?theme=dark&locale=de`)
      expect(title).toBe(embed === GRID_EMBED ? 'Angebote' : 'Preise im Vergleich')
    }
    for (const path of [
      'lamp/deals',
      '%22%3E%3Cb%3E/deals',
      `${CHANNEL_ID}/deals?theme=blue`,
      `${CHANNEL_ID}/where-to-buy/lamp`,
    ])
      expect((await fetchOembed(harness, `${SERVER}/embeds/${path}`)).status, path).toBe(404)
  })

  test.each([
    ['missing address', '', {}, 400],
    ['zero width', SERVER + BOX_EMBED, { maxwidth: '0' }, 400],
    ['height that is not a number', SERVER + BOX_EMBED, { maxheight: 'high' }, 400],
    ['another format', SERVER + BOX_EMBED, { format: 'yaml' }, 501],
    ['another host', `https://other.example${BOX_EMBED}`, {}, 404],
    ['text that is not an address', 'lamp', {}, 404],
    ['a fragment', `${SERVER}/fragments/${CHANNEL_ID}/deals`, {}, 404],
    ['another scheme', `ftp://widgets.example${BOX_EMBED}`, {}, 404],
    ['unknown channel', `${SERVER}/embeds/00000000-0000-4000-8000-000000000000/deals`, {}, 404],
    ['invalid GTIN', `${SERVER}/embeds/${CHANNEL_ID}/where-to-buy/lamp`, {}, 404],
    ['an invalid option', `${SERVER}${BOX_EMBED}?theme=blue`, {}, 404],
    ['broken percent-encoding', `${SERVER}/embeds/${CHANNEL_ID}/where-to-buy/%ff`, {}, 404],
  ])('%s - error in one line of plain text', async (...[, url, more, status]) => {
    const harness = await startStockedHarness()
    const seen = await fetchOembed(harness, url, more)
    expect(seen.status).toBe(status)
    expect(seen.headers).toMatchObject({
      'cache-status': 'vitrine; fwd=miss; detail=invalid',
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'vitrine-state': 'invalid',
    })
    expect(seen.text).toBe(`${seen.headers['vitrine-error']}\n`)
    expect(seen.text).toMatch(/^[^{<].*\.?\n$/)
  })

  test('repeated url parameter - 400', async () => {
    const harness = await startStockedHarness()
    const url = encodeURIComponent(SERVER + BOX_EMBED)
    expect((await fetchPath(harness, `/oembed?url=${url}&url=${url}`)).status).toBe(400)
  })

  test('embed, shown or hidden - links to both formats in its head with its canonical address', async () => {
    const harness = await startStockedHarness()
    for (const gtin of [GTIN, '09521234500005']) {
      const path = BOX_EMBED.replace(GTIN, gtin)
      const { text } = await fetchPath(harness, `${path}?utm_source=x&limit=3`)
      const links = listElements(text).filter((element) => getAttribute(element, 'rel') === 'alternate')
      expect(links.map((link) => getAttribute(link, 'type'))).toEqual([
        'application/json+oembed',
        'text/xml+oembed',
      ])
      for (const link of links) {
        const href = new URL(getAttribute(link, 'href'))
        expect(href.searchParams.get('url')).toBe(`${SERVER}${path}?limit=3`)
        const seen = await fetchPath(harness, href.pathname + href.search)
        expect(seen.headers['content-type']).toContain(getAttribute(link, 'type').replace('+oembed', ''))
      }
    }
  })
})

describe('height of a frame whose widget is hidden or unavailable', () => {
  const [first = '', ...others] = Array.from({ length: 12 }, (_, index) => toGtin(index + 1))
  const lists = { two: [first, ...others.slice(0, 1)].join(), four: [first, ...others.slice(0, 3)].join() }
  const offers = ['Kopje', 'Novabruck', 'Nordhem'].map((name, index) =>
    makeWireOffer({
      merchant: { name },
      price: `${50 + index}.00`,
      ...(index === 0 && { old_price: '80.00' }),
    }),
  )
  const getHarnesses = setUpOnce(async () => {
    const unavailable = await startHarness()
    unavailable.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => sendJson(response, 500, {}),
    }
    return {
      shown: await startStockedHarness([first, ...others].map((gtin) => makeWireProduct({ gtin, offers }))),
      hidden: await startStockedHarness([]),
      unavailable,
    }
  })

  test.each([
    `where-to-buy/${first}`,
    `where-to-buy/${first}?limit=1`,
    `where-to-buy/${first}?limit=2&layout=table`,
    `where-to-buy/${first}?layout=card`,
    `where-to-buy/${first}?layout=button&head=none`,
    `where-to-buy/${first}?layout=inline`,
    `where-to-buy/${first}~${others[0]}?head=none`,
    `picks/${lists.two}`,
    `picks/${lists.four}?layout=table&label=Best&label=&label=Cheap`,
    `picks/${lists.two}?layout=row`,
    `picks/${lists.four}?layout=row&head=compact`,
    `picks/${lists.two}?layout=rank&head=none&label=Best`,
    'deals',
    'deals?limit=2',
    'deals?layout=list&limit=3',
    'deals?layout=carousel',
  ])('%s - is that of the shown widget', async (embed) => {
    const url = `${SERVER}/embeds/${CHANNEL_ID}/${embed}`
    const readHeights = async (harness: Harness): Promise<readonly number[]> => [
      readJson(await fetchOembed(harness, url)).height,
      readJson(await fetchOembed(harness, url, { maxwidth: '320' })).height,
    ]
    const { shown, hidden, unavailable } = getHarnesses()
    const heights = await readHeights(shown)
    expect(await readHeights(hidden)).toEqual(heights)
    expect(await readHeights(unavailable)).toEqual(heights)
    expect((await fetchOembed(unavailable, url)).headers['cache-control']).toBe('no-store')
  })
})
