import { describe, expect, test } from 'vitest'
import type { GalleryView } from '../../../src/studio/gallery/gallery.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { makeGalleryView } from '../../helpers/gallery-view.ts'
import { findHtmlFaults } from '../../helpers/html-faults.ts'

const renderer = createRenderer()

const toView = (query: string): Promise<GalleryView> =>
  makeGalleryView(query, (specimen) =>
    specimen.widget === 'deals' ? renderer.renderGrid(specimen.view) : renderer.renderBox(specimen.view),
  )

const specimens = (await toView('theme=dark')).groups.flatMap(({ cases }) =>
  cases.flatMap(({ specimens }) => specimens.map(({ id, html }) => [id, html] as const)),
)

describe('two validators', () => {
  test.each(specimens)('%s - find nothing in the fragment', async (_id, html) => {
    expect(await findHtmlFaults(html)).toEqual([])
  })

  test('find nothing in the gallery itself', async () => {
    const faults = await findHtmlFaults(renderer.renderGallery(await toView('theme=auto&locale=ar')))
    // One product, many times: its boxes have one name.
    expect(faults.filter((fault) => !fault.startsWith('unique-landmark'))).toEqual([])
  })

  test.each([
    ['<ul><p>no</p></ul>', 'element-permitted-content'],
    ['<p class=a class=b>twice</p>', 'duplicate-attribute'],
    ['<p>&nosuch;</p>', 'unrecognized-char-ref'],
    ['<p>a</p></section>', 'close-order'],
    ['<table><div></div></table>', 'element-permitted-content'],
  ])('%s - is found out', async (html, fault) => {
    expect((await findHtmlFaults(html)).join('\n')).toContain(fault)
  })
})
