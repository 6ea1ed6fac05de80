import { afterAll, beforeAll, expect, test } from 'vitest'
import { BOX, BOX_EMBED, GRID, GRID_EMBED } from '../../app/app-client.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { usePictureServer } from '../picture-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite } from './use-engine.ts'

const getServer = usePictureServer()
let publisher: PageServer
beforeAll(async () => {
  publisher = await startPageServer()
})
afterAll(() => publisher.close())

/** List the origins of everything that the page has loaded, and the widths of its pictures. */
const readRequests = (page: EnginePage): Promise<Readonly<{ origins: string[]; widths: number[] }>> =>
  page.evaluate(`(() => {
    const urls = [...performance.getEntriesByType('resource').map(({ name }) => name), ...[...document.images].map(({ currentSrc }) => currentSrc)]
    return {
      origins: [...new Set(urls.map((url) => new URL(url).origin))],
      widths: [...document.images].map(({ naturalWidth }) => naturalWidth),
    }
  })()`)

export const picturesSuite = defineSuite('pictures from this server', (engine) => {
  test.each([BOX_EMBED, GRID_EMBED])('%s - pictures are shown, and no other host is asked', async (path) => {
    const { publicUrl } = getServer()
    const page = await engine.open()
    await page.goto(`${publicUrl}${path}`)
    await loadPictures(page)
    const { origins, widths } = await readRequests(page)
    expect(origins).toEqual([publicUrl])
    expect(widths.length).toBeGreaterThan(0)
    expect(widths.filter((width) => width === 0)).toEqual([])
  })

  test('fragments in an article - pictures are shown, and no other host is asked', async () => {
    const { publicUrl } = getServer()
    const fragments = await Promise.all(
      [BOX, GRID].map(async (path) => (await fetch(`${publicUrl}${path}`)).text()),
    )
    publisher.responses.set('/', toHtmlResponse(`<!doctype html><title>Article</title>${fragments.join('')}`))
    const page = await engine.open()
    await page.goto(`${publisher.origin}/`)
    await loadPictures(page)
    const { origins, widths } = await readRequests(page)
    expect(origins.filter((origin) => origin !== publisher.origin)).toEqual([publicUrl])
    expect(widths).toHaveLength(13)
    expect(widths.filter((width) => width === 0)).toEqual([])
  })
})
