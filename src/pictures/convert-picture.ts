import type { Metadata, Sharp, SharpOptions, default as sharp } from 'sharp'
import { type Clock, SECOND_MS } from '../clock.ts'
import { PictureError, UnavailableError } from '../errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import type { PictureWidth } from '../offers/pictures.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { type PictureFormat, type ServedFormat, findFormat, toMediaType } from './formats.ts'
import { countDeclaredPixels } from './measure-picture.ts'
import { removeMetadata } from './png-chunks.ts'

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
