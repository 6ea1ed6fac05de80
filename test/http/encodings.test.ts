import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chooseEncoding, encodeBody, pickBody } from '../../src/http/encodings.ts'

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
      expect(body.identity.toString()).toBe(text)
      expect(gunzipSync(body.gzip)).toEqual(body.identity)
      expect(brotliDecompressSync(body.brotli)).toEqual(body.identity)
      expect(pickBody(body, null)).toBe(body.identity)
      expect(pickBody(body, 'gzip')).toBe(body.gzip)
      expect(pickBody(body, 'br')).toBe(body.brotli)
    },
  )
})
