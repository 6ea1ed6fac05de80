import { describe, expect, test } from 'vitest'
import { GALLERY_CASES } from '../../../src/studio/gallery/cases.ts'
import type { GalleryView } from '../../../src/studio/gallery/gallery.ts'
import { makeGalleryView } from '../../helpers/gallery-view.ts'

const toView = (query: string): Promise<GalleryView> =>
  makeGalleryView(query, ({ view }) => `${view.wrapper.lang} ${view.layout} ${view.wrapper.theme}`)

const listIds = ({ groups }: GalleryView): string[] =>
  groups.flatMap(({ cases }) => cases.flatMap(({ examples }) => examples.map(({ id }) => id)))

describe('gallery', () => {
  test('no filter - every layout in every theme and case, each once', async () => {
    const ids = listIds(await toView(''))
    expect(ids).toHaveLength(7 * 3 * GALLERY_CASES.length)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('filters - limit the examples, and the links of the examples keep them', async () => {
    const view = await toView('layout=deals-list&theme=dark&case=long&locale=de&width=article')
    expect(listIds(view)).toEqual(['deals-list-long-dark'])
    const [example] = view.groups[0]?.cases[0]?.examples ?? []
    expect(example?.html).toBe('de list dark')
    expect(example?.href).toBe(
      'https://widgets.example/studio/gallery?layout=deals-list&theme=dark&case=long&locale=de&width=article',
    )
    const chosen = view.controls.map(({ options }) => options.find(({ isSelected }) => isSelected)?.value)
    expect(chosen).toEqual(['deals-list', 'dark', 'long', 'de', 'article'])
  })

  test.each(['layout=x', 'theme=x&theme=y', 'case=', 'locale=%%', 'width=1'])(
    '%s - invalid values count as absent',
    async (query) => {
      expect(listIds(await toView(query))).toHaveLength(7 * 3 * GALLERY_CASES.length)
    },
  )
})
