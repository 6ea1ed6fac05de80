import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/paths.ts'
import { launchChromium } from '../helpers/chromium.ts'
import { type PageServer, startPageServer, toPage } from '../helpers/page-server.ts'

/** Addresses as `vitrine serve --json` prints them. */
type Addresses = { publicUrl: string; studio: string; box: string; grid: string }

let folder: string
let server: ChildProcess
let addresses: Addresses
let browser: Browser
let publisher: PageServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vitrine-browser-'))
  server = spawn(process.execPath, [join(PACKAGE_FOLDER, 'dist/main.js'), 'serve', '--json'], {
    cwd: folder,
    env: { VITRINE_PORT: '0', VITRINE_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(server.stdout as NodeJS.ReadableStream), 'line')) as [string]
  addresses = JSON.parse(line) as Addresses
  browser = await launchChromium()
  publisher = await startPageServer()
})
afterAll(async () => {
  await browser.close()
  await publisher.close()
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

/** A page that notes everything that went wrong on it, and every foreign host that it asked. */
async function openQuietly(url: string): Promise<Readonly<{ page: Page; troubles: string[] }>> {
  const page = await browser.newPage()
  const troubles: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`))
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.url().endsWith('/favicon.ico')) troubles.push(response.url())
  })
  page.on('request', (request) => {
    const { hostname } = new URL(request.url())
    if (hostname !== '127.0.0.1') troubles.push(`foreign: ${request.url()}`)
  })
  await page.goto(url, { waitUntil: 'load' })
  return { page, troubles }
}

/** Looks again until the page gives the value. The pages' own policy lets no text be run in them, the debugger may. */
const waitForValue = (page: Page, expression: string, value: unknown): Promise<void> =>
  vi.waitFor(async () => expect(await page.evaluate(expression)).toBe(value), { timeout: 15_000 })

const countOpenFrames = `[...document.querySelectorAll('iframe')].filter((frame) => frame.offsetHeight > 150).length`

describe('the built server in a browser', () => {
  test('start page – opened – shows a live box and a live grid without a complaint', async () => {
    const { page, troubles } = await openQuietly(addresses.studio)
    await waitForValue(page, countOpenFrames, 2)
    const texts = await Promise.all(
      page
        .frames()
        .slice(1)
        .map((frame) => frame.innerText('body')),
    )
    expect(texts.join('\n')).toContain('To the shop')
    expect(texts.join('\n')).toContain('Deals')
    expect(troubles).toEqual([])
    await page.close()
  })

  test.each(['box', 'grid'] as const)(
    '%s – opened as a page – shows offers and pictures without a complaint',
    async (name) => {
      const { page, troubles } = await openQuietly(addresses[name])
      expect(await page.locator('a[rel~="sponsored"]').count()).toBeGreaterThan(4)
      const pictures = page.locator('img').first()
      await pictures.scrollIntoViewIfNeeded()
      await waitForValue(page, `document.querySelector('img').naturalWidth > 0`, true)
      expect(troubles).toEqual([])
      await page.close()
    },
  )

  test('box – scripts off – shows its offers', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(addresses.box)
    expect(await page.innerText('body')).toContain('To the shop')
    await context.close()
  })

  test('box – its first link – leads to the demonstration shop with tracking parameters', async () => {
    const { page } = await openQuietly(addresses.box)
    const href = await page.locator('a[rel~="sponsored"]').first().getAttribute('href')
    const shop = await openQuietly(href ?? '')
    expect(await shop.page.innerText('body')).toContain('network')
    expect(shop.troubles).toEqual([])
    await shop.page.close()
    await page.close()
  })

  test('page of a publisher – loader with a box, a grid and an unknown product – opens two and leaves no room for the third', async () => {
    const [, channel = ''] = /embeds\/([^/]+)\//.exec(addresses.box) ?? []
    const gtin = addresses.box.split('/').at(-1) ?? ''
    const placeholder = (attributes: string): string => `<div data-channel="${channel}" ${attributes}></div>`
    publisher.answers.set('/favicon.ico', { type: 'image/x-icon', body: '' })
    publisher.answers.set(
      '/',
      toPage(`<!doctype html><title>Article</title><p>Before</p>
        ${placeholder(`data-vitrine="where-to-buy" data-gtin="${gtin}"`)}
        ${placeholder('data-vitrine="where-to-buy" data-gtin="09521234500005"')}
        ${placeholder('data-vitrine="deals" data-limit="4"')}
        <p>After</p><script async src="${addresses.publicUrl}/embed.js"></script>`),
    )
    const { page, troubles } = await openQuietly(`${publisher.origin}/`)
    await page.mouse.wheel(0, 2_000)
    await waitForValue(page, countOpenFrames, 2)
    await waitForValue(page, `document.querySelectorAll('[data-vitrine]')[1].offsetHeight`, 0)
    expect(troubles).toEqual([])
    await page.close()
  })
})
