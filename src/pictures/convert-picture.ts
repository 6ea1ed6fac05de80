import type { Metadata, Sharp, SharpOptions, default as sharp } from 'sharp'
import { type Clock, SECOND_MS } from '../clock.ts'
import { PictureError, UnavailableError } from '../errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createSemaphore } from '../lib/concurrency.ts'
import { failAfter } from '../lib/with-timeout.ts'
import type { PictureWidth } from '../offers/pictures.ts'

/** Most pixels of a picture, which limits the memory of decoding. */
const MAX_PIXELS = 40_000_000

/** A pixel of AVIF needs this much more memory than one of the other formats. */
const AVIF_FACTOR = 5

/** Larger pictures are converted one after the other. */
const LARGE_PIXELS = 8_000_000

/** Conversions at once, each with memory for a whole picture and a thread of Node's pool; conversions that may wait. */
const CONVERSION_LIMITS = { parallelTasks: 2, maxWaiting: 256, maxWaitingPerVisitor: 64 }

/** How long a conversion may wait for others and run. */
const QUEUE_TIMEOUT_MS: number = 20 * SECOND_MS

/** A conversion that takes longer is cancelled. */
const CONVERSION_TIMEOUT_SECONDS = 10

/** Product pictures look the same as the original, at a fifth of the bytes. */
const WEBP_QUALITY = 78

/** About as good, for programs that cannot show WebP. */
const JPEG_QUALITY = 80

/** Part of the names of converted files: change it with the settings of the conversion. */
const RECIPE = 1

/** Readers of libvips that remain. All others are blocked, such as those of SVG and PDF. */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((name) => `VipsForeignLoad${name}`)

/** `visitor`: who waits, so that one visitor cannot block the others. */
export type ConversionRequest = Readonly<{ width: PictureWidth; format: ServedFormat; visitor: string }>

/** `mediaType`: of the original. `converted`: `null` when pictures are sent as they are. */
export type CheckedPicture = Readonly<{ mediaType: string; converted: Buffer | null }>

export type PictureConverter = Readonly<{
  /**
   * Check that the bytes are a complete picture of an accepted format and size, by converting it.
   * @throws PictureError
   */
  check(bytes: Buffer, request: ConversionRequest): Promise<CheckedPicture>
  /**
   * Convert a checked picture; `null`: pictures are sent as they are. `read` is called when it is the turn of the conversion.
   * @throws PictureError
   */
  convert: ((read: () => Promise<Buffer>, request: ConversionRequest) => Promise<Buffer>) | null
  /** Part of the version of a picture: it changes with the settings of the conversion. */
  recipe: string
}>

/** Create the converter to WebP and JPEG, or without the optional package `sharp` one that only checks pictures. */
export async function openPictureConverter(clock: Clock): Promise<PictureConverter> {
  const module = await importSharp()
  return module === undefined ? createPictureChecker() : createSharpConverter(module, clock)
}

type SharpModule = typeof sharp

async function importSharp(): Promise<SharpModule | undefined> {
  try {
    return (await import('sharp')).default
  } catch {
    return undefined
  }
}

/** Create the check without `sharp`: format and size from the header. AVIF is refused, because its size cannot be trusted. */
export function createPictureChecker(): PictureConverter {
  return {
    async check(bytes) {
      const format = getFormat(bytes)
      if (format === 'avif') throw new PictureError('format')
      checkPixels(countDeclaredPixels(bytes, format) ?? 0)
      return Promise.resolve({ mediaType: toMediaType(format), converted: null })
    },
    convert: null,
    recipe: 'original',
  }
}

/** @throws PictureError for a format that is not accepted */
function getFormat(bytes: Buffer): PictureFormat {
  const format = findFormat(bytes)
  if (format === undefined) throw new PictureError('format')
  return format
}

/** @throws PictureError if there are none or too many */
function checkPixels(pixels: number): void {
  if (!(pixels > 0)) throw new PictureError('damaged')
  if (pixels > MAX_PIXELS) throw new PictureError('too_many_pixels')
}

const OPEN_OPTIONS: SharpOptions = {
  limitInputPixels: MAX_PIXELS,
  sequentialRead: true,
  autoOrient: true,
  // Photographs of shops often have defects that only cause a warning.
  failOn: 'error',
}

function createSharpConverter(createSharp: SharpModule, clock: Clock): PictureConverter {
  createSharp.cache(false)
  createSharp.concurrency(1)
  createSharp.block({ operation: ['VipsForeignLoad'] })
  createSharp.unblock({ operation: READERS })
  const conversions = createFairQueue(clock, CONVERSION_LIMITS)
  const largeConversions = createSemaphore(1, clock)
  const convertNow = async (
    read: () => Promise<Buffer>,
    request: Omit<ConversionRequest, 'visitor'>,
  ): Promise<Buffer> => {
    const bytes = removeMetadata(await read())
    const pixels = await weighPicture(createSharp, bytes, clock)
    const run = (): Promise<Buffer> => scalePicture(createSharp(bytes, OPEN_OPTIONS), request)
    return pixels > LARGE_PIXELS ? runInTurn(largeConversions, run) : run()
  }
  const convert = async (
    read: () => Promise<Buffer>,
    { visitor, ...request }: ConversionRequest,
  ): Promise<Buffer> => {
    try {
      return await conversions.run({ visitor, timeoutMs: QUEUE_TIMEOUT_MS }, () => convertNow(read, request))
    } catch (cause) {
      throw cause instanceof UnavailableError ? new PictureError('busy', { cause }) : cause
    }
  }
  return {
    async check(bytes, request) {
      const format = getFormat(bytes)
      // Only decoding shows whether the picture is complete.
      const converted = await convert(() => Promise.resolve(bytes), request)
      return { mediaType: toMediaType(format), converted }
    },
    convert,
    recipe: String(RECIPE),
  }
}

/**
 * Return the pixels by the memory they need: the most of what the header declares and of what libvips reads from it, in a thread
 * of its own.
 * @throws PictureError
 */
async function weighPicture(createSharp: SharpModule, bytes: Buffer, clock: Clock): Promise<number> {
  const format = getFormat(bytes)
  const factor = format === 'avif' ? AVIF_FACTOR : 1
  const declaredPixels = countDeclaredPixels(bytes, format)
  if (declaredPixels !== undefined) checkPixels(declaredPixels * factor)
  const { width, height } = await failAfter(
    { clock, timeoutMs: CONVERSION_TIMEOUT_SECONDS * SECOND_MS },
    () => new PictureError('busy'),
    readMetadata(createSharp(bytes, OPEN_OPTIONS)),
  )
  const pixels = Math.max(width * height, declaredPixels ?? 0) * factor
  checkPixels(pixels)
  return pixels
}

async function readMetadata(picture: Sharp): Promise<Metadata> {
  try {
    return await picture.metadata()
  } catch (cause) {
    throw toConversionError(cause)
  }
}

/** libvips reports the reason first, and then what it stopped. */
function toConversionError(cause: unknown): PictureError {
  const message = cause instanceof Error ? cause.message : ''
  if (/^timeout: /m.test(message)) return new PictureError('busy', { cause })
  return new PictureError(message.includes('pixel limit') ? 'too_many_pixels' : 'damaged', { cause })
}

/** @throws PictureError when others take too long */
async function runInTurn<T>(
  semaphore: ReturnType<typeof createSemaphore>,
  run: () => Promise<T>,
): Promise<T> {
  const release = await semaphore.acquire(QUEUE_TIMEOUT_MS)
  if (release === undefined) throw new PictureError('busy')
  try {
    return await run()
  } finally {
    release()
  }
}

/** Scale to fit into a square, as widgets show pictures; never enlarge. Metadata, such as a location, is not kept. */
async function scalePicture(
  picture: Sharp,
  { width, format }: Omit<ConversionRequest, 'visitor'>,
): Promise<Buffer> {
  try {
    const scaled = picture.resize(width, width, { fit: 'inside', withoutEnlargement: true })
    return await (
      format === 'webp'
        ? scaled.webp({ quality: WEBP_QUALITY })
        : scaled.flatten({ background: '#ffffff' }).jpeg({ quality: JPEG_QUALITY })
    )
      .timeout({ seconds: CONVERSION_TIMEOUT_SECONDS })
      .toBuffer()
  } catch (cause) {
    throw toConversionError(cause)
  }
}

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

const PNG_SIGNATURE_BYTES = 8

/** Length, type and checksum. */
const CHUNK_FRAME_BYTES = 12

/** A picture of 5 MB in chunks of a kilobyte has fewer; 400,000 empty ones would take half a second to read. */
const MAX_CHUNKS = 10_000

/** Chunks that change what is seen. Others, such as compressed texts, could make the decoder unpack gigabytes. */
const KEPT_CHUNKS: ReadonlySet<string> = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'cICP',
  'sBIT',
  'eXIf',
])

/**
 * Remove the chunks of a PNG that are not needed to show it. Other formats have no compressed metadata and stay as they are.
 * @throws PictureError `damaged` if there are far more chunks than any picture needs
 */
export function removeMetadata(bytes: Buffer): Buffer {
  return findFormat(bytes) === 'png' ? keepChunks(bytes) : bytes
}

function keepChunks(bytes: Buffer): Buffer {
  const kept: Buffer[] = []
  let keptFrom = 0
  let at = PNG_SIGNATURE_BYTES
  for (let count = 0; at + CHUNK_FRAME_BYTES <= bytes.length; count += 1) {
    if (count === MAX_CHUNKS) throw new PictureError('damaged')
    const next = at + CHUNK_FRAME_BYTES + bytes.readUInt32BE(at)
    if (!KEPT_CHUNKS.has(bytes.toString('latin1', at + 4, at + 8))) {
      kept.push(bytes.subarray(keptFrom, at))
      keptFrom = next
    }
    at = next
  }
  if (keptFrom === 0) return bytes
  return Buffer.concat([...kept, bytes.subarray(keptFrom)])
}

/** A raster format that pictures may have. Vector formats and documents can contain scripts. */
export type PictureFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif'

/** Formats of converted pictures: JPEG for programs that cannot show WebP. */
export type ServedFormat = 'webp' | 'jpeg'

/** Return the media type of a format. */
export function toMediaType(format: PictureFormat): string {
  return `image/${format}`
}

/** First bytes by format, in latin1. */
const SIGNATURES: readonly (readonly [PictureFormat, RegExp])[] = [
  ['jpeg', /^\xff\xd8\xff/],
  ['png', /^\x89PNG\r\n/],
  ['gif', /^GIF8[79]a/],
  ['webp', /^RIFF[^]{4}WEBP/],
  ['avif', /^[^]{4}ftypavi[fs]/],
]

/** Bytes that the signatures read. */
const SIGNATURE_BYTES = 12

/** Find the format by content. Headers of a response are not reliable. */
function findFormat(bytes: Buffer): PictureFormat | undefined {
  const start = bytes.toString('latin1', 0, SIGNATURE_BYTES)
  return SIGNATURES.find(([, signature]) => signature.test(start))?.[0]
}

/** A transparent PNG of 96 pixels with a grey outline, for light and dark pages. */
export const STAND_IN: Buffer = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgBAMAAAAQtmoLAAAAMFBMVEVMaXGJiYmJiYmKioqEhISKioqJiYmKioqJiYmKioqLi4uKioqKioqJiYmJiYmKioqW' +
    'cjo6AAAAD3RSTlMAgHaIApopX/OmEN3KQEWwRS+fAAAACXBIWXMAAAsTAAALEwEAmpwYAAABXUlEQVRYw+2VIU/DQBiGv5ClDST7DRAMjgl+ADULISARuM5B' +
    'AqKCgJwayCJQmGIJ6AkSgiEIzJBIgsIRtjRrw+Dl2tEJene9L2HuHtW0ffr2rtd7iSwWi8UyXWqviyWWPY2wDwm36vudUCYkLaWwic5KiW3cK4V32cOc8Fsp' +
    'NGLZWb+vFOY/zM9KL+0c8oRL4JwlREDKERykEVoMwcXpLIJpCuxXYg+aP63sD2e+NNYOmIKfeiyhCTyOkwIjoeYDn9mfNBcNjIQm4ga64uAaWDAQRMCWGyZP' +
    '5NwBQwNBBHj0jBN6Q78nvCohC6Ds6UtIXq5wXCnkAUR7YkPqCk+MXi+MA8QM9TC6INrFTYXwG0C0ni+8ejjytEIRIDjKxTbOtMIkoGAGQ63QngQUrFYI8d82' +
    'cAOt4Aas/4G9GSu2+y+lsIFOueN0hVLnVpa8FB+0tVvuOG3tWiwWi+U/+AHPLCPokhgmqgAAAABJRU5ErkJggg==',
  'base64',
)
