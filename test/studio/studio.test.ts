import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StudioData } from '../../src/studio/data.ts'
import type { FieldView } from '../../src/studio/fields.ts'
import { type StudioView, toStudioView } from '../../src/studio/studio.ts'
import { OPTION_LIST } from '../../src/widgets/option-list.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { getAttribute } from '../app/app-client.ts'
import { findAll, readStudio, readStudioAddress } from '../app/studio-page.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, WALKED_COPY, makeStudio, makeStudioData } from '../helpers/studio-view.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const BASE = 'https://widgets.example/studio'
const GTIN = toGtin(1)
const WHERE = `channel=${CHANNEL_ID}&gtin=${GTIN}`

const BOX_SIZE = {
  layout: 'list',
  shownCount: 3,
  saleCount: 1,
  termsCount: 0,
  isBare: false,
  isFolded: false,
  hasVariants: false,
  isStandIn: false,
  history: 'none',
} as const

const listTabs = (query: string): Record<string, string> =>
  Object.fromEntries(makeStudio(query).tabs.map(({ text, href }) => [text, href]))

const findField = ({ fields }: StudioView, name: string): FieldView | undefined =>
  fields.flatMap((group) => group.fields).find((field) => field.name === name)

describe('title of a frame', () => {
  test.each([
    ['locale=de', 'Preise im Vergleich', 'Angebote'],
    ['locale=xx', 'Where to buy', 'Deals'],
  ])('%j - is in the language of the content', (locale, box, deals) => {
    expect(makeStudio(locale).widget?.title).toContain(box.split(' ')[0])
    expect(makeStudio(`tab=deals&${locale}`).widget?.title).toBe(deals)
  })
})

describe('tabs', () => {
  test.each([
    ['', 'Where to buy'],
    ['tab=picks', 'Round-up'],
    ['tab=deals', 'Deals'],
    ['tab=coverage', 'Coverage'],
    ['tab=feeds', 'Feeds'],
    ['tab=health', 'Health'],
  ])('%j - one tab is selected', (query, selected) => {
    const { tabs } = makeStudio(query)
    expect(tabs.map(({ text }) => text)).toEqual([
      'Where to buy',
      'Round-up',
      'Deals',
      'Coverage',
      'Feeds',
      'Health',
    ])
    expect(tabs.filter(({ isSelected }) => isSelected).map(({ text }) => text)).toEqual([selected])
  })

  test('other tabs - keep the channel, the product and the shared appearance options', () => {
    const query = 'find=lamp&theme=dark&accent=ff6600&locale=de&currency=EUR&layout=card&limit=3&stock=in'
    const appearance = 'theme=dark&accent=ff6600&locale=de&currency=EUR'
    expect(listTabs(query)).toEqual({
      'Where to buy': `studio?${WHERE}&${query}`,
      'Round-up': `studio?tab=picks&${WHERE}&${appearance}`,
      Deals: `studio?tab=deals&${WHERE}&${appearance}`,
      Coverage: `studio?tab=coverage&${WHERE}`,
      Feeds: `studio?tab=feeds&${WHERE}`,
      Health: `studio?tab=health&${WHERE}`,
    })
  })

  test('from deals and from health - the link keeps the product', () => {
    expect(listTabs(`tab=deals&gtin=${GTIN}&sort=price&theme=dark`)['Where to buy']).toBe(
      `studio?${WHERE}&theme=dark`,
    )
    expect(listTabs(`tab=health&gtin=${GTIN}`)['Where to buy']).toBe(`studio?${WHERE}`)
  })
})

describe('channels and matches', () => {
  test('channels - the selected one is marked, addresses are cut at 100 characters', () => {
    const long = { ...CHANNEL, id: 'x', url: `https://a.example/${'b'.repeat(100)}` }
    const { channels } = makeStudio('', { channels: [CHANNEL, long, { ...CHANNEL, id: 'y', url: null }] })
    expect(channels.map(({ id, isSelected }) => [id, isSelected])).toEqual([
      [CHANNEL_ID, true],
      ['x', false],
      ['y', false],
    ])
    expect(channels.map(({ url }) => url?.length)).toEqual([25, 100, undefined])
    expect(channels[1]?.url?.endsWith('…')).toBe(true)
  })

  test('channels with the same name - have their address too', () => {
    const [alone] = makeStudio('').channels
    const twins = makeStudio('', {
      channels: [CHANNEL, { ...CHANNEL, id: 'x' }, { ...CHANNEL, id: 'y', url: null }],
    })
    expect(alone?.hasUrl).toBe(false)
    expect(twins.channels.map(({ hasUrl }) => hasUrl)).toEqual([true, true, false])
  })

  test('caption of the snippets - names product and channel', () => {
    expect(makeStudio('').widget?.caption).toBe('Lumen Arc desk lamp, Magazine')
    expect(makeStudio('tab=deals').widget?.caption).toBe('Deals, Magazine')
  })

  test('matches - links keep the search and every option, including invalid ones', () => {
    const matches = [makeProduct(), makeProduct({ gtin: toGtin(2), images: [], brand: null })]
    const query = 'find=a+%26+b&theme=blue&merchant=A&merchant=B'
    const views = makeStudio(query, { matches }).matches
    const base = `studio?channel=${CHANNEL_ID}&gtin=`
    expect(views.map(({ href, isSelected }) => [href, isSelected])).toEqual([
      [`${base}${GTIN}&${query}`, true],
      [`${base}${toGtin(2)}&${query}`, false],
    ])
    expect(views[1]).toMatchObject({ imageUrl: null, brand: null, title: 'Lumen Arc desk lamp' })
  })

  test('search and product - are in the view for the form', () => {
    const hidden = [{ name: 'gtin', value: GTIN }]
    expect(makeStudio('find=lamp')).toMatchObject({ searchText: 'lamp', hiddenFields: hidden })
    expect(makeStudio('find=lamp', { product: null })).toMatchObject({ searchText: 'lamp', hiddenFields: [] })
  })
})

describe('widget', () => {
  test('box - of the product, with the valid options', () => {
    const { widget } = makeStudio('theme=dark&layout=nothing&sort=price')
    expect(widget).toMatchObject({
      kind: 'where-to-buy',
      title: 'Where to buy Lumen Arc desk lamp',
      embedUrl: `https://widgets.example/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}?theme=dark`,
    })
  })

  test('grid - of the channel', () => {
    const { widget } = makeStudio('tab=deals&sort=price&markup=schema')
    expect(widget).toMatchObject({
      kind: 'deals',
      title: 'Deals',
      fragmentUrl: `https://widgets.example/fragments/${CHANNEL_ID}/deals?sort=price`,
    })
  })

  test.each([
    ['no channel', '', { channel: null }],
    ['no product', '', { product: null }],
    ['no status', 'tab=deals', { widgetStatus: null }],
    ['health', 'tab=health', {}],
    ['coverage', 'tab=coverage', {}],
  ] as const)('%s - no widget', (_case, query, over) => {
    expect(makeStudio(query, over).widget).toBeNull()
  })

  test.each([
    ['layout=card&limit=8', { ...BOX_SIZE, layout: 'card', shownCount: 3 }],
    ['layout=inline', { ...BOX_SIZE, layout: 'inline', shownCount: 1 }],
    ['head=none&limit=1', { ...BOX_SIZE, shownCount: 1, isBare: true, isFolded: true }],
    [
      `tab=picks&gtins=${GTIN},${toGtin(2)}&label=Best&layout=row`,
      { layout: 'row', productCount: 2, labelCount: 1, foldCount: 2, hasPictures: true },
    ],
    ['tab=deals&layout=list&limit=3', { layout: 'list', cardCount: 3 }],
  ] as const)('%j, hidden - has the snippets of the shown widget, with its height', (query, size) => {
    const shown = makeStudio(query, { widgetStatus: { kind: 'shown', size, isComplete: true } })
    const hidden = makeStudio(query, { widgetStatus: { kind: 'hidden', reason: 'No.' } })
    expect(hidden.widget?.snippets.length).toBeGreaterThan(5)
    expect(hidden.widget?.snippets).toEqual(shown.widget?.snippets)
  })
})

describe('fields of a tab', () => {
  test('box - the shops and currencies of its product, each once, by name', () => {
    const offers = [
      makeParsedOffer({ merchant: 'Zeta' }),
      makeParsedOffer({ merchant: 'äther', currency: 'CHF' }),
      makeParsedOffer({ merchant: 'Zeta', currency: 'CHF' }),
      makeParsedOffer({ merchant: 'Bo' }),
    ]
    const view = makeStudio('', { product: makeProduct({ offers }) })
    const merchant = findField(view, 'merchant')?.control
    expect(merchant?.kind === 'checks' && merchant.options.map(({ value, count }) => [value, count])).toEqual(
      [
        ['äther', null],
        ['Bo', null],
        ['Zeta', null],
      ],
    )
    const currency = findField(view, 'currency')?.control
    expect(currency?.kind === 'input' && currency.suggestions.map(({ value }) => value)).toEqual([
      'CHF',
      'EUR',
    ])
  })

  test('grid - shops and brands from the counts', () => {
    const view = makeStudio('tab=deals')
    const merchant = findField(view, 'merchant')?.control
    expect(merchant?.kind === 'checks' && merchant.options.map(({ value, count }) => [value, count])).toEqual(
      [
        ['Kopje', '5'],
        ['Quillhaven', '2'],
      ],
    )
    const brand = findField(view, 'brand')?.control
    expect(brand?.kind === 'input' && brand.suggestions.map(({ value }) => value)).toEqual([
      'Lumen',
      'Nordhem',
    ])
  })

  test('unknown counts - no shops, no panel', () => {
    const view = makeStudio('tab=deals', { counts: null })
    const merchant = findField(view, 'merchant')?.control
    expect(merchant?.kind === 'checks' && merchant.options).toEqual([])
    expect(view.deals).toBeNull()
  })

  test('health - no fields', () => {
    expect(makeStudio('tab=health')).toMatchObject({ fields: [], deals: null, notice: null })
    expect(makeStudio('tab=health').health?.lines).toHaveLength(4)
  })
})

const notice = (query: string, over: Partial<StudioData> = {}): string | null =>
  makeStudio(query, over).notice

describe('notice', () => {
  const unwalked = { ...WALKED_COPY, currentWalk: 0 }

  test.each(['', 'tab=deals', 'tab=health'])('%j, nothing missing - no notice', (query) => {
    expect(notice(query)).toBeNull()
  })

  test('several things missing - only the first cause is shown', () => {
    const hidden = { kind: 'hidden', reason: 'No.' } as const
    for (const query of ['', 'tab=deals', 'tab=health'])
      expect(notice(query, { channel: null, product: null, state: null })).toMatch(
        /^No channel is known: the catalog lists none/,
      )
    for (const query of ['', 'tab=deals']) {
      expect(notice(query, { product: null, state: null })).toMatch(/^The catalog has not been walked yet/)
      expect(notice(query, { widgetStatus: hidden, state: unwalked })).toMatch(
        /^The catalog has not been walked yet/,
      )
    }
    expect(notice('tab=health', { state: unwalked })).toBeNull()
  })

  test('no match - repeats the search, or the GTIN without a search', () => {
    const over = { product: null, matches: [] }
    expect(notice('find=lamp&gtin=123', over)).toBe('No product of this channel matches "lamp".')
    expect(notice('gtin=123', over)).toContain('123')
    expect(notice('', { ...over, hasFeeds: false })).toBe('The catalog has no product for this channel.')
    expect(notice('', { ...over, hasFeeds: true })).toContain('The tab Feeds says what fills it.')
    expect(notice('tab=deals', over)).toBeNull()
  })

  test.each(['', 'tab=deals'])('%j, hidden - gives the reason', (query) => {
    const reason = 'No shop that has it is left after the options.'
    expect(notice(query, { widgetStatus: { kind: 'hidden', reason } })).toBe(
      `Nothing is shown now, and the widget takes no space in a page. ${reason}`,
    )
  })
})

describe('address of the selection', () => {
  test('all defaults - channel and product only', () => {
    expect(makeStudio('theme=auto&limit=5&stock=any&utm_source=x').address).toBe(`${BASE}?${WHERE}`)
    expect(makeStudio('tab=deals').address).toBe(`${BASE}?tab=deals&channel=${CHANNEL_ID}`)
    expect(makeStudio('', { channel: null, product: null }).address).toBe(BASE)
  })

  test('options - only valid ones that differ from their defaults', () => {
    expect(makeStudio('find=lamp&theme=dark&limit=99&locale=de').address).toBe(
      `${BASE}?${WHERE}&find=lamp&theme=dark&locale=de`,
    )
  })

  test('opened at another address than the public one - uses the opened address', () => {
    const { address, tabs } = makeStudio('', { studioUrl: 'http://localhost:3000/studio' })
    expect(address).toBe(`http://localhost:3000/studio?${WHERE}`)
    for (const { href } of tabs) expect(href).toMatch(/^studio\?/)
  })

  const names = ['tab', 'channel', 'gtin', 'find', ...new Set(OPTION_LIST.map(({ name }) => name))]
  const values = [
    'deals',
    'health',
    'dark',
    'auto',
    'de-at',
    'EUR',
    '3',
    '05',
    '99',
    'card',
    'price',
    'schema',
    ' ',
    '',
  ]
  const queries = fc
    .array(fc.tuple(fc.constantFrom(...names), fc.oneof(fc.constantFrom(...values), fc.string())), {
      maxLength: 10,
    })
    .map((pairs) => new URLSearchParams(pairs).toString())

  test('address of any query - opens the same address and widget, without errors', () => {
    fc.assert(
      fc.property(queries, (query) => {
        const first = makeStudio(query)
        const second = toStudioView(makeStudioData(new URL(first.address).search))
        expect(second.address).toBe(first.address)
        expect(second.widget).toEqual(first.widget)
        const errors = second.fields.flatMap(({ fields }) => fields.flatMap(({ error }) => error ?? []))
        expect(errors).toEqual([])
      }),
      { numRuns: toRunCount(500) },
    )
  })
})

describe('rendered page', () => {
  const renderer = createRenderer()
  const read = (query: string): string | undefined =>
    findAll(renderer.renderStudio(makeStudio(query)), '#option-heading').map((field) =>
      getAttribute(field, 'placeholder'),
    )[0]

  test('language - the placeholder of the heading is the heading in it', () => {
    expect(read('')).toBe('Where to buy')
    expect(read('locale=de')).toBe('Preise im Vergleich')
    expect(read('tab=deals')).toBe('Deals')
    expect(read('tab=deals&locale=de')).toBe('Angebote')
  })

  test('nothing to embed - no previews, no addresses of a widget, but an address to share', () => {
    const html = renderer.renderStudio(makeStudio('', { channel: null, product: null, matches: [] }))
    expect([...findAll(html, '.device'), ...findAll(html, '.addresses'), ...findAll(html, 'code')]).toEqual(
      [],
    )
    expect(readStudioAddress(html)).toBe(BASE)
  })

  test('invalid values - have messages under their option, valid ones none', () => {
    const html = renderer.renderStudio(makeStudio('theme=blue&limit=3'))
    expect(readStudio(html, '#wrong-theme')).toBe('“Theme” accepts auto, light or dark.')
    expect(readStudio(html, '#wrong-limit')).toBe('')
  })
})

test('layout inline - is a part of a sentence, on the tab of boxes only', () => {
  expect(makeStudio('layout=inline').isSentence).toBe(true)
  for (const query of ['', 'layout=card', 'tab=deals&layout=inline'])
    expect(makeStudio(query).isSentence).toBe(false)
})
