import { describe, expect, test } from 'vitest'
import { LAYOUTS, renderExample, toLayoutId } from '../../../src/studio/gallery/examples.ts'
import type { GalleryOptions } from '../../../src/studio/gallery/gallery.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { makeGalleryView } from '../../helpers/gallery-view.ts'
import { findHtmlErrors } from '../../helpers/html-errors.ts'
import { IS_FULL, selectCases } from '../../helpers/property-runs.ts'

const renderer = createRenderer()

const render: GalleryOptions['render'] = (example) => renderExample(renderer, example)

const pages = await Promise.all(
  LAYOUTS.map((layout) => makeGalleryView(`layout=${toLayoutId(layout)}&theme=dark`, render)),
)
const examples = pages.flatMap(({ groups }) =>
  groups.flatMap(({ cases }) =>
    cases.flatMap(({ examples }) => examples.map(({ id, html }) => [id, html] as const)),
  ),
)

describe('HTML validation', () => {
  test.each(selectCases(examples))('%s - the fragment is valid', async (_id, html) => {
    expect(await findHtmlErrors(html)).toEqual([])
  })

  test('the gallery page is valid', async () => {
    const whole = await makeGalleryView(
      'layout=all&theme=auto&locale=ar',
      IS_FULL ? render : () => '<p>an example</p>',
    )
    const errors = await findHtmlErrors(renderer.renderGallery(whole))
    // The gallery shows one product many times, so its boxes share a name.
    expect(errors.filter((error) => !error.startsWith('unique-landmark'))).toEqual([])
  })

  test.each([
    ['<ul><p>no</p></ul>', 'element-permitted-content'],
    ['<p class=a class=b>twice</p>', 'duplicate-attribute'],
    ['<p>&nosuch;</p>', 'unrecognized-char-ref'],
    ['<p>a</p></section>', 'close-order'],
    ['<table><div></div></table>', 'element-permitted-content'],
  ])('%s - is reported', async (html, error) => {
    expect((await findHtmlErrors(html)).join('\n')).toContain(error)
  })
})
