import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ServedAddresses } from '../../helpers/built-server.ts'
import { useOwnFonts } from './compare-screenshots.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** The built server with its sample data, the browser, and a publisher's page on another origin. */
const server = useServer()
const browser = useBrowser()
let addresses: ServedAddresses
let publisher: PageServer

let context: BrowserContext
let page: Page
/** Errors in the browser during a test. */
let problems: string[]
let hosts: Set<string>

beforeAll(async () => {
  publisher = await startPageServer()
  addresses = server.addresses
})
afterAll(() => publisher.close())

beforeEach(() => openContext())

async function openContext(options: BrowserContextOptions = {}): Promise<void> {
  context = await browser.newContext({ viewport: { width: 1_000, height: 1_200 }, ...options })
  page = await context.newPage()
  problems = []
  hosts = new Set()
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`))
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`)
  })
}

/** Wait until the expression gives the value: a page's content policy blocks Playwright's `waitForFunction`. */
async function waitFor(expression: string, value: unknown): Promise<void> {
  await expect.poll(() => page.evaluate<unknown>(expression)).toBe(value)
}

/** Wait until `count` frames have the height of their content. */
function waitForFrames(count: number): Promise<void> {
  const expression = `[...document.querySelectorAll("iframe")].filter((frame) => frame.offsetHeight > 50 &&
    getComputedStyle(frame).visibility === "visible").length`
  return waitFor(expression, count)
}

describe('the built server in a browser', () => {
  test.each([
    ['box', '', '.vitrine-offer'],
    ['grid', '?tab=deals', '.vitrine-deal'],
  ])(
    'studio, %s - the preview opens, without errors or requests to other hosts',
    async (_kind, query, rows) => {
      await page.goto(`${addresses.studio}${query}`)
      await waitForFrames(1)
      expect(await page.frameLocator('.stage:visible iframe').locator(rows).count()).toBeGreaterThan(3)
      await loadPictures(page)
      expect(problems).toEqual([])
      expect([...hosts]).toEqual([new URL(addresses.publicUrl).host])
    },
  )

  test.each([
    ['box', 'where-to-buy', ''],
    ['grid', 'deals', '?tab=deals'],
  ] as const)(
    'plain iframe of the studio, %s - has the height of its content on a phone',
    async (kind, path, query) => {
      const html = await (await context.request.get(`${addresses.studio}${query}`)).text()
      const [, heightPx] =
        new RegExp(`&lt;iframe src=&quot;[^;]*/${path}[^]*?height=&quot;(\\d+)&quot;`).exec(html) ?? []
      const phone = await browser.newPage({ bypassCSP: true, viewport: { width: 360, height: 900 } })
      await phone.goto(addresses[kind])
      await useOwnFonts(phone)
      const contentPx = await phone
        .locator('.vitrine')
        .evaluate((element) => element.getBoundingClientRect().height)
      expect(Number(heightPx)).toBeGreaterThanOrEqual(contentPx)
      expect(Number(heightPx)).toBeLessThan(contentPx + 120)
    },
  )

  test.each(['box', 'grid'] as const)(
    '%s as a document - shows offers with prices and pictures',
    async (kind) => {
      await page.goto(addresses[kind])
      await loadPictures(page)
      const text = await page.locator('.vitrine').innerText()
      expect(text).toMatch(/[€$£]\s?\d/)
      expect(text).toContain('Prices checked on')
      const broken =
        '[...document.images].filter((image) => image.complete && image.naturalWidth === 0).length'
      expect(await page.evaluate<number>('document.images.length')).toBeGreaterThan(0)
      expect(await page.evaluate<number>(broken)).toBe(0)
      expect(problems).toEqual([])
      expect([...hosts]).toEqual([new URL(addresses.publicUrl).host])
      expect(await context.cookies()).toEqual([])
      expect(await page.evaluate<number>('localStorage.length + sessionStorage.length')).toBe(0)
    },
  )

  test("loader on a publisher's page - two widgets open to their height, a hidden one takes no space", async () => {
    const [channel = '', , gtin = ''] = new URL(addresses.box).pathname.split('/').slice(2)
    const body = [
      `<div id="box" data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="${gtin}"></div>`,
      `<div id="none" data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="4006381333931"></div>`,
      `<div id="typo" data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="not-a-gtin"></div>`,
      `<div id="grid" data-vitrine="deals" data-channel="${channel}" data-limit="4" data-theme="dark"></div>`,
      `<script async src="${addresses.publicUrl}/embed.js"></script>`,
    ].join('\n')
    publisher.responses.set(
      '/',
      toHtmlResponse(`<!doctype html><title>Article</title><link rel="icon" href="data:,"><body>${body}`),
    )
    await page.goto(`${publisher.origin}/`)
    await waitForFrames(2)
    await waitFor('document.querySelector("#none").offsetHeight', 0)
    await waitFor('document.querySelector("#typo").offsetHeight', 0)
    const heights = await page.evaluate<number[]>(
      '["#box", "#grid"].map((id) => document.querySelector(`${id} iframe`).offsetHeight)',
    )
    const frames = page.frames().filter((frame) => /where-to-buy\/\d*$|deals/.test(frame.url()))
    const shown = frames.filter((frame) => !frame.url().includes('4006381333931'))
    const inside = await Promise.all(
      shown.map((frame) =>
        frame.evaluate<number>(
          'Math.ceil(document.querySelector(".vitrine").getBoundingClientRect().height)',
        ),
      ),
    )
    // Child frames have no fixed order.
    expect(new Set(inside)).toEqual(new Set(heights))
    expect(
      await page
        .frames()
        .find((frame) => frame.url().includes('/deals'))
        ?.locator('.vitrine-deal')
        .count(),
    ).toBe(4)
    // Only the mistyped GTIN is logged, for the developer of the page.
    expect(problems.map((problem) => /GTIN is 1 to 14 digits.*not-a-gtin$/.test(problem))).toEqual([true])
    expect([...hosts].toSorted()).toEqual(
      [new URL(addresses.publicUrl).host, new URL(publisher.origin).host].toSorted(),
    )
  })

  test('fragment in a page - is styled and works without a script', async () => {
    const address = addresses.box.replace('/embeds/', '/fragments/')
    const response = await context.request.get(`${address}?markup=schema`)
    const html = `<!doctype html><title>Article</title><link rel="icon" href="data:,"><body>${await response.text()}`
    const csp = `default-src 'none'; style-src ${addresses.publicUrl}; img-src ${addresses.publicUrl} data:`
    publisher.responses.set('/fragment', toHtmlResponse(html, csp))
    await page.goto(`${publisher.origin}/fragment`)
    await loadPictures(page)
    expect(await page.locator('.vitrine-offer').first().isVisible()).toBe(true)
    const display = 'getComputedStyle(document.querySelector(".vitrine-offers")).listStyleType'
    expect(await page.evaluate<string>(display)).toBe('none')
    expect(problems).toEqual([])
  })

  test.each(['box', 'grid'] as const)('%s without JavaScript - shows its offers', async (kind) => {
    await openContext({ javaScriptEnabled: false })
    await page.goto(addresses[kind])
    const rows = page.locator(kind === 'box' ? '.vitrine-offer' : '.vitrine-deal')
    expect(await rows.count()).toBeGreaterThan(1)
    expect(await rows.first().isVisible()).toBe(true)
    expect(await page.locator('a[rel="sponsored nofollow noopener"]').first().isVisible()).toBe(true)
    const more = page.locator('details.vitrine-more')
    for (const disclosure of await more.all()) {
      await disclosure.locator('summary').click()
      expect(await disclosure.locator('.vitrine-offer').first().isVisible()).toBe(true)
    }
    expect(problems).toEqual([])
  })

  test('link of the box - opens the demonstration shop, which shows product and tracking parameters', async () => {
    await page.goto(addresses.box)
    const [shop] = await Promise.all([
      context.waitForEvent('page'),
      page.locator('a.vitrine-go').first().click(),
    ])
    await shop.waitForLoadState()
    expect(new URL(shop.url()).origin).toBe(addresses.publicUrl)
    expect(await shop.locator('body').innerText()).toContain('This is a demonstration shop')
    expect(await shop.locator('.listing-price').innerText()).toMatch(/\d/)
  })
})
