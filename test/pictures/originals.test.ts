import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { toPictureHash } from '../../src/offers/pictures.ts'
import { type PictureConverter, openPictureConverter } from '../../src/pictures/convert-picture.ts'
import type { PictureFileBody } from '../../src/pictures/picture-response.ts'
import {
  PASSING_STAND_IN,
  type PictureApp,
  REMEMBERED_STAND_IN,
  SHOWN_WEBP,
  describeResponse,
  startPictureApp,
  toPicturePath,
} from './picture-app.ts'
import { makePicture } from './picture-bytes.ts'
import { HOSTNAME, type Handler, redirectTo, sendBody } from './picture-host.ts'

const jpeg = await makePicture('jpeg', { width: 1_000, height: 800 })

function getFolder({ harness }: PictureApp): string {
  const { database } = harness.context.config
  return join(dirname(database.kind === 'sqlite' ? database.path : ''), 'pictures')
}

/** Respond with a version of a picture that has validators; 304 if the client knows it. */
function sendVersion(etag: string, body: Buffer): Handler {
  return (received, response) => {
    const isKnown = received.headers['if-none-match'] === etag
    response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? undefined : body)
  }
}

describe('originals', () => {
  test('many visitors, all widths - the original is fetched once', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const widths = [96, 192, 320, 480, 640, 96, 192, 320, 480, 640]
    const kinds = await Promise.all(
      widths.map(async (width) => describeResponse(await app.request(address, width))),
    )
    expect(new Set(kinds)).toEqual(new Set([SHOWN_WEBP]))
    expect(app.host.requests).toEqual(['/lamp.jpg'])
  })

  test('picture that is not stored - is decoded once, for its check and the width', async () => {
    const app = await startPictureApp()
    const decode = vi.spyOn(sharp.prototype, 'toBuffer')
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    expect(describeResponse(await app.request(address, 480))).toBe(SHOWN_WEBP)
    expect(decode).toHaveBeenCalledTimes(1)
    decode.mockRestore()
  })

  test('width that was converted before - is read from the disk', async () => {
    const app = await startPictureApp()
    const decode = vi.spyOn(sharp.prototype, 'toBuffer')
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const kinds: string[] = []
    for (const width of [96, 480, 480, 96]) kinds.push(describeResponse(await app.request(address, width)))
    expect(new Set(kinds)).toEqual(new Set([SHOWN_WEBP]))
    expect(decode).toHaveBeenCalledTimes(2)
    decode.mockRestore()
  })

  test('burst of 300 visitors for one picture - it is fetched and converted once, and all see it', async () => {
    const app = await startPictureApp({ settings: { VITRINE_TRUST_PROXY: 'true' } })
    const decode = vi.spyOn(sharp.prototype, 'toBuffer')
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const responses = Array.from({ length: 300 }, (_, index) =>
      app.request(address, 320, { 'x-forwarded-for': `192.0.2.${index % 256}` }),
    )
    expect(new Set((await Promise.all(responses)).map(describeResponse))).toEqual(new Set([SHOWN_WEBP]))
    expect([app.host.requests.length, decode.mock.calls.length]).toEqual([1, 1])
    decode.mockRestore()
  })

  test('three redirects - are followed, four are not', async () => {
    const app = await startPictureApp()
    app.host.serve('/0', sendBody(jpeg))
    for (const number of [1, 2, 3, 4]) app.host.serve(`/${number}`, redirectTo(`/${number - 1}`))
    const [three, four] = ['/3', '/4'].map((path) => `https://${HOSTNAME}:${app.host.port}${path}`)
    expect(describeResponse(await app.request(three ?? ''))).toBe(SHOWN_WEBP)
    expect(describeResponse(await app.request(four ?? ''))).toBe(REMEMBERED_STAND_IN)
  })

  test('body of exactly five megabytes - is accepted', async () => {
    const app = await startPictureApp({ hasSharp: false })
    const padded = Buffer.concat([jpeg, Buffer.alloc(5 * 1024 ** 2 - jpeg.length)])
    const response = await app.request(app.host.serve('/large.jpg', sendBody(padded)))
    expect(response.body.length).toBe(padded.length)
  })

  test('request to the host - says nothing about the visitor', async () => {
    const app = await startPictureApp()
    let headers: unknown
    const address = app.host.serve('/lamp.jpg', (received, response) => {
      headers = received.headers
      response.end(jpeg)
    })
    await app.request(address, 96, { cookie: 'a=b', referer: 'https://a.example/', 'user-agent': 'Browser' })
    expect(headers).toEqual({
      host: `pictures.example:${app.host.port}`,
      connection: 'keep-alive',
      accept: 'image/webp,image/jpeg,image/png,image/gif,image/avif',
      'accept-encoding': 'identity',
      'user-agent': 'vitrine',
    })
  })

  test('a day old, unchanged - is served at once and revalidated once behind', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendVersion('"1"', jpeg))
    const first = await app.request(address)
    app.harness.clock.advance(DAY_MS)
    const later = [await app.request(address), await app.request(address, 96)]
    expect(later.map(describeResponse)).toEqual([SHOWN_WEBP, SHOWN_WEBP])
    expect(later[0]?.headers['etag']).toBe(first.headers['etag'])
    await vi.waitFor(async () => {
      expect((await app.harness.context.metrics.render()).text).toContain('outcome="unchanged"} 1')
    })
    await app.request(address)
    expect(app.host.requests).toHaveLength(2)
  })

  test('a day old, unchanged, but replaced by another process during the request - the other version stays', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendVersion('"1"', jpeg))
    await app.request(address)
    app.host.serve('/lamp.jpg', (_received, response) => {
      void replaceOriginal(app).then(() => response.writeHead(304).end())
    })
    app.harness.clock.advance(DAY_MS)
    await app.request(address)
    await vi.waitFor(async () => {
      expect((await app.harness.context.metrics.render()).text).toMatch(/outcome="(?:busy|unchanged)"\} 1/)
    })
    const name = (await readdir(getFolder(app))).find((file) => file.endsWith('.original'))
    expect(await readFile(join(getFolder(app), name ?? ''), 'latin1')).toContain(
      '"digest":"0123456789abcdef"',
    )
  })

  test('a day old, changed - the next visitor gets the new one', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendVersion('"1"', jpeg))
    const first = await app.request(address)
    app.host.serve('/lamp.jpg', sendVersion('"2"', await makePicture('png')))
    app.harness.clock.advance(DAY_MS)
    expect((await app.request(address)).body).toEqual(first.body)
    await vi.waitFor(async () => {
      expect((await app.request(address)).headers['etag']).not.toBe(first.headers['etag'])
    })
    expect(app.host.requests).toHaveLength(2)
  })

  test.each([
    [
      'gone',
      (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
        response.writeHead(404).end(),
    ],
    ['replaced by a truncated one', sendBody(jpeg.subarray(0, 5_000))],
    ['replaced by a script', sendBody('<svg><script>alert(1)</script></svg>')],
  ])(
    'a day old, %s - the stored one stays, and the host is asked again an hour later',
    async (_name, handler) => {
      const app = await startPictureApp()
      const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
      const first = await app.request(address)
      app.host.serve('/lamp.jpg', handler)
      app.harness.clock.advance(DAY_MS)
      await app.request(address)
      await vi.waitFor(() => expect(app.harness.logs()).toContain('picture failed'))
      expect((await app.request(address)).body).toEqual(first.body)
      expect(app.host.requests).toHaveLength(2)
      app.harness.clock.advance(HOUR_MS)
      expect((await app.request(address)).body).toEqual(first.body)
      await vi.waitFor(() => expect(app.host.requests).toHaveLength(3))
    },
  )

  test('failure - stand-in for the rest of the hour, then the host is asked again', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody('no picture'))
    expect(describeResponse(await app.request(address))).toBe(REMEMBERED_STAND_IN)
    app.host.serve('/lamp.jpg', sendBody(jpeg))
    app.harness.clock.advance(HOUR_MS - 10 * MINUTE_MS)
    expect(describeResponse(await app.request(address))).toBe('200 stand-in, public, max-age=600')
    app.harness.clock.advance(10 * MINUTE_MS - 1)
    expect(describeResponse(await app.request(address))).toBe('200 stand-in, public, max-age=60')
    app.harness.clock.advance(1)
    expect(describeResponse(await app.request(address))).toBe(SHOWN_WEBP)
  })

  test('failure - is logged with the host only', async () => {
    const app = await startPictureApp()
    await app.request(app.host.serve('/lamp.jpg?token=s3cret', sendBody('no picture')))
    expect(app.harness.logs()).toContain(`"host":"pictures.example:${app.host.port}","failure":"format"`)
    expect(app.harness.logs()).not.toContain('s3cret')
  })

  test('many failures in a second - few are logged, and the next line has the number of the others', async () => {
    const app = await startPictureApp()
    const fail = (index: number) => app.request(`http://pictures.example/${index}.jpg`)
    await Promise.all(Array.from({ length: 60 }, (_, index) => fail(index)))
    expect(app.harness.logs().split('picture failed')).toHaveLength(51)
    app.harness.clock.advance(SECOND_MS)
    await fail(60)
    expect(app.harness.logs()).toMatch(/"leftOut":10,.*picture failed/)
  })

  test('restart - stored pictures are served without the host', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const first = await app.request(address)
    expect((await readdir(getFolder(app))).length).toBe(2)
    const { database } = app.harness.context.config
    const path = database.kind === 'sqlite' ? database.path : ''
    const restarted = await startPictureApp({ settings: { VITRINE_DATABASE_URL: `sqlite:${path}` } })
    expect((await restarted.request(address)).body).toEqual(first.body)
    expect(restarted.host.requests).toEqual([])
  })

  test('stored files that were damaged or deleted - are made again', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const first = await app.request(address)
    const folder = getFolder(app)
    for (const name of await readdir(folder)) {
      await writeFile(join(folder, name), (await readFile(join(folder, name))).subarray(0, 100))
      expect((await app.request(address)).body).toEqual(first.body)
      await rm(join(folder, name))
      expect((await app.request(address)).body).toEqual(first.body)
    }
  })

  test('folder that vanished - is created again, and the picture is shown', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await app.request(address)
    await rm(getFolder(app), { recursive: true })
    expect(describeResponse(await app.request(address))).toBe(SHOWN_WEBP)
    expect((await readdir(getFolder(app))).length).toBe(2)
  })

  test('folder that became a file - stand-in that is not remembered', async () => {
    const app = await startPictureApp()
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    await rm(getFolder(app), { recursive: true })
    await writeFile(getFolder(app), 'a file')
    expect(describeResponse(await app.request(address))).toBe('200 stand-in, no-store')
    expect(app.harness.logs()).toContain('"failure":"disk","reason":"ENOTDIR"')
  })

  test('original that is replaced before its turn - is not stored as a width of the former version', async () => {
    const app = await startPictureApp({
      over: { openConverter: (clock) => openReplacingConverter(clock, () => replaceOriginal(app)) },
    })
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    expect(describeResponse(await app.request(address, 96))).toBe(SHOWN_WEBP)
    expect(describeResponse(await app.request(address, 320))).toBe(PASSING_STAND_IN)
    expect(await readdir(getFolder(app))).toHaveLength(2)
  })
})

/** Replace the data of the only original, as another process that has stored a new version. */
async function replaceOriginal(app: PictureApp): Promise<void> {
  const name = (await readdir(getFolder(app))).find((file) => file.endsWith('.original'))
  const path = join(getFolder(app), name ?? '')
  const text = await readFile(path, 'latin1')
  await writeFile(path, text.replace(/"digest":"[0-9a-f]{16}"/, '"digest":"0123456789abcdef"'), 'latin1')
}

/** Open the converter; `replace` runs before a conversion reads its original. */
async function openReplacingConverter(clock: Clock, replace: () => Promise<void>): Promise<PictureConverter> {
  const converter = await openPictureConverter(clock)
  return {
    ...converter,
    convert: async (read, conversion) => {
      await replace()
      return (await converter.convert?.(read, conversion)) ?? Buffer.alloc(0)
    },
  }
}

describe('without sharp', () => {
  test('picture - the original bytes, streamed; 304 and HEAD work', async () => {
    const app = await startPictureApp({ hasSharp: false })
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const response = await app.request(address, 96)
    expect(describeResponse(response)).toBe('200 image/jpeg, public, max-age=86400, immutable')
    expect(response.body).toEqual(jpeg)
    expect(response.headers['content-length']).toBe(String(jpeg.length))
    const etag = response.headers['etag'] ?? ''
    expect((await app.request(address, 320, { 'if-none-match': etag })).status).toBe(304)
    const head = await request(app.harness.app).head(toPicturePath(address, 96))
    expect(head.headers['content-length']).toBe(String(jpeg.length))
    expect(app.harness.logs()).toContain('the package sharp is not installed')
    expect(await readdir(getFolder(app))).toHaveLength(1)
  })

  test('file that is replaced while it is requested - headers and bytes are those of the new one', async () => {
    const app = await startPictureApp({ hasSharp: false })
    const { pictures } = app.harness.context
    const address = app.host.serve('/lamp.jpg', sendBody(jpeg))
    const first = await app.request(address)
    const found = await pictures?.find({
      hash: toPictureHash(address),
      width: 96,
      format: 'webp',
      visitor: 'a',
    })
    const png = await makePicture('png')
    app.host.serve('/lamp.jpg', sendBody(png))
    app.harness.clock.advance(DAY_MS)
    await app.request(address)
    await vi.waitFor(async () => {
      expect((await app.request(address)).headers['etag']).not.toBe(first.headers['etag'])
    })
    const body = found?.body as PictureFileBody
    const opened = await body.open()
    expect([opened?.mediaType, opened?.bodyBytes]).toEqual(['image/png', png.length])
    expect(opened?.etag).toBe((await app.request(address)).headers['etag'])
    expect(Buffer.concat((await opened?.stream.toArray()) as Buffer[])).toEqual(png)
    await rm(getFolder(app), { recursive: true })
    expect(await body.open()).toBeUndefined()
  })
})
