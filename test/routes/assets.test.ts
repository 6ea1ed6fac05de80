import { readFileSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { renderAccentCss } from '../../src/widgets/accent.ts'
import { startHarness, fetchPath } from '../app/app-client.ts'
import { setUpOnce } from '../helpers/cleanup.ts'

const getHarness = setUpOnce(() => startHarness())

const getPaths = (): string[] => {
  const { path } = getHarness().context.assets.get('vitrine.css')
  return ['/embed.js', path, path.replace(/[0-9a-f]{8}/, '00000000')]
}

describe('loader', () => {
  test('/embed.js - cached five minutes, and a day longer during an outage', async () => {
    const seen = await fetchPath(getHarness(), '/embed.js')
    expect(seen.headers['cache-control']).toBe(
      'public, max-age=300, stale-while-revalidate=86400, stale-if-error=86400',
    )
    expect(seen.body.equals(getHarness().context.assets.get('embed.js').bodies.identity)).toBe(true)
  })

  test('/embed.js by hash - is the same script, cached for a year', async () => {
    const {
      path,
      bodies: { identity: body },
    } = getHarness().context.assets.get('embed.js')
    const seen = await fetchPath(getHarness(), path)
    expect(seen.body.equals(body)).toBe(true)
    expect(seen.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
  })
})

describe('encodings', () => {
  test.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', undefined],
    ['deflate', undefined],
  ])('Accept-Encoding: %s - %s with exact length and the same content', async (accepted, encoding) => {
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const path of getPaths()) {
      const whole = (await fetchPath(getHarness(), path)).body
      const seen = await fetchPath(getHarness(), path, { 'Accept-Encoding': accepted })
      expect(seen.headers['content-encoding']).toBe(encoding)
      expect(seen.headers['vary']).toBe('Accept-Encoding')
      expect(seen.body.equals(whole)).toBe(true)
      const asset = getHarness().context.assets.get(path === '/embed.js' ? 'embed.js' : 'vitrine.css')
      const stored = { ...asset.bodies, none: asset.bodies.identity }
      const sent = stored[(encoding ?? 'none') as keyof typeof stored]
      expect(seen.headers['content-length']).toBe(String(sent.length))
      expect(encoding === undefined ? sent : decoders[encoding as 'br' | 'gzip'](sent)).toEqual(whole)
    }
  })
})

describe('validators', () => {
  test('all encodings - share a weak ETag; its 304 has no body and the same lifetime', async () => {
    for (const path of getPaths()) {
      const whole = await fetchPath(getHarness(), path)
      const zipped = await fetchPath(getHarness(), path, { 'Accept-Encoding': 'br' })
      const tag = whole.headers['etag'] ?? ''
      expect(tag).toMatch(/^W\/"[\w-]{22}"$/)
      expect(zipped.headers['etag']).toBe(tag)
      const seen = await fetchPath(getHarness(), path, { 'If-None-Match': tag })
      expect([seen.status, seen.body.length]).toEqual([304, 0])
      expect(seen.headers['cache-control']).toBe(whole.headers['cache-control'])
      expect((await fetchPath(getHarness(), path, { 'If-None-Match': 'W/"other"' })).status).toBe(200)
    }
  })

  test('HEAD - the headers of GET without a body', async () => {
    for (const path of getPaths()) {
      const { headers } = await fetchPath(getHarness(), path)
      const seen = await request(getHarness().app).head(path).set('Accept-Encoding', 'identity')
      expect(seen.status).toBe(200)
      expect(seen.headers['content-length']).toBe(headers['content-length'])
      expect(seen.headers['cache-control']).toBe(headers['cache-control'])
    }
  })
})

describe('other origins', () => {
  test('loader, assets and accents - are readable from all origins, with nosniff', async () => {
    for (const path of [...getPaths(), '/accents/aa00cc.css']) {
      expect((await fetchPath(getHarness(), path)).headers).toMatchObject({
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      })
    }
  })
})

describe('accents', () => {
  test('/accents - the same rules in upper and lower case, cached for a day', async () => {
    const seen = await fetchPath(getHarness(), '/accents/aa00CC.css')
    expect(seen.text).toBe(renderAccentCss('aa00cc'))
    expect(seen.headers['cache-control']).toBe('public, max-age=86400')
    expect(seen.headers['content-length']).toBe(String(seen.body.length))
  })
})

describe('icon', () => {
  test('/favicon.ico - SVG without script, cached for a day', async () => {
    const seen = await fetchPath(getHarness(), '/favicon.ico')
    expect(seen.status).toBe(200)
    expect(seen.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'public, max-age=86400',
    })
    expect(seen.text).toMatch(/^<svg [^>]+>.*<\/svg>$/)
    expect(seen.text).not.toContain('script')
    // The head of the studio's pages has the same drawing.
    const masthead = readFileSync('views/partials/masthead.eta', 'utf8')
    const paths = seen.text.match(/<path [^>]+>/g)
    expect(paths).toHaveLength(2)
    expect(masthead.match(/<path [^>]+>/g)).toEqual(paths)
  })
})

describe('unknown addresses', () => {
  test.each([
    '/assets',
    '/assets/',
    '/assets/vitrine.0000000.css',
    '/assets/a/b',
    '/accents/',
    '/embed.js/x',
  ])('%s - 404, no-store', async (path) => {
    const seen = await fetchPath(getHarness(), path)
    expect([seen.status, seen.headers['cache-control']]).toEqual([404, 'no-store'])
  })

  test('POST - 405 with Allow', async () => {
    for (const path of [...getPaths(), '/accents/aa00cc.css']) {
      const seen = await request(getHarness().app).post(path)
      expect([seen.status, seen.headers['allow']]).toEqual([405, 'GET, HEAD'])
    }
  })
})
