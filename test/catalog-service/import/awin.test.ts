import { describe, expect, it } from 'vitest'
import { type FeedResult, readCells } from './read-feed-text.ts'

const TRACKED = 'https://www.awin1.com/pclick.php?p=1&a=2&m=3&x=%2525'

/** The feed that a publisher downloads. */
const PUBLISHER = {
  aw_deep_link: TRACKED,
  product_name: 'Arne 2',
  search_price: '98.0',
  currency: 'EUR',
  merchant_name: 'Kopje &amp; Co',
  merchant_id: '30347',
  product_GTIN: '9520001001024',
}

/** The feed that an advertiser uploads. */
const ADVERTISER = {
  product_id: 'A1',
  product_name: 'Arne 2',
  price: '98.0',
  currency: 'EUR',
  product_url: 'https://www.shop.example/arne?variant=7',
  ean: '9520001001024',
}

const read = (changes: Record<string, string>): Promise<FeedResult> => readCells({ ...PUBLISHER, ...changes })

describe('valid awin row', () => {
  it('row of a publisher - every column - the tracked link is unchanged byte for byte', async () => {
    const result = await read({
      merchant_image_url: 'https://img.example/1.jpg',
      aw_image_url: 'https://img.example/proxy.jpg',
      alternate_image: 'https://img.example/2.jpg,https://img.example/3.jpg',
      alternate_image_two: 'https://img.example/4.jpg',
      brand_name: 'Sonderby',
      in_stock: '1',
      is_for_sale: '1',
      condition: 'new',
      product_price_old: '120.00',
      rrp_price: '150.00',
      base_price: '49.0 EUR',
      merchant_deep_link: 'https://www.shop.example/arne',
    })
    expect(result).toMatchObject({
      format: 'awin-csv',
      encoding: 'utf-8',
      rejects: [],
      hasLinkMerchants: false,
      products: [
        {
          gtin: '09520001001024',
          title: 'Arne 2',
          brand: 'Sonderby',
          images: [1, 2, 3, 4].map((number) => `https://img.example/${number}.jpg`),
          offers: [
            {
              merchant: 'Kopje & Co',
              merchantReference: '30347',
              network: 'awin',
              price: '98.0',
              oldPrice: '120.00',
              currency: 'EUR',
              availability: 'in_stock',
              salePeriod: null,
              checkedAtMs: null,
              url: TRACKED,
              link: 'tracked',
            },
          ],
        },
      ],
    })
  })

  it('row of an advertiser - the page address is the link and names the shop', async () => {
    const { products, rejects, hasLinkMerchants } = await readCells(ADVERTISER)
    expect(rejects).toEqual([])
    expect(hasLinkMerchants).toBe(true)
    expect(products[0]?.offers).toMatchObject([
      {
        merchant: 'shop.example',
        merchantReference: null,
        url: ADVERTISER.product_url,
        link: 'page',
        availability: 'unknown',
      },
    ])
  })

  it('tracked link without a shop name - the host of the shop page is the name, never the host of the network', async () => {
    const { products } = await read({ merchant_name: '', merchant_deep_link: 'https://shop.example/x' })
    expect(products[0]?.offers[0]).toMatchObject({ merchant: 'shop.example', url: TRACKED, link: 'tracked' })
    const { rejects } = await read({ merchant_name: '' })
    expect(rejects).toMatchObject([
      { field: 'merchant_name', reason: 'the feed names no shop; set one with --merchant NAME' },
    ])
  })

  it.each([
    [{ search_price: '', price: '7', store_price: '8' }, '7', 'EUR'],
    [{ search_price: '0', price: '0.00', store_price: '8' }, '8', 'EUR'],
    [{ search_price: 'USD 7.50', currency: '' }, '7.50', 'USD'],
  ])('price %j - is %s %s', async (changes, price, currency) => {
    expect((await read(changes)).products[0]?.offers[0]).toMatchObject({ price, currency })
  })

  it.each([
    [{ product_price_old: '98.00' }, null],
    [{ product_price_old: '0' }, null],
    [{ product_price_old: 'EUR 99.00' }, '99.00'],
    [{ rrp_price: '150.00' }, null],
  ])('former price %j - is %s', async (changes, oldPrice) => {
    const { products, rejects } = await read(changes)
    expect([products[0]?.offers[0]?.oldPrice, rejects]).toEqual([oldPrice, []])
  })

  it.each([{ product_price_old: '50' }, { product_price_old: 'was more' }, { product_price_old: '1.500' }])(
    'malformed former price %j - only the former price is dropped, with a reject',
    async (changes) => {
      const { products, rejects } = await read(changes)
      expect(products[0]?.offers[0]?.oldPrice).toBeNull()
      expect(rejects).toMatchObject([{ field: 'product_price_old' }])
    },
  )

  it('former price - in another currency, without a currency column - is dropped, with a reject', async () => {
    const changes = { search_price: '98.0 EUR', currency: '', product_price_old: '120.00 USD' }
    const { products, rejects } = await read(changes)
    expect(products[0]?.offers[0]?.oldPrice).toBeNull()
    expect(rejects).toMatchObject([{ field: 'product_price_old' }])
  })

  it.each([
    [{ in_stock: '1' }, 'in_stock'],
    [{ in_stock: 'no' }, 'out_of_stock'],
    [{ in_stock: 'in stock' }, 'in_stock'],
    [{ in_stock: '', stock_status: 'Out of Stock' }, 'out_of_stock'],
    [{ stock_status: 'ask', stock_quantity: '12' }, 'in_stock'],
    [{ stock_quantity: '0' }, 'out_of_stock'],
    [{ stock_quantity: 'many' }, 'unknown'],
    [{ pre_order: '1', in_stock: '0' }, 'preorder'],
    [{ pre_order: '0' }, 'unknown'],
  ])('stock %j - is %s', async (changes, availability) => {
    expect((await read(changes)).products[0]?.offers[0]?.availability).toBe(availability)
  })

  it.each([
    [{ product_GTIN: '', ean: '9520001001024', upc: '96385074' }, '09520001001024', []],
    [{ product_GTIN: 'X1', ean: '', upc: '96385074' }, '00000096385074', ['product_gtin']],
    [{ product_GTIN: '', ean: '1.2E+12', isbn: '0-306-40615-2' }, '09780306406157', ['ean']],
  ])('product numbers %j - the gtin is %s', async (changes, gtin, fields) => {
    const { products, rejects } = await read(changes)
    expect(products[0]?.gtin).toBe(gtin)
    expect(rejects.map(({ field }) => field)).toEqual(fields)
  })

  it.each([
    ['30 347\u0007', '30 347', 0],
    ['x'.repeat(101), null, 1],
  ])('merchant_id %j - is cleaned and limited in length', async (text, expected, lines) => {
    const { products, rejects } = await read({ merchant_id: text })
    expect(products[0]?.offers[0]?.merchantReference).toBe(expected)
    expect(rejects).toHaveLength(lines)
  })

  it('pictures - the first malformed - the next column is used', async () => {
    const { products, rejects } = await read({
      merchant_image_url: 'none',
      image_url: 'https://img.example/1.jpg',
    })
    expect(products[0]?.images).toEqual(['https://img.example/1.jpg'])
    expect(rejects).toMatchObject([{ field: 'merchant_image_url' }])
  })
})

describe('unusable awin row', () => {
  it.each([
    [{ product_GTIN: '' }, 'gtin', 'there is no gtin'],
    [{ product_GTIN: '', ean: 'LNG11ENCH' }, 'ean', 'not 8, 12, 13 or 14 digits'],
    [{ product_name: '' }, 'product_name', 'the title is empty'],
    [{ is_for_sale: '0' }, 'is_for_sale', 'not for sale'],
    [{ condition: 'used' }, 'condition', 'the condition "used" is not known to mean new'],
    [
      { aw_deep_link: 'awin1.com/x' },
      'aw_deep_link',
      'not an absolute http or https address without credentials',
    ],
    [{ aw_deep_link: '' }, 'merchant_deep_link', 'there is no link'],
    [{ search_price: '' }, 'search_price', 'there is no price'],
    [{ search_price: '0.00' }, 'search_price', 'the price is zero'],
    [{ search_price: '98.000' }, 'search_price', '98.000 is ambiguous, thousands or decimals: set --decimal'],
    [{ search_price: '98.0', currency: '' }, 'search_price', 'there is no currency: set one with --currency'],
  ])('%j - %s: %s', async (changes, field, reason) => {
    const { products, rejects } = await read(changes)
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ row: 2, field, reason }])
  })
})
