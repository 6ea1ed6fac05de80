import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { listenHttp } from '../../../src/http/server.ts'
import { BOX_EMBED, GRID_EMBED, makeProductOnSale, stockCatalog } from '../../app/app-client.ts'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { toGtin } from '../../helpers/products.ts'
import { type PictureApp, startPictureApp } from '../../pictures/picture-app.ts'
import { makePicture } from '../../pictures/picture-bytes.ts'
import { sendBody } from '../../pictures/picture-host.ts'
import { useBrowser } from '../use-browser.ts'

const PASSWORD = 'p4ss'

const browser = useBrowser()

/** A server whose pictures come from another host, and its public address. */
const getServer = setUpOnce(async (): Promise<PictureApp & Readonly<{ publicUrl: string }>> => {
  const server = await listenHttp('127.0.0.1', 0, systemClock)
  addCleanup(() => server.stop())
  const publicUrl = `http://127.0.0.1:${server.port}`
  const settings = { VITRINE_PUBLIC_URL: publicUrl, VITRINE_ADMIN_PASSWORD: PASSWORD }
  const app = await startPictureApp({ settings })
  const picture = await makePicture('jpeg', { width: 1_200, height: 900 })
  const products = Array.from({ length: 12 }, (_, index) =>
    makeProductOnSale({
      gtin: toGtin(index),
      title: `Lamp ${index}`,
      images: [{ url: app.host.serve(`/${index}.jpg`, sendBody(picture)) }],
    }),
  )
  const box = makeProductOnSale({ images: [{ url: app.host.serve('/box.jpg', sendBody(picture)) }] })
  await stockCatalog(app.harness, [box, ...products])
  server.setHandler(app.harness.app)
  return { ...app, publicUrl }
})

type OpenedPage = Readonly<{ page: Page; hosts: Set<string>; problems: string[] }>

async function openPage(path: string, deviceScaleFactor: number): Promise<OpenedPage> {
  const context = await browser.newContext({
    deviceScaleFactor,
    httpCredentials: { username: 'admin', password: PASSWORD },
  })
  addCleanup(() => context.close())
  const page = await context.newPage()
  const hosts = new Set<string>()
  const problems: string[] = []
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(`${getServer().publicUrl}${path}`)
  await loadPictures(page)
  return { page, hosts, problems }
}

type ShownPicture = Readonly<{ src: string; widthPx: number }>

/** Return the addresses that the browser chose, and the widths of the pictures. */
function readPictures({ page }: OpenedPage): Promise<readonly ShownPicture[]> {
  return page.evaluate<readonly ShownPicture[]>(`[...document.images].map(({ currentSrc, naturalWidth }) => ({
    src: currentSrc.replace(/[0-9a-f]{32}/, 'hash'),
    widthPx: naturalWidth,
  }))`)
}

describe('pictures from this server', () => {
  beforeAll(() => getServer())

  test.each([
    [BOX_EMBED, 1, 320, 1],
    [BOX_EMBED, 2, 480, 1],
    [`${BOX_EMBED}?layout=card`, 1, 96, 1],
    [`${BOX_EMBED}?layout=card`, 2, 192, 1],
    [GRID_EMBED, 1, 320, 12],
    [GRID_EMBED, 2, 480, 12],
    [GRID_EMBED, 3, 640, 12],
  ])(
    '%s, %i pixels per CSS pixel - the browser chooses the width %i, and asks nobody else',
    async (path, scale, width, count) => {
      const opened = await openPage(path, scale)
      const { publicUrl } = getServer()
      const pictures = await readPictures(opened)
      expect(pictures.map(({ src }) => src)).toEqual(Array(count).fill(`${publicUrl}/pictures/hash/${width}`))
      expect(pictures.every(({ widthPx }) => widthPx > 0)).toBe(true)
      expect([[...opened.hosts], opened.problems]).toEqual([[new URL(publicUrl).host], []])
    },
  )

  test.each(['/studio?find=lamp', '/studio?tab=deals', '/studio/gallery'])(
    '%s - all pictures load, and nobody else is asked',
    async (path) => {
      const opened = await openPage(path, 1)
      await opened.page.waitForLoadState('networkidle')
      expect([...opened.hosts]).toEqual([new URL(getServer().publicUrl).host])
      expect(opened.problems.filter((text) => text.includes('Content Security Policy'))).toEqual([])
    },
  )
})
