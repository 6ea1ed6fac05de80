import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../catalog-service/harness.ts'
import { useBrowser } from '../use-browser.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const browser = useBrowser()

/** Open the service's start page in a separate page; collect what it loads and its console errors. */
async function open(
  options: BrowserContextOptions = {},
): Promise<{ page: Page; loaded: string[]; errors: string[]; url: string }> {
  const { url } = await startTestService()
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options })
  const loaded: string[] = []
  const errors: string[] = []
  page.on('request', (request) => loaded.push(request.url().replace(url, '')))
  page.on('console', (message) => errors.push(message.text()))
  await page.goto(`${url}/`)
  return { page, loaded, errors, url }
}

describe('page of the catalog service', () => {
  const views = (['light', 'dark'] as const).flatMap((scheme) =>
    [360, 1200].map((width) => [scheme, width] as const),
  )

  test.each(views)('%s, %i px - axe finds no violation', async (colorScheme, width) => {
    const { page } = await open({ colorScheme, bypassCSP: true, viewport: { width, height: 900 } })
    await page.addScriptTag({ path: AXE })
    const violations = await page.evaluate<unknown[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(AXE_TAGS)} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`,
    )
    expect(violations).toEqual([])
  })

  test('any width - does not scroll sideways', async () => {
    const { page } = await open()
    for (const width of [320, 360, 390, 768, 1200, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      const sizes = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]')
      expect(sizes).toEqual([width, width])
    }
  })

  test('with its content policy - loads only itself and its style sheet, and nothing is blocked', async () => {
    const { page, loaded, errors, url } = await open()
    expect(page.url()).toBe(`${url}/docs`)
    expect(loaded.filter((path) => path !== '/favicon.ico')).toEqual(['/', '/docs', '/docs.css'])
    const font = await page.evaluate<string>("getComputedStyle(document.querySelector('h1')).fontWeight")
    expect(font).toBe('500')
    expect(errors).toEqual([])
  })
})
