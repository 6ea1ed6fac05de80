import { readFile } from 'node:fs/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** Clicks with the real server; test/system/engines/clicks.ts tests the details in every engine. */
const browser = useBrowser()
const server = useServer()
let context: BrowserContext
let page: Page
let publisher: PageServer
let examples: readonly string[]

/** Products of the sample data that shops sell. */
const GTINS = ['09520001001024', '09520001001017'] as const

beforeAll(async () => {
  publisher = await startPageServer()
  const text = await readFile(new URL('../../../docs/publish/frame-messages.md', import.meta.url), 'utf8')
  examples = [...text.matchAll(/```html\n([^`]*(?:`\$[^`]*`[^`]*)?)```/g)].map(([, example = '']) => example)
})
afterAll(() => publisher.close())
beforeEach(async () => {
  page = await browser.newPage()
  context = page.context()
})

const STUBS = '<script>gtagCalls = []; gtag = (...call) => { gtagCalls.push(call) }; _paq = []</script>'

const findChannel = (): string => /[\da-f]{8}-[\da-f-]{27}/.exec(server.addresses.box)?.[0] ?? ''

/** Open a page with the loader, the stubs of the analytics tools, and the documented examples. */
async function openPage(body: string): Promise<void> {
  const script = `<script async src="${server.addresses.publicUrl}/embed.js"></script>`
  publisher.responses.set('/', toHtmlResponse(`<!doctype html>${STUBS}${examples.join('')}${body}${script}`))
  await page.goto(`${publisher.origin}/`)
  await page.waitForFunction('typeof window.vitrine?.scan === "function"')
}

async function fetchFragment(path: string): Promise<string> {
  const response = await fetch(`${server.addresses.publicUrl}/fragments/${findChannel()}/${path}`)
  return response.text()
}

describe('clicks', () => {
  test('documented examples - a round-up in a frame - gtag and Matomo receive the click, and the shop opens', async () => {
    await openPage(
      `<div data-vitrine="picks" data-channel="${findChannel()}" data-gtins="${GTINS.join(', ')}" data-sub="p7"></div>`,
    )
    expect(examples).toHaveLength(2)
    const link = page.frameLocator('iframe').locator(`a[data-gtin="${GTINS[1]}"]`).first()
    const merchant = await link.getAttribute('data-merchant')
    const [shop] = await Promise.all([page.waitForEvent('popup'), link.click()])
    expect(shop.url()).toBe(await link.getAttribute('href'))
    await expect.poll(() => page.evaluate('gtagCalls.length')).toBe(1)
    expect(await page.evaluate('gtagCalls')).toEqual([
      [
        'event',
        'select_item',
        { item_list_id: 'p7', items: [{ item_id: GTINS[1], affiliation: merchant, index: 2 }] },
      ],
    ])
    expect(await page.evaluate('_paq')).toEqual([['trackEvent', 'Shop click', merchant, `p7 ${GTINS[1]}`, 2]])
  })

  test.each(['list', 'inline&isolate=shadow', 'button'])(
    'documented examples - a fragment in the page, layout=%s - receive the click',
    async (layout) => {
      await openPage(await fetchFragment(`where-to-buy/${GTINS[0]}?layout=${layout}&sub=a-b_1`))
      const link = page.locator('a[data-merchant]').first()
      const merchant = await link.getAttribute('data-merchant')
      await Promise.all([page.waitForEvent('popup'), link.click()])
      expect(await page.evaluate('_paq')).toEqual([
        ['trackEvent', 'Shop click', merchant, `a-b_1 ${GTINS[0]}`, 1],
      ])
    },
  )

  test('every way to follow a link - in a frame - opens the shop and is one event', async () => {
    await openPage(
      `<div data-vitrine="where-to-buy" data-channel="${findChannel()}" data-gtin="${GTINS[0]}"></div>`,
    )
    const link = page.frameLocator('iframe').locator('a[data-merchant]').first()
    const follow: readonly (() => Promise<void>)[] = [
      () => link.click(),
      () => link.click({ button: 'middle' }),
      () => link.click({ modifiers: ['ControlOrMeta'] }),
      () => link.press('Enter'),
    ]
    for (const [index, action] of follow.entries()) {
      await Promise.all([context.waitForEvent('page'), action()])
      await page.bringToFront()
      await expect.poll(() => page.evaluate('_paq.length')).toBe(index + 1)
    }
    await link.click({ button: 'right' })
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    )
    expect(await page.evaluate('_paq.length')).toBe(follow.length)
  })

  test('scripts of the page that fail or stop the event - the shop opens, and nothing is stored or requested', async () => {
    await openPage(
      `<script>addEventListener('vitrine:click', (event) => { event.preventDefault(); throw new Error('analytics') }); addEventListener('click', (event) => event.stopImmediatePropagation(), true)</script>
       ${await fetchFragment(`where-to-buy/${GTINS[0]}`)}`,
    )
    const link = page.locator('a[data-merchant]').first()
    await page.waitForLoadState('networkidle')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const [shop] = await Promise.all([page.waitForEvent('popup'), link.click()])
    expect(shop.url()).toBe(await link.getAttribute('href'))
    expect(requests).toEqual([])
    expect(await page.evaluate('[document.cookie, localStorage.length, sessionStorage.length]')).toEqual([
      '',
      0,
      0,
    ])
    expect(await context.cookies()).toEqual([])
  })
})
