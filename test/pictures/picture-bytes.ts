import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'

/** Make a picture in a format that sharp writes: noise, so that its size grows with its area. */
export function makePicture(
  format: 'jpeg' | 'png' | 'webp' | 'gif' | 'avif',
  { width = 400, height = 300 }: Readonly<{ width?: number; height?: number }> = {},
): Promise<Buffer> {
  const channels = 3
  const pixels = Buffer.alloc(width * height * channels)
  for (let index = 0, state = 1; index < pixels.length; index += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    pixels[index] = 90 + ((index / channels) % width) / 8 + (state >> 24) / 8
  }
  return sharp(pixels, { raw: { width, height, channels } }).toFormat(format).toBuffer()
}

/** Make a black PNG with one bit a pixel. `declared`: other dimensions in its header. */
export function makePng(
  width: number,
  height: number,
  declared: Readonly<{ width: number; height: number }> = { width, height },
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(declared.width, 0)
  header.writeUInt32BE(declared.height, 4)
  header.set([1, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc(height * (1 + Math.ceil(width / 8)))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    makeChunk('IHDR', header),
    makeChunk('IDAT', deflateSync(rows, { level: 9 })),
    makeChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Make a chunk of a PNG. */
export function makeChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  const chunk = Buffer.alloc(data.length + 12)
  chunk.writeUInt32BE(data.length, 0)
  chunk.set(content, 4)
  chunk.writeUInt32BE(crc32(content), data.length + 8)
  return chunk
}

/** Make the start of a GIF with the given screen. */
export function makeGifStart(width: number, height: number): Buffer {
  const bytes = Buffer.from(
    'GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\0\0\0\0\0\x02\x02D\x01\0;',
    'latin1',
  )
  for (const position of [6, 24]) bytes.writeUInt16LE(width, position)
  for (const position of [8, 26]) bytes.writeUInt16LE(height, position)
  return bytes
}

/** Make the start of a JPEG with the given dimensions. */
export function makeJpegStart(width: number, height: number): Buffer {
  const frame = Buffer.from(
    '\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08',
    'latin1',
  )
  const rest = Buffer.from(
    '\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0',
    'latin1',
  )
  const size = Buffer.alloc(4)
  size.writeUInt16BE(height, 0)
  size.writeUInt16BE(width, 2)
  return Buffer.concat([frame, size, rest, Buffer.alloc(64, 0xaa), Buffer.from([0xff, 0xd9])])
}

/** Make the start of a WebP with the given canvas: lossless, or extended. */
export function makeWebpStart(kind: 'VP8L' | 'VP8X', side: number): Buffer {
  const data = Buffer.alloc(kind === 'VP8L' ? 6 : 10)
  if (kind === 'VP8L') {
    data[0] = 0x2f
    data.writeUInt32LE(((side - 1) | ((side - 1) << 14)) >>> 0, 1)
  } else {
    data.writeUIntLE(side - 1, 4, 3)
    data.writeUIntLE(side - 1, 7, 3)
  }
  const bytes = Buffer.alloc(20 + data.length)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write(`WEBP${kind}`, 8, 'latin1')
  bytes.writeUInt32LE(data.length, 16)
  bytes.set(data, 20)
  return bytes
}

/** Change the dimensions in the headers of an AVIF. */
export function withAvifSize(avif: Buffer, side: number): Buffer {
  const bytes = Buffer.from(avif)
  for (let at = bytes.indexOf('ispe'); at >= 0; at = bytes.indexOf('ispe', at + 1)) {
    bytes.writeUInt32BE(side, at + 8)
    bytes.writeUInt32BE(side, at + 12)
  }
  return bytes
}

/** Make a box of an AVIF that declares a size. */
export function makeAvifSize(side: number): Buffer {
  const box = Buffer.alloc(20)
  box.writeUInt32BE(box.length, 0)
  box.write('ispe', 4, 'latin1')
  box.writeUInt32BE(side, 12)
  box.writeUInt32BE(side, 16)
  return box
}
