import { assert, constantFrom, integer, property } from 'fast-check'
import { type DefaultTreeAdapterMap, parseFragment } from 'parse5'
import { expect, test } from 'vitest'
import { removeSubSlots } from '../../../src/lib/sub-template.ts'
import { GALLERY_CASES, PRICES_CHECKED_AT_MS } from '../../../src/studio/gallery/cases.ts'
import {
  LAYOUTS,
  createExample,
  hasExample,
  renderExample,
  toLayoutId,
} from '../../../src/studio/gallery/examples.ts'
import { toDealsFeedView } from '../../../src/widgets/grid.ts'
import type {
  DealsJson,
  OfferJson,
  PicksJson,
  ProductWithOffersJson,
  WhereToBuyJson,
} from '../../../src/widgets/json-types.ts'
import { toWidgetJson } from '../../../src/widgets/json.ts'
import { LANGUAGE_TAGS } from '../../../src/widgets/locales/index.ts'
import { toMailView } from '../../../src/widgets/mail.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import type { AnyView } from '../../../src/widgets/view-models.ts'

const renderer = createRenderer()

type Json = WhereToBuyJson | PicksJson | DealsJson

/** The order of links, the prices, and the texts that every form must have. */
type Form = Readonly<{ links: readonly string[]; prices: readonly string[]; text: string }>

test('case of the gallery - page, JSON, newsletter and feed agree in order, price, link, disclosure and date', () => {
  const cases = new Map(
    LAYOUTS.flatMap((layout) =>
      GALLERY_CASES.filter((entry) => hasExample(layout, entry)).map(
        (entry) => [`${toLayoutId(layout)} ${entry.id}`, { layout, entry }] as const,
      ),
    ),
  )
  assert(
    property(
      constantFrom(...cases.keys()),
      constantFrom(...LANGUAGE_TAGS),
      constantFrom('light' as const, 'dark' as const),
      integer({ min: 1, max: 12 }),
      (name, locale, theme, limit) => {
        const found = cases.get(name)
        if (found === undefined) throw new TypeError(`no case ${name}`)
        const { layout, entry } = found
        const query = { box: withLimit(entry.query.box, limit), grid: withLimit(entry.query.grid, limit) }
        const details = { publicUrl: 'https://widgets.example', stylePath: '/assets/vitrine.css' }
        expectAgreement(
          createExample(layout, { ...entry, query, isPaged: false }, { ...details, theme, locale }),
        )
      },
    ),
    { numRuns: toRunCount(1_000) },
  )
})

/** A page after the first one would be empty. */
function withLimit(text: string, limit: number): string {
  const query = new URLSearchParams(text)
  query.set('limit', String(limit))
  query.delete('page')
  return query.toString()
}

function expectAgreement(example: AnyView): void {
  const json = toJson(example)
  const isSentence = example.kind === 'where-to-buy' && example.layout === 'inline'
  const pageForm = isSentence ? readSentence(example) : readPage(renderExample(renderer, example))
  expectForm(pageForm, listPageOffers(json), json)
  // The name of a link of a newsletter has the price.
  const mailOffers = listMailOffers(json).map((offer) => ({ ...offer, priceText: offer.linkLabel }))
  expectForm(readMail(example), mailOffers, json)
  const entries = readEntries(example)
  const deals = json.kind === 'deals' ? json.deals : []
  expect(entries.length).toBe(deals.length)
  for (const [index, entry] of entries.entries())
    expectForm(
      entry,
      deals.slice(index, index + 1).map(({ offer }) => offer),
      json,
    )
}

function expectForm({ links, prices, text }: Form, offers: readonly OfferJson[], json: Json): void {
  expect(links).toEqual(offers.map(({ link }) => link))
  expect(prices).toEqual(offers.map(({ priceText }) => priceText))
  expect(text).toContain(json.disclosure)
  expect(text).toContain(json.notices.find((notice) => notice.includes(toYear(json.lang))))
}

/** The year of the gallery's prices, in the digits of a language. */
function toYear(lang: string): string {
  return new Intl.NumberFormat(lang, { useGrouping: false }).format(2026)
}

const toJson = (example: AnyView): Json => toWidgetJson(example, null)

/** The offers of a page: a fold repeats the first one of a product with several. */
function listPageOffers(json: Json): readonly OfferJson[] {
  if (json.kind === 'deals') return json.deals.map(({ offer }) => offer)
  if (json.kind === 'picks') return json.products.flatMap(listFoldedOffers)
  return [...json.offers, ...json.moreOffers, ...json.variants.flatMap(listFoldedOffers)]
}

function listFoldedOffers({ offers }: Pick<ProductWithOffersJson, 'offers'>): readonly OfferJson[] {
  return offers.length > 1 ? [...offers.slice(0, 1), ...offers] : offers
}

/** Nothing opens in a newsletter: it has what is visible on the page, and the first offer of each product. */
function listMailOffers(json: Json): readonly OfferJson[] {
  if (json.kind === 'deals') return json.deals.map(({ offer }) => offer)
  if (json.kind === 'picks') return json.products.flatMap(({ offers }) => offers.slice(0, 1))
  return [...json.offers, ...json.variants.flatMap(({ offers }) => offers.slice(0, 1))]
}

function readPage(html: string): Form {
  const page = parseFragment(html)
  return { links: listLinks(page), prices: listElements(page).flatMap(readPrices), text: readText(page) }
}

/** Read the price of an offer, or the prices of the lines in a fold. The first text can be a hint for screen readers. */
function readPrices(element: Element): readonly string[] {
  const className = getAttribute(element, 'class')
  if (className === 'vitrine-ask') return [readText(element)]
  const isolated = (tree: Tree): readonly Element[] =>
    listElements(tree).filter(({ tagName }) => tagName === 'bdi')
  if (className === 'vitrine-price') return isolated(element).slice(0, 1).map(readText)
  if (className !== 'vitrine-lines') return []
  const lines = listElements(element).filter(({ tagName }) => tagName === 'a')
  return lines.flatMap((line) => isolated(line).slice(-1).map(readText))
}

/** A sentence has the disclosure and the date in titles. */
function readSentence(example: AnyView): Form {
  const page = parseFragment(renderExample(renderer, example))
  const titles = listElements(page).map((element) => getAttribute(element, 'title'))
  const [offer] = listPageOffers(toJson(example))
  expect(readText(page)).toContain(offer?.priceText)
  return { links: listLinks(page), prices: [offer?.priceText ?? ''], text: titles.join(' ') }
}

function readMail(view: AnyView): Form {
  const html = removeSubSlots(renderer.renderMail(toMailView(view)))
  const mail = parseFragment(html)
  const labels = listElements(mail).map((element) => getAttribute(element, 'aria-label'))
  return { links: listLinks(mail), prices: labels.filter((label) => label !== ''), text: readText(mail) }
}

/** Read the entries of the feed of a grid. */
function readEntries(example: AnyView): readonly Form[] {
  if (example.kind !== 'deals') return []
  const channel = { id: '952a0000-0000-4000-8000-000000000001', name: 'Magazine', url: null }
  const feed = toDealsFeedView(example, {
    address: { path: `${channel.id}/deals`, options: { locale: example.wrapper.lang, heading: null } },
    channel,
    asOfMs: PRICES_CHECKED_AT_MS,
    publicUrl: 'https://widgets.example',
  })
  const xml = parseFragment(removeSubSlots(renderer.renderDealsFeed(feed)))
  return listElements(xml)
    .filter(({ tagName }) => tagName === 'content')
    .map((element) => {
      const content = parseFragment(readText(element))
      const price = listElements(content).find(({ tagName }) => tagName === 'b')
      return { links: listLinks(content), prices: price ? [readText(price)] : [], text: readText(content) }
    })
}

type Tree = DefaultTreeAdapterMap['parentNode']
type Element = DefaultTreeAdapterMap['element']

/** Nodes below a node, also those of a shadow root. */
const listChildren = (tree: Tree): Tree['childNodes'] =>
  'content' in tree ? tree.content.childNodes : tree.childNodes

function listElements(tree: Tree): readonly Element[] {
  return listChildren(tree).flatMap((node) => ('tagName' in node ? [node, ...listElements(node)] : []))
}

const getAttribute = ({ attrs }: Element, name: string): string =>
  attrs.find((attribute) => attribute.name === name)?.value ?? ''

const listLinks = (tree: Tree): readonly string[] =>
  listElements(tree).flatMap((element) => (element.tagName === 'a' ? [getAttribute(element, 'href')] : []))

function readText(tree: Tree): string {
  return listChildren(tree)
    .map((node) => ('value' in node ? node.value : 'childNodes' in node ? readText(node) : ''))
    .join('')
}
