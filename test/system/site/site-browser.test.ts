import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { getShared } from '../shared.ts'
import { useBrowser } from '../use-browser.ts'
import type { BuiltSite } from './start-site.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const PAGES = [
  'index.html',
  'contents.html',
  'publish/embedding.html',
  'publish/options.html',
  'publish/options-boxes.html',
  'operate/configuration.html',
  'contribute/architecture.html',
  'reference/catalog-openapi.html',
  'reference/openapi.html',
  'gallery/index.html',
  'gallery/where-to-buy-inline.html',
  'files/integrations/php/vitrine.php.html',
  '../versions.html',
  '../404.html',
]

const browser = useBrowser()
let site: BuiltSite

beforeAll(async () => {
  site = await getShared('documentation')
})

const toUrl = (path: string): string => `${site.url}${site.version}/${path}`

type Visit = Readonly<{ page: Page; requests: string[]; errors: string[] }>

/** Open a page as a new visitor; collect its requests and the messages of the console. */
async function open(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  const requests: string[] = []
  const errors: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(String(error)))
  await page.goto(toUrl(path))
  return { page, requests, errors }
}

async function findViolations(page: Page): Promise<unknown[]> {
  await page.addScriptTag({ path: AXE })
  return page.evaluate<unknown[]>(
    `axe.run(document, { runOnly: ${JSON.stringify(AXE_TAGS)} }).then(({ violations }) =>
      violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`,
  )
}

async function search(page: Page, query: string): Promise<void> {
  await page.keyboard.press('/')
  await page.getByRole('searchbox').fill(query)
  await page.locator('.results a').first().waitFor()
}

describe('accessibility', () => {
  const views = (['light', 'dark'] as const).flatMap((scheme) =>
    [390, 1280].map((width) => [scheme, width] as const),
  )

  test.each(views)(
    '%s, %i px - axe finds no violation, and no page scrolls sideways',
    async (colorScheme, width) => {
      for (const path of PAGES) {
        const { page } = await open(path, { colorScheme, viewport: { width, height: 900 } })
        expect(await findViolations(page), path).toEqual([])
        expect(await page.evaluate<number>('document.documentElement.scrollWidth'), path).toBe(width)
      }
    },
  )

  test.each(['light', 'dark'] as const)(
    'search and menu, open, %s - axe finds no violation',
    async (colorScheme) => {
      const { page } = await open('publish/styling.html', {
        colorScheme,
        viewport: { width: 390, height: 900 },
      })
      await page.getByRole('button', { name: 'Menu' }).click()
      expect(await findViolations(page)).toEqual([])
      await page.keyboard.press('Escape')
      await search(page, 'price')
      expect(await findViolations(page)).toEqual([])
    },
  )

  test('keyboard - the first Tab stop leads to the content', async () => {
    const { page } = await open('publish/embedding.html')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).hash).toBe('#content')
  })
})

describe('requests', () => {
  test.each(PAGES)('%s - requests only files of the site, and logs nothing', async (path) => {
    const { page, requests, errors } = await open(path)
    await page.evaluate('for (const image of document.images) image.loading = "eager"')
    await page.waitForLoadState('networkidle')
    expect(requests.filter((url) => !url.startsWith(site.url))).toEqual([])
    expect(errors).toEqual([])
  })

  test('an unknown address - shows the page 404.html with its style', async () => {
    const page = await browser.newPage()
    const response = await page.goto(`${site.url}9.9/publish/nothing/here.html`)
    expect(response?.status()).toBe(404)
    expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).fontWeight')).toBe('500')
    await page.getByRole('link', { name: 'All pages' }).click()
    await page.waitForURL(toUrl('contents.html'))
  })

  test('start of the site - leads to the newest version', async () => {
    const page = await browser.newPage({ javaScriptEnabled: false })
    await page.goto(site.url)
    await expect.poll(() => page.url()).toBe(toUrl('index.html'))
  })
})

describe('without a script', () => {
  test('page - the list of all pages is in place of the search, and menu and contents open', async () => {
    const { page } = await open('publish/embedding.html', {
      javaScriptEnabled: false,
      viewport: { width: 390, height: 900 },
    })
    await page.getByRole('button', { name: 'Menu' }).click()
    await page
      .getByRole('navigation', { name: 'Documentation' })
      .getByRole('link', { name: 'Styling' })
      .click()
    await page.waitForURL(toUrl('publish/styling.html'))
    await page.getByRole('button', { name: 'On this page' }).click()
    await page
      .getByRole('navigation', { name: 'On this page' })
      .getByRole('link', { name: 'Colours' })
      .click()
    await expect.poll(() => new URL(page.url()).hash).toBe('#colours')
    expect(await page.locator('[data-theme-switch], .copy').filter({ visible: true }).count()).toBe(0)
    await page.locator('.masthead').getByRole('link', { name: 'All pages' }).click()
    await page.waitForURL(toUrl('contents.html'))
  })

  test('live options - are shown with their style', async () => {
    const { page } = await open('publish/options-boxes.html', { javaScriptEnabled: false })
    const width = await page.evaluate(
      "getComputedStyle(document.querySelector('.example .vitrine')).borderTopWidth",
    )
    expect(width).toBe('2px')
    expect(await page.locator('.example').count()).toBeGreaterThan(10)
  })
})

describe('search', () => {
  test('"/", a question, Enter - opens the section with the answer', async () => {
    const { page } = await open('index.html')
    await search(page, 'How old can a price be?')
    expect(await page.getByRole('status').textContent()).toMatch(/^\d+ pages$/)
    await page.keyboard.press('Enter')
    await page.waitForURL(toUrl('operate/caching.html#maximum-age-of-a-price'))
  })

  test('the program is late - what is typed meanwhile is kept and found', async () => {
    const { page } = await open('operate/cdn.html')
    const held: Route[] = []
    await page.route('**/search-*.js', (route) => void held.push(route))
    await page.keyboard.press('/')
    await page.keyboard.type('cookies')
    expect(await page.getByRole('searchbox').inputValue()).toBe('cookies')
    await vi.waitFor(() => expect(held).toHaveLength(1))
    await held[0]?.continue()
    await page.locator('.results a').first().waitFor()
    expect(await page.getByRole('status').textContent()).toMatch(/^\d+ pages$/)
  })

  test.each(['**/search-*.js', '**/search.json'])('%s fails - links to all pages', async (address) => {
    const { page } = await open('operate/cdn.html')
    await page.route(address, (route) => route.abort())
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'All pages' }).click()
    await expect.poll(() => page.url()).toBe(toUrl('contents.html'))
  })

  test('arrow keys - move between the field and the results', async () => {
    const { page } = await open('operate/cdn.html')
    await search(page, 'wordpress')
    const readFocus = (): Promise<string> => page.evaluate('document.activeElement.tagName')
    await page.keyboard.press('ArrowDown')
    expect(await readFocus()).toBe('A')
    await page.keyboard.press('ArrowUp')
    expect(await readFocus()).toBe('INPUT')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('a query with markup - is shown as text', async () => {
    const { page } = await open('index.html')
    await search(page, '<b>price</b> (.*')
    await page.getByRole('searchbox').fill('<zzqq>')
    await expect.poll(() => page.getByRole('status').textContent()).toContain('<zzqq>')
    expect(await page.locator('dialog zzqq, .results b b').count()).toBe(0)
  })
})

const readSurface = (page: Page): Promise<string> =>
  page.evaluate('getComputedStyle(document.body).backgroundColor')
const readWidget = (page: Page): Promise<string> =>
  page.evaluate("getComputedStyle(document.querySelector('.vitrine')).backgroundColor")

describe('theme', () => {
  test('switch - changes page and widgets, also on the next page, and can be undone', async () => {
    const { page } = await open('index.html', { colorScheme: 'light' })
    const [light, lightWidget] = [await readSurface(page), await readWidget(page)]
    await page.getByRole('button', { name: 'Dark theme' }).click()
    expect(await readSurface(page)).not.toBe(light)
    expect(await readWidget(page)).not.toBe(lightWidget)
    await page.goto(toUrl('publish/options-boxes.html'))
    expect(await readSurface(page)).not.toBe(light)
    expect(await readWidget(page)).not.toBe(lightWidget)
    await page.getByRole('button', { name: 'Dark theme' }).click()
    expect(await readSurface(page)).toBe(light)
    expect(await readWidget(page)).toBe(lightWidget)
  })

  test('live option theme - keeps the theme of each example', async () => {
    const { page } = await open('publish/options-all.html', { colorScheme: 'light' })
    await page.getByRole('button', { name: 'Dark theme' }).click()
    const themes = await page
      .locator('section.option:has(#theme) .vitrine')
      .evaluateAll((widgets) => widgets.map((widget) => widget.getAttribute('data-theme')))
    expect(themes).toEqual(['dark', 'light', 'dark'])
  })
})

describe('tools of a page', () => {
  test('code and tables on a phone - have a shadow at the side to which they go on', async () => {
    const { page } = await open('publish/embedding.html', { viewport: { width: 390, height: 900 } })
    for (const selector of ['pre', '.scroll']) {
      const attachment = await page.evaluate(
        `getComputedStyle(document.querySelector('${selector}')).backgroundAttachment`,
      )
      expect(attachment).toBe('local, local, scroll, scroll')
    }
  })

  test('copy button - copies the code', async () => {
    const { page } = await open('publish/wordpress.html', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const block = page.locator('.code').first()
    await block.hover()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await block.locator('code').textContent(),
    )
  })

  test('version menu - leads to the other version', async () => {
    const { page } = await open('publish/embedding.html')
    await page.getByRole('combobox', { name: 'Version' }).selectOption('0.0')
    await expect.poll(() => page.url()).toBe(`${site.url}0.0/index.html`)
  })

  test('a newer version exists - the page says so', async () => {
    const page = await browser.newPage()
    await page.route('**/versions.json', (route) => route.fulfill({ json: ['99.0', site.version] }))
    await page.goto(toUrl('publish/embedding.html'))
    await page.getByText('This page is about an older version.').waitFor()
    expect(await page.getByRole('link', { name: 'The newest is 99.0.' }).getAttribute('href')).toBe(
      '../../99.0/index.html',
    )
  })
})
