import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page, Request, Route } from 'playwright-core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

const browser = useBrowser()
const server = useServer()
let page: Page
/** Errors and warnings in the browser during a test. */
let problems: string[]

/** Open the studio, or another address, in a separate page. */
async function open(address = '', options: BrowserContextOptions = {}): Promise<void> {
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  problems = []
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
  page.on('console', (message) => {
    if (/error|warning/.test(message.type())) problems.push(`console: ${message.text()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`)
  })
  await page.goto(/^\w+:/.test(address) ? address : `${server.addresses.publicUrl}/studio${address}`)
}

/** Wait until the check passes: a page's content policy blocks Playwright's `waitForFunction`. */
const until = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { interval: 30 })

/** Read the address of the visible preview. */
const readPreview = async (): Promise<string> =>
  (await page.locator('.stage:visible iframe').first().getAttribute('src')) ?? ''
const readCode = async (id: string): Promise<string> =>
  (await page.locator(`#snippet-${id} code`).textContent()) ?? ''
/** Read the address of the link to the widget, or of the tab, with this text. */
const readLink = (text: string): Promise<string | null> =>
  page.locator(':is(.addresses, .tabs) a', { hasText: text }).getAttribute('href')
const readQuery = (): URLSearchParams => new URL(page.url()).searchParams
const waitForQuery = (name: string, value: string | null): Promise<void> =>
  until(async () => expect(readQuery().get(name)).toBe(value))

/** Whether the script of the page asks for another state of it. */
const isUpdate = (request: Request): boolean => request.resourceType() === 'xhr'
/** Intercept requests of the script; the browser opens pages as usual. */
const interceptUpdates = (handle: (route: Route) => unknown): Promise<unknown> =>
  page.route(/\/studio\?/, (route) => (isUpdate(route.request()) ? handle(route) : route.continue()))

/** Mark the document: without the mark, the page was loaded again. */
const mark = (): Promise<unknown> => page.evaluate('window.marked = true')
const isMarked = (): Promise<boolean> => page.evaluate<boolean>('window.marked === true')
const readFocus = (): Promise<string> => page.evaluate<string>('document.activeElement.id')

describe('changed option', () => {
  test('any option - previews, snippets, links and address change at once, on the same page, with the same focus', async () => {
    await open()
    await until(async () => expect(await readPreview()).toContain('theme=light'))
    await mark()
    const theme = page.locator('#option-theme')
    await theme.focus()
    await theme.selectOption('dark')
    await until(async () => expect(await readPreview()).toContain('theme=dark'))
    expect(readQuery().get('theme')).toBe('dark')
    for (const id of ['loader', 'pinned']) expect(await readCode(id)).toContain('data-theme="dark"')
    for (const id of ['iframe', 'browser', 'oembed', 'ssi', 'esi', 'php', 'fetch'])
      expect(await readCode(id)).toContain('theme=dark')
    expect(await readCode('wordpress')).toContain('theme="dark"')
    for (const text of ['as a document', 'as a fragment', 'Deals'])
      expect(await readLink(text)).toContain('theme=dark')
    expect(await page.locator('[aria-labelledby="share"] code').textContent()).toBe(page.url())
    expect(await page.locator('a.match').first().getAttribute('href')).toContain('theme=dark')
    expect([await isMarked(), await readFocus()]).toEqual([true, 'option-theme'])
    await theme.selectOption('auto')
    await until(async () => expect(await readPreview()).toContain('theme=light'))
    expect(readQuery().get('theme')).toBeNull()
    expect(problems).toEqual([])
  })

  test('browser script of the layout inline - works in the sentence of any page', async () => {
    await open('?layout=inline')
    const code = await readCode('browser')
    const article = `${server.addresses.publicUrl}/article.html`
    const isolated = code.replace('layout=inline', 'layout=inline&amp;isolate=shadow')
    const body = `<!doctype html><p>Our pick, ${code.replace('\n', '')}, is light.</p><p>${isolated}</p>`
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.route(article, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(article)
    await page.locator('p > span > .vitrine-inline a').waitFor()
    await page.locator('p .vitrine-host .vitrine-inline a').waitFor()
    expect(await page.locator('p').first().innerText()).toMatch(/^Our pick, ?Ad from \S+ at .+, is light\.$/)
    expect(requests.filter((url) => url.includes('/fragments/'))).toHaveLength(2)
  })

  test('option of fragments only - changes their snippets, not the previews', async () => {
    await open()
    await until(async () => expect(await readPreview()).not.toBe(''))
    const frame = await page.locator('.stage:visible iframe').first().elementHandle()
    await page.locator('summary', { hasText: 'Advanced' }).click()
    await page.locator('#option-isolate').selectOption('shadow')
    await until(async () => expect(await readCode('ssi')).toContain('isolate=shadow'))
    expect(await readCode('loader')).not.toContain('isolate')
    expect(await frame?.evaluate((element) => element.isConnected)).toBe(true)
  })

  test('text - is applied after a pause, not at every key, and the caret stays', async () => {
    await open('?tab=deals')
    await mark()
    let requestCount = 0
    page.on('request', (request) => (requestCount += isUpdate(request) ? 1 : 0))
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 60_000)
    const text = 'lamp of oak'
    await page.locator('#option-q').pressSequentially(text)
    await page.clock.runFor(299)
    expect([await readFocus(), requestCount]).toEqual(['option-q', 0])
    await page.clock.runFor(1)
    await waitForQuery('q', text)
    expect([await isMarked(), await readFocus(), requestCount]).toEqual([true, 'option-q', 1])
    expect(await page.evaluate<number>('document.activeElement.selectionStart')).toBe(text.length)
  })

  test('filter of deals - counts and total are updated', async () => {
    await open('?tab=deals')
    const total = page.locator('summary .badge')
    const before = Number(await total.textContent())
    await page.locator('#option-min_discount').fill('30')
    await until(async () => expect(Number(await total.textContent())).toBeLessThan(before))
    const left = Number(await total.textContent())
    await page.locator('details.checks', { hasText: 'Only these shops' }).locator('summary').click()
    await page.locator('input[name="merchant"]').first().check()
    await until(async () => expect(readQuery().get('merchant')).not.toBeNull())
    expect(Number(await total.textContent())).toBeLessThanOrEqual(left)
    expect(await readPreview()).toContain('merchant=')
    expect(await page.locator('.facets a[href*="brand="]').first().getAttribute('href')).toContain(
      'min_discount=30',
    )
    expect(problems).toEqual([])
  })

  test('option that leaves no offers - the reason is shown, and removed again', async () => {
    await open('?tab=deals')
    const notice = page.locator('.notice')
    expect(await notice.isVisible()).toBe(false)
    await page.locator('#option-max_price').fill('0.01')
    await until(async () => expect(await notice.isVisible()).toBe(true))
    expect(await notice.textContent()).toContain('Nothing is shown now')
    await page.locator('#option-max_price').fill('')
    await until(async () => expect(await notice.isVisible()).toBe(false))
  })

  test.each([
    ['accent', 'red', 'ff6600', 'six hex digits'],
    ['limit', '99', '3', 'a whole number from 1 to 50'],
    ['locale', 'nonsense!', 'de', 'a language tag'],
  ])('%s, invalid - is reported at its field and not applied until it is corrected', async (...row) => {
    const [name, invalid, valid, message] = row
    await open()
    const field = page.locator(`#option-${name}`)
    const wrong = page.locator(`#wrong-${name}`)
    await field.fill(invalid)
    await until(async () => expect(await wrong.isVisible()).toBe(true))
    expect(await wrong.textContent()).toContain(message)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.getAttribute('aria-describedby')).toContain(`wrong-${name}`)
    expect([await field.inputValue(), await readFocus()]).toEqual([invalid, `option-${name}`])
    expect(readQuery().get(name)).toBeNull()
    await field.fill(valid)
    await waitForQuery(name, valid)
    expect(await wrong.isVisible()).toBe(false)
    expect(await field.getAttribute('aria-invalid')).toBeNull()
    expect(problems).toEqual([])
  })

  test('responses out of order - the last request counts', async () => {
    await open()
    const delayed: Route[] = []
    await interceptUpdates((route) =>
      route.request().url().includes('theme=dark') ? void delayed.push(route) : route.continue(),
    )
    await page.evaluate(`window.seen = []
      new MutationObserver(() => window.seen.push(location.search)).observe(
        document.querySelector('.workbench'), { attributes: true })`)
    await page.locator('#option-theme').selectOption('dark')
    await page.locator('#option-theme').selectOption('light')
    await waitForQuery('theme', 'light')
    const lateResponse = page.waitForResponse(/\/studio\?.*theme=dark/)
    await delayed[0]?.continue()
    await (await lateResponse).finished()
    await page.locator('#option-layout').selectOption('card')
    await waitForQuery('layout', 'card')
    const seen = await page.evaluate<string[]>('[location.search, ...window.seen]')
    expect(seen.length).toBeGreaterThan(2)
    expect(seen.filter((search) => search.includes('theme=dark'))).toEqual([])
  })

  test('server error - the form is submitted, and its page has the option', async () => {
    await open()
    await interceptUpdates((route) => route.fulfill({ status: 500 }))
    await page.locator('#option-theme').selectOption('dark')
    await until(async () => expect(await readCode('loader').catch(() => '')).toContain('data-theme="dark"'))
  })

  test('server unavailable - is reported, nothing is lost, and the next change is applied', async () => {
    await open()
    await page.route(/\/studio\?/, (route) => route.abort(), { times: 1 })
    await page.locator('#option-theme').selectOption('dark')
    await until(async () => expect(await page.locator('.notice').textContent()).toContain('does not respond'))
    await page.locator('#option-layout').selectOption('card')
    await waitForQuery('layout', 'card')
    expect([readQuery().get('theme'), await page.locator('.notice').isVisible()]).toEqual(['dark', false])
  })
})

describe('other controls', () => {
  test('channel - opens another page with the same options, also an invalid one', async () => {
    await open('?theme=dark&limit=99')
    await mark()
    const channel = page.locator('#channel')
    const [, other = ''] = await channel
      .locator('option')
      .evaluateAll((options) => options.map((option) => option.getAttribute('value') ?? ''))
    await channel.selectOption(other)
    await waitForQuery('channel', other)
    await until(async () => expect(await isMarked()).toBe(false))
    expect(readQuery().get('theme')).toBe('dark')
    expect(await page.locator('#wrong-limit').isVisible()).toBe(true)
    expect(await readLink('as a document')).toContain(`${other}/where-to-buy/`)
  })

  test('search by Enter - finds products, and the options stay', async () => {
    await open('?theme=dark')
    await page.locator('#find').fill('lamp')
    await page.locator('#find').press('Enter')
    await waitForQuery('find', 'lamp')
    expect(readQuery().get('theme')).toBe('dark')
    expect(await page.locator('.match-title').first().textContent()).toMatch(/lamp/i)
  })

  test('link followed while a response is pending - opens its address', async () => {
    await open()
    await interceptUpdates(() => undefined)
    await page.locator('#option-layout').selectOption('card')
    await page.getByRole('link', { name: 'Deals', exact: true }).click()
    await waitForQuery('tab', 'deals')
    await page.waitForLoadState()
    expect(await page.locator('h1').textContent()).toBe('Deals')
    expect(readQuery().get('tab')).toBe('deals')
  })

  test('back and forward - each page is restored', async () => {
    await open()
    await page.locator('#option-theme').selectOption('dark')
    await waitForQuery('theme', 'dark')
    await page.getByRole('link', { name: 'Deals', exact: true }).click()
    await waitForQuery('tab', 'deals')
    expect(await page.locator('#option-theme').inputValue()).toBe('dark')
    await page.goBack()
    expect([readQuery().get('tab'), readQuery().get('theme')]).toEqual([null, 'dark'])
    expect(await page.locator('#option-theme').inputValue()).toBe('dark')
    await until(async () => expect(await readPreview()).toContain('where-to-buy'))
    expect(await readPreview()).toContain('theme=dark')
    await page.goForward()
    expect(readQuery().get('tab')).toBe('deals')
    expect(problems).toEqual([])
  })
})

test('switches for light and dark, article and phone - work by keyboard', async () => {
  await open()
  const seen = async (): Promise<string[]> =>
    page
      .locator('.stage:visible')
      .evaluateAll((stages) =>
        stages.map((stage) => `${stage.getAttribute('data-size')} ${stage.getAttribute('data-ground')}`),
      )
  expect(await seen()).toEqual(['article light'])
  await page.getByRole('radio', { name: 'Light page' }).focus()
  await page.keyboard.press('ArrowRight')
  expect(await seen()).toEqual(['article dark'])
  await page.getByRole('radio', { name: 'Article' }).focus()
  await page.keyboard.press('ArrowRight')
  expect(await seen()).toEqual(['phone dark'])
  await until(async () => expect(await readPreview()).toContain('theme=dark'))
  expect(problems).toEqual([])
})

test('without script - the button and the links are sufficient', async () => {
  await open('', { javaScriptEnabled: false })
  expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Open the widget itself' }).isVisible()).toBe(true)
  await page.locator('#option-theme').selectOption('dark')
  await page.locator('#option-limit').fill('99')
  await page.getByRole('button', { name: 'Show' }).click()
  expect(readQuery().get('theme')).toBe('dark')
  expect(await readLink('as a document')).toMatch(/theme=dark$/)
  expect(await page.locator('#wrong-limit').textContent()).toContain('from 1 to 50')
  expect(await page.locator('#option-limit').inputValue()).toBe('99')
  await page.locator('#find').fill('lamp')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.locator('a.match').last().click()
  expect(await readLink('as a document')).toContain(readQuery().get('gtin') ?? 'no product')
  expect(readQuery().get('theme')).toBe('dark')
  await page.getByRole('link', { name: 'Deals', exact: true }).click()
  await page.locator('.facets a[href*="brand="]').first().click()
  expect(await readLink('as a fragment')).toMatch(/theme=dark&brand=/)
  await page.getByRole('link', { name: 'Health', exact: true }).click()
  expect(await page.locator('table').innerText()).toContain('The Slow Shelf Magazine')
  expect(problems).toEqual([])
})

test('layout inline without script - shows the link in a sentence, and values of hidden fields stay', async () => {
  await open('?theme=dark', { javaScriptEnabled: false })
  await page.locator('#option-layout').selectOption('inline')
  await page.getByRole('button', { name: 'Show' }).click()
  const sentence = page.frameLocator('.stage:visible iframe')
  expect(await sentence.locator('.vitrine-inline a').isVisible()).toBe(true)
  expect(await sentence.locator('body').innerText()).toMatch(/^A sentence .* from €[\d.]+ at .* readers/)
  expect(await page.locator('#option-theme').isVisible()).toBe(false)
  await page.locator('#option-layout').selectOption('table')
  await page.getByRole('button', { name: 'Show' }).click()
  expect(await page.locator('#option-theme').inputValue()).toBe('dark')
  expect(await readLink('as a document')).toMatch(/\?theme=dark&layout=table$/)
  expect(problems).toEqual([])
})

/** Copy a snippet like a visitor, and read it from the clipboard. */
async function copySnippet(label: string): Promise<string> {
  await page.getByRole('radio', { name: 'Embed code' }).check()
  const snippet = page.locator('details.snippet', { hasText: label })
  if (!(await snippet.evaluate((details) => details.hasAttribute('open'))))
    await snippet.locator('summary').click()
  await snippet.getByRole('button', { name: 'Copy' }).click()
  await snippet.getByRole('button', { name: 'Copied' }).waitFor()
  return page.evaluate<string>('navigator.clipboard.readText()')
}

describe('copy buttons', () => {
  const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

  test('button - copies what is shown, with changes, and confirms it', async () => {
    await open('', CLIPBOARD)
    expect(await copySnippet('Script (any page)')).toBe(await readCode('loader'))
    await page.locator('#option-theme').selectOption('dark')
    await waitForQuery('theme', 'dark')
    await page.getByRole('button', { name: 'Copy' }).first().waitFor()
    expect(await copySnippet('Code of your server (fetch)')).toBe(await readCode('fetch'))
    expect(problems).toEqual([])
  })

  test('without the clipboard interface - copies anyway', async () => {
    await open()
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
    await page.getByRole('radio', { name: 'Embed code' }).check()
    await page.getByRole('button', { name: 'Copy' }).first().click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.locator('#find').focus()
    await page.keyboard.press('Control+V')
    expect(await page.locator('#find').inputValue()).toMatch(/^<!-- Sonderby .* --> <div data-vitri/)
  })

  test.each(['Script (any page)', 'Plain iframe (no script)', 'Pinned script (integrity hash)'])(
    '"%s" pasted into a page - opens from the disk and from a local server',
    async (label) => {
      await open('', CLIPBOARD)
      const html = `<!doctype html><title>Mine</title><link rel="icon" href="data:,"><p>Text</p>\n${await copySnippet(label)}`
      await page.close()
      const folder = await mkdtemp(join(tmpdir(), 'vitrine-newcomer-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'article.html'), html)
      const host = await startPageServer(new Map([['/', toHtmlResponse(html)]]))
      onTestFinished(() => host.close())
      for (const address of [pathToFileURL(join(folder, 'article.html')).href, `${host.origin}/`]) {
        await open(address)
        const box = page.frameLocator('iframe')
        await box.locator('.vitrine-offer').first().waitFor()
        await until(async () =>
          expect(
            await page.evaluate<boolean>(`(({ offsetHeight, style }) => offsetHeight > 100 &&
              style.visibility !== 'hidden')(document.querySelector('iframe'))`),
          ).toBe(true),
        )
        expect([address, ...problems]).toEqual([address])
        await page.close()
      }
    },
  )
})
