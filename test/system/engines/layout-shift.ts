import { type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { WATCH_MOVES, listMoves } from './moves.ts'
import { type EngineInUse, defineSuite, run, waitUntil } from './use-engine.ts'

const LOREM =
  '<p data-still>The article continues below the box, and its lines must not move at all.</p>'.repeat(12)
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 400" width="90" height="400"><path d="M0 0h90v400H0z"/></svg>'
const VIEWPORT = { width: 700, height: 1_000 }

/** Script for an article: asks for the late file when the text below the box has been painted. */
const DELIVER_WHEN_PAINTED = `<script>
requestAnimationFrame(function wait() {
  painted = document.querySelectorAll('[data-still]').length > 0 ? painted + 1 : 0
  if (painted > 3) fetch('/deliver')
  else requestAnimationFrame(wait)
})
painted = 0
</script>`

/** Script for an article: asks for the late file when the first paint is over, or would be. */
const DELIVER_LATER = '<script>setTimeout(() => fetch("/deliver"), 200)</script>'

/**
 * Values of `isolate` with which an engine paints a fragment only after the style sheet that the fragment links. Firefox paints at
 * once, so a page needs the style sheet in its head.
 */
const PAINTING_LATE: Readonly<Record<string, readonly string[]>> = {
  Chromium: ['none', 'shadow'],
  WebKit: ['none'],
}

const server = useServer()
let publisher: Server
let origin = ''
/** HTML that the publisher's server sends at `/`. */
let article = ''
/** The late file, which is sent after a request of `/deliver`. */
let late = { type: '', body: '' }
let waiting: ServerResponse[] = []
let isDelivered = false

beforeAll(async () => {
  publisher = createServer((request, response) => {
    if (request.url === '/deliver') {
      isDelivered = true
      for (const pending of waiting) pending.end(late.body)
      response.end()
    } else if (request.url === '/late') {
      response.setHeader('content-type', late.type)
      if (isDelivered) response.end(late.body)
      else waiting.push(response)
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

const getText = async (url: string): Promise<string> => (await fetch(url)).text()
const toFragmentUrl = (query = ''): string =>
  `${server.addresses.box.replace('/embeds/', '/fragments/')}?${query}`
const toPicksUrl = (query: string): string =>
  toFragmentUrl(query).replace('where-to-buy', 'picks').replace('?', ',09520001001031,09520001001055?')

/**
 * Open an article with the HTML and the style sheet of fragments in its head, and watch positions from the first paint on.
 */
async function openArticle(engine: EngineInUse, html: string): Promise<EnginePage> {
  const [style = ''] = /<link rel="stylesheet"[^>]*>/.exec(await getText(toFragmentUrl())) ?? []
  return openPlainArticle(engine, html, style)
}

async function openPlainArticle(engine: EngineInUse, html: string, head = ''): Promise<EnginePage> {
  const watchMessages =
    '<script>messageTypes = []; addEventListener("message", ({ data }) => messageTypes.push(data?.type))</script>'
  article = `<!doctype html><html lang="en"><title>Article</title><link rel="icon" href="data:,">${head}<body>${WATCH_MOVES}${watchMessages}<h1 data-still>Article</h1><p data-still>Text before it.</p>${html}${LOREM}`
  isDelivered = false
  waiting = []
  const page = await engine.open(VIEWPORT)
  await page.goto(`${origin}/`)
  return page
}

const toLoader = (attributes: string): string =>
  `<div data-vitrine="where-to-buy" ${attributes}></div><script async src="${server.addresses.publicUrl}/embed.js"></script>`

const readBoxHeight = (page: EnginePage): Promise<number> =>
  page.evaluate<number>(
    '(document.querySelector(".vitrine-host")?.shadowRoot ?? document).querySelector(".vitrine, .vitrine-inline").offsetHeight',
  )

export const layoutShiftSuite = defineSuite('layout shift', (engine) => {
  test.each(BOX_LAYOUTS.flatMap((layout) => [`layout=${layout}`, `layout=${layout}&isolate=shadow`]))(
    'fragment in the page, %s - nothing moves',
    async (query) => {
      const page = await openArticle(engine, await getText(toFragmentUrl(query)))
      expect(await listMoves(page)).toEqual([])
      expect(await readBoxHeight(page)).toBeGreaterThan(0)
    },
  )

  test.each(PAINTING_LATE[engine.name] ?? [])(
    'late style sheet, isolate=%s - the text below does not move',
    async (isolate) => {
      const html = await getText(toFragmentUrl(`isolate=${isolate}`))
      const [, style = ''] = /<link[^>]* href="([^"]*)"/.exec(html) ?? []
      late = { type: 'text/css', body: await getText(style) }
      const page = await openPlainArticle(engine, DELIVER_LATER + html.replace(style, `${origin}/late`))
      const moves = await listMoves(page)
      // Chromium may paint before the last row of the box is parsed, which is a very small shift.
      expect(moves.filter((move) => !/^shift of 0\.00[0-4]/.test(move))).toEqual([])
      expect(await readBoxHeight(page)).toBeGreaterThan(150)
    },
  )

  test.each(['list', 'card'])('late picture, %s - nothing moves', async (layout) => {
    const html = await getText(toFragmentUrl(`layout=${layout}`))
    late = { type: 'image/svg+xml', body: PICTURE }
    const page = await openArticle(
      engine,
      DELIVER_WHEN_PAINTED + html.replace(/<img src="[^"]*"/, `<img src="${origin}/late"`),
    )
    await waitUntil(page, 'document.images[0].naturalWidth > 0')
    expect(await listMoves(page)).toEqual([])
  })

  test('picture that never arrives - nothing moves', async () => {
    const html = await getText(toFragmentUrl())
    const page = await openArticle(
      engine,
      html.replace(/<img src="[^"]*"/, '<img src="http://127.0.0.1:9/none.png"'),
    )
    expect(await listMoves(page)).toEqual([])
  })

  test.each(PICKS_LAYOUTS.flatMap((layout) => [`layout=${layout}`, `layout=${layout}&isolate=shadow`]))(
    'round-up as a fragment, %s - nothing moves',
    async (query) => {
      const page = await openArticle(engine, await getText(toPicksUrl(query)))
      expect(await listMoves(page)).toEqual([])
      expect(await readBoxHeight(page)).toBeGreaterThan(150)
    },
  )

  test('late pictures of a round-up - nothing moves', async () => {
    const html = await getText(toPicksUrl('layout=rank'))
    late = { type: 'image/svg+xml', body: PICTURE }
    const page = await openArticle(
      engine,
      DELIVER_WHEN_PAINTED + html.replaceAll(/<img src="[^"]*"/g, `<img src="${origin}/late"`),
    )
    await waitUntil(page, 'document.images[0].naturalWidth > 0')
    expect(await listMoves(page)).toEqual([])
  })

  test.each(GRID_LAYOUTS)('deals as a fragment, %s - nothing moves', async (layout) => {
    const url = `${server.addresses.grid.replace('/embeds/', '/fragments/')}?limit=4&layout=${layout}`
    const page = await openArticle(engine, await getText(url))
    expect(await listMoves(page)).toEqual([])
    expect(await readBoxHeight(page)).toBeGreaterThan(150)
  })

  test('hidden, as a fragment and as a frame - nothing moves', async () => {
    const empty = await getText(`${toFragmentUrl()}&merchant=nobody`)
    expect(empty).toBe('')
    const [channel = ''] = /[0-9a-f-]{36}/.exec(server.addresses.box) ?? []
    const page = await openArticle(
      engine,
      empty + toLoader(`data-channel="${channel}" data-gtin="4006381333931"`),
    )
    await waitUntil(page, 'messageTypes.includes("hidden")')
    expect(await listMoves(page)).toEqual([])
    expect(await page.evaluate('document.querySelector("[data-vitrine]").offsetHeight')).toBe(0)
  })

  test.each(['list', 'card'])('frame with data-height, %s - nothing moves', async (layout) => {
    const probe = await engine.open({ width: 684, height: 1_000 })
    await probe.goto(`${server.addresses.box}?layout=${layout}`)
    const heightPx = await probe.evaluate<number>(
      'Math.ceil(document.querySelector(".vitrine-content").getBoundingClientRect().height)',
    )
    const [channel = '', , gtin = ''] = new URL(server.addresses.box).pathname.split('/').slice(2)
    const page = await openArticle(
      engine,
      toLoader(
        `data-channel="${channel}" data-gtin="${gtin}" data-layout="${layout}" data-height="${heightPx}" style="min-height:${heightPx}px"`,
      ),
    )
    await waitUntil(page, 'document.querySelector("iframe")?.style.visibility === "visible"')
    await waitUntil(page, 'messageTypes.includes("height")')
    expect(await listMoves(page)).toEqual([])
    expect(await page.evaluate('document.querySelector("iframe").offsetHeight')).toBe(heightPx)
  })

  test('box inserted above existing text - is reported', async () => {
    const page = await openArticle(engine, '<div id="late"></div>')
    await listMoves(page)
    await run(page, 'document.querySelector("#late").style.height = "300px"')
    expect(await listMoves(page)).not.toEqual([])
  })
})
