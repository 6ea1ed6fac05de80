import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/paths.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { EMBED_CSP, type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { makeBox, makeDeal, makeWrapper, makeGrid, makeOffer } from '../../helpers/views.ts'
import { useBrowser } from '../use-browser.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'
/** A server below a path prefix, like behind a proxy. */
const PREFIX = '/widgets'

const browser = useBrowser()
let page: Page
let publisher: PageServer
let widgets: PageServer
const problems: string[] = []
const warnings: string[] = []

beforeAll(async () => {
  publisher = await startPageServer()
  widgets = await startPageServer()
  serveWidgets()
})
afterAll(async () => {
  await publisher.close()
  await widgets.close()
})
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 800, height: 900 } })
  problems.length = 0
  warnings.length = 0
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'warning') warnings.push(message.text())
    if (message.text().includes('Content Security Policy')) problems.push(message.text())
  })
})
afterEach(() => {
  // No test may cause an exception or a violation of a content policy.
  if (problems.length > 0) throw new Error(problems.join('\n'))
})

function serveWidgets(): void {
  const assets = loadAssets(BUILT_FOLDER)
  const renderer = createRenderer()
  const styles = [PREFIX + assets.get('vitrine.css').path]
  const frame = makeWrapper({ styles: [] })
  const toEmbed = (body: string): string =>
    renderer.renderEmbed({
      lang: 'en',
      dir: 'ltr',
      theme: 'light',
      title: 'Where to buy',
      state: body === '' ? 'hidden' : 'shown',
      reason: body === '' ? 'No shop sells it.' : null,
      styles,
      frameScript: PREFIX + assets.get('frame.js').path,
      isFailure: false,
      redirectBaseUrl: null,
      discovery: null,
      body,
    })
  const put = (path: string, body: string): void => {
    widgets.responses.set(`${PREFIX}/embeds/${CHANNEL}${path}`, toHtmlResponse(body, EMBED_CSP))
  }
  const more = Array.from({ length: 10 }, () => makeOffer())
  put(
    '/where-to-buy/1',
    toEmbed(renderer.renderBox(makeBox({ wrapper: frame, picture: null, more, moreLabel: '10 more shops' }))),
  )
  put('/where-to-buy/2', toEmbed(''))
  const next = { href: `${PREFIX}/embeds/${CHANNEL}/deals?page=2`, text: 'Next page' }
  const deals = Array.from({ length: 12 }, (_, index) => makeDeal({ title: `Product ${index}` }))
  const paging = { label: 'Pages of deals', previous: null, next }
  put('/deals', toEmbed(renderer.renderGrid(makeGrid({ wrapper: frame, deals, paging }))))
  widgets.responses.set(`${PREFIX}/embeds/${CHANNEL}/where-to-buy/3`, null)
  for (const name of ['vitrine.css', 'frame.js'] as const) {
    const asset = assets.get(name)
    widgets.responses.set(PREFIX + asset.path, { type: asset.contentType, body: asset.bodies.identity })
  }
  const embed = assets.get('embed.js')
  widgets.responses.set(`${PREFIX}/embed.js`, { type: embed.contentType, body: embed.bodies.identity })
}

function toPlaceholder(kind: string, attributes = ''): string {
  return `<div data-vitrine="${kind}" data-channel="${CHANNEL}" ${attributes}></div>`
}

async function openPage(body: string): Promise<void> {
  const script = `<script async src="${widgets.origin}${PREFIX}/embed.js?v=1"></script>`
  publisher.responses.set('/', toHtmlResponse(`<!doctype html><title>Article</title><body>${body}${script}`))
  await page.goto(`${publisher.origin}/`)
}

/** Wait until the expression, run in the page, is true. */
async function waitFor(expression: string): Promise<void> {
  await page.waitForFunction(expression, undefined, { polling: 20 })
}

const heights = (): Promise<number[]> =>
  page.evaluate<number[]>('[...document.querySelectorAll("iframe")].map((frame) => frame.offsetHeight)')

const isShown = (index: number): string =>
  `document.querySelectorAll("iframe")[${index}]?.offsetHeight > 50 && ` +
  `getComputedStyle(document.querySelectorAll("iframe")[${index}]).visibility === "visible"`

describe('loader', () => {
  test('three placeholders, one without offers - two open to their content, one stays closed', async () => {
    await openPage(
      toPlaceholder('where-to-buy', 'data-gtin="1"') +
        toPlaceholder('where-to-buy', 'data-gtin="2" data-height="300" style="min-height:300px"') +
        toPlaceholder('deals'),
    )
    await waitFor(`${isShown(0)} && ${isShown(2)}`)
    await waitFor('document.querySelectorAll("[data-vitrine]")[1].offsetHeight === 0')
    const inside = await page
      .frames()[1]
      ?.evaluate<number>('Math.ceil(document.querySelector(".vitrine").getBoundingClientRect().height)')
    expect((await heights())[0]).toBe(inside)
    expect(await page.locator('iframe').first().getAttribute('title')).toBe('Where to buy')
  })

  test('options as data attributes - become the query of the frame, unknown ones do not', async () => {
    await openPage(
      toPlaceholder(
        'deals',
        'data-min-discount="20" data-max_price="99.5" data-merchant="Kopje|A &amp; B" data-theme="" data-tracking="x" data-title="Angebote"',
      ),
    )
    await waitFor(isShown(0))
    const frame = page.locator('iframe')
    expect(await frame.getAttribute('src')).toBe(
      `${widgets.origin}${PREFIX}/embeds/${CHANNEL}/deals?merchant=Kopje&merchant=A+%26+B&min_discount=20&max_price=99.5`,
    )
    expect(await frame.getAttribute('title')).toBe('Angebote')
  })

  test('title of a frame - in the language of data-locale, else of the page, else English', async () => {
    const grids = ['data-locale="de"', 'data-locale="fr-CA"', 'data-locale="xx"', ''].map((more) =>
      toPlaceholder('deals', more),
    )
    const box = toPlaceholder('where-to-buy', 'data-gtin="1" data-locale="de"')
    await openPage(`${box}${grids.join('')}<div lang="es">${toPlaceholder('deals')}</div>`)
    await waitFor(isShown(0))
    const titles = await page.locator('iframe').evaluateAll((frames) => frames.map(({ title }) => title))
    expect(titles).toEqual(['Preise im Vergleich', 'Angebote', 'Bons plans', 'Deals', 'Deals', 'Ofertas'])
  })

  test('invalid placeholders - stay empty', async () => {
    await openPage(
      `<div data-vitrine></div><div data-vitrine="toString" data-channel="x"></div><div data-vitrine="where-to-buy"></div>${toPlaceholder('where-to-buy')}<svg data-vitrine="deals"></svg>${toPlaceholder('deals', 'data-height="-5"')}`,
    )
    await waitFor(isShown(0))
    expect(await page.locator('iframe').count()).toBe(1)
    await page.evaluate('window.vitrine.scan()')
    // Each is logged once, for the developer of the page.
    expect(warnings.filter((text) => text.includes('needs data-channel'))).toHaveLength(4)
  })

  test('loader messages from a foreign frame - move nothing', async () => {
    const body = `<script>for (const type of ['ready','height','hidden']) parent.postMessage({ vitrine: 1, type, heightPx: 5000 }, '*'); parent.postMessage('done', '*')</script>`
    publisher.responses.set('/foreign', toHtmlResponse(body))
    widgets.responses.set('/foreign', toHtmlResponse(body))
    await openPage(
      `<script>done = 0; addEventListener('message', ({ data }) => { done += data === 'done' })</script>${toPlaceholder('where-to-buy', 'data-gtin="1"')}`,
    )
    await waitFor(isShown(0))
    const before = await heights()
    await page.evaluate(
      `for (const src of ['/foreign', '${widgets.origin}/foreign']) document.body.append(Object.assign(document.createElement('iframe'), { src, height: 10 }))
       for (const type of ['height', 'hidden']) postMessage({ vitrine: 1, type, heightPx: 5000 }, '*')`,
    )
    await waitFor('done === 2')
    expect((await heights())[0]).toBe(before[0])
  })

  test('extreme heights from its frame - clamped or ignored', async () => {
    const wild = '[120.4, NaN, -1, "700", null, undefined, 1e9, Infinity, 0, 33]'
    widgets.responses.set(
      `${PREFIX}/embeds/${CHANNEL}/where-to-buy/4`,
      toHtmlResponse(
        `<script>for (const data of [null, 'x', 1, { vitrine: 2, type: 'height', heightPx: 9 }, { vitrine: 1, type: 'other', heightPx: 9 }]) parent.postMessage(data, '*')
         for (const heightPx of ${wild}) parent.postMessage({ vitrine: 1, type: 'height', heightPx }, '*')</script>`,
      ),
    )
    await openPage(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitFor(isShown(0))
    await page.evaluate(
      `seen = []; element = document.querySelector('[data-vitrine]'); vitrine.destroy(element); element.dataset.gtin = '4'; vitrine.scan(element)
       addEventListener('message', ({ data }) => { if (data?.type === 'height' && data.vitrine === 1) seen.push(document.querySelector('iframe').style.height) })`,
    )
    await waitFor('seen.length === 10')
    expect(await page.evaluate('seen')).toEqual([
      ...Array.from({ length: 6 }, () => '121px'),
      '10000px',
      '10000px',
      '0px',
      '33px',
    ])
  })

  test('loaded twice - one frame per placeholder, one window.vitrine', async () => {
    await openPage(
      `${toPlaceholder('deals')}<script async src="${widgets.origin}${PREFIX}/embed.js?again"></script>`,
    )
    await waitFor(isShown(0))
    await page.addScriptTag({ url: `${widgets.origin}${PREFIX}/embed.js?third` })
    expect(await page.locator('iframe').count()).toBe(1)
  })

  test('placeholders added later and in a shadow root - get a frame, which is destroyed on request or on removal', async () => {
    await openPage('<main></main>')
    await waitFor('"vitrine" in window')
    await page.evaluate(
      `document.querySelector('main').innerHTML = '<section>${toPlaceholder('deals')}</section>'
       root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
       root.innerHTML = '${toPlaceholder('where-to-buy', 'data-gtin="1"')}'
       vitrine.scan(root)`,
    )
    await waitFor(`${isShown(0)} && root.querySelector('iframe').offsetHeight > 50`)
    await page.evaluate('vitrine.destroy(root.firstChild); vitrine.destroy(document.body)')
    expect(await page.evaluate('root.querySelector("iframe")')).toBeNull()
    await page.evaluate('placeholder = document.querySelector("[data-vitrine]"); placeholder.remove()')
    await waitFor('placeholder.childElementCount === 0')
  })

  test('content that grows and shrinks - the frame adjusts', async () => {
    await openPage(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitFor(isShown(0))
    const [closedPx = 0] = await heights()
    await page.frameLocator('iframe').locator('summary').click()
    await waitFor(`document.querySelector('iframe').offsetHeight > ${closedPx} + 300`)
    await page.frameLocator('iframe').locator('summary').click()
    await waitFor(`document.querySelector('iframe').offsetHeight === ${closedPx}`)
    await page.setViewportSize({ width: 300, height: 900 })
    await waitFor(`document.querySelector('iframe').offsetHeight > ${closedPx}`)
    expect(closedPx).toBeGreaterThan(100)
  })

  test('next page of deals, clicked at the bottom of a high frame - scrolls to its top', async () => {
    await page.setViewportSize({ width: 360, height: 600 })
    await openPage(`<p>Words before.</p>${toPlaceholder('deals')}<p>Words after.</p>`)
    await waitFor(isShown(0))
    await page.frameLocator('iframe').getByRole('link', { name: 'Next page' }).click()
    await page.waitForFunction('Math.abs(document.querySelector("iframe").getBoundingClientRect().top) < 2')
    expect(await page.evaluate<number>('document.querySelector("iframe").offsetHeight')).toBeGreaterThan(
      1_000,
    )
    expect(page.frames()[1]?.url()).toContain('page=2')
  })

  test('server down - nothing is shown, and the reserved space is released', async () => {
    await page.clock.install()
    await openPage(toPlaceholder('where-to-buy', 'data-gtin="3" data-height="240"'))
    await waitFor('document.querySelector("iframe")')
    expect(await heights()).toEqual([240])
    expect(await page.evaluate('getComputedStyle(document.querySelector("iframe")).visibility')).toBe(
      'hidden',
    )
    await expect
      .poll(async () => {
        await page.clock.runFor(1_000)
        return heights()
      })
      .toEqual([0])
  })

  test('sufficient reserved height - no layout shift', async () => {
    await openPage(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitFor(isShown(0))
    const [heightPx = 0] = await heights()
    await openPage(
      `<script>shift = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value }).observe({ type: 'layout-shift', buffered: true })</script>
       ${toPlaceholder('where-to-buy', `data-gtin="1" data-height="${heightPx}" style="min-height:${heightPx}px"`)}<p>Text below</p>`,
    )
    await waitFor(isShown(0))
    expect(await page.evaluate('shift')).toBe(0)
  })
})
