import { describe, expect, test } from 'vitest'
import { LANGUAGE_TAGS } from '../../src/widgets/locales/index.ts'
import { LAYOUTS, useGallery } from './gallery-place.ts'

const gallery = useGallery()

/** Names what reaches out of its widget, and widgets that are wider than their column; a carousel's cards may. */
const FIND_OVERFLOW = `[...document.querySelectorAll('.ground')].flatMap((ground) => {
  const root = ground.querySelector('.vitrine-host')?.shadowRoot ?? ground
  const widget = root.querySelector('.vitrine')
  const sheet = widget.getBoundingClientRect()
  const clipped = (element) => element.closest('[data-layout="carousel"] .vitrine-deals') || element.closest('.vitrine-said, .vitrine-go-text, thead')
  const out = [...widget.querySelectorAll('*')].filter((element) => {
    const { left, right, width } = element.getBoundingClientRect()
    return width > 0 && !clipped(element) && (left < sheet.left - 0.5 || right > sheet.right + 0.5)
  })
  const cut = [...widget.querySelectorAll('a, p, th, td, .vitrine-price, .vitrine-state')].filter((element) =>
    !clipped(element) && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
  const wide = sheet.width > ground.clientWidth - 23.5 ? [ground.id + ' is wider than its column'] : []
  return [...wide, ...[...out, ...cut].map((element) => ground.id + ': ' + element.outerHTML.slice(0, 120))]
})`

describe('in a column of 280 px', () => {
  test.each(LANGUAGE_TAGS)('%s, every layout - nothing reaches out', async (locale) => {
    const { page, context } = await gallery.open(`case=narrow&theme=light&locale=${locale}`)
    expect(await page.locator('.vitrine').count()).toBe(LAYOUTS.length)
    expect(
      await page
        .locator('.vitrine')
        .first()
        .evaluate((element) => element.clientWidth),
    ).toBe(280)
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
    await context.close()
  })

  test.each(LAYOUTS)('%s, every case - nothing reaches out', async (layout) => {
    const { page, context } = await gallery.open(`layout=${layout}&theme=light`)
    await page.addStyleTag({ content: '.specimens[data-width] { --specimen: 304px }' })
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
    await context.close()
  })
})

describe('in wider columns', () => {
  test.each(['phone', 'article', 'page'])(
    '%s, every layout and case - nothing reaches out',
    async (width) => {
      const { page, context } = await gallery.open(`theme=light&width=${width}`)
      expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
      await context.close()
    },
  )

  test('text of twice the size, as readers set it - nothing reaches out', async () => {
    const { page, context } = await gallery.open('theme=light&case=usual')
    await page.addStyleTag({ content: ':root { --vitrine-font-size: 32px }' })
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
    await context.close()
  })
})

describe('without scripts', () => {
  test('the fold opens, the carousel scrolls, every link is there', async () => {
    const { page, context } = await gallery.open('theme=light&case=usual', { javaScriptEnabled: false })
    const disclosures = page.locator('details.vitrine-more')
    expect(await disclosures.count()).toBe(4)
    for (const disclosure of await disclosures.all()) {
      expect(await disclosure.locator('a').first().isVisible()).toBe(false)
      await disclosure.locator('summary').click()
      expect(await disclosure.locator('a').first().isVisible()).toBe(true)
    }
    const last = page.locator('[data-layout="carousel"] .vitrine-deal').last()
    await last.scrollIntoViewIfNeeded()
    expect(await last.locator('a').isVisible()).toBe(true)
    expect(await page.locator('.ground a[rel="sponsored nofollow noopener"][target="_blank"]').count()).toBe(
      4 * 7 + 3 * 6,
    )
    await context.close()
  })

  test('pages of a grid in a frame - its links lead from page to page inside the frame', async () => {
    const { page, context } = await gallery.open('layout=deals-grid&case=one&theme=light', {
      javaScriptEnabled: false,
    })
    const [channelId] =
      /[0-9a-f-]{36}/.exec(await (await page.request.get(`${gallery.publicUrl()}/studio`)).text()) ?? []
    await page.goto(`${gallery.publicUrl()}/embeds/${channelId}/deals?limit=3&layout=carousel&theme=dark`)
    const readTitle = async (): Promise<string> => page.locator('.vitrine-name').first().innerText()
    const first = await readTitle()
    await page.getByRole('link', { name: 'Next page' }).click()
    await page.waitForURL(/page=2/)
    expect(await readTitle()).not.toBe(first)
    expect(await page.locator('.vitrine').getAttribute('data-layout')).toBe('carousel')
    expect(await page.locator('.vitrine').getAttribute('data-theme')).toBe('dark')
    await page.getByRole('link', { name: 'Previous page' }).click()
    await page.waitForURL((url) => !url.search.includes('page='))
    expect(await readTitle()).toBe(first)
    await context.close()
  })
})

describe('on paper', () => {
  test('every card of a carousel and every folded shop is there', async () => {
    const { page, context } = await gallery.open('theme=light&case=usual')
    await page.emulateMedia({ media: 'print' })
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.vitrine-more .vitrine-merchant')].map((element) => element.getBoundingClientRect().height)`,
    )
    expect(heights).toHaveLength(8)
    expect(heights.filter((height) => height < 10)).toEqual([])
    const outside = await page.evaluate<number>(
      `(() => { const list = document.querySelector('[data-layout="carousel"] .vitrine-deals'); const { right } = list.getBoundingClientRect()
        return [...list.children].filter((card) => card.getBoundingClientRect().right > right + 1).length })()`,
    )
    expect(outside).toBe(0)
    await context.close()
  })
})
