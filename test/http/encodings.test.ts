import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  chooseEncoding,
  compress,
  compressNow,
  expand,
  expandNow,
  pickBody,
  toUtf8ByteString,
} from '../../src/http/response.ts'

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

const DECOMPRESS = { br: brotliDecompressSync, gzip: gunzipSync }

describe('bodies', () => {
  it.each(['', 'x', '<p>ü😀</p>'.repeat(2_000)])(
    'any text - the same bytes in every encoding',
    async (text) => {
      const bytes = toUtf8ByteString(text)
      for (const encoding of ['br', 'gzip'] as const) {
        for (const compressed of [
          await compress(bytes, encoding),
          await compress(bytes, encoding, true),
          compressNow(Buffer.from(text), encoding),
        ]) {
          expect(DECOMPRESS[encoding](compressed).toString()).toBe(text)
          expect((await expand(compressed, encoding)).toString()).toBe(text)
          expect(expandNow(compressed, encoding).toString()).toBe(text)
        }
      }
    },
  )

  it.each([
    [undefined, null, 'identity'],
    ['gzip', 'gzip', 'gzip'],
    ['gzip, br', 'br', 'br'],
  ] as const)('Accept-Encoding %s - encoding %s', (accepted, encoding, name) => {
    const bodies = { identity: Buffer.from('i'), gzip: Buffer.from('g'), br: Buffer.from('b') }
    expect(pickBody(bodies, accepted)).toEqual({ encoding, body: bodies[name] })
  })
})
