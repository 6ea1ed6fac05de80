import { describe, expect, test } from 'vitest'
import { toStudioUpdate } from '../../src/studio/update.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { getAttribute, getText, listElements } from '../app/app-client.ts'
import { toGtin } from '../helpers/products.ts'
import { makeStudio } from '../helpers/studio-view.ts'

const renderer = createRenderer()

/** Read texts and links of the page by their keys. */
function readPage(html: string): Readonly<{ texts: Map<string, string>; links: Map<string, string> }> {
  const elements = listElements(html)
  const findWith = (name: string): typeof elements =>
    elements.filter((element) => element.attrs.some((attribute) => attribute.name === name))
  return {
    texts: new Map(
      findWith('data-text').map((element) => [getAttribute(element, 'data-text'), getText(element)]),
    ),
    links: new Map(
      findWith('data-leads').map((element) => [
        getAttribute(element, 'data-leads'),
        getAttribute(element, 'href'),
      ]),
    ),
  }
}

const collapseSpaces = (text: string): string => text.replace(/\s+/g, ' ').trim()

const readPlaceholder = (query: string): unknown => toStudioUpdate(makeStudio(query)).placeholders['heading']

describe('update for the script', () => {
  test.each([
    '',
    'find=lamp&theme=dark&limit=99&merchant=Kopje',
    'layout=inline&theme=dark',
    `gtin=${toGtin(1)}~${toGtin(2)}&else=${toGtin(3)}&theme=dark`,
    `tab=picks&gtins=${toGtin(1)},${toGtin(2)}&label=&label=B&theme=blue`,
    'tab=deals',
    'tab=deals&brand=Lumen&min_discount=x&sort=price',
  ])('%j - has the texts of the page for the same selection, under the same keys', (query) => {
    const view = makeStudio(query)
    const live = toStudioUpdate(view)
    const page = readPage(renderer.renderStudio(view))
    expect(Object.fromEntries(page.texts)).toEqual(
      Object.fromEntries(Object.entries(live.texts).map(([key, text]) => [key, collapseSpaces(text)])),
    )
    expect(Object.fromEntries(page.links)).toEqual(live.links)
    expect(live.previews).toEqual(
      view.widget?.previews.map(({ isFrame, attributes }) => ({ isFrame, attributes })),
    )
    expect(live.previews).toHaveLength(4)
  })

  test('invalid values - have messages under their option, valid ones an empty text', () => {
    const { texts } = toStudioUpdate(makeStudio('theme=blue&limit=3'))
    expect(texts['error theme']).toBe('“Theme” accepts auto, light or dark.')
    expect(texts['error limit']).toBe('')
  })

  test('language - the placeholder of the heading is the heading in it', () => {
    expect(readPlaceholder('')).toBe('Where to buy')
    expect(readPlaceholder('locale=de')).toBe('Preise im Vergleich')
    expect(readPlaceholder('tab=deals')).toBe('Deals')
    expect(readPlaceholder('tab=deals&locale=de')).toBe('Angebote')
    const page = renderer.renderStudio(makeStudio('locale=de'))
    const field = listElements(page).find((element) => getAttribute(element, 'id') === 'option-heading')
    expect(field && getAttribute(field, 'placeholder')).toBe('Preise im Vergleich')
  })

  test('layout inline - hides what does not suit a sentence', () => {
    expect(toStudioUpdate(makeStudio('layout=inline')).isSentence).toBe(true)
    for (const query of ['', 'layout=card', 'tab=deals&layout=inline'])
      expect(toStudioUpdate(makeStudio(query)).isSentence).toBe(false)
  })

  test('links to other selections - keep the options', () => {
    const { links } = toStudioUpdate(makeStudio('theme=dark&layout=card'))
    expect(links['tab Deals']).toMatch(/tab=deals&.*theme=dark$/)
    expect(Object.entries(links).find(([key]) => key.startsWith('match '))?.[1]).toMatch(
      /theme=dark&layout=card$/,
    )
    const deals = toStudioUpdate(makeStudio('tab=deals&sort=price')).links
    expect(deals['count brand Lumen']).toMatch(/sort=price&brand=Lumen$/)
  })

  test('hidden - has a notice; nothing to embed - no previews, no addresses of a widget', () => {
    const hidden = toStudioUpdate(makeStudio('', { widgetStatus: { kind: 'hidden', reason: 'No.' } }))
    expect(hidden.texts['notice']).toBe('Nothing is shown now, and the widget takes no space in a page. No.')
    const nothing = toStudioUpdate(makeStudio('', { channel: null, product: null, matches: [] }))
    expect(nothing.previews).toEqual([])
    expect(Object.keys(nothing.links).filter((key) => !key.startsWith('tab '))).toEqual([])
    expect(Object.keys(nothing.texts).filter((key) => key.startsWith('snippet'))).toEqual([])
  })

  test('names of shops and brands - are safe as keys', () => {
    const counts = {
      total: 1,
      isBounded: false,
      brands: [{ name: '__proto__', count: 1 }],
      merchants: [{ name: 'constructor', count: 2 }],
      discounts: [],
    }
    const { texts } = toStudioUpdate(makeStudio('tab=deals', { counts }))
    expect(texts).toMatchObject({ 'count brand __proto__': '1', 'count merchant constructor': '2' })
  })
})
