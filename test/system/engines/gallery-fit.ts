import { afterAll, expect, test } from 'vitest'
import { loadPictures } from '../../helpers/pictures.ts'
import { LAYOUTS, listCases } from '../browser/gallery-fixture.ts'
import { CHECK_OVERFLOW, type OverflowReport } from '../browser/overflow.ts'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite } from './use-engine.ts'

const LOCALES = ['en', 'de', 'ar', 'ja', 'pl']
/** A name of 60 letters beside a price of nine digits has no space in a narrow column in Arabic. */
const toWidths = (locale: string): readonly string[] => [
  'phone',
  'article',
  'page',
  ...(locale === 'en' ? ['narrow'] : []),
]

const server = useServer()

async function openGallery(page: EnginePage, query: string): Promise<void> {
  await page.goto(`${server.addresses.publicUrl}/studio/gallery?${query}`)
  await loadPictures(page)
}

const OPEN_DISCLOSURES = `(function open(root) {
  for (const element of root.querySelectorAll('*')) {
    if (element.tagName === 'DETAILS') element.open = true
    if (element.shadowRoot) open(element.shadowRoot)
  }
})(document)`

const setWidth = (page: EnginePage, width: string): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll('.specimens')].forEach(({ dataset }) => { dataset.width = '${width}' })`,
  )

export const gallerySuite = defineSuite('gallery', (engine) => {
  const total = { specimens: 0, elements: 0, problems: 0 }
  afterAll(() => {
    // oxlint-disable-next-line no-console -- the figures of a run
    console.log(
      `${engine.name}: ${total.elements} elements of ${total.specimens} specimens, ${total.problems} outside their box`,
    )
  })

  test.each(LAYOUTS)(
    '%s, every case, in five languages and all widths - nothing overflows',
    async (layout) => {
      const page = await engine.open()
      const problems: string[] = []
      for (const locale of LOCALES) {
        await openGallery(page, `layout=${layout}&theme=light&locale=${locale}`)
        await page.evaluate(OPEN_DISCLOSURES)
        for (const width of toWidths(locale)) {
          await setWidth(page, width)
          const report = await page.evaluate<OverflowReport>(CHECK_OVERFLOW)
          expect(report.specimens).toBe(listCases(layout).length)
          problems.push(...report.problems.map((problem) => `${locale}, ${width}: ${problem}`))
          total.specimens += report.specimens
          total.elements += report.elements
        }
      }
      total.problems += problems.length
      expect(problems).toEqual([])
    },
  )

  test.each(['phone', 'article', 'page', 'narrow'])(
    'carousel in a column of the width %s - a part of a card shows that there are more',
    async (width) => {
      const page = await engine.open()
      await openGallery(page, 'layout=deals-carousel&case=usual&theme=light')
      await setWidth(page, width)
      const read = `(() => {
        const list = document.querySelector('.vitrine-deals').getBoundingClientRect()
        const cards = [...document.querySelectorAll('.vitrine-deal')].map((card) => card.getBoundingClientRect())
        const cut = cards.find(({ right }) => right > list.right)
        return (list.right - cut.left) / cut.width
      })()`
      const visiblePart = await page.evaluate<number>(read)
      expect(visiblePart).toBeGreaterThan(0.15)
      expect(visiblePart).toBeLessThan(0.75)
    },
  )

  test('right-to-left table with a head - the head is inside the table', async () => {
    const page = await engine.open()
    await openGallery(page, 'layout=where-to-buy-table&case=usual&theme=light&width=article&locale=ar')
    const read = `(() => {
      const table = document.querySelector('.vitrine-table').getBoundingClientRect()
      return [...document.querySelectorAll('.vitrine-table thead:not(.vitrine-sr-only) th')].map((cell) => {
        const { left, right, width } = cell.getBoundingClientRect()
        return width > 30 && left >= table.left - 0.5 && right <= table.right + 0.5
      })
    })()`
    expect(await page.evaluate(read)).toEqual([true, true, true, true])
  })

  test('table with the other shops open - their columns are those above', async () => {
    const page = await engine.open()
    await openGallery(page, 'layout=where-to-buy-table&case=logos&theme=light&width=article')
    await page.evaluate(OPEN_DISCLOSURES)
    const read = `[...document.querySelectorAll('.vitrine-table')].map((table) =>
      [...table.querySelector('tbody tr').cells].map((cell) => Math.round(cell.getBoundingClientRect().left)))`
    const [above, below] = await page.evaluate<number[][]>(read)
    expect(above).toHaveLength(4)
    expect(below).toEqual(above)
  })
})
