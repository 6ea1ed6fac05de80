import { describe, expect, it } from 'vitest'
import { type FeedMap, parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'

const FIELDS = {
  gtin: 'EAN',
  title: 'Titel',
  price: 'Preis',
  pageLink: 'Adresse',
  currency: { value: 'EUR' },
}
const GTIN = '9520001001024'
const PAGE = 'https://www.shop.example/arne'

const read = (map: unknown, text: string): Promise<FeedResult> =>
  readFeedText(text, { map: parseFeedMap(map) })

const readTable = (map: object, text: string): Promise<FeedResult> =>
  read({ format: 'table', fields: FIELDS, ...map }, text)

/** Days since 30 April 2026, UTC. */
const toDay = (timeMs: number | null): number | null =>
  timeMs === null ? null : (timeMs - Date.UTC(2026, 3, 30)) / 86_400_000

describe('column map', () => {
  it('every key - is accepted, and unchanged by parsing it again', () => {
    const map: FeedMap = {
      format: 'table',
      delimiter: '\t',
      columns: ['EAN', 'Titel', 'Preis', 'Adresse'],
      encoding: 'windows-1252',
      decimal: ',',
      fields: { ...FIELDS, brand: ['Marke', { value: 'Sonderby' }], checkedAt: 'Stand' },
    }
    expect(parseFeedMap(map)).toEqual(map)
    expect(parseFeedMap(parseFeedMap(map))).toEqual(map)
  })

  it.each<[unknown, string]>([
    ['x', 'the column map is not a JSON object'],
    [null, 'the column map is not a JSON object'],
    [[], 'the column map is not a JSON object'],
    [{ format: 'csv', fields: FIELDS }, '"format" of the column map accepts'],
    [{ format: 'table' }, '"fields" of the column map accepts an object with gtin, title'],
    [{ format: 'table', fields: FIELDS, delimiter: '#' }, '"delimiter" of the column map accepts ",", ";"'],
    [{ format: 'table', fields: FIELDS, columns: [] }, '"columns" of the column map accepts a list'],
    [{ format: 'table', fields: FIELDS, columns: ['a', 7] }, '"columns" of the column map accepts a list'],
    [
      { format: 'table', fields: FIELDS, encoding: 'klingon' },
      '"encoding" of the column map accepts the name',
    ],
    [{ format: 'table', fields: FIELDS, decimal: "'" }, '"decimal" of the column map accepts "." or ","'],
    [
      { format: 'table', fields: FIELDS, items: 'a' },
      'unknown key "items"; it accepts encoding, decimal, newConditions, format, delimiter, columns, fields',
    ],
    [{ format: 'json', fields: FIELDS, delimiter: ',' }, 'unknown key "delimiter"; it accepts encoding'],
    [{ format: 'xml', fields: FIELDS }, '"items" of the column map accepts a path'],
    [{ format: 'xml', fields: FIELDS, items: 'a b' }, '"items" of the column map accepts a path'],
    [{ format: 'xml', fields: FIELDS, items: 'a/' }, '"items" of the column map accepts a path'],
    [{ format: 'json', fields: FIELDS, items: 'a[0].b' }, '"items" of the column map accepts a path'],
    [{ format: 'json', fields: FIELDS, items: 'a..b' }, '"items" of the column map accepts a path'],
    [
      { format: 'json', fields: { ...FIELDS, title: 'a[x]' } },
      '"fields.title" of the column map accepts a column',
    ],
    [
      { format: 'table', fields: { ...FIELDS, titel: 'a' } },
      'unknown key "fields.titel"; it accepts gtin, title',
    ],
    [
      { format: 'table', fields: { ...FIELDS, brand: 7 } },
      '"fields.brand" of the column map accepts a column',
    ],
    [
      { format: 'table', fields: { ...FIELDS, brand: [] } },
      '"fields.brand" of the column map accepts a column',
    ],
    [
      { format: 'table', fields: { ...FIELDS, brand: ' ' } },
      '"fields.brand" of the column map accepts a column',
    ],
    [
      { format: 'table', fields: { ...FIELDS, brand: { text: 'a' } } },
      '"fields.brand" of the column map accepts',
    ],
    [{ format: 'table', fields: { ...FIELDS, gtin: undefined } }, 'the column map needs "fields.gtin"'],
    [{ format: 'table', fields: { ...FIELDS, price: undefined } }, 'the column map needs "fields.price"'],
    [
      { format: 'table', fields: { ...FIELDS, pageLink: undefined } },
      'the column map needs "fields.trackingLink"',
    ],
    [JSON.parse('{"format":"table","__proto__":{}}'), 'of the column map accepts'],
  ])('%j - UsageError: %s', (map, message) => {
    expect(() => parseFeedMap(map)).toThrow(
      expect.objectContaining({ code: 'VITRINE_USAGE', message: expect.stringContaining(message) }),
    )
  })
})

describe('table with a column map', () => {
  const ROW = `${GTIN};Arne 2;1.234,50;${PAGE}\n`

  it.each([',', ';', '|', '\t'])('delimiter %j - is detected', async (delimiter) => {
    const text = `ean;titel;preis;adresse\n${GTIN};Arne 2;98.00;${PAGE}\n`.replaceAll(';', delimiter)
    expect(await readTable({}, text)).toMatchObject({
      format: 'map',
      products: [
        { gtin: `0${GTIN}`, title: 'Arne 2', offers: [{ price: '98.00', currency: 'EUR', url: PAGE }] },
      ],
      rejects: [],
    })
  })

  it('table without a header - is read by the names of the map', async () => {
    const { products } = await readTable({ columns: ['EAN', 'Titel', 'Preis', 'Adresse'], decimal: ',' }, ROW)
    expect(products).toMatchObject([{ title: 'Arne 2', offers: [{ price: '1234.50' }] }])
    const { rejects } = await readTable({ columns: ['EAN', 'Titel', 'Preis', 'Adresse', 'Rest'] }, ROW)
    expect(rejects).toMatchObject([{ row: 1, reason: 'has 4 cells, the column map has 5' }])
  })

  it.each([
    [',', '1.234,50', '1234.50'],
    [',', '1.234', '1234'],
    [',', '12,5', '12.5'],
    [',', '12.5', undefined],
    ['.', '1,234', '1234'],
    ['.', '1.234', '1.234'],
    ['.', '1,23,456.5', '123456.5'],
    ['.', '12,5', undefined],
    [undefined, '1.234', undefined],
  ])('decimal sign %j - %j is %s', async (decimal, price, expected) => {
    const { products } = await readTable({ decimal }, `EAN;Titel;Preis;Adresse\n${GTIN};A;${price};${PAGE}\n`)
    expect(products[0]?.offers[0]?.price).toBe(expected)
  })

  it('alternatives and constants - the first non-empty one is used', async () => {
    const fields = {
      ...FIELDS,
      title: ['Name', 'Titel'],
      brand: ['Marke', { value: 'Sonderby' }],
      merchant: { value: 'Kopje' },
      network: 'Netz',
      availability: 'Bestand',
      merchantReference: { value: '77' },
      trackingLink: 'Link',
      checkedAt: 'Stand',
      image: 'Bild',
      moreImages: 'Bilder',
    }
    const head = 'EAN;Name;Titel;Preis;Adresse;Marke;Netz;Bestand;Link;Stand;Bild;Bilder'
    const rows = [
      `${GTIN};;Arne 2;98;${PAGE};;;3;;2026-05-01;;`,
      `${GTIN};Arne 3;x;98;${PAGE};Other;net;0;https://t.example/;soon;https://img.example/1.jpg;https://img.example/2.jpg, https://img.example/3.jpg`,
    ]
    const { products, rejects } = await readTable({ fields }, [head, ...rows, ''].join('\n'))
    expect(products).toMatchObject([
      {
        title: 'Arne 2',
        brand: 'Sonderby',
        offers: [
          {
            merchant: 'Kopje',
            network: 'feed',
            merchantReference: '77',
            availability: 'in_stock',
            link: 'page',
            checkedAtMs: Date.UTC(2026, 4, 1),
          },
        ],
      },
      {
        title: 'Arne 3',
        brand: 'Other',
        images: [1, 2, 3].map((number) => `https://img.example/${number}.jpg`),
        offers: [
          {
            network: 'net',
            availability: 'out_of_stock',
            url: 'https://t.example/',
            link: 'tracked',
            checkedAtMs: null,
          },
        ],
      },
    ])
    expect(rejects).toMatchObject([{ row: 3, field: 'stand' }])
  })

  it.each([
    [
      { salePrice: 'B', saleStartsAt: 'C', saleEndsAt: 'D' },
      '100;80;2026-05-01;2026-05-02',
      ['80', '100', 1, 3],
      [],
    ],
    [
      { salePrice: 'B', saleStartsAt: 'C', saleEndsAt: 'D' },
      '100;80;;2026-05-02T10:00Z',
      ['80', '100', null, 2.4166666666666665],
      [],
    ],
    [{ salePrice: 'B', saleEndsAt: 'D' }, '100;80;;', ['80', '100'], []],
    [{ salePrice: 'B', saleEndsAt: 'D' }, '100;80;;soon', ['100', null], ['d']],
    [{ salePrice: 'B' }, '100;0;;', ['100', null], []],
    [{ salePrice: 'B' }, '100;120;;', ['100', null], ['b']],
    [{ oldPrice: 'B', saleEndsAt: 'D' }, '80;100;;2026-05-02', ['80', '100', null, 3], []],
    [{ oldPrice: 'B', saleEndsAt: 'D' }, '80;100;;soon', ['80', '100'], ['d']],
    [{ oldPrice: 'B', saleEndsAt: 'D' }, '80;;;2026-05-02', ['80', null], []],
    [{ oldPrice: 'B' }, '80;70;;', ['80', null], ['b']],
  ])('prices %j of %s - price, former price and period are %j', async (more, cells, expected, problems) => {
    const fields = { ...FIELDS, price: 'A', ...more }
    const text = `EAN;Titel;Adresse;A;B;C;D\n${GTIN};Arne 2;${PAGE};${cells}\n`
    const { products, rejects } = await readTable({ fields }, text)
    const offer = products[0]?.offers[0]
    const period = offer?.salePeriod
    const days = period === undefined || period === null ? [] : [toDay(period.startsMs), toDay(period.endsMs)]
    expect([offer?.price, offer?.oldPrice, ...days]).toEqual(expected)
    expect(rejects.map(({ field }) => field)).toEqual(problems)
  })

  it('required column missing - ImportError that names it; a missing optional one is ignored', async () => {
    const fields = { ...FIELDS, title: ['Titel', 'Name'], brand: 'Marke', image: 'Bild' }
    await expect(readTable({ fields }, `EAN;Preis;Adresse\n1;2;3\n`)).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
      message: 'feed has no column "titel" or "name" that the map names; its columns are ean, preis, adresse',
    })
    expect((await readTable({ fields }, 'EAN;Preis;Adresse;Name\n')).products).toEqual([])
  })

  it('names of JavaScript properties - as columns - have no special meaning', async () => {
    const fields = { ...FIELDS, title: '__proto__', brand: 'constructor', image: 'toString' }
    const head = 'EAN,__proto__,Preis,Adresse,constructor'
    const { products } = await readTable({ fields }, `${head}\n${GTIN},Arne 2,98,${PAGE},Sonderby\n`)
    expect(products).toMatchObject([{ title: 'Arne 2', brand: 'Sonderby', images: [] }])
  })
})

describe('JSON with a column map', () => {
  const MAP = {
    format: 'json',
    fields: {
      gtin: 'ids[1].ean',
      title: 'name',
      price: 'price.amount',
      currency: 'price.currency',
      pageLink: 'url',
      moreImages: 'pictures.src',
      availability: 'inStock',
    },
  }
  const ITEM = {
    ids: [{ ean: '1' }, { ean: Number(GTIN) }],
    name: ' Arne 2 ',
    price: { amount: 98.5, currency: 'EUR' },
    url: PAGE,
    pictures: [
      { src: 'https://img.example/1,https://img.example/a.jpg' },
      { src: 'https://img.example/2.jpg' },
      {},
    ],
    inStock: true,
  }
  const PRODUCT = {
    gtin: `0${GTIN}`,
    title: 'Arne 2',
    images: ['https://img.example/1,https://img.example/a.jpg', 'https://img.example/2.jpg'],
    offers: [{ price: '98.5', currency: 'EUR', availability: 'in_stock', url: PAGE }],
  }

  it.each([
    ['lines', {}, `${JSON.stringify(ITEM)}\n\n${JSON.stringify(ITEM)}`],
    ['an array', {}, `\ufeff ${JSON.stringify([ITEM, ITEM], null, 2)}\n`],
    [
      'an array within objects',
      { items: 'data.items' },
      JSON.stringify({ data: { n: 2, items: [ITEM, ITEM] } }),
    ],
    ['an array, although the map names a path', { items: 'data' }, JSON.stringify([ITEM, ITEM])],
  ])('%s - every product is read', async (_, more, text) => {
    for (const pieceBytes of [1, 7, 1_000]) {
      const map = parseFeedMap({ ...MAP, ...more })
      const { format, products, rejects } = await readFeedText(text, { map, pieceBytes })
      expect({ format, products, rejects }).toMatchObject({
        format: 'map',
        products: [PRODUCT, PRODUCT],
        rejects: [],
      })
    }
  })

  it('decimal comma - applies to texts; numbers are exact', async () => {
    const items = ['1.234,50', 1.234, 98].map((amount) => ({ ...ITEM, price: { amount, currency: 'EUR' } }))
    const { products } = await read({ ...MAP, decimal: ',' }, JSON.stringify(items))
    expect(products.map(({ offers }) => offers[0]?.price)).toEqual(['1234.50', '1.234', '98'])
  })

  it('items that are no objects, not JSON, or contain U+0000 - are rejected; the others are read', async () => {
    const text = `[7, {"a":}, ${JSON.stringify({ ...ITEM, name: 'a\u0000b' })}, ${JSON.stringify(ITEM)}, ]`
    const { products, rejects } = await read(MAP, text)
    expect(products).toHaveLength(1)
    expect(rejects.map(({ row, reason }) => [row, reason])).toEqual([
      [1, 'not an object'],
      [2, 'not JSON in UTF-8'],
      [3, 'contains the character U+0000'],
    ])
  })

  it('deep, huge and hostile items - only they are rejected', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const hostile = '{"__proto__":{"name":"x"},"constructor":{"prototype":{"name":"y"}}}'
    const huge = `{"name":"${'x'.repeat(9 * 1024 * 1024)}"}`
    const text = `[{"name":${deep}},${huge},${hostile},{"ids":[[[[["1"]]]]]},${JSON.stringify(ITEM)}]`
    const { products, rejects } = await read(MAP, text)
    expect(products).toMatchObject([PRODUCT])
    expect(rejects.map(({ row }) => row)).toEqual([1, 2, 3, 4])
  })

  it('nested offers - share the product', async () => {
    const fields = {
      gtin: 'ean',
      title: 'name',
      price: 'shops.list.price',
      pageLink: 'shops.list.url',
      merchant: 'shops.list.shop.name',
      currency: 'currency',
    }
    const map = { format: 'json', offers: 'shops.list', fields }
    const list = ['A', 'B'].map((name, index) => ({ price: 5 + index, url: PAGE, shop: { name } }))
    const { products } = await read(
      map,
      JSON.stringify({ ean: GTIN, name: 'T', currency: 'EUR', shops: { list } }),
    )
    expect(products[0]?.offers).toMatchObject([
      { merchant: 'A', price: '5', currency: 'EUR' },
      { merchant: 'B', price: '6', currency: 'EUR' },
    ])
  })
})

const toXml = (items: string): string => `<catalog><shop><offers>${items}</offers></shop></catalog>`
const toItem = (more: string, attributes = ''): string =>
  `<offer${attributes}><name>Arne <b>2</b></name><maker><title>Sonderby</title></maker><price unit="EUR">98.5</price><url>${PAGE}</url><pictures><picture src="https://img.example/1.jpg"/><picture src="https://img.example/2.jpg"/></pictures>${more}</offer>`

describe('XML with a column map', () => {
  const MAP = {
    format: 'xml',
    items: 'shop/offers/offer',
    fields: {
      gtin: ['@ean', 'param[@name="EAN"]'],
      title: 'name',
      brand: 'maker/title',
      price: 'price',
      currency: 'price/@unit',
      pageLink: 'url',
      moreImages: 'pictures/picture/@src',
    },
  }
  it('paths, attributes and conditions - are read', async () => {
    const text = toXml(
      `${toItem('', ` ean="${GTIN}"`)}${toItem(`<param name="size">L</param><param name="ean">${GTIN}</param>`)}`,
    )
    const product = {
      gtin: `0${GTIN}`,
      title: 'Arne 2',
      brand: 'Sonderby',
      images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
      offers: [{ price: '98.5', currency: 'EUR', url: PAGE }],
    }
    for (const pieceBytes of [1, 10_000]) {
      const { products, rejects } = await readFeedText(text, { map: parseFeedMap(MAP), pieceBytes })
      expect({ products, rejects }).toMatchObject({ products: [product, product], rejects: [] })
    }
  })

  it.each([
    ['elements within the price', '<price unit="EUR">100<i/>5.00</price>', 'there is no price'],
    ['several prices', '<price unit="EUR">1</price><price unit="EUR">2</price>', 'has several prices'],
    ['the price of another element', '<shipping><price unit="EUR">1</price></shipping>', 'there is no price'],
  ])('%s - the item is rejected', async (_, price, reason) => {
    const item = toItem('', ` ean="${GTIN}"`).replace('<price unit="EUR">98.5</price>', price)
    const { products, rejects } = await read(MAP, toXml(item))
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ row: 1, field: 'price', reason }])
  })

  it('other elements of the same name - are no items', async () => {
    await expect(read(MAP, `<catalog>${toItem('')}</catalog>`)).rejects.toThrow(
      'feed has no <shop/offers/offer>',
    )
  })

  it('names of JavaScript properties - have no special meaning', async () => {
    const fields = { ...MAP.fields, title: '__proto__', brand: 'constructor/name' }
    const more = '<__proto__>T</__proto__><constructor><toString>x</toString></constructor>'
    const { products } = await read({ ...MAP, fields }, toXml(toItem(more, ` ean="${GTIN}"`)))
    expect(products).toMatchObject([{ title: 'T', brand: null }])
  })
})
