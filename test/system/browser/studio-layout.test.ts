import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

const browser = useBrowser()
const server = useServer()
let page: Page

/** Open the studio in a separate page. */
async function open(query = '', options: BrowserContextOptions = {}): Promise<void> {
  page = await browser.newPage({ viewport: { width: 1280, height: 720 }, ...options })
  await page.goto(`${server.addresses.publicUrl}/studio${query}`)
}

/** Wait until the check passes: a page's content policy blocks Playwright's `waitForFunction`. */
const until = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { interval: 30 })

const readPreview = async (): Promise<string | null> =>
  page.locator('.stage:visible iframe').first().getAttribute('src')
const waitForQuery = (name: string, value: string | null): Promise<void> =>
  until(async () => expect(new URL(page.url()).searchParams.get(name)).toBe(value))
const readFocus = (): Promise<string> => page.evaluate<string>('document.activeElement.id')

/** Read the rectangle of an element in the window. */
const readBox = async (
  selector: string,
): Promise<Readonly<Record<'top' | 'bottom' | 'left' | 'right', number>>> =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const { top, bottom, left, right } = element.getBoundingClientRect()
      return { top, bottom, left, right }
    })

describe('layout of the page', () => {
  test.each([
    ['', 1280, 720],
    ['', 1366, 768],
    ['?tab=deals', 1280, 720],
  ])('%j, %i × %i px - the preview is in view beside the options, also while they scroll', async (...row) => {
    const [query, width, height] = row
    await open(query, { viewport: { width, height } })
    await until(async () => expect((await readBox('.stage:visible iframe')).bottom).toBeGreaterThan(400))
    const settings = await readBox('.settings')
    const before = await readBox('.stages')
    expect(before.left).toBeGreaterThan(settings.right)
    expect(before.top).toBeLessThan(160)
    expect(before.bottom).toBeLessThanOrEqual(height)
    expect(before.bottom - before.top).toBeGreaterThan(450)
    expect((await readBox('.stage:visible iframe')).top).toBeLessThan(200)

    await page.locator('.group').last().scrollIntoViewIfNeeded()
    const after = await readBox('.stages')
    expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(0)
    // At the end of the page, its height can be a fraction of a pixel.
    for (const side of ['top', 'bottom', 'left', 'right'] as const)
      expect(Math.abs(after[side] - before[side])).toBeLessThan(1)
  })

  test('375 px - choice, preview and options are one below the other, in this order', async () => {
    await open('', { viewport: { width: 375, height: 760 } })
    const [start, stages, settings] = [
      await readBox('.start'),
      await readBox('.stages'),
      await readBox('.settings'),
    ]
    expect(stages.top).toBeGreaterThanOrEqual(start.bottom)
    expect(stages.top).toBeLessThan(600)
    expect(settings.top).toBeGreaterThanOrEqual(stages.bottom)
  })

  test('375 px - every copy button is in view, without scrolling sideways', async () => {
    await open('', { viewport: { width: 375, height: 760 } })
    await page.getByRole('radio', { name: 'Embed code' }).check()
    for (const summary of await page.locator('.snippet > summary').all()) {
      if (!(await summary.evaluate((element) => element.parentElement?.hasAttribute('open'))))
        await summary.click()
      const { left, right } = await readBox('[name="snippets"][open] .button')
      expect([left > 200, right <= 375]).toEqual([true, true])
    }
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(375)
  })
})

test.each([
  [1280, 720],
  [375, 400],
])('selected product, %i × %i px - is in view in its list, and the page stays at its top', async (...row) => {
  const [width, height] = row
  await open('?gtin=09520001001086', { viewport: { width, height } })
  const [list, match] = [await readBox('.matches'), await readBox('.match[aria-current]')]
  expect([match.left >= list.left, match.top >= list.top, match.bottom <= list.bottom]).toEqual([
    true,
    true,
    true,
  ])
  expect(match.left).toBeLessThan(list.right - 100)
  expect(await page.evaluate<number>('scrollY')).toBe(0)
})

describe('help', () => {
  test('by keyboard - opens and closes with Enter, and the field keeps its place in the order', async () => {
    await open()
    const help = page.locator('.help', { hasText: 'Help: Layout' })
    await help.locator('summary').focus()
    expect(await help.locator('p').isVisible()).toBe(false)
    await page.keyboard.press('Enter')
    expect(await help.locator('p').isVisible()).toBe(true)
    expect(await help.locator('p').textContent()).toMatch(/Default: list\.$/)
    const [label, text] = [await readBox('label[for="option-layout"]'), await readBox('.help[open] p')]
    expect(text.top).toBeGreaterThanOrEqual(label.bottom)
    await page.keyboard.press('Tab')
    expect(await readFocus()).toBe('option-layout')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    expect(await help.locator('p').isVisible()).toBe(false)
  })

  test('without script - opens too', async () => {
    await open('', { javaScriptEnabled: false })
    const help = page.locator('.help', { hasText: 'Help: Theme' })
    await help.locator('summary').click()
    expect(await help.locator('p').isVisible()).toBe(true)
    expect(await page.locator('input[type="color"]').isVisible()).toBe(false)
  })
})

describe('accent colour', () => {
  test('picked - is in the text field, the preview and the snippets', async () => {
    await open()
    const picker = page.getByLabel('Accent colour: pick')
    const clear = page.getByRole('button', { name: 'Theme’s own' })
    expect([await picker.inputValue(), await clear.isVisible()]).toEqual(['#0f5257', false])
    await picker.fill('#cc3300')
    await waitForQuery('accent', 'cc3300')
    expect(await page.locator('#option-accent').inputValue()).toBe('cc3300')
    expect(await readPreview()).toContain('accent=cc3300')
    expect(await page.locator('#snippet-loader code').textContent()).toContain('data-accent="cc3300"')
  })

  test('typed - is in the picker, also with a leading "#"; an incomplete one leaves the picker', async () => {
    await open('?accent=336699')
    const picker = page.getByLabel('Accent colour: pick')
    expect(await picker.inputValue()).toBe('#336699')
    const field = page.locator('#option-accent')
    await field.fill('#FF6600')
    expect(await picker.inputValue()).toBe('#ff6600')
    await field.fill('ff66')
    expect(await picker.inputValue()).toBe('#ff6600')
  })

  test('button for the theme’s own colour - removes the accent', async () => {
    await open('?accent=336699')
    await page.getByRole('button', { name: 'Theme’s own' }).click()
    await waitForQuery('accent', null)
    expect(await page.getByLabel('Accent colour: pick').inputValue()).toBe('#0f5257')
    expect([await page.locator('#option-accent').inputValue(), await readFocus()]).toEqual([
      '',
      'option-accent',
    ])
    expect(await page.getByRole('button', { name: 'Theme’s own' }).isVisible()).toBe(false)
  })
})
