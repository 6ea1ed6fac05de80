import { describe, expect, it } from 'vitest'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'

const GTIN = '9520001001024'
const PAGE = 'https://www.shop.example/arne'

const read = (map: unknown, text: string): Promise<FeedResult> =>
  readFeedText(text, { map: parseFeedMap(map) })

describe('map without a format', () => {
  const changes = { newConditions: ['B-Ware, wie neu'], decimal: ',', fields: { title: ['Titel', 'title'] } }

  it.each([
    ['table', `gtin,title,link,price,condition\n${GTIN},Arne,${PAGE},1.299 EUR,"b-ware, wie neu"\n`],
    [
      'XML',
      `<rss><channel><item><gtin>${GTIN}</gtin><title>Arne</title><link>${PAGE}</link><price>1.299 EUR</price><condition>B-Ware, wie neu</condition></item></channel></rss>`,
    ],
    [
      'JSON lines',
      `${JSON.stringify({ gtin: GTIN, title: 'Arne', link: PAGE, price: '1.299 EUR', condition: 'B-Ware, wie neu' })}\n`,
    ],
  ])('%s - changes the map of the detected format', async (_, text) => {
    const { format, products, rejects } = await read(changes, text)
    expect(rejects).toEqual([])
    expect(format).toMatch(/^google-/)
    expect(products).toMatchObject([{ gtin: `0${GTIN}`, title: 'Arne', offers: [{ price: '1299' }] }])
  })

  it('another column for one field - is read in place of that of the format', async () => {
    const table = `gtin,ean codes,title,link,price\n1,${GTIN},Arne,${PAGE},1.00 EUR\n`
    const { products } = await read({ fields: { gtin: 'EAN codes' } }, table)
    expect(products).toMatchObject([{ gtin: `0${GTIN}` }])
  })

  it('path of XML - is read, also in the format of Google', async () => {
    const xml = `<rss><channel><item><ids><ean>${GTIN}</ean></ids><title>Arne</title><link>${PAGE}</link><price>1.00 EUR</price></item></channel></rss>`
    for (const gtin of ['ids/ean', 'g:ids/g:ean']) {
      const { format, products } = await read({ fields: { gtin } }, xml)
      expect([format, products]).toMatchObject(['google-xml', [{ gtin: `0${GTIN}`, title: 'Arne' }]])
    }
  })

  it.each([
    ['x[[', '<rss><channel><item/></channel></rss>'],
    ['a..b', `${JSON.stringify({ link: PAGE, price: '1.00 EUR' })}\n`],
  ])('path %j that the format does not have - UsageError', async (gtin, text) => {
    await expect(read({ fields: { gtin } }, text)).rejects.toThrow('"fields.gtin" of the column map accepts')
  })

  it('columns that no format has - are known by the map', async () => {
    const map = { fields: { gtin: 'Kennung', title: 'Titel', price: 'Preis', pageLink: 'Adresse' } }
    const { products } = await read(map, `Kennung;Titel;Preis;Adresse\n${GTIN};Arne;1.00 EUR;${PAGE}\n`)
    expect(products).toMatchObject([{ gtin: `0${GTIN}`, title: 'Arne' }])
  })

  it('JSON of this catalog - is refused, because it needs no map', async () => {
    const offer = { merchant: { name: 'Kopje' }, price: '1.00', currency: 'EUR', affiliate_url: PAGE }
    const product = JSON.stringify({ gtin: GTIN, title: 'Arne', offers: [offer] })
    await expect(read(changes, `${product}\n`)).rejects.toThrow(
      'in the format ndjson, which needs no column map',
    )
  })

  it.each<[unknown, string]>([
    [{}, 'the column map is empty'],
    [
      { delimiter: ';' },
      'unknown key "delimiter"; it accepts format, encoding, decimal, newConditions, fields',
    ],
    [{ fields: { titel: 'a' } }, 'unknown key "fields.titel"; it accepts gtin, title'],
  ])('%j - is invalid: %s', (json, message) => {
    expect(() => parseFeedMap(json)).toThrow(message)
  })
})
