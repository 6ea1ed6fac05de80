import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import {
  toStoredProduct,
  parseDealRow,
  parseProductRow,
  parseDrops,
  toDealRows,
  toCanonicalProduct,
} from '../../src/storage/rows.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { closePrice } from '../offers/price-arbitraries.ts'

/** Offers that differ in their identifying fields. Few values, so that many fields are equal. */
const anyOffers: fc.Arbitrary<Offer[]> = fc.uniqueArray(
  fc.record({
    merchant: fc.constantFrom('Kopje', 'kopje', 'Zwart', 'Ä'),
    network: fc.constantFrom('a', 'b'),
    price: closePrice,
    oldPrice: fc.option(closePrice),
    currency: fc.constantFrom('EUR', 'USD'),
    availability: fc.constantFrom('in_stock', 'sold_out'),
    affiliateUrl: fc.constantFrom('https://a.example/', 'https://b.example/'),
    checkedAtMs: fc.option(fc.constantFrom(1, 2)),
    saleEndsAtMs: fc.option(fc.constantFrom(1, 2)),
  }),
  {
    selector: (offer) => JSON.stringify(offer),
    maxLength: 8,
  },
)

/** The same offers in two orders. */
const anyOrders = anyOffers.chain((offers) =>
  fc.tuple(fc.constant(offers), fc.shuffledSubarray(offers, { minLength: offers.length })),
)

/** Return the columns that depend on a product, and the rows of its deals. */
function createStoredProduct(product: Product, knownBrand: string | null = null) {
  const storedProduct = toStoredProduct(toCanonicalProduct(product, knownBrand), 1)
  const context = { copyId: 1, fromWalk: 1, firstSeen: new Map<string, number>() }
  return {
    content: { ...storedProduct.content, search_text: storedProduct.searchText },
    deals: toDealRows(storedProduct, 1, context),
  }
}

/** Return the JSON of offers without times. */
const toJson = (offers: unknown): string =>
  JSON.stringify(offers, (key, value: unknown) => (key.endsWith('AtMs') ? undefined : value))

const digestOf = (product: Product, knownBrand: string | null = null): string =>
  createStoredProduct(product, knownBrand).content.digest

const SALE = makeParsedOffer({ price: '75.00', oldPrice: '100.00' })

describe('stored shape, product', () => {
  test('product - stored - every column has its expected value', () => {
    const product = makeProduct({ title: 'Crème  Straße', brand: 'LUMEN', images: ['https://a.example/"'] })
    expect(createStoredProduct(product, 'ignored')).toEqual({
      content: {
        gtin: toGtin(1),
        digest: expect.stringMatching(/^[\w-]{43}$/),
        title: 'Crème  Straße',
        brand: 'LUMEN',
        search_text: 'creme strasse lumen',
        images: String.raw`["https://a.example/\""]`,
        offers: toJson([makeParsedOffer()]),
        checked_at: null,
        drops: null,
      },
      deals: [],
    })
  })

  test('brand absent - the known brand is used in row, search text and digest; no known brand - none is stored', () => {
    const product = makeProduct({ brand: null })
    expect(createStoredProduct(product, 'Known').content).toMatchObject({
      brand: 'Known',
      search_text: 'lumen arc desk lamp known',
    })
    expect(createStoredProduct(product, null).content).toMatchObject({
      brand: null,
      search_text: 'lumen arc desk lamp',
    })
    expect(digestOf(product, 'Known')).toBe(digestOf(makeProduct({ brand: 'Known' })))
    expect(digestOf(product, 'Known')).not.toBe(digestOf(product))
  })

  test.each<Partial<Product>>([
    { title: 'Lumen Arc Desk lamp' },
    { brand: 'lumen' },
    { images: [] },
    { images: ['https://pictures.example/lamp.jpg', 'https://pictures.example/2.jpg'] },
    { offers: [] },
    { offers: [makeParsedOffer(), makeParsedOffer()] },
    ...Object.keys(makeParsedOffer())
      .filter((field) => field !== 'checkedAtMs')
      .map((field) => ({
        offers: [makeParsedOffer({ [field]: field === 'oldPrice' ? '60.00' : 'changed' })],
      })),
  ])('%j - changed - the digest differs', (change) => {
    expect(digestOf(makeProduct(change))).not.toBe(digestOf(makeProduct()))
  })

  test('title and brand - a word moved from one to the other - the digest differs', () => {
    const moved = makeProduct({ title: 'Lumen Arc desk', brand: 'lamp Lumen' })
    expect(digestOf(moved)).not.toBe(digestOf(makeProduct()))
  })

  test('order of offers - by currency, merchant, on sale first, network, price, link, each compared as text', () => {
    const sorted = [
      makeParsedOffer({ currency: 'CHF', merchant: 'z' }),
      makeParsedOffer({ merchant: 'Z' }),
      makeParsedOffer({ merchant: 'a', network: 'z', price: '10', oldPrice: '11' }),
      makeParsedOffer({ merchant: 'a', network: 'm', price: '9' }),
      makeParsedOffer({ merchant: 'a', network: 'n', price: '10', affiliateUrl: 'https://x.example/' }),
      makeParsedOffer({ merchant: 'a', network: 'n', price: '9', affiliateUrl: 'https://a.example/' }),
      makeParsedOffer({ merchant: 'a', network: 'n', price: '9', affiliateUrl: 'https://b.example/' }),
    ]
    const offers = sorted.toReversed()
    expect(createStoredProduct(makeProduct({ offers }), null).content.offers).toBe(toJson(sorted))
    expect(offers).toEqual(sorted.toReversed())
  })

  test('any offers, in any order - the same rows', () => {
    fc.assert(
      fc.property(anyOrders, ([offers, others]) => {
        const shape = createStoredProduct(makeProduct({ offers }), null)
        expect(createStoredProduct(makeProduct({ offers: others }), null)).toEqual(shape)
      }),
    )
  })
})

describe('stored shape, deals', () => {
  test('offer on sale - every column - has the keys that grids sort and filter by', () => {
    const offers = [{ ...SALE, merchant: 'ÉTÉ  Shop' }, makeParsedOffer({ merchant: 'A' })]
    expect(createStoredProduct(makeProduct({ brand: 'LUMEN', offers }), null).deals).toEqual([
      {
        product_id: 1,
        copy_id: 1,
        gtin: toGtin(1),
        is_observed: 0,
        from_walk: 1,
        until_walk: null,
        offer_index: 1,
        offer: toJson(offers[0]),
        offer_key: '["brightlink","ÉTÉ  Shop","EUR"]',
        currency: 'EUR',
        merchant_key: 'été shop',
        brand_key: 'lumen',
        network_key: 'brightlink',
        search_text: 'lumen arc desk lamp lumen',
        is_in_stock: 1,
        is_best: 1,
        is_best_in_stock: 1,
        discount_percent: 25,
        ratio_key: `075${'0'.repeat(32)}`,
        price_key: '0000000000750000',
        saving_key: '0000000000250000',
        first_seen_ms: 1,
        sale_ends_ms: null,
        drop_key: '9',
      },
    ])
  })

  test('brand - unknown, then known - an empty key, then the known one', () => {
    const product = makeProduct({ brand: null, offers: [SALE] })
    expect(createStoredProduct(product, null).deals).toMatchObject([{ brand_key: '' }])
    expect(createStoredProduct(product, 'Known')).toMatchObject({
      deals: [{ brand_key: 'known', search_text: 'lumen arc desk lamp known' }],
    })
  })

  test('best deal sold out - another deal is the best in stock', () => {
    const offers = [{ ...SALE, merchant: 'A', price: '10.00', availability: 'sold_out' }, SALE]
    const flags = createStoredProduct(makeProduct({ offers }), null).deals.map((deal) => [
      deal.offer_index,
      deal.is_in_stock,
      deal.is_best,
      deal.is_best_in_stock,
    ])
    expect(flags).toEqual([
      [0, 0, 1, 0],
      [1, 1, 0, 1],
    ])
  })

  test('any offers - each deal points to its offer in the row, and is read back as that offer', () => {
    fc.assert(
      fc.property(anyOffers, (offers) => {
        const product = makeProduct({ offers })
        const { content, deals } = createStoredProduct(product, null)
        const { offers: sorted } = toCanonicalProduct(product)
        const stored = JSON.parse(content.offers) as Offer[]
        const row = { ...content, brand: content.brand ?? null }
        for (const { offer, offer_index } of deals) {
          expect(offer).toBe(JSON.stringify(stored[offer_index]))
          expect(parseDealRow({ ...row, offer, offer_index })?.offer).toEqual(sorted[offer_index])
        }
      }),
    )
  })
})

const ROW = {
  gtin: toGtin(1),
  title: 'Lamp',
  brand: null,
  images: '["https://a.example/1.jpg","https://a.example/2.jpg"]',
  offers: JSON.stringify([SALE]),
  checked_at: null,
  drops: null,
  offer: JSON.stringify(SALE),
  offer_index: 0,
}

/** Invalid offers in the file. */
const DAMAGED: readonly unknown[] = [
  null,
  'x',
  { ...SALE, merchant: '' },
  { ...SALE, merchant: undefined },
  { ...SALE, network: null },
  { ...SALE, price: '0' },
  { ...SALE, price: 75 },
  { ...SALE, price: '1,00' },
  { ...SALE, oldPrice: '' },
  { ...SALE, oldPrice: undefined },
  { ...SALE, currency: 'eur' },
  { ...SALE, currency: 'EUR\n' },
  { ...SALE, availability: 7 },
  { ...SALE, affiliateUrl: 'javascript:alert(1)' },
  { ...SALE, saleEndsAtMs: '2026-11-25T00:00:00Z' },
  { ...SALE, saleEndsAtMs: 1.5 },
]

const store = (drops: Product['drops']): ReturnType<typeof createStoredProduct>['content'] =>
  createStoredProduct({ ...makeProduct(), ...(drops && { drops }) }).content

const DIGEST_WITHOUT_TIMES = 'HKt-vllUGCMME78ysn2u7Uk1HbkJekogaYpM1uta_j0'
const storeTimes = (...times: readonly Partial<Offer>[]): ReturnType<typeof createStoredProduct> =>
  createStoredProduct(makeProduct({ offers: times.map((over) => ({ ...SALE, ...over })) }))

describe('times of offers', () => {
  test('no times - the digest is that of version 1.0.0, so that an update does not rewrite a copy', () => {
    expect(storeTimes({ oldPrice: null }).content.digest).toBe(DIGEST_WITHOUT_TIMES)
  })

  test.each([
    ['none', [{}, { network: 'z' }], null],
    ['equal', [{ checkedAtMs: 5 }, { checkedAtMs: 5, network: 'z' }], '5'],
    ['different', [{ checkedAtMs: 5, network: 'z' }, { checkedAtMs: 6 }], '[6,5]'],
    ['of some offers', [{ checkedAtMs: 5 }, { network: 'z' }], '[5,null]'],
    ['without offers', [], null],
  ])('checked at, %s - are stored as %j, in the order of the offers', (_case, times, expected) => {
    expect(storeTimes(...times).content.checked_at).toBe(expected)
  })

  test('price checked later - changes no other column', () => {
    const before = storeTimes({ checkedAtMs: 5 })
    const after = storeTimes({ checkedAtMs: 6 })
    expect({ ...after.content, checked_at: '5' }).toEqual(before.content)
    expect(after.deals).toEqual(before.deals)
  })

  test('other end of the sale - changes the digest and the deal', () => {
    const contents = [storeTimes({}), storeTimes({ saleEndsAtMs: 7 }), storeTimes({ saleEndsAtMs: 8 })]
    expect(new Set(contents.map(({ content }) => content.digest)).size).toBe(3)
    expect(contents.map(({ deals }) => deals[0]?.sale_ends_ms)).toEqual([null, 7, 8])
  })
})

describe('reading a row', () => {
  test('any product - stored and read - is equal, with its offers in order', () => {
    fc.assert(
      fc.property(anyOffers, fc.array(fc.string()), fc.string(), (offers, images, title) => {
        const product = makeProduct({ title, images, offers })
        const { content } = createStoredProduct(product, null)
        const { offers: sorted } = toCanonicalProduct(product)
        const read = parseProductRow({ ...content, brand: content.brand ?? null })
        expect(read).toEqual({ ...product, offers: sorted })
        expect(read?.offers).toHaveLength(offers.length)
      }),
    )
  })

  test('counts of dropped offers - are read as stored, and change the digest regardless of their order', () => {
    const stored = store({ price: 2, link: 1 })
    expect(parseProductRow(stored)?.drops).toEqual({ link: 1, price: 2 })
    expect(store({ link: 1, price: 2 })).toEqual(stored)
    expect(new Set([stored, store(undefined), store({ price: 3 })].map(({ digest }) => digest)).size).toBe(3)
    expect(parseProductRow(store(undefined))).not.toHaveProperty('drops')
  })

  test.each(['', '{}', '"1"', '1.5', '[1,"2"]'])(
    'times of prices %j in the file - no product and no card',
    (json) => {
      expect(parseProductRow({ ...ROW, checked_at: json })).toBeUndefined()
      expect(parseDealRow({ ...ROW, checked_at: json })).toBeUndefined()
    },
  )

  test.each([
    ['5', [5, 5]],
    ['[5,null]', [5, null]],
    ['[]', [null, null]],
    [null, [null, null]],
  ])('times of prices %s - are read as %j', (json, expected) => {
    const offers = JSON.stringify([SALE, SALE])
    const read = parseProductRow({ ...ROW, offers, checked_at: json })
    expect(read?.offers.map(({ checkedAtMs }) => checkedAtMs)).toEqual(expected)
    expect(parseDealRow({ ...ROW, checked_at: json, offer_index: 1 })?.offer.checkedAtMs).toBe(expected[1])
  })

  test('card - several pictures, or none - has the first one, or none', () => {
    const card = { gtin: toGtin(1), title: 'Lamp', brand: null, offer: SALE }
    expect(parseDealRow(ROW)).toEqual({ ...card, imageUrl: 'https://a.example/1.jpg' })
    expect(parseDealRow({ ...ROW, images: '[]' })).toEqual({ ...card, imageUrl: null })
  })

  test.each(DAMAGED.map((offer) => [offer]))(
    'offer %j in the file - no product and no card is returned',
    (offer) => {
      expect(parseProductRow({ ...ROW, offers: JSON.stringify([SALE, offer]) })).toBeUndefined()
      expect(parseDealRow({ ...ROW, offer: JSON.stringify(offer) })).toBeUndefined()
    },
  )

  test.each(['', '{', 'null', '{}', '[1]'])(
    'pictures or offers "%s" in the file - no product, no card and no error',
    (json) => {
      expect(parseProductRow({ ...ROW, images: json })).toBeUndefined()
      expect(parseDealRow({ ...ROW, images: json })).toBeUndefined()
      expect(parseProductRow({ ...ROW, offers: json })).toBeUndefined()
      expect(parseDealRow({ ...ROW, offer: json })).toBeUndefined()
    },
  )

  test('field of a later version in the file - is ignored', () => {
    const offer = JSON.stringify({ ...SALE, commission: '12 %' })
    expect(parseDealRow({ ...ROW, offer })?.offer).toEqual(SALE)
  })

  test.each([
    ['{"price":2,"link":1}', { price: 2, link: 1 }],
    ['{}', {}],
    ['', {}],
    ['{"price":', {}],
    ['null', {}],
    ['[3]', {}],
    ['{"price":"2"}', {}],
    ['{"price":2,"link":null}', {}],
  ])('drop counts %s - are parsed as %j', (json, expected) => {
    expect(parseDrops(json)).toEqual(expected)
  })
})
