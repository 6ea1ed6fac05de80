import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defer } from '../../helpers/defer.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

const LOREM = '<p>The article continues below the box, and its lines must not move at all.</p>'.repeat(12)
const TWO_FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))'
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 400" width="90" height="400"><path d="M0 0h90v400H0z"/></svg>'

const server = useServer()
const browser = useBrowser()
let publisher: Server
let origin = ''
/** HTML that the publisher's server sends at `/`. */
let article = ''
/** Delivers a requested picture. */
let deliver: () => void = () => undefined
let pictureRequested: Promise<void>

beforeAll(async () => {
  publisher = createServer((request, response) => {
    if (request.url === '/late.svg') {
      response.setHeader('content-type', 'image/svg+xml')
      deliver = () => response.end(PICTURE)
      onPictureRequest()
    } else response.setHeader('content-type', 'text/html; charset=utf-8').end(article)
  })
  await new Promise<void>((resolve) => {
    publisher.listen(0, '127.0.0.1', resolve)
  })
  origin = `http://127.0.0.1:${(publisher.address() as AddressInfo).port}`
})
afterAll(() => {
  publisher.closeAllConnections()
  publisher.close()
})

let onPictureRequest: () => void = () => undefined

const getText = async (url: string): Promise<string> => (await fetch(url)).text()
const toFragmentUrl = (query = ''): string =>
  `${server.addresses.box.replace('/embeds/', '/fragments/')}?${query}`

/** Open an article with the HTML and record every layout shift from the first paint on. */
async function openArticle(html: string, onStyle?: (route: Route) => Promise<void>): Promise<Page> {
  article = `<!doctype html><html lang="en"><title>Article</title><link rel="icon" href="data:,"><body><h1>Article</h1><p>Text before it.</p>${html}${LOREM}`
  const page = await browser.newPage({ viewport: { width: 700, height: 1_000 } })
  if (onStyle !== undefined) await page.route('**/vitrine.*.css', onStyle)
  await page.addInitScript(
    `shifts = []; noteShifts = (entries) => { for (const entry of entries) shifts.push([entry.value, entry.sources.map(({ node, previousRect, currentRect }) => [node?.nodeName, node?.className, previousRect.y, currentRect.y, previousRect.height, currentRect.height].join(' '))]) }
    watch = new PerformanceObserver((list) => noteShifts(list.getEntries())); watch.observe({ type: 'layout-shift', buffered: true })
    messageTypes = []; addEventListener('message', ({ data }) => messageTypes.push(data?.type))`,
  )
  pictureRequested = new Promise((resolve) => {
    onPictureRequest = resolve
  })
  await page.goto(`${origin}/`, { waitUntil: 'commit' })
  return page
}

/** List the shifts so far, after two more frames are painted. */
async function listShifts(page: Page): Promise<unknown> {
  await page.waitForLoadState('load')
  await page.evaluate(TWO_FRAMES)
  return page.evaluate('noteShifts(watch.takeRecords()), shifts')
}

const LAYOUTS = ['list', 'table', 'card', 'button']

describe('layout shift', () => {
  test.each(LAYOUTS.flatMap((layout) => [`layout=${layout}`, `layout=${layout}&isolate=shadow`]))(
    'fragment in the page, %s - no shift',
    async (query) => {
      const page = await openArticle(await getText(toFragmentUrl(query)))
      await page.locator('.vitrine').waitFor()
      expect(await listShifts(page)).toEqual([])
      expect((await page.locator('.vitrine').boundingBox())?.height).toBeGreaterThan(150)
    },
  )

  test.each(['none', 'shadow'])('late style sheet, isolate=%s - no shift', async (isolate) => {
    const html = await getText(toFragmentUrl(`isolate=${isolate}`))
    const [requested, released] = [defer<void>(), defer<void>()]
    const page = await openArticle(html, async (route) => {
      requested.resolve()
      await released.promise
      await route.continue()
    })
    await requested.promise
    await page.evaluate(TWO_FRAMES)
    released.resolve()
    await page.waitForFunction(
      'document.styleSheets.length + document.querySelectorAll(".vitrine-host").length > 0',
    )
    // The parser continues after the style sheet and may pause within a row. That row may shift; an unstyled box would shift more.
    const shifts = (await listShifts(page)) as readonly [number][]
    expect(shifts.reduce((sum, [value]) => sum + value, 0)).toBeLessThan(0.005)
  })

  test.each(['list', 'card'])('late picture, %s - no shift', async (layout) => {
    const html = await getText(toFragmentUrl(`layout=${layout}`))
    const page = await openArticle(html.replace(/<img src="[^"]*"/, `<img src="${origin}/late.svg"`))
    await pictureRequested
    await page.evaluate(TWO_FRAMES)
    deliver()
    await page.waitForFunction('document.images[0].complete && document.images[0].naturalWidth > 0')
    expect(await listShifts(page)).toEqual([])
  })

  test('picture that never arrives - no shift', async () => {
    const html = await getText(toFragmentUrl())
    const page = await openArticle(html.replace(/<img src="[^"]*"/, '<img src="http://127.0.0.1:9/none.png"'))
    expect(await listShifts(page)).toEqual([])
  })

  test.each(['grid', 'list', 'carousel'])('deals as a fragment, %s - no shift', async (layout) => {
    const url = `${server.addresses.grid.replace('/embeds/', '/fragments/')}?limit=4&layout=${layout}`
    const page = await openArticle(await getText(url))
    await page.locator('.vitrine').waitFor()
    expect(await listShifts(page)).toEqual([])
  })

  test('hidden, as a fragment and as a frame - no shift', async () => {
    const empty = await getText(`${toFragmentUrl()}&merchant=nobody`)
    expect(empty).toBe('')
    const [channel = ''] = /[0-9a-f-]{36}/.exec(server.addresses.box) ?? []
    const placeholder = `<div data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="4006381333931"></div>`
    const page = await openArticle(
      `${empty}${placeholder}<script async src="${server.addresses.publicUrl}/embed.js"></script>`,
    )
    await page.waitForFunction('messageTypes.includes("hidden")')
    expect(await listShifts(page)).toEqual([])
    expect(await page.evaluate('document.querySelector("[data-vitrine]").offsetHeight')).toBe(0)
  })

  test.each(['list', 'card'])('frame with data-height, %s - no shift', async (layout) => {
    const probe = await browser.newPage({ viewport: { width: 684, height: 1_000 } })
    await probe.goto(`${server.addresses.box}?layout=${layout}`)
    const heightPx = await probe.evaluate<number>(
      'Math.ceil(document.querySelector(".vitrine-content").getBoundingClientRect().height)',
    )
    await probe.close()
    const [channel = '', , gtin = ''] = new URL(server.addresses.box).pathname.split('/').slice(2)
    const page = await openArticle(
      `<div data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="${gtin}" data-layout="${layout}" data-height="${heightPx}" style="min-height:${heightPx}px"></div><script async src="${server.addresses.publicUrl}/embed.js"></script>`,
    )
    await page.waitForFunction('document.querySelector("iframe")?.style.visibility === "visible"')
    await page.waitForFunction('messageTypes.includes("height")')
    expect(await listShifts(page)).toEqual([])
    expect((await page.locator('iframe').boundingBox())?.height).toBe(heightPx)
  })

  test('box inserted above existing text - is reported', async () => {
    const page = await openArticle('<div id="late"></div>')
    await page.waitForLoadState('load')
    await page.evaluate(TWO_FRAMES)
    await page.evaluate('document.querySelector("#late").style.height = "300px"')
    expect(await listShifts(page)).not.toEqual([])
  })
})

describe('requests', () => {
  test.each(['box', 'grid'] as const)(
    '%s in a frame - requests only style, script and pictures',
    async (kind) => {
      const page = await browser.newPage()
      const requests: string[] = []
      page.on('request', (request) =>
        requests.push(`${request.resourceType()} ${new URL(request.url()).pathname}`),
      )
      await page.goto(server.addresses[kind])
      await loadPictures(page)
      const kinds = requests.map((request) => request.split(' ')[0])
      // The browser requests a favicon only for a top-level page, not for a frame.
      const known = requests.filter((request) => !request.endsWith('/favicon.ico'))
      expect(known.filter((request) => !/^(?:document|stylesheet|script|image) /.test(request))).toEqual([])
      expect(known.filter((request) => request.startsWith('stylesheet'))).toHaveLength(1)
      expect(known.filter((request) => request.startsWith('script'))).toHaveLength(1)
      expect(kinds).toContain('image')
    },
  )
})
