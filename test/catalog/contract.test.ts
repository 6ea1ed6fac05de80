import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CACHE_SECONDS,
  CHANNEL_KINDS,
  MAX_NAME_CHARACTERS,
  MAX_PAGE_PRODUCTS,
  VERSION_PATH,
  parseOffer,
  wireChannelListSchema,
  wireChannelSchema,
  wireImageSchema,
  wireOfferSchema,
  wireProductPageSchema,
  wireProductSchema,
} from '../../src/catalog/contract.ts'
import { MINUTE_SECONDS } from '../../src/clock.ts'
import { isPrice } from '../../src/offers/money.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { anyPrice } from '../offers/price-arbitraries.ts'

type Changes = Record<string, unknown>

const createOffer = (changes: Changes): Changes => ({ ...makeWireOffer(), ...changes })
const createProduct = (changes: Changes): Changes => ({ ...makeWireProduct(), ...changes })
const createChannel = (changes: Changes): Changes => ({
  id: CHANNEL_ID,
  name: 'Magazine',
  kind: 'website',
  url: 'https://magazine.example/',
  ...changes,
})

const isGtin = (gtin: string): boolean => wireProductSchema.safeParse(createProduct({ gtin })).success
const cursorOf = (page: Changes): unknown => wireProductPageSchema.parse({ items: [], ...page }).next_cursor
const readNamed = (text: string): unknown =>
  parseOffer(createOffer({ merchant: { name: text }, network: text, availability: text }))

describe('contract, numbers', () => {
  test('interface - version 0 - pages of at most 200 products, cached for five minutes', () => {
    expect([VERSION_PATH, MAX_PAGE_PRODUCTS, CACHE_SECONDS]).toEqual(['/v0', 200, 5 * MINUTE_SECONDS])
  })
})

describe('contract, channel', () => {
  test.each(CHANNEL_KINDS)('kind %s - known - is unchanged', (kind) => {
    expect(wireChannelSchema.parse(createChannel({ kind })).kind).toBe(kind)
  })

  test.each([['Website'], ['holodeck'], [''], [null], [undefined], [7]])(
    'kind %j - is read as other',
    (kind) => {
      expect(wireChannelSchema.parse(createChannel({ kind })).kind).toBe('other')
    },
  )

  test.each([
    [undefined, null],
    [null, null],
    ['', ''],
    ['https://magazine.example/a?b', 'https://magazine.example/a?b'],
  ])('address %j - is %j', (url, expected) => {
    expect(wireChannelSchema.parse(createChannel({ url })).url).toBe(expected)
  })

  test('id - in upper case - is read in lower case', () => {
    expect(wireChannelSchema.parse(createChannel({ id: CHANNEL_ID.toUpperCase() })).id).toBe(CHANNEL_ID)
  })

  test.each<Changes>([
    { id: '' },
    { id: CHANNEL_ID.slice(1) },
    { id: `${CHANNEL_ID}0` },
    { id: CHANNEL_ID.replaceAll('-', '') },
    { id: `g${CHANNEL_ID.slice(1)}` },
    { id: `../${CHANNEL_ID}` },
    { id: null },
    { name: 5 },
    { url: 5 },
  ])('%j - is not a channel', (changes) => {
    expect(wireChannelSchema.safeParse(createChannel(changes)).success).toBe(false)
  })

  test('list - malformed channels in it - are left to the parser', () => {
    expect(wireChannelListSchema.parse({ items: [null, 'x'], more: 1 })).toEqual({ items: [null, 'x'] })
  })
})

describe('contract, product', () => {
  test.each<Changes>([
    { brand: null },
    { brand: undefined },
    { brand: 7 },
    { brand: {} },
    { images: 'x' },
    { images: {} },
  ])('%j - the product stays without it', (changes) => {
    const [field = ''] = Object.keys(changes)
    const product = wireProductSchema.parse(createProduct(changes)) as Changes
    expect(product[field] ?? null).toBeNull()
    expect(product).toMatchObject({ title: 'Lumen Arc desk lamp', offers: [{}] })
  })

  test('gtin - of 1 and of 14 digits - is valid; empty, of 15 digits or with a line end - is invalid', () => {
    expect(['1', '12345678901234'].map(isGtin)).toEqual([true, true])
    expect(['', '123456789012345', '1\n', '１'].map(isGtin)).toEqual([false, false, false, false])
  })

  test('page - cursor absent, null, empty or a text - is null, null, null or that text', () => {
    const pages = [{}, { next_cursor: null }, { next_cursor: '' }, { next_cursor: ' ' }]
    expect(pages.map(cursorOf)).toEqual([null, null, null, ' '])
    expect(wireProductPageSchema.safeParse({ items: [], next_cursor: 0 }).success).toBe(false)
  })

  test.each([['https://a.example/x.jpg'], [null], [{}], [{ url: null }]])(
    'image %j - is invalid',
    (image) => {
      expect(wireImageSchema.safeParse(image).success).toBe(false)
    },
  )
})

describe('contract, offer', () => {
  test('several errors at once - the first of merchant, price, currency and link is reported', () => {
    const problems = [
      { merchant: { name: ' ' } },
      { price: '0' },
      { currency: 'EURO' },
      { affiliate_url: 'mailto:a@b.example' },
    ]
    const reasons = problems.map((_, index) =>
      parseOffer(createOffer(Object.assign({}, ...problems.slice(index)) as Changes)),
    )
    expect(reasons).toEqual(['merchant', 'price', 'currency', 'link'])
  })

  test.each([
    ['EU', 'currency'],
    ['EURO', 'currency'],
    ['EU1', 'currency'],
    ['EUR\n', 'currency'],
    ['ÀÉÜ', 'currency'],
    // Upper-casing turns these two characters into three letters.
    ['\u00dfa', 'currency'],
    ['\ufb01x', 'currency'],
  ])('currency %j - %s', (currency, expected) => {
    expect(parseOffer(createOffer({ currency }))).toBe(expected)
  })

  test.each([
    ['https://user@links.example/', 'link'],
    ['//links.example/', 'link'],
    ['https://', 'link'],
    ['https://links.example /a', 'link'],
    ['data:text/html,x', 'link'],
    [`https://links.example/${'x'.repeat(4_075)}`, 'link'],
  ])('link %s - %s', (link, expected) => {
    expect(parseOffer(createOffer({ affiliate_url: link }))).toBe(expected)
  })

  test('link - of 4,096 characters - is the longest usable one', () => {
    const link = `https://links.example/${'x'.repeat(4_074)}`
    expect(link).toHaveLength(4_096)
    expect(parseOffer(createOffer({ affiliate_url: link }))).toMatchObject({ affiliateUrl: link })
  })

  test('names - as long as allowed - stay; one longer - is cut with an ellipsis', () => {
    const name = 'n'.repeat(MAX_NAME_CHARACTERS)
    const cut = `${'n'.repeat(MAX_NAME_CHARACTERS - 1)}…`
    expect(readNamed(name)).toMatchObject({ merchant: name, network: name, availability: name })
    expect(readNamed(`${name}n`)).toMatchObject({ merchant: cut, network: cut, availability: cut })
  })

  test('any price, as text - is unchanged byte for byte, current and former', () => {
    fc.assert(
      fc.property(anyPrice, anyPrice, (price, oldPrice) => {
        expect(parseOffer(createOffer({ price, old_price: oldPrice }))).toMatchObject({ price, oldPrice })
      }),
    )
  })

  test('any price and former price - an offer only with a usable price, and never a malformed former one', () => {
    const text = fc.oneof(anyPrice, fc.string(), fc.double().map(String))
    fc.assert(
      fc.property(text, text, (price, oldPrice) => {
        const parsed = parseOffer(createOffer({ price, old_price: oldPrice }))
        const parsedPrice = typeof parsed === 'string' ? parsed : [parsed.price, parsed.oldPrice]
        const expected = [price, isPrice(oldPrice) ? oldPrice : null]
        expect(parsedPrice).toEqual(isPrice(price) ? expected : 'price')
      }),
    )
  })

  test('any JSON instead of an offer - a reason, never an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (item) => {
        expect(parseOffer(item)).toBe('shape')
      }),
    )
  })

  test('shape - without network, old price and availability - is valid', () => {
    const { merchant, price, currency, affiliate_url } = makeWireOffer()
    const minimal = { merchant, price, currency, affiliate_url }
    expect(wireOfferSchema.parse(minimal)).toEqual(minimal)
    expect(parseOffer(minimal)).toEqual({
      merchant: 'Kopje',
      network: '',
      price: '49.90',
      oldPrice: null,
      currency: 'EUR',
      availability: '',
      affiliateUrl: 'https://links.example/c?shop=kopje',
      checkedAtMs: null,
      saleEndsAtMs: null,
    })
  })

  test.each([
    ['2026-11-25T08:30:00Z', Date.UTC(2026, 10, 25, 8, 30)],
    ['2026-11-25t08:30:00.125+01:30', Date.UTC(2026, 10, 25, 7, 0, 0, 125)],
    ['2026-11-25', null],
    ['2026-02-30T00:00:00Z', null],
    ['yesterday', null],
    [1_795_000_000, null],
    [null, null],
    [{}, null],
  ])('times of an offer, %j - are Unix milliseconds, or absent when malformed', (time, expected) => {
    expect(parseOffer(createOffer({ checked_at: time }))).toMatchObject({
      checkedAtMs: expected,
      saleEndsAtMs: null,
    })
    expect(parseOffer(createOffer({ sale_ends_at: time }))).toMatchObject({
      checkedAtMs: null,
      saleEndsAtMs: expected,
    })
  })
})
