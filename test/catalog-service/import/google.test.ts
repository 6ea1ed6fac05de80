import { describe, expect, it } from 'vitest'
import { type FeedResult, readCells } from './read-feed-text.ts'

const ROW = {
  id: '1',
  title: 'Arne 2 headphones',
  link: 'https://www.shop.example/arne?a=1&b=%2F',
  price: '15.00 EUR',
  gtin: '9520001001024',
}

const read = (changes: Record<string, string>): Promise<FeedResult> => readCells({ ...ROW, ...changes })

const readOffer = async (changes: Record<string, string>): Promise<unknown> =>
  (await read(changes)).products[0]?.offers[0]

describe('valid google row', () => {
  it('every column - gives a product with one offer for the page', async () => {
    const result = await read({
      image_link: 'https://img.example/1.jpg',
      additional_image_link:
        'https://img.example/2,w_9.jpg, http://img.example/3.jpg,https://img.example/1.jpg',
      availability: 'in stock',
      brand: 'Sonderby &amp; Sons',
      condition: 'new',
      sale_price: '12,50 EUR',
      unknown: 'x',
    })
    expect(result).toMatchObject({
      format: 'google-csv',
      encoding: 'utf-8',
      rejects: [],
      hasLinkMerchants: true,
      products: [
        {
          gtin: '09520001001024',
          title: 'Arne 2 headphones',
          brand: 'Sonderby & Sons',
          images: ['https://img.example/1.jpg', 'https://img.example/2,w_9.jpg', 'http://img.example/3.jpg'],
          offers: [
            {
              merchant: 'shop.example',
              merchantReference: null,
              network: 'feed',
              price: '12.50',
              oldPrice: '15.00',
              currency: 'EUR',
              availability: 'in_stock',
              salePeriod: null,
              checkedAtMs: null,
              url: 'https://www.shop.example/arne?a=1&b=%2F',
              link: 'page',
              isNamedByHost: true,
            },
          ],
        },
      ],
    })
  })

  it('names given to the command - replace network and shop', async () => {
    const { products, hasLinkMerchants } = await readCells(ROW, { names: { network: 'N', merchant: 'M' } })
    expect(products[0]?.offers[0]).toMatchObject({ network: 'N', merchant: 'M' })
    expect(hasLinkMerchants).toBe(false)
  })

  it.each([
    ['12.00 EUR', '', ['12.00', '15.00']],
    ['12.00', '', ['12.00', '15.00']],
    ['15.00 EUR', '', ['15.00', null]],
    ['0.00 EUR', '', ['15.00', null]],
    ['', '', ['15.00', null]],
    ['', '2026-04-01/2026-04-30', ['15.00', null]],
    ['12.00 EUR', '2026-04-01/2026-04-30', ['12.00', '15.00']],
  ])('sale price %j in %j - price and former price are %j', async (sale, window, expected) => {
    const result = await read({ sale_price: sale, sale_price_effective_date: window })
    const offer = result.products[0]?.offers[0]
    expect([offer?.price, offer?.oldPrice]).toEqual(expected)
    expect(result.rejects).toEqual([])
  })

  it.each([
    [{ sale_price: '12.00 USD' }, 'sale_price'],
    [{ sale_price: 'cheap' }, 'sale_price'],
    [{ sale_price: '16.00 EUR' }, 'sale_price'],
    [{ sale_price: '12.00 EUR', sale_price_effective_date: 'soon' }, 'sale_price_effective_date'],
  ])('malformed sale price %j - the price is used, with a reject', async (changes, field) => {
    const { products, rejects } = await read(changes)
    expect(products[0]?.offers[0]).toMatchObject({ price: '15.00', oldPrice: null })
    expect(rejects).toMatchObject([{ row: 2, field }])
  })

  it('sale price without a price - is the price, during its period', async () => {
    const only = { price: '', sale_price: '12.00 EUR' }
    const offer = { price: '12.00', oldPrice: null, currency: 'EUR' }
    expect(await readOffer(only)).toMatchObject({ ...offer, salePeriod: null })
    expect(await readOffer({ ...only, sale_price_effective_date: '2026-04-01/2026-04-30' })).toMatchObject({
      ...offer,
      salePeriod: { startsMs: Date.UTC(2026, 3, 1), endsMs: Date.UTC(2026, 4, 1) },
    })
    const { products, rejects } = await read({ ...only, sale_price_effective_date: 'soon' })
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ field: 'sale_price_effective_date' }])
  })

  it.each(['new', 'New Condition', 'https://schema.org/NewCondition', 'unused', 'Neu', ''])(
    'condition %j - counts as new',
    async (condition) => {
      expect((await read({ condition })).products).toHaveLength(1)
    },
  )

  it('brand - too long for a name - only the brand is dropped, with a reject', async () => {
    const { products, rejects } = await read({ brand: 'x'.repeat(101) })
    expect(products[0]?.brand).toBeNull()
    expect(rejects).toMatchObject([{ field: 'brand' }])
  })

  it('pictures - a list that ends in commas - the last commas are removed, commas within stay', async () => {
    const { products, rejects } = await read({
      additional_image_link: 'https://img.example/a,b.jpg, https://img.example/c.jpg , ,',
    })
    expect(products[0]?.images).toEqual(['https://img.example/a,b.jpg', 'https://img.example/c.jpg'])
    expect(rejects).toEqual([])
  })

  it('currency - in a separate column - is read', async () => {
    expect(await readOffer({ price: '15,00', currency: 'sek' })).toMatchObject({
      price: '15.00',
      currency: 'SEK',
    })
  })

  it('title - a formula - is unchanged', async () => {
    const title = '=HYPERLINK("https://evil.example","+cmd|x")'
    expect((await read({ title })).products[0]?.title).toBe(title)
  })

  it('gtins - several in a list - the first valid one is used, with a reject for the one before', async () => {
    const { products, rejects } = await read({ gtin: 'SKU1, 9520001001024' })
    expect(products[0]?.gtin).toBe('09520001001024')
    expect(rejects).toMatchObject([
      { field: 'gtin', reason: 'not 8, 12, 13 or 14 digits; another gtin of the row is used' },
    ])
  })

  it('images - relative, or of another scheme - only they are dropped', async () => {
    const { products, rejects } = await read({
      image_link: '/img/1.jpg',
      additional_image_link: 'data:image/png;base64x, https://img.example/2.jpg',
    })
    expect(products[0]?.images).toEqual(['https://img.example/2.jpg'])
    expect(rejects.map(({ field }) => field)).toEqual(['image_link', 'additional_image_link'])
  })

  it('images - thirty - all of them: the import keeps the first five', async () => {
    const list = Array.from({ length: 30 }, (_, index) => `https://img.example/${index}.jpg`).join(',')
    const { products, rejects } = await read({ additional_image_link: list })
    expect(products[0]?.images).toHaveLength(30)
    expect(rejects).toEqual([])
  })
})

describe('unusable google row', () => {
  it.each<[Record<string, string>, string, string]>([
    [{ gtin: '' }, 'gtin', 'there is no gtin'],
    [{ gtin: ' - ' }, 'gtin', 'there is no gtin'],
    [{ gtin: 'LNG11ENCH' }, 'gtin', 'not 8, 12, 13 or 14 digits'],
    [{ gtin: '1.23E+11' }, 'gtin', 'rounded by a spreadsheet: its last digits are lost'],
    [{ gtin: '2001234567893' }, 'gtin', 'a number for one shop only, or a coupon'],
    [{ title: ' <b></b> ' }, 'title', 'the title is empty'],
    [{ condition: 'Refurbished' }, 'condition', 'the condition "Refurbished" is not known to mean new'],
    [{ merchant_name: 'x'.repeat(101) }, 'merchant_name', 'longer than 100 characters'],
    [{ currency: 'EUR\u001b[31m' }, 'price', 'not a currency code of three letters'],
    [{ link: '' }, 'link', 'there is no link'],
    [{ link: '/p/1' }, 'link', 'not an absolute http or https address without credentials'],
    [{ link: 'javascript:alert(1)' }, 'link', 'not an absolute http or https address without credentials'],
    [{ price: '' }, 'price', 'there is no price'],
    [{ price: '0.00 EUR' }, 'price', 'the price is zero'],
    [{ price: '15.00' }, 'price', 'there is no currency: set one with --currency'],
    [{ price: '$15' }, 'price', 'several currencies have this sign: set one with --currency'],
  ])('%j - %s: %s', async (changes, field, reason) => {
    const { products, rejects } = await read(changes)
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ row: 2, field, reason }])
    expect(rejects[0]?.raw).toContain(changes['title'] ?? 'Arne 2 headphones')
  })
})

describe('sale dates', () => {
  it.each([
    ['2026-04-30T13:00-0800/2026-05-02T15:30-0800', '2026-04-30T21:00Z', '2026-05-02T23:30Z'],
    ['2026-05-01T13:30+01:30/2026-05-02', '2026-05-01T12:00Z', '2026-05-03T00:00Z'],
    ['2026-05-01/2026-05-01', '2026-05-01T00:00Z', '2026-05-02T00:00Z'],
    [' 2026-04-01 / 2026-06-01 ', '2026-04-01T00:00Z', '2026-06-02T00:00Z'],
    ['2026-04-01T00:00/2026-05-01T11:59', '2026-04-01T00:00Z', '2026-05-01T11:59Z'],
    ['2026-05-01T09/2026-05-01T13+01', '2026-05-01T09:00Z', '2026-05-01T12:00Z'],
    ['2026-05-01T12:00Z/2026-05-01T12:00:00.001Z', '2026-05-01T12:00Z', '2026-05-01T12:00:00.001Z'],
    ['2026-05-01/', '2026-05-01T00:00Z', null],
  ])('%j - the sale begins at %s and ends before %s', async (dates, start, end) => {
    const { products, rejects } = await read({ sale_price: '12.00 EUR', sale_price_effective_date: dates })
    expect(rejects).toEqual([])
    expect(products[0]?.offers[0]).toMatchObject({
      price: '12.00',
      oldPrice: '15.00',
      salePeriod: { startsMs: Date.parse(start), endsMs: end === null ? null : Date.parse(end) },
    })
  })

  it.each([
    '2026-05-02/2026-05-01',
    '2026-05-01T12:00/2026-05-01T12:00',
    '2026-13-01/2026-14-01',
    '2026-05-01',
    '2026-05-01/2026-05-02/2026-05-03',
    'soon/later',
    '2026-02-30/2026-06-01',
    '2026-04-01/2026-06-31',
    '2026-04-01T00:00+99:99/2026-06-01',
    '2026-04-01T24:00/2026-06-01',
    '2026-04-01T10:60/2026-06-01',
  ])('%j - is malformed: the regular price, with a reject', async (dates) => {
    const { products, rejects } = await read({ sale_price: '12.00 EUR', sale_price_effective_date: dates })
    expect(products[0]?.offers[0]).toMatchObject({ price: '15.00', oldPrice: null, salePeriod: null })
    expect(rejects).toMatchObject([{ field: 'sale_price_effective_date' }])
  })
})
