import { describe, expect, it } from 'vitest'
import { type FeedFormat, parseFeedFormat } from '../../../src/catalog-service/import/formats.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'

const GTIN = '9520001001024'
const LINK = 'https://track.example/c?u=https%3A%2F%2Fshop.example%2Farne&x=%2525'
const PAGE = 'https://www.shop.example/arne'
const IMAGE = 'https://img.example/1.jpg'

const OFFER = {
  merchant: 'Kopje',
  merchantReference: null,
  price: '98.00',
  oldPrice: '120.00',
  currency: 'EUR',
  availability: 'in_stock',
  salePeriod: null,
  checkedAtMs: null,
  url: LINK,
  link: 'tracked',
}

const toTable = (cells: Record<string, string>, delimiter = ','): string =>
  [Object.keys(cells), Object.values(cells)].map((row) => `${row.join(delimiter)}\n`).join('')

const RAKUTEN_CELLS =
  `1|Arne 2|SKU|Audio||${LINK}|${IMAGE}||5" tablet|Long||amount|98.00|120.00|||Sonderby||a~~b||||in stock|${GTIN}|60|EUR`.split(
    '|',
  )
const toRakuten = (cells: readonly string[], end = 'TRL|1\n'): string =>
  `HDR|1237|Kopje|09/03/2026 00:02:32\n${cells.join('|')}\n${end}`
const RAKUTEN_OFFER = { merchantReference: '1237', checkedAtMs: Date.UTC(2026, 8, 3, 0, 2, 32) }

const CJ_TABLE = {
  PROGRAM_NAME: 'Kopje',
  PROGRAM_URL: PAGE,
  CATALOG_NAME: 'Feed',
  ID: '1',
  TITLE: 'Arne 2',
  LINK: LINK,
  IMAGE_LINK: IMAGE,
  AVAILABILITY: 'in stock',
  PRICE: '120.00 EUR',
  SALE_PRICE: '98.00 EUR',
  BRAND: 'Sonderby',
  GTIN,
}

const TRADEDOUBLER_OFFER = {
  feedId: 9,
  productUrl: LINK,
  priceHistory: [{ date: 1_777_777_777_000, price: { value: '98.00', currency: 'EUR' } }],
  availability: 'in stock',
  sourceProductUrl: PAGE,
  programName: 'Kopje',
}
const TRADEDOUBLER_PRODUCT = {
  name: 'Arne 2',
  brand: 'Sonderby',
  productImage: { url: IMAGE, width: 9 },
  identifiers: { ean: GTIN },
  offers: [TRADEDOUBLER_OFFER],
}

/** `isDetected`: whether the format is recognised without `--format`. */
type Case = readonly [name: string, format: FeedFormat, isDetected: boolean, text: string, offer: object]

const xmlLink = LINK.replaceAll('&', '&amp;')

const CASES: readonly Case[] = [
  ['cj, today', 'cj', true, toTable(CJ_TABLE), {}],
  [
    'cj, upper-case columns of earlier feeds',
    'cj',
    true,
    toTable({
      PROGRAMNAME: 'Kopje',
      NAME: 'Arne 2',
      MANUFACTURER: 'Sonderby',
      UPC: GTIN,
      CURRENCY: 'EUR',
      SALEPRICE: '98.00',
      PRICE: '120.00',
      BUYURL: LINK,
      IMAGEURL: IMAGE,
      INSTOCK: 'yes',
    }),
    {},
  ],
  [
    'cj, XML',
    'cj',
    true,
    `<rss xmlns:g="http://base.google.com/ns/1.0"><channel><item><program_name>Kopje</program_name><catalog_name>F</catalog_name><title>Arne 2</title><link>${xmlLink}</link><g:image_link>${IMAGE}</g:image_link><g:price>120.00 EUR</g:price><g:sale_price>98.00 EUR</g:sale_price><g:availability>in stock</g:availability><g:brand>Sonderby</g:brand><g:gtin>${GTIN}</g:gtin></item></channel></rss>`,
    {},
  ],
  [
    'impact, table',
    'impact',
    true,
    toTable(
      {
        CampaignId: '77',
        CampaignName: 'Kopje',
        Name: 'Arne 2',
        Manufacturer: 'Sonderby',
        Url: LINK,
        ImageUrl: IMAGE,
        CurrentPrice: '98.00',
        OriginalPrice: '120.00',
        Currency: 'EUR',
        StockAvailability: 'InStock',
        Gtin: GTIN,
      },
      '\t',
    ),
    { merchantReference: '77' },
  ],
  [
    'impact, JSON of the API',
    'impact',
    true,
    JSON.stringify({
      '@page': '1',
      Items: [
        {
          CatalogItemId: 'A1',
          CampaignId: 77,
          CampaignName: 'Kopje',
          Name: 'Arne 2',
          Manufacturer: 'Sonderby',
          Url: LINK,
          ImageUrl: IMAGE,
          AdditionalImageUrls: [],
          CurrentPrice: '98.00',
          OriginalPrice: '120.00',
          Currency: 'EUR',
          StockAvailability: 'InStock',
          Gtin: GTIN,
        },
      ],
    }),
    { merchantReference: '77' },
  ],
  ['rakuten', 'rakuten', true, toRakuten(RAKUTEN_CELLS), RAKUTEN_OFFER],
  [
    'rakuten, more columns by class of product',
    'rakuten',
    true,
    toRakuten([...RAKUTEN_CELLS, '', 'https://pixel.example/', 'L', 'Black']),
    RAKUTEN_OFFER,
  ],
  [
    'tradedoubler, JSON',
    'tradedoubler',
    true,
    JSON.stringify({ productHeader: { totalHits: 1 }, products: [TRADEDOUBLER_PRODUCT] }),
    { oldPrice: null },
  ],
  [
    'tradedoubler, XML',
    'tradedoubler',
    true,
    `<?xml version="1.0"?><result><products><product><name>Arne 2</name><brand>Sonderby</brand><productImage>${IMAGE}</productImage><fields><field name="gtin">${GTIN}</field></fields><offers><offer id="1"><productUrl>${xmlLink}</productUrl><sourceProductUrl>${PAGE}</sourceProductUrl><priceHistory><price currency="EUR">98.00</price></priceHistory><availability>in stock</availability><programName>Kopje</programName></offer></offers></product></products></result>`,
    { oldPrice: null },
  ],
  [
    'adtraction, table',
    'adtraction',
    true,
    toTable(
      {
        SKU: '1',
        Name: 'Arne 2',
        Price: '98.00',
        Currency: 'EUR',
        Instock: 'yes',
        ProductUrl: PAGE,
        ImageUrl: IMAGE,
        TrackingUrl: LINK,
        Brand: 'Sonderby',
        OriginalPrice: '120.00',
        Ean: GTIN,
      },
      ';',
    ),
    { merchant: 'shop.example', isNamedByHost: true },
  ],
  [
    'adtraction, XML',
    'adtraction',
    true,
    `<productFeed><product><SKU>1</SKU><Name>Arne 2</Name><Price>98.00</Price><Currency>EUR</Currency><Instock>yes</Instock><ProductUrl>${PAGE}</ProductUrl><ImageUrl>${IMAGE}</ImageUrl><TrackingUrl>${xmlLink}</TrackingUrl><Brand>Sonderby</Brand><OriginalPrice>120.00</OriginalPrice><Ean>${GTIN}</Ean></product></productFeed>`,
    { merchant: 'shop.example', isNamedByHost: true },
  ],
  [
    'webgains, today',
    'webgains',
    false,
    toTable({
      id: '1',
      title: 'Arne 2',
      link: LINK,
      image_link: IMAGE,
      availability: 'in_stock',
      price: '120.00 EUR',
      sale_price: '98.00 EUR',
      brand: 'Sonderby',
      gtin: GTIN,
      program_name: 'Kopje',
    }),
    {},
  ],
  [
    'webgains, earlier XML',
    'webgains',
    true,
    `<products><product><program_id>7</program_id><program_name>Kopje</program_name><product_name>Arne 2</product_name><brand>Sonderby</brand><price>98.00</price><normal_price>120.00</normal_price><currency>EUR</currency><deeplink>${xmlLink}</deeplink><image_url>${IMAGE}</image_url><in_stock>1</in_stock><european_article_number>${GTIN}</european_article_number></product></products>`,
    { merchantReference: '7' },
  ],
  [
    'tradetracker, table',
    'tradetracker',
    true,
    toTable(
      {
        'product ID': '1',
        name: 'Arne 2',
        price: '98.00',
        currency: 'EUR',
        productURL: LINK,
        imageURL: IMAGE,
        categories: 'Audio',
        EAN: GTIN,
        brand: 'Sonderby',
        fromPrice: '120.00',
        stock: '12',
      },
      ';',
    ),
    {},
  ],
  [
    'tradetracker, XML',
    'tradetracker',
    true,
    `<productFeed version="1.0"><product ID="1"><name>Arne 2</name><price currency="EUR">98.00</price><URL>${xmlLink}</URL><images><image>${IMAGE}</image></images><properties><property name="brand"><value>Sonderby</value></property><property name="EAN"><value>${GTIN}</value></property><property name="fromPrice"><value>120.00</value></property><property name="stock"><value>12</value></property></properties></product></productFeed>`,
    {},
  ],
  [
    'tradetracker, JSON',
    'tradetracker',
    false,
    JSON.stringify({
      products: [
        {
          ID: '1',
          name: 'Arne 2',
          price: { currency: 'EUR', amount: '98.00' },
          URL: LINK,
          images: [IMAGE],
          properties: { EAN: [GTIN], brand: ['Sonderby'], fromPrice: ['120.00'], stock: ['12'] },
        },
      ],
    }),
    {},
  ],
]

describe('formats of networks', () => {
  it.each(CASES)(
    '%s - a product with its tracked offer',
    async (...[, format, isDetected, text, changes]) => {
      // TradeTracker names no shop.
      const names = format === 'tradetracker' ? { merchant: 'Kopje' } : {}
      const offer = { ...OFFER, network: format, ...changes }
      const product = {
        gtin: `0${GTIN}`,
        title: 'Arne 2',
        brand: 'Sonderby',
        images: [IMAGE],
        offers: [offer],
      }
      const options = { format: isDetected ? undefined : parseFeedFormat(format), names, pieceBytes: 50 }
      const { format: readFormat, products, rejects } = await readFeedText(text, options)
      expect({ readFormat, products, rejects }).toEqual({
        readFormat: format,
        products: [product],
        rejects: [],
      })
    },
  )

  it.each(CASES)('%s - names given to the command replace those of the feed', async (_, format, __, text) => {
    const { products } = await readFeedText(text, { format, names: { network: 'N', merchant: 'M' } })
    expect(products[0]?.offers).toMatchObject([{ network: 'N', merchant: 'M' }])
  })

  it.each(['cj', 'impact', 'adtraction', 'webgains', 'tradetracker'] as const)(
    '%s - a table without its columns - ImportError that names one',
    async (format) => {
      await expect(readFeedText('a,b\n1,2\n', { format })).rejects.toThrow(/^feed has no column "gtin"|"ean"/)
    },
  )

  it('format that has no JSON - ImportError', async () => {
    await expect(readFeedText('[{}]', { format: 'adtraction' })).rejects.toThrow(
      'feed is not a feed of the format adtraction: expected table or xml',
    )
  })
})

const readOffers = (offers: readonly unknown[]): Promise<FeedResult> =>
  readFeedText(JSON.stringify({ products: [{ ...TRADEDOUBLER_PRODUCT, offers }] }), {
    format: 'tradedoubler',
  })

describe('tradedoubler', () => {
  it('several offers, one malformed - the others are read', async () => {
    const { products, rejects } = await readOffers([
      TRADEDOUBLER_OFFER,
      { ...TRADEDOUBLER_OFFER, programName: 'Other', sourceProductUrl: '' },
      { ...TRADEDOUBLER_OFFER, productUrl: 'javascript:1' },
      null,
    ])
    expect(products[0]?.offers.map(({ merchant }) => merchant)).toEqual(['Kopje', 'Other'])
    expect(rejects.map(({ row, field }) => [row, field])).toEqual([
      [1, 'offers.productUrl'],
      [1, 'offers.sourceProductUrl'],
    ])
  })

  it('several prices in the history - the offer is rejected, because the current one is unknown', async () => {
    const price = { date: 1, price: { value: '99.00', currency: 'EUR' } }
    const priceHistory = [...TRADEDOUBLER_OFFER.priceHistory, price]
    const { products, rejects } = await readOffers([{ ...TRADEDOUBLER_OFFER, priceHistory }])
    expect(products).toEqual([])
    expect(rejects).toMatchObject([
      { field: 'offers.priceHistory.price.value', reason: 'has several prices' },
    ])
  })

  it('no offer, and more than are read - a reject', async () => {
    expect((await readOffers([])).rejects).toMatchObject([
      { field: 'offers', reason: 'the product has no offer' },
    ])
    const { products, rejects } = await readOffers(Array.from({ length: 10_001 }, () => TRADEDOUBLER_OFFER))
    expect(products[0]?.offers).toHaveLength(10_000)
    expect(rejects).toMatchObject([{ field: 'offers' }])
  })
})

describe('rakuten', () => {
  it.each([
    ['no last line', toRakuten(RAKUTEN_CELLS, ''), 'has no TRL line at its end'],
    [
      'rows after the last line',
      `${toRakuten(RAKUTEN_CELLS)}${RAKUTEN_CELLS.join('|')}\n`,
      'rows after its TRL',
    ],
    ['ends within a row', toRakuten(RAKUTEN_CELLS.slice(0, 9), '').trimEnd(), 'ends in the middle of a row'],
    ['no first line', `${RAKUTEN_CELLS.join('|')}\nTRL|1\n`, 'does not begin with a line HDR'],
  ])('%s - ImportError', async (_, text, message) => {
    await expect(readFeedText(text, { format: 'rakuten' })).rejects.toThrow(message)
  })

  it.each([
    [{ 12: '0.00' }, { price: '120.00', oldPrice: null }],
    [{ 12: '' }, { price: '120.00', oldPrice: null }],
    [{ 13: '' }, { price: '98.00', oldPrice: null }],
    [
      { 12: '1.144', 13: '2.000' },
      { price: '1.144', oldPrice: '2.000' },
    ],
    [{ 22: 'n' }, { availability: 'out_of_stock' }],
    [{ 22: 'no stock' }, { availability: 'out_of_stock' }],
    [{ 22: '' }, { availability: 'unknown' }],
  ])('cells %j - %j', async (changes, expected) => {
    const cells = RAKUTEN_CELLS.map((cell, index) => (changes as Record<number, string>)[index] ?? cell)
    const { products, rejects } = await readFeedText(toRakuten(cells))
    expect(rejects).toEqual([])
    expect(products[0]?.offers[0]).toMatchObject(expected)
  })

  it('row with too few cells, or the time of the file unknown - only that is left out', async () => {
    const text = toRakuten([...RAKUTEN_CELLS, `\n1|2|3\n`]).replace('09/03/2026', '13/03/2026')
    const { products, rejects } = await readFeedText(text)
    expect(products[0]?.offers[0]).toMatchObject({ merchant: 'Kopje', checkedAtMs: null })
    expect(rejects).toMatchObject([{ row: 3, reason: 'has 3 cells, the column map has 26' }])
  })
})
