import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { CHANNEL_ID, FAKE_KEY, type FaultHandler, makeWireProduct } from '../helpers/fake-catalog.ts'
import { FAULT_TITLE, type FaultRow, GOOD_BODY, INVALID, TOO_LARGE, succeed, fail } from './matrix.ts'

/** Maximum response size in these tests: small, so that a body exceeds it quickly. */
export const MAX_BYTES: number = 1024 ** 2

const BOMB_BYTES: number = 64 * 1024 ** 2
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

const send =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): FaultHandler =>
  (_request, response) =>
    void response.writeHead(200, headers).end(body)

const encode = (encoding: string, body: string | Buffer): FaultHandler =>
  send(body, { 'content-encoding': encoding })

/** Send a body that never ends, as fast as the client reads it. */
const sendEndlessly =
  (chunk: string | Buffer): FaultHandler =>
  (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    }
    response.writeHead(200).on('drain', more)
    more()
  }

const invalid = (name: string, body: string | Buffer): FaultRow => fail(name, INVALID, send(body))

const NESTED = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
const BAD_UTF8: Buffer = Buffer.from(GOOD_BODY.replace(FAULT_TITLE, `${FAULT_TITLE} \u00ff`), 'latin1')
const DANGEROUS_KEYS = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}'

/** Responses with status 200 whose body exceeds the limit, before or after decompression. */
export const LARGE_FAULTS: readonly FaultRow[] = [
  fail('huge body', TOO_LARGE, send(GOOD_BODY.padEnd(32 * 1024 ** 2, ' '))),
  fail('endless body', TOO_LARGE, sendEndlessly(Buffer.alloc(65_536, 0x20))),
  fail('gzip bomb', TOO_LARGE, encode('gzip', gzipSync(Buffer.alloc(BOMB_BYTES, 0x20)))),
  fail('brotli bomb', TOO_LARGE, encode('br', brotliCompressSync(Buffer.alloc(BOMB_BYTES, 0x20), QUICK))),
]

/** Look-ups with status 200 and an invalid or unusual body. */
export const BODY_FAULTS: readonly FaultRow[] = [
  ...LARGE_FAULTS,
  fail('one byte over the limit', TOO_LARGE, send(GOOD_BODY.padEnd(MAX_BYTES + 1, ' '))),
  succeed('exactly the limit', 'product', send(GOOD_BODY.padEnd(MAX_BYTES, ' '))),
  fail(
    'gzip of one byte over the limit',
    TOO_LARGE,
    encode('gzip', gzipSync(GOOD_BODY.padEnd(MAX_BYTES + 1))),
  ),
  fail('truncated gzip', INVALID, encode('gzip', gzipSync(GOOD_BODY).subarray(0, -9))),
  fail('truncated brotli', INVALID, encode('br', brotliCompressSync(GOOD_BODY).subarray(0, -9))),
  fail('Content-Encoding gzip, body not compressed', INVALID, encode('gzip', GOOD_BODY)),
  fail('Content-Encoding br, body not compressed', INVALID, encode('br', GOOD_BODY)),
  fail('Content-Encoding gzip, empty body', INVALID, encode('gzip', '')),
  fail('gzip body without Content-Encoding', INVALID, send(gzipSync(GOOD_BODY))),
  fail('unknown Content-Encoding', INVALID, encode('zstd', GOOD_BODY)),
  fail('Content-Encoding that is the key', INVALID, encode(FAKE_KEY, GOOD_BODY)),
  fail('gzip twice', INVALID, encode('gzip, gzip', gzipSync(gzipSync(GOOD_BODY)))),
  invalid('HTML', `<!doctype html><title>${FAULT_TITLE}</title>`),
  invalid('empty', ''),
  invalid('truncated JSON', GOOD_BODY.slice(0, -1)),
  invalid('two JSON texts', `${GOOD_BODY}\n${GOOD_BODY}`),
  invalid('null', 'null'),
  invalid('[]', '[]'),
  invalid('{}', '{}'),
  invalid('number', '7'),
  invalid('text', JSON.stringify(FAULT_TITLE)),
  invalid('product in a list', `[${GOOD_BODY}]`),
  invalid('page instead of a product', `{"items":[${GOOD_BODY}],"next_cursor":null}`),
  invalid('error body', '{"error":"down for maintenance"}'),
  invalid('200,000 nested arrays', NESTED),
  invalid('product of another GTIN', JSON.stringify(makeWireProduct({ gtin: '00000000000017' }))),
  invalid('product without a title', GOOD_BODY.replace('"title"', '"name"')),
  invalid('product whose title is blank', GOOD_BODY.replace(FAULT_TITLE, ' \\u200b ')),
  invalid('product whose offers are not a list', GOOD_BODY.replace('"offers":[', '"offers":7,"more":[')),
  invalid('invalid UTF-8', BAD_UTF8),
  invalid('UTF-16', Buffer.from(GOOD_BODY, 'utf16le')),
  invalid('body that echoes the key', `{"error":"${FAKE_KEY} is refused","channel":"${CHANNEL_ID}"}`),
  succeed('header that echoes the key', 'product', (request, response) =>
    response
      .writeHead(200, FAKE_KEY, {
        'x-key': FAKE_KEY,
        etag: `"${request.headers.authorization}"`,
        age: FAKE_KEY,
      })
      .end(GOOD_BODY),
  ),
  succeed('__proto__ keys', 'product', send(GOOD_BODY.replaceAll('{', `{${DANGEROUS_KEYS},`))),
  succeed('byte order mark', 'product', send(`\ufeff${GOOD_BODY}`)),
  succeed('JSON with Content-Type text/html', 'product', send(GOOD_BODY, { 'content-type': 'text/html' })),
  succeed(
    '200,000 nested arrays in an unknown field of a product',
    'product',
    send(GOOD_BODY.replace('{', `{"x":${NESTED},`)),
  ),
]
