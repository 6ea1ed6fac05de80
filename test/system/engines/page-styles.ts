import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { toPlaceholder, useLoaderPages, listProducts } from './loader-pages.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

const server = useServer()
let publisher: PageServer
beforeAll(async () => {
  publisher = await startPageServer()
})
afterAll(() => publisher.close())

const LIGHT = 'rgb(250, 248, 244)'
const DARK = 'rgb(27, 26, 24)'

/** Parts of a page that has the scheme, and the surface of a widget with `theme=auto` in it. The reader's system is light. */
const SCHEMES = [
  ['page without a scheme', '', LIGHT],
  ['dark page', '<style>:root { color-scheme: dark }</style>', DARK],
  ['light page', '<style>:root { color-scheme: light }</style>', LIGHT],
  ['page with both schemes', '<style>:root { color-scheme: light dark }</style>', LIGHT],
  ['dark part of a page', '<style>main { color-scheme: dark }</style>', DARK],
  [
    'light part of a dark page',
    '<style>:root { color-scheme: dark } main { color-scheme: light }</style>',
    LIGHT,
  ],
  [
    'dark page with a dark background, without a scheme',
    '<style>body { background: #111; color: #eee }</style>',
    LIGHT,
  ],
  ['page that its meta element makes dark', '<meta name="color-scheme" content="dark">', DARK],
  ['page whose meta element is in capitals', '<meta name="color-scheme" content="DARK">', DARK],
  ['page whose meta element has both schemes', '<meta name="color-scheme" content="dark light">', LIGHT],
] as const

const readStyle = (selector: string, property: string): string =>
  `getComputedStyle(root.querySelector('${selector}')).${property}`

export const pageStylesSuite = defineSuite('widgets in the styles of a page', (engine) => {
  const openArticle = async (path: string, css: string, head = ''): Promise<EnginePage> => {
    const { origin, pathname } = new URL(server.addresses.box)
    const box = `${origin}${pathname.replace('/embeds/', '/fragments/')}`
    const fragment = await (
      await fetch(path.startsWith('?') ? `${box}${path}` : box.replace(/where-to-buy.*/, path))
    ).text()
    publisher.responses.set(
      '/',
      toHtmlResponse(
        `<!doctype html><html lang="en"><head><title>Article</title><style>${css}</style>${head}</head><body><main style="display:block;width:700px"><p id="above">Above</p>${fragment}<p id="below">Below</p></main></body></html>`,
      ),
    )
    const page = await engine.open()
    await page.goto(`${publisher.origin}/`)
    await loadPictures(page)
    await run(page, 'root = document.querySelector(".vitrine-host")?.shadowRoot ?? document')
    return page
  }
  const PICKS = 'picks/09520001001024,09520001001017'

  test.each(
    ['none', 'shadow'].flatMap((isolate) =>
      SCHEMES.map(([title, head, surface]) => ({ isolate, title, head, surface })),
    ),
  )('isolate=$isolate, theme=auto in a $title - has its colours', async ({ isolate, head, surface }) => {
    const page = await openArticle(`?isolate=${isolate}`, '', head)
    expect(await page.evaluate(readStyle('.vitrine', 'backgroundColor'))).toBe(surface)
  })

  test('plain iframe, theme=auto - is light, and dark where the browser tells it that its element is', async () => {
    for (const scheme of ['light', 'dark']) {
      publisher.responses.set(
        '/',
        toHtmlResponse(
          `<!doctype html><html lang="en"><title>Article</title><iframe src="${server.addresses.box}" style="color-scheme:${scheme}"></iframe>`,
        ),
      )
      const page = await engine.open()
      await page.goto(`${publisher.origin}/`)
      const surface = await page.evaluate(
        'getComputedStyle(document.querySelector(".vitrine")).backgroundColor',
        'iframe',
      )
      expect(surface).toBe(scheme === 'dark' && engine.name === 'Firefox' ? DARK : LIGHT)
    }
  })

  test.each([
    ['light', LIGHT],
    ['dark', DARK],
  ])('theme=%s - is the same in light and dark pages', async (theme, surface) => {
    for (const scheme of ['light', 'dark']) {
      const page = await openArticle(`?theme=${theme}`, `:root { color-scheme: ${scheme} }`)
      expect(await page.evaluate(readStyle('.vitrine', 'backgroundColor'))).toBe(surface)
    }
  })

  test.each(['none', 'shadow'])(
    'isolate=%s - there is space below, which any rule of the page replaces',
    async (isolate) => {
      const readSpace = `document.querySelector('#below').getBoundingClientRect().top - root.querySelector('.vitrine').getBoundingClientRect().bottom`
      const article = await openArticle(`?isolate=${isolate}`, 'p { margin: 0 0 1em }')
      expect(await article.evaluate(readSpace)).toBe(24)
      for (const rule of [
        'div, section { margin: 0 0 10px }',
        '.vitrine-host, .vitrine { margin: 0 0 10px }',
      ]) {
        const page = await openArticle(`?isolate=${isolate}`, `p { margin: 0 } ${rule}`)
        expect(await page.evaluate(readSpace)).toBe(10)
      }
    },
  )

  test.each([
    ...['list', 'table', 'card', 'button'].map((layout) => `?layout=${layout}`),
    ...['rank', 'row'].map((layout) => `${PICKS}?layout=${layout}`),
    ...['grid', 'list'].map((layout) => `deals?layout=${layout}&limit=4`),
  ])('%s in columns of phones - price and shop of a row are its link', async (path) => {
    const page = await openArticle(path, '')
    for (const widthPx of [300, 390]) {
      await run(page, `document.querySelector('main').style.width = '${widthPx}px'`)
      const misses = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.vitrine-offer, .vitrine-button, .vitrine-deal, .vitrine-pick')].flatMap((row) =>
          [...row.querySelectorAll('.vitrine-merchant, .vitrine-price, .vitrine-seller')].flatMap((part) => {
            if (part.getClientRects().length === 0 || part.closest('details')) return []
            part.scrollIntoView({ block: 'center', inline: 'center' })
            const { left, top, width, height } = part.getBoundingClientRect()
            const link = document.elementFromPoint(left + width / 2, top + height / 2)?.closest('a')
            return link && (row.contains(link) || link.contains(row)) ? [] : [part.className + ' ' + part.textContent]
          }))`,
      )
      expect(misses).toEqual([])
    }
  })

  test.each([
    ['table of a box', '?layout=table'],
    ['table of a round-up', `${PICKS}?layout=table`],
  ])('%s, page with separate borders - keeps its lines and its edges', async (_title, path) => {
    const page = await openArticle(
      path,
      'table { border-collapse: separate; border-spacing: 4px; border-width: 1px 0 0 1px } td, th { border: 1px solid red }',
    )
    expect(await page.evaluate(readStyle('table', 'borderCollapse'))).toBe('collapse')
    const lines = await page.evaluate<string[]>(
      `[...root.querySelectorAll('tbody tr')].map((row) => getComputedStyle(row).borderTopWidth + ' ' + getComputedStyle(row).borderTopStyle)`,
    )
    expect(new Set(lines)).toEqual(new Set(['1px solid']))
    const [table, title] = await page.evaluate<number[]>(
      `['table', '.vitrine-table th, .vitrine-table td'].map((part) => Math.round(root.querySelector(part).getBoundingClientRect().left))`,
    )
    expect(title).toBe(table)
  })

  test('spacing and small capitals of the page - end at the widget, those for the widget do not', async () => {
    const css = `* { letter-spacing: 3px; word-spacing: 5px } bdi, p, span { font-variant: small-caps }`
    const properties = ['letterSpacing', 'wordSpacing', 'fontVariantCaps'] as const
    const readAll = async (page: EnginePage, selector: string): Promise<string[]> =>
      Promise.all(properties.map((property) => page.evaluate<string>(readStyle(selector, property))))
    const page = await openArticle('?', css)
    for (const selector of ['.vitrine-title', '.vitrine-merchant bdi', '.vitrine-price bdi', '.vitrine-note'])
      expect((await readAll(page, selector)).map((value) => value.replace(/^0px$/, 'normal'))).toEqual([
        'normal',
        'normal',
        'normal',
      ])
    const own = await openArticle('?', `${css} .vitrine-title { letter-spacing: 1px }`)
    expect(await own.evaluate(readStyle('.vitrine-title', 'letterSpacing'))).toBe('1px')
  })

  test('pictures - are not blended with what is behind them, which a forced dark mode darkens', async () => {
    const page = await openArticle('?', '')
    const modes = await page.evaluate<string[]>(
      `[...root.querySelectorAll('.vitrine *')].map((element) => getComputedStyle(element).mixBlendMode)`,
    )
    expect(new Set(modes)).toEqual(new Set(['normal']))
  })
})

export const frameThemesSuite = defineSuite('loader, theme of the page', (engine) => {
  const pages = useLoaderPages(engine)
  const readTheme = '(new URL(document.querySelector("iframe").src)).searchParams.get("theme")'
  const readScheme = 'getComputedStyle(document.querySelector("iframe")).colorScheme'

  test.each(SCHEMES)('%s - the frame has its colours', async (_title, head, surface) => {
    const page = await pages.open(`${head}<main>${toPlaceholder('1')}</main>`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    expect(await page.evaluate(readTheme)).toBe(surface === DARK ? 'dark' : null)
    expect(await page.evaluate(readScheme)).toBe(surface === DARK ? 'dark' : 'light')
  })

  test.each(SCHEMES)(
    '%s, placeholder in a shadow root - the frame has its colours',
    async (_title, head, surface) => {
      const page = await pages.open(`${head}<main></main>`)
      await waitUntil(page, 'typeof vitrine === "object"')
      await run(
        page,
        `root = document.querySelector('main').attachShadow({ mode: 'open' })
       root.innerHTML = \`${toPlaceholder('1')}\`
       vitrine.scan(root)`,
      )
      await waitUntil(page, 'root.querySelector("iframe")')
      const address = await page.evaluate<string>('root.querySelector("iframe").src')
      expect(new URL(address).searchParams.get('theme')).toBe(surface === DARK ? 'dark' : null)
    },
  )

  test.each(['light', 'dark'])('data-theme="%s" - whatever the page is', async (theme) => {
    const page = await pages.open(
      `<style>:root { color-scheme: ${theme === 'dark' ? 'light' : 'dark'} }</style>${toPlaceholder('1', `data-theme="${theme}"`)}`,
    )
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    expect(await page.evaluate(readTheme)).toBe(theme)
  })

  test('page with a switch for its theme - the frame follows it', async () => {
    const page = await pages.open(
      `<style>.dark { color-scheme: dark }</style><main><section>${toPlaceholder('1')}</section></main>`,
    )
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    await run(page, 'document.documentElement.className = "dark"')
    await waitUntil(page, `${readTheme} === 'dark'`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    await run(
      page,
      'document.documentElement.className = ""; document.querySelector("main").style.colorScheme = "dark"',
    )
    await page.evaluate('new Promise(requestAnimationFrame)')
    expect(await page.evaluate(readTheme)).toBe('dark')
    await run(page, 'document.querySelector("main").style.colorScheme = "light"')
    await waitUntil(page, `${readTheme} === null`)
  })

  test('page that changes its meta element - the frame follows it', async () => {
    const page = await pages.open(`<meta name="color-scheme" content="light">${toPlaceholder('1')}`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    for (const [scheme, theme] of [
      ['dark', 'dark'],
      ['light dark', null],
    ]) {
      await run(page, `document.querySelector('meta').content = '${scheme}'`)
      await page.evaluate('new Promise(requestAnimationFrame)')
      expect(await page.evaluate(readTheme)).toBe(theme)
      await expect.poll(() => listProducts(page)).toEqual(['1'])
    }
  })
})
