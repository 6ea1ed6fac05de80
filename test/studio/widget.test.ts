import { describe, expect, test } from 'vitest'
import { validateOptions } from '../../src/studio/selection.ts'
import { type EmbeddedWidget, type StudioWidgetView, toStudioWidget } from '../../src/studio/widget.ts'
import { estimateHeightPx } from '../../src/widgets/heights.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'

const GTIN = toGtin(1)
const DEFAULTS = { locale: 'en', currency: null }
const LOADER = {
  publicUrl: 'https://widgets.example',
  openForms: { data: false, mail: false },
  pinnedScript: { url: 'https://widgets.example/assets/embed.00000000.js', integrity: 'sha384-abc' },
}
const BOX_SIZE = {
  layout: 'list',
  shownCount: 5,
  saleCount: 2,
  termsCount: 0,
  isBare: false,
  isFolded: true,
  hasVariants: false,
  isStandIn: false,
  history: 'none',
} as const
const GRID_SIZE = { layout: 'grid', cardCount: 12 } as const

const ALL_BOX =
  'theme=dark&accent=ff6600&locale=de-AT&currency=CHF&stock=in&merchant=A+%26+B&merchant=C&exclude=D&isolate=shadow&css=none&layout=card&limit=3&markup=schema'

/** A box with these options. */
const makeBox = (rawOptions = ''): EmbeddedWidget => ({
  kind: 'where-to-buy',
  channelId: CHANNEL_ID,
  gtins: [GTIN],
  title: 'Where to buy Lumen Arc',
  caption: 'Lumen Arc, Magazine',
  query: validateOptions('where-to-buy', new URLSearchParams(rawOptions), DEFAULTS).widgetQuery,
  size: BOX_SIZE,
})

const makeGrid = (rawOptions = ''): EmbeddedWidget => ({
  kind: 'deals',
  channelId: CHANNEL_ID,
  gtins: [],
  title: 'Deals',
  caption: 'Deals, Magazine',
  query: validateOptions('deals', new URLSearchParams(rawOptions), DEFAULTS).query,
  size: GRID_SIZE,
})

const toView = (widget: EmbeddedWidget, publicUrl = LOADER.publicUrl): StudioWidgetView =>
  toStudioWidget(widget, { ...LOADER, publicUrl })
const getCode = (view: StudioWidgetView, id: string): string =>
  view.snippets.find((snippet) => snippet.id === id)?.code ?? 'no such snippet'
const toRecord = ({
  attributes,
}: Pick<StudioWidgetView['previews'][number], 'attributes'>): Record<string, string> =>
  Object.fromEntries(attributes.map(({ name, value }) => [name, value]))

describe('addresses', () => {
  test('box - fragment, document and oEmbed response', () => {
    const path = `${CHANNEL_ID}/where-to-buy/${GTIN}`
    expect(toView(makeBox())).toMatchObject({
      kind: 'where-to-buy',
      title: 'Where to buy Lumen Arc',
      fragmentUrl: `https://widgets.example/fragments/${path}`,
      embedUrl: `https://widgets.example/embeds/${path}`,
      oembedUrl: `https://widgets.example/oembed?url=${encodeURIComponent(`https://widgets.example/embeds/${path}`)}&format=json`,
    })
  })

  test('JSON and newsletter - only if the settings open them; a feed for a grid', () => {
    const openForms = { data: true, mail: true }
    const listUrls = (widget: EmbeddedWidget, details = LOADER): readonly string[] =>
      toStudioWidget(widget, details).otherForms.map(({ url }) => url)
    expect(listUrls(makeBox())).toEqual([])
    expect(listUrls(makeBox(), { ...LOADER, openForms })).toEqual([
      `https://widgets.example/data/${CHANNEL_ID}/where-to-buy/${GTIN}`,
      `https://widgets.example/mail/${CHANNEL_ID}/where-to-buy/${GTIN}`,
    ])
    expect(listUrls(makeGrid('sort=price&css=none'))).toEqual([
      `https://widgets.example/feeds/${CHANNEL_ID}/deals.atom?sort=price`,
    ])
  })

  test('grid - the same without a product', () => {
    const { embedUrl, fragmentUrl } = toView(makeGrid('sort=price'))
    expect(embedUrl).toBe(`https://widgets.example/embeds/${CHANNEL_ID}/deals?sort=price`)
    expect(fragmentUrl).toBe(`https://widgets.example/fragments/${CHANNEL_ID}/deals?sort=price`)
  })

  test('every option - is in the fragment; a frame omits the fragment-only options', () => {
    const { fragmentUrl, embedUrl, oembedUrl } = toView(makeBox(ALL_BOX))
    expect(new URL(fragmentUrl).search).toBe(`?${ALL_BOX}`)
    expect(new URL(embedUrl).search).toBe(`?${ALL_BOX.replace(/&(?:isolate|css|markup)=\w+/g, '')}`)
    expect(new URL(oembedUrl).searchParams.get('url')).toBe(embedUrl)
    expect(new URL(oembedUrl).searchParams.get('format')).toBe('json')
  })

  test('public address with a path - is in every address and snippet with this server', () => {
    const publicUrl = 'https://example.org/widgets'
    const view = toView(makeBox('theme=dark'), publicUrl)
    for (const url of [view.fragmentUrl, view.embedUrl, view.oembedUrl])
      expect(url.startsWith(`${publicUrl}/`)).toBe(true)
    expect(getCode(view, 'loader')).toContain(`src="${publicUrl}/embed.js"`)
    for (const id of ['iframe', 'oembed']) expect(getCode(view, id)).toContain(`${publicUrl}/embeds/`)
    for (const id of ['php', 'fetch']) expect(getCode(view, id)).toContain(`'${publicUrl}/fragments/`)
    for (const id of ['ssi', 'esi']) {
      expect(getCode(view, id)).toContain('"/vitrine/fragments/')
      expect(getCode(view, id)).not.toContain('widgets/')
    }
  })
})

describe('round-up', () => {
  const GTINS = [toGtin(1), toGtin(2), toGtin(3)]
  const makePicks = (): EmbeddedWidget => ({
    kind: 'picks',
    channelId: CHANNEL_ID,
    gtins: GTINS,
    title: 'Our picks',
    caption: 'Round-up: Lumen Arc and 2 more, Magazine',
    query: new URLSearchParams('layout=table&sub=p1&label=A+%26+B&label=&label=C'),
    size: { layout: 'table', productCount: 3, labelCount: 2, foldCount: 3, hasPictures: true },
  })

  test('addresses - GTINs separated by commas, empty labels kept', () => {
    const { fragmentUrl, embedUrl } = toView(makePicks())
    const query = 'layout=table&sub=p1&label=A+%26+B&label=&label=C'
    expect(fragmentUrl).toBe(
      `https://widgets.example/fragments/${CHANNEL_ID}/picks/${GTINS.join(',')}?${query}`,
    )
    expect(embedUrl).toBe(`https://widgets.example/embeds/${CHANNEL_ID}/picks/${GTINS.join(',')}?${query}`)
  })

  test('loader and shortcode - labels joined by "|"', () => {
    const view = toView(makePicks())
    expect(getCode(view, 'loader')).toContain(
      `<div data-vitrine="picks" data-channel="${CHANNEL_ID}" data-gtins="${GTINS.join(',')}" data-layout="table" data-sub="p1" data-label="A &amp; B||C" `,
    )
    expect(getCode(view, 'wordpress')).toBe(
      `[vitrine_picks gtins="${GTINS.join(',')}" channel="${CHANNEL_ID}" layout="table" sub="p1" labels="A &amp; B||C"]`,
    )
  })
})

describe('variants and stand-ins', () => {
  const box: EmbeddedWidget = {
    ...makeBox(),
    gtins: [GTIN, toGtin(2)],
    query: new URLSearchParams({ else: `${toGtin(3)},${toGtin(4)}` }),
  }

  test('addresses and attributes - variants separated by "~", stand-ins by commas', () => {
    const view = toView(box)
    expect(new URL(view.embedUrl).pathname).toBe(`/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}~${toGtin(2)}`)
    expect(new URL(view.embedUrl).searchParams.get('else')).toBe(`${toGtin(3)},${toGtin(4)}`)
    expect(getCode(view, 'loader')).toContain(
      `data-gtin="${GTIN}~${toGtin(2)}" data-else="${toGtin(3)},${toGtin(4)}"`,
    )
    expect(getCode(view, 'wordpress')).toBe(
      `[vitrine gtin="${GTIN}~${toGtin(2)}" channel="${CHANNEL_ID}" else="${toGtin(3)},${toGtin(4)}"]`,
    )
  })
})

describe('previews', () => {
  test('both widths on both backgrounds - have a label and the attributes of the widget', () => {
    const { previews } = toView(makeBox())
    expect(previews.map(({ size, background, label }) => [size, background, label])).toEqual([
      ['phone', 'light', 'Phone, on a light page'],
      ['article', 'light', 'Article, on a light page'],
      ['phone', 'dark', 'Phone, on a dark page'],
      ['article', 'dark', 'Article, on a dark page'],
    ])
    for (const preview of previews)
      expect(toRecord(preview)).toMatchObject({
        'data-vitrine': 'where-to-buy',
        'data-channel': CHANNEL_ID,
        'data-gtin': GTIN,
      })
    const titles = previews.map((preview) => toRecord(preview)['data-title'])
    expect(new Set(titles).size).toBe(4)
    expect(titles[0]).toBe('Where to buy Lumen Arc (phone, light page)')
  })

  test('theme auto - each preview has the theme of its background', () => {
    for (const rawOptions of ['', 'theme=auto']) {
      const view = toView(makeGrid(rawOptions))
      expect(view.previews.map((preview) => toRecord(preview)['data-theme'])).toEqual([
        'light',
        'light',
        'dark',
        'dark',
      ])
      expect(view.background).toBe('light')
      expect(view.embedUrl).not.toContain('theme')
    }
  })

  test.each(['light', 'dark'] as const)(
    'theme %s - is the same on both backgrounds, and its background is previewed first',
    (theme) => {
      const { previews, background } = toView(makeGrid(`theme=${theme}`))
      expect(previews.map((preview) => toRecord(preview)['data-theme'])).toEqual([theme, theme, theme, theme])
      expect(background).toBe(theme)
    },
  )

  test('options of a frame - are attributes, shops joined by "|", without fragment-only options', () => {
    const [preview] = toView(makeBox(ALL_BOX)).previews
    const { 'data-title': _title, ...attributes } = preview === undefined ? {} : toRecord(preview)
    expect(attributes).toEqual({
      'data-vitrine': 'where-to-buy',
      'data-channel': CHANNEL_ID,
      'data-gtin': GTIN,
      'data-theme': 'dark',
      'data-accent': 'ff6600',
      'data-locale': 'de-AT',
      'data-currency': 'CHF',
      'data-stock': 'in',
      'data-merchant': 'A & B|C',
      'data-exclude': 'D',
      'data-layout': 'card',
      'data-limit': '3',
    })
  })

  test('layout inline - frames the page that puts the fragment into a sentence', () => {
    const { previews } = toView(makeBox('layout=inline&locale=de&theme=dark&isolate=shadow'))
    expect(previews.map(({ size, background }) => `${size} ${background}`)).toEqual([
      'phone light',
      'article light',
      'phone dark',
      'article dark',
    ])
    const base = `studio/sentence?channel=${CHANNEL_ID}&gtin=${GTIN}&background=`
    expect(previews.map(({ isFrame, ...preview }) => isFrame && toRecord(preview)['src'])).toEqual(
      ['light', 'light', 'dark', 'dark'].map(
        (background) => `${base}${background}&locale=de&isolate=shadow&layout=inline`,
      ),
    )
    expect(new Set(previews.map((preview) => toRecord(preview)['title'])).size).toBe(4)
  })

  test('attributes - are unique in each preview', () => {
    for (const { attributes } of toView(makeGrid('theme=dark&q=a&min_discount=5')).previews) {
      const names = attributes.map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
    }
  })
})

describe('heights and shortcode', () => {
  test('heights - of an iframe for a phone, of the reserved space for an article', () => {
    const box = toView(makeBox())
    expect(getCode(box, 'iframe')).toContain(`height="${estimateHeightPx(BOX_SIZE, 360)}"`)
    expect(getCode(box, 'loader')).toContain(`data-height="${estimateHeightPx(BOX_SIZE, 680)}"`)
    const grid = toView(makeGrid())
    expect(getCode(grid, 'iframe')).toContain(`height="${estimateHeightPx(GRID_SIZE, 360)}"`)
    expect(getCode(grid, 'pinned')).toContain(`data-height="${estimateHeightPx(GRID_SIZE, 680)}"`)
    expect(estimateHeightPx(GRID_SIZE, 360)).not.toBe(estimateHeightPx(GRID_SIZE, 680))
  })

  test('shortcode - has every option, including fragment-only ones, and the name of its widget', () => {
    expect(getCode(toView(makeBox('isolate=shadow&merchant=A&merchant=B')), 'wordpress')).toBe(
      `[vitrine gtin="${GTIN}" channel="${CHANNEL_ID}" merchant="A|B" isolate="shadow"]`,
    )
    expect(getCode(toView(makeGrid('q=lamp')), 'wordpress')).toBe(
      `[vitrine_deals channel="${CHANNEL_ID}" q="lamp"]`,
    )
  })
})
