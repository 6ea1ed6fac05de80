import { gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'
import { createZip } from '../catalog-service/feeds/zip-file.ts'
import { GTINS } from '../catalog-service/commands/feed-command.ts'
import { COLUMN_FEEDS } from './column-feeds.ts'
import { CHANNEL, type Case, OTHER_CHANNEL, importFeed, one } from './import-case.ts'

const BASE = { title: 'Arne', link: 'https://www.shop.example/p', price: '15.00 EUR' }

/** A table of Google Merchant Center with one row for each change. */
function toGoogle(changes: readonly Readonly<Record<string, string>>[]): string {
  const rows = changes.map((change, index) => ({ gtin: GTINS[index] ?? '', ...BASE, ...change }))
  const header = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = rows.map((row) => {
    const cells: Readonly<Record<string, string>> = row
    return header.map((name) => `"${(cells[name] ?? '').replaceAll('"', '""')}"`).join(',')
  })
  return `${[header.join(','), ...lines].join('\n')}\n`
}

const each = (name: string, values: readonly string[]): string =>
  toGoogle(values.map((value) => ({ [name]: value })))

const PRICES =
  '15|15.00|15,00 EUR|EUR 15.00|€ 15,99|15,99 €|1.234,50 EUR|1,234.50 EUR|1 234,50 EUR|1’234.50 CHF|12.500 EUR|12,500 EUR|1.5 KWD|0|0.00 EUR|-5 EUR|abc|15.00 usd|$15|£9.99|¥1200|15.00 EUR/l|12.34567 EUR|999999999999.99 EUR|9999999999999 EUR|15.00 EUR 20.00 EUR|'
const AVAILABILITIES =
  'in stock|in_stock|In Stock|InStock|https://schema.org/InStock|schema:OutOfStock|available|limited availability|sold out|out_of_stock|preorder|pre-order|backorder|discontinued|12|0|12 in stock|0 available|-3|1.5|yes|no|true|0.0|ask|'
const CONDITIONS =
  'new|New|NEU|nouveau|brand new|neu & ovp|https://schema.org/NewCondition|used|refurbished|like new|new, used|new|-|新品|1000|'
const NUMBERS =
  '9520001001024|952000100102-4|09520001001024|96385074|0-306-40615-2|9780306406157|123456789012|2001234567893|9520001001023|1.23E+11|LNG11ENCH|00000000|SKU1, 9520001001031| |-'
const LINKS =
  'https://www.shop.example/p?a=1&b=%2F|http://shop.example/x y|HTTPS://Shop.Example/Ünï|//shop.example/p|/p/1|javascript:alert(1)|https://user:pw@shop.example/|https://|ftp://shop.example/|'
const TITLES =
  'Arne|  Arne   2 |Größe &amp; <b>fett</b>|&lt;i&gt;x&lt;/i&gt;|=1+2|5" tablet|Tom &Jerry|A\u0000B|A\u0007B|\u202eabc|<b></b>|'
const IMAGES =
  'https://img.example/1.jpg|https://img.example/1.jpg,https://img.example/2.jpg|/img.jpg|data:image/png;base64x|https://img.example/a,b.jpg, ,|'
const DATES =
  '2026-04-30T13:00-0800/2026-05-02T15:30-0800|2026-05-01/2026-05-01|2026-04-01/2026-06-01|2026-05-01/|2026-05-02/2026-05-01|soon/later|2026-13-01/2026-14-01|2020-01-01/2020-02-01|'

const VALUES: readonly Case[] = [
  one('prices', each('price', PRICES.split('|'))),
  one(
    'prices, with a currency and a decimal comma',
    each('price', PRICES.split('|')),
    '--currency',
    'PLN',
    '--decimal',
    ',',
  ),
  one(
    'sale prices',
    toGoogle('12|12 EUR|15 EUR|20 EUR|0|12 USD|x'.split('|').map((price) => ({ sale_price: price }))),
  ),
  one(
    'sale dates',
    toGoogle(DATES.split('|').map((dates) => ({ sale_price: '12 EUR', sale_price_effective_date: dates }))),
  ),
  one('availabilities', each('availability', AVAILABILITIES.split('|'))),
  one('conditions', each('condition', CONDITIONS.split('|'))),
  one('product numbers', each('gtin', NUMBERS.split('|'))),
  one('links', each('link', LINKS.split('|'))),
  one(
    'titles and brands',
    toGoogle(TITLES.split('|').map((title) => ({ title, brand: title, merchant_name: title }))),
  ),
  one(
    'long values',
    toGoogle(
      ['title', 'brand', 'merchant_name', 'link', 'image_link', 'price'].map((name) => ({
        [name]: `https://a.example/${'x'.repeat(3_000)}`,
      })),
    ),
  ),
  one(
    'pictures',
    toGoogle(IMAGES.split('|').map((image) => ({ image_link: image, additional_image_link: image }))),
  ),
  one(
    'thirty pictures',
    toGoogle([
      {
        additional_image_link: Array.from(
          { length: 30 },
          (_, index) => `https://img.example/${index}.jpg`,
        ).join(','),
      },
    ]),
  ),
  one(
    'currency column',
    toGoogle('eur|SEK|EURO||XXX'.split('|').map((currency) => ({ price: '15', currency }))),
  ),
]

const HEAD = 'gtin,title,link,price'
const toRow = (index: number, title = 'Größe Café'): string =>
  `${GTINS[index]},${title},https://www.shop.example/${index},${index + 1}.50 EUR`
const TABLE = `${[HEAD, toRow(0), toRow(1), toRow(2)].join('\n')}\n`
const OFFER = {
  merchant: { name: 'Kopje', domain: 'shop.example' },
  network: 'Net',
  price: '15.00',
  old_price: '20.00',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://track.example/a?b=1&c=%2F',
  merchant_url: 'https://www.shop.example/p',
}
const PRODUCTS = [
  {
    gtin: GTINS[0],
    title: 'Arne',
    brand: 'Sonderby',
    images: ['https://img.example/1.jpg'],
    offers: [OFFER],
  },
  {
    gtin: GTINS[1],
    title: 'Größe',
    offers: [OFFER, { ...OFFER, network: 'Other', old_price: '1' }, { ...OFFER, price: 'x' }],
  },
  { gtin: GTINS[2], title: 'None', offers: [] },
  {
    gtin: Number(GTINS[3]),
    title: ['T'],
    offers: [{ ...OFFER, checked_at: '2026-04-30T10:00:00Z', url: 'javascript:1' }],
  },
]
const LINES = PRODUCTS.map((product) => `${JSON.stringify(product)}\n`).join('')
const toItem = (index: number, more = ''): string =>
  `<item><g:gtin>${GTINS[index]}</g:gtin><title>Größe &amp; ${index}</title><link>https://www.shop.example/${index}</link><g:price>${index + 1}.50 EUR</g:price>${more}</item>`
const toRss = (items: string, declaration = '<?xml version="1.0"?>'): string =>
  `${declaration}\n<rss xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>${items}</channel></rss>\n`
const ATOM = `<feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="html">Arne &amp;amp; 2</title><link rel="self" href="https://a.example/feed"/><link href=" https://www.shop.example/p "/><gtin>${GTINS[0]}</gtin><price>1 EUR</price></entry></feed>`
const DAMAGED = `${toItem(0)}<item><title>Line<br>two</title></item>\u0003${toItem(1, '<g:brand>A & B <3</g:brand>')}<!-- a -- b -->${toItem(2, '<g:shipping><g:price>4.90 EUR</g:price></g:shipping>')}`
const toMap = (map: object): string => JSON.stringify(map)
const CELLS = `EAN;Name;Preis;Adresse;Marke;Stand\n${GTINS[0]};Arne 2;1.234,50;https://www.shop.example/p;;2026-04-30\n${GTINS[1]};Arne 3;98;https://www.shop.example/q;Sonderby;soon\n`
const CELL_FIELDS = {
  gtin: 'EAN',
  title: ['Titel', 'Name'],
  price: 'Preis',
  pageLink: 'Adresse',
  brand: ['Marke', { value: 'Brand' }],
  checkedAt: 'Stand',
  currency: { value: 'EUR' },
  merchant: { value: 'Kopje' },
}

/** The column map is a second file. */
const mapped = (name: string, content: string, map: object, ...args: readonly string[]): Case => ({
  name,
  steps: [
    { file: 'map.json', content: toMap(map), args: [] },
    importFeed('feed', content, '--map', '{folder}/map.json', ...args),
  ],
})

const FORMATS: readonly Case[] = [
  ...[',', ';', '|', '\t'].map((sign) =>
    one(`table with ${JSON.stringify(sign)}`, TABLE.replaceAll(',', sign)),
  ),
  one(
    'table with carriage returns, a mark and a line for Excel',
    `\ufeffsep=;\r\n${TABLE.replaceAll(',', ';').replaceAll('\n', '\r\n')}`,
  ),
  one(
    'table with quotes',
    `${HEAD}\n${toRow(0, '"a ""b"", \n c"')}\n${toRow(1, '"Arne" 2')}\n${toRow(2, '5" tablet')}\n1,2\n${toRow(3)},more\n`,
  ),
  one('table after a comment', `# Products of Kopje\n${TABLE}`),
  one('JSON lines', LINES),
  {
    name: 'trial of JSON lines',
    steps: [{ file: 'feed', content: LINES, args: ['feeds', 'try', '{file}'] }],
  },
  one('JSON lines with damage', `${LINES}\n7\n{"a":\n{"gtin":"${GTINS[4]}"}\n[]\n`),
  one('JSON array', JSON.stringify(PRODUCTS, null, 1)),
  one('page of the contract', JSON.stringify({ next_cursor: null, items: PRODUCTS })),
  one('RSS', toRss(toItem(0) + toItem(1))),
  one('Atom', ATOM),
  one('damaged XML', toRss(DAMAGED)),
  one('gzip', gzipSync(TABLE)),
  one('gzip in gzip', gzipSync(gzipSync(TABLE))),
  one('zip', createZip([{ name: 'feed.csv', content: Buffer.from(TABLE) }])),
  one(
    'zip with two files',
    createZip(['a.csv', 'b.csv'].map((name) => ({ name, content: Buffer.from(TABLE) }))),
  ),
  one('Latin-1', Buffer.from(TABLE, 'latin1')),
  one('UTF-16', Buffer.from(`\ufeff${TABLE}`, 'utf16le')),
  one('UTF-16, big-endian, XML', Buffer.from(toRss(toItem(0)), 'utf16le').swap16()),
  one(
    'windows-1250, set',
    iconv.encode(`${HEAD}\n${toRow(0, 'Łódź żółta')}\n`, 'windows-1250'),
    '--encoding',
    'windows-1250',
  ),
  one(
    'Shift_JIS, guessed',
    iconv.encode(`${HEAD}\n${toRow(0, 'コーヒーメーカー')}\n${toRow(1, '電気ケトル')}\n`, 'shift_jis'),
  ),
  one(
    'XML in Latin-1, declared',
    Buffer.from(toRss(toItem(0), '<?xml version="1.0" encoding="iso-8859-1"?>'), 'latin1'),
  ),
  one(
    'UTF-8 with an undecodable row',
    Buffer.concat([Buffer.from(TABLE), Buffer.from(`${toRow(3)}\n`, 'latin1')]),
  ),
  mapped('column map of a table', CELLS, { format: 'table', decimal: ',', fields: CELL_FIELDS }),
  mapped('changes to a format', toGoogle([{ condition: 'ex display', other: 'Better' }]), {
    newConditions: ['Ex-Display'],
    fields: { title: 'other' },
  }),
  mapped(
    'column map of JSON',
    JSON.stringify({
      data: {
        items: [
          {
            ids: [{ ean: 1 }, { ean: 9_520_001_001_024 }],
            name: 'Arne',
            shops: [
              { price: 5.5, url: 'https://a.example/', name: 'A' },
              { price: '6', url: 'https://b.example/', name: 'B' },
            ],
          },
        ],
      },
    }),
    {
      format: 'json',
      items: 'data.items',
      offers: 'shops',
      fields: {
        gtin: 'ids[1].ean',
        title: 'name',
        price: 'shops.price',
        pageLink: 'shops.url',
        merchant: 'shops.name',
      },
    },
    '--currency',
    'EUR',
  ),
  mapped(
    'column map of XML',
    `<shop><p ean="${GTINS[0]}"><name>Arne <b>2</b></name><price unit="EUR">98.5</price><param name="Url">https://a.example/</param></p><p/></shop>`,
    {
      format: 'xml',
      items: 'shop/p',
      fields: {
        gtin: '@ean',
        title: 'name',
        price: 'price',
        currency: 'price/@unit',
        trackingLink: 'param[@name=url]',
        merchant: { value: 'Kopje' },
      },
    },
  ),
  one('names that replace those of the feed', LINES, '--network', 'Net 2', '--merchant', 'Shop 2'),
  ...Object.entries({
    empty: '',
    'web page': '<!DOCTYPE html><html><head><title>Sign &amp; in</title>',
    message: 'Too many downloads today, try again tomorrow\n',
    'error of an API': '{"error":"API key expired"}',
    'unknown fields': '[{"sku":1,"naam":"T","prijs":5}]',
    'missing column': 'title,link,price\nA,https://a.example/,1 EUR\n',
    'header alone': `${HEAD}\n`,
    'no usable row': each('gtin', ['1', '2', '']),
    'table that is cut': TABLE.slice(0, -20),
    'JSON that is cut': JSON.stringify(PRODUCTS).slice(0, -9),
    'XML that is cut': toRss(toItem(0)).slice(0, -30),
    'document type': `<!DOCTYPE rss [<!ENTITY a "b">]>${toRss(toItem(0), '')}`,
    'open quote': `${HEAD}\n${toRow(0, '"T')}\n`,
    bzip2: Buffer.from('425a6839314159', 'hex'),
  }).map(([name, content]) => one(name, content)),
  one('format that does not fit', TABLE, '--format', 'google-xml'),
]

const COLUMNS: readonly Case[] = COLUMN_FEEDS.map(({ name, format, content }) => ({
  name,
  steps: [
    importFeed(
      'feed',
      content,
      '--format',
      format,
      '--currency',
      'EUR',
      ...(format === 'tradetracker' ? ['--merchant', 'Kopje'] : []),
    ),
    { args: ['feeds', 'try', '{folder}/feed', '--currency', 'EUR'], isBrief: true },
  ],
}))

const toLarge = (from: number, to: number, price = '10.00', page = 'p'): string =>
  `${HEAD}\n${GTINS.slice(from, to)
    .map((gtin) => `${gtin},Lamp,https://kopje.example/${page}/${gtin},${price} EUR\n`)
    .join('')}`

const SEQUENCES: readonly Case[] = [
  {
    name: 'feed that changes',
    steps: [
      importFeed('shop.csv', TABLE),
      importFeed('shop.csv', TABLE),
      importFeed('shop.csv', TABLE.replace('1.50', '1.25').replace(/\n(.*2\.50)/, '\n$1')),
      importFeed('shop.csv', TABLE.replace(`${toRow(1)}\n`, '')),
      importFeed('shop.csv', TABLE.replace('Größe', 'Arne')),
      importFeed('shop.csv', TABLE, '--merchant', 'Kopje'),
      importFeed('shop.csv', `${HEAD}\nx\n`),
      importFeed('shop.csv', TABLE.trimEnd()),
      { args: ['feeds', 'list'] },
      { args: ['feeds', 'remove', 'shop'] },
      { args: ['feeds', 'remove', 'shop', '--yes'] },
    ],
  },
  {
    name: 'several feeds and channels',
    steps: [
      importFeed('one.csv', TABLE, '--network', 'Net', '--merchant', 'Kopje'),
      importFeed(
        'two.csv',
        `${HEAD}\n${toRow(1, 'Other title')}\n`,
        '--network',
        'Net',
        '--merchant',
        'Kopje',
      ),
      { args: ['channels', 'add', 'Second', '--id', OTHER_CHANNEL] },
      {
        file: 'one.csv',
        content: TABLE,
        args: ['import', '{file}', '--channel', OTHER_CHANNEL, '--network', 'Net'],
      },
      {
        args: [
          'networks',
          'set',
          'Net',
          '--template',
          'https://net.example/?p={publisher}&m={merchant}&u={url}',
        ],
      },
      importFeed('one.csv', TABLE, '--network', 'Net', '--merchant', 'Kopje'),
      { file: 'feed.csv', content: TABLE, args: ['import', '{file}'] },
      importFeed('two.csv', LINES, '--feed', 'one'),
      importFeed('shop-2026-05-01.csv', `${HEAD}\n${toRow(0)}\n`),
    ],
  },
  {
    name: 'feed that loses most offers',
    steps: [
      importFeed('large.csv', toLarge(0, 120)),
      importFeed('large.csv', toLarge(0, 50)),
      importFeed('large.csv', toLarge(0, 50), '--max-removed', '60%'),
      importFeed('large.csv', toLarge(0, 120, '11.00')),
      importFeed('large.csv', toLarge(110, 120, '11.00'), '--accept'),
      importFeed('large.csv', toLarge(110, 120, '11.00', 'q'), '--json'),
    ],
  },
  {
    name: 'feed of an address',
    steps: [
      {
        served: TABLE,
        args: [
          'feeds',
          'add',
          'shop',
          '--url',
          '{server}/shop.csv?key=secret',
          '--channel',
          CHANNEL,
          '--every',
          '1d',
        ],
      },
      { args: ['feeds', 'run', 'shop'] },
      { args: ['feeds', 'run', 'shop'] },
      { served: `${HEAD}\n${toRow(1)}\n`, args: ['feeds', 'run', 'shop'] },
      { served: 'Too many downloads today, try again tomorrow', args: ['feeds', 'run', 'shop'] },
      { args: ['feeds', 'set', 'shop', '--merchant', 'Kopje'] },
      { served: TABLE, args: ['feeds', 'run', 'shop', '--accept'] },
      { args: ['import', '{server}/other.csv', '--channel', CHANNEL] },
    ],
  },
]

export const CASES: readonly Case[] = [...COLUMNS, ...FORMATS, ...VALUES, ...SEQUENCES]
