import { imageSize } from 'image-size'
import type { Sharp, SharpOptions, default as sharp } from 'sharp'
import { type Clock, SECOND_MS } from '../clock.ts'
import { PictureError } from '../errors.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import type { PictureWidth } from '../offers/pictures.ts'
import { findFormat, toMediaType } from './formats.ts'

/** Most pixels of a picture, which limits the memory of decoding. */
const MAX_PIXELS = 40_000_000

/** A pixel of AVIF needs this much more memory than one of the other formats. */
const AVIF_FACTOR = 5

/** Larger pictures are converted one after the other. */
const LARGE_PIXELS = 8_000_000

/** Conversions that run at once. Each can need memory for a whole picture, and a thread of Node's pool. */
const MAX_CONVERSIONS = 2

/** How long a conversion waits for others. */
const QUEUE_TIMEOUT_MS: number = 20 * SECOND_MS

/** A conversion that takes longer is cancelled. */
const CONVERSION_TIMEOUT_SECONDS = 10

/** Product pictures look the same as the original, at a fifth of the bytes. */
const WEBP_QUALITY = 78

/** Part of the names of converted files: change it with the settings of the conversion. */
const RECIPE = 1

/** Readers of libvips that remain. All others are blocked, such as those of SVG and PDF. */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((name) => `VipsForeignLoad${name}`)

export type PictureConverter = Readonly<{
  /** Check that the bytes are a complete picture of an accepted format and size. Return its media type. @throws PictureError */
  check(bytes: Buffer): Promise<string>
  /**
   * Convert a checked picture; `null`: pictures are sent as they are. `read` is called when it is the turn of the conversion.
   * @throws PictureError
   */
  convert: ((read: () => Promise<Buffer>, width: PictureWidth) => Promise<Buffer>) | null
  /** End of the names of converted files. */
  recipe: string
}>

/** Create the converter to WebP, or without the optional package `sharp` one that only checks pictures. */
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

/** Create the check without `sharp`: format and size from the header. */
export function createPictureChecker(): PictureConverter {
  return {
    check: async (bytes) => Promise.resolve(checkHeader(bytes).mediaType),
    convert: null,
    recipe: 'original',
  }
}

/** @throws PictureError for a format that is not accepted, and a size that is too large or unknown */
function checkHeader(bytes: Buffer): Readonly<{ mediaType: string; weightedPixels: number }> {
  const format = findFormat(bytes)
  if (format === undefined) throw new PictureError('format')
  const weightedPixels = countPixels(bytes) * (format === 'avif' ? AVIF_FACTOR : 1)
  if (weightedPixels > MAX_PIXELS) throw new PictureError('too_many_pixels')
  return { mediaType: toMediaType(format), weightedPixels }
}

/** @throws PictureError if the header does not tell */
function countPixels(bytes: Buffer): number {
  try {
    const { width, height } = imageSize(bytes)
    if (width > 0 && height > 0) return width * height
  } catch (cause) {
    throw new PictureError('damaged', { cause })
  }
  throw new PictureError('damaged')
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
  const conversions = createSemaphore(MAX_CONVERSIONS, clock)
  const largeConversions = createSemaphore(1, clock)
  const convert = (read: () => Promise<Buffer>, width: PictureWidth): Promise<Buffer> =>
    runInTurn(conversions, async () => {
      const bytes = await read()
      const run = (): Promise<Buffer> => toWebp(createSharp(bytes, OPEN_OPTIONS), width)
      return checkHeader(bytes).weightedPixels > LARGE_PIXELS ? runInTurn(largeConversions, run) : run()
    })
  return {
    async check(bytes) {
      const { mediaType } = checkHeader(bytes)
      // Only decoding shows whether the picture is complete.
      await convert(() => Promise.resolve(bytes), 96)
      return mediaType
    },
    convert,
    recipe: `webp${RECIPE}`,
  }
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
async function toWebp(picture: Sharp, width: PictureWidth): Promise<Buffer> {
  try {
    return await picture
      .resize(width, width, { fit: 'inside', withoutEnlargement: true })
      .webp({ quality: WEBP_QUALITY })
      .timeout({ seconds: CONVERSION_TIMEOUT_SECONDS })
      .toBuffer()
  } catch (cause) {
    throw new PictureError('damaged', { cause })
  }
}
