import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { createPictureChecker, openPictureConverter } from '../../src/pictures/convert-picture.ts'
import { PICTURE_WIDTHS, type PictureWidth } from '../../src/offers/pictures.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { makePicture, makePng } from './picture-bytes.ts'

const FORMATS = ['jpeg', 'png', 'webp', 'gif', 'avif'] as const

const openConverter = () => openPictureConverter(createFakeClock(0))

async function convert(bytes: Buffer, width: PictureWidth): Promise<Buffer> {
  const converter = await openConverter()
  return (await converter.convert?.(() => Promise.resolve(bytes), width)) ?? Buffer.alloc(0)
}

async function measure(bytes: Buffer): Promise<string> {
  const { format, width, height } = await sharp(bytes).metadata()
  return `${format} ${width} x ${height}`
}

describe('conversion', () => {
  test.each(FORMATS)('%s - is accepted with and without sharp, and becomes WebP', async (format) => {
    const bytes = await makePicture(format)
    for (const converter of [await openConverter(), createPictureChecker()])
      expect(await converter.check(bytes)).toBe(`image/${format}`)
    expect(await measure(await convert(bytes, 96))).toBe('webp 96 x 72')
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

  test('40 megapixels - are accepted', async () => {
    const bytes = makePng(8_000, 5_000)
    expect(await (await openConverter()).check(bytes)).toBe('image/png')
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
      await converter.convert?.(read, 96)
      reading -= 1
    })
    await Promise.all(done)
    expect(most).toBeLessThanOrEqual(3)
  })

  test('readers of vector formats and documents - are blocked in the whole process', async () => {
    await openConverter()
    await expect(
      sharp(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')).metadata(),
    ).rejects.toThrow(/unsupported|load/)
  })
})
