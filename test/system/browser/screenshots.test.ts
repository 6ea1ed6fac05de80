import { describe, expect, test } from 'vitest'
import { compareWithBaseline, takeScreenshot, useOwnFonts } from './compare-screenshots.ts'
import { LAYOUTS, listCases, useGallery } from './gallery-fixture.ts'

const gallery = useGallery()

/** Every case in a phone's column, one layout per page. */
const IN_A_PHONE = LAYOUTS.map((layout) => ({
  set: 'phone',
  query: `theme=light&layout=${layout}`,
  specimens: listCases(layout).map((id) => `${layout}-${id}-light`),
}))

/** Every layout in other themes, columns and languages, one case per page. */
const ELSEWHERE = (
  [
    ['dark', 'theme=dark', ['usual', 'long', 'right-to-left', 'accent']],
    ['article', 'theme=light&width=article', ['usual', 'long', 'right-to-left', 'old-prices']],
    ['page', 'theme=light&width=page', ['usual']],
    ['german', 'theme=light&locale=de', ['usual']],
  ] as const
).flatMap(([set, query, cases]) =>
  cases.map((id) => ({
    set,
    query: `${query}&case=${id}`,
    specimens: LAYOUTS.filter((layout) => listCases(layout).includes(id)).map(
      (layout) => `${layout}-${id}-${set === 'dark' ? 'dark' : 'light'}`,
    ),
  })),
)

describe('gallery', () => {
  test.each([...IN_A_PHONE, ...ELSEWHERE])(
    '$set, $query - matches the baseline',
    async ({ set, query, specimens }) => {
      const page = await gallery.open(query)
      await useOwnFonts(page)
      const screenshot = await takeScreenshot(page)
      const compare = (id: string): Promise<string | undefined> =>
        compareWithBaseline(screenshot, `#${id}`, `${set}/${id}`)
      const differences = await Promise.all(specimens.map(compare))
      expect(differences.filter((difference) => difference !== undefined)).toEqual([])
    },
  )
})

describe('theme auto', () => {
  test.each([
    ['light', 'phone'],
    ['dark', 'dark'],
  ] as const)('reader prefers %s - matches that theme', async (colorScheme, set) => {
    const page = await gallery.open('theme=auto&case=usual', { colorScheme })
    await useOwnFonts(page)
    const screenshot = await takeScreenshot(page)
    for (const layout of LAYOUTS)
      expect(
        await compareWithBaseline(
          screenshot,
          `#${layout}-usual-auto`,
          `${set}/${layout}-usual-${colorScheme}`,
        ),
      ).toBeUndefined()
  })
})

// They would overwrite a baseline.
// oxlint-disable-next-line node/no-process-env -- controls the tests, not a setting
describe.skipIf(process.env['SCREENSHOTS'] === 'update')('screenshots', () => {
  test.each([
    ['a moved price', '.vitrine-price { translate: 60px 0 }'],
    ['a missing line', '.vitrine-note { display: none !important }'],
    ['other colours', '.vitrine { --vitrine-accent-text: #b00; --vitrine-ink: #00b }'],
    ['no picture', '.vitrine-picture { display: none }'],
  ])('%s - is detected', async (_what, rule) => {
    const page = await gallery.open('layout=where-to-buy-card&case=usual&theme=light')
    await useOwnFonts(page)
    await page.addStyleTag({ content: rule })
    const specimen = '#where-to-buy-card-usual-light'
    const difference = await compareWithBaseline(
      await takeScreenshot(page),
      specimen,
      'phone/where-to-buy-card-usual-light',
    )
    expect(difference).toMatch(/differ|was/)
  })
})
