import { gzipSync } from 'node:zlib'
import { type DefaultTreeAdapterMap, parse, parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS } from '../../src/widgets/option-list.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { UNHEALTHY, makeStudio } from '../helpers/studio-view.ts'
import {
  NOTICES,
  SALE_PRICE,
  makeBox,
  makeDeal,
  makeWrapper,
  makeGrid,
  makeHeader,
  makeOffer,
  makePick,
  makePicks,
} from '../helpers/views.ts'

type Node = DefaultTreeAdapterMap['node']
type Element = DefaultTreeAdapterMap['element']

const ELEMENTS =
  'section div p ul ol li table thead tbody tr th td a img span bdi s small time details summary link template nav script'.split(
    ' ',
  )
const ATTRIBUTES =
  'class lang dir title data-layout data-states data-picture data-logos data-bare aria-hidden data-theme data-accent data-kind data-best data-previous data-next scope aria-label data-gtin data-merchant data-go data-sub role href rel target translate src alt width height loading decoding referrerpolicy datetime shadowrootmode type'.split(
    ' ',
  )

const HOSTILE = [
  '"><script>alert(1)</script>',
  "' onclick='alert(1)' x='",
  '<?php system("id"); ?>',
  '<!--#include virtual="/etc/passwd" -->',
  '<esi:include src="/x"/>',
  '</template></section><img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  '<% throw 1 %><%= it %><%~ it %>',
  '--></title></textarea><style>*{display:none}</style>',
  '`${alert(1)}` \u2028 &lt;b&gt; &quot;',
]

const renderer = createRenderer()

function listElements(node: Node): Element[] {
  const own = 'tagName' in node ? [node] : []
  const inside = 'content' in node ? [node.content] : 'childNodes' in node ? node.childNodes : []
  return [...own, ...inside.flatMap(listElements)]
}

function getAttribute(element: Element, name: string): string | undefined {
  return element.attrs.find((attribute) => attribute.name === name)?.value
}

function findAll(html: string, tagName: string): Element[] {
  return listElements(parseFragment(html)).filter((element) => element.tagName === tagName)
}

function getText(node: Node): string {
  if ('value' in node) return node.value
  return 'childNodes' in node ? node.childNodes.map(getText).join('') : ''
}

/** Replace every text of a view by `text`; addresses, enums and numbers stay. */
function poison<T>(value: T, text: string, key = ''): T {
  const unchangedKeys =
    'href src srcset theme layout dir lang isolate accent kind styles iso schema tab type head url inputMode'.split(
      ' ',
    )
  if (unchangedKeys.includes(key)) return value
  if (typeof value === 'string') return text as T
  if (Array.isArray(value)) return value.map((item) => poison<unknown>(item, text)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, poison<unknown>(item, text, name)]),
  ) as T
}

const box = makeBox({
  offers: [makeOffer({ isBest: true, price: SALE_PRICE }), makeOffer({ price: null })],
  more: [makeOffer()],
  moreLabel: '1 more shop',
  schema: { '@type': 'Product' },
})
const grid = makeGrid({
  deals: [makeDeal(), makeDeal({ price: null, picture: null, brand: null })],
  paging: {
    label: 'Pages',
    previous: { href: '?page=1', text: 'Previous page' },
    next: { href: '?page=3', text: 'Next' },
  },
})

const picks = makePicks({
  products: [makePick(), makePick({ label: null, brand: null, picture: null, shops: null })],
})

describe('hostile texts', () => {
  const cases = HOSTILE.flatMap((text) => [
    ...BOX_LAYOUTS.map((layout) => ['none', text, { box: layout, picks: 'rank', grid: 'grid' }] as const),
    ...PICKS_LAYOUTS.map((layout) => ['none', text, { box: 'list', picks: layout, grid: 'grid' }] as const),
    ...GRID_LAYOUTS.map((layout) => ['shadow', text, { box: 'list', picks: 'row', grid: layout }] as const),
  ])

  test.each(cases)(
    'isolate %s, %s, %j - the same elements as with harmless texts',
    (isolate, text, layouts) => {
      const wrapper = makeWrapper({ isolate })
      for (const render of [
        (hostile: string | null) => {
          const view = { ...box, wrapper, layout: layouts.box }
          return renderer.renderWidget(hostile === null ? view : poison(view, hostile))
        },
        (hostile: string | null) => {
          const view = { ...picks, wrapper, layout: layouts.picks }
          return renderer.renderWidget(hostile === null ? view : poison(view, hostile))
        },
        (hostile: string | null) => {
          const view = { ...grid, wrapper, layout: layouts.grid }
          return renderer.renderWidget(hostile === null ? view : poison(view, hostile))
        },
      ]) {
        const html = render(text)
        const elements = listElements(parseFragment(html))
        expect(elements.map(({ tagName }) => tagName)).toEqual(
          listElements(parseFragment(render(null))).map(({ tagName }) => tagName),
        )
        for (const { tagName, attrs } of elements) {
          expect(ELEMENTS).toContain(tagName)
          for (const { name } of attrs) expect(ATTRIBUTES).toContain(name)
        }
        expect(html).not.toMatch(/<\?|<!--|<esi:|<%/)
        expect(html).toMatch(/^<(?:section|div|span) /)
      }
    },
  )

  test.each(HOSTILE)('pages with %s - the same elements as with harmless texts', (text) => {
    const shop = {
      styles: [],
      demoProduct: { shop: 'a', title: 'b', price: 'c', pictureUrl: null },
      parameters: [{ name: 'd', value: 'e' }],
    }
    const errorPage = { title: 'a', message: 'b', styles: [], frameScript: null, studioUrl: null }
    const studios = ['find=lamp&theme=blue', 'tab=deals&q=%22', 'tab=health'].map((query) =>
      makeStudio(query),
    )
    const pairs = [
      [renderer.renderDemoShop(shop), renderer.renderDemoShop(poison(shop, text))],
      [renderer.renderErrorPage(errorPage), renderer.renderErrorPage(poison(errorPage, text))],
      ...studios.map(
        (studio) => [renderer.renderStudio(studio), renderer.renderStudio(poison(studio, text))] as const,
      ),
    ] as const
    for (const [harmless, hostile] of pairs) {
      const names = (html: string): string[] => listElements(parse(html)).map(({ tagName }) => tagName)
      expect(names(hostile)).toEqual(names(harmless))
    }
  })

  test('JSON-LD that contains </script> - is the same JSON without a raw <', () => {
    const data = { name: '</script><script>alert(1)</script><!--' }
    const html = renderer.renderWidget(makeBox({ schema: data }))
    const scripts = findAll(html, 'script')
    expect(scripts).toHaveLength(1)
    expect(JSON.parse(getText(scripts[0] as Node))).toEqual(data)
    expect(html).not.toContain('<!--')
  })
})

describe('box', () => {
  test('links - have unchanged addresses, rel, target, and a name with shop and price', () => {
    const links = findAll(renderer.renderWidget(box), 'a')
    expect(links).toHaveLength(3)
    for (const link of links) {
      expect(getAttribute(link, 'href')).toBe('https://shop.example/a?id=1&ref=x')
      expect(getAttribute(link, 'rel')).toBe('sponsored nofollow noopener')
      expect(getAttribute(link, 'target')).toBe('_blank')
      expect(getAttribute(link, 'aria-label')).toBe('To the shop: Buy at Kopje for €12.99')
    }
  })

  test('price on sale - price, former price with its owner, and discount, in this order', () => {
    const html = renderer.renderWidget(makeBox({ offers: [makeOffer({ price: SALE_PRICE })] }))
    const [row] = findAll(html, 'li')
    expect(getText(row as Node).replace(/\s+/g, ' ')).toContain('now €12.99 Shop’s former price €15.99 −19%')
    expect(getText(findAll(html, 's')[0] as Node)).toBe('€15.99')
  })

  test('price too old - a text replaces it, and the link stays', () => {
    const html = renderer.renderWidget(makeBox({ offers: [makeOffer({ price: null })] }))
    expect(html).toContain('See price at shop')
    expect(html).not.toContain('vitrine-price')
    expect(findAll(html, 'a')).toHaveLength(1)
  })

  test('small print - time, order, shipping, coverage; the disclosure precedes the first link', () => {
    const html = renderer.renderWidget(makeBox())
    for (const text of [...NOTICES.order, NOTICES.shipping, NOTICES.coverage]) expect(html).toContain(text)
    expect(getAttribute(findAll(html, 'time')[0] as Element, 'datetime')).toBe('2026-11-21T05:12:00Z')
    expect(html.indexOf('We may earn')).toBeLessThan(html.indexOf('<a '))
    expect(html.indexOf('We may earn')).toBeGreaterThan(0)
    const quiet = renderer.renderWidget(makeBox({ header: makeHeader({ disclosure: null }) }))
    expect(quiet).not.toContain('vitrine-note')
  })

  test('header and notices without a style sheet - dots separate their parts', () => {
    const notices = { ...NOTICES, formerPrice: { price: 'Price', text: 'Shop’s former price' } }
    const paragraphs = findAll(renderer.renderWidget(makeBox({ notices })), 'p').map(getText)
    expect(paragraphs[0]).toBe(
      'Where to buy\u00A0· We may earn a commission when you buy through these links.',
    )
    expect(paragraphs.at(-1)).toBe(
      'In stock first, then by price\u00A0· Shipping not included\u00A0· Price\u00A0= Shop’s former price\u00A0· Prices checked on 21 Nov 2026, 05:12 UTC\u00A0· Not all shops are compared',
    )
  })

  test.each([
    ['without a disclosure', makeHeader({ disclosure: null }), 'Where to buy'],
    [
      'without a heading',
      makeHeader({ head: 'none' }),
      'We may earn a commission when you buy through these links.',
    ],
  ])('header %s - has no dot', (_case, header, text) => {
    const [first] = findAll(renderer.renderWidget(makeBox({ header })), 'p')
    expect(first && getText(first)).toBe(text)
  })

  test('picture - sized, lazy, without referrer; without one, a placeholder', () => {
    const [image] = findAll(renderer.renderWidget(makeBox()), 'img')
    const names = ['alt', 'width', 'height', 'loading', 'decoding', 'referrerpolicy']
    expect(names.map((name) => image && getAttribute(image, name))).toEqual([
      '',
      '96',
      '96',
      'lazy',
      'async',
      'no-referrer',
    ])
    const bare = renderer.renderWidget(makeBox({ picture: null }))
    expect(bare).toContain('<div class="vitrine-picture"></div>')
  })

  test('styles - linked inside the root, inside the shadow root, or not at all', () => {
    const plain = renderer.renderWidget(makeBox())
    expect(plain).toMatch(/^<section [^>]*>\s*<link rel="stylesheet" href="https:\/\/widgets\.example/)
    const shadow = renderer.renderWidget(makeBox({ wrapper: makeWrapper({ isolate: 'shadow' }) }))
    expect(shadow).toMatch(
      /^<div class="vitrine-host" lang="en" dir="ltr"><template shadowrootmode="open">\s*<link /,
    )
    expect(renderer.renderWidget(makeBox({ wrapper: makeWrapper({ styles: [] }) }))).not.toContain('<link')
  })

  test('accent - an attribute that the rules of /accents/ select; absent without an accent', () => {
    expect(renderer.renderWidget(makeBox({ wrapper: makeWrapper({ accent: 'ff6600' }) }))).toContain(
      'data-accent="ff6600"',
    )
    expect(renderer.renderWidget(makeBox())).not.toContain('data-accent')
  })

  test('JSON-LD with shadow DOM - is outside the shadow root', () => {
    const html = renderer.renderWidget(
      makeBox({ wrapper: makeWrapper({ isolate: 'shadow' }), schema: { a: 1 } }),
    )
    expect(html).toMatch(/<\/template><\/div>\s*<script type="application\/ld\+json">\{"a":1\}<\/script>$/)
  })
})

describe('grid', () => {
  test('cards - the title is the link and begins its name; availability only if not in stock', () => {
    const html = renderer.renderWidget(makeGrid())
    const [link] = findAll(html, 'a')
    expect(link && getAttribute(link, 'aria-label')).toBe('Lumen Arc: Buy at Kopje for €12.99')
    expect(html).not.toContain('In stock<')
    const out = makeDeal({ availability: { text: 'Out of stock', kind: 'out' } })
    expect(renderer.renderWidget(makeGrid({ deals: [out] }))).toContain('Out of stock')
  })

  test('paging - only links to existing pages; no navigation without links', () => {
    const paging = { label: 'Pages', previous: null, next: { href: '?page=2', text: 'Next page' } }
    const html = renderer.renderWidget(makeGrid({ paging }))
    expect(findAll(html, 'nav')).toHaveLength(1)
    expect(html).not.toContain('rel="prev"')
    expect(renderer.renderWidget(makeGrid({ paging: null }))).not.toContain('<nav')
  })
})

const varied = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const price = (index: number): typeof SALE_PRICE => ({ ...SALE_PRICE, price: `€${index * 17 + 9}.95` })
const href = (index: number): string =>
  `https://track.example/c/${index * 7_919}?u=https%3A%2F%2Fshop.example%2F${index}`

describe('sizes', () => {
  test('box of 5 and grid of 12 - at most 4 kB and 8 kB compressed, without blank lines', () => {
    const offers = varied(5, (i) => makeOffer({ merchant: `Shop ${i}`, href: href(i), price: price(i) }))
    const deals = varied(12, (i) =>
      makeDeal({ title: `Product ${i * 31} of some length`, href: href(i), price: price(i) }),
    )
    const fives = BOX_LAYOUTS.map((layout) => renderer.renderWidget(makeBox({ layout, offers })))
    const twelves = GRID_LAYOUTS.map((layout) => renderer.renderWidget(makeGrid({ layout, deals })))
    for (const five of fives) expect(gzipSync(five).byteLength).toBeLessThan(4_000)
    for (const twelve of twelves) expect(gzipSync(twelve).byteLength).toBeLessThan(8_000)
    expect([...fives, ...twelves].join('')).not.toMatch(/\n\s*\n/)
  })
})

describe('documents', () => {
  const embed = {
    lang: 'de',
    dir: 'ltr',
    title: 'T',
    styles: ['/a.css'],
    frameScript: '/f.js',
    reason: null,
    isFailure: false,
    redirectBaseUrl: null,
    discovery: null,
  } as const

  test('embed - state, colour scheme, deferred script, unchanged body', () => {
    const body = renderer.renderWidget(makeBox())
    const html = renderer.renderEmbed({ ...embed, theme: 'auto', state: 'shown', body })
    expect(html).toMatch(/^<!doctype html>\s*<html lang="de" dir="ltr">/)
    expect(html).toContain('data-vitrine-state="shown"')
    expect(html).toContain('<meta name="color-scheme" content="light">')
    expect(html).toContain('<script src="/f.js" defer></script>')
    expect(html).toContain(body)
    const hidden = renderer.renderEmbed({ ...embed, theme: 'dark', state: 'hidden', body: '' })
    expect(hidden).toContain('<meta name="color-scheme" content="dark">')
    expect(hidden).toContain('<div class="vitrine-content"></div>')
  })

  test.each([
    ['box', () => renderer.renderWidget(box)],
    ['grid', () => renderer.renderWidget(grid)],
    ['numbered round-up', () => renderer.renderWidget(picks)],
    ['round-up as a table', () => renderer.renderWidget({ ...picks, layout: 'table' })],
    ['round-up as rows', () => renderer.renderWidget({ ...picks, layout: 'row' })],
    [
      'box with variants',
      () => renderer.renderWidget({ ...box, variants: { label: '1 other version', rows: [makePick()] } }),
    ],
    ['shadow box', () => renderer.renderWidget({ ...box, wrapper: makeWrapper({ isolate: 'shadow' }) })],
    [
      'embed',
      () =>
        renderer.renderEmbed({ ...embed, theme: 'auto', state: 'shown', body: renderer.renderWidget(grid) }),
    ],
    [
      'error page',
      () =>
        renderer.renderErrorPage({
          title: 'An error',
          message: 'Why',
          styles: [],
          frameScript: '/f.js',
          studioUrl: null,
        }),
    ],
    ['studio', () => renderer.renderStudio(makeStudio('find=lamp&theme=blue&limit=99&merchant=Elsewhere'))],
    ['studio of deals', () => renderer.renderStudio(makeStudio('tab=deals&brand=Lumen&max_price=x'))],
    [
      'studio of an unhealthy server',
      () => renderer.renderStudio(makeStudio('tab=health', { health: UNHEALTHY })),
    ],
    [
      'empty studio',
      () =>
        renderer.renderStudio(makeStudio('', { channels: [], channel: null, product: null, matches: [] })),
    ],
    [
      'demonstration shop',
      () =>
        renderer.renderDemoShop({ styles: [], demoProduct: null, parameters: [{ name: 'a', value: 'b' }] }),
    ],
  ])('%s - is valid HTML', async (_name, render) => {
    expect(await findHtmlErrors(render())).toEqual([])
  })
})
