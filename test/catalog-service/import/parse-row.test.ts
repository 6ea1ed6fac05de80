import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ParsedRow, NameOverrides } from '../../../src/catalog-service/import/feed-row.ts'
import { parseRow } from '../../../src/catalog-service/import/json-rows.ts'
import { MAX_NAME_CHARACTERS } from '../../../src/catalog/contract.ts'
import { MAX_READ_OFFERS } from '../../../src/offers/offer-limits.ts'
import { MAX_TEXT_CHARACTERS } from '../../../src/offers/text.ts'
import { createOffer, createProduct } from '../harness.ts'

type Changes = Record<string, unknown>

const read = (bytes: Buffer | string, names: NameOverrides = {}): ParsedRow =>
  parseRow({ row: 7, bytes: Buffer.from(bytes), isTooLong: false }, names)

const readRow = (row: unknown, names: NameOverrides = {}): ParsedRow => read(JSON.stringify(row), names)

const readChanged = (changes: Changes): ParsedRow => readRow(createProduct('17', changes))

const readOffer = (offer: unknown, names: NameOverrides = {}): ParsedRow =>
  readRow(createProduct('17', { offers: [offer] }), names)

describe('valid row', () => {
  test('every field - is unchanged byte for byte, except the padded GTIN and the upper-case currency', () => {
    const images = [{ url: 'http://shop.example/a.png', width: 9 }]
    const offer = createOffer({ merchant: { name: ' Shop  A ' }, old_price: '012.5000', currency: 'eUr' })
    expect(readChanged({ title: ' A\u00a0"b" ', images, offers: [offer], more: 1 })).toEqual({
      product: {
        gtin: '00000000000017',
        title: ' A\u00a0"b" ',
        brand: 'Brand',
        images: ['http://shop.example/a.png'],
        offers: [
          {
            merchant: ' Shop  A ',
            merchantReference: null,
            network: 'Net',
            price: '10.00',
            oldPrice: '012.5000',
            currency: 'EUR',
            availability: 'in_stock',
            salePeriod: null,
            checkedAtMs: null,
            url: 'https://track.example/a?b=1&c=%2F',
            link: 'tracked',
          },
        ],
      },
      rejects: [],
    })
  })

  test('title or brand that is too long - is cut or left out, and reported', () => {
    const [title, brand] = ['t'.repeat(MAX_TEXT_CHARACTERS + 1), 'b'.repeat(MAX_NAME_CHARACTERS + 1)]
    const { product, rejects } = readChanged({ title, brand })
    expect(product).toMatchObject({ title: `${'t'.repeat(MAX_TEXT_CHARACTERS - 1)}…`, brand: null })
    expect(rejects.map(({ field, reason }) => [field, reason])).toEqual([
      ['title', `longer than ${MAX_TEXT_CHARACTERS} characters; the title is cut`],
      ['brand', `longer than ${MAX_NAME_CHARACTERS} characters; the brand is left out`],
    ])
    const longest = { title: title.slice(1), brand: brand.slice(1) }
    expect(readChanged(longest)).toMatchObject({ product: longest, rejects: [] })
  })

  test('link and picture with spaces - are encoded as a browser does', () => {
    const { product, rejects } = readChanged({
      images: [{ url: 'https://shop.example/a b.png' }],
      offers: [createOffer({ affiliate_url: 'https://track.example/c?u=https://shop.example/a b&x=ü' })],
    })
    expect(rejects).toEqual([])
    expect(product).toMatchObject({
      images: ['https://shop.example/a%20b.png'],
      offers: [{ url: 'https://track.example/c?u=https://shop.example/a%20b&x=ü' }],
    })
  })

  test.each<Changes>([{}, { brand: null }, { brand: '' }, { brand: 7 }, { images: null }, { images: [] }])(
    '%j - no brand and images, and no reject',
    (changes) => {
      const { product, rejects } = readChanged({ brand: undefined, images: undefined, ...changes })
      expect([product, rejects]).toMatchObject([{ brand: null, images: [] }, []])
    },
  )

  test.each([
    [undefined, 'feed', 'unknown'],
    [null, 'feed', 'unknown'],
    [7, 'feed', 'unknown'],
    ['\u200b ', 'feed', '\u200b '],
    [' x ', ' x ', ' x '],
  ])('network and availability %j - are %j and %j', (value, network, availability) => {
    const { product } = readOffer(createOffer({ network: value, availability: value }))
    expect(product?.offers).toMatchObject([{ network, availability }])
  })

  test.each([
    [{ old_price: '12', sale_ends_at: '2026-05-01T12:00:00Z' }, Date.UTC(2026, 4, 1, 12)],
    [{ old_price: '12', sale_ends_at: '2026-05-01T14:00:00.500+02:00' }, Date.UTC(2026, 4, 1, 12) + 500],
    [{ old_price: '12', sale_ends_at: null }, undefined],
    [{ old_price: '10.00', sale_ends_at: '2026-05-01T12:00:00Z' }, undefined],
    [{ sale_ends_at: '2026-05-01T12:00:00Z' }, undefined],
  ])('end of a sale %j - is stored with a regular price above the price', (changes, endsMs) => {
    const { product, rejects } = readOffer(createOffer({ price: '10', ...changes }))
    const salePeriod = endsMs === undefined ? null : { startsMs: null, endsMs }
    expect([product?.offers[0]?.salePeriod, rejects]).toEqual([salePeriod, []])
  })

  test.each([
    7,
    'soon',
    '2026-05-01',
    '2026-05-01T12:00Z',
    '2026-05-01T12:00:00',
    '2026-02-30T12:00:00Z',
    {},
  ])('times %j - are left out, with a reject each', (time) => {
    const offer = createOffer({ price: '10', old_price: '12', sale_ends_at: time, checked_at: time })
    const { product, rejects } = readOffer(offer)
    expect(product?.offers).toMatchObject([
      { price: '10', oldPrice: '12', salePeriod: null, checkedAtMs: null },
    ])
    expect(rejects.map(({ field }) => field)).toEqual(['offers[0].sale_ends_at', 'offers[0].checked_at'])
  })

  test('time of the check - is stored', () => {
    const { product } = readOffer(createOffer({ checked_at: '2026-05-01T00:00:00-08:00' }))
    expect(product?.offers[0]?.checkedAtMs).toBe(Date.UTC(2026, 4, 1, 8))
  })

  test('names for the file - replace those of every offer, also a missing merchant', () => {
    const { product, rejects } = readOffer(createOffer({ merchant: undefined }), {
      network: 'N',
      merchant: 'M',
    })
    expect([product?.offers, rejects]).toMatchObject([[{ merchant: 'M', network: 'N' }], []])
    expect(readOffer(createOffer(), { network: 'N' }).product?.offers).toMatchObject([
      { merchant: 'Shop A', network: 'N' },
    ])
    expect(readOffer('x', { merchant: 'M' }).rejects).toMatchObject([{ field: 'offers[0]' }])
  })

  test.each(['', ' ', '\t\r', '\ufeff', '\u00a0'])('blank line %j - no product and no reject', (line) => {
    expect(read(line)).toEqual({ product: undefined, rejects: [] })
  })

  test('row with a byte order mark and white space around it - is read', () => {
    expect(read(`\ufeff ${JSON.stringify(createProduct('17'))}\r`).product?.gtin).toBe('00000000000017')
  })
})

describe('rejected row', () => {
  const CASES: readonly (readonly [name: string, line: string | Buffer, field: string, reason: string])[] = [
    ['no JSON', '{"gtin":', 'row', 'not JSON in UTF-8'],
    ['broken UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), 'row', 'not JSON in UTF-8'],
    ['U+0000', String.raw`{"any":"\\\u0000"}`, 'row', 'contains the character U+0000'],
    ['null', 'null', 'row', 'missing, or not an object'],
    ['a list', '[]', 'row', 'missing, or not an object'],
    ['a text', '"x"', 'row', 'missing, or not an object'],
  ]
  test.each(CASES)('%s - its field and reason', (...[, line, field, reason]) => {
    expect(read(line)).toEqual({
      product: undefined,
      rejects: [{ row: 7, field, reason, raw: line.toString() }],
    })
  })

  test.each<[Changes, string, string]>([
    [{ gtin: undefined }, 'gtin', 'there is no gtin'],
    [{ gtin: null }, 'gtin', 'there is no gtin'],
    [{ gtin: '' }, 'gtin', 'there is no gtin'],
    [{ gtin: 17 }, 'gtin', 'missing, or not a string'],
    [{ gtin: ' 17' }, 'gtin', 'not 1 to 14 digits'],
    [{ gtin: '000000000000017' }, 'gtin', 'not 1 to 14 digits'],
    [{ gtin: '18' }, 'gtin', 'the check digit is wrong'],
    [{ gtin: '0' }, 'gtin', 'only zeros'],
    [{ gtin: '00000000000000' }, 'gtin', 'only zeros'],
    [{ title: undefined }, 'title', 'missing, or not a string'],
    [{ title: ['x'] }, 'title', 'missing, or not a string'],
    [{ title: '' }, 'title', 'is empty'],
    [{ title: ' \u200b\u202e' }, 'title', 'the title is empty'],
    [{ offers: undefined }, 'offers', 'missing, or not an array'],
    [{ offers: {} }, 'offers', 'missing, or not an array'],
    [{ offers: [] }, 'offers', 'the product has no offer'],
    [{ images: 'x' }, 'images', 'not an array'],
    [{ images: { url: 'x' } }, 'images', 'not an array'],
    // Several errors: the first one is reported.
    [{ gtin: '18', title: ' ', offers: [], images: 5 }, 'gtin', 'the check digit is wrong'],
  ])('%j - %s: %s', (changes, field, reason) => {
    const raw = JSON.stringify(createProduct('17', changes))
    expect(readChanged(changes)).toEqual({ product: undefined, rejects: [{ row: 7, field, reason, raw }] })
  })

  test('line beyond the limit that begins with blanks - is rejected too', () => {
    const { product, rejects } = parseRow(
      { row: 1, bytes: Buffer.from(' '.repeat(2_000)), isTooLong: true },
      {},
    )
    expect([product, rejects.map(({ reason }) => reason)]).toEqual([undefined, ['longer than 8388608 bytes']])
  })

  test('line that is too long - is rejected unparsed, with its beginning in the reject', () => {
    const bytes = Buffer.from(JSON.stringify(createProduct('17')))
    expect(parseRow({ row: 1, bytes, isTooLong: true }, {})).toEqual({
      product: undefined,
      rejects: [{ row: 1, field: 'row', reason: 'longer than 8388608 bytes', raw: bytes.toString() }],
    })
  })

  test('line that is too long, cut within a character - the cut character is replaced', () => {
    const bytes = Buffer.from('{"title":"€').subarray(0, -1)
    const { rejects } = parseRow({ row: 1, bytes, isTooLong: true }, {})
    expect(rejects).toMatchObject([{ reason: 'longer than 8388608 bytes', raw: '{"title":"\ufffd' }])
  })

  test.each([2_000, 2_001])('rejected line of %i characters - the reject has at most 2,000', (characters) => {
    const [reject] = read('x'.repeat(characters)).rejects
    expect(reject?.raw).toBe('x'.repeat(2_000))
  })
})

describe('rejected offer', () => {
  test.each<[unknown, string, string]>([
    ['x', '', 'missing, or not an object'],
    [null, '', 'missing, or not an object'],
    [createOffer({ merchant: undefined }), '.merchant', 'missing, or not an object'],
    [createOffer({ merchant: { name: 5 } }), '.merchant.name', 'missing, or not a string'],
    [createOffer({ merchant: { name: ' ' } }), '.merchant.name', 'the merchant has no name'],
    [createOffer({ price: undefined }), '.price', 'missing or malformed'],
    [createOffer({ price: true }), '.price', 'missing or malformed'],
    [
      createOffer({ price: 0 }),
      '.price',
      'not a price: one to twelve digits, up to four decimals, above zero',
    ],
    [createOffer({ currency: 978 }), '.currency', 'missing, or not a string'],
    [createOffer({ currency: '€' }), '.currency', 'not a currency code of three letters'],
    [createOffer({ affiliate_url: null }), '.affiliate_url', 'missing, or not a string'],
    [
      createOffer({ affiliate_url: '/p/1' }),
      '.affiliate_url',
      'not an absolute http or https address without credentials',
    ],
  ])('%j - offers[1]%s: %s', (offer, field, reason) => {
    const { product, rejects } = readChanged({ offers: [createOffer(), offer] })
    expect(product?.offers).toHaveLength(1)
    expect(rejects).toEqual([{ row: 7, field: `offers[1]${field}`, reason, raw: JSON.stringify(offer) }])
  })

  test('every offer invalid - one reject each, and no product', () => {
    const { product, rejects } = readChanged({ offers: ['x', createOffer({ price: '0' })] })
    expect(product).toBeUndefined()
    expect(rejects.map(({ field }) => field)).toEqual(['offers[0]', 'offers[1].price'])
  })

  test('nested a hundred thousand deep - the reject has a note instead of the content', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    const { rejects } = read(`{"gtin":"17","title":"T","offers":[${deep}]}`)
    expect(rejects).toMatchObject([{ field: 'offers[0]', raw: 'nested too deeply to show' }])
  })

  test('image - not an http or https address - one reject, the offers stay', () => {
    const { product, rejects } = readChanged({ images: [{ url: 'not even an address' }] })
    expect([product?.images, product?.offers.length]).toEqual([[], 1])
    expect(rejects).toMatchObject([
      { field: 'images[0]', reason: 'not an absolute http or https address; the picture is left out' },
    ])
  })

  test('more offers than are read - twenty rejects and the number of further ones', () => {
    const { rejects } = readChanged({ offers: Array.from({ length: 2 * MAX_READ_OFFERS }, () => 0) })
    expect(rejects).toHaveLength(21)
    expect(rejects[0]).toMatchObject({
      field: 'offers',
      reason: 'more than 10000 offers; the others are left out',
    })
    expect(rejects.at(-1)).toMatchObject({
      row: 7,
      field: 'row',
      reason: `and ${MAX_READ_OFFERS + 1 - 20} more`,
    })
  })

  test.each([[{}], [null], ['https://a.example/x.png'], [{ url: '' }], [{ url: 5 }]])(
    'image %j - one reject, the other pictures stay',
    (image) => {
      const { product, rejects } = readChanged({
        images: [{ url: 'https://a.example/' }, image, { url: 'http://b.example/' }],
      })
      expect(product?.images).toEqual(['https://a.example/', 'http://b.example/'])
      const reason = 'not an image with a url'
      expect(rejects).toEqual([{ row: 7, field: 'images[1]', reason, raw: JSON.stringify(image) }])
    },
  )
})

describe('former price', () => {
  test.each([[undefined], [null], [''], ['0'], ['0.00'], [0]])(
    '%j - counts as missing, without a reject',
    (value) => {
      const { product, rejects } = readOffer(createOffer({ old_price: value }))
      expect([product?.offers, rejects]).toMatchObject([[{ oldPrice: null }], []])
    },
  )

  test.each([
    ['12.5', '12.5'],
    [12.5, '12.5'],
    [20, '20'],
  ])('%j - %s', (value, expected) => {
    const { product, rejects } = readOffer(createOffer({ old_price: value }))
    expect([product?.offers, rejects]).toMatchObject([[{ oldPrice: expected }], []])
  })

  test.each([['12,50'], ['-1'], [-1], ['1.00001'], [true], [{}], [[]], [' ']])(
    '%j - one reject, and the offer stays without it',
    (value) => {
      const { product, rejects } = readOffer(createOffer({ old_price: value }))
      expect(product?.offers).toMatchObject([{ price: '10.00', oldPrice: null }])
      const [field, reason] = ['offers[0].old_price', 'not a price; the offer is kept without it']
      expect(rejects).toMatchObject([{ field, reason }])
    },
  )
})

describe('row with any content', () => {
  test('any JSON - gives a product, a reject, or both, and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const { product, rejects } = readRow(value)
        expect(product !== undefined || rejects.length > 0).toBe(true)
      }),
    )
  })

  test('any title - is rejected exactly when it contains U+0000', () => {
    const piece = fc.constantFrom('\u0000', '\\', 'u0000', String.raw`\u0000`, 'x', '"')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const title = `T${pieces.join('')}`
        const { product, rejects } = readChanged({ title })
        const hasNul = title.includes('\u0000')
        expect([product?.title, ...rejects.map(({ reason }) => reason)]).toEqual(
          hasNul ? [undefined, 'contains the character U+0000'] : [title],
        )
      }),
    )
  })
})
