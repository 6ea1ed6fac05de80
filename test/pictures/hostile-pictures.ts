import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import {
  makeGifStart,
  makeJpegStart,
  makePicture,
  makePng,
  makeWebpStart,
  withAvifSize,
} from './picture-bytes.ts'
import { type Handler, redirectTo, sendBody } from './picture-host.ts'

/** A response that must not become a picture. */
export type HostilePicture = Readonly<{
  name: string
  handler: Handler
  /** The failure that the metrics count. */
  failure: string
  /** Only decoding shows that the picture is damaged, so a server without `sharp` passes it through. */
  isDecodingNeeded?: boolean
  /** A server without `sharp` refuses the format before it looks further. */
  isAvif?: boolean
}>

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
const HTML = '<!doctype html><title>x</title><script>alert(1)</script>'
const MEGABYTE = Buffer.alloc(1024 ** 2, 0xff)

const asFormat = (name: string, body: Buffer | string, type = 'image/png'): HostilePicture => ({
  name,
  handler: sendBody(body, { 'content-type': type }),
  failure: 'format',
})

/** Bodies that are no pictures of an accepted format. */
const WRONG_FORMATS: readonly HostilePicture[] = [
  asFormat('HTML', HTML, 'text/html'),
  asFormat('HTML that claims to be a PNG', HTML),
  asFormat('SVG with a script', SVG, 'image/svg+xml'),
  asFormat('SVG that claims to be a PNG', SVG),
  asFormat('SVG with a declaration', `<?xml version="1.0"?>${SVG}`, 'image/svg+xml'),
  asFormat('SVG with a byte order mark', `\ufeff${SVG}`, 'image/svg+xml'),
  asFormat('compressed SVG', gzipSync(SVG), 'image/svg+xml'),
  asFormat('PDF', '%PDF-1.7\n1 0 obj', 'application/pdf'),
  asFormat('BMP', Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]), 'image/bmp'),
  asFormat('TIFF', Buffer.concat([Buffer.from('II*\0\x08\0\0\0', 'latin1'), Buffer.alloc(100)])),
  asFormat('icon', Buffer.from('\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0', 'latin1'), 'image/x-icon'),
  asFormat('JPEG XL', Buffer.from('\xff\x0a\xfa\x1f\x01\x90\x08\x06\x01\0\x48\0', 'latin1'), 'image/jxl'),
  asFormat('JPEG 2000', Buffer.from('\0\0\0\x0cjP  \r\n\x87\n', 'latin1')),
  asFormat('HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'), 'image/heic'),
  asFormat('MP4', Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomavc1', 'latin1'), 'video/mp4'),
  asFormat('zip', Buffer.from('PK\x03\x04\x14\0\0\0\x08\0\0\0', 'latin1')),
  asFormat('text', 'not a picture'),
  asFormat('zeros', Buffer.alloc(1_000)),
  asFormat('one byte', 'G'),
  asFormat('nothing', ''),
]

const asDamaged = (name: string, body: Buffer | string): HostilePicture => ({
  name,
  handler: sendBody(body),
  failure: 'damaged',
})

const asLarge = (name: string, body: Buffer): HostilePicture => ({
  name,
  handler: sendBody(body),
  failure: 'too_many_pixels',
})

function toBroken(bytes: Buffer): Buffer {
  const broken = Buffer.from(bytes)
  return broken.fill(0, bytes.length / 2, bytes.length / 2 + 200)
}

async function makeDamaged(): Promise<readonly HostilePicture[]> {
  const formats = ['jpeg', 'png', 'webp', 'gif', 'avif'] as const
  const pictures = await Promise.all(
    formats.map(async (format) => [format, await makePicture(format)] as const),
  )
  const [, png] = pictures[1] ?? ['png', Buffer.alloc(0)]
  return [
    ...pictures.map(([format, bytes]) => ({
      ...asDamaged(`${format}, first half`, bytes.subarray(0, bytes.length / 2)),
      isDecodingNeeded: format !== 'avif',
      isAvif: format === 'avif',
    })),
    { ...asDamaged('PNG with zeros in its data', toBroken(png)), isDecodingNeeded: true },
    {
      ...asDamaged('GIF start before HTML', Buffer.from(`GIF89a\x01\0\x01\0${HTML}`, 'latin1')),
      isDecodingNeeded: true,
    },
    asDamaged('PNG signature before HTML', Buffer.from(`\x89PNG\r\n\x1a\n${HTML}`, 'latin1')),
    asDamaged('JPEG signature before HTML', Buffer.from(`\xff\xd8\xff${HTML}`, 'latin1')),
    asDamaged('WebP signature before HTML', `RIFF\0\0\0\0WEBP${HTML}`),
    { ...asDamaged('AVIF signature before HTML', `\0\0\0\x1cftypavif${HTML}`), isAvif: true },
    asDamaged('PNG without width', makePng(8, 8, { width: 0, height: 8 })),
    asDamaged('GIF without size', makeGifStart(0, 0)),
  ]
}

async function makeBombs(): Promise<readonly HostilePicture[]> {
  const avif = await makePicture('avif')
  return [
    asLarge('PNG of 60,000 pixels square, tiny', makePng(8, 8, { width: 60_000, height: 60_000 })),
    asLarge('PNG of 2^31 pixels wide', makePng(8, 8, { width: 2_147_483_647, height: 1 })),
    asLarge('PNG just above the limit, complete', makePng(8_000, 5_001)),
    asLarge('JPEG of 65,500 pixels square', makeJpegStart(65_500, 65_500)),
    asLarge('GIF of 65,535 pixels square', makeGifStart(65_535, 65_535)),
    asLarge('WebP of 16,384 pixels square, lossless', makeWebpStart('VP8L', 16_384)),
    asLarge('WebP of 16,777,216 pixels square, extended', makeWebpStart('VP8X', 16_777_216)),
    { ...asLarge('AVIF of 65,535 pixels square', withAvifSize(avif, 65_535)), isAvif: true },
    { ...asLarge('AVIF of 2,829 pixels square', withAvifSize(avif, 2_829)), isAvif: true },
    {
      name: 'body compressed with gzip, a bomb',
      handler: sendBody(gzipSync(Buffer.alloc(64 * 1024 ** 2)), { 'content-encoding': 'gzip' }),
      failure: 'format',
    },
    {
      name: 'body compressed with Brotli',
      handler: sendBody(brotliCompressSync(makePng(8, 8)), { 'content-encoding': 'br' }),
      failure: 'format',
    },
  ]
}

/** Write a megabyte whenever the connection accepts more, without an end. */
const sendEndlessly: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/jpeg' })
  const write = (): void => {
    while (!response.destroyed && response.write(MEGABYTE));
  }
  response.on('drain', write)
  write()
}

const sendStatus =
  (status: number, body?: Buffer): Handler =>
  (_request, response) =>
    void response.writeHead(status).end(body)

/** Write bytes to the connection itself, then close it. */
const sendRaw = (text: string): Handler => {
  return ({ socket }) => void socket.end(text, 'latin1')
}

const asFailure = (name: string, failure: string, handler: Handler): HostilePicture => ({
  name,
  failure,
  handler,
})

function makeBadResponses(png: Buffer): readonly HostilePicture[] {
  const start = png.toString('latin1', 0, 40)
  return [
    asFailure('204', 'status', sendStatus(204)),
    asFailure('206 with a picture', 'status', sendStatus(206, png)),
    asFailure('304 that nobody asked for', 'status', sendStatus(304)),
    asFailure('401', 'status', sendStatus(401)),
    asFailure('404 with a picture', 'status', sendStatus(404, png)),
    asFailure('410', 'status', sendStatus(410)),
    asFailure('429', 'status', sendStatus(429)),
    asFailure('500 with a picture', 'status', sendStatus(500, png)),
    asFailure('503', 'status', sendStatus(503)),
    asFailure('length above the limit', 'too_large', (_request, response: ServerResponse) => {
      response.writeHead(200, { 'content-length': 6 * 1024 ** 2 }).write(png)
    }),
    asFailure('one byte above the limit', 'too_large', sendBody(Buffer.alloc(5 * 1024 ** 2 + 1, png))),
    asFailure('endless body', 'too_large', sendEndlessly),
    asFailure(
      'length larger than the body',
      'unreachable',
      sendRaw(`HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n${start}`),
    ),
    asFailure(
      'chunk that ends early',
      'unreachable',
      sendRaw(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n${start}`),
    ),
    asFailure(
      'two lengths',
      'unreachable',
      sendRaw(`HTTP/1.1 200 OK\r\ncontent-length: 40\r\ncontent-length: 9\r\n\r\n${start}`),
    ),
    asFailure('no HTTP', 'unreachable', sendRaw('SSH-2.0-OpenSSH_9.2\r\n')),
    asFailure(
      'endless headers',
      'unreachable',
      sendRaw(`HTTP/1.1 200 OK\r\n${'x-filler: 1234567890\r\n'.repeat(5_000)}\r\n`),
    ),
    asFailure('reset at once', 'unreachable', ({ socket }) => void socket.destroy()),
    asFailure('reset in the body', 'unreachable', ({ socket }, response) => {
      response.writeHead(200).write(start, () => socket.destroy())
    }),
  ]
}

/** Targets that a redirect must not reach. `{port}`: of the server that plays the public host. */
const PRIVATE_TARGETS = [
  'http://pictures.example/plain.png',
  'http://127.0.0.1:{port}/secret',
  'https://127.0.0.1:{port}/secret',
  'https://127.1:{port}/secret',
  'https://2130706433:{port}/secret',
  'https://0177.0.0.1:{port}/secret',
  'https://0x7f.0.0.1:{port}/secret',
  'https://0x7f000001:{port}/secret',
  'https://127.0.0.1.:{port}/secret',
  'https://①②⑦.0.0.1:{port}/secret',
  'https://0.0.0.0:{port}/secret',
  'https://0:{port}/secret',
  'https://[::1]:{port}/secret',
  'https://[::]:{port}/secret',
  'https://[::ffff:127.0.0.1]:{port}/secret',
  'https://[::ffff:7f00:1]:{port}/secret',
  'https://[::127.0.0.1]:{port}/secret',
  'https://[64:ff9b::7f00:1]:{port}/secret',
  'https://[2002:7f00:1::]:{port}/secret',
  'https://[2001:0:7f00:1::]:{port}/secret',
  'https://[fe80::1]:{port}/secret',
  'https://[fec0::1]:{port}/secret',
  'https://[fd00::1]:{port}/secret',
  'https://[ff02::1]:{port}/secret',
  'https://10.0.0.1:{port}/secret',
  'https://100.64.0.1:{port}/secret',
  'https://169.254.169.254/latest/meta-data/',
  'https://172.16.0.1:{port}/secret',
  'https://192.168.0.1:{port}/secret',
  'https://224.0.0.1:{port}/secret',
  'https://255.255.255.255:{port}/secret',
  'https://localhost:{port}/secret',
  'https://LOCALHOST.:{port}/secret',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://printer.local:{port}/secret',
  'https://router:{port}/secret',
  'https://pictures.example/secret',
  'https://pictures.example:22/secret',
  'https://user:password@pictures.example:{port}/secret',
  'https://user@pictures.example:{port}/secret',
  '//127.0.0.1:{port}/secret',
  '\\\\127.0.0.1:{port}\\secret',
  'data:image/png;base64,iVBORw0KGgo=',
  'file:///etc/passwd',
  'ftp://pictures.example/a.png',
  'javascript:alert(1)',
  'https://',
]

/** Make all responses. `port`: of the server that plays the public host. */
export async function makeHostilePictures(port: number): Promise<readonly HostilePicture[]> {
  return [
    ...WRONG_FORMATS,
    ...(await makeDamaged()),
    ...(await makeBombs()),
    ...makeBadResponses(await makePicture('png')),
    ...PRIVATE_TARGETS.map((target) =>
      asFailure(
        `redirect to ${target}`,
        'private_address',
        redirectTo(target.replace('{port}', String(port))),
      ),
    ),
    asFailure('redirect without a target', 'private_address', sendStatus(302)),
    asFailure('redirect to itself', 'redirects', redirectTo('')),
    asFailure('redirect to two pages in turn', 'redirects', (request, response) => {
      const location = request.url?.endsWith('?b') ? '?a' : '?b'
      response.writeHead(307, { location }).end()
    }),
  ]
}
