import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GALLERY_CASES } from '../../../src/studio/gallery/cases.ts'
import { findGalleryPicture } from '../../../src/studio/gallery/cases.ts'
import {
  LAYOUTS,
  type Layout,
  createExample,
  renderExample,
  toLayoutId,
} from '../../../src/studio/gallery/examples.ts'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import {
  compareImages,
  compareWithBaseline,
  cropElement,
  takeScreenshot,
  useOwnFonts,
} from './compare-screenshots.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { useBrowser } from '../use-browser.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Page styles that affect every element: a reset with `!important`, a dark theme, small and unusual type. */
const HOSTILE = `
html { font-size: 62.5% }
body { background: #101418; color: #8f9; font: italic 1.4rem/2.4 Georgia, serif; letter-spacing: .2em;
  text-transform: uppercase; text-align: center; name-spacing: 1em; text-indent: 3em; white-space: nowrap }
a { color: #f4f !important; text-decoration: underline wavy !important; border: 3px dashed red !important;
  background: #400 !important; padding: 14px !important; font-size: 9px !important; border-radius: 50% !important }
ul { list-style: square inside !important; padding: 40px !important; margin: 30px !important; background: #030 !important }
li { border: 2px solid lime !important; margin: 12px !important; color: #444 !important; font-size: 30px !important }
li::before { content: '>>' !important }
table { border: 5px solid yellow !important; min-width: 900px !important; background: #220 !important }
td, th { border: 1px solid #fff !important; padding: 22px !important; vertical-align: top !important; text-align: right !important }
button, summary { background: orange !important; color: #000 !important; border: 4px ridge !important; padding: 20px !important }
p, span, div { line-height: 3 !important; color: #333 !important; text-shadow: 2px 2px red !important }
img { border-radius: 50% !important; border: 6px solid red !important; max-width: 30px !important; filter: invert(1) }
section { border: 3px dotted #555; padding: 50px; background: #222; color: #777; margin: 40px 0 }
a { position: relative; display: inline-block }
li { display: flex } summary { display: list-item }
a, span, li, p { opacity: .5 !important; transform: rotate(2deg) }
*, ::before, ::after { border-width: 0; border-style: solid }
a::after { content: ' ->'; position: static; margin: 9px; background: #00f }
a::before { content: url(/icon.svg); display: block; inset: 10px }
p::first-letter { float: left; font-size: 60px; color: red }
table { display: block; width: max-content !important; overflow: auto }
tr:nth-child(even), th { background: #060 !important; position: sticky }
`

/** The page may style the layout `inline`, which is a part of its text. */
const names = LAYOUTS.filter(({ name }) => name !== 'inline').map(
  (layout) => [toLayoutId(layout), layout] as const,
)

const browser = useBrowser()
let host: PageServer
const renderer = createRenderer()
const style = loadAssets(BUILT_FOLDER).get('vitrine.css')

beforeAll(async () => {
  host = await startPageServer()
  host.responses.set(style.path, { type: style.contentType, body: style.bodies.identity })
  for (const name of ['square.webp', 'bench.webp', 'bottle.webp', 'logo.svg', 'dark.webp', 'cutout.webp']) {
    const picture = findGalleryPicture(name)
    host.responses.set(`/studio/gallery/pictures/${name}`, {
      type: picture?.type ?? '',
      body: picture?.content ?? '',
    })
  }
})
afterAll(() => host.close())

function toFragment(layout: Layout, isolate: 'none' | 'shadow'): string {
  const [usual] = GALLERY_CASES
  if (usual === undefined) throw new TypeError('the gallery has no cases')
  const query = { box: `isolate=${isolate}`, grid: `isolate=${isolate}` }
  const details = { publicUrl: host.origin, stylePath: style.path, theme: 'light', locale: 'en' } as const
  const specimen = createExample(layout, { ...usual, query }, details)
  return renderExample(renderer, specimen)
}

/** Open an article of 640 px with a fragment. Plain fragments of the gallery need the style link of the page. */
async function openArticle(fragment: string, css: string): Promise<Page> {
  const link = `<link rel="stylesheet" href="${style.path}">`
  const body = `<!doctype html><html lang="en"><title>Article</title>${link}<style>${css} main { width: 640px; margin: 0; padding: 0 } body { margin: 20px }</style><body><main><h1>Article</h1><div id="place" data-layout="${css === '' ? '' : 'carousel'}">${fragment}</div></main>`
  host.responses.set('/', toHtmlResponse(body))
  const page = await browser.newPage({ viewport: { width: 720, height: 900 } })
  await page.goto(`${host.origin}/`)
  await useOwnFonts(page)
  await loadPictures(page)
  return page
}

/** Read the computed styles of the page's elements, except position and size. */
const readStyles = (page: Page): Promise<unknown> =>
  page.evaluate(`['h1', 'main', '#place', '#own a', '#own li', '#own td', '#own p', '#own img', '#own summary'].map((selector) => {
    const styles = getComputedStyle(document.querySelector(selector))
    return [...styles].filter((name) => !name.startsWith('--') && !/size|height|origin|width|inset|top|bottom/.test(name)).map((name) => name + ':' + styles.getPropertyValue(name)).join(';')
  })`)

/** Find rows and cards whose shop or title is not covered by the link of the row; rows of a table have a button. */
const FIND_DEAD_ROWS = `[...document.querySelectorAll('li.vitrine-offer .vitrine-merchant, .vitrine-deal .vitrine-name, li.vitrine-pick :is(.vitrine-title, .vitrine-name, .vitrine-picture), .vitrine-go, .vitrine-button')].filter((element) => {
  if (!element.checkVisibility({ contentVisibilityAuto: true }) || element.closest('details:not([open])')) return false
  element.scrollIntoView({ block: 'center' })
  const { left, top, width, height } = element.getBoundingClientRect()
  if (left > innerWidth - 100) return false
  const hit = document.elementFromPoint(left + Math.min(width / 2, 20), top + height / 2)
  const row = element.closest('li, tr')
  return !row.contains(hit) || hit.closest('a') !== row.querySelector('a')
}).map((element) => element.outerHTML.slice(0, 100))`

describe('host page that styles everything with !important', () => {
  test.each(names)('%s, isolated - looks exactly like in a page without styles', async (name, layout) => {
    const plain = await openArticle(toFragment(layout, 'shadow'), '')
    const expected = await cropElement(await takeScreenshot(plain, '#place'), '.vitrine')
    await plain.close()
    const page = await openArticle(toFragment(layout, 'shadow'), HOSTILE)
    const screenshot = await takeScreenshot(page, '#place')
    expect(compareImages(expected, await cropElement(screenshot, '.vitrine'))).toBeUndefined()
    expect(await compareWithBaseline(screenshot, '.vitrine', `aggressive-css/${name}-shadow`)).toBeUndefined()
  })

  test.each(names)(
    '%s, plain - is readable, keeps its colours and does not overflow',
    async (name, layout) => {
      const page = await openArticle(toFragment(layout, 'none'), HOSTILE)
      await page.addScriptTag({ path: AXE })
      const violations = await page.evaluate<unknown[]>(
        `axe.run('.vitrine', { runOnly: { type: 'rule', values: ['color-contrast', 'link-name', 'list', 'listitem'] } }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary])))`,
      )
      expect(violations).toEqual([])
      const seen = await page.evaluate<Record<string, unknown>>(`(() => {
      const widget = document.querySelector('.vitrine')
      const price = widget.querySelector('.vitrine-price')
      const small = widget.querySelector('.vitrine-small')
      const [of, smallest] = [getComputedStyle(price), parseFloat(getComputedStyle(small).fontSize)]
      return { inside: widget.scrollWidth <= widget.clientWidth, case: of.textTransform, style: of.fontStyle,
        shadow: of.textShadow, smallest: smallest >= 11, ground: getComputedStyle(widget).backgroundColor }
    })()`)
      expect(seen).toEqual({
        inside: true,
        case: 'none',
        style: 'normal',
        shadow: 'none',
        smallest: true,
        ground: 'rgb(250, 248, 244)',
      })
      expect(
        await compareWithBaseline(
          await takeScreenshot(page, '#place'),
          '.vitrine',
          `aggressive-css/${name}-plain`,
        ),
      ).toBeUndefined()
      // Last, because it scrolls.
      expect(await page.evaluate<unknown[]>(FIND_DEAD_ROWS)).toEqual([])
    },
  )

  test('the page itself - is unchanged: no style of the widget leaks into it', async () => {
    const pageHtml =
      '<div id="own"><p>Text</p><ul><li><a href="#x">Link</a></li></ul><table><tr><td>1</td></tr></table><img alt=""><details><summary>More</summary></details></div>'
    const without = await openArticle(pageHtml, HOSTILE)
    const before = await readStyles(without)
    await without.close()
    const page = await openArticle(
      `${toFragment({ widget: 'deals', name: 'carousel' }, 'none')}${pageHtml}`,
      HOSTILE,
    )
    expect(await readStyles(page)).toEqual(before)
  })
})

describe('in a page with custom type and colours', () => {
  test('plain - takes the page’s font; the theming interface changes colours in both forms', async () => {
    const css =
      'body { font-family: monospace } :root { --vitrine-surface: #fdf0f0; --vitrine-radius: 12px; --vitrine-font: initial }'
    for (const isolate of ['none', 'shadow'] as const) {
      const page = await openArticle(toFragment({ widget: 'where-to-buy', name: 'list' }, isolate), css)
      const [ground, family] = await page.evaluate<string[]>(`(() => {
        const widget = (document.querySelector('.vitrine-host')?.shadowRoot ?? document).querySelector('.vitrine')
        document.documentElement.style.setProperty('--vitrine-font', 'initial')
        document.body.style.fontFamily = 'monospace'
        const styles = getComputedStyle(widget)
        return [styles.backgroundColor, styles.fontFamily]
      })()`)
      expect(ground).toBe('rgb(253, 240, 240)')
      expect(family?.startsWith(isolate === 'none' ? 'monospace' : 'system-ui')).toBe(true)
    }
  })

  test('isolated - is positioned by the page', async () => {
    const css = '.vitrine-host { margin-block: 40px; inline-size: 320px; margin-inline-start: 50px }'
    const page = await openArticle(toFragment({ widget: 'where-to-buy', name: 'list' }, 'shadow'), css)
    const box = await page.locator('.vitrine').boundingBox()
    const above = await page.locator('h1').boundingBox()
    expect([box?.x, box?.width]).toEqual([70, 320])
    expect(box?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0) + 40)
  })

  test.each(['list', 'card', 'carousel'])(
    'a wrapper with data-layout=%s - does not change the layout',
    async (name) => {
      const fragment = toFragment({ widget: 'deals', name: 'grid' }, 'none')
      const alone = await openArticle(fragment, '')
      const expected = await alone.locator('.vitrine').boundingBox()
      await alone.close()
      const page = await openArticle(`<div data-layout="${name}">${fragment}</div>`, '')
      expect(await page.locator('.vitrine').boundingBox()).toEqual(expected)
    },
  )
})
