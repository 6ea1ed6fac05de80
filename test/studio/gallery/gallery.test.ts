import { describe, expect, test } from 'vitest'
import { GALLERY_CASES } from '../../../src/studio/gallery/cases.ts'
import { LAYOUTS, hasExample, renderExample, toLayoutId } from '../../../src/studio/gallery/examples.ts'
import type { GalleryOptions, GalleryView } from '../../../src/studio/gallery/gallery.ts'
import { LANGUAGE_TAGS } from '../../../src/widgets/locales/index.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { makeGalleryView } from '../../helpers/gallery-view.ts'
import { IS_FULL } from '../../helpers/property-runs.ts'

const toView = (query: string): Promise<GalleryView> =>
  makeGalleryView(query, (view) => `${view.wrapper.lang} ${view.layout} ${view.wrapper.theme}`)

const listIds = ({ groups }: GalleryView): string[] =>
  groups.flatMap(({ cases }) => cases.flatMap(({ examples }) => examples.map(({ id }) => id)))

const FIRST_LAYOUT_COUNT = 2 * GALLERY_CASES.length + 1
const PAIR_COUNT = LAYOUTS.flatMap((layout) =>
  GALLERY_CASES.filter((entry) => hasExample(layout, entry)),
).length
/** Variants and stand-ins are of boxes only. */
const GRID_CASE_COUNT = GALLERY_CASES.length - 3

describe('filters', () => {
  test('none - the first layout in every case, light beside dark, and once as in a magazine', async () => {
    const ids = listIds(await toView(''))
    expect(ids).toHaveLength(FIRST_LAYOUT_COUNT)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.slice(0, 5)).toEqual([
      'where-to-buy-list-usual-light',
      'where-to-buy-list-usual-dark',
      'where-to-buy-list-usual-magazine',
      'where-to-buy-list-one-light',
      'where-to-buy-list-one-dark',
    ])
  })

  test.each([
    ['layout=all&theme=light', PAIR_COUNT],
    ['layout=all&case=usual&theme=auto', LAYOUTS.length],
    ['case=long&theme=dark', LAYOUTS.length],
    ['layout=deals-grid&theme=magazine', GRID_CASE_COUNT],
  ])('%s - every example that matches', async (query, count) => {
    expect(listIds(await toView(query))).toHaveLength(count)
  })

  test('all - limit the examples, and the links of the examples keep them', async () => {
    const view = await toView('layout=deals-list&theme=dark&case=long&locale=de&width=phone')
    expect(listIds(view)).toEqual(['deals-list-long-dark'])
    const [example] = view.groups[0]?.cases[0]?.examples ?? []
    expect(example?.html).toBe('de list dark')
    expect(example?.href).toBe(
      'https://widgets.example/studio/gallery?layout=deals-list&theme=dark&case=long&locale=de&width=phone',
    )
    const chosen = view.controls.map(({ options }) => options.find(({ isSelected }) => isSelected)?.value)
    expect(chosen).toEqual(['deals-list', 'long', 'dark', 'de', 'phone'])
  })

  test.each(['layout=x', 'theme=x&theme=y', 'case=', 'locale=%%', 'width=1', 'from=-1'])(
    '%s - invalid values count as absent',
    async (query) => {
      const view = await toView(query)
      expect(listIds(view)).toHaveLength(FIRST_LAYOUT_COUNT)
      expect([view.width, view.firstHref]).toEqual(['article', null])
    },
  )

  test('case of one layout - links to the same case in every layout', async () => {
    const one = await toView('layout=deals-grid&case=long')
    expect(one.groups[0]?.cases[0]?.everyLayoutHref).toBe('gallery?case=long')
    const every = await toView('case=long')
    expect(every.groups[0]?.cases[0]?.everyLayoutHref).toBeNull()
  })
})

describe('size of a page', () => {
  const renderer = createRenderer()
  const render: GalleryOptions['render'] = (example) => renderExample(renderer, example)
  const readPage = async (query: string): Promise<GalleryView & { bytes: number }> => {
    const view = await makeGalleryView(query, render)
    return Object.assign(view, { bytes: Buffer.byteLength(renderer.renderGallery(view)) })
  }

  // One theme needs less space than two, and the width adds none.
  const layouts = [...LAYOUTS.map(toLayoutId), 'all'].map((layout) => `layout=${layout}&case=&theme=`)
  const cases = GALLERY_CASES.map(({ id }) => `layout=all&case=${id}&theme=`)
  const locales = IS_FULL ? LANGUAGE_TAGS : ['en', 'ar']

  test.each(locales)('%s, every layout and every case - at most 300 kB of HTML', async (locale) => {
    for (const query of [...layouts, ...cases]) {
      const { bytes } = await readPage(`${query}&locale=${locale}&width=article`)
      expect([query, bytes <= 300_000]).toEqual([query, true])
    }
  })

  test('long selection - its pages have every example once, in order', async () => {
    const ids: string[] = []
    let query: string | undefined = 'layout=all&theme=light&locale=de'
    while (query !== undefined) {
      const page: GalleryView = await readPage(query)
      expect(page.firstHref === null).toBe(ids.length === 0)
      ids.push(...listIds(page))
      query = page.nextHref?.replace('gallery?', '')
    }
    expect(ids).toHaveLength(PAIR_COUNT)
    expect(new Set(ids).size).toBe(PAIR_COUNT)
  })
})

test('way back to the studio - every tab, relative to the page', async () => {
  const { studioHref, tabs } = await toView('')
  expect([studioHref, ...tabs.map(({ href }) => href)]).toEqual([
    '../studio',
    '../studio',
    '../studio?tab=picks',
    '../studio?tab=deals',
    '../studio?tab=coverage',
    '../studio?tab=feeds',
    '../studio?tab=health',
  ])
})
