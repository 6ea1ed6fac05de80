import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { OPTION_LIST } from '../../../src/widgets/options.ts'
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

/** Opens an article of the publisher with the markup in it. */
async function openArticle(markup: string): Promise<void> {
  publisher.responses.set('/article', toHtmlResponse(`<!doctype html><title>Article</title><body>${markup}`))
  await page.goto(`${publisher.origin}/article`)
}

/** Nothing of ours is hidden, and each list has hidden what it is known to hide in the same page. */
async function expectUntouched(): Promise<void> {
  const { hidden, missed } = await findHiddenElements(page, lists)
  expect(hidden).toEqual([])
  expect(missed).toEqual([])
}

function count(selector: string): Promise<number> {
  return countElements(page, selector)
}

/** What `/embeds/` announces for sites that turn an address into a frame. */
async function fetchEmbedCode(address: string): Promise<string> {
  const answer = await fetch(`${server.addresses.publicUrl}/oembed?url=${encodeURIComponent(address)}`)
  const { html } = (await answer.json()) as { html: string }
  return html
}

/** A placeholder for each option of the widget, as the documentation writes it. */
function listPlaceholders(kind: 'where-to-buy' | 'deals', address: string): readonly string[] {
  const [channel = '', , gtin = ''] = new URL(address).pathname.split('/').slice(2)
  const rows = OPTION_LIST.filter(
    ({ widget, isFragmentOnly }) => widget !== otherThan(kind) && !isFragmentOnly,
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

function otherThan(kind: 'where-to-buy' | 'deals'): string {
  return kind === 'deals' ? 'where-to-buy' : 'deals'
}

describeWithLists('markup of the running server, in a browser with the hiding rules', () => {
  beforeAll(async () => {
    publisher = await startPageServer()
    lists = LISTS.map(loadList)
    pages = await fetchOwnPages(server.addresses)
  })
  afterAll(() => publisher.close())
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true, viewport: { width: 1_000, height: 1_200 } })
  })

  test('every fragment - in an article - all elements and links stay as they are', async () => {
    const fragments = pages.filter(({ kind }) => kind === 'fragment')
    const seen = { boxes: 0, links: 0 }
    for (const { html } of fragments) {
      await openArticle(html)
      await expectUntouched()
      seen.boxes += await count('.vitrine')
      seen.links += await count('a[rel="sponsored nofollow noopener"][target="_blank"]')
    }
    expect(seen.boxes).toBe(fragments.length)
    expect(seen.links).toBeGreaterThan(fragments.length)
  })

  test('every frame, the empty and the mistaken ones too - all elements and links stay as they are', async () => {
    const frames = pages.filter(({ kind }) => kind === 'frame')
    const seen = { shown: 0, hidden: 0, mistaken: 0 }
    for (const { url } of frames) {
      const answer = await page.goto(url)
      await expectUntouched()
      if ((await count('.vitrine')) > 0) seen.shown += 1
      else seen[answer?.ok() === true ? 'hidden' : 'mistaken'] += 1
    }
    expect(seen).toEqual({ shown: frames.length - 3, hidden: 1, mistaken: 2 })
  })

  test.each(['/studio', '/studio/gallery'])('%s - all elements and links stay as they are', async (path) => {
    await page.goto(`${server.addresses.publicUrl}${path}`)
    await expectUntouched()
    expect(await count('main')).toBe(1)
  })

  test("the loader's placeholders with every option - they and their frames stay as they are", async () => {
    const { box, grid, publicUrl } = server.addresses
    const placeholders = [...listPlaceholders('where-to-buy', box), ...listPlaceholders('deals', grid)]
    await openArticle(`${placeholders.join('\n')}<script src="${publicUrl}/embed.js"></script>`)
    await expectUntouched()
    expect(await count('[data-vitrine] > iframe')).toBe(placeholders.length)
  })

  test('frames that other programs write - plain, and as WordPress keeps them - stay as they are', async () => {
    const { box, grid } = server.addresses
    const codes = await Promise.all([box, grid].map(fetchEmbedCode))
    const kept = codes.map((code) =>
      code.replace(
        '<iframe',
        '<iframe class="wp-embedded-content" sandbox="allow-scripts" security="restricted"',
      ),
    )
    const plain = `<iframe src="${box}" title="Where to buy" width="100%" height="716" loading="lazy" style="border:0"></iframe>`
    await openArticle([...codes, ...kept, plain].join('\n'))
    await expectUntouched()
    expect(await count('iframe')).toBe(5)
  })

  test('every class and data attribute of the style sheets - none is hidden', async () => {
    const sheets = pages.flatMap(({ url, html }) =>
      [...html.matchAll(/href="([^"]+\.css)"/g)].map(([, address = '']) => new URL(address, url).href),
    )
    const texts = await Promise.all([...new Set(sheets)].map(async (url) => (await fetch(url)).text()))
    const { classes, attributes } = readSelectors(texts.join('\n'))
    const named = classes.map((name) =>
      ['div', 'a', 'section', 'span'].map((tag) => `<${tag} class="${name}">x</${tag}>`),
    )
    await openArticle([...named.flat(), ...attributes.map((name) => `<div ${name}>x</div>`)].join('\n'))
    await expectUntouched()
    expect(classes.length).toBeGreaterThan(60)
    expect(classes).toContain('vitrine-go')
    expect(attributes.length).toBeGreaterThan(3)
  })
})
