import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { EMBED_CSP, type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { makeBox, makeWrapper } from '../../helpers/views.ts'
import { useBrowser } from '../use-browser.ts'

const browser = useBrowser()
let page: Page
let publisher: PageServer
let widgets: PageServer

beforeAll(async () => {
  page = await browser.newPage()
  publisher = await startPageServer()
  widgets = await startPageServer()
  const assets = loadAssets(BUILT_FOLDER)
  for (const name of ['vitrine.css', 'frame.js'] as const) {
    const asset = assets.get(name)
    widgets.responses.set(asset.path, { type: asset.contentType, body: asset.bodies.identity })
  }
  const renderer = createRenderer()
  for (const state of ['shown', 'hidden'] as const) {
    const document = renderer.renderEmbed({
      lang: 'en',
      dir: 'ltr',
      theme: 'light',
      title: 'Where to buy',
      state,
      reason: state === 'hidden' ? 'No shop sells it.' : null,
      styles: [assets.get('vitrine.css').path],
      frameScript: assets.get('frame.js').path,
      isFailure: false,
      redirectBaseUrl: null,
      discovery: null,
      body: state === 'shown' ? renderer.renderWidget(makeBox({ wrapper: makeWrapper({ styles: [] }) })) : '',
    })
    widgets.responses.set(`/${state}`, toHtmlResponse(document, EMBED_CSP))
  }
  const errorPage = renderer.renderErrorPage({
    title: 'Invalid embed address',
    message: 'The parameter "theme" accepts auto, light or dark.',
    styles: [],
    frameScript: assets.get('frame.js').path,
    studioUrl: null,
  })
  widgets.responses.set('/error-page', toHtmlResponse(errorPage, EMBED_CSP))
})
afterAll(async () => {
  await publisher.close()
  await widgets.close()
})

async function openFrame(state: string, attributes: string): Promise<void> {
  publisher.responses.set(
    '/',
    toHtmlResponse(
      `<!doctype html><script>seen = []; addEventListener('message', ({ data }) => seen.push(data))</script><iframe src="${widgets.origin}/${state}" ${attributes}></iframe>`,
    ),
  )
  await page.goto(`${publisher.origin}/`)
}

const waitFor = (expression: string): Promise<unknown> =>
  page.waitForFunction(expression, undefined, { polling: 20 })

describe('frame', () => {
  test('shown - sends ready, then its height in whole pixels, once while nothing changes', async () => {
    await openFrame('shown', 'width="600" height="50"')
    await waitFor('seen.length >= 2')
    const heightPx = await page
      .frames()[1]
      ?.evaluate<number>(
        'Math.ceil(document.querySelector(".vitrine-content").getBoundingClientRect().height)',
      )
    // The same height is not sent again when the frame grows.
    await page.evaluate('document.querySelector("iframe").height = 400')
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    )
    expect(await page.evaluate('seen')).toEqual([
      { vitrine: 1, type: 'ready', title: 'Where to buy' },
      { vitrine: 1, type: 'height', heightPx },
    ])
  })

  test('hidden - sends ready and hidden, and never a height', async () => {
    await openFrame('hidden', 'width="600" height="50"')
    await waitFor('seen.length >= 2')
    expect(await page.evaluate('seen')).toEqual([
      { vitrine: 1, type: 'ready', title: 'Where to buy' },
      { vitrine: 1, type: 'hidden' },
    ])
  })

  test.each([
    ['hidden', 'debug', 'No shop sells it.'],
    ['error-page', 'warning', 'The parameter "theme" accepts auto, light or dark.'],
  ])('%s - collapses, and logs the reason to the console (%s)', async (state, level, reason) => {
    const messages: string[] = []
    page.on('console', (message) => messages.push(`${message.type()} ${message.text()}`))
    await openFrame(state, 'width="600" height="50"')
    await waitFor('seen.some(({ type }) => type === "hidden")')
    expect(messages).toEqual([`${level} Vitrine shows nothing here. ${reason} ${widgets.origin}/${state}`])
  })

  test('frame that is not rendered at first - sends its height when it is rendered, never 0', async () => {
    await openFrame('shown', 'width="600" height="50" style="display:none"')
    await waitFor('seen.length >= 1')
    await page.evaluate('document.querySelector("iframe").style.display = "block"')
    await waitFor('seen.some(({ heightPx }) => heightPx > 50)')
    expect(await page.evaluate('seen.filter(({ heightPx }) => heightPx < 50)')).toEqual([])
  })

  test('opened directly - is an ordinary page', async () => {
    await page.goto(`${widgets.origin}/shown`)
    expect(await page.locator('.vitrine').isVisible()).toBe(true)
  })

  test('made narrower - the button of the best offer becomes an arrow at once, without the fill of the button', async () => {
    await page.goto(`${widgets.origin}/shown`)
    const readFill = (): Promise<string> =>
      page.evaluate("getComputedStyle(document.querySelector('[data-best] .vitrine-go')).backgroundColor")
    await page.setViewportSize({ width: 700, height: 700 })
    await waitFor("document.querySelector('.vitrine').clientWidth > 600")
    expect(await readFill()).not.toBe('rgba(0, 0, 0, 0)')
    await page.setViewportSize({ width: 360, height: 700 })
    await waitFor("document.querySelector('.vitrine').clientWidth < 400")
    expect(await readFill()).toBe('rgba(0, 0, 0, 0)')
  })
})
