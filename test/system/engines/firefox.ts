import { type Browser, type Frame, type Page, connect } from 'puppeteer-core'
import { getShared } from '../shared.ts'
import type { Engine, EnginePage } from './engine.ts'

/** Connect to the shared Firefox over WebDriver BiDi. Firefox accepts one connection at a time. */
export async function connectFirefox(): Promise<Engine> {
  const browser: Browser = await connect({
    browserWSEndpoint: await getShared('firefox'),
    protocol: 'webDriverBiDi',
    defaultViewport: null,
  })
  return {
    async open(viewport) {
      const others = new Set(await browser.pages())
      const page = await browser.newPage()
      await page.setViewport(viewport)
      // Firefox slows down the pages of other tabs.
      await page.bringToFront()
      return toEnginePage(page, async () => {
        // With the tabs that its links have opened.
        for (const opened of await browser.pages()) if (!others.has(opened)) await opened.close()
      })
    },
    disconnect: () => browser.disconnect(),
  }
}

function toEnginePage(page: Page, close: () => Promise<void>): EnginePage {
  const find = async (selector?: string): Promise<Page | Frame> => {
    if (selector === undefined) return page
    const frame = await (await page.$(selector))?.contentFrame()
    if (!frame) throw new Error(`no frame: ${selector}`)
    return frame
  }
  return {
    async goto(url) {
      // Frames that the previous page is still loading would fail the navigation: NS_BINDING_ABORTED.
      await page.evaluate('stop()')
      await page.goto(url)
    },
    evaluate: async <T>(expression: string, frame?: string) =>
      (await (await find(frame)).evaluate(expression)) as T,
    resize: (viewport) => page.setViewport(viewport),
    press: (key) => page.keyboard.press(key === 'Space' ? ' ' : key),
    click: async (selector, frame) => (await find(frame)).click(selector),
    close,
  }
}
