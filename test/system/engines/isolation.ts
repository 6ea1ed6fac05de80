import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { PICKS_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { useServer } from '../use-server.ts'
import { defineSuite } from './use-engine.ts'

/** Page styles that affect every element. */
const AGGRESSIVE_CSS = `body { font: italic 30px/3 serif; text-align: center; text-transform: uppercase; letter-spacing: .2em; white-space: nowrap }
  a, p, span, li, td, th, bdi, summary { color: red !important; background: blue !important; padding: 20px !important;
    font-size: 40px !important; border: 9px solid lime !important; display: block !important; transform: rotate(9deg) !important }
  p::first-letter { float: left; font-size: 90px }`

/** Read the positions, sizes and colours of every element of the isolated widget. */
const READ_LOOK = `[...document.querySelector('.vitrine-host').shadowRoot.querySelectorAll('.vitrine *')].map((element) => {
  const { left, top, width, height } = element.getBoundingClientRect()
  const origin = document.querySelector('.vitrine-host').getBoundingClientRect()
  const { color, backgroundColor, fontFamily, fontSize } = getComputedStyle(element)
  const round = (px) => Math.round(px)
  return [element.className, round(left - origin.left), round(top - origin.top), round(width), round(height), color, backgroundColor, fontFamily, fontSize].join(' ')
})`

const server = useServer()
let publisher: PageServer
beforeAll(async () => {
  publisher = await startPageServer()
})
afterAll(() => publisher.close())

export const isolationSuite = defineSuite('isolated fragment', (engine) => {
  test.each([
    ...['list', 'table', 'card', 'button'].map((layout) => ['where-to-buy', layout] as const),
    ...PICKS_LAYOUTS.map((layout) => ['picks', layout] as const),
  ])(
    '%s, %s, in a page that styles everything - looks as in a page without styles',
    async (widget, layout) => {
      const box = server.addresses.box.replace('/embeds/', '/fragments/').replace('where-to-buy', widget)
      const gtins = widget === 'picks' ? ',09520001001031' : ''
      const fragmentUrl = `${box}${gtins}?isolate=shadow&layout=${layout}`
      const fragment = await (await fetch(fragmentUrl)).text()
      const looks: string[][] = []
      for (const css of ['', AGGRESSIVE_CSS]) {
        publisher.responses.set(
          '/',
          toHtmlResponse(
            `<!doctype html><html lang="en"><title>Article</title><style>${css}</style><body><main style="display:block!important;width:600px">${fragment}</main>`,
          ),
        )
        const page = await engine.open()
        await page.goto(`${publisher.origin}/`)
        await loadPictures(page)
        looks.push(await page.evaluate<string[]>(READ_LOOK))
      }
      expect(looks[0]?.length).toBeGreaterThan(20)
      expect(looks[1]).toEqual(looks[0])
    },
  )
})
