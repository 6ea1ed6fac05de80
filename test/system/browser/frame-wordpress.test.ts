import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** The frame's side of the WordPress protocol; test/system/wordpress/ tests it with a real WordPress. */
const browser = useBrowser()
const server = useServer()
let page: Page
let publisher: PageServer

beforeAll(async () => {
  publisher = await startPageServer()
})
afterAll(() => publisher.close())
beforeEach(async () => {
  page = await browser.newPage()
})

type FrameMessage = Readonly<{ message?: string; value?: number | string; secret?: string; type?: string }>

/** Open a page with the frame as WordPress writes it, and record its messages. */
async function openFrame(address: string, hash = '#?secret=aB3dE6gH9j', style = ''): Promise<void> {
  const body = `<!doctype html><script>seen = []; addEventListener('message', ({ data }) => seen.push(data))</script>
    <iframe class="wp-embedded-content" sandbox="allow-scripts" src="${address}${hash}" width="600" height="300" style="${style}"></iframe>`
  publisher.responses.set('/', toHtmlResponse(body))
  await page.goto(`${publisher.origin}/`)
}

const listMessages = async (message: string): Promise<readonly FrameMessage[]> =>
  (await page.evaluate<FrameMessage[]>('seen')).filter((received) => received.message === message)

const frame = (): ReturnType<Page['frameLocator']> => page.frameLocator('iframe')

describe('frame in WordPress', () => {
  test('shown - sends its height with the secret, and again when WordPress sends ready', async () => {
    await openFrame(server.addresses.box)
    await expect.poll(async () => (await listMessages('height')).at(-1)?.value).toBeGreaterThan(200)
    const before = (await listMessages('height')).length
    await page.evaluate(
      "document.querySelector('iframe').contentWindow.postMessage({ message: 'ready', secret: 'aB3dE6gH9j' }, '*')",
    )
    await expect.poll(async () => (await listMessages('height')).length).toBeGreaterThan(before)
    for (const { secret } of await listMessages('height')) expect(secret).toBe('aB3dE6gH9j')
  })

  test('ready from another frame of the page - is ignored', async () => {
    await openFrame(server.addresses.box)
    await expect.poll(async () => (await listMessages('height')).length).toBeGreaterThan(1)
    const before = (await listMessages('height')).length
    const sendReady = "frames[0].postMessage({ message: 'ready', secret: 'aB3dE6gH9j' }, '*')"
    publisher.responses.set(
      '/other',
      toHtmlResponse(`<script>parent.${sendReady}; parent.postMessage('sent', '*')</script>`),
    )
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('iframe'), { src: '/other' }))",
    )
    await expect.poll(() => page.evaluate("seen.includes('sent')")).toBe(true)
    // The page's message arrives after the frame's, and only the page's gets a reply.
    await page.evaluate(sendReady)
    await expect.poll(async () => (await listMessages('height')).length).toBe(before + 1)
  })

  test('not painted when it loads - sends a height anyway: otherwise it would never be shown', async () => {
    await openFrame(server.addresses.box, '#?secret=abc', 'display:none')
    await expect.poll(async () => (await listMessages('height')).length).toBeGreaterThan(0)
  })

  test('hidden - sends nothing to WordPress, which then shows nothing', async () => {
    await openFrame(server.addresses.box.replace(/\d{14}$/, '09521234500005'))
    await expect.poll(async () => page.evaluate("seen.some(({ type }) => type === 'hidden')")).toBe(true)
    expect(await listMessages('height')).toEqual([])
  })

  test('shop link - a message opens an address of this server, which redirects to the shop', async () => {
    await openFrame(server.addresses.box)
    const link = frame().getByRole('link').first()
    const href = await link.getAttribute('href')
    await link.click()
    await expect.poll(async () => (await listMessages('link')).length).toBe(1)
    const [received] = await listMessages('link')
    const go = String(received?.value)
    expect(new URL(go).origin).toBe(new URL(server.addresses.publicUrl).origin)
    expect(received?.secret).toBe('aB3dE6gH9j')
    const response = await page.request.get(go, { maxRedirects: 0 })
    expect([response.status(), response.headers()['location']]).toEqual([302, href])
  })

  test('other pages of a grid - still have the secret', async () => {
    await openFrame(`${server.addresses.grid}?limit=4`)
    await frame().getByRole('link', { name: 'Next page' }).click()
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/page=2#\?secret=aB3dE6gH9j$/)
    await frame().locator('a[data-go]').first().click()
    await expect.poll(async () => (await listMessages('link')).length).toBe(1)
  })

  test('no secret - no WordPress messages, and links are ordinary links', async () => {
    await openFrame(server.addresses.box, '')
    await expect.poll(async () => page.evaluate("seen.some(({ type }) => type === 'height')")).toBe(true)
    await frame().getByRole('link').first().click()
    expect(await page.evaluate("seen.filter((data) => 'message' in data)")).toEqual([])
  })
})
