import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { OPTION_LIST } from '../../../src/widgets/option-list.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { LISTS, type LoadedList, describeWithLists, loadList } from './filter-lists.ts'
import { type OwnPage, fetchOwnPages, readSelectors } from './own-pages.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'
import { countElements, findHiddenElements } from './hidden-elements.ts'

const browser = useBrowser()
const server = useServer()
let publisher: PageServer
let page: Page
let lists: readonly LoadedList[]
let pages: readonly OwnPage[]

/** Open an article of the publisher that contains the markup. */
async function openArticle(markup: string): Promise<void> {
  publisher.responses.set('/article', toHtmlResponse(`<!doctype html><title>Article</title><body>${markup}`))
  await page.goto(`${publisher.origin}/article`)
}

/** Expect that the lists hide none of our elements, and that each list hides its known markup in the same page. */
async function expectUntouched(): Promise<void> {
  const { hidden, missed } = await findHiddenElements(page, lists)
  expect(hidden).toEqual([])
  expect(missed).toEqual([])
}

function count(selector: string): Promise<number> {
  return countElements(page, selector)
}

/** Fetch the embed code of an address by oEmbed. */
async function fetchEmbedCode(address: string): Promise<string> {
  const response = await fetch(`${server.addresses.publicUrl}/oembed?url=${encodeURIComponent(address)}`)
  const { html } = (await response.json()) as { html: string }
  return html
}

/** List placeholders of the loader: without options, with a height, and with each option of the widget. */
function listPlaceholders(kind: 'where-to-buy' | 'deals', address: string): readonly string[] {
  const [channel = '', , gtin = ''] = new URL(address).pathname.split('/').slice(2)
  const rows = OPTION_LIST.filter(
    ({ widget, isFragmentOnly }) => widget !== getOtherKind(kind) && !isFragmentOnly,
  )
  const product = kind === 'deals' ? '' : ` data-gtin="${gtin}"`
  const start = `<div data-vitrine="${kind}" data-channel="${channel}"${product}`
  const options = rows.map(({ example }) =>
    [...new URLSearchParams(example)].slice(0, 1).map(([name, value]) => ` data-${name}="${value}"`),
  )
  return ['', ' data-height="420" style="min-height:420px"', ...options].map(
    (option) => `${start}${String(option)}></div>`,
  )
}

const WIDGET = '.vitrine, .vitrine-inline'

function getOtherKind(kind: 'where-to-buy' | 'deals'): string {
  return kind === 'deals' ? 'where-to-buy' : 'deals'
}

describeWithLists('markup of the server in a browser, hiding rules', () => {
  beforeAll(async () => {
    publisher = await startPageServer()
    lists = LISTS.map(loadList)
    pages = await fetchOwnPages(server.addresses)
  })
  afterAll(() => publisher.close())
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true, viewport: { width: 1_000, height: 1_200 } })
  })

  test('every fragment - in an article - no element is hidden', async () => {
    const fragments = pages.filter(({ kind }) => kind === 'fragment')
    const counts = { boxes: 0, links: 0 }
    for (const { html } of fragments) {
      await openArticle(html)
      await expectUntouched()
      counts.boxes += await count(WIDGET)
      counts.links += await count('a[rel="sponsored nofollow noopener"][target="_blank"]')
    }
    expect(counts.boxes).toBe(fragments.length)
    expect(counts.links).toBeGreaterThan(fragments.length)
  })

  test('every frame, also empty and invalid ones - no element is hidden', async () => {
    const frames = pages.filter(({ kind }) => kind === 'frame')
    const counts = { shown: 0, hidden: 0, invalid: 0 }
    for (const { url } of frames) {
      const response = await page.goto(url)
      await expectUntouched()
      if ((await count(WIDGET)) > 0) counts.shown += 1
      else counts[response?.ok() === true ? 'hidden' : 'invalid'] += 1
    }
    expect(counts).toEqual({ shown: frames.length - 3, hidden: 1, invalid: 2 })
  })

  test.each(['/studio', '/studio/gallery'])('%s - no element is hidden', async (path) => {
    await page.goto(`${server.addresses.publicUrl}${path}`)
    await expectUntouched()
    expect(await count('main')).toBe(1)
  })

  test('placeholders of the loader with every option - neither they nor their frames are hidden', async () => {
    const { box, grid, publicUrl } = server.addresses
    const placeholders = [...listPlaceholders('where-to-buy', box), ...listPlaceholders('deals', grid)]
    await openArticle(`${placeholders.join('\n')}<script src="${publicUrl}/embed.js"></script>`)
    await expectUntouched()
    expect(await count('[data-vitrine] > iframe')).toBe(placeholders.length)
  })

  test('frames of other programs - plain, from oEmbed, and rewritten by WordPress - are not hidden', async () => {
    const { box, grid } = server.addresses
    const codes = await Promise.all([box, grid].map(fetchEmbedCode))
    const rewritten = codes.map((code) =>
      code.replace(
        '<iframe',
        '<iframe class="wp-embedded-content" sandbox="allow-scripts" security="restricted"',
      ),
    )
    const plain = `<iframe src="${box}" title="Where to buy" width="100%" height="716" loading="lazy" style="border:0;margin-block-end:1.5em"></iframe>`
    await openArticle([...codes, ...rewritten, plain].join('\n'))
    await expectUntouched()
    expect(await count('iframe')).toBe(5)
  })

  test('every class and data attribute of the style sheets - no element with it is hidden', async () => {
    const sheets = pages.flatMap(({ url, html }) =>
      [...html.matchAll(/href="([^"]+\.css)"/g)].map(([, address = '']) => new URL(address, url).href),
    )
    const texts = await Promise.all([...new Set(sheets)].map(async (url) => (await fetch(url)).text()))
    const { classes, attributes } = readSelectors(texts.join('\n'))
    const elementsByClass = classes.map((name) =>
      ['div', 'a', 'section', 'span'].map((tag) => `<${tag} class="${name}">x</${tag}>`),
    )
    await openArticle(
      [...elementsByClass.flat(), ...attributes.map((name) => `<div ${name}>x</div>`)].join('\n'),
    )
    await expectUntouched()
    expect(classes.length).toBeGreaterThan(60)
    expect(classes).toContain('vitrine-go')
    expect(attributes.length).toBeGreaterThan(3)
  })
})
