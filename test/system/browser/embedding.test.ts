import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { defer } from '../../helpers/defer.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** Embedding from another origin with the real server, its loader and its frames. */
const browser = useBrowser()
const server = useServer()
let page: Page
let publisher: PageServer
const problems: string[] = []

beforeAll(async () => {
  publisher = await startPageServer()
})
afterAll(() => publisher.close())
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 800, height: 900 } })
  problems.length = 0
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) problems.push(message.text())
  })
})
afterEach(() => {
  // No test may cause an exception or a violation of a content policy.
  if (problems.length > 0) throw new Error(problems.join('\n'))
})

const HIDDEN = '09521234500005'
/** Adds up the layout shifts from the first paint on. */
const WATCH_SHIFT =
  "<script>shift = 0; new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shift += value }).observe({ type: 'layout-shift', buffered: true })</script>"

function toPlaceholder(gtin: string, attributes = ''): string {
  const [channel] = /[\da-f]{8}-[\da-f-]{27}/.exec(server.addresses.box) ?? []
  return `<div data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="${gtin}" ${attributes}></div>`
}

const getShownGtin = (): string => server.addresses.box.slice(-14)

function toPinnedScript(attributes = `src="${server.addresses.publicUrl}/embed.js"`): string {
  return `<script async ${attributes}></script>`
}

async function openPage(body: string, csp?: string): Promise<void> {
  publisher.responses.set('/', toHtmlResponse(`<!doctype html><title>Article</title><body>${body}`, csp))
  // A slow frame delays the load event of the page.
  await page.goto(`${publisher.origin}/`, { waitUntil: 'domcontentloaded' })
}

const readHeights = (): Promise<number[]> =>
  page.evaluate<number[]>(
    '[...document.querySelectorAll("[data-vitrine]")].map((element) => element.offsetHeight)',
  )

const isOpen = async (index: number): Promise<boolean> => ((await readHeights())[index] ?? 0) > 200

describe('embedding from another origin', () => {
  test('three widgets, one hidden, one slow, one on an unreachable server - each works independently', async () => {
    const slow = defer<undefined>()
    await page.route(/limit=2$/, async (route) => {
      await slow.promise
      await route.continue()
    })
    await page.route(/limit=3$/, (route) => route.abort('connectionrefused'))
    await openPage(
      [
        toPlaceholder(getShownGtin()),
        toPlaceholder(HIDDEN),
        toPlaceholder(getShownGtin(), 'data-limit="2"'),
        toPlaceholder(getShownGtin(), 'data-limit="3"'),
        toPlaceholder(getShownGtin(), 'data-limit="1"'),
        toPinnedScript(),
      ].join(''),
    )
    await expect.poll(async () => (await isOpen(0)) && (await isOpen(4))).toBe(true)
    expect((await readHeights()).slice(1, 4)).toEqual([0, 0, 0])
    slow.resolve(undefined)
    await expect.poll(() => isOpen(2)).toBe(true)
    const heights = await readHeights()
    expect([heights[1], heights[3]]).toEqual([0, 0])
  })

  test('loader that cannot be loaded - placeholders take no space', async () => {
    await page.route('**/embed.js', (route) => route.abort('connectionrefused'))
    await openPage(toPlaceholder(getShownGtin()) + toPinnedScript())
    await page.waitForLoadState('load')
    expect(await readHeights()).toEqual([0])
    expect(await page.locator('iframe').count()).toBe(0)
  })

  test('closed accordion and hidden tab - have the full height when they are opened', async () => {
    await openPage(
      `<details><summary>Shops</summary>${toPlaceholder(getShownGtin())}</details>
       <div id="tab" style="display:none">${toPlaceholder(getShownGtin(), 'data-limit="2"')}</div>${toPlaceholder(getShownGtin(), 'data-limit="3"')}${toPinnedScript()}`,
    )
    await expect.poll(() => isOpen(2)).toBe(true)
    await page.locator('summary').click()
    await page.evaluate("document.querySelector('#tab').style.display = 'block'")
    await expect.poll(async () => (await isOpen(0)) && (await isOpen(1))).toBe(true)
    const [openPx] = await readHeights()
    await page.locator('summary').click()
    await page.setViewportSize({ width: 400, height: 900 })
    await page.locator('summary').click()
    await expect.poll(async () => (await readHeights())[0]).toBeGreaterThan(openPx ?? 0)
    for (const frame of page.frames().slice(1)) {
      const [inside, outside] = [
        await frame.evaluate<number>('document.documentElement.scrollHeight'),
        await frame.evaluate<number>('innerHeight'),
      ]
      expect(inside).toBe(outside)
    }
  })

  test('strict content security policy of the page - one host for script and frame is enough', async () => {
    const { origin } = new URL(server.addresses.publicUrl)
    const csp = `default-src 'none'; script-src ${origin}; frame-src ${origin}; style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`
    await openPage(toPlaceholder(getShownGtin()) + toPinnedScript(), csp)
    await expect.poll(() => isOpen(0)).toBe(true)
  })

  test('loader pinned by its digest - the hashed copy works, and a changed one is blocked', async () => {
    const { path, integrity } = loadAssets(BUILT_FOLDER).get('embed.js')
    const pin = (digest: string): string =>
      toPinnedScript(
        `src="${server.addresses.publicUrl}${path}" integrity="${digest}" crossorigin="anonymous"`,
      )
    await openPage(toPlaceholder(getShownGtin()) + pin(integrity))
    await expect.poll(() => isOpen(0)).toBe(true)
    await openPage(toPlaceholder(getShownGtin()) + pin(integrity.replace(/.{4}$/, 'AAAA')))
    await page.waitForLoadState('load')
    expect(await page.locator('iframe').count()).toBe(0)
  })

  test('reserved height, a hidden widget, and one below the fold - nothing moves', async () => {
    for (const [body, isShown] of [
      [toPlaceholder(getShownGtin(), 'data-height="900" style="min-height:900px"'), true],
      [toPlaceholder(HIDDEN), false],
      [`<p style="height:1200px">Words</p>${toPlaceholder(getShownGtin())}`, true],
    ] as const) {
      await openPage(
        `${WATCH_SHIFT}<p>Before</p>${body}<p>After</p>${toPlaceholder(getShownGtin(), 'data-limit="1"')}${toPinnedScript()}`,
      )
      await expect.poll(() => page.evaluate("'vitrine' in window")).toBe(true)
      // It opens before the reader scrolls to it.
      await expect.poll(() => isOpen(0)).toBe(isShown)
      await page.mouse.wheel(0, 2_000)
      await expect.poll(() => isOpen(1)).toBe(true)
      expect(await page.evaluate('shift')).toBe(0)
    }
  })

  test('page with an element whose id is vitrine - the element does not count as the loader', async () => {
    await openPage(`<div id="vitrine"></div>${toPlaceholder(getShownGtin())}${toPinnedScript()}`)
    await expect.poll(() => isOpen(0)).toBe(true)
  })

  test('single-page app - widgets are added and removed with their pages, and leave nothing', async () => {
    await openPage(`<main></main>${toPinnedScript()}`)
    await expect.poll(() => page.evaluate("'vitrine' in window")).toBe(true)
    await page.evaluate(
      `listeners = 0; add = addEventListener; remove = removeEventListener
       window.addEventListener = (...all) => { listeners += all[0] === 'message'; add(...all) }
       window.removeEventListener = (...all) => { listeners -= all[0] === 'message'; remove(...all) }
       show = (html) => { document.querySelector('main').innerHTML = html }`,
    )
    for (const turn of [1, 2, 3]) {
      await page.evaluate(`show('${toPlaceholder(getShownGtin(), `data-limit="${turn}"`)}')`)
      await expect.poll(() => isOpen(0)).toBe(true)
      expect(await page.evaluate('listeners')).toBe(1)
      const before = await page.evaluate<string>(
        `placeholder = document.querySelector('[data-vitrine]'); vitrine.destroy(placeholder); placeholder.outerHTML`,
      )
      expect(before).toBe(toPlaceholder(getShownGtin(), `data-limit="${turn}"`))
      await page.evaluate("vitrine.scan(placeholder); show('<p>Another page</p>')")
      await expect.poll(() => page.evaluate('listeners')).toBe(0)
      expect(await page.locator('iframe').count()).toBe(0)
    }
  })

  test('dark page and dark colour scheme - the frame shows the page’s background', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    await openPage(
      `<meta name="color-scheme" content="dark light">${toPlaceholder(getShownGtin())}${toPinnedScript()}`,
    )
    await expect.poll(() => isOpen(0)).toBe(true)
    const scheme = await page.evaluate('getComputedStyle(document.querySelector("iframe")).colorScheme')
    expect(scheme).toBe('dark')
    const isDark = await page.frames()[1]?.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    expect(isDark).toBe(true)
  })
})
