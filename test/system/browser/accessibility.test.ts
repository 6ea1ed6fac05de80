import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import type { StudioView } from '../../../src/studio/studio.ts'
import { renderAccentCss } from '../../../src/widgets/accent.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import type { WrapperView } from '../../../src/widgets/view-models.ts'
import { type PageServer, STUDIO_CSP, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { FEED, UNHEALTHY, makeFeedsData, makeStudio } from '../../helpers/studio-view.ts'
import {
  SALE_PRICE,
  makeBox,
  makeDeal,
  makeGrid,
  makeOffer,
  makePick,
  makePicks,
  makeWrapper,
} from '../../helpers/views.ts'
import { PICKS_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { useBrowser } from '../use-browser.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const assets = loadAssets(BUILT_FOLDER)
const renderer = createRenderer()
const styles = [assets.get('vitrine.css').path]
const browser = useBrowser()
let page: Page
let server: PageServer

beforeAll(async () => {
  page = await browser.newPage({ bypassCSP: true, viewport: { width: 700, height: 900 } })
  server = await startPageServer()
  for (const name of ['vitrine.css', 'studio.css', 'studio.js', 'embed.js'] as const) {
    const {
      path,
      contentType,
      bodies: { identity: body },
    } = assets.get(name)
    server.responses.set(path, { type: contentType, body })
  }
  for (const hex of ['ffee00', '000080', 'ff6600']) {
    server.responses.set(`/accents/${hex}.css`, { type: 'text/css', body: renderAccentCss(hex) })
  }
})
afterAll(() => server.close())

const offers = [
  makeOffer({ isBest: true, price: SALE_PRICE }),
  makeOffer({ merchant: 'Nordhem', price: null, availability: { text: 'Out of stock', kind: 'out' } }),
]

/** Pages that the sample data does not produce; test/system/browser/studio-fit.test.ts checks the others. */
const STUDIOS = {
  invalid: makeStudio('find=lamp&theme=blue&accent=x&merchant=Elsewhere', {
    isSample: true,
    widgetStatus: { kind: 'hidden', reason: 'No shop that has it is left after the options.' },
  }),
  unhealthy: makeStudio('tab=health', { health: UNHEALTHY }),
  feeds: makeStudio('tab=feeds', {
    feeds: makeFeedsData({
      feeds: [
        FEED,
        {
          ...FEED,
          name: 'a-feed-with-a-very-long-name-of-its-network',
          status: 'failed',
          error: 'https://feeds.example/… responded with status 503',
        },
      ],
      warnings: [{ subject: 'feed kopje', message: 'no network', remedy: 'vitrine catalog feeds set kopje' }],
    }),
  }),
  empty: makeStudio('', {
    channels: [],
    channel: null,
    product: null,
    matches: [],
    state: null,
    widgetStatus: null,
  }),
}

function toStudioPage(view: StudioView): string {
  const paths = {
    styles: [assets.get('studio.css').path],
    studioScript: assets.get('studio.js').path,
    loaderScript: assets.get('embed.js').path,
  }
  return renderer.renderStudio({ ...view, ...paths })
}

function toHost(frame: Partial<WrapperView>): string {
  const toWrapper = (accent: string | null): WrapperView =>
    makeWrapper({
      ...frame,
      accent,
      styles: accent === null ? styles : [...styles, `/accents/${accent}.css`],
    })
  const box = makeBox({
    wrapper: toWrapper(null),
    picture: null,
    offers,
    more: offers,
    moreLabel: '2 more shops',
    variants: { label: '1 other version', rows: [makePick({ title: 'Lumen Arc, blue', picture: null })] },
  })
  const products = [
    makePick({ picture: null }),
    makePick({ number: '2', title: 'Lumen Disc', label: null, picture: null, shops: null }),
  ]
  const deals = [makeDeal({ picture: null }), makeDeal({ picture: null, price: null, brand: null })]
  const paging = {
    label: 'Pages of deals',
    previous: { href: '#p', text: 'Previous page' },
    next: { href: '#n', text: 'Next page' },
  }
  const parts = [
    renderer.renderWidget(box),
    ...['ffee00', '000080', 'ff6600'].map((accent) =>
      renderer.renderWidget({ ...box, label: `Where to buy, ${accent}`, wrapper: toWrapper(accent) }),
    ),
    ...PICKS_LAYOUTS.map((layout) =>
      renderer.renderWidget(
        makePicks({ wrapper: toWrapper(null), layout, label: `Our picks, ${layout}`, products }),
      ),
    ),
    renderer.renderWidget(makeGrid({ wrapper: toWrapper(null), deals, paging })),
  ]
  return `<!doctype html><html lang="en"><title>Article</title><body><main><h1>Article</h1>${parts.join('')}</main></body></html>`
}

async function findViolations(body: string, colorScheme: 'light' | 'dark', csp?: string): Promise<unknown[]> {
  server.responses.set('/', toHtmlResponse(body, csp))
  await page.emulateMedia({ colorScheme })
  await page.goto(`${server.origin}/`)
  await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
  await page.addScriptTag({ path: AXE })
  return await page.evaluate<unknown[]>(
    `axe.run({ exclude: [['iframe']] }, { runOnly: ${JSON.stringify(TAGS)} })
      .then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`,
  )
}

/** Heights of the texts of dates. */
const READ_TEXT_HEIGHTS = `[...document.querySelectorAll('[data-label="Next run"]')].map((cell) => {
  const text = document.createRange()
  text.selectNodeContents(cell)
  return text.getBoundingClientRect().height
})`

describe('accessibility', () => {
  test.each([
    ['light', {}],
    ['light', { theme: 'dark' }],
    ['dark', { theme: 'auto' }],
    ['light', { dir: 'rtl', lang: 'ar', isolate: 'shadow' }],
  ] as const)(
    'box, round-ups and grid, reader prefers %s, frame %j - no violation',
    async (colorScheme, frame) => {
      expect(await findViolations(toHost(frame), colorScheme)).toEqual([])
    },
  )

  test('grey text on a light ground - is reported', async () => {
    const bad =
      '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><p style="color:#999">text</p></main>'
    expect(await findViolations(bad, 'light')).toMatchObject([{ id: 'color-contrast' }])
  })

  test.each([
    ['light', 'an invalid value, a hidden box', STUDIOS.invalid],
    ['dark', 'an invalid value, a hidden box', STUDIOS.invalid],
    ['light', 'an unhealthy server', STUDIOS.unhealthy],
    ['dark', 'an unhealthy server', STUDIOS.unhealthy],
    ['light', 'feeds', STUDIOS.feeds],
    ['dark', 'feeds', STUDIOS.feeds],
    ['light', 'no channel', STUDIOS.empty],
  ] as const)('studio, %s, %s - no violation', async (colorScheme, _case, view) => {
    expect(await findViolations(toStudioPage(view), colorScheme, STUDIO_CSP)).toEqual([])
  })

  test.each([320, 375, 768, 1280])(
    'feeds and health, %i px - no sideways scroll, and dates fit on two lines',
    async (width) => {
      const narrowPage = await browser.newPage({ viewport: { width, height: 760 } })
      for (const view of [STUDIOS.feeds, STUDIOS.unhealthy]) {
        server.responses.set('/', toHtmlResponse(toStudioPage(view), STUDIO_CSP))
        await narrowPage.goto(`${server.origin}/`)
        await narrowPage.evaluate(
          "for (const details of document.querySelectorAll('details')) details.open = true",
        )
        expect(await narrowPage.evaluate<number>('document.documentElement.scrollWidth')).toBe(width)
        const heights = await narrowPage.evaluate<number[]>(READ_TEXT_HEIGHTS)
        expect(heights.filter((height) => height > 48)).toEqual([])
      }
    },
  )

  test.each(['light', 'dark'] as const)(
    'demonstration shop and error page, %s – no violation',
    async (theme) => {
      const pageStyles = [assets.get('studio.css').path]
      const shop = renderer.renderDemoShop({
        styles: pageStyles,
        demoProduct: { shop: 'Kopje', title: 'Lumen Arc', price: '€12.99', pictureUrl: null },
        parameters: [{ name: 'utm_source', value: 'fernweh' }],
      })
      const errorPage = renderer.renderErrorPage({
        frameScript: null,
        studioUrl: 'http://localhost:3000/studio',
        title: 'An error',
        message: 'The reason.',
        styles: pageStyles,
      })
      expect(await findViolations(shop, theme)).toEqual([])
      expect(await findViolations(errorPage, theme)).toEqual([])
    },
  )
})
