import { describe, expect, test } from 'vitest'
import { createRenderer } from '../../../src/widgets/render.ts'
import { makeGalleryView } from '../../helpers/gallery-view.ts'
import { findHtmlFaults } from '../../helpers/html-faults.ts'

const renderer = createRenderer()

const view = await makeGalleryView('theme=dark', (specimen) =>
  specimen.widget === 'deals' ? renderer.renderGrid(specimen.view) : renderer.renderBox(specimen.view),
)
const specimens = view.groups.flatMap(({ cases }) =>
  cases.flatMap(({ specimens }) => specimens.map(({ id, html }) => [id, html] as const)),
)

describe('two validators', () => {
  test.each(specimens)('%s - find nothing in the fragment', async (_id, html) => {
    expect(await findHtmlFaults(html)).toEqual([])
  })

  test('find nothing in the gallery around them', async () => {
    const around = await makeGalleryView('theme=auto&locale=ar', () => '<p>a specimen</p>')
    expect(await findHtmlFaults(renderer.renderGallery(around))).toEqual([])
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
