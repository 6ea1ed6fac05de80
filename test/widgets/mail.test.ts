import { assert, integer, property } from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { removeSubSlots } from '../../src/lib/sub-template.ts'
import { GALLERY_CASES } from '../../src/studio/gallery/cases.ts'
import {
  GALLERY_THEMES,
  type GalleryTheme,
  type Layout,
  createExample,
  hasExample,
} from '../../src/studio/gallery/examples.ts'
import { LANGUAGE_TAGS } from '../../src/widgets/locales/index.ts'
import { toMailView } from '../../src/widgets/mail.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import type { GridView } from '../../src/widgets/grid.ts'
import type { PicksView } from '../../src/widgets/picks.ts'
import { IS_FULL, toRunCount } from '../helpers/property-runs.ts'
import {
  SALE_PRICE,
  makeBox,
  makeDeal,
  makeGrid,
  makeHeader,
  makeOffer,
  makePick,
  makePicks,
} from '../helpers/views.ts'
import { findMailErrors } from './mail-rules.ts'

const LAYOUTS: readonly Layout[] = [
  { widget: 'where-to-buy', name: 'list' },
  { widget: 'where-to-buy', name: 'inline' },
  { widget: 'picks', name: 'rank' },
  { widget: 'deals', name: 'grid' },
]

const renderer = createRenderer()

const render = (view: BoxView | PicksView | GridView): string =>
  removeSubSlots(renderer.renderMail(toMailView(view)))

/** A box with the colours of a theme. */
const makeColouredBox = (theme: 'light' | 'dark', accent: string | null = null): BoxView => {
  const box = makeBox()
  return { ...box, wrapper: { ...box.wrapper, theme, accent } }
}

const EXAMPLES = LAYOUTS.flatMap((layout) =>
  GALLERY_CASES.filter((entry) => hasExample(layout, entry)).map((entry) => ({
    layout,
    entry,
    name: `${layout.widget} ${layout.name}, ${entry.id}`,
  })),
)

type Variant = Readonly<{ theme: GalleryTheme; locale: string }>

/** Bounded to one of each theme and direction. */
const VARIANTS: readonly Variant[] = IS_FULL
  ? GALLERY_THEMES.flatMap((theme) => LANGUAGE_TAGS.map((locale) => ({ theme, locale })))
  : [
      { theme: 'magazine', locale: 'en' },
      { theme: 'dark', locale: 'ar' },
    ]

function renderExample({ layout, entry }: (typeof EXAMPLES)[number], { theme, locale }: Variant) {
  const urls = { publicUrl: 'https://widgets.example', stylePath: '/assets/vitrine.css' }
  const view = createExample(layout, entry, { ...urls, theme, locale })
  return { html: render(view), disclosure: view.header.disclosure }
}

describe('rules of mail programs', () => {
  test.each(EXAMPLES)('$name - keeps them, and says that it is advertising before any link', (example) => {
    for (const variant of VARIANTS) {
      const { html, disclosure } = renderExample(example, variant)
      expect(findMailErrors(html)).toEqual([])
      expect(html.slice(0, html.indexOf('href='))).toContain(disclosure)
    }
  })

  test.each(LANGUAGE_TAGS)('%s - keeps them', (locale) => {
    for (const example of EXAMPLES.filter(({ entry }) => entry.id === 'usual'))
      expect(findMailErrors(renderExample(example, { theme: 'light', locale }).html)).toEqual([])
  })

  test.each([
    ['<style>p{}</style>', '<style>'],
    ['<b class="x">b</b>', '<b class>'],
    ['<!--[if mso]><![endif]-->', 'comment'],
    ['<svg></svg>', '<svg>'],
    ['<form></form>', '<form>'],
    ['<bdi>b</bdi>', '<bdi>'],
    ['<div style="background:#ffffff">b</div>', '<div style="background:#ffffff">'],
    ['<div style="color:#fff">b</div>', '<div style="color:#fff">'],
    ['<div style="padding:1px">b</div>', '<div style="padding:1px">'],
    ['<a href="/x" target="_blank" rel="sponsored nofollow">b</a>', '<a>: a relative address'],
    ['<img src="https://a.example/x.svg" alt="" width="9">', '<img>: a format'],
    ['<img src="https://a.example/x.jpg" width="9">', '<img>: no alt'],
    ['<table></table>', '<table>: no role'],
    ['text', 'text without font-size: text'],
  ])('%s - is reported', (inner, error) => {
    const table = '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">'
    expect(findMailErrors(`${table}<tr><td>${inner}</td></tr></table>`)).toContain(error)
  })
})

const toName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

describe('colours', () => {
  test('themes - are those of the style sheet', () => {
    const css = readFileSync(join(PACKAGE_FOLDER, 'public/styles/vitrine.css'), 'utf8')
    for (const [theme, ending] of [
      ['light', ''],
      ['dark', '-dark'],
    ] as const)
      for (const [name, colour] of Object.entries(toMailView(makeColouredBox(theme)).colours))
        expect(css).toMatch(
          new RegExp(`--vitrine-${toName(name)}${ending}, ${colour.replace(/^#(f)\1{5}$/, '#fff')}\\)`),
        )
  })

  test('any accent - all texts are readable', () => {
    const isReadable = property(integer({ min: 0, max: 0xffffff }), (colour) => {
      const accent = colour.toString(16).padStart(6, '0')
      for (const theme of ['light', 'dark'] as const)
        expect(findMailErrors(render(makeColouredBox(theme, accent)))).toEqual([])
    })
    assert(isReadable, { numRuns: toRunCount(500) })
  })
})

describe('content', () => {
  test('box - heading, disclosure, title and offers in the order of the page', () => {
    const offers = [
      makeOffer({ isBest: true, price: SALE_PRICE }),
      makeOffer({ merchant: 'Zaal', price: null, terms: 'Free returns' }),
      makeOffer({ merchant: 'Ost', availability: { text: 'Out of stock', kind: 'out' } }),
    ]
    const html = render(makeBox({ offers, more: [makeOffer({ merchant: 'Folded' })] }))
    expect(toText(html)).toMatch(
      /^Where to buy · We may earn .* links\. Lumen Arc Lumen Kopje Lowest listed price €12\.99 €15\.99 −19% To the shop Zaal Free returns See price at shop To the shop Ost Out of stock €12\.99 To the shop Prices at sending time/,
    )
    expect(html).not.toContain('In stock<')
    expect(html).not.toContain('Folded')
  })

  test('former price - is explained once', () => {
    const offers = [makeOffer({ price: SALE_PRICE })]
    const notices = { ...makeBox().notices, formerPrice: { price: 'Price', text: 'Shop’s former price' } }
    expect(toText(render(makeBox({ offers, notices })))).toMatch(/ · Price = Shop’s former price$/)
  })
  test('round-up - numbers and labels; other layouts have no numbers', () => {
    const products = [makePick(), makePick({ number: '2', label: null })]
    expect(toText(render(makePicks({ products })))).toMatch(
      /^Our picks We may .* 1 · Best overall Lumen Arc €12\.99 .* at Kopje · Lowest listed price To the shop 2 Lumen Arc/,
    )
    expect(toText(render(makePicks({ products, layout: 'row' })))).toMatch(
      /links\. Best overall .* Lumen Arc /,
    )
  })

  test.each([
    ['full', /Deals We may .* Lumen Arc/, 1],
    ['compact', /Deals We may .* Lumen Arc/, 0],
    ['none', /^We may .* Lumen Arc/, 0],
  ] as const)('head=%s - its parts', (head, text, pictures) => {
    const html = render(makeGrid({ header: makeHeader({ heading: 'Deals', head }) }))
    expect(toText(html)).toMatch(text)
    expect(html.split('<img').length - 1).toBe(pictures)
  })

  test('stand-in - is named also without a head', () => {
    const standIn = 'Not available. Instead: Lumen Arc'
    for (const head of ['full', 'none'] as const)
      expect(toText(render(makeBox({ standIn, header: makeHeader({ head }) })))).toContain(standIn)
  })

  test('SVG picture - is left out', () => {
    const picture = { src: 'https://images.example/arc.SVG?v=1', srcset: null, sizes: null }
    expect(render(makeBox({ picture }))).not.toContain('<img')
  })

  test('20 deals with long texts - below 60 kB', () => {
    const href = `https://shop.example/${'a'.repeat(400)}`
    const deal = makeDeal({
      title: 'Lumen '.repeat(33),
      href,
      merchantParts: [{ text: 'at a shop with a long name', placeholder: null }],
    })
    const html = render(makeGrid({ deals: Array.from({ length: 20 }, () => deal) }))
    expect(findMailErrors(html)).toEqual([])
  })
})

/** Return the text of all cells with single spaces. */
function toText(html: string): string {
  return html
    .replace(/<\/(?:div|td)>|<del[^>]*>|<b[^>]*>|<span[^>]*>/g, ' ')
    .replace(/<[^>]+>|&nbsp;/g, (tag) => (tag === '&nbsp;' ? ' ' : ''))
    .replace(/&#39;/g, '’')
    .replace(/\s+/g, ' ')
    .trim()
}
