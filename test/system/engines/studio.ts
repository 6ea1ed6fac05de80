import { expect, test } from 'vitest'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

const server = useServer()

/** Address of the visible preview, as an expression. */
const PREVIEW = `[...document.querySelectorAll('.stage iframe')].find((frame) => frame.checkVisibility())?.src`

const readCode = (page: EnginePage, id: string): Promise<string> =>
  page.evaluate<string>(`document.querySelector('#snippet-${id} code').textContent`)

/** Select an option like a reader: the browser sends both events. */
const select = (page: EnginePage, id: string, value: string): Promise<void> =>
  run(
    page,
    `const field = document.querySelector('${id}')
     field.value = '${value}'
     for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }))`,
  )

export const studioSuite = defineSuite('studio', (engine) => {
  test('changed option - preview, snippets and address change at once, on the same page', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio`)
    await waitUntil(page, `${PREVIEW}?.includes('theme=light')`)
    await run(page, 'window.marked = true')
    await select(page, '#option-locale', 'de')
    await waitUntil(page, `document.querySelector('#option-heading').placeholder === 'Preise im Vergleich'`)
    await select(page, '#option-theme', 'dark')
    await waitUntil(page, `${PREVIEW}?.includes('theme=dark')`)
    expect(await readCode(page, 'loader')).toContain('data-theme="dark"')
    expect(await readCode(page, 'iframe')).toContain('theme=dark')
    expect(await page.evaluate('[location.search, window.marked]')).toEqual([
      expect.stringContaining('theme=dark'),
      true,
    ])
  })

  test('layout inline - the link in a sentence, only code for sentences, and the values of hidden fields stay', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio?theme=dark`)
    await waitUntil(page, `${PREVIEW}?.includes('theme=dark')`)
    await run(page, 'window.marked = true')
    await select(page, '#option-layout', 'inline')
    await waitUntil(page, `${PREVIEW}?.includes('/studio/sentence?')`)
    const frame = '.stage[data-size="article"][data-ground="dark"] iframe'
    await waitUntil(page, `document.querySelector('.vitrine-inline a')?.getClientRects().length === 1`, frame)
    expect(await page.evaluate<boolean>('document.documentElement.scrollHeight <= innerHeight', frame)).toBe(
      true,
    )
    await page.click('label:has([name="view"][value="code"])')
    const seen = `[...document.querySelectorAll('.snippet')].filter((one) => one.checkVisibility())`
    expect(
      await page.evaluate<string[]>(`${seen}.map((one) => one.querySelector('summary').innerText)`),
    ).toEqual([
      'Browser script (fetch)',
      'WordPress shortcode',
      'nginx include (SSI)',
      'Varnish include (ESI)',
      'PHP',
      'Code of your server (fetch)',
    ])
    expect(await page.evaluate<boolean[]>(`${seen}.map((one) => one.open)`)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ])
    expect(await page.evaluate<boolean>(`${seen}[1].querySelector('p span').checkVisibility()`)).toBe(false)
    expect(await readCode(page, 'ssi')).not.toContain('theme')
    const theme = `document.querySelector('#option-theme')`
    expect(await page.evaluate(`[${theme}.checkVisibility(), ${theme}.value]`)).toEqual([false, 'dark'])
    await select(page, '#option-layout', 'list')
    await page.click('label:has([name="view"][value="preview"])')
    await waitUntil(page, `${PREVIEW}?.includes('theme=dark')`)
    expect(await page.evaluate(`[${theme}.checkVisibility(), window.marked]`)).toEqual([true, true])
  })

  test('closed snippet - stays closed when an option changes', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio`)
    await page.click('label:has([name="view"][value="code"])')
    await page.click('.snippet[open] summary')
    await waitUntil(page, `document.querySelector('.snippet[open]') === null`)
    await select(page, '#option-theme', 'dark')
    await waitUntil(page, `document.querySelector('#snippet-loader code').textContent.includes('dark')`)
    expect(await page.evaluate(`document.querySelector('.snippet[open]') === null`)).toBe(true)
  })

  test('Tab, then Enter - skips to the preview, and the skip link is visible while it has the focus', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio`)
    await page.press('Tab')
    const link = `document.activeElement.getBoundingClientRect()`
    expect(
      await page.evaluate(
        `[document.activeElement.textContent, ${link}.width > 100, ${link}.top >= 0, ${link}.left >= 0]`,
      ),
    ).toEqual(['Skip to the preview', true, true, true])
    await page.press('Enter')
    await page.press('Tab')
    expect(await page.evaluate(`[location.hash, document.activeElement.closest('.stage-area')?.id]`)).toEqual(
      ['#stage', 'stage'],
    )
    expect(await page.evaluate(`document.querySelector('.skip').offsetWidth`)).toBe(1)
  })

  test('preview of a widget - opens to its content', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio`)
    // Previews are loaded when they come into view.
    await run(page, 'document.querySelector(".stages").scrollIntoView()')
    await waitUntil(
      page,
      `[...document.querySelectorAll('.stage iframe')].some((frame) => frame.offsetHeight > 200)`,
    )
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
  })

  test('copy button - copies the snippet and confirms it', async () => {
    const page = await engine.open()
    await page.goto(`${server.addresses.publicUrl}/studio`)
    await run(
      page,
      `copied = []
       const write = navigator.clipboard.writeText.bind(navigator.clipboard)
       navigator.clipboard.writeText = (text) => { copied.push(text); return write(text) }`,
    )
    await page.click('label:has([name="view"][value="code"])')
    const button = 'details.snippet[open] button[data-copy]'
    await page.click(button)
    await waitUntil(page, `document.querySelector('${button}').textContent.trim() === 'Copied'`)
    expect(await page.evaluate('copied')).toEqual([await readCode(page, 'loader')])
  })

  test.each([320, 390, 768, 1_280, 1_920])('window of %i px - does not scroll sideways', async (width) => {
    const page = await engine.open({ width, height: 900 })
    for (const query of ['?find=lamp&limit=99&merchant=Nobody', '?tab=deals&accent=red', '?tab=health']) {
      await page.goto(`${server.addresses.publicUrl}/studio${query}`)
      await run(
        page,
        `for (const details of document.querySelectorAll('details')) {
           details.removeAttribute('name')
           details.open = true
         }`,
      )
      expect(await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')).toEqual([
        width,
        width,
      ])
    }
  })
})
