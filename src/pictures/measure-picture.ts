import type { PictureFormat } from './formats.ts'

/** Segments of a JPEG that are read until its size: more than one of 5 MB with the largest segments has. */
const MAX_JPEG_SEGMENTS = 1_000

/** Boxes with a size that are read. An AVIF has about one for each tile, alpha channel and preview. */
const MAX_AVIF_BOXES = 1_000

type Measure = (bytes: Buffer) => number | undefined

const MEASURES: Readonly<Record<PictureFormat, Measure>> = {
  png: (bytes) =>
    readName(bytes, 12) === 'IHDR' ? bytes.readUInt32BE(16) * bytes.readUInt32BE(20) : undefined,
  gif: (bytes) => bytes.readUInt16LE(6) * bytes.readUInt16LE(8),
  webp: (bytes) => WEBP_MEASURES[readName(bytes, 12)]?.(bytes),
  jpeg: countJpegPixels,
  avif: countAvifPixels,
}

/** Count the pixels that the header declares, without decoding, in linear time; `undefined` if the header does not tell. */
export function countDeclaredPixels(bytes: Buffer, format: PictureFormat): number | undefined {
  try {
    return MEASURES[format](bytes)
  } catch (error) {
    // The header ends too early.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** By the name of the first chunk: lossy, lossless and extended files. */
const WEBP_MEASURES: Readonly<Record<string, Measure>> = {
  'VP8 ': (bytes) => (bytes.readUInt16LE(26) & 0x3fff) * (bytes.readUInt16LE(28) & 0x3fff),
  VP8L(bytes) {
    const bits = bytes.readUInt32LE(21)
    return ((bits & 0x3fff) + 1) * (((bits >>> 14) & 0x3fff) + 1)
  },
  VP8X: (bytes) => (bytes.readUIntLE(24, 3) + 1) * (bytes.readUIntLE(27, 3) + 1),
}

function readName(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, at + 4)
}

/** Walk from segment to segment until the start of a frame. */
function countJpegPixels(bytes: Buffer): number | undefined {
  let at = 2
  for (let count = 0; count < MAX_JPEG_SEGMENTS; count += 1) {
    if (bytes.readUInt8(at) !== 0xff) return undefined
    const marker = bytes.readUInt8(at + 1)
    if (isFrameStart(marker)) return bytes.readUInt16BE(at + 5) * bytes.readUInt16BE(at + 7)
    // Bytes of 255 may fill the space before a marker.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

/** `true` for SOF0 to SOF15, without the tables DHT and DAC and the reserved JPG. */
function isFrameStart(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

/**
 * Return the most pixels that an AVIF declares for any of its parts. A crop can make its own size far smaller than what is
 * decoded.
 */
function countAvifPixels(bytes: Buffer): number | undefined {
  let most = 0
  let at = bytes.indexOf('ispe')
  for (let count = 0; at >= 0 && at + 16 <= bytes.length; count += 1) {
    if (count >= MAX_AVIF_BOXES) return Infinity
    // Another version: bytes of the picture that look like the name.
    if (bytes[at + 4] === 0) most = Math.max(most, bytes.readUInt32BE(at + 8) * bytes.readUInt32BE(at + 12))
    at = bytes.indexOf('ispe', at + 4)
  }
  return most
}
