import { brotliCompressSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { setUpOnce } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type PictureApp,
  SHOWN_WEBP,
  describeResponse,
  startPictureApp,
  toPicturePath,
} from '../pictures/picture-app.ts'
import { makePicture } from '../pictures/picture-bytes.ts'
import { sendBody } from '../pictures/picture-host.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  fetchPath,
  findByClass,
  getAttribute,
  listElements,
  makeProductOnSale,
  startStockedHarness,
  stockCatalog,
} from './app-client.ts'

const jpeg = await makePicture('jpeg', { width: 1_000, height: 800 })

/** Stock the catalog with a product that has the picture. */
const stockPicture = ({ harness }: PictureApp, url: string): Promise<void> =>
  stockCatalog(harness, [makeProductOnSale({ images: [{ url }] })])

const listImages = (html: string) => listElements(html).filter(({ tagName }) => tagName === 'img')

describe('pages', () => {
  const getApp = setUpOnce(async () => {
    const app = await startPictureApp()
    await stockPicture(app, app.host.serve('/lamp.jpg', sendBody(jpeg)))
    return app
  })

  test.each([
    ['box', BOX, '(min-width: 820px) 208px, 96px', [96, 192, 320, 480]],
    ['card', `${BOX}?layout=card`, '96px', [96, 192, 320]],
    ['grid', GRID, '240px', [320, 480, 640]],
    ['carousel', `${GRID}?layout=carousel`, '240px', [320, 480, 640]],
    ['list of deals', `${GRID}?layout=list`, '96px', [96, 192, 320]],
    ['frame of a box', BOX_EMBED, '(min-width: 820px) 208px, 96px', [96, 192, 320, 480]],
    ['frame of a grid', GRID_EMBED, '240px', [320, 480, 640]],
  ])('%s - each width of its picture is served', async (_name, path, sizes, widths) => {
    const { harness, host } = getApp()
    const { text, headers } = await fetchPath(harness, path)
    const [image] = listImages(text)
    if (image === undefined) throw new Error('no picture')
    const pathOfPicture = toPicturePath(`https://pictures.example:${host.port}/lamp.jpg`, 0).slice(0, -1)
    const base = `https://widgets.example${pathOfPicture}`
    expect(getAttribute(image, 'src')).toBe(`${base}${widths[0]}`)
    expect(getAttribute(image, 'sizes')).toBe(sizes)
    expect(getAttribute(image, 'srcset')).toBe(widths.map((width) => `${base}${width} ${width}w`).join(', '))
    for (const width of widths)
      expect(describeResponse(await fetchPath(harness, `${pathOfPicture}${width}`))).toBe(SHOWN_WEBP)
    expect(headers['content-security-policy']).toContain("img-src 'self' https://widgets.example;")
    expect(text).not.toContain('pictures.example')
  })

  test('newsletter - pictures are JPEG, which is served', async () => {
    const app = await startPictureApp({ settings: { VITRINE_MAIL_NETWORKS: 'Brightlink' } })
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await stockPicture(app, address)
    for (const path of [BOX, GRID]) {
      const [image] = listImages((await fetchPath(app.harness, path.replace('/fragments', '/mail'))).text)
      const picturePath = `${toPicturePath(address, 192)}.jpg`
      expect(image && getAttribute(image, 'src')).toBe(`https://widgets.example${picturePath}`)
      expect((await fetchPath(app.harness, picturePath)).headers['content-type']).toBe('image/jpeg')
    }
  })

  test('studio - matches have pictures of this server, and the policy allows no others', async () => {
    const { text, headers } = await fetchPath(
      await startStockedHarness(undefined, {
        settings: { VITRINE_PICTURES: 'proxy', VITRINE_ADMIN_PASSWORD: 'p4ss' },
      }),
      '/studio?find=lamp',
      { authorization: `Basic ${Buffer.from('admin:p4ss').toString('base64')}` },
    )
    const sources = listImages(text).map((image) => getAttribute(image, 'src'))
    expect(sources).toEqual([
      `https://widgets.example${toPicturePath('https://pictures.example/lamp.jpg', 96)}`,
    ])
    expect(headers['content-security-policy']).toContain("img-src 'self' https://widgets.example;")
  })

  test('JSON-LD - keeps the original address, which is data and no request', async () => {
    const { harness, host } = getApp()
    const { text } = await fetchPath(harness, `${BOX}?markup=schema`)
    const [, json = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text) ?? []
    expect(json).toContain(`https://pictures.example:${host.port}/lamp.jpg`)
  })

  test('pictures of this server - stay as they are, and are not fetched', async () => {
    const app = await startPictureApp()
    const own = 'https://widgets.example/demo/pictures/lamp'
    await stockPicture(app, own)
    const [image] = listImages((await fetchPath(app.harness, BOX)).text)
    expect(image?.attrs.map(({ name }) => name)).not.toContain('srcset')
    expect(image && getAttribute(image, 'src')).toBe(own)
    expect((await fetchPath(app.harness, toPicturePath(own, 96))).status).toBe(404)
    expect(app.host.resolved).toEqual([])
  })

  test('grid of 12 - at most 8 kB on the wire', async () => {
    const products = Array.from({ length: 13 }, (_, index) =>
      makeProductOnSale({
        gtin: toGtin(index),
        title: `Lumen Arc desk lamp ${index}`,
        images: [{ url: `https://pictures.example/${index}.jpg` }],
      }),
    )
    const harness = await startStockedHarness(products, { settings: { VITRINE_PICTURES: 'proxy' } })
    const fragment = await fetchPath(harness, GRID)
    expect(findByClass(fragment.text, 'vitrine-deal')).toHaveLength(12)
    for (const { body } of [fragment, await fetchPath(harness, GRID_EMBED)])
      for (const compress of [brotliCompressSync, gzipSync]) expect(compress(body).length).toBeLessThan(8_000)
  })

  test('direct - pages use the addresses of the shops, and there is no such route', async () => {
    const harness = await startStockedHarness()
    const { text, headers } = await fetchPath(harness, BOX)
    expect(listImages(text).map((image) => getAttribute(image, 'src'))).toEqual([
      'https://pictures.example/lamp.jpg',
    ])
    expect(text).not.toContain('srcset')
    expect(headers['content-security-policy']).toContain("img-src 'self' https://widgets.example https:;")
    expect((await fetchPath(harness, toPicturePath('https://pictures.example/lamp.jpg', 96))).status).toBe(
      404,
    )
  })
})

describe('route', () => {
  const getApp = setUpOnce(async () => {
    const app = await startPictureApp()
    await stockPicture(app, app.host.serve('/lamp.jpg', sendBody(jpeg)))
    return app
  })
  const getPath = (width: number | string): string =>
    toPicturePath(`https://pictures.example:${getApp().host.port}/lamp.jpg`, 0).replace(/0$/, String(width))

  test('picture - headers for a day, other sites, and no rights of its own', async () => {
    const { headers } = await fetchPath(getApp().harness, getPath(320))
    expect(headers).toMatchObject({
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=86400, immutable',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      etag: expect.stringMatching(/^"[0-9a-f]{16}\.320\.webp\d+"$/),
    })
    expect(headers).not.toHaveProperty('vary')
    expect(headers).not.toHaveProperty('set-cookie')
  })

  test('for a newsletter - JPEG with its own ETag, and WebP stays', async () => {
    const { harness } = getApp()
    const jpegPath = `${getPath(192)}.jpg`
    const found = await fetchPath(harness, jpegPath)
    expect(describeResponse(found)).toBe('200 image/jpeg, public, max-age=86400, immutable')
    expect((await sharp(found.body).metadata()).format).toBe('jpeg')
    const etag = found.headers['etag'] ?? ''
    expect((await fetchPath(harness, jpegPath, { 'if-none-match': etag })).status).toBe(304)
    const webp = await fetchPath(harness, getPath(192), { 'if-none-match': etag })
    expect(describeResponse(webp)).toBe(SHOWN_WEBP)
  })

  test('known picture - 304; HEAD - only headers', async () => {
    const { harness } = getApp()
    const { headers, body } = await fetchPath(harness, getPath(192))
    const known = await fetchPath(harness, getPath(192), { 'if-none-match': headers['etag'] ?? '' })
    expect([known.status, known.body.length]).toEqual([304, 0])
    const head = await request(harness.app).head(getPath(192))
    expect([head.status, head.headers['content-length']]).toEqual([200, String(body.length)])
  })

  test('query - changes nothing', async () => {
    const { harness } = getApp()
    const [plain, queried] = [
      await fetchPath(harness, getPath(96)),
      await fetchPath(harness, `${getPath(96)}?url=https://127.0.0.1/&x`),
    ]
    expect(queried.body).toEqual(plain.body)
  })

  test.each([
    '95',
    '097',
    '1000',
    '96.0',
    '0x60',
    '',
    'original',
    '320w',
    '-96',
    '96%20',
    '٩٦',
    '96.jpeg',
    '97.jpg',
    '.jpg',
    '96.jpg.jpg',
  ])('width "%s" - 404', async (width) => {
    expect((await fetchPath(getApp().harness, getPath(encodeURI(width)))).status).toBe(404)
  })

  test.each([
    ['of no product', 'f'.repeat(32)],
    ['too short', 'f'.repeat(31)],
    ['in capitals', 'F'.repeat(32)],
    ['with a path', '..%2f..%2fcopy.db'],
  ])('hash %s - 404 without a request', async (_name, hash) => {
    const { harness, host } = getApp()
    const before = host.resolved.length
    expect((await fetchPath(harness, `/pictures/${hash}/96`)).status).toBe(404)
    expect(host.resolved).toHaveLength(before)
  })

  test('public address with a path - works with and without it', async () => {
    const app = await startPictureApp({ settings: { VITRINE_PUBLIC_URL: 'https://widgets.example/shop' } })
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await stockPicture(app, address)
    const [image] = listImages((await fetchPath(app.harness, BOX)).text)
    expect(image && getAttribute(image, 'src')).toBe(
      `https://widgets.example/shop${toPicturePath(address, 96)}`,
    )
    for (const prefix of ['/shop', ''])
      expect(describeResponse(await fetchPath(app.harness, `${prefix}${toPicturePath(address, 96)}`))).toBe(
        SHOWN_WEBP,
      )
  })
})

describe('stored copy', () => {
  test('picture of a product - is found without a page that shows it', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    expect((await fetchPath(app.harness, toPicturePath(address, 96))).status).toBe(404)
    await stockPicture(app, address)
    expect(describeResponse(await fetchPath(app.harness, toPicturePath(address, 96)))).toBe(SHOWN_WEBP)
  })

  test('picture that left the copy - is served from its file for cached pages, until a day after its fetch', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await stockPicture(app, address)
    await fetchPath(app.harness, toPicturePath(address, 96))
    app.harness.clock.advance(HOUR_MS)
    await stockPicture(app, app.host.serve('/other.jpg', sendBody(jpeg)))
    app.harness.clock.advance(DAY_MS - HOUR_MS - 1)
    for (const width of [96, 320])
      expect(describeResponse(await fetchPath(app.harness, toPicturePath(address, width)))).toBe(SHOWN_WEBP)
    app.harness.clock.advance(1)
    expect((await fetchPath(app.harness, toPicturePath(address, 96))).status).toBe(404)
    expect(app.host.requests).toEqual(['/lamp.jpg'])
  })

  test('picture that left the copy and is not stored - is 404 five minutes later', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody('no picture'))
    await stockPicture(app, address)
    await fetchPath(app.harness, toPicturePath(address, 96))
    app.harness.clock.advance(HOUR_MS)
    await stockPicture(app, app.host.serve('/other.jpg', sendBody(jpeg)))
    app.harness.clock.advance(5 * MINUTE_MS)
    expect((await fetchPath(app.harness, toPicturePath(address, 96))).status).toBe(404)
  })

  test('product that was just looked up - its picture is found before the copy has it', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const product = makeWireProduct({ offers: [makeWireOffer()], images: [{ url: address }] })
    app.harness.catalog.products.set(CHANNEL_ID, [product])
    vi.spyOn(app.harness.context.store, 'findPicture').mockResolvedValue(undefined)
    await fetchPath(app.harness, BOX)
    expect(describeResponse(await fetchPath(app.harness, toPicturePath(address, 96)))).toBe(SHOWN_WEBP)
  })

  test('copy that cannot be read - stored pictures stay, others get a stand-in that is not kept', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await app.request(address, 96)
    app.harness.clock.advance(HOUR_MS)
    vi.spyOn(app.harness.context.store, 'findPicture').mockRejectedValue(new Error('no database'))
    expect(describeResponse(await fetchPath(app.harness, toPicturePath(address, 96)))).toBe(SHOWN_WEBP)
    const other = await fetchPath(app.harness, toPicturePath(`${address}?other`, 96))
    expect(describeResponse(other)).toBe('200 stand-in, no-store')
  })
})
