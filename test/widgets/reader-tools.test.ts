import { type DefaultTreeAdapterMap, parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import { toMailView } from '../../src/widgets/mail.ts'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS } from '../../src/widgets/option-list.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import {
  SALE_PRICE,
  makeBox,
  makeDeal,
  makeGrid,
  makeHistory,
  makeOffer,
  makePick,
  makePicks,
  makeWrapper,
} from '../helpers/views.ts'

type Node = DefaultTreeAdapterMap['node']

const renderer = createRenderer()

const box = makeBox({
  offers: [makeOffer({ isBest: true, price: SALE_PRICE }), makeOffer({ price: null })],
  more: [makeOffer()],
  moreLabel: '1 more shop',
})
const grid = makeGrid({ deals: [makeDeal(), makeDeal({ price: null, picture: null, brand: null })] })
const picks = makePicks({
  products: [makePick(), makePick({ label: null, brand: null, picture: null, shops: null })],
})

test('inline - nothing is left of it when a filter hides the link', () => {
  const html = renderer.renderWidget(makeBox({ layout: 'inline' }))
  const outside = html.replace(/<a .*<\/a>/s, '').replaceAll(/<[^>]*>/g, '')
  expect(outside.trim()).toBe('')
})

describe('page translators', () => {
  const isolations = ['none', 'shadow'] as const
  const views = isolations.flatMap((isolate) => {
    const wrapper = makeWrapper({ isolate })
    const history = makeHistory()
    return [
      ...BOX_LAYOUTS.map((layout) => renderer.renderWidget({ ...box, wrapper, layout, history })),
      ...PICKS_LAYOUTS.map((layout) => renderer.renderWidget({ ...picks, wrapper, layout })),
      ...GRID_LAYOUTS.map((layout) => renderer.renderWidget({ ...grid, wrapper, layout })),
    ]
  })
  const mails = [box, picks, grid].map((view) => renderer.renderMail(toMailView(view)))

  /** List the texts of a node that a translator may change. */
  const listTranslated = (node: Node): string[] => {
    if ('value' in node) return [node.value]
    if ('attrs' in node && node.attrs.some(({ name, value }) => name === 'translate' && value === 'no'))
      return []
    const inside = 'content' in node ? node.content.childNodes : 'childNodes' in node ? node.childNodes : []
    return inside.flatMap(listTranslated)
  }

  test.each([...views, ...mails])('view %# - leave prices and names of shops alone', (html) => {
    const text = listTranslated(parseFragment(html)).join('')
    expect(text).toMatch(/at shop|To the shop|Ad/)
    expect(text).not.toMatch(/€|Kopje|Nordhem/)
  })

  test('words around a name or a price - are translated', () => {
    const sentence = renderer.renderWidget(makeBox({ layout: 'inline' }))
    expect(sentence).toContain('</bdi> at <bdi translate="no">Kopje</bdi>')
    expect(renderer.renderWidget(makeGrid())).toContain(
      '<bdi><span class="vitrine-sr-only">at\u00A0</span><span translate="no">Kopje</span></bdi>',
    )
  })
})
