import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SHAPES, isSourceDigest, splitPage, toSourceTag } from '../../src/sync/page-items.ts'
import { type ReadOptions, type ReadPage, readPage } from '../../src/sync/page-source.ts'
import { toGtin } from '../helpers/products.ts'

const OPTIONS = { ownOrigin: 'http://127.0.0.1:1' }

const read = (json: string, options: ReadOptions = { hasDeals: true }): ReadPage =>
  readPage(Buffer.from(json), OPTIONS, options)

/** Without digests: those of bytes and those of content are never equal. */
function withoutDigests({ products, ...rest }: ReadPage): unknown {
  const plain = products.map(({ gtin, content, deals }) => ({
    gtin,
    content: content && { ...content, digest: '' },
    deals,
  }))
  return { ...rest, products: plain }
}

/** Texts that look like the cuts of a page, and others that are longer in UTF-8. */
const text = fc.constantFrom(
  'Lamp',
  ',{"gtin":"1"',
  '],"next_cursor":null}',
  '"',
  '\\',
  'Crème 😀 \u2028',
  '',
)

const offer = fc.record({
  merchant: fc.record({ name: text }),
  price: fc.constantFrom('10.00', '12.5', 'none'),
  old_price: fc.constantFrom('20.00', null),
  currency: fc.constant('EUR'),
  availability: text,
  affiliate_url: fc.constantFrom('https://shop.example/1', 'no address'),
})

const product = fc.record(
  {
    gtin: fc.nat(50).map((index) => toGtin(index)),
    title: text,
    brand: fc.option(text),
    images: fc.constantFrom([], [{ url: 'https://pictures.example/1.jpg' }]),
    offers: fc.array(fc.oneof(offer, fc.constant({ gtin: '1' }), fc.constant([{ gtin: 1 }, { gtin: 2 }])), {
      maxLength: 3,
    }),
  },
  { requiredKeys: ['title'] },
)

/** Products in any order of names, and what is none. */
const items = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: product },
    {
      weight: 2,
      arbitrary: product.map((one) => Object.fromEntries(Object.entries(one).toReversed())),
    },
    { weight: 1, arbitrary: fc.constantFrom(null, 3, [], {}, 'text', { gtin: 7, offers: [] }) },
  ),
  { maxLength: 6 },
)

const SAMPLE = {
  gtin: toGtin(1),
  title: 'Lamp',
  brand: 'Lumen',
  images: [],
  offers: [
    {
      merchant: { name: 'Kopje' },
      network: 'n',
      price: '10.00',
      old_price: '20.00',
      currency: 'EUR',
      availability: 'in_stock',
      affiliate_url: 'https://shop.example/1',
    },
  ],
}

describe('page cut between its products', () => {
  test('any page - read product by product - is what it is as a whole', () => {
    let cutCount = 0
    fc.assert(
      fc.property(items, fc.constantFrom(null, 'next'), (list, cursor) => {
        const json = JSON.stringify({ items: list, next_cursor: cursor })
        // White space in front: it goes the long way.
        const whole = read(` ${json}`)
        expect(whole.products.some(({ digest }) => isSourceDigest(digest))).toBe(false)
        if (splitPage(Buffer.from(json)) !== undefined) cutCount += 1
        expect(withoutDigests(read(json))).toEqual(withoutDigests(whole))
      }),
    )
    expect(cutCount).toBeGreaterThan(10)
  })

  test('usual page - is cut, and ends with its cursor', () => {
    const json = JSON.stringify({ items: [SAMPLE, { ...SAMPLE, gtin: toGtin(2) }], next_cursor: 'two' })
    const split = splitPage(Buffer.from(json))
    expect(split?.items.map((item) => JSON.parse(item.toString()) as unknown)).toEqual([
      SAMPLE,
      { ...SAMPLE, gtin: toGtin(2) },
    ])
    expect(split?.nextCursor).toBe('two')
  })

  test.each([
    ['broken JSON in a product', '{"items":[{"gtin":"1",}],"next_cursor":null}'],
    ['something behind the end', '{"items":[{"gtin":"1"}],"next_cursor":null}}'],
    ['an empty cursor', '{"items":[{"gtin":"1"}],"next_cursor":""}'],
    ['bytes that are no UTF-8', '{"items":[{"gtin":"\xff"}],"next_cursor":null}'],
  ])('%s - is no page', (_name, json) => {
    expect(() => readPage(Buffer.from(json, 'latin1'), OPTIONS, { hasDeals: false })).toThrow(
      expect.objectContaining({ code: 'VITRINE_CATALOG_INVALID' }),
    )
  })
})

const toPage = (...list: unknown[]): string => JSON.stringify({ items: list, next_cursor: null })
const toKnown = ({ products }: ReadPage): string =>
  products.map(({ digest, gtin }) => `${digest} ${gtin}`).join('\n')

describe('products that are known', () => {
  const other = { ...SAMPLE, gtin: toGtin(2), title: 'Kettle' }

  test('same bytes - are not parsed; others are', () => {
    const known = toKnown(read(toPage(SAMPLE, other)))
    const again = read(toPage(SAMPLE, { ...other, title: 'Blue kettle' }), { hasDeals: false, known })
    expect(again.products[0]).toEqual({
      gtin: SAMPLE.gtin,
      digest: known.split(' ')[0],
      content: null,
      deals: null,
    })
    expect(again.products[1]?.content?.title).toBe('Blue kettle')
  })

  test.each([
    ['something was left out', { ...SAMPLE, offers: [...SAMPLE.offers, { merchant: 3 }] }],
    ['no brand', { ...SAMPLE, brand: null }],
  ])('%s - is parsed each time: it depends on more than its bytes, or is counted', (_name, item) => {
    const first = read(toPage(item))
    const again = read(toPage(item), { hasDeals: true, known: toKnown(first) })
    expect(again.products[0]?.content).not.toBeNull()
    expect(again).toEqual(first)
  })

  test('another address of this server - makes other digests: its pictures may be others', () => {
    expect(toSourceTag('http://one.example')).not.toBe(toSourceTag('http://two.example'))
  })
})

test('what an answer becomes - is what SHAPES in page-items.ts stands for; raise it there when this changes', () => {
  const text = JSON.stringify({
    items: [
      SAMPLE,
      {
        ...SAMPLE,
        gtin: '7',
        title: ' Crème\tLAMP\uffff ',
        images: ['http://127.0.0.1:1/a.jpg', 'ftp://x', 'https://10.1.1.1/', 'https://a.local/'].map(
          (url) => ({ url }),
        ),
        offers: [
          { ...SAMPLE.offers[0], price: 5, merchant: { name: 'Straße' } },
          { ...SAMPLE.offers[0], network: 'a', old_price: '9' },
          ...SAMPLE.offers,
        ],
      },
    ],
    next_cursor: null,
  })
  expect(SHAPES).toBe(2)
  expect(withoutDigests(read(text))).toMatchInlineSnapshot(`
    {
      "droppedGtins": {},
      "drops": {},
      "nextCursor": null,
      "products": [
        {
          "content": {
            "brand": "Lumen",
            "digest": "",
            "drops": null,
            "gtin": "09521234000013",
            "images": "[]",
            "offers": "[{"merchant":"Kopje","network":"n","price":"10.00","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"}]",
            "search_text": "lamp lumen",
            "title": "Lamp",
          },
          "deals": [
            {
              "brand_key": "lumen",
              "currency": "EUR",
              "discount_percent": 50,
              "gtin": "09521234000013",
              "is_best": 1,
              "is_best_in_stock": 1,
              "is_in_stock": 1,
              "merchant_key": "kopje",
              "offer": "{"merchant":"Kopje","network":"n","price":"10.00","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"}",
              "offer_index": 0,
              "offer_key": "["n","Kopje","EUR"]",
              "price_key": "0000000000100000",
              "ratio_key": "05000000000000000000000000000000000",
              "saving_key": "0000000000100000",
              "search_text": "lamp lumen",
            },
          ],
          "gtin": "09521234000013",
        },
        {
          "content": {
            "brand": "Lumen",
            "digest": "",
            "drops": null,
            "gtin": "00000000000007",
            "images": "["http://127.0.0.1:1/a.jpg"]",
            "offers": "[{"merchant":"Kopje","network":"n","price":"10.00","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"},{"merchant":"Kopje","network":"a","price":"10.00","oldPrice":"9","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"},{"merchant":"Straße","network":"n","price":"5","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"}]",
            "search_text": "creme lamp lumen",
            "title": "Crème LAMP",
          },
          "deals": [
            {
              "brand_key": "lumen",
              "currency": "EUR",
              "discount_percent": 75,
              "gtin": "00000000000007",
              "is_best": 1,
              "is_best_in_stock": 1,
              "is_in_stock": 1,
              "merchant_key": "straße",
              "offer": "{"merchant":"Straße","network":"n","price":"5","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"}",
              "offer_index": 2,
              "offer_key": "["n","Straße","EUR"]",
              "price_key": "0000000000050000",
              "ratio_key": "02500000000000000000000000000000000",
              "saving_key": "0000000000150000",
              "search_text": "creme lamp lumen",
            },
            {
              "brand_key": "lumen",
              "currency": "EUR",
              "discount_percent": 50,
              "gtin": "00000000000007",
              "is_best": 0,
              "is_best_in_stock": 0,
              "is_in_stock": 1,
              "merchant_key": "kopje",
              "offer": "{"merchant":"Kopje","network":"n","price":"10.00","oldPrice":"20.00","currency":"EUR","availability":"in_stock","affiliateUrl":"https://shop.example/1"}",
              "offer_index": 0,
              "offer_key": "["n","Kopje","EUR"]",
              "price_key": "0000000000100000",
              "ratio_key": "05000000000000000000000000000000000",
              "saving_key": "0000000000100000",
              "search_text": "creme lamp lumen",
            },
          ],
          "gtin": "00000000000007",
        },
      ],
    }
  `)
})
