import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { createApp } from '../../src/app.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  type TestResponse,
  listElements,
  getAttribute,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'

/** A box and a grid on both surfaces. */
const BOXES = [BOX, BOX_EMBED]
const GRIDS = [GRID, GRID_EMBED]
const BOX_LIFETIME = 'public, max-age=300, stale-while-revalidate=600, stale-if-error=86400'

const isEmbed = (path: string): boolean => path.startsWith('/embeds/')

/** Return the state that the document of a frame reports. */
function readFrameState(html: string): string {
  const body = listElements(html).find(({ tagName }) => tagName === 'body')
  return body === undefined ? 'no body' : getAttribute(body, 'data-vitrine-state')
}

/** Return `nothing` for zero bytes, or for an empty document that reports `hidden`; otherwise the content. */
function describeResponse(path: string, seen: TestResponse): string {
  const size = `${seen.status}, ${seen.headers['content-length']} bytes`
  if (!isEmbed(path)) return size === '200, 0 bytes' && seen.body.length === 0 ? 'nothing' : size
  const text = readVisibleText(seen.text.replace(/<title>.*<\/title>/, ''))
  const state = readFrameState(seen.text)
  return seen.status === 200 && state === 'hidden' && text === '' ? 'nothing' : `${size}, ${state}: ${text}`
}

function failCatalog(harness: Harness): void {
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

describe('shown', () => {
  test.each([...BOXES, ...GRIDS])('%s - 200 with the widget', async (path) => {
    const harness = await startStockedHarness()
    const seen = await fetchPath(harness, path)
    expect(seen.status).toBe(200)
    expect(seen.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(seen.body.length),
      'vitrine-state': 'shown',
      'cache-status': 'vitrine; hit',
      'cache-control': BOX_LIFETIME,
    })
    expect(seen.headers['etag']).toMatch(isEmbed(path) ? /^W\/"/ : /^"/)
    expect(readVisibleText(seen.text)).toContain('Lumen Arc desk lamp')
    expect(seen.text).toMatch(isEmbed(path) ? /^<!doctype html>/ : /^<(?!!|html|head|body)/)
    expect(readFrameState(seen.text)).toBe(isEmbed(path) ? 'shown' : 'no body')
  })

  test.each(BOXES)('%s fetched for this request - has the cache status of a miss', async (path) => {
    const harness = await startHarness()
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    const seen = await fetchPath(harness, path)
    expect(seen.headers).toMatchObject({
      'vitrine-state': 'shown',
      'cache-status': 'vitrine; fwd=miss; stored',
    })
  })
})

describe('hidden', () => {
  test.each(BOXES)('%s, catalog 404 - nothing, cacheable like a box', async (path) => {
    const harness = await startHarness()
    const seen = await fetchPath(harness, path)
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers).toMatchObject({ 'vitrine-state': 'hidden', 'cache-control': BOX_LIFETIME })
  })

  test.each([
    ...BOXES.map((path) => `${path}?merchant=nobody`),
    ...BOXES.map((path) => `${path}?currency=USD`),
    ...GRIDS.map((path) => `${path}?q=nothing`),
    ...GRIDS.map((path) => `${path}?page=2`),
  ])('%s, filters match nothing - nothing, cacheable like a box', async (path) => {
    const seen = await fetchPath(await startStockedHarness(), path)
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers).toMatchObject({ 'vitrine-state': 'hidden', 'cache-control': BOX_LIFETIME })
  })

  test.each(BOXES)('%s, not in a complete copy - nothing, without a call', async (path) => {
    const harness = await startStockedHarness([makeWireProduct({ gtin: '09520001001024' })])
    expect(describeResponse(path, await fetchPath(harness, path))).toBe('nothing')
    expect(harness.catalog.countCalls(/\/products\//)).toBe(0)
  })
})

describe('failing catalog', () => {
  test.each(BOXES)('%s, two-hour-old copy - shows the copy with its date', async (path) => {
    const harness = await startStockedHarness()
    harness.clock.advance(2 * 3_600_000)
    failCatalog(harness)
    const seen = await fetchPath(harness, path)
    expect(seen.headers).toMatchObject({
      'vitrine-state': 'shown',
      'cache-status': 'vitrine; fwd=stale; detail=rescued',
      'cache-control': 'public, max-age=60, stale-while-revalidate=600, stale-if-error=79200',
    })
    expect(readVisibleText(seen.text)).toContain('Nov 21, 2026, 12:00 PM UTC')
  })

  test.each(BOXES)('%s, ten-minute-old copy - shows the copy at once, marked as stale', async (path) => {
    const harness = await startStockedHarness()
    harness.clock.advance(600_000)
    failCatalog(harness)
    const seen = await fetchPath(harness, path)
    expect(seen.headers).toMatchObject({
      'cache-status': 'vitrine; fwd=stale; detail=stale',
      'cache-control': 'public, max-age=60, stale-while-revalidate=600, stale-if-error=85800',
    })
  })

  test.each(GRIDS)('%s, old copy - shows the copy with its date', async (path) => {
    const harness = await startStockedHarness()
    harness.clock.advance(2 * 3_600_000)
    failCatalog(harness)
    const seen = await fetchPath(harness, path)
    expect(seen.headers).toMatchObject({
      'vitrine-state': 'shown',
      'cache-status': 'vitrine; fwd=stale; detail=rescued',
      'cache-control': 'public, max-age=300, stale-while-revalidate=600, stale-if-error=79200',
    })
    expect(readVisibleText(seen.text)).toContain('Nov 21, 2026, 12:00 PM UTC')
  })

  test.each([...BOXES, ...GRIDS])('%s, no copy - nothing, no-store', async (path) => {
    const harness = await startHarness()
    await harness.context.store.putChannelList(
      [{ id: CHANNEL_ID, name: 'Test', kind: 'website', url: 'https://magazine.example/' }],
      harness.clock.nowMs(),
    )
    failCatalog(harness)
    const seen = await fetchPath(harness, path)
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers).toMatchObject({
      'vitrine-state': 'unavailable',
      'cache-control': 'no-store',
      'cache-status': 'vitrine; fwd=miss; detail=unavailable',
    })
    expect(seen.headers['etag']).toBeUndefined()
  })

  test.each([...BOXES, ...GRIDS])('%s, no list of channels - nothing', async (path) => {
    const harness = await startHarness()
    failCatalog(harness)
    const seen = await fetchPath(harness, path)
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers).toMatchObject({ 'vitrine-state': 'unavailable', 'cache-control': 'no-store' })
  })
})

describe('visitor timeout', () => {
  test('slow list of channels and slow product - share one timeout', async () => {
    const { catalog, clock, ...harness } = await startHarness()
    const pending: (() => void)[] = []
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) =>
        pending.push(() => sendJson(response, 200, { items: catalog.channels })),
    }
    const visiting = fetchPath(harness, BOX)
    await vi.waitFor(() => expect(pending).toHaveLength(1))
    clock.advance(700)
    pending[0]?.()
    await vi.waitFor(() => expect(pending).toHaveLength(2))
    clock.advance(100)
    expect((await visiting).headers['vitrine-state']).toBe('unavailable')
  })
})

describe('GTIN', () => {
  const SUFFIXES = [
    '',
    '/',
    '/abc',
    '/4006381-33393',
    '/123456789012345',
    '/4006381333931/x',
    '/%20',
    '/a%2Fb',
    '/１２',
  ]

  test.each(
    SUFFIXES.flatMap((suffix) =>
      ['fragments', 'embeds'].map((surface) => `/${surface}/${CHANNEL_ID}/where-to-buy${suffix}`),
    ),
  )('%s, invalid - nothing, with the reason in a header', async (path) => {
    const harness = await startStockedHarness()
    const seen = await fetchPath(harness, encodeURI(decodeURI(path)))
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers['vitrine-state']).toBe('invalid')
    expect(seen.headers['vitrine-error']).toContain('1 to 14 digits')
    expect(harness.catalog.countCalls(/\/products\//)).toBe(0)
  })

  test.each(['%zz', '%ff', '100%'])('%s, invalid percent-encoding - nothing', async (gtin) => {
    const harness = await startStockedHarness()
    for (const surface of ['fragments', 'embeds']) {
      const path = `/${surface}/${CHANNEL_ID}/where-to-buy/${gtin}`
      const seen = await fetchPath(harness, path)
      expect(describeResponse(path, seen)).toBe('nothing')
      expect(seen.headers['vitrine-state']).toBe('invalid')
    }
  })

  test.each(['1', '10343921900', '00010343921900', '%31%30%33%34%33%39%32%31%39%30%30'])(
    '%s - is padded to 14 digits',
    async (gtin) => {
      const padded = gtin === '1' ? '00000000000001' : '00010343921900'
      const harness = await startStockedHarness([makeWireProduct({ gtin: padded })])
      const seen = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)
      expect(seen.headers['vitrine-state']).toBe('shown')
    },
  )

  test('frame with an invalid GTIN - may be framed by the site of its channel', async () => {
    const harness = await startStockedHarness()
    const seen = await fetchPath(harness, `/embeds/${CHANNEL_ID}/where-to-buy/abc`)
    expect(seen.headers['content-security-policy']).toMatch(
      /frame-ancestors [^;]*https:\/\/magazine\.example/,
    )
  })
})

describe('reason of an empty response', () => {
  test.each([
    ['a GTIN without offers', '09521234567905', 'No shop of this channel sells'],
    ['a mistyped GTIN', '09521234567906', 'The last digit of this GTIN is wrong'],
    [
      'options that leave nothing',
      '09521234567899?merchant=Nobody',
      'The option merchant=nobody hides the only offer',
    ],
    ['an invalid GTIN', 'abc', 'A GTIN is 1 to 14 digits'],
  ])('%s - is in a header and in the frame', async (_name, end, words) => {
    const harness = await startStockedHarness()
    for (const path of BOXES) {
      const seen = await fetchPath(harness, path.replace(/\d+$/, end))
      expect(seen.headers['vitrine-reason'] ?? seen.headers['vitrine-error']).toContain(words)
      expect(describeResponse(path, seen)).toBe('nothing')
      expect(seen.text.includes(`data-vitrine-reason="${words}`)).toBe(isEmbed(path))
    }
  })

  test('non-ASCII names - become ASCII in the header and stay unchanged in the frame', async () => {
    const shop = { name: 'Žižkov 北 <b>' }
    const harness = await startStockedHarness([
      makeProductOnSale({ offers: [makeWireOffer({ merchant: shop })] }),
    ])
    for (const path of BOXES) {
      // Cut to their low bytes, these two letters would be CR and LF and end the header line.
      const seen = await fetchPath(harness, `${path}?merchant=%C4%8D%C4%8A`)
      expect(seen.headers['vitrine-reason']).toBe(
        'The option merchant=cc hides the only offer of this product. Its shops: Zizkov ? <b>.',
      )
      expect(seen.text).not.toContain('<b>')
      expect(seen.text.includes('data-vitrine-reason="The option merchant=čċ hides')).toBe(isEmbed(path))
    }
  })

  test('grid without deals - has a reason; a shown grid does not', async () => {
    const harness = await startStockedHarness()
    for (const path of GRIDS) {
      const empty = await fetchPath(harness, `${path}?brand=Nobody`)
      expect(empty.headers['vitrine-reason']).toContain('matches the option brand=Nobody.')
      const shown = await fetchPath(harness, path)
      expect(shown.headers['vitrine-reason']).toBeUndefined()
      expect(shown.text).not.toContain('data-vitrine-reason')
    }
  })
})

describe('frames of failures', () => {
  test('unavailable - may be framed by the site of a known channel', async () => {
    const harness = await startHarness()
    await fetchPath(harness, BOX_EMBED)
    failCatalog(harness)
    const seen = await fetchPath(harness, BOX_EMBED.replace(/\d+$/, '09521234567905'))
    expect(seen.headers['vitrine-state']).toBe('unavailable')
    expect(seen.headers['content-security-policy']).toMatch(
      /frame-ancestors [^;]*https:\/\/magazine\.example/,
    )
  })

  test.each([BOX_EMBED, `${BOX_EMBED}?limit=0`, `${BOX_EMBED}/x`, '/embeds/nothing'])(
    '%s - robots, framing and policy as for other frames',
    async (path) => {
      const seen = await fetchPath(await startStockedHarness(), path)
      expect(seen.headers['x-robots-tag']).toBe('noindex, indexifembedded')
      expect(seen.headers['cross-origin-embedder-policy']).toBe('credentialless')
      expect(seen.headers['x-frame-options']).toBeUndefined()
      const policy = seen.headers['content-security-policy'] ?? ''
      expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'self' https:\/\/widgets\.example/)
      expect(policy).not.toContain('unsafe')
    },
  )

  test.each([
    ['http://127.0.0.1:3000', true],
    ['http://localhost:3000', true],
    ['https://widgets.example', false],
  ])('embedded catalog, public address %s - local pages may frame it: %s', async (publicUrl, mayFrame) => {
    const { context } = await startStockedHarness()
    const config = { ...context.config, catalog: { kind: 'embedded' } as const }
    const app = createApp({ ...context, config, publicUrl })
    const { headers } = await request(app).get(BOX_EMBED)
    expect(headers['content-security-policy']?.includes('http://localhost:* http://127.0.0.1:* file:')).toBe(
      mayFrame,
    )
  })

  test('VITRINE_FRAME_ANCESTORS - its origins are added to the site of the channel', async () => {
    const settings = { VITRINE_FRAME_ANCESTORS: 'https://partner.example' }
    const seen = await fetchPath(await startStockedHarness(undefined, { settings }), BOX_EMBED)
    expect(seen.headers['content-security-policy']).toMatch(
      /frame-ancestors 'self' https:\/\/widgets\.example https:\/\/partner\.example https:\/\/magazine\.example$/,
    )
  })
})

describe('invalid requests', () => {
  const UNKNOWN = '00000000-0000-4000-8000-000000000009'
  const rows: readonly (readonly [path: string, status: number, words: string])[] = [
    [`where-to-buy/1?limit=0`, 400, 'limit'],
    [`deals?sort=random`, 400, 'sort'],
    [`../${UNKNOWN}/deals`, 404, 'not serve a channel with this id'],
    [`../${UNKNOWN}/where-to-buy/1`, 404, 'not serve a channel with this id'],
    [`../not-a-uuid/deals`, 404, 'not serve a channel with this id'],
    [`deal`, 404, 'no such address'],
    [`deals/2`, 404, 'no such address'],
    [``, 404, 'no such address'],
    [`../%zz/deals`, 404, 'no such address'],
    [`../%ff/deals`, 404, 'no such address'],
  ]
  test.each(rows)('/fragments/…/%s - %i, one HTML comment', async (path, status, words) => {
    const harness = await startStockedHarness()
    const seen = await fetchPath(harness, `/fragments/${CHANNEL_ID}/${path}`.replace(`${CHANNEL_ID}/../`, ''))
    expect(seen.status).toBe(status)
    expect(seen.text).toMatch(/^<!-- Vitrine: (?:(?!--).)+ -->$/)
    expect(seen.text).toContain(words)
    expect(seen.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'vitrine-state': 'invalid',
      'cache-control': 'no-store',
    })
    expect(seen.headers['vitrine-error']).toContain(words)
    expect(seen.headers['cache-status']).toMatch(/^vitrine/)
  })

  test.each(rows)('/embeds/…/%s - %i, a short readable page', async (path, status, words) => {
    const harness = await startStockedHarness()
    const seen = await fetchPath(harness, `/embeds/${CHANNEL_ID}/${path}`.replace(`${CHANNEL_ID}/../`, ''))
    expect(seen.status).toBe(status)
    expect(readVisibleText(seen.text)).toContain(words)
    expect(seen.headers).toMatchObject({ 'vitrine-state': 'invalid', 'cache-control': 'no-store' })
  })

  test('error - does not echo the request', async () => {
    const rawOptions = encodeURIComponent('--><script>alert(1)</script>')
    const seen = await fetchPath(await startStockedHarness(), `${BOX}?theme=${rawOptions}&limit=3`)
    expect(seen.status).toBe(400)
    expect(seen.text).not.toContain('script')
  })

  test('channel id in upper case - is the same channel', async () => {
    const seen = await fetchPath(
      await startStockedHarness(),
      BOX.replace(CHANNEL_ID, CHANNEL_ID.toUpperCase()),
    )
    expect(seen.headers['vitrine-state']).toBe('shown')
  })
})

describe('unexpected errors', () => {
  test.each([BOX, BOX_EMBED])('error without a code at %s - nothing; the error is logged', async (path) => {
    const harness = await startStockedHarness()
    const widgets = harness.context.widgets as { getBox: unknown }
    widgets.getBox = () => Promise.reject(new Error('a secret detail'))
    const seen = await fetchPath(harness, path)
    expect(describeResponse(path, seen)).toBe('nothing')
    expect(seen.headers['vitrine-state']).toBe('unavailable')
    expect(`${seen.text}${JSON.stringify(seen.headers)}`).not.toContain('secret detail')
    expect(harness.logs()).toContain('a secret detail')
  })
})
