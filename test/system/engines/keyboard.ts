import { expect, test } from 'vitest'
import { loadPictures } from '../../helpers/pictures.ts'
import { LAYOUTS } from '../browser/gallery-fixture.ts'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

const server = useServer()

/** Describe the focused element in a specimen; empty outside. */
const READ_STOP = `(() => {
  const { activeElement: element } = document
  if (!element?.closest('.ground')) return ''
  const isShown = [getComputedStyle(element), getComputedStyle(element, '::after')]
    .some(({ outlineStyle, outlineWidth }) => outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2)
  return [...document.querySelectorAll('.ground :is(a, summary)')].indexOf(element) + (isShown ? ' shown' : ' HIDDEN')
})()`

/** Tab through the specimen of a page; open each disclosure with the key on the way. */
async function tabThrough(page: EnginePage, key: 'Enter' | 'Space'): Promise<string[]> {
  await run(page, 'document.querySelector("figcaption a").focus()')
  const stops: string[] = []
  for (let left = 60; left > 0; left -= 1) {
    await page.press('Tab')
    const stop = await page.evaluate<string>(READ_STOP)
    if (stop === '') break
    stops.push(stop)
    if (await page.evaluate('document.activeElement.tagName === "SUMMARY"')) {
      await page.press(key)
      await waitUntil(page, 'document.activeElement.parentElement.open')
    }
  }
  return stops
}

export const keyboardSuite = defineSuite('keyboard', (engine) => {
  test.each(LAYOUTS.filter((layout) => layout !== 'deals-carousel'))(
    '%s - Tab reaches every link in order and shows the focus, Enter and Space open the disclosure',
    async (layout) => {
      for (const [width, key] of [
        ['phone', 'Enter'],
        ['article', 'Space'],
      ] as const) {
        const page = await engine.open()
        const query = `layout=${layout}&theme=light&case=usual&width=${width}`
        await page.goto(`${server.addresses.publicUrl}/studio/gallery?${query}`)
        await loadPictures(page)
        const count = await page.evaluate<number>(
          'document.querySelectorAll(".ground :is(a, summary)").length',
        )
        expect(count).toBeGreaterThan(0)
        expect(await tabThrough(page, key)).toEqual(
          Array.from({ length: count }, (_, index) => `${index} shown`),
        )
      }
    },
  )

  test('deals-carousel - Tab reaches every card and scrolls it into view', async () => {
    const page = await engine.open()
    const query = 'layout=deals-carousel&theme=light&case=usual&width=article'
    await page.goto(`${server.addresses.publicUrl}/studio/gallery?${query}`)
    await loadPictures(page)
    await run(page, 'document.querySelector("figcaption a").focus()')
    const count = await page.evaluate<number>('document.querySelectorAll(".vitrine-deal").length')
    expect(count).toBeGreaterThan(3)
    for (let index = 0; index < count; index += 1) {
      const card = `document.querySelectorAll('.vitrine-deal')[${index}]`
      // Before the first card: the list itself and its buttons, depending on the browser.
      for (let left = 4; left > 0; left -= 1) {
        await page.press('Tab')
        if (await page.evaluate(`${card}.contains(document.activeElement)`)) break
      }
      await waitUntil(
        page,
        `(() => {
          const list = document.querySelector('.vitrine-deals').getBoundingClientRect()
          const { left, right } = ${card}.getBoundingClientRect()
          return ${card}.contains(document.activeElement) && right > list.left && left < list.right
        })()`,
      )
    }
  })
})
