import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import * as fc from 'fast-check'
import request from 'supertest'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  startHarness,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const HIDDEN = `${BOX}?merchant=nobody`
const INVALID = `/fragments/${CHANNEL_ID}/where-to-buy/abc`
const INVALID_OPTION = `${BOX}?limit=0`

/** Headers that would change the response of a server that includes the fragment. */
const FORBIDDEN = new Set([
  'vary',
  'last-modified',
  'set-cookie',
  'content-encoding',
  'transfer-encoding',
  'location',
  'accept-ranges',
  'x-powered-by',
  'x-frame-options',
  'strict-transport-security',
])

/** Headers that browsers, proxies and includes send. */
const headers = fc.record(
  {
    accept: fc.constantFrom('*/*', 'text/html', 'application/json', 'image/webp'),
    'accept-encoding': fc.constantFrom('identity', 'gzip', 'br, gzip', '*;q=0', 'zstd'),
    'accept-language': fc.constantFrom('de', 'ar, en;q=0.1', '*'),
    range: fc.constantFrom('bytes=0-9', 'bytes=-1', 'bytes=9999999-', 'lines=1'),
    'if-range': fc.constantFrom('"x"', 'Sat, 21 Nov 2026 12:00:00 GMT'),
    'if-modified-since': fc.constantFrom('Sat, 21 Nov 2099 12:00:00 GMT', 'rubbish'),
    'if-unmodified-since': fc.constantFrom('Sat, 21 Nov 1999 12:00:00 GMT'),
    'if-match': fc.constantFrom('"x"', '*'),
    'if-none-match': fc.constantFrom('"x"', 'W/"x"', ''),
    cookie: fc.constantFrom('a=b', 'theme=dark; locale=de'),
    referer: fc.constantFrom('https://evil.example/', 'rubbish'),
    origin: fc.constantFrom('https://evil.example', 'null'),
    host: fc.constantFrom('evil.example', 'widgets.example:1', '127.0.0.1'),
    'x-forwarded-host': fc.constantFrom('evil.example'),
    'x-forwarded-proto': fc.constantFrom('http', 'https'),
    'x-forwarded-for': fc.constantFrom('1.2.3.4, 5.6.7.8'),
    forwarded: fc.constantFrom('for=1.2.3.4;host=evil.example'),
    'x-http-method-override': fc.constantFrom('DELETE'),
    'surrogate-capability': fc.constantFrom('key="ESI/1.0"'),
    'cache-control': fc.constantFrom('no-cache', 'max-age=0', 'only-if-cached'),
    pragma: fc.constantFrom('no-cache'),
    authorization: fc.constantFrom('Basic YTpi', 'Bearer x'),
    'user-agent': fc.constantFrom('', 'Googlebot', 'curl/8', 'Mozilla/5.0 (iPhone)'),
    'sec-fetch-dest': fc.constantFrom('iframe', 'document', 'script'),
    'sec-fetch-site': fc.constantFrom('cross-site'),
    'save-data': fc.constantFrom('on'),
    dnt: fc.constantFrom('1'),
  },
  { requiredKeys: [] },
)

const fill = (length: number): string => `${BOX}?x=`.padEnd(length, 'x')

/** The parts of a response that a page with the fragment depends on. */
async function readWhole(harness: Harness, path: string, sent: Record<string, string>): Promise<unknown> {
  const seen = await fetchPath(harness, path, sent)
  const { date: _, connection: __, 'keep-alive': ___, ...rest } = seen.headers
  return { status: seen.status, rest, body: seen.body.toString('base64') }
}

describe('fragments', () => {
  test.each([BOX, GRID, HIDDEN, INVALID, INVALID_OPTION, '/fragments/nothing'])(
    '%s, any request headers - the same bytes and the same headers',
    async (path) => {
      const harness = await startStockedHarness()
      const plain = await readWhole(harness, path, {})
      await fc.assert(
        fc.asyncProperty(headers, async (sent) => {
          const given = Object.entries(sent).filter(([, value]) => value !== undefined)
          expect(await readWhole(harness, path, Object.fromEntries(given))).toEqual(plain)
        }),
        { numRuns: toRunCount(60) },
      )
    },
  )

  test.each([BOX, GRID, HIDDEN, INVALID, INVALID_OPTION, '/fragments/nothing'])(
    '%s - exact length, and no header depends on the visitor',
    async (path) => {
      const seen = await fetchPath(await startStockedHarness(), path, { 'Accept-Encoding': 'br, gzip' })
      expect(Object.keys(seen.headers).filter((name) => FORBIDDEN.has(name))).toEqual([])
      expect(seen.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-length': String(seen.body.length),
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      })
      expect(seen.text).toMatch(/^(?:<|$)/)
      expect(seen.text).not.toMatch(/<\?|<!--#|<esi:|<!doctype|<html|<head|<body|\sstyle=|<style/i)
    },
  )

  test.each(['1.0', '1.1'])('HTTP/%s - not chunked, with Content-Length', async (version) => {
    const harness = await startStockedHarness()
    const server = createServer(harness.app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('utf8')))
    socket.write(`GET ${BOX} HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`)
    await once(socket, 'close')
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(head).not.toMatch(/transfer-encoding/i)
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`)
    expect(body).toMatch(/^<section.*<\/section>$/s)
  })
})

describe('methods', () => {
  test.each([BOX, GRID, BOX_EMBED, GRID_EMBED, INVALID, INVALID_OPTION, '/healthz', '/embed.js'])(
    'HEAD %s - the headers of GET without a body',
    async (path) => {
      const { app } = await startStockedHarness()
      const get = await fetchPath({ app }, path)
      const head = await request(app).head(path).set('Accept-Encoding', 'identity')
      const { date: _, ...getHeaders } = get.headers
      const { date: __, ...headHeaders } = head.headers as Record<string, string>
      expect(head.status).toBe(get.status)
      expect(headHeaders).toEqual(getHeaders)
      expect(head.text ?? '').toBe('')
    },
  )

  test.each(['post', 'put', 'delete', 'patch', 'options'] as const)(
    '%s - 405 with Allow on every path',
    async (method) => {
      const harness = await startHarness()
      for (const path of [BOX, GRID_EMBED, '/studio', '/healthz', '/nothing']) {
        const received = await request(harness.app)[method](path)
        expect(received.status).toBe(405)
        expect(received.headers['allow']).toBe('GET, HEAD')
        expect(received.headers).toMatchObject({
          'vitrine-state': 'invalid',
          'cache-status': 'vitrine; fwd=miss; detail=invalid',
          'x-content-type-options': 'nosniff',
        })
        expect(received.headers['access-control-allow-origin']).toBe(path === BOX ? '*' : undefined)
        expect(received.text.startsWith('<!-- Vitrine: ')).toBe(path === BOX)
      }
      expect(harness.catalog.calls).toEqual([])
    },
  )

  test('address of 8,000 characters - 200; a longer one: 414', async () => {
    const harness = await startStockedHarness()
    expect((await fetchPath(harness, fill(8_000))).status).toBe(200)
    const tooLong = await fetchPath(harness, fill(8_001))
    expect(tooLong.status).toBe(414)
    expect(tooLong.headers['vitrine-state']).toBe('invalid')
    expect(tooLong.text).toMatch(/^<!-- Vitrine: .+ -->$/)
  })
})

describe('frames', () => {
  test.each([BOX_EMBED, GRID_EMBED])(
    '%s - compressed as the browser accepts, with one ETag',
    async (path) => {
      const harness = await startStockedHarness()
      const plain = await fetchPath(harness, path)
      for (const [accepted, encoding] of [
        ['gzip, deflate, br, zstd', 'br'],
        ['gzip', 'gzip'],
        ['br;q=0, gzip', 'gzip'],
      ] as const) {
        const seen = await fetchPath(harness, path, { 'Accept-Encoding': accepted })
        expect(seen.headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' })
        expect(seen.headers['etag']).toBe(plain.headers['etag'])
        expect(Number(seen.headers['content-length'])).toBeLessThan(plain.body.length)
        // The HTTP client has decompressed the body.
        expect(seen.body.equals(plain.body)).toBe(true)
      }
      expect(plain.headers['vary']).toBe('Accept-Encoding')
      expect(plain.headers['content-encoding']).toBeUndefined()
    },
  )
})
