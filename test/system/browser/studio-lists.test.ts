import type { BrowserContextOptions, FrameLocator, Page, Route } from 'playwright-core'
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
  await page.goto(/^\w+:/.test(address) ? address : `${server.addresses.publicUrl}/studio${address}`)
}

/** Wait until the check passes: a page's content policy blocks Playwright's `waitForFunction`. */
const until = (check: () => Promise<void>): Promise<void> =>
  vi.waitFor(check, { interval: 30, timeout: 5_000 })

/** Headphones, lamps and more of the sample data. */
const [FIRST, SECOND, THIRD, FOURTH] = [
  '09520001001024',
  '09520002004017',
  '09520002005014',
  '09520001001062',
] as const

const listRows = (): Promise<string[]> =>
  page.locator('#list .row').evaluateAll((rows) => rows.map((row) => row.id.replace('row-', '')))
const readQuery = (): URLSearchParams => new URL(page.url()).searchParams
const readCode = async (id: string): Promise<string> =>
  (await page.locator(`#snippet-${id} code`).textContent()) ?? ''
const readFocus = (): Promise<string> => page.evaluate<string>('document.activeElement.id')
/** Mark the document: without the mark, the page was loaded again. */
const mark = (): Promise<unknown> => page.evaluate('window.marked = true')
const isMarked = (): Promise<boolean> => page.evaluate<boolean>('window.marked === true')
const waitForRows = (...gtins: readonly string[]): Promise<void> =>
  until(async () => expect(await listRows()).toEqual(gtins))
const waitForAddress = (name: string, values: readonly string[]): Promise<void> =>
  until(async () => expect(readQuery().getAll(name)).toEqual(values))

async function find(text: string): Promise<void> {
  await page.locator('#find').fill(text)
  await page.locator('#find-button').click()
}

/** Return the titles and labels of a round-up in their order. */
async function readRoundUp(frame: FrameLocator): Promise<string[]> {
  const products = frame.locator('.vitrine-picks li:has(h3, .vitrine-title)')
  await products.first().waitFor()
  return products.evaluateAll((items) => items.map((item) => (item.textContent ?? '').replace(/\s+/g, ' ')))
}

describe('round-up with script', () => {
  test('search, add, reorder, label, copy - on one page, and the snippet shows the same order', async () => {
    await open('?tab=picks')
    await mark()
    expect(await page.locator('.notice').textContent()).toContain('Your list is empty.')
    await page.locator(`#add-${FIRST}`).click()
    await waitForRows(FIRST)
    await until(async () => expect(await page.locator('.notice').textContent()).toContain('Add one more'))
    await find('lamp')
    await page.locator(`#add-${SECOND}`).click()
    await waitForRows(FIRST, SECOND)
    await page.locator(`#add-${THIRD}`).click()
    await waitForRows(FIRST, SECOND, THIRD)
    await page.locator(`#label-${THIRD}`).fill('Best value')
    await waitForAddress('label', ['', '', 'Best value'])
    // Two clicks without waiting: both are applied.
    await page.locator(`#up-${THIRD}`).click()
    await page.locator(`#up-${THIRD}`).click()
    await waitForRows(THIRD, FIRST, SECOND)
    await page.locator(`#label-${SECOND}`).fill('Large & bright')
    const labels = ['Best value', '', 'Large & bright']
    await waitForAddress('label', labels)
    await waitForAddress('gtins', [[THIRD, FIRST, SECOND].join(',')])
    expect(readQuery().has('change')).toBe(false)
    expect([await isMarked(), problems]).toEqual([true, []])
    await until(async () =>
      expect(await readCode('loader')).toContain('data-label="Best value||Large &amp; bright"'),
    )
    expect(await readCode('wordpress')).toContain('labels="Best value||Large &amp; bright"')
    const shown = await readRoundUp(page.frameLocator('.stage:visible iframe'))
    expect(shown).toHaveLength(3)

    const html = `<!doctype html><title>Mine</title><link rel="icon" href="data:,">${await readCode('loader')}`
    const host = await startPageServer(new Map([['/', toHtmlResponse(html)]]))
    onTestFinished(() => host.close())
    await page.close()
    await open(`${host.origin}/`)
    const pasted = await readRoundUp(page.frameLocator('iframe'))
    expect(pasted.map((text) => labels.findIndex((label) => label !== '' && text.includes(label)))).toEqual([
      0, -1, 2,
    ])
    expect(pasted.map((text) => /Pendant|Headphones|Table Lamp/.exec(text)?.[0])).toEqual([
      'Pendant',
      'Headphones',
      'Table Lamp',
    ])
    expect(problems).toEqual([])
  })

  test('keyboard - the focus stays on the product that was moved, and in the list after a removal', async () => {
    await open(`?tab=picks&gtins=${FIRST},${SECOND},${THIRD}`)
    await page.locator(`#down-${FIRST}`).focus()
    await page.keyboard.press('Enter')
    await waitForRows(SECOND, FIRST, THIRD)
    await until(async () => expect(await readFocus()).toBe(`down-${FIRST}`))
    await page.keyboard.press('Enter')
    await waitForRows(SECOND, THIRD, FIRST)
    await until(async () => expect(await readFocus()).toBe(`up-${FIRST}`))
    const added = page.locator('[id^="add-"]').last()
    const foundId = ((await added.getAttribute('id')) ?? '').replace('add', 'found')
    await added.focus()
    const scrolled = await page.locator('.matches').evaluate((list) => list.scrollTop)
    expect(scrolled).toBeGreaterThan(0)
    await page.keyboard.press('Enter')
    await until(async () => expect(await readFocus()).toBe(foundId))
    expect(await page.locator(`#${foundId}`).textContent()).toContain('In the list')
    expect(await page.locator('.matches').evaluate((list) => list.scrollTop)).toBe(scrolled)
    await page.locator(`#remove-${foundId.replace('found-', '')}`).click()
    await waitForRows(SECOND, THIRD, FIRST)
    await page.locator(`#remove-${THIRD}`).focus()
    await page.keyboard.press('Enter')
    await waitForRows(SECOND, FIRST)
    await until(async () => expect(await readFocus()).toBe('list'))
    expect(problems).toEqual([])
  })

  test('open code and text typed meanwhile - stay when the list changes', async () => {
    await open(`?tab=picks&gtins=${FIRST},${SECOND}`)
    await page.getByRole('radio', { name: 'Embed code' }).check()
    await page.locator('details.snippet', { hasText: 'Plain iframe' }).locator('summary').click()
    const held: Route[] = []
    await page.route(/change=/, (route) => void held.push(route))
    await page.locator(`#up-${SECOND}`).click()
    await page.locator(`#label-${FIRST}`).fill('Typed late')
    await until(async () => expect(held).toHaveLength(1))
    await held[0]?.continue()
    await waitForRows(SECOND, FIRST)
    await waitForAddress('label', ['', 'Typed late'])
    expect(await page.locator(`#label-${FIRST}`).inputValue()).toBe('Typed late')
    expect(await page.locator('details.snippet[open]').textContent()).toContain('Plain iframe')
    await until(async () => expect(await readCode('iframe')).toContain(`${SECOND},${FIRST}`))
  })

  test('server unavailable - is reported, and the next change is applied', async () => {
    await open(`?tab=picks&gtins=${FIRST},${SECOND}`)
    await page.route(/change=/, (route) => route.abort(), { times: 1 })
    await page.locator(`#up-${SECOND}`).click()
    await until(async () => expect(await page.locator('.notice').textContent()).toContain('does not respond'))
    await page.locator(`#up-${SECOND}`).click()
    await waitForRows(SECOND, FIRST)
    await until(async () => expect(await page.locator('.notice').isVisible()).toBe(false))
  })

  test('below two products again - the preview gives way to what to do, and comes back', async () => {
    await open(`?tab=picks&gtins=${FIRST},${SECOND}`)
    await page.locator(`#remove-${SECOND}`).click()
    await until(async () => expect(await page.locator('.notice').textContent()).toContain('Add one more'))
    expect(await page.locator('.pane').count()).toBe(0)
    await page.locator(`#add-${FOURTH}`).click()
    await until(async () => expect(await page.locator('.stage:visible iframe').count()).toBe(1))
    expect(await page.locator('.switches').isVisible()).toBe(true)
    await page.getByRole('radio', { name: 'Embed code' }).check()
    expect(await page.getByRole('button', { name: 'Copy' }).first().isVisible()).toBe(true)
  })
})

test('round-up without script - buttons are sufficient, and the address can be shared', async () => {
  await open('?tab=picks', { javaScriptEnabled: false })
  await find('headphones')
  await page.locator(`#add-${FIRST}`).click()
  await page.locator(`#add-${FOURTH}`).click()
  await find('lamp')
  await page.locator(`#label-${FOURTH}`).fill('Studio')
  await page.locator(`#add-${SECOND}`).click()
  await page.locator(`#up-${FOURTH}`).click()
  expect(await listRows()).toEqual([FOURTH, FIRST, SECOND])
  expect(readQuery().getAll('label')).toEqual(['Studio'])
  await page.locator(`#label-${SECOND}`).fill('Bright')
  await page.getByRole('button', { name: 'Apply labels' }).click()
  expect(readQuery().getAll('label')).toEqual(['Studio', '', 'Bright'])
  expect(await readCode('loader')).toContain('data-label="Studio||Bright"')
  const address = (await page.locator('[aria-labelledby="share"] code').textContent()) ?? ''
  await page.goto(address)
  expect(await listRows()).toEqual([FOURTH, FIRST, SECOND])
  expect(await page.locator(`#label-${SECOND}`).inputValue()).toBe('Bright')
  expect(problems).toEqual([])
})

test('text that is typed but not searched for, then another option - product, variant and stand-in stay', async () => {
  await open(`?gtin=${FIRST}~${THIRD}&else=${SECOND}`)
  await mark()
  await page.locator('#find').fill('lamp')
  await page.locator('#option-theme').selectOption('dark')
  await waitForAddress('theme', ['dark'])
  expect([readQuery().getAll('gtin'), readQuery().getAll('else')]).toEqual([[`${FIRST}~${THIRD}`], [SECOND]])
  expect(await page.locator('#find').inputValue()).toBe('lamp')
  expect([await isMarked(), problems]).toEqual([true, []])
})

test('explanation of a product that is open, then another product before it - the same one is open', async () => {
  await open(`?tab=picks&gtins=${FIRST},${SECOND}`)
  await page.getByRole('radio', { name: 'Explain' }).check()
  await page.locator(`details.why-product[data-key="${FIRST}"] summary`).click()
  await page.locator(`#down-${FIRST}`).click()
  await waitForRows(SECOND, FIRST)
  const readOpen = (): Promise<(string | null)[]> =>
    page
      .locator('details.why-product[open]')
      .evaluateAll((items) => items.map((item) => item.getAttribute('data-key')))
  expect(await readOpen()).toEqual([FIRST])
})

test('variants and stand-ins with script - added and removed on one page', async () => {
  await open(`?gtin=${FIRST}`)
  await mark()
  await page.getByText('Variants and stand-ins').click()
  await page.locator('#also').fill('lamp')
  await page.locator('#also').press('Enter')
  await page.locator(`#stand-in-${SECOND}`).click()
  await waitForAddress('else', [SECOND])
  await page.locator(`#variant-${THIRD}`).click()
  await waitForAddress('gtin', [`${FIRST}~${THIRD}`])
  expect(await page.locator(`#row-${THIRD}`).textContent()).toContain('Shown below the first one')
  await until(async () => expect(await readCode('loader')).toContain(`data-gtin="${FIRST}~${THIRD}"`))
  await page.locator(`#drop-${SECOND}`).click()
  await waitForAddress('else', [])
  expect([await isMarked(), problems]).toEqual([true, []])
})
