import * as fc from 'fast-check'
import sharp from 'sharp'
import { describe, expect, test, vi } from 'vitest'
import { PictureError } from '../../src/errors.ts'
import { PICTURE_WIDTHS, type PictureWidth } from '../../src/offers/pictures.ts'
import {
  createPictureChecker,
  openPictureConverter,
  type ServedFormat,
  countDeclaredPixels,
  removeMetadata,
} from '../../src/pictures/convert-picture.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { toRunCount } from '../helpers/property-runs.ts'
import { makeAvifSize, makeChunk, makePicture, makePng, withAvifSize } from './picture-bytes.ts'

const FORMATS = ['jpeg', 'png', 'webp', 'gif', 'avif'] as const

const VISITOR = '192.0.2.1'

const REQUEST = { width: 96, format: 'webp', visitor: VISITOR } as const

const SMALL = { width: 60, height: 40 }

const openConverter = () => openPictureConverter(createFakeClock(0))

async function convert(bytes: Buffer, width: PictureWidth, format: ServedFormat = 'webp'): Promise<Buffer> {
  const converter = await openConverter()
  const request = { width, format, visitor: VISITOR }
  return (await converter.convert?.(() => Promise.resolve(bytes), request)) ?? Buffer.alloc(0)
}

/** Insert chunks after the header of a PNG. */
function insertChunks(png: Buffer, ...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)])
}

async function measure(bytes: Buffer): Promise<string> {
  const { format, width, height } = await sharp(bytes).metadata()
  return `${format} ${width} x ${height}`
}

describe('conversion', () => {
  test.each(FORMATS)('%s - is accepted, and becomes WebP', async (format) => {
    const bytes = await makePicture(format)
    expect(await (await openConverter()).check(bytes, REQUEST)).toMatchObject({
      mediaType: `image/${format}`,
    })
    expect(await measure(await convert(bytes, 96))).toBe('webp 96 x 72')
  })

  test('transparent picture as JPEG - has a white background', async () => {
    const channels = 4
    const transparent = await sharp({
      create: { width: 40, height: 40, channels, background: { r: 200, g: 0, b: 0, alpha: 0 } },
    })
      .png()
      .toBuffer()
    const jpeg = await convert(transparent, 192, 'jpeg')
    expect(await measure(jpeg)).toBe('jpeg 40 x 40')
    expect([...(await sharp(jpeg).raw().toBuffer()).subarray(0, 3)]).toEqual([255, 255, 255])
  })

  test.each([
    [
      'landscape',
      { width: 1_500, height: 1_000 },
      ['96 x 64', '192 x 128', '320 x 213', '480 x 320', '640 x 427'],
    ],
    [
      'portrait',
      { width: 500, height: 1_000 },
      ['48 x 96', '96 x 192', '160 x 320', '240 x 480', '320 x 640'],
    ],
    [
      'smaller than most widths',
      { width: 100, height: 50 },
      ['96 x 48', ...Array<string>(4).fill('100 x 50')],
    ],
  ])('%s - fits into a square and is never enlarged', async (_name, size, expected) => {
    const bytes = await makePicture('jpeg', size)
    const sizes = await Promise.all(PICTURE_WIDTHS.map(async (width) => measure(await convert(bytes, width))))
    expect(sizes).toEqual(expected.map((text) => `webp ${text}`))
  })

  test('metadata - the orientation is applied, and nothing of it is kept', async () => {
    const rotated = await sharp(await makePicture('jpeg'))
      .withExif({ IFD0: { Copyright: 'somebody' }, IFD3: { GPSLatitude: '52/1 22/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .toBuffer()
    const converted = await convert(rotated, 96)
    expect(await measure(converted)).toBe('webp 72 x 96')
    expect((await sharp(converted).metadata()).exif).toBeUndefined()
  })

  test('transparency - is kept', async () => {
    const bytes = await sharp({ create: { width: 9, height: 9, channels: 4, background: '#0000' } })
      .png()
      .toBuffer()
    expect((await sharp(await convert(bytes, 96)).metadata()).hasAlpha).toBe(true)
  })

  test('animation - its first frame is shown', async () => {
    const frames = await Promise.all(
      ['#f00', '#0f0'].map((background) =>
        sharp({ create: { width: 9, height: 9, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    )
    const bytes = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer()
    expect(await measure(await convert(bytes, 96))).toBe('webp 9 x 9')
  })

  test('PNG with chunks that are not needed to show it - the decoder does not get them', async () => {
    const bytes = makePng(8, 8)
    const isRefused = sharp(insertChunks(bytes, makeChunk('ABCD', Buffer.alloc(9)))).metadata()
    await expect(isRefused).rejects.toThrow('corrupt header')
    const text = Buffer.from('comment\0\0text')
    const chunks = ['ABCD', 'zTXt', 'iTXt', 'tEXt', 'acTL'].map((type) => makeChunk(type, text))
    const changed = insertChunks(bytes, ...chunks)
    expect(removeMetadata(changed)).toEqual(bytes)
    expect(await (await openConverter()).check(changed, REQUEST)).toMatchObject({ mediaType: 'image/png' })
  })

  test('PNG with a colour profile, gamma and transparency - keeps them', async () => {
    const names = ['gAMA', 'cHRM', 'sRGB', 'iCCP', 'cICP', 'tRNS', 'eXIf']
    const bytes = insertChunks(makePng(8, 8), ...names.map((name) => makeChunk(name, Buffer.alloc(5))))
    expect(removeMetadata(bytes)).toBe(bytes)
  })

  test('PNG of far too many chunks - is damaged', () => {
    const chunk = makeChunk('tEXt', Buffer.alloc(0))
    const chunks = Array<Buffer>(10_000).fill(chunk)
    expect(() => removeMetadata(insertChunks(makePng(8, 8), ...chunks))).toThrow(
      expect.objectContaining({ failure: 'damaged' }),
    )
  })

  test('PNG that ends in a chunk - its start is kept', () => {
    const bytes = insertChunks(makePng(8, 8), makeChunk('zTXt', Buffer.alloc(100)))
    for (const length of [8, 20, 33, 40, 60, 140])
      expect(removeMetadata(bytes.subarray(0, length))).toEqual(
        bytes.subarray(0, 33 < length && length <= 40 ? length : Math.min(length, 33)),
      )
  })

  test('40 megapixels - are accepted', async () => {
    const bytes = makePng(8_000, 5_000)
    expect(await (await openConverter()).check(bytes, REQUEST)).toMatchObject({ mediaType: 'image/png' })
  })

  test('many at once - one reads its original only when it is its turn', async () => {
    const converter = await openConverter()
    const bytes = await makePicture('jpeg')
    let reading = 0
    let most = 0
    const read = async (): Promise<Buffer> => {
      reading += 1
      most = Math.max(most, reading)
      return Promise.resolve(bytes)
    }
    const done = Array.from({ length: 20 }, async () => {
      await converter.convert?.(read, { width: 96, format: 'webp', visitor: VISITOR })
      reading -= 1
    })
    await Promise.all(done)
    expect(most).toBeLessThanOrEqual(3)
  })

  test('many of one visitor - another visitor is next, and those over the limit are refused at once', async () => {
    const converter = await openConverter()
    const bytes = await makePicture('jpeg', SMALL)
    const order: string[] = []
    const start = async (visitor: string): Promise<string> => {
      const read = async (): Promise<Buffer> => {
        order.push(visitor)
        return Promise.resolve(bytes)
      }
      const converted = converter.convert?.(read, { width: 96, format: 'webp', visitor })
      return (
        converted?.then(
          () => 'converted',
          (error: PictureError) => error.failure,
        ) ?? ''
      )
    }
    const outcomes = Promise.all([...Array<string>(70).fill('a'), 'b'].map(start))
    expect(new Set(await outcomes)).toEqual(new Set(['converted', 'busy']))
    expect((await outcomes).filter((outcome) => outcome === 'busy')).toHaveLength(4)
    expect((await outcomes).at(-1)).toBe('converted')
    expect(order.indexOf('b')).toBeLessThan(6)
  })

  test('conversion that libvips cancels by its timeout - is busy, so that it is tried again', async () => {
    const converter = await openConverter()
    const message = 'timeout: 19% complete\nVipsImage: killed for image "temp-36"'
    vi.spyOn(sharp.prototype, 'toBuffer').mockRejectedValueOnce(new Error(message))
    const bytes = makePng(8, 8)
    await expect(converter.check(bytes, REQUEST)).rejects.toMatchObject({ failure: 'busy' })
    expect(await converter.check(bytes, REQUEST)).toMatchObject({ mediaType: 'image/png' })
  })

  test('readers of vector formats and documents - are blocked in the whole process', async () => {
    await openConverter()
    await expect(
      sharp(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')).metadata(),
    ).rejects.toThrow(/unsupported|load/)
  })
})

describe('header', () => {
  test.each(['jpeg', 'png', 'webp', 'gif'] as const)('%s - is accepted without sharp', async (format) => {
    expect(await createPictureChecker().check(await makePicture(format), REQUEST)).toMatchObject({
      mediaType: `image/${format}`,
    })
  })

  test('lossless and extended WebP - are accepted without sharp', async () => {
    const picture = sharp({ create: { width: 9, height: 9, channels: 4, background: '#0f08' } })
    for (const bytes of [
      await picture.webp({ lossless: true }).toBuffer(),
      await picture
        .withExif({ IFD0: { Copyright: 'somebody' } })
        .webp()
        .toBuffer(),
    ])
      expect(await createPictureChecker().check(bytes, REQUEST)).toMatchObject({ mediaType: 'image/webp' })
  })

  test('JPEG with large segments before its size - is accepted without sharp', async () => {
    const jpeg = await makePicture('jpeg')
    const segment = Buffer.concat([Buffer.from([0xff, 0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(65_533)])
    const bytes = Buffer.concat([jpeg.subarray(0, 2), ...Array<Buffer>(50).fill(segment), jpeg.subarray(2)])
    expect(await createPictureChecker().check(bytes, REQUEST)).toMatchObject({ mediaType: 'image/jpeg' })
  })

  test('AVIF - is refused without sharp, because its size cannot be trusted', async () => {
    await expect(createPictureChecker().check(await makePicture('avif'), REQUEST)).rejects.toMatchObject({
      failure: 'format',
    })
  })

  test('AVIF with an endless box - is refused at once', async () => {
    const bytes = Buffer.from(
      'AAAAGGZ0eXBhdmlmAAAAAGF2aWZtaWYxAAAAMG1ldGEAAAAAAAAAJGlwcnAAAAAcaXBjbwAAAABpc3BlAAAAAAAAAEAAAABA',
      'base64',
    )
    await expect((await openConverter()).check(bytes, REQUEST)).rejects.toMatchObject({ failure: 'damaged' })
    await expect(createPictureChecker().check(bytes, REQUEST)).rejects.toMatchObject({ failure: 'format' })
  })

  test('AVIF that crops a large picture - the large size counts', async () => {
    const bytes = Buffer.concat([withAvifSize(await makePicture('avif'), 64), makeAvifSize(65_535)])
    await expect((await openConverter()).check(bytes, REQUEST)).rejects.toMatchObject({
      failure: 'too_many_pixels',
    })
  })

  test('AVIF with very many sizes - is refused', async () => {
    const bytes = Buffer.concat([await makePicture('avif'), ...Array<Buffer>(1_001).fill(makeAvifSize(1))])
    await expect((await openConverter()).check(bytes, REQUEST)).rejects.toMatchObject({
      failure: 'too_many_pixels',
    })
  })

  test.each([
    ['zeros', Buffer.alloc(5 * 1024 ** 2)],
    ['bytes of 255', Buffer.alloc(5 * 1024 ** 2, 0xff)],
    ['empty segments', Buffer.alloc(5 * 1024 ** 2, Buffer.from([0xff, 0xe0, 0, 0]))],
  ])('JPEG of 5 MB of %s - its header takes less than 50 ms of the event loop', async (_name, rest) => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), rest])
    const before = performance.now()
    expect(countDeclaredPixels(bytes, 'jpeg')).toBeUndefined()
    expect(performance.now() - before).toBeLessThan(50)
    await expect(createPictureChecker().check(bytes, REQUEST)).rejects.toMatchObject({ failure: 'damaged' })
  })
})

/** A picture with some changed bytes, cut off somewhere. The header is changed most. */
function changeBytes(
  bytes: Buffer,
  changes: readonly (readonly [number, number])[],
  keptShare: number,
): Buffer {
  const changed = Buffer.from(bytes.subarray(0, Math.ceil(bytes.length * keptShare)))
  for (const [position, value] of changes) changed[Math.floor(position ** 4 * changed.length)] = value
  return changed
}

const arbitraryChanges = fc.record({
  format: fc.constantFrom(...FORMATS),
  changes: fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.integer({ min: 0, max: 255 })),
    { maxLength: 8 },
  ),
  keptShare: fc.double({ min: 0.001, max: 1, noNaN: true }),
})

describe.each([
  ['without sharp', () => Promise.resolve(createPictureChecker()), 4_000],
  ['with sharp', openConverter, 200],
])('any changed bytes, %s', (_name, open, runs) => {
  test('check - accepts or refuses the picture, and fails in no other way', async () => {
    const converter = await open()
    const pictures = new Map(
      await Promise.all(FORMATS.map(async (format) => [format, await makePicture(format, SMALL)] as const)),
    )
    await fc.assert(
      fc.asyncProperty(arbitraryChanges, async ({ format, changes, keptShare }) => {
        const bytes = changeBytes(pictures.get(format) ?? Buffer.alloc(0), changes, keptShare)
        const outcome = await converter.check(bytes, REQUEST).catch((error: Error) => error)
        const isExpected = !(outcome instanceof Error) || outcome instanceof PictureError
        expect(isExpected, JSON.stringify(outcome)).toBe(true)
      }),
      { numRuns: toRunCount(runs) },
    )
  })
})
