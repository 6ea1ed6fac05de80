import { describe, expect, it } from 'vitest'
import type { FeedFormat } from '../../../src/catalog-service/import/formats.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'

const GTIN = '9520001001024'
const LINK = 'https://track.example/c?u=https%3A%2F%2Fshop.example%2Farne&x=1'
const XML_LINK = LINK.replace('&', '&amp;')
const PAGE = 'https://www.shop.example/arne'
const IMAGE = 'https://img.example/1.jpg'

const OFFER = {
  merchant: 'Kopje',
  price: '98.00',
  oldPrice: '120.00',
  currency: 'EUR',
  url: LINK,
  link: 'tracked',
}

const toTable = (cells: Record<string, string>, delimiter = ','): string =>
  [Object.keys(cells), Object.values(cells)].map((row) => `${row.join(delimiter)}\n`).join('')

const GOOGLE_ITEM = {
  id: '1',
  title: 'Arne 2',
  link: LINK,
  image_link: IMAGE,
  price: '120.00 EUR',
  sale_price: '98.00 EUR',
  availability: 'in_stock',
  brand: 'Sonderby',
  gtin: GTIN,
  merchant_name: 'Kopje',
  condition: 'new',
}
const GOOGLE_OFFER = { link: 'page', network: 'feed' }
const AWIN_OFFER = { network: 'awin' }

const AWIN_ITEM = {
  meta: { advertiser_id: 7, advertiser_name: 'Kopje', locale: 'en_GB' },
  product_basic: { id: '1', title: 'Arne 2', link: PAGE, image_link: IMAGE, aw_deep_link: LINK },
  price_and_availability: { price: '120.00 EUR', sale_price: '98.00 EUR', availability: 'in_stock' },
  product_identifiers: { gtin: GTIN, brand: 'Sonderby' },
  product_detailed: { condition: 'new' },
}

const TRADETRACKER_V1 = `<product><productID>1</productID><name>Arne 2</name><price>98.00</price><currency>EUR</currency><productURL>${XML_LINK}</productURL><imageURL>${IMAGE}</imageURL><additional><field name="brand">Sonderby</field><field name="EAN">${GTIN}</field><field name="fromPrice">120.00</field><field name="stock">12</field></additional></product>`

const CJ_HYPHENS = `<product><program-name>Kopje</program-name><catalog-name>F</catalog-name><name>Arne 2</name><buy-url>${XML_LINK}</buy-url><image-url>${IMAGE}</image-url><price>120.00</price><sale-price>98.00</sale-price><currency>EUR</currency><in-stock>yes</in-stock><manufacturer-name>Sonderby</manufacturer-name><upc>${GTIN}</upc></product>`

const TRADEDOUBLER_FLAT = {
  name: 'Arne 2',
  brand: 'Sonderby',
  ean: GTIN,
  price: '98.00',
  previousPrice: '120.00',
  currency: 'EUR',
  productUrl: LINK,
  imageUrl: IMAGE,
  programName: 'Kopje',
  TDProductId: '1',
}
const toElements = (cells: Record<string, string>): string =>
  Object.entries(cells)
    .map(([name, text]) => `<${name}>${text.replaceAll('&', '&amp;')}</${name}>`)
    .join('')

const AWIN_XML = `<cafProductFeed><datafeed id="1" merchantId="7" merchantName="Kopje"><prod id="1" in_stock="yes" is_for_sale="yes"><brand><brandName>Sonderby</brandName></brand><price curr="EUR"><buynow>98.00</buynow><productPriceOld>120.00</productPriceOld></price><text><name>Arne 2</name></text><uri><awTrack>${XML_LINK}</awTrack><mLink>${PAGE}</mLink><mImage>${IMAGE}</mImage></uri><productGTIN>${GTIN}</productGTIN></prod></datafeed></cafProductFeed>`

/** `differences`: of the offer from `OFFER` with the format's name as network. */
type Layout = readonly [name: string, text: string, format: FeedFormat, differences: object, layout?: string]

const LAYOUTS: readonly Layout[] = [
  ["JSON lines with Google's fields", `${JSON.stringify(GOOGLE_ITEM)}\n`, 'google-json', GOOGLE_OFFER],
  ["JSON array with Google's fields", JSON.stringify([GOOGLE_ITEM]), 'google-json', GOOGLE_OFFER],
  ['the same, indented', JSON.stringify([GOOGLE_ITEM], null, 2), 'google-json', GOOGLE_OFFER],
  [
    'the same, after other objects',
    JSON.stringify({ meta: { title: 'Feed', link: PAGE }, data: { products: [GOOGLE_ITEM] } }),
    'google-json',
    GOOGLE_OFFER,
  ],
  [
    "fields of Google's API",
    JSON.stringify([
      {
        ...GOOGLE_ITEM,
        price: { value: '120.00', currency: 'EUR' },
        sale_price: undefined,
        salePrice: { value: '98.00', currency: 'EUR' },
      },
    ]),
    'google-json',
    GOOGLE_OFFER,
  ],
  ['Awin, JSON lines', `${JSON.stringify(AWIN_ITEM)}\n`, 'awin-json', AWIN_OFFER],
  [
    'Awin, JSON lines without groups',
    `${JSON.stringify({ ...GOOGLE_ITEM, link: PAGE, aw_deep_link: LINK })}\n`,
    'awin-json',
    AWIN_OFFER,
  ],
  ['Awin, XML', AWIN_XML, 'awin-xml', AWIN_OFFER],
  ['TradeTracker, first XML', `<products>${TRADETRACKER_V1}</products>`, 'tradetracker', {}],
  [
    'TradeTracker, JSON',
    JSON.stringify({
      products: [
        {
          ID: '1',
          name: 'Arne 2',
          price: { currency: 'EUR', amount: '98.00' },
          URL: LINK,
          images: [IMAGE],
          properties: { EAN: [GTIN], brand: ['Sonderby'], fromPrice: ['120.00'] },
        },
      ],
    }),
    'tradetracker',
    {},
  ],
  [
    'Tradedoubler, flat XML',
    `<products><product>${toElements(TRADEDOUBLER_FLAT)}</product></products>`,
    'tradedoubler',
    {},
    'flat',
  ],
  [
    'Tradedoubler, XML with namespaces',
    `<result xmlns="urn:com:tradedoubler:pf:model:xml:output" xmlns:ns2="urn:com:tradedoubler:pf:model:xml:common"><products><product><ns2:name>Arne 2</ns2:name><ns2:brand>Sonderby</ns2:brand><ns2:productImage>${IMAGE}</ns2:productImage><ns2:identifiers><ns2:ean>${GTIN}</ns2:ean></ns2:identifiers><offers><offer id="x"><ns2:productUrl>${XML_LINK}</ns2:productUrl><ns2:programName>Kopje</ns2:programName><priceHistory><ns2:price currency="EUR">98.00</ns2:price></priceHistory></offer></offers></product></products></result>`,
    'tradedoubler',
    { oldPrice: null },
    'offers',
  ],
  [
    'CJ, response of the API',
    JSON.stringify({
      data: {
        shoppingProducts: {
          resultList: [
            {
              advertiserId: '7',
              advertiserName: 'Kopje',
              title: 'Arne 2',
              brand: 'Sonderby',
              gtin: GTIN,
              link: PAGE,
              imageLink: IMAGE,
              linkCode: { clickUrl: LINK },
              price: { amount: '120.00', currency: 'EUR' },
              salePrice: { amount: '98.00', currency: 'EUR' },
            },
          ],
        },
      },
    }),
    'cj',
    {},
  ],
  ['CJ, XML with hyphens', `<products>${CJ_HYPHENS}</products>`, 'cj', {}],
  [
    'Impact, earlier table',
    toTable(
      {
        'Catalog Item Id': '1',
        'Campaign Name': 'Kopje',
        'Product Name': 'Arne 2',
        Manufacturer: 'Sonderby',
        'Product URL': LINK,
        'Image URL': IMAGE,
        'Current Price': '98.00',
        'Original Price': '120.00',
        Currency: 'EUR',
        'Stock Availability': 'InStock',
        'UPC or EAN': GTIN,
      },
      '\t',
    ),
    'impact',
    {},
  ],
  [
    'Google, table after a comment and an information line',
    `# Products of Kopje, made by a template\nshop.example,2026-11-28\n${toTable(GOOGLE_ITEM)}`,
    'google-csv',
    GOOGLE_OFFER,
  ],
]

const read = (text: string, format?: FeedFormat): Promise<FeedResult> =>
  readFeedText(text, { format, names: { merchant: 'Kopje' }, pieceBytes: 50 })

describe('layouts that networks deliver', () => {
  it.each(LAYOUTS.map(([name, ...details]) => [name, details] as const))(
    '%s - is recognised, and read like the others',
    async (_, [text, format, differences, layout]) => {
      const offer = expect.objectContaining({ ...OFFER, network: format, ...differences })
      const expected = {
        gtin: `0${GTIN}`,
        title: 'Arne 2',
        brand: 'Sonderby',
        images: [IMAGE],
        offers: [offer],
      }
      const found = await read(text)
      expect({ format: found.format, layout: found.layout, rejects: found.rejects }).toEqual({
        format,
        layout,
        rejects: [],
      })
      expect(found.products).toEqual([expected])
      expect((await read(text, format)).products).toEqual([expected])
    },
  )

  it('Tradedoubler, flat table - with its format given', async () => {
    const { products, rejects, format } = await read(toTable(TRADEDOUBLER_FLAT, '|'), 'tradedoubler')
    expect({ format, rejects }).toEqual({ format: 'tradedoubler', rejects: [] })
    expect(products[0]?.offers).toMatchObject([OFFER])
  })

  it.each([
    [
      'Tradedoubler, XML',
      `<products><product><name>A</name><ean>${GTIN}</ean><fields><field name="condition" value="used"/></fields><offers><offer><productUrl>${XML_LINK}</productUrl><priceHistory><price currency="EUR">1.00</price></priceHistory><programName>K</programName></offer></offers></product></products>`,
    ],
    [
      'Tradedoubler, flat XML',
      `<products><product>${toElements(TRADEDOUBLER_FLAT)}<fields><field name="condition">used</field></fields></product></products>`,
    ],
    [
      'Tradedoubler, JSON',
      JSON.stringify({
        products: [
          {
            name: 'A',
            identifiers: { ean: GTIN },
            fields: [{ name: 'Condition', value: 'used' }],
            offers: [
              {
                productUrl: LINK,
                priceHistory: [{ price: { value: '1.00', currency: 'EUR' } }],
                programName: 'K',
              },
            ],
          },
        ],
      }),
    ],
    [
      'TradeTracker, XML',
      `<products>${TRADETRACKER_V1.replace('<additional>', '<additional><field name="conditie">gebruikt</field>')}</products>`,
    ],
    [
      'TradeTracker, JSON',
      JSON.stringify({
        products: [
          {
            name: 'A',
            price: { amount: '1.00', currency: 'EUR' },
            URL: LINK,
            properties: { EAN: [GTIN], Condition: ['Used'] },
          },
        ],
      }),
    ],
    [
      'Google, two elements',
      `<rss xmlns:g="http://base.google.com/ns/1.0"><item><title>A</title><link>${PAGE}</link><g:gtin>${GTIN}</g:gtin><g:price>1 EUR</g:price><g:condition>new</g:condition><g:condition>used</g:condition></item></rss>`,
    ],
    ['Google, JSON', `${JSON.stringify({ ...GOOGLE_ITEM, condition: undefined, Condition: 'used' })}\n`],
    ['Google, list', `${JSON.stringify({ ...GOOGLE_ITEM, condition: ['new', 'used'] })}\n`],
    ['Google, prefix', `${JSON.stringify({ ...GOOGLE_ITEM, condition: 'used:new' })}\n`],
  ])('%s with a used product - rejects it', async (_, text) => {
    const { products, rejects } = await read(text)
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ reason: expect.stringContaining('is not known to mean new') }])
  })

  it('Awin XML with several shops - each product has its own', async () => {
    const other = AWIN_XML.replace('merchantName="Kopje"', 'merchantName="Tasse"').replace(
      GTIN,
      '9520001001031',
    )
    const both = AWIN_XML.replace('</cafProductFeed>', '') + other.replace('<cafProductFeed>', '')
    const { products } = await readFeedText(both)
    expect(products.map(({ offers }) => offers[0]?.merchant)).toEqual(['Kopje', 'Tasse'])
  })
})

describe('files that are no feed, or of an unknown layout', () => {
  it.each([
    [
      'object with an error',
      '{"error":"API key expired"}',
      'feed is a message, not a feed: "API key expired"',
    ],
    [
      'sentence',
      'Too many downloads today, try again tomorrow\n',
      'feed is a message, not a feed: "Too many downloads today',
    ],
    [
      'unknown fields',
      '[{"sku":1,"naam":"T","prijs":5}]',
      'the fields of feed are not recognised: its items have sku, naam, prijs; set --format, or describe them in a file for --map',
    ],
    [
      'table with codes in another column',
      'title,link,price,eancode\nT,https://a.example/,1 EUR,9520001001024\n',
      '"gtin"',
    ],
    [
      'German header',
      'GTIN;Titel;Link;Preis\n9520001001024;T;https://a.example/;1 EUR\n',
      'has no column "title"',
    ],
    [
      'large XML of other elements',
      `<Katalog>${'<Artikel><EAN>1</EAN><Preis>5</Preis></Artikel>'.repeat(2_000)}</Katalog>`,
      'it seems to repeat <Artikel>: set --format, or describe it in a file for --map with "items": "Katalog/Artikel"',
    ],
  ])('%s - a message that says so, with what was found', async (_, text, message) => {
    await expect(readFeedText(text)).rejects.toThrow(message)
  })

  it('pretty-printed products of the contract - are read', async () => {
    const offer = {
      merchant: { name: 'A' },
      price: '1',
      currency: 'EUR',
      affiliate_url: 'https://a.example/',
    }
    const items = [{ gtin: GTIN, title: 'T', offers: [offer] }]
    for (const file of [items, { items }, { meta: { page: 1 }, items }])
      expect(await readFeedText(JSON.stringify(file, null, 2))).toMatchObject({
        format: 'json',
        products: [{ title: 'T' }],
        rejects: [],
      })
  })
})
