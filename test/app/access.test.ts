import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createDemo } from '../../src/catalog-service/sample/sample-data.ts'
import type { Demo } from '../../src/context.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'

const PUBLIC_URL = 'https://widgets.example'
const PICTURE_NAME = 'headphones-1.webp'
const PAGES = [
  '/studio',
  '/studio?tab=deals',
  '/studio?tab=health',
  '/studio?tab=coverage',
  `/studio/sentence?channel=${CHANNEL_ID}&gtin=09521234567899`,
  '/studio/gallery',
  '/metrics',
  '/events.atom',
  '/',
]

/** The demo as `serve` creates it, without its catalog. */
const SAMPLE = createDemo(PUBLIC_URL, {
  readCatalogContent: (): ReturnType<Demo['readCatalogContent']> => Promise.resolve('sample'),
  readFeeds: () => Promise.resolve({ feeds: [], warnings: [] }),
})
const DEMO: Demo = { ...SAMPLE, showcase: { channelId: CHANNEL_ID, gtin: '09521234567899' } }

/** Start a harness with the settings of an embedded catalog. Its data still come from the fake catalog. */
async function startDemo(settings: Record<string, string> = {}): Promise<Harness> {
  const harness = await startStockedHarness([makeProductOnSale()], { over: { demo: DEMO } })
  const { context } = harness
  const config = {
    ...context.config,
    catalog: { kind: 'embedded' } as const,
    host: settings['VITRINE_HOST'] ?? context.config.host,
  }
  return { ...harness, app: createApp({ ...context, config }) }
}

const ping = (): Promise<void> => Promise.reject(new Error('broken'))

const basic = (user: string, password: string): Record<string, string> => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})

describe('studio and metrics without a password', () => {
  test('embedded catalog on loopback - open', async () => {
    const harness = await startDemo()
    const statuses = await Promise.all(PAGES.map(async (path) => (await fetchPath(harness, path)).status))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 302])
    expect((await fetchPath(harness, '/')).headers['location']).toBe(`${PUBLIC_URL}/studio`)
    expect(readVisibleText((await fetchPath(harness, '/studio')).text)).toContain('Lumen Arc desk lamp')
  })

  test.each(['localhost', '::1', '127.0.0.2'])('embedded catalog on %s - open', async (host) => {
    expect((await fetchPath(await startDemo({ VITRINE_HOST: host }), '/studio')).status).toBe(200)
  })

  test.each(['0.0.0.0', '::', '192.168.0.1', '127.evil.example'])(
    'embedded catalog on %s - closed',
    async (host) => {
      const harness = await startDemo({ VITRINE_HOST: host })
      for (const path of PAGES) expect((await fetchPath(harness, path)).status).toBe(404)
    },
  )

  test('remote catalog - closed', async () => {
    const harness = await startStockedHarness()
    for (const path of PAGES) expect((await fetchPath(harness, path)).status).toBe(404)
  })

  test.each(['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP', 'Via'])(
    'request with the proxy header %s - closed',
    async (name) => {
      const harness = await startDemo()
      for (const path of PAGES) expect((await fetchPath(harness, path, { [name]: 'x' })).status).toBe(404)
    },
  )

  test.each([
    'evil.example',
    'evil.example:3000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'a b',
    'widgets.example',
  ])('request for the foreign host name %s - closed', async (host) => {
    const harness = await startDemo()
    for (const path of PAGES) expect((await fetchPath(harness, path, { Host: host })).status).toBe(404)
  })

  test.each(['localhost', 'localhost:3000', '127.0.0.1:3000', '[::1]:3000'])(
    'request for the host %s - open',
    async (host) => {
      expect((await fetchPath(await startDemo(), '/studio', { Host: host })).status).toBe(200)
    },
  )

  test('unknown address - links to the studio only where it is open without a password', async () => {
    const demo = await startDemo()
    const host = 'localhost:4000'
    expect((await fetchPath(demo, '/nothing', { Host: host })).text).toContain(
      '<a href="http://localhost:4000/studio">Open the studio</a>',
    )
    const settings = { VITRINE_ADMIN_PASSWORD: 'correct-horse' }
    const others = [
      await fetchPath(demo, '/nothing', { Host: host, 'X-Forwarded-For': '203.0.113.1' }),
      await fetchPath(demo, '/nothing', { Host: 'evil.example' }),
      await fetchPath(await startStockedHarness(), '/nothing', { Host: host }),
      await fetchPath(await startStockedHarness(undefined, { settings }), '/nothing', { Host: host }),
    ]
    for (const { status, text } of others) {
      expect(status).toBe(404)
      expect(text).not.toContain('Open the studio')
    }
  })

  test('closed page - looks like an unknown address', async () => {
    const harness = await startStockedHarness()
    const closed = await fetchPath(harness, '/studio')
    const nothing = await fetchPath(harness, '/nothing')
    expect(closed.text).toBe(nothing.text)
    expect(closed.headers['www-authenticate']).toBeUndefined()
  })
})

describe('studio and metrics with a password', () => {
  const settings = { VITRINE_ADMIN_PASSWORD: 'correct-horse' }

  test.each(PAGES.filter((path) => path !== '/'))(
    '%s - missing or wrong password: 401 with a challenge; correct password: 200',
    async (path) => {
      const harness = await startStockedHarness(undefined, { settings })
      const invalidHeaders = [
        {},
        basic('admin', 'wrong'),
        basic('admin', ''),
        basic('root', 'correct-horse'),
        { Authorization: 'Bearer correct-horse' },
        { Authorization: 'Basic' },
      ]
      for (const headers of invalidHeaders) {
        const seen = await fetchPath(harness, path, headers)
        expect(seen.status).toBe(401)
        expect(seen.headers['www-authenticate']).toMatch(/^Basic realm=/)
        expect(seen.text).not.toContain('correct-horse')
      }
      expect((await fetchPath(harness, path, basic('admin', 'correct-horse'))).status).toBe(200)
    },
  )

  test('request through a proxy - the password works', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    const headers = { ...basic('admin', 'correct-horse'), 'X-Forwarded-For': '1.2.3.4' }
    expect((await fetchPath(harness, '/studio', headers)).status).toBe(200)
  })

  test('ten wrong passwords from one address - 429, also for the correct one', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    for (let tries = 0; tries < 10; tries += 1)
      expect((await fetchPath(harness, '/studio', basic('admin', `guess${tries}`))).status).toBe(401)
    const seen = await fetchPath(harness, '/studio', basic('admin', 'correct-horse'))
    expect(seen.status).toBe(429)
    expect(Number(seen.headers['retry-after'])).toBeGreaterThan(0)
    expect((await fetchPath(harness, BOX)).status).toBe(200)
  })

  test('correct passwords - do not count towards the limit', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    for (let visits = 0; visits < 15; visits += 1)
      expect((await fetchPath(harness, '/metrics', basic('admin', 'correct-horse'))).status).toBe(200)
  })
})

/** The port in an address of this machine. */
const PORT = /(?<=127\.0\.0\.1):\d+/g

describe('studio', () => {
  test('page - is compressed, is not stored and may not be framed', async () => {
    const harness = await startDemo()
    const plain = await fetchPath(harness, '/studio')
    const { headers } = plain
    expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Accept-Encoding' })
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    for (const encoding of ['br', 'gzip']) {
      const seen = await fetchPath(harness, '/studio', { 'Accept-Encoding': encoding })
      expect(seen.headers['content-encoding']).toBe(encoding)
      expect(Number(seen.headers['content-length'])).toBeLessThan(plain.body.length / 2)
      // Each request uses a different port, which is part of the address to share.
      expect(seen.text.replaceAll(PORT, '')).toBe(plain.text.replaceAll(PORT, ''))
    }
  })

  test('catalog down before the first walk - the page reports it', async () => {
    const harness = await startHarness({ settings: { VITRINE_ADMIN_PASSWORD: 'p' } })
    harness.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(500).end(),
    }
    const seen = await fetchPath(harness, '/studio', basic('admin', 'p'))
    expect(seen.status).toBe(200)
    expect(readVisibleText(seen.text)).toContain('No channel is known: ')
  })
})

describe('health', () => {
  test('/healthz - 200 and no-store, regardless of the state of the catalog', async () => {
    const harness = await startHarness()
    harness.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(500).end(),
    }
    const seen = await fetchPath(harness, '/healthz')
    expect(seen).toMatchObject({ status: 200, text: '{"status":"ok"}' })
    expect(seen.headers['cache-control']).toBe('no-store')
  })

  test('/readyz - 503 until the catalog has responded once, then 200', async () => {
    const harness = await startHarness()
    const fault = {
      pathPattern: /./,
      respond: (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
        response.writeHead(500).end(),
    }
    harness.catalog.fault = fault
    expect((await fetchPath(harness, '/readyz')).status).toBe(503)
    harness.catalog.fault = null
    harness.clock.advance(10_000)
    expect((await fetchPath(harness, '/readyz')).status).toBe(200)
    harness.catalog.fault = fault
    harness.clock.advance(1_000_000)
    expect((await fetchPath(harness, '/readyz')).status).toBe(200)
  })

  test('/readyz - 503 while stopping, and when the store cannot be read', async () => {
    const harness = await startHarness()
    const stopping = createApp(harness.context, () => true)
    expect((await fetchPath({ app: stopping }, '/readyz')).text).toContain('stopping')
    const broken = createApp({ ...harness.context, store: { ...harness.context.store, ping } })
    const seen = await fetchPath({ app: broken }, '/readyz')
    expect([seen.status, seen.text]).toEqual([503, expect.stringContaining('stored copy cannot be read')])
  })

  test('/metrics - Prometheus text that counts responses by closed labels', async () => {
    const harness = await startDemo()
    await fetchPath(harness, BOX)
    await fetchPath(harness, `${BOX}?limit=0`)
    const seen = await fetchPath(harness, '/metrics')
    expect(seen.headers['content-type']).toMatch(/^text\/plain; version=/)
    expect(seen.text).toMatch(/surface="fragment where-to-buy",state="shown",cache="hit"\} 1/)
    expect(seen.text).toMatch(/state="invalid"/)
    expect(seen.text).not.toContain('09521234567899')
  })
})

describe('demo', () => {
  test('/demo/pictures - only the sample pictures', async () => {
    const harness = await startDemo()
    const seen = await fetchPath(harness, `/demo/pictures/${PICTURE_NAME}`)
    expect(seen.headers).toMatchObject({
      'content-type': expect.stringMatching(/^image\/webp$/) as string,
    })
    expect(seen.headers['content-security-policy']).toContain('sandbox')
    for (const other of ['nothing.webp', '..%2f..%2fpackage.json', `${PICTURE_NAME}x`])
      expect((await fetchPath(harness, `/demo/pictures/${other}`)).status).toBe(404)
  })

  test('/demo/shop - shows the product and the tracking parameters of the link, escaped', async () => {
    const harness = await startDemo()
    const url = `https://novabrueck.example/p/${SAMPLE.showcase.gtin}`
    const query = new URLSearchParams({ url, 'click<b>': '<script>alert(1)</script>' }).toString()
    const seen = await fetchPath(harness, `/demo/shop?${query}`)
    expect(seen.status).toBe(200)
    expect(readVisibleText(seen.text)).toContain('Sonderby Arne 2 Wireless Over-Ear Headphones, Sand')
    expect(readVisibleText(seen.text)).toContain('<script>alert(1)</script>')
    expect(seen.text).not.toContain('<script>')
    const unknown = await fetchPath(harness, '/demo/shop?url=https://evil.example/')
    expect(readVisibleText(unknown.text)).toContain('Nothing is listed here')
    expect(unknown.headers['location']).toBeUndefined()
  })

  test('remote catalog - has no demo', async () => {
    const harness = await startStockedHarness()
    expect((await fetchPath(harness, '/demo/shop')).status).toBe(404)
    expect((await fetchPath(harness, `/demo/pictures/${PICTURE_NAME}`)).status).toBe(404)
  })
})

describe('assets', () => {
  test('/embed.js - script for other origins, briefly cached and compressed', async () => {
    const harness = await startHarness()
    const seen = await fetchPath(harness, '/embed.js')
    expect(seen.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      vary: 'Accept-Encoding',
    })
    expect(seen.headers['cache-control']).toMatch(/^public, max-age=300,/)
    const tag = seen.headers['etag'] ?? ''
    expect((await fetchPath(harness, '/embed.js', { 'If-None-Match': tag })).status).toBe(304)
    const zipped = await request(harness.app).get('/embed.js').set('Accept-Encoding', 'br')
    expect(zipped.headers['content-encoding']).toBe('br')
  })

  test.each(['vitrine.css', 'frame.js', 'studio.css', 'studio.js'] as const)(
    '%s - cached for a year at its current hash, briefly at an old one',
    async (name) => {
      const harness = await startHarness()
      const asset = harness.context.assets.get(name)
      const current = await fetchPath(harness, asset.path)
      expect(current.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      const old = await fetchPath(harness, asset.path.replace(/[0-9a-f]{8}/, '00000000'))
      expect(old.headers['cache-control']).toBe('public, max-age=300')
      expect(old.body.equals(current.body)).toBe(true)
    },
  )

  test.each([
    'nothing.00000000.css',
    'vitrine.css',
    'manifest.json',
    '..%2f..%2fpackage.json',
    'vitrine.00000000.js',
  ])('/assets/%s - 404', async (file) => {
    expect((await fetchPath(await startHarness(), `/assets/${file}`)).status).toBe(404)
  })

  test('/accents - CSS rules of the colour; invalid names: 404', async () => {
    const harness = await startHarness()
    const seen = await fetchPath(harness, '/accents/AA00cc.css')
    expect(seen.headers['content-type']).toBe('text/css; charset=utf-8')
    expect(seen.text).toContain('.vitrine[data-accent="aa00cc"]')
    for (const file of ['red.css', 'aa00c.css', 'aa00ccc.css', 'aa00cc', 'aa00cc.js', '%7B%7D0000.css'])
      expect((await fetchPath(harness, `/accents/${file}`)).status).toBe(404)
  })
})
