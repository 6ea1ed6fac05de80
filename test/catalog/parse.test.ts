import { describe, expect, it } from 'vitest'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import {
  addDropCounts,
  addDroppedGtins,
  parseChannelList,
  parseProduct,
  parseProductPage,
} from '../../src/catalog/parse.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'

const OPTIONS = { ownOrigin: 'http://127.0.0.1:3000' }
const GTIN = '09521234567899'
const INVALID = expect.objectContaining({ code: 'VITRINE_CATALOG_INVALID' })

type Changes = Record<string, unknown>

function readProduct(changes: Changes): Product | undefined {
  const { products } = parseProductPage(
    { items: [{ ...makeWireProduct(), ...changes }], next_cursor: null },
    OPTIONS,
  )
  return products[0]
}

function readOffers(...offers: unknown[]): { offers: readonly Offer[]; drops: unknown } {
  const product = parseProduct({ ...makeWireProduct(), offers }, GTIN, OPTIONS)
  return { offers: product.offers, drops: product.drops ?? {} }
}

const createOffer = (changes: Changes): Changes => ({ ...makeWireOffer(), ...changes })

describe('offers', () => {
  it('valid offer - every field', () => {
    expect(readOffers(createOffer({ old_price: '60.0000', price: '49.9' }))).toEqual({
      offers: [
        {
          merchant: 'Kopje',
          network: 'brightlink',
          price: '49.9',
          oldPrice: '60.0000',
          currency: 'EUR',
          availability: 'in_stock',
          affiliateUrl: 'https://links.example/c?shop=kopje',
          checkedAtMs: null,
          saleEndsAtMs: null,
        },
      ],
      drops: {},
    })
  })

  it.each<[string, string, unknown]>([
    ['null', 'shape', null],
    ['text', 'shape', 'offer'],
    ['list', 'shape', []],
    ['no merchant', 'shape', createOffer({ merchant: undefined })],
    ['merchant as text', 'shape', createOffer({ merchant: 'Kopje' })],
    ['merchant without name', 'shape', createOffer({ merchant: {} })],
    ['merchant name of white space', 'merchant', createOffer({ merchant: { name: ' \n' } })],
    [
      'merchant name without visible characters',
      'merchant',
      createOffer({ merchant: { name: '\u200b\u202e\u2066' } }),
    ],
    ['price absent', 'shape', createOffer({ price: undefined })],
    ['price null', 'shape', createOffer({ price: null })],
    ['price object', 'shape', createOffer({ price: {} })],
    ['price zero', 'price', createOffer({ price: '0.00' })],
    ['price negative', 'price', createOffer({ price: '-5' })],
    ['price with thousands', 'price', createOffer({ price: '1.299,00' })],
    ['price with currency', 'price', createOffer({ price: '5 EUR' })],
    ['price with five decimals', 'price', createOffer({ price: '1.00001' })],
    ['price with thirteen digits', 'price', createOffer({ price: '1234567890123' })],
    ['price with exponent', 'price', createOffer({ price: '1e3' })],
    ['price NaN', 'price', createOffer({ price: 'NaN' })],
    ['price number 1e21', 'price', createOffer({ price: 1e21 })],
    ['price number of a float sum', 'price', createOffer({ price: 0.1 + 0.2 })],
    ['price too large for a number', 'shape', JSON.parse('{"price":1e999}')],
    ['currency absent', 'shape', createOffer({ currency: undefined })],
    ['currency empty', 'currency', createOffer({ currency: '' })],
    ['currency sign', 'currency', createOffer({ currency: '€' })],
    ['currency of four letters', 'currency', createOffer({ currency: 'EURO' })],
    ['link absent', 'shape', createOffer({ affiliate_url: undefined })],
    ['link script', 'link', createOffer({ affiliate_url: 'javascript:alert(1)' })],
    ['link relative', 'link', createOffer({ affiliate_url: '/c?x=1' })],
  ])('%s - drops only itself, counted as %s', (_name, reason, bad) => {
    const good = makeWireOffer()
    expect(readOffers(good, bad, good)).toMatchObject({ offers: [{}, {}], drops: { [reason]: 1 } })
    expect(Object.keys(readOffers(bad).drops as object)).toEqual([reason])
  })

  it('prices as JSON numbers - are read as text', () => {
    expect(readOffers(createOffer({ price: 12.9, old_price: 20 })).offers).toMatchObject([
      { price: '12.9', oldPrice: '20' },
    ])
  })

  it.each<[string, unknown, string | null]>([
    ['absent', undefined, null],
    ['null', null, null],
    ['zero', '0', null],
    ['malformed', '1.299,00', null],
    ['an object', {}, null],
    ['below the price', '1.00', '1.00'],
  ])('old_price %s - does not drop the offer', (_name, oldPrice, expected) => {
    expect(readOffers(createOffer({ old_price: oldPrice }))).toMatchObject({
      offers: [{ oldPrice: expected }],
      drops: {},
    })
  })

  it('unknown fields, availability and network - are accepted', () => {
    const offer = createOffer({
      availability: 'on_the_moon',
      network: 'never-heard-of',
      commission: '12 %',
      merchant: { name: 'Kopje', id: 7, __proto__: { x: 1 } },
    })
    const { offers, drops } = readOffers(offer)
    expect(offers).toMatchObject([{ availability: 'on_the_moon', network: 'never-heard-of' }])
    expect(Object.keys(offers[0] ?? {})).toHaveLength(9)
    expect(drops).toEqual({})
  })

  it.each([undefined, null, 7, {}])('availability and network %j - are unknown, the offer stays', (value) => {
    expect(readOffers(createOffer({ availability: value, network: value }))).toMatchObject({
      offers: [{ availability: '', network: '' }],
      drops: {},
    })
  })

  it('currency in lower case - upper case', () => {
    expect(readOffers(createOffer({ currency: 'eur' })).offers).toMatchObject([{ currency: 'EUR' }])
  })

  it('link - any bytes that are usable - stays unchanged', () => {
    const link = 'HTTPS://Links.Example:443/a/../c?u=https%3A%2F%2Fx&b=%zz;c=ü#frag'
    expect(readOffers(createOffer({ affiliate_url: link })).offers).toMatchObject([{ affiliateUrl: link }])
  })

  it('thousands - the first 500 are read, the rest is counted', () => {
    const { offers, drops } = readOffers(...Array.from({ length: 700 }, () => makeWireOffer()))
    expect(offers).toHaveLength(500)
    expect(drops).toEqual({ too_many: 200 })
  })
})

describe('products', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['text', 'x'],
    ['no gtin', { ...makeWireProduct(), gtin: undefined }],
    ['gtin as number', { ...makeWireProduct(), gtin: 17 }],
    ['gtin with a letter', { ...makeWireProduct(), gtin: '0952123456789X' }],
    ['gtin of 15 digits', { ...makeWireProduct(), gtin: '095212345678990' }],
    ['gtin empty', { ...makeWireProduct(), gtin: '' }],
    ['no title', { ...makeWireProduct(), title: undefined }],
    ['title empty', { ...makeWireProduct(), title: '' }],
    ['title without visible characters', { ...makeWireProduct(), title: '\u0000\u202e \ufeff' }],
    ['title as list', { ...makeWireProduct(), title: ['x'] }],
    ['no offers', { ...makeWireProduct(), offers: undefined }],
    ['offers as object', { ...makeWireProduct(), offers: {} }],
  ])('%s - drops only itself in a page, and is invalid as a look-up', (_name, bad) => {
    const good = makeWireProduct()
    const page = parseProductPage({ items: [good, bad, good], next_cursor: null }, OPTIONS)
    expect(page.products).toHaveLength(2)
    expect(page.drops).toEqual({ product: 1 })
    expect(() => parseProduct(bad, GTIN, OPTIONS)).toThrow(INVALID)
  })

  it('short gtin - padded', () => {
    expect(readProduct({ gtin: '17' })?.gtin).toBe('00000000000017')
    expect(parseProduct({ ...makeWireProduct(), gtin: '17' }, '00000000000017', OPTIONS).title).toBe(
      'Lumen Arc desk lamp',
    )
  })

  it.each<[unknown, string | null]>([
    [undefined, null],
    [null, null],
    ['', null],
    [' ', null],
    [7, null],
    [{}, null],
    [' Lumen\n', 'Lumen'],
  ])('brand %j - %j, and the product stays', (brand, expected) => {
    expect(readProduct({ brand })?.brand).toBe(expected)
  })

  it.each<[string, unknown, readonly string[]]>([
    ['absent', undefined, []],
    ['null', null, []],
    ['no list', 'https://a.example/x.jpg', []],
    ['texts', ['https://a.example/x.jpg'], []],
    [
      'null items',
      [null, {}, { url: null }, { url: 'https://a.example/x.jpg' }],
      ['https://a.example/x.jpg'],
    ],
    ['http of another host', [{ url: 'http://a.example/x.jpg' }], []],
    ['http of this server', [{ url: 'http://127.0.0.1:3000/demo/x' }], ['http://127.0.0.1:3000/demo/x']],
    ['data', [{ url: 'data:image/svg+xml,<svg/>' }], []],
  ])('images %s - the usable ones', (_name, images, expected) => {
    expect(readProduct({ images })?.images).toEqual(expected)
  })

  it('images - many - the first five usable', () => {
    const images = Array.from({ length: 9 }, (_, index) => ({ url: `https://a.example/${index}` }))
    expect(readProduct({ images: [{ url: 'x' }, ...images] })?.images).toEqual(
      images.slice(0, 5).map(({ url }) => url),
    )
  })

  it('unknown fields - are not passed on', () => {
    const keys = Object.keys(readProduct({ extra: { a: 1 }, score: 3 }) ?? {})
    expect(keys.toSorted()).toEqual(['brand', 'gtin', 'images', 'offers', 'title'])
  })

  it('product without offers - has an empty list of offers', () => {
    expect(readProduct({ offers: [] })?.offers).toEqual([])
  })
})

describe('pages', () => {
  it.each<[unknown]>([
    [null],
    [[]],
    [{}],
    ['x'],
    [{ items: null }],
    [{ items: {} }],
    [{ items: [], next_cursor: 5 }],
    [{ items: [], next_cursor: {} }],
  ])('%j - not a page - CatalogInvalidError', (response) => {
    expect(() => parseProductPage(response, OPTIONS)).toThrow(INVALID)
  })

  it.each([
    [{ items: [] }, null],
    [{ items: [], next_cursor: null }, null],
    [{ items: [], next_cursor: '' }, null],
    [{ items: [], next_cursor: 'ü=/+ ' }, 'ü=/+ '],
  ])('%j - cursor %j, unchanged', (response, expected) => {
    const nothing = { drops: {}, droppedGtins: {}, malformed: new Map() }
    expect(parseProductPage(response, OPTIONS)).toEqual({ products: [], nextCursor: expected, ...nothing })
  })

  it('drops of several products - are added up', () => {
    const bad = {
      ...makeWireProduct(),
      offers: [createOffer({ price: '0' }), null, createOffer({ price: 'x' })],
    }
    expect(parseProductPage({ items: [bad, bad, 5] }, OPTIONS).drops).toEqual({
      price: 4,
      shape: 2,
      product: 1,
    })
    const drops = { price: 1 }
    addDropCounts(drops, { price: 2, link: 1 })
    expect(drops).toEqual({ price: 3, link: 1 })
  })

  it('GTINs of dropped items - are reported by reason, each once, the first ten', () => {
    const items = Array.from({ length: 25 }, (_, index) => ({
      ...makeWireProduct({ gtin: toGtin(index) }),
      offers: [createOffer({ price: 'n/a' }), createOffer({ price: '' })],
    }))
    const nameless = { ...makeWireProduct({ gtin: toGtin(30) }), title: '' }
    const { droppedGtins } = parseProductPage({ items: [...items, nameless, null] }, OPTIONS)
    expect(droppedGtins).toEqual({
      price: Array.from({ length: 10 }, (_, index) => toGtin(index)),
      product: [toGtin(30)],
    })
  })

  it('GTINs of dropped items - of several pages, also the first ten', () => {
    const gtins = Array.from({ length: 15 }, (_, index) => toGtin(index))
    const total = { price: gtins.slice(0, 7) }
    addDroppedGtins(total, { price: gtins.slice(5) })
    expect(total).toEqual({ price: gtins.slice(0, 10) })
  })

  it('product - has the counts of its dropped offers, or none', () => {
    const offers = [createOffer({ price: '0' }), null, createOffer({})]
    expect(readProduct({ offers })?.drops).toEqual({ price: 1, shape: 1 })
    expect(readProduct({})).not.toHaveProperty('drops')
  })

  it('look-up of another product - CatalogInvalidError', () => {
    expect(() => parseProduct(makeWireProduct(), '00000000000017', OPTIONS)).toThrow(INVALID)
  })
})

describe('channels', () => {
  it('list - valid, malformed and repeated channels - the malformed and repeated ones are dropped', () => {
    const channel = { id: CHANNEL_ID.toUpperCase(), name: ' My\u202e site ', kind: 'holodeck', extra: 1 }
    const items = [channel, null, { ...channel, id: 'nine' }, { ...channel, id: CHANNEL_ID, name: 'B' }, 5]
    expect(parseChannelList({ items })).toEqual([
      { id: CHANNEL_ID, name: 'My site', kind: 'other', url: null },
    ])
  })

  it.each([[undefined], [null], [''], [' ']])('name %j - the id is shown', (name) => {
    const items = [{ id: CHANNEL_ID, name, kind: 'app', url: null }]
    expect(parseChannelList({ items })).toMatchObject([{ name: CHANNEL_ID }])
  })

  it.each([
    '00000000-0000-0000-0000-000000000000',
    '11111111-1111-1111-1111-111111111111',
    '018f9c3e-7b1a-7cde-8f00-0123456789ab',
  ])('id %s - of any version and variant - is valid', (id) => {
    expect(parseChannelList({ items: [{ id, name: 'N', kind: 'app', url: null }] })).toHaveLength(1)
  })

  it.each([[null], [[]], [{}], [{ items: 5 }]])('%j - not a list - CatalogInvalidError', (response) => {
    expect(() => parseChannelList(response)).toThrow(INVALID)
  })
})
