import { expect, test } from 'vitest'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { getShared } from '../shared.ts'
import { FRAMEWORKS, type Sites } from '../start-sites.ts'
import type { EnginePage } from './engine.ts'
import { listMoves } from './moves.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

const GRID = 'deal-grid'
const [PRODUCT, OTHER_PRODUCT] = ['09520001001024', '09520001001031']

type Framework = (typeof FRAMEWORKS)[number]

const toFrame = (element: string): string =>
  `document.querySelector('${element}').shadowRoot?.querySelector('iframe')`

const isOpen = (element: string): string => `${toFrame(element)}?.style.visibility === 'visible'`

const readSource = (page: EnginePage, element: string): Promise<string> =>
  page.evaluate<string>(`${toFrame(element)}.src`)

const readProblems = (page: EnginePage): Promise<string[]> => page.evaluate<string[]>('problems')

export const frameworksSuite = defineSuite('frameworks', (engine) => {
  const getSites = setUpOnce<Sites>(() => getShared('sites'))

  async function openSite(name: Framework): Promise<EnginePage> {
    const page = await engine.open()
    await page.goto(`${getSites()[name]}/`)
    await waitUntil(page, isOpen('where-to-buy'))
    return page
  }

  test.each(FRAMEWORKS)(
    '%s, with script - frames replace the content, nothing moves, no problem in the console',
    async (name) => {
      const page = await openSite(name)
      expect(await readSource(page, 'where-to-buy')).toMatch(
        new RegExp(`/embeds/[^/]+/where-to-buy/${PRODUCT}$`),
      )
      expect(await page.evaluate(`${toFrame('where-to-buy')}.title`)).toMatch(/^Where to buy/)
      expect(await page.evaluate('document.querySelector("where-to-buy a").getClientRects().length')).toBe(0)
      await run(page, 'document.querySelector("round-up").scrollIntoView()')
      await waitUntil(page, isOpen('round-up'))
      expect(await readSource(page, 'round-up')).toMatch(
        new RegExp(`/picks/${PRODUCT},${OTHER_PRODUCT}\\?theme=dark&label=Best\\+overall$`),
      )
      expect(await listMoves(page)).toEqual([])
      expect(await readProblems(page)).toEqual([])
    },
  )

  test.each(FRAMEWORKS)(
    '%s, frame without a reserved height - has the height of its content',
    async (name) => {
      const page = await openSite(name)
      await run(page, `document.querySelector('${GRID}').scrollIntoView()`)
      await waitUntil(page, isOpen(GRID))
      expect(await readSource(page, GRID)).toMatch(/\/deals\?limit=4&min_discount=5$/)
      await waitUntil(
        page,
        `${toFrame(GRID)}.offsetHeight === heights.get(${toFrame(GRID)}.contentWindow) && ${toFrame(GRID)}.offsetHeight > 150`,
      )
      expect(await readProblems(page)).toEqual([])
    },
  )

  test.each(FRAMEWORKS)('%s, another product - another frame in place of the first', async (name) => {
    const page = await openSite(name)
    await page.click('button')
    await waitUntil(page, `${toFrame('where-to-buy')}?.src.endsWith('/${OTHER_PRODUCT}')`)
    await waitUntil(page, isOpen('where-to-buy'))
    const frames = 'document.querySelector("where-to-buy").shadowRoot.querySelectorAll("iframe").length'
    expect(await page.evaluate(frames)).toBe(1)
    expect(await listMoves(page)).toEqual([])
    expect(await readProblems(page)).toEqual([])
  })

  test.each(FRAMEWORKS)('%s, without script - the content is readable', async (name) => {
    const page = await engine.open()
    await page.goto(`${getSites()[name]}/without-script`)
    await waitUntil(page, 'document.querySelector("iframe").contentDocument.readyState === "complete"')
    const texts = await page.evaluate<string[]>(
      `['where-to-buy', 'round-up', 'deal-grid'].map((name) => document.querySelector('iframe').contentDocument.querySelector(name).innerText)`,
    )
    expect(texts).toEqual([`Prices of ${PRODUCT}`, expect.stringContaining('Our picks') as string, 'Deals'])
  })

  test('vue, KeepAlive - the frame leaves with its element, and returns with it', async () => {
    const page = await openSite('vue')
    await run(page, 'document.querySelector("round-up").scrollIntoView()')
    await waitUntil(page, isOpen('round-up'))
    await run(page, 'element = document.querySelector("round-up"); document.querySelector("#tab").click()')
    await waitUntil(page, '!element.isConnected && !element.shadowRoot.querySelector("iframe")')
    await page.click('#tab')
    await waitUntil(page, `element.isConnected && ${isOpen('round-up')}`)
    expect(await readProblems(page)).toEqual([])
  })

  test('astro, fetched content - of the server, or the slot if the server fails; it stays without an answer', async () => {
    const page = await openSite('astro')
    expect(await page.evaluate('document.querySelector("round-up > .vitrine-picks").textContent')).toContain(
      'Sonderby',
    )
    expect(await page.evaluate('document.querySelectorAll("where-to-buy")[1].innerText')).toBe(
      'Server that does not respond',
    )
  })

  test('astro, view transition - the next page has its frame', async () => {
    const page = await openSite('astro')
    await page.click('#next')
    await waitUntil(page, 'document.querySelector("h1")')
    await waitUntil(page, isOpen('where-to-buy'))
    expect(await readSource(page, 'where-to-buy')).toMatch(/09520001001055$/)
    expect(await readProblems(page)).toEqual([])
  })
})
