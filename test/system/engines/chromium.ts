import { type Frame, type Page, chromium } from 'playwright-core'
import { getShared } from '../shared.ts'
import type { Engine, EnginePage, Viewport } from './engine.ts'

/** Connect to the shared Chromium. */
export async function connectChromium(): Promise<Engine> {
  const browser = await chromium.connect(await getShared('browser'))
  return {
    async open(viewport: Viewport) {
      const context = await browser.newContext({ viewport })
      return toEnginePage(await context.newPage(), () => context.close())
    },
    disconnect: () => browser.close(),
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
    goto: async (url) => void (await page.goto(url)),
    evaluate: async (expression, frame) => (await find(frame)).evaluate(expression),
    resize: (viewport) => page.setViewportSize(viewport),
    press: (key) => page.keyboard.press(key),
    click: async (selector, frame) => (await find(frame)).click(selector),
    close,
  }
}
