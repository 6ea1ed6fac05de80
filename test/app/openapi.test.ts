import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness, HarnessOptions } from '../helpers/harness.ts'
import { startPictureApp, toPicturePath } from '../pictures/picture-app.ts'
import { makePicture } from '../pictures/picture-bytes.ts'
import { sendBody } from '../pictures/picture-host.ts'
import {
  GTIN,
  type TestResponse,
  fetchPath,
  makeProductOnSale,
  startHarness,
  stockCatalog,
} from './app-client.ts'
import { DOCUMENT, findDocumentedPath, findResponseProblems } from './public-api.ts'

const OTHER_GTIN = '09521234567806'
const PRODUCTS = [
  makeProductOnSale(),
  makeWireProduct({
    gtin: OTHER_GTIN,
    offers: [makeWireOffer(), makeWireOffer({ merchant: { name: 'Nordhem' }, price: '51.00' })],
  }),
]
const SETTINGS = {
  VITRINE_JSON: 'on',
  VITRINE_MAIL_NETWORKS: 'brightlink',
  VITRINE_ADMIN_PASSWORD: 'correct-horse',
}
const ADMIN = { Authorization: `Basic ${btoa('admin:correct-horse')}` }

async function startStocked(options: HarnessOptions = { settings: SETTINGS }): Promise<Harness> {
  const harness = await startHarness(options)
  await stockCatalog(harness, PRODUCTS)
  return harness
}

/** Request an address, and compare the response with the document. */
async function fetchValid(
  harness: Pick<Harness, 'app'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const response = await fetchPath(harness, path, headers)
  expect(
    findResponseProblems(path, response),
    `${path} ${response.status} ${response.text.slice(0, 300)}`,
  ).toEqual([])
  return response
}

const toWidgetPaths = (prefix: string): readonly string[] => [
  `${prefix}/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `${prefix}/${CHANNEL_ID}/picks/${GTIN},${OTHER_GTIN}`,
  `${prefix}/${CHANNEL_ID}/deals`,
]
const DATA_PATHS = toWidgetPaths('/data')
const WIDGETS = [
  ...['/data', '/fragments', '/embeds', '/mail'].flatMap(toWidgetPaths),
  `/feeds/${CHANNEL_ID}/deals.atom`,
]

const readState = ({ text }: TestResponse): unknown => (JSON.parse(text) as { state: unknown }).state

describe('responses', () => {
  const getHarness = setUpOnce(() => startStocked())
  const UNKNOWN = '952a0000-0000-4000-8000-0000000000ff'

  test.each(WIDGETS)('%s - shown, hidden, unchanged, a wrong option, an unknown channel', async (path) => {
    const harness = getHarness()
    const shown = await fetchValid(harness, path)
    expect([shown.status, shown.headers['vitrine-state']]).toEqual([200, 'shown'])
    const notModified = await fetchValid(harness, path, { 'If-None-Match': shown.headers['etag'] ?? '' })
    expect(notModified.status).toBe(304)
    const hidden = await fetchValid(harness, `${path}?merchant=nobody`)
    expect([hidden.status, hidden.headers['vitrine-state']]).toEqual([200, 'hidden'])
    expect((await fetchValid(harness, `${path}?theme=blue`)).status).toBe(400)
    expect((await fetchValid(harness, path.replace(CHANNEL_ID, UNKNOWN))).status).toBe(404)
  })

  test.each(DATA_PATHS)('%s - the state of the JSON is that of the header', async (path) => {
    const harness = getHarness()
    const seen = [
      await fetchValid(harness, path),
      await fetchValid(harness, `${path}?merchant=nobody`),
      await fetchValid(harness, `${path}?theme=blue`),
    ]
    expect(seen.map(readState)).toEqual(['shown', 'hidden', 'invalid'])
    for (const response of seen) expect(readState(response)).toBe(response.headers['vitrine-state'])
  })

  test.each(DATA_PATHS.slice(0, 2))(
    '%s - a wrong GTIN - 200, hidden, and the header says invalid',
    async (path) => {
      const response = await fetchValid(getHarness(), path.replace(GTIN, 'x'))
      expect([response.status, readState(response), response.headers['vitrine-state']]).toEqual([
        200,
        'hidden',
        'invalid',
      ])
    },
  )

  test.each(DATA_PATHS)(
    '%s - a catalog that fails - 200, hidden, and the last copy is to be kept',
    async (path) => {
      const harness = await startHarness({ settings: SETTINGS })
      harness.catalog.fault = {
        pathPattern: /products/,
        respond: (_request, response) => sendJson(response, 500, {}),
      }
      const response = await fetchValid(harness, path)
      expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store'])
      expect(JSON.parse(response.text)).toEqual({
        state: 'hidden',
        isTemporary: true,
        reason: 'The data cannot be read now. Keep the last copy, and try again.',
      })
    },
  )

  test.each([...DATA_PATHS, ...toWidgetPaths('/mail')])('%s - closed - 404', async (path) => {
    expect((await fetchValid(await startHarness(), path)).status).toBe(404)
  })

  test('addresses besides those of widgets - are as documented', async () => {
    const harness = getHarness()
    const box = await fetchPath(harness, DATA_PATHS[0] ?? '')
    const { offers } = JSON.parse(box.text) as { offers: { id: string }[] }
    const embed = encodeURIComponent(`https://widgets.example/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}`)
    const asset = harness.context.assets.get('vitrine.css').path
    const expected: readonly [path: string, status: number, headers?: Record<string, string>][] = [
      [`/oembed?url=${embed}`, 200],
      [`/oembed?format=xml&url=${embed}`, 200],
      ['/oembed', 400],
      [`/oembed?url=${embed}x`, 404],
      [`/oembed?format=yaml&url=${embed}`, 501],
      ['/embed.js', 200],
      [`/go/${CHANNEL_ID}/${GTIN}/${offers[0]?.id ?? ''}`, 302],
      [`/go/${CHANNEL_ID}/${GTIN}/nothing`, 404],
      [`/go/${CHANNEL_ID}/${GTIN}/nothing`, 503, { 'Sec-Purpose': 'prefetch' }],
      ['/accents/ff6600.css', 200],
      ['/accents/orange.css', 404],
      ['/logos/nothing.svg', 404],
      [asset, 200],
      ['/assets/nothing.css', 404],
      ['/openapi.json', 200],
      ['/healthz', 200],
      ['/readyz', 200],
      ['/readyz?require=database', 200, ADMIN],
      ['/metrics', 200, ADMIN],
      ['/metrics', 401],
      ['/events.atom', 200, ADMIN],
      ['/events.atom', 401],
    ]
    for (const [path, status, headers] of expected) {
      const response = await fetchValid(harness, path, headers)
      expect([path, response.status]).toEqual([path, status])
    }
    const pictures = ['/pictures/{hash}/{width}', '/pictures/{hash}/{width}.jpg']
    const fetched = [...WIDGETS, ...expected.map(([path]) => path)].map(findDocumentedPath)
    expect(new Set([...fetched, ...pictures])).toEqual(new Set(Object.keys(DOCUMENT.paths)))
  })

  test('picture - shown and unknown - are as documented', async () => {
    const { harness, host } = await startPictureApp()
    const jpeg = await makePicture('jpeg', { width: 400, height: 320 })
    const address = host.serve('/lamp.jpg', sendBody(jpeg))
    harness.context.pictures?.publish(address)
    const path = toPicturePath(address, 320)
    const types = [await fetchValid(harness, path), await fetchValid(harness, `${path}.jpg`)].map(
      ({ headers }) => headers['content-type'],
    )
    expect(types).toEqual(['image/webp', 'image/jpeg'])
    expect((await fetchValid(harness, `/pictures/${'0'.repeat(32)}/320`)).status).toBe(404)
    expect((await fetchValid(harness, toPicturePath(address, 321))).status).toBe(404)
  })
})

describe('comparison with the document', () => {
  const getHarness = setUpOnce(() => startStocked())
  const [path = ''] = DATA_PATHS

  test.each<[string, (response: TestResponse) => Partial<TestResponse>, string]>([
    [
      'a property that is not documented',
      ({ text }) => ({ text: text.replace('{', '{"more":1,') }),
      'additional',
    ],
    ['a property missing', ({ text }) => ({ text: text.replace('"lang":', '"language":') }), "'lang'"],
    ['an unknown state', ({ text }) => ({ text: text.replace('"shown"', '"visible"') }), '/state'],
    ['a price that is a number', ({ text }) => ({ text: text.replace('"49.90"', '49.9') }), '/amount'],
    [
      'another type',
      ({ headers }) => ({ headers: { ...headers, 'content-type': 'text/html' } }),
      'type text/html',
    ],
    ['no ETag pattern', ({ headers }) => ({ headers: { ...headers, etag: 'x' } }), 'ETag'],
    [
      'no Cache-Control',
      ({ headers }) => ({ headers: { ...headers, 'cache-control': undefined } }),
      'missing',
    ],
    ['an undocumented header', ({ headers }) => ({ headers: { ...headers, location: '/' } }), 'location'],
    ['an undocumented status', () => ({ status: 418 }), 'status 418'],
  ])('%s - is a problem', async (_name, change, problem) => {
    const response = await fetchValid(getHarness(), path)
    expect(findResponseProblems(path, { ...response, ...change(response) }).join()).toContain(problem)
  })
})

describe('/openapi.json', () => {
  test('GET and HEAD - any site may read and cache it', async () => {
    const harness = await startHarness()
    const { headers, text } = await fetchPath(harness, '/openapi.json')
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(DOCUMENT)))
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=300',
      'content-type': 'application/json; charset=utf-8',
      vary: 'Accept-Encoding',
    })
    const head = await request(harness.app).head('/openapi.json').expect(200)
    expect(head.headers['etag']).toBe(headers['etag'])
    expect(
      (await fetchPath(harness, '/openapi.json', { 'If-None-Match': headers['etag'] ?? '' })).status,
    ).toBe(304)
    await request(harness.app)
      .get('/openapi.json')
      .set('Accept-Encoding', 'br')
      .expect('Content-Encoding', 'br')
  })

  test('below a path prefix - server of the document is the public address', async () => {
    const settings = { VITRINE_PUBLIC_URL: 'https://site.example/shops' }
    const { text } = await fetchPath(await startHarness({ settings }), '/shops/openapi.json')
    expect(JSON.parse(text)).toMatchObject({ servers: [{ url: 'https://site.example/shops' }] })
  })
})
