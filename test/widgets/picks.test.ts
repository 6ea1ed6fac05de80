import { type DefaultTreeAdapterMap, parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { removeSubSlots } from '../../src/lib/sub-template.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { PICKS_LAYOUTS } from '../../src/widgets/option-list.ts'
import { parseBoxOptions, parsePicksOptions } from '../../src/widgets/options.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import type { ViewContext } from '../../src/widgets/view-parts.ts'
import type { PicksView } from '../../src/widgets/picks.ts'
import { VIEW_CONTEXT, toBoxView, toPicksView } from '../helpers/shown-views.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'

const renderer = createRenderer()
const DEFAULTS = { locale: 'en', currency: null }

const sell = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, price, ...over })
const makeNamed = (title: string, offers: readonly Offer[], over: Partial<Product> = {}): Product =>
  makeProduct({ title, offers, ...over })

const LAMP = makeNamed('Lamp', [sell('Kopje', '20'), sell('Nordhem', '10'), sell('Ando', '30')])
const CHAIR = makeNamed('Chair', [sell('Kopje', '5')])
const DESK = makeNamed('Desk', [
  sell('Kopje', '1', { availability: 'out_of_stock' }),
  sell('Nordhem', '2', { availability: 'out_of_stock' }),
])

type ViewDetails = Readonly<{ labels?: readonly string[]; ageMs?: number; shops?: ViewContext['shops'] }>

function findView(
  products: readonly Product[],
  query = '',
  { labels = [], ageMs = 0, shops = VIEW_CONTEXT.shops }: ViewDetails = {},
): PicksView | undefined {
  const options = parsePicksOptions(new URLSearchParams(query), DEFAULTS, 'fragment')
  const labelled = products.map((product, index) => ({
    product,
    asOfMs: NOON_MS - ageMs,
    label: labels[index] ?? null,
  }))
  return toPicksView(labelled, options, { ...VIEW_CONTEXT, shops })
}

function view(...args: Parameters<typeof findView>): PicksView {
  const found = findView(...args)
  if (found === undefined) throw new Error('the round-up is hidden')
  return found
}

const render = (...args: Parameters<typeof findView>): string =>
  removeSubSlots(renderer.renderWidget(view(...args)))

type Node = DefaultTreeAdapterMap['node']
type Element = DefaultTreeAdapterMap['element']

function listElements(node: Node): Element[] {
  const own = 'tagName' in node ? [node] : []
  return [...own, ...('childNodes' in node ? node.childNodes.flatMap(listElements) : [])]
}

const getText = (node: Node): string =>
  'value' in node ? node.value : 'childNodes' in node ? node.childNodes.map(getText).join('') : ''

/** The last element of a line of the fold is visually hidden, too. */
const isHidden = (node: Node): boolean =>
  'attrs' in node &&
  (node.attrs.some(({ value }) => value === 'vitrine-sr-only') ||
    (node.tagName === 'span' && node.attrs.length === 0))

function getVisibleText(node: Node): string {
  if (isHidden(node)) return ''
  return 'childNodes' in node ? node.childNodes.map(getVisibleText).join('') : getText(node)
}

const normalize = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** List accessible name and visible text of the links of a fragment. */
function listLinks(html: string): readonly Readonly<{ name: string; text: string }>[] {
  return listElements(parseFragment(html))
    .filter(({ tagName }) => tagName === 'a')
    .map((link) => {
      const label = link.attrs.find(({ name }) => name === 'aria-label')?.value
      return { name: normalize(label ?? getText(link)), text: normalize(getVisibleText(link)) }
    })
}

/** Render a box with two variants, or with a product that stands in. */
function renderWidget(query: string, isStandIn = false): string {
  const options = parseBoxOptions(new URLSearchParams(query), DEFAULTS, 'fragment')
  const mug = makeNamed('Mug', [sell('Kopje', '9', { oldPrice: '12' })])
  const variants = (isStandIn ? [] : [CHAIR, mug]).map((product) => ({ product, asOfMs: NOON_MS }))
  const found = toBoxView({ product: LAMP, asOfMs: NOON_MS, isStandIn, variants }, options, VIEW_CONTEXT)
  if (found === undefined) throw new Error('the box is hidden')
  return removeSubSlots(renderer.renderWidget(found))
}

const listOrder = (products: readonly Product[]): readonly string[] => view(products).notices.order

describe('products of a round-up', () => {
  test('order - that of the editor, with numbers, labels by position, and the first offer of a box', () => {
    const { products } = view([CHAIR, LAMP, DESK], '', { labels: ['Best overall', '', 'Best value'] })
    expect(products.map(({ number, title, label, offer }) => [number, title, label, offer.merchant])).toEqual(
      [
        ['1', 'Chair', 'Best overall', 'Kopje'],
        ['2', 'Lamp', '', 'Nordhem'],
        ['3', 'Desk', 'Best value', 'Kopje'],
      ],
    )
  })

  test('one shop - no fold; several - all of them in their order, the first included', () => {
    const [lamp, chair] = view([LAMP, CHAIR]).products
    expect(chair?.shops).toBeNull()
    expect(lamp?.shops?.label).toBe('3 shops')
    expect(lamp?.shops?.offers.map(({ merchant }) => merchant)).toEqual(['Nordhem', 'Kopje', 'Ando'])
  })

  test('notice about the order - only with several offers, and of stock only with some in stock', () => {
    expect(listOrder([CHAIR, CHAIR])).toEqual([])
    expect(listOrder([DESK, DESK])).toEqual(['Lowest price first'])
    expect(listOrder([DESK, LAMP])).toEqual(['In stock first, then by price'])
  })

  test('sold out - is shown and marked, and no price is the lowest', () => {
    const [desk] = view([DESK]).products
    expect(desk?.offer.availability).toEqual({ text: 'Out of stock', kind: 'out' })
    expect(desk?.offer.isBest).toBe(false)
    for (const layout of PICKS_LAYOUTS) expect(render([DESK], `layout=${layout}`)).toContain('Out of stock')
  })

  test('stock=in - sold-out products drop out, and the numbers have no gap; none left - hidden', () => {
    const { products } = view([DESK, LAMP], 'stock=in')
    expect(products.map(({ number, title }) => `${number} ${title}`)).toEqual(['1 Lamp'])
    expect(findView([DESK], 'stock=in')).toBeUndefined()
    expect(findView([])).toBeUndefined()
  })

  test('several currencies - each product has one, and currency=USD selects', () => {
    const mug = makeNamed('Mug', [sell('Kopje', '9', { currency: 'USD' })])
    const prices = (query: string): unknown[] =>
      view([CHAIR, mug], query).products.map(({ offer }) => offer.price?.price)
    expect(prices('')).toEqual(['€5.00', '$9.00'])
    expect(prices('currency=USD')).toEqual(['$9.00'])
  })

  test('hundreds of shops - the first 20 are listed, all are counted', () => {
    const offers = Array.from({ length: 300 }, (_, index) => sell(`Shop ${index}`, String(index + 1)))
    const [product] = view([makeNamed('Lamp', offers)]).products
    expect(product?.shops?.offers).toHaveLength(20)
    expect(product?.shops?.label).toBe('300 shops')
  })
})

describe('markup of a round-up', () => {
  const LISTED = [
    LAMP,
    CHAIR,
    makeNamed('Mug', [sell('Kopje', '9'), sell('Nordhem', '9')], { images: ['https://a.example/b.jpg'] }),
  ]

  test.each(PICKS_LAYOUTS)('%s - one disclosure before the first link, one date, the notices', (layout) => {
    const html = render(LISTED, `layout=${layout}`)
    expect(html.split('vitrine-note').length - 1).toBe(1)
    expect(html.split('<time ').length - 1).toBe(1)
    expect(html.indexOf('vitrine-note')).toBeLessThan(html.indexOf('<a '))
    for (const text of [
      'In stock first, then by price',
      'Shipping not included',
      'Not all shops are compared',
    ])
      expect(html).toContain(text)
    expect(html).not.toMatch(/ style=|<script/)
  })

  test.each(PICKS_LAYOUTS)(
    '%s - each link has its own name, with the product, and its text first',
    (layout) => {
      const links = listLinks(render(LISTED, `layout=${layout}`))
      expect(links).toHaveLength(3 + 3 + 2)
      expect(new Set(links.map(({ name }) => name)).size).toBe(links.length)
      for (const { name, text } of links) {
        expect(name).toMatch(/Lamp|Chair|Mug/)
        expect(name).toMatch(/(?:Kopje|Nordhem|Ando).*€\d|€\d.*(?:Kopje|Nordhem|Ando)/)
        expect([name, name.startsWith(text)]).toEqual([name, true])
      }
    },
  )

  test.each(PICKS_LAYOUTS)('%s, prices too old - the links stay, and name the shop', (layout) => {
    const html = render(LISTED, `layout=${layout}`, { ageMs: 2 * 3_600_000 })
    expect(html).not.toMatch(/€|<s>/)
    const links = listLinks(html)
    expect(links.map(({ name }) => name)).toContain('To the shop, Chair: See the price at Kopje')
    expect(new Set(links.map(({ name }) => name)).size).toBe(links.length)
  })

  test.each(PICKS_LAYOUTS)('%s - head=compact and head=none have titles, but no pictures', (layout) => {
    expect(render(LISTED, `layout=${layout}`)).toMatch(
      /<img[^]*<div class="vitrine-picture"><\/div>|<\/div>[^]*<img/,
    )
    for (const head of ['compact', 'none']) {
      const html = render(LISTED, `layout=${layout}&head=${head}`)
      expect(html).not.toContain('vitrine-picture')
      expect(html).toContain('Chair')
      expect(html.includes('Our picks</bdi>')).toBe(head === 'compact')
    }
  })

  test('rank - an ordered list; table - headers of columns and rows', () => {
    expect(render(LISTED)).toMatch(
      /<ol role="list">\s*<li class="vitrine-pick">\s*<span class="vitrine-number">1</,
    )
    const table = render(LISTED, 'layout=table')
    expect(table.split('scope="col"').length - 1).toBe(4)
    expect(table.split('scope="row"').length - 1).toBe(3)
    expect(render(LISTED, 'layout=table&head=compact').split('scope="col"').length - 1).toBe(3)
  })

  test('labels - only where there is a text', () => {
    const html = render(LISTED, '', { labels: ['', 'Best <value>'] })
    expect(html.split('vitrine-label').length - 1).toBe(1)
    expect(html).toContain('<bdi>Best &lt;value&gt;</bdi>')
  })

  test('shop with a line of terms - it stands at the first offer and in the fold', () => {
    const shop = { name: 'Nordhem', logoPath: null, terms: 'Free returns' }
    const shops = createShopBook([{ merchant: 'Nordhem', aliases: [], shop }])
    expect(render([LAMP], '', { shops }).split('Free returns')).toHaveLength(3)
  })

  test.each(PICKS_LAYOUTS)('%s, 20 products with 8 shops each - at most 100 kB', (layout) => {
    const products = Array.from({ length: 20 }, (_, index) =>
      makeNamed(
        `Halden reading lamp, brass and linen, no. ${index}`,
        Array.from({ length: 8 }, (_unused, shop) =>
          sell(`Merchant no. ${shop}`, `${index}${shop}`, {
            affiliateUrl: `https://www.awin1.com/cread.php?awinmid=12345&awinaffid=678901&ued=https%3A%2F%2Fshop.example%2Fproducts%2F${index}${shop}`,
          }),
        ),
      ),
    )
    const bytes = Buffer.byteLength(render(products, `layout=${layout}`))
    expect(bytes).toBeLessThan(100_000)
  })
})

describe('variants and stand-ins of a box', () => {
  const LAYOUTS = ['list', 'table', 'card', 'button'] as const

  test.each(LAYOUTS)(
    '%s - the variants are in a fold; their links name them, and a struck price is explained',
    (layout) => {
      const html = renderWidget(`layout=${layout}`)
      expect(html).toContain('<summary>2 other versions</summary>')
      const names = listLinks(html).map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toContain('To the shop, Chair: Buy at Kopje for €5.00')
      expect(html).toContain('= Shop’s former price')
    },
  )

  test.each(LAYOUTS.flatMap((layout) => ['full', 'compact', 'none'].map((head) => [layout, head] as const)))(
    '%s, head=%s - the stand-in is named as one',
    (layout, head) => {
      expect(renderWidget(`layout=${layout}&head=${head}`, true)).toContain(
        '>Not available. Instead: Lamp</p>',
      )
      expect(renderWidget(`layout=${layout}&head=${head}`)).not.toContain('Not available')
    },
  )

  test('inline - the stand-in is named in the sentence', () => {
    const text = renderWidget('layout=inline', true).replaceAll(/<[^>]+>/g, '')
    expect(text).toContain('Not available. Instead: Lamp, from €10.00 at Nordhem')
  })
})
