import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { BOX_EMBED, GRID_EMBED } from '../../app/app-client.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { PASSWORD, usePictureServer } from '../picture-server.ts'
import { useBrowser } from '../use-browser.ts'

const browser = useBrowser()

const getServer = usePictureServer()

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
