import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const browser = useBrowser()
const server = useServer()

/** Open the studio in a separate page until the end of the test. */
async function open(query: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  await page.goto(`${server.addresses.publicUrl}/studio${query}`)
  return page
}

const TABS = [
  '?find=lamp&limit=99&merchant=Nobody',
  '?layout=inline',
  '?gtin=09520001001024~09520001001031&else=09520002004017,09520009999999&also=lamp&sub=my+page',
  '?tab=picks',
  '?tab=picks&gtins=09520001001024,09520002004017,09520009999999&label=Best+overall&find=lamp',
  '?tab=deals&accent=red',
  '?tab=coverage',
  '?tab=feeds',
  '?tab=health',
]

/** Open every disclosure, and show every view of the widget. */
const unfold = (page: Page): Promise<unknown> =>
  page.evaluate(`for (const details of document.querySelectorAll('details')) {
    details.removeAttribute('name')
    details.open = true
  }
  for (const input of document.querySelectorAll('[name="view"]')) input.value = 'all'`)

describe('studio, accessibility', () => {
  const views = TABS.flatMap((tab) =>
    (['light', 'dark'] as const).flatMap((scheme) =>
      [390, 1280].map((width) => [tab, scheme, width] as const),
    ),
  )

  test.each(views)('%s, %s, %i px - axe finds no violation', async (tab, colorScheme, width) => {
    const page = await open(tab, { colorScheme, bypassCSP: true, viewport: { width, height: 900 } })
    await unfold(page)
    await page.addScriptTag({ path: AXE })
    const violations = await page.evaluate<unknown[]>(
      `axe.run({ exclude: [['iframe']] }, { runOnly: ${JSON.stringify(AXE_TAGS)} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`,
    )
    expect(violations).toEqual([])
  })
})
