import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { BLOCK_LAYOUTS, LAYOUTS, readAccessibilityTree, useGallery } from './gallery-fixture.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const OPTIONS = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  rules: { 'target-size': { enabled: true } },
  resultTypes: ['violations'],
}

const gallery = useGallery()

/** Check the specimens, or another part of the page. */
async function findViolations(page: Page, part: object = { include: [['.ground']] }): Promise<unknown[]> {
  await page.evaluate(
    '(function open(root) { for (const element of root.querySelectorAll("*")) { if (element.tagName === "DETAILS") element.open = true; if (element.shadowRoot) open(element.shadowRoot) } })(document)',
  )
  await page.addScriptTag({ path: AXE })
  return page.evaluate<unknown[]>(
    `axe.run(${JSON.stringify(part)}, ${JSON.stringify(OPTIONS)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target, failureSummary }) => [id, target, failureSummary])))`,
  )
}

/** Tab through a specimen and list what had the focus, and whether it was visible. */
async function tabThrough(page: Page): Promise<string[]> {
  await page.locator('figcaption a').focus()
  const seen: string[] = []
  for (let left = 60; left > 0; left -= 1) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<string>(`(() => {
      const { activeElement: element } = document
      if (!element || !element.closest('.ground')) return ''
      const shown = [getComputedStyle(element), getComputedStyle(element, '::after')].some(({ outlineStyle, outlineWidth, content }) => outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2)
      const { left, right } = element.closest('li, tr, summary')?.getBoundingClientRect() ?? element.getBoundingClientRect()
      const scroller = element.closest('.vitrine').getBoundingClientRect()
      const inView = right > scroller.left && left < scroller.right
      return element.tagName + (shown ? ' shown' : ' HIDDEN') + (inView ? '' : ' OUT OF VIEW')
    })()`)
    if (stop === '') break
    seen.push(stop)
    if (stop.startsWith('SUMMARY')) await page.keyboard.press('Enter')
  }
  return seen
}

describe('axe, WCAG 2.2 AA', () => {
  // Theme auto equals the light theme here to the pixel: the screenshots verify that.
  test.each(LAYOUTS.flatMap((layout) => ['', 'magazine'].map((theme) => [layout, theme] as const)))(
    '%s, theme "%s", every case, reader prefers light - no violation',
    async (layout, theme) => {
      const page = await gallery.open(`layout=${layout}&theme=${theme}`)
      expect(await page.locator('.ground').count()).toBeGreaterThan(12)
      expect(await findViolations(page)).toEqual([])
    },
  )

  test.each(BLOCK_LAYOUTS)('%s, theme auto, reader prefers dark - no violation', async (layout) => {
    const page = await gallery.open(`layout=${layout}&theme=auto`, { colorScheme: 'dark' })
    const ground = await page.evaluate<string>(
      'getComputedStyle(document.querySelector(".vitrine")).backgroundColor',
    )
    expect(ground).toBe('rgb(27, 26, 24)')
    expect(await findViolations(page)).toEqual([])
  })

  test('where-to-buy-inline, every theme, reader prefers dark - no violation', async () => {
    const page = await gallery.open('layout=where-to-buy-inline', { colorScheme: 'dark' })
    expect(await findViolations(page)).toEqual([])
  })

  test.each(['de', 'ar', 'ja', 'pl'])('%s, every layout and theme - no violation', async (locale) => {
    for (const caseId of ['usual', 'old-prices']) {
      const page = await gallery.open(`case=${caseId}&locale=${locale}`)
      expect(await page.locator('.ground').count()).toBeGreaterThanOrEqual(14)
      expect(await findViolations(page)).toEqual([])
    }
  })

  test.each(['light', 'dark'] as const)(
    'page around the examples, reader prefers %s - no violation',
    async (colorScheme) => {
      const page = await gallery.open('layout=all', { colorScheme })
      expect(await page.getByRole('link', { name: 'More examples' }).count()).toBe(1)
      expect(await findViolations(page, { exclude: [['.ground']] })).toEqual([])
    },
  )

  test.each([
    ['color-contrast', '<p style="color:#bbb">grey</p>'],
    ['target-size', '<a href="#a" style="font-size:6px">one</a> <a href="#b" style="font-size:6px">two</a>'],
    ['link-name', '<a href="#c"></a>'],
  ])('%s - is reported', async (rule, html) => {
    const page = await gallery.open('theme=light&case=paged&layout=deals-grid')
    await page.evaluate(
      `document.querySelector('.ground').insertAdjacentHTML('beforeend', ${JSON.stringify(html)})`,
    )
    expect(await findViolations(page)).toContainEqual(expect.arrayContaining([rule]))
  })
})

test.each([320, 375, 768, 1_440])('window of %i px - does not scroll sideways', async (width) => {
  for (const column of ['phone', 'article', 'page']) {
    const page = await gallery.open(`layout=deals-carousel&width=${column}`, {
      viewport: { width, height: 900 },
    })
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width)
  }
})

test('way back - the link and the tabs open the studio', async () => {
  const page = await gallery.open('')
  await page.getByRole('link', { name: 'Back to the studio' }).click()
  await expect.poll(() => new URL(page.url()).pathname).toBe('/studio')
  await page.getByRole('link', { name: 'Gallery', exact: true }).click()
  await page.getByRole('link', { name: 'Deals', exact: true }).click()
  await expect.poll(() => page.url()).toMatch(/\/studio\?tab=deals$/)
})

describe('accessibility tree', () => {
  test.each(BLOCK_LAYOUTS)(
    '%s - each link names shop and price, or states that the price is at the shop',
    async (layout) => {
      const page = await gallery.open(`layout=${layout}&theme=light&case=usual`)
      const example = (await readAccessibilityTree(page))
        .filter(({ role }) => role === 'link')
        .map(({ name }) => name)
      const shops = example.filter((name) => name.includes('€'))
      expect(shops.length).toBeGreaterThanOrEqual(5)
      for (const name of shops)
        expect(name).toMatch(
          /(?:Novabrück|Tindra|Pfefferkorn|Kestrel|Maison|Velofjell|Quillhaven|Oakmere).*€\d+\.\d\d|€\d+\.\d\d.*(?:Novabrück)/,
        )
    },
  )

  test.each(BLOCK_LAYOUTS)(
    '%s - old and new price are distinguished, and the old one is labelled as the shop’s',
    async (layout) => {
      const page = await gallery.open(`layout=${layout}&theme=light&case=usual`)
      const text = (await readAccessibilityTree(page))
        .filter(({ role }) => role === 'StaticText')
        .map(({ name }) => name.trim())
        .join(' ')
      const [now, was] = layout.startsWith('deals') ? ['€149.00', '€249.00'] : ['€189.00', '€249.00']
      expect(text).toContain(`now ${now} Shop’s former price ${was}`)
    },
  )

  test.each([1_300, 340])('table in a window of %i px - has column and row headers', async (width) => {
    const page = await gallery.open('layout=where-to-buy-table&theme=light&case=usual&width=article', {
      viewport: { width, height: 900 },
    })
    const nodes = await readAccessibilityTree(page)
    expect(nodes.filter(({ role }) => role === 'table')).toHaveLength(1)
    expect(nodes.filter(({ role }) => role === 'columnheader').map(({ name }) => name)).toEqual([
      'Shop',
      'Availability',
      'Price',
      'Link',
    ])
    expect(nodes.filter(({ role }) => role === 'rowheader')).toHaveLength(5)
    expect(nodes.filter(({ role }) => role === 'cell')).toHaveLength(15)
  })

  test.each([1_300, 340])('round-up as a table in a window of %i px - has its headers', async (width) => {
    const page = await gallery.open('layout=picks-table&theme=light&case=usual&width=article', {
      viewport: { width, height: 900 },
    })
    const nodes = await readAccessibilityTree(page)
    expect(nodes.filter(({ role }) => role === 'columnheader').map(({ name }) => name)).toEqual([
      'Picture',
      'Product',
      'Lowest listed price',
      'Shops',
    ])
    expect(nodes.filter(({ role }) => role === 'rowheader')).toHaveLength(6)
    expect(nodes.filter(({ role }) => role === 'cell')).toHaveLength(18)
  })

  test.each(BLOCK_LAYOUTS.filter((layout) => layout.startsWith('picks') || layout === 'where-to-buy-list'))(
    '%s, everything open - no two links have the same name',
    async (layout) => {
      const caseId = layout.startsWith('picks') ? 'thirty' : 'variants'
      const page = await gallery.open(`layout=${layout}&theme=light&case=${caseId}`)
      await page.evaluate(
        'for (const details of document.querySelectorAll(".ground details")) details.open = true',
      )
      const names = (await readAccessibilityTree(page))
        .filter(({ role, name }) => role === 'link' && name.includes('€'))
        .map(({ name }) => name)
      expect(names.length).toBeGreaterThan(15)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    },
  )

  test('carousel - its buttons have names in the language of the widget', async () => {
    const page = await gallery.open('layout=deals-carousel&theme=light&case=usual&locale=de')
    const names = (await readAccessibilityTree(page))
      .filter(({ role }) => role === 'button')
      .map(({ name }) => name)
    expect(names).toContain('Weitere Angebote')
  })
})

describe('keyboard', () => {
  test.each(BLOCK_LAYOUTS.filter((layout) => layout.startsWith('picks')))(
    '%s - links and folds in their order, each with a visible focus',
    async (layout) => {
      const page = await gallery.open(`layout=${layout}&theme=light&case=usual`)
      const stops = await tabThrough(page)
      expect(stops.filter((stop) => stop === 'A shown')).toHaveLength(6 + 7 + 4 + 3 + 4)
      expect(stops.filter((stop) => stop === 'SUMMARY shown')).toHaveLength(4)
      expect(stops).toHaveLength(28)
    },
  )

  test('carousel - each card scrolls into view when its link is focused', async () => {
    const page = await gallery.open('layout=deals-carousel&theme=light&case=usual', {
      // Reduced motion makes scrolling immediate, so its end position can be checked.
      reducedMotion: 'reduce',
    })
    const stops = await tabThrough(page)
    expect(stops.filter((stop) => stop === 'A shown')).toHaveLength(6)
    expect(stops.filter((stop) => stop.startsWith('A ') && stop !== 'A shown')).toEqual([])
  })
})
