import { PNG } from 'pngjs'
import { describe, expect, test } from 'vitest'
import { LANGUAGE_TAGS } from '../../../src/widgets/locales/index.ts'
import { useOwnFonts } from './compare-screenshots.ts'
import { BLOCK_LAYOUTS, useGallery } from './gallery-fixture.ts'
import { FIND_OVERFLOW } from './overflow.ts'

const gallery = useGallery()
const LONG_TITLE = 'Adjustable reading lamp with linen shade, '.repeat(6)

describe('in a column of 280 px', () => {
  test.each(LANGUAGE_TAGS)('%s, every layout - nothing overflows', async (locale) => {
    const page = await gallery.open(`case=narrow&theme=light&locale=${locale}`)
    expect(await page.locator('.vitrine').count()).toBe(BLOCK_LAYOUTS.length)
    expect(
      await page
        .locator('.vitrine')
        .first()
        .evaluate((element) => element.clientWidth),
    ).toBe(280)
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
  })
})

describe('in wider columns', () => {
  test.each(LANGUAGE_TAGS)('%s, every layout in an article - nothing overflows', async (locale) => {
    const page = await gallery.open(`case=usual&theme=light&width=article&locale=${locale}`)
    for (const widthPx of [664, 604, 544, 464]) {
      await page.addStyleTag({ content: `.specimens[data-width] { --specimen: ${widthPx}px }` })
      expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
    }
  })

  test.each(['usual', 'shadow'])('%s, doubled text size - is applied, and nothing overflows', async (id) => {
    const page = await gallery.open(`theme=light&case=${id}`)
    await page.addStyleTag({ content: ':root { font-size: 200% }' })
    const sizes = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.ground:not([id*=inline])')].map((ground) => getComputedStyle((ground.querySelector('.vitrine-host')?.shadowRoot ?? ground).querySelector('.vitrine')).fontSize)`,
    )
    expect(new Set(sizes)).toEqual(new Set(['32px']))
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
  })
})

describe('in a column without an explicit width', () => {
  const CONTAINERS = [
    ['a row of flex items', 'display: flex'],
    ['a column of flex items at its start', 'display: flex; flex-direction: column; align-items: flex-start'],
    ['a grid cell at its start', 'display: grid; justify-items: start'],
    ['a float', 'float: left'],
    ['an inline block', 'display: inline-block'],
    ['a cell of a table', 'display: table-cell'],
  ] as const

  test.each(CONTAINERS)('%s - no layout collapses, plain or isolated', async (_container, css) => {
    for (const id of ['usual', 'shadow']) {
      const page = await gallery.open(`theme=light&case=${id}`)
      await page.addStyleTag({ content: `.ground { ${css} } .specimen { overflow: hidden }` })
      const widths = await page.evaluate<number[]>(
        `[...document.querySelectorAll('.ground:not([id*=inline])')].map((ground) => (ground.querySelector('.vitrine-host')?.shadowRoot ?? ground).querySelector('.vitrine').getBoundingClientRect().width)`,
      )
      expect(widths).toHaveLength(BLOCK_LAYOUTS.length)
      expect(widths.filter((width) => width < 279)).toEqual([])
    }
  })
})

describe('text spacing as readers set it (WCAG 1.4.12)', () => {
  test.each(BLOCK_LAYOUTS)('%s - takes effect, and nothing is clipped', async (layout) => {
    const page = await gallery.open(`layout=${layout}&theme=light&case=usual&locale=de`)
    await page.addStyleTag({
      content:
        '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }',
    })
    const spacing = await page.evaluate<string>(
      'getComputedStyle(document.querySelector(".vitrine-note")).letterSpacing',
    )
    expect(Number.parseFloat(spacing)).toBeGreaterThan(1)
    expect(await page.evaluate(FIND_OVERFLOW)).toEqual([])
  })
})

describe('carousel', () => {
  test.each(LANGUAGE_TAGS)('%s - the buttons do not cover the header', async (locale) => {
    for (const width of ['phone', 'article', 'page']) {
      const page = await gallery.open(
        `layout=deals-carousel&theme=light&case=usual&locale=${locale}&width=${width}`,
      )
      // The two buttons of 2em, with the gap between them, stand at the end of the line.
      const read = `(() => {
        const top = document.querySelector('.vitrine-top')
        const range = document.createRange()
        range.selectNodeContents(top)
        const texts = [...range.getClientRects()]
        const box = document.querySelector('.vitrine').getBoundingClientRect()
        const { direction, fontSize } = getComputedStyle(top)
        const free = direction === 'rtl'
          ? Math.min(...texts.map(({ left }) => left)) - box.left
          : box.right - Math.max(...texts.map(({ right }) => right))
        return free / Number.parseFloat(fontSize)
      })()`
      expect(await page.evaluate<number>(read)).toBeGreaterThan(5.375)
    }
  })
})

describe('carousel with a focused card', () => {
  test('wheel - scrolls away from it', async () => {
    const page = await gallery.open('layout=deals-carousel&theme=light&case=usual&width=article', {
      reducedMotion: 'reduce',
    })
    await page.locator('.vitrine-deals').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.matches(".vitrine-name:focus-visible")')).toBe(true)
    await page.locator('.vitrine-deal').nth(1).hover()
    await page.mouse.wheel(600, 0)
    const readEnd = (): Promise<number> =>
      page.evaluate(
        '(({ scrollLeft, clientWidth, scrollWidth }) => scrollWidth - clientWidth - scrollLeft)(document.querySelector(".vitrine-deals"))',
      )
    await expect.poll(readEnd).toBeLessThan(2)
  })
})

describe('from right to left', () => {
  test('arrows - point in the reading direction', async () => {
    const page = await gallery.open('theme=light&case=right-to-left&locale=ar')
    const read = (selector: string, pseudo: string, property: string): Promise<string> =>
      page.evaluate(
        `getComputedStyle(document.querySelector(${JSON.stringify(selector)}), ${JSON.stringify(pseudo)})[${JSON.stringify(property)}]`,
      )
    expect(await read('.vitrine-go', '::before', 'rotate')).toBe('225deg')
    expect(await read('.vitrine-go', '::before', 'content')).toBe('""')
    expect(
      await read('[data-layout="carousel"] .vitrine-deals', '::scroll-button(inline-end)', 'scale'),
    ).toBe('-1 1')
    const latin = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.vitrine-name')].slice(1, 4).map((name) => getComputedStyle(name).direction + ' ' + getComputedStyle(name).textAlign)`,
    )
    expect(new Set(latin)).toEqual(new Set(['ltr right']))
    await gallery.open('theme=light&case=usual')
    const rotate = 'getComputedStyle(document.querySelector(".vitrine-go"), "::before").rotate'
    expect(await page.evaluate(rotate)).toBe('45deg')
  })

  test.each([
    ['where-to-buy-list', '.vitrine-title'],
    ['deals-grid', '.vitrine-name'],
    ['deals-carousel', '.vitrine-deal:nth-child(2) .vitrine-name'],
  ])('%s, a long name in Latin letters - is truncated with an ellipsis', async (layout, selector) => {
    const page = await gallery.open(`layout=${layout}&theme=light&case=long&locale=ar`)
    await useOwnFonts(page)
    const name = page.locator(selector).first()
    await name.evaluate((element, title) => (element.textContent = title), LONG_TITLE)
    const [direction, lineHeight] = await page.evaluate<[string, string]>(
      `(({ direction, lineHeight }) => [direction, lineHeight])(getComputedStyle(document.querySelector('${selector}')))`,
    )
    expect(direction).toBe('ltr')
    const box = await name.boundingBox()
    if (box === null) throw new Error('no name')
    const heightPx = Math.floor(Number.parseFloat(lineHeight))
    // The ellipsis overhangs the right side of the name.
    const end = { x: Math.ceil(box.x + box.width) + 1, y: Math.floor(box.y + box.height - heightPx - 2) }
    const { data } = PNG.sync.read(
      await page.screenshot({ fullPage: true, clip: { ...end, width: 10, height: heightPx } }),
    )
    expect(new Set(new Uint32Array(data.buffer, data.byteOffset, data.length / 4)).size).toBeGreaterThan(1)
  })
})

describe('without scripts', () => {
  test('every layout - disclosures open, the carousel scrolls, and every link is present', async () => {
    const page = await gallery.openWithoutScripts('theme=light&case=usual')
    const disclosures = page.locator('details.vitrine-more')
    expect(await disclosures.count()).toBe(4 + 3 * 4)
    for (const disclosure of await disclosures.all()) {
      expect(await disclosure.locator('a').first().isVisible()).toBe(false)
      await disclosure.locator('summary').click()
      expect(await disclosure.locator('a').first().isVisible()).toBe(true)
    }
    const last = page.locator('[data-layout="carousel"] .vitrine-deal').last()
    await last.scrollIntoViewIfNeeded()
    expect(await last.locator('a').isVisible()).toBe(true)
    expect(await page.locator('.ground a[rel="sponsored nofollow noopener"][target="_blank"]').count()).toBe(
      4 * 7 + 3 * (6 + 18) + 3 * 6 + 1,
    )
  })

  test('pages of a grid in a frame - the links open inside the frame', async () => {
    const page = await gallery.openWithoutScripts('layout=deals-grid&case=one&theme=light')
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
  })
})

describe('on paper', () => {
  test('every card of a carousel and every collapsed shop - is printed', async () => {
    const page = await gallery.open('theme=light&case=usual&width=article')
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.vitrine-go:visible, .vitrine-pages:visible').count()).toBe(0)
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.vitrine-more .vitrine-merchant, .vitrine-lines a')].map((element) => element.getBoundingClientRect().height)`,
    )
    expect(heights).toHaveLength(8 + 3 * 18)
    expect(heights.filter((height) => height < 10)).toEqual([])
    const outside = await page.evaluate<number>(
      `(() => { const list = document.querySelector('[data-layout="carousel"] .vitrine-deals'); const { right } = list.getBoundingClientRect()
        return [...list.children].filter((card) => card.getBoundingClientRect().right > right + 1).length })()`,
    )
    expect(outside).toBe(0)
  })
})
