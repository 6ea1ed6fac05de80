import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID_EMBED,
  GTIN,
  type TestResponse,
  getAttribute,
  listElements,
  makeProductOnSale,
  startStockedHarness,
  stockCatalog,
  fetchPath,
} from './app-client.ts'

/** Return the link targets of an embed in a sandboxed frame (addresses of this server) and elsewhere. */
async function readLinks(
  harness: Harness,
  path: string,
): Promise<readonly Readonly<{ redirectPath: string; href: string }>[]> {
  const elements = listElements((await fetchPath(harness, path)).text)
  const body = elements.find(({ tagName }) => tagName === 'body')
  const base = body === undefined ? '' : getAttribute(body, 'data-vitrine-go')
  expect(base).toBe(`https://widgets.example/go/${CHANNEL_ID}/`)
  return elements
    .filter((element) => getAttribute(element, 'data-go') !== '')
    .map((link) => ({
      redirectPath: new URL(base + getAttribute(link, 'data-go')).pathname,
      href: getAttribute(link, 'href'),
    }))
}

function expectNotFound(seen: TestResponse): void {
  expect(seen.status).toBe(404)
  expect(seen.headers['location']).toBeUndefined()
  expect(seen.headers).toMatchObject({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex, nofollow' })
  expect(seen.text).toContain('The shop no longer has this offer.')
}

describe('links of a sandboxed frame', () => {
  test('every link of box and grid - redirects to the unchanged link of the catalog', async () => {
    const offers = ['A', 'B & C', 'Ü'].map((name, index) =>
      makeWireOffer({
        merchant: { name },
        price: String(10 + index),
        old_price: '99',
        affiliate_url: `https://go.example/${index}?a=1&b=%20;x='y'#z`,
      }),
    )
    const harness = await startStockedHarness([makeWireProduct({ offers })])
    const links = [...(await readLinks(harness, BOX_EMBED)), ...(await readLinks(harness, GRID_EMBED))]
    expect(links).toHaveLength(4)
    for (const { redirectPath, href } of links) {
      const seen = await fetchPath(harness, redirectPath)
      expect(seen.status).toBe(302)
      expect(seen.headers).toMatchObject({
        location: href,
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex, nofollow',
      })
      expect(seen.body).toHaveLength(0)
    }
  })

  test('id of an offer - the first 16 hex digits of SHA-256 over network, merchant and currency', async () => {
    const harness = await startStockedHarness()
    const { network, merchant, currency } = makeWireOffer()
    const id = createHash('sha256')
      .update(JSON.stringify([network, merchant.name, currency]))
      .digest('hex')
      .slice(0, 16)
    expect((await readLinks(harness, BOX_EMBED)).map(({ redirectPath }) => redirectPath)).toEqual([
      `/go/${CHANNEL_ID}/${GTIN}/${id}`,
    ])
  })

  test('fragments - have no redirect addresses', async () => {
    const harness = await startStockedHarness()
    expect((await fetchPath(harness, BOX)).text).not.toContain('data-go')
  })

  test('link with non-ASCII letters - is percent-encoded in the header', async () => {
    const harness = await startStockedHarness([
      makeProductOnSale({ offers: [makeWireOffer({ affiliate_url: 'https://go.example/größe?q=灯' })] }),
    ])
    const [link] = await readLinks(harness, BOX_EMBED)
    const seen = await fetchPath(harness, link?.redirectPath ?? '')
    expect(seen.headers['location']).toBe('https://go.example/gr%C3%B6%C3%9Fe?q=%E7%81%AF')
  })

  test('unpaired surrogate in a link - becomes the replacement character', async () => {
    const harness = await startStockedHarness([
      makeProductOnSale({ offers: [makeWireOffer({ affiliate_url: 'https://go.example/\ud800' })] }),
    ])
    const [link] = await readLinks(harness, BOX_EMBED)
    const seen = await fetchPath(harness, link?.redirectPath ?? '')
    expect([seen.status, seen.headers['location']]).toEqual([302, 'https://go.example/%EF%BF%BD'])
  })

  test('invalid link of an offer - 404, and search engines do not index it', async () => {
    const harness = await startStockedHarness()
    for (const path of ['/go/', '/go/a/b', '/go/%E0%A4%A/x/y', `/go/${'x'.repeat(2_100)}`]) {
      const seen = await fetchPath(harness, path)
      expect([404, 414], path).toContain(seen.status)
      expect(seen.headers['x-robots-tag'], path).toBe('noindex, nofollow')
    }
  })

  test('changed price and link - redirects to the current link', async () => {
    const harness = await startStockedHarness()
    const [link] = await readLinks(harness, BOX_EMBED)
    await stockCatalog(harness, [
      makeProductOnSale({
        offers: [makeWireOffer({ price: '1.00', affiliate_url: 'https://go.example/new' })],
      }),
    ])
    harness.clock.advance(301_000)
    await expect
      .poll(async () => (await fetchPath(harness, link?.redirectPath ?? '')).headers['location'])
      .toBe('https://go.example/new')
  })

  test('removed or unknown offer, product or channel - 404', async () => {
    const harness = await startStockedHarness()
    const [link] = await readLinks(harness, BOX_EMBED)
    const redirectPath = link?.redirectPath ?? ''
    expectNotFound(await fetchPath(harness, redirectPath.replace(/.{4}$/, 'ffff')))
    expectNotFound(await fetchPath(harness, redirectPath.replace(GTIN, '09521234500005')))
    expectNotFound(await fetchPath(harness, redirectPath.replace(GTIN, 'lamp')))
    const elsewhere = await fetchPath(
      harness,
      redirectPath.replace(CHANNEL_ID, '00000000-0000-4000-8000-000000000000'),
    )
    expect(elsewhere.status).toBe(404)
  })

  test('address in the request - is never the redirect target', async () => {
    const harness = await startStockedHarness()
    const [link] = await readLinks(harness, BOX_EMBED)
    const seen = await fetchPath(
      harness,
      `${link?.redirectPath}?url=https%3A%2F%2Fevil.example&to=//evil.example`,
      {
        Referer: 'https://evil.example/',
      },
    )
    expect(seen.headers['location']).toBe(link?.href)
    expectNotFound(await fetchPath(harness, `/go/${CHANNEL_ID}/${GTIN}/https%3A%2F%2Fevil.example`))
  })

  test.each([
    { 'Sec-Purpose': 'prefetch' },
    { 'Sec-Purpose': 'prefetch;prerender' },
    { Purpose: 'prefetch' },
    { 'X-Purpose': 'preview' },
    { 'X-Moz': 'prefetch' },
  ])('prefetch, announced by %o - 503 without the link; then the reader follows it', async (headers) => {
    const harness = await startStockedHarness()
    const [link] = await readLinks(harness, BOX_EMBED)
    const redirectPath = link?.redirectPath ?? ''
    const seen = await fetchPath(harness, redirectPath, headers)
    expect([seen.status, seen.text]).toEqual([503, 'Links to shops are not prefetched.\n'])
    expect(seen.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
      'x-robots-tag': 'noindex, nofollow',
    })
    expect(seen.headers['location']).toBeUndefined()
    const followed = await fetchPath(harness, redirectPath, { 'Sec-Purpose': '' })
    expect([followed.status, followed.headers['location']]).toEqual([302, link?.href])
  })

  test('catalog down - links of the stored copy still redirect', async () => {
    const harness = await startStockedHarness()
    const [link] = await readLinks(harness, BOX_EMBED)
    harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
    harness.clock.advance(1_800_000)
    expect((await fetchPath(harness, link?.redirectPath ?? '')).headers['location']).toBe(link?.href)
  })
})
