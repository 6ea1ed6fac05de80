import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import jsonld from 'jsonld'
import { describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { comparePrices } from '../../src/offers/money.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { toSchemaOrgProduct } from '../../src/widgets/box.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { makeBox } from '../helpers/views.ts'
import { anyText } from '../helpers/any-text.ts'

type Markup = Readonly<Record<string, unknown> & { offers: Readonly<Record<string, unknown>> }>

const renderer = createRenderer()

/** Return the content of the script element. */
function render(product: Product, offers: readonly Offer[]): string {
  const html = renderer.renderWidget(makeBox({ schema: toSchemaOrgProduct(product, offers) }))
  const [, text = ''] = /<script type="application\/ld\+json">([^]*)<\/script>$/.exec(html) ?? []
  return text
}

const parse = (product: Product, offers: readonly Offer[]): Markup =>
  JSON.parse(render(product, offers)) as Markup
const makePricedOffer = (price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ price, ...over })

/** The address of schema.org's context stands for this: all names belong to schema.org. */
const CONTEXT = { '@context': { '@vocab': 'https://schema.org/' } }
const PAGE = 'https://magazine.example/lamps/test'

/** Read the markup of a page as search engines do: nodes with the same id are one. */
async function readPage(
  ...scripts: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { '@graph': nodes } = await jsonld.flatten(
    scripts.map((text): unknown => JSON.parse(text)),
    CONTEXT,
    {
      base: PAGE,
      compactToRelative: false,
      documentLoader: (documentUrl) => Promise.resolve({ documentUrl, document: CONTEXT }),
    },
  )
  return nodes
}

/** Return the example of the documentation: an editor's markup. */
function readExample(): string {
  const docs = readFileSync(join(PACKAGE_FOLDER, 'docs/publish/options.md'), 'utf8')
  const [, text = ''] = /```json\n([^]*?)```/.exec(docs) ?? []
  return text
}

/** Characters that could end a script element, open a comment or an include, or break a line in a script. */
const UNSAFE = /[<>&\u2028\u2029]/

describe('schema.org markup', () => {
  test('product without brand and picture - omits both', () => {
    expect(parse(makeProduct({ brand: null, images: [] }), [makePricedOffer('49.90')])).toEqual({
      '@context': 'https://schema.org',
      '@type': 'Product',
      '@id': `#product-${toGtin(1)}`,
      name: 'Lumen Arc desk lamp',
      gtin: toGtin(1),
      offers: {
        '@type': 'AggregateOffer',
        priceCurrency: 'EUR',
        lowPrice: '49.90',
        highPrice: '49.90',
        offerCount: 1,
      },
    })
  })

  test('review of the page, as documented - is one of the product with the offers', async () => {
    const product = makeProduct({ gtin: '09520001001024', title: 'Arne 2 headphones' })
    const nodes = await readPage(readExample(), render(product, [makePricedOffer('49.90')]))
    const products = nodes.filter((node) => node['@type'] === 'Product')
    expect(products).toMatchObject([
      { '@id': `${PAGE}#product-09520001001024`, gtin: '09520001001024', name: product.title },
    ])
    const review = nodes.find((node) => node['@type'] === 'Review')
    expect(review?.['itemReviewed']).toEqual({ '@id': products[0]?.['@id'] })
  })

  test('product of the page with the same id - one product with its properties and the offers', async () => {
    const own = {
      '@context': 'https://schema.org',
      '@type': 'Product',
      '@id': `#product-${toGtin(1)}`,
      mpn: 'LA-1',
      url: PAGE,
    }
    const markup = render(makeProduct(), [makePricedOffer('49.90')])
    const other = render(makeProduct({ gtin: toGtin(2) }), [makePricedOffer('5')])
    const nodes = await readPage(JSON.stringify(own), markup, other)
    const products = nodes.filter((node) => node['@type'] === 'Product')
    expect(products).toHaveLength(2)
    expect(products[0]).toMatchObject({ gtin: toGtin(1), mpn: 'LA-1', url: PAGE })
    const { offers: reference } = products[0] as Markup
    const offers = nodes.find((node) => node['@id'] === reference['@id'])
    expect(offers).toMatchObject({ '@type': 'AggregateOffer', lowPrice: '49.90' })
  })

  test('several pictures - the one of the box', () => {
    const images = ['https://pictures.example/1.jpg', 'https://pictures.example/2.jpg']
    expect(parse(makeProduct({ images }), [makePricedOffer('1')])['image']).toBe(images[0])
  })

  test('prices - are compared as decimals and printed unchanged', () => {
    const offers = [
      makePricedOffer('10'),
      makePricedOffer('9.9'),
      makePricedOffer('100.5'),
      makePricedOffer('9.90001'.slice(0, 6)),
    ]
    expect(parse(makeProduct(), offers).offers).toMatchObject({
      lowPrice: '9.9',
      highPrice: '100.5',
      offerCount: 4,
    })
  })

  test('sales with an end - the earliest is the end of the prices', () => {
    const offers = [
      makePricedOffer('1'),
      makePricedOffer('2', { saleEndsAtMs: 5_000 }),
      makePricedOffer('3', { saleEndsAtMs: 9_000 }),
    ]
    expect(parse(makeProduct(), offers).offers).toMatchObject({ priceValidUntil: '1970-01-01T00:00:05.000Z' })
    expect(parse(makeProduct(), offers.slice(0, 1)).offers).not.toHaveProperty('priceValidUntil')
  })

  test('offers - only those of the box are counted, and their order is unchanged', () => {
    const shown = [
      makePricedOffer('20', { currency: 'USD' }),
      makePricedOffer('5', { currency: 'USD', availability: 'no' }),
    ]
    const product = makeProduct({ offers: [...shown, makePricedOffer('1')] })
    expect(parse(product, shown).offers).toEqual({
      '@type': 'AggregateOffer',
      priceCurrency: 'USD',
      lowPrice: '5',
      highPrice: '20',
      offerCount: 2,
    })
    expect(shown.map(({ price }) => price)).toEqual(['20', '5'])
  })

  test.each([
    '</script><script>alert(1)</script>',
    '<!--#include virtual="/etc/passwd" -->',
    '<esi:include src="/x"/>',
    '<?php system("id"); ?>',
    'a && b\u2028c\u2029d',
  ])('%j in every text - creates no element or include, and parses back unchanged', (hostile) => {
    const product = makeProduct({ title: hostile, brand: hostile, images: [hostile] })
    const markup = parse(product, [makePricedOffer('1')])
    expect(render(product, [makePricedOffer('1')])).not.toMatch(UNSAFE)
    expect(markup).toMatchObject({ name: hostile, brand: { name: hostile }, image: hostile })
  })

  test('escapes - have four hex digits', () => {
    expect(render(makeProduct({ title: '<>&\u2028\u2029' }), [makePricedOffer('1')])).toContain(
      String.raw`"name":"\u003c\u003e\u0026\u2028\u2029"`,
    )
  })

  test('any title - is safe and parses back unchanged', () => {
    fc.assert(
      fc.property(anyText(), (title) => {
        const product = makeProduct({ title })
        expect(render(product, [makePricedOffer('1')])).not.toMatch(UNSAFE)
        expect(parse(product, [makePricedOffer('1')])['name']).toBe(title)
      }),
    )
  })

  test('any prices - the lowest and the highest are correct', () => {
    const steps = fc.integer({ min: 1, max: 9_999_999 })
    const prices = fc.array(
      steps.map((value) => (value / 100).toFixed(2)),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(prices, (texts) => {
        const { lowPrice, highPrice } = parse(
          makeProduct(),
          texts.map((text) => makePricedOffer(text)),
        ).offers
        expect(texts).toContain(lowPrice)
        expect(texts).toContain(highPrice)
        for (const text of texts) {
          expect(comparePrices(String(lowPrice), text)).toBeLessThanOrEqual(0)
          expect(comparePrices(String(highPrice), text)).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})
