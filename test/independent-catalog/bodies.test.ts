import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Freedoms } from './catalog.ts'
import { type Case, GOOD, expectNothing } from './expected.ts'
import { observe } from './observe.ts'

const withHeaders = (headers: Readonly<Record<string, string | null>>): Partial<Freedoms> => ({
  headers: () => headers,
})

const write = (toText: (json: string) => string | Buffer): Partial<Freedoms> => ({
  write: (value) => toText(JSON.stringify(value)),
})

const escapeAll = (json: string): string =>
  json
    .replaceAll('/', String.raw`\/`)
    .replace(/[kmop]/g, (letter) => String.raw`\u00${letter.charCodeAt(0).toString(16)}`)

const NOT_JSON = expectNothing('the response is not JSON in UTF-8', 'channels x4')

/** Section 1: "All bodies are JSON (`application/json`)". */
const TEXTS: readonly Case[] = [
  ['content type with a charset', withHeaders({ 'content-type': 'Application/JSON;charset=UTF-8' })],
  ['content type text/html', withHeaders({ 'content-type': 'text/html; charset=iso-8859-1' })],
  ['no content type', withHeaders({ 'content-type': null })],
  ['byte order mark', write((json) => `\ufeff${json}`)],
  ['spaces and line ends', write((json) => `\n${JSON.stringify(JSON.parse(json), null, '\t')}\r\n`)],
  ['every slash and letter escaped', write(escapeAll)],
  ['UTF-16', write((json) => Buffer.from(`\ufeff${json}`, 'utf16le')), NOT_JSON],
  ['a warning before the JSON', write((json) => `<br />\n<b>Warning</b>: x in y\n${json}`), NOT_JSON],
]

const encode = (name: string, compress: (body: Buffer) => Buffer): Partial<Freedoms> => ({
  encoding: { name, encode: compress },
})

/** Compression is not in the interface, so a catalog may compress without being asked. */
const ENCODINGS: readonly Case[] = [
  ['gzip', encode('gzip', (body) => gzipSync(body))],
  ['gzip in capitals', encode('GZIP', (body) => gzipSync(body))],
  ['x-gzip', encode('x-gzip', (body) => gzipSync(body))],
  [
    'gzip in two members',
    encode('gzip', (body) => Buffer.concat([gzipSync(body.subarray(0, 9)), gzipSync(body.subarray(9))])),
  ],
  ['brotli', encode('br', (body) => brotliCompressSync(body))],
  ['deflate', encode('deflate', (body) => deflateSync(body))],
  ['identity', encode('identity', (body) => body)],
  [
    'gzip that is not',
    encode('gzip', (body) => body),
    expectNothing('the response is not valid gzip data', 'channels x4'),
  ],
]

describe.each<[string, readonly Case[]]>([
  ['text', TEXTS],
  ['encoding', ENCODINGS],
])('%s of another catalog', (_section, cases) => {
  test.each(cases.map((one) => [one[0], one] as const))(
    '%s - right for readers and operators, with the fewest calls',
    async (_name, [, freedoms, expected, setup]) => {
      expect(await observe(freedoms, setup)).toEqual({ ...GOOD, ...expected })
    },
  )
})
