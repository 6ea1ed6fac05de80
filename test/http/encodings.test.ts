import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chooseEncoding, encodeBody, pickBody } from '../../src/http/response.ts'

describe('Accept-Encoding', () => {
  it.each<[string | undefined, string | null]>([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate', null],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.1', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['gzip, br;q=0.000', 'gzip'],
    ['gzip ; q=0 , br ; Q=0.', null],
    ['br;q=0.001', 'br'],
    ['gzip;q=0', null],
    ['x-gzip', null],
    ['brotli', null],
    ['*', null],
    ['gzip;level=9', 'gzip'],
    [',,;', null],
    ['__proto__', null],
  ])('%s - %s', (header, expected) => {
    expect(chooseEncoding(header)).toBe(expected)
  })
})

describe('bodies', () => {
  it.each(['', 'x', '<p>ü😀</p>'.repeat(2_000)])(
    'any text - the same bytes in every encoding',
    async (text) => {
      const body = await encodeBody(text)
      const [identity, gzip, br] = [body.identity, body.gzip, body.br].map((bytes) =>
        Buffer.from(bytes, 'latin1'),
      ) as [Buffer, Buffer, Buffer]
      expect(identity.toString()).toBe(text)
      expect(gunzipSync(gzip)).toEqual(identity)
      expect(brotliDecompressSync(br)).toEqual(identity)
      expect(pickBody(body, undefined)).toEqual({ encoding: null, body: body.identity })
      expect(pickBody(body, 'gzip')).toEqual({ encoding: 'gzip', body: body.gzip })
      expect(pickBody(body, 'br')).toEqual({ encoding: 'br', body: body.br })
    },
  )
})
