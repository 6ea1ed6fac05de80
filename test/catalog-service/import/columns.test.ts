import { describe, expect, it } from 'vitest'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { detectFormat, parseFeedFormat, parseTableHead } from '../../../src/catalog-service/import/formats.ts'
import { toColumnName } from '../../../src/catalog-service/import/feed-row.ts'
import { readFeedText } from './read-feed-text.ts'

describe('column names', () => {
  it.each(['image_link', 'Image Link', ' g:image_link ', 'G:IMAGE  LINK', 'image__link'])(
    '%j - is image_link',
    (text) => {
      expect(toColumnName(text)).toBe('image_link')
    },
  )

  it.each([',', ';', '|', '\t'])('delimiter %j - is detected, quoted or not', (delimiter) => {
    const names = ['gtin', 'title', 'price', 'note, and more; of | it']
    expect(parseTableHead(names.slice(0, 3).join(delimiter)).delimiter).toBe(delimiter)
    expect(parseTableHead(names.map((name) => `"${name}"`).join(delimiter)).delimiter).toBe(delimiter)
  })
})

describe('columns that a map names', () => {
  it('names in other scripts than Latin - are those of the table', async () => {
    const map = parseFeedMap({
      format: 'table',
      columns: ['ean', 'название', 'цена', 'ссылка'],
      fields: {
        gtin: 'ean',
        title: 'название',
        price: 'цена',
        pageLink: 'ссылка',
        currency: { value: 'EUR' },
      },
    })
    const row = '9520001001024;Arne 2;98.00;https://www.shop.example/arne\n'
    const { products, rejects } = await readFeedText(row, { map })
    expect([products[0]?.title, rejects]).toEqual(['Arne 2', []])
  })
})

describe('format', () => {
  it.each([
    ['{"gtin":"17"}', 'ndjson'],
    ['\ufeff\n {"gtin":"17"}', 'ndjson'],
    ['not JSON\n{"gtin":"17"}', 'ndjson'],
    [' [{"gtin":"17"}]', 'json'],
    ['{"items": [{"gtin":"17"}]}', 'json'],
    ['{"next_cursor":null,"items":[]}', 'json'],
    ['<?xml version="1.0"?><rss/>', 'google-xml'],
    ['\ufeff \n<feed/>', 'google-xml'],
    ['id\ttitle\tlink', 'google-tsv'],
    ['\ufeffid,title,link', 'google-csv'],
    ['\n"ID";"Title";"Link"', 'google-csv'],
    ['aw_deep_link,product_name', 'awin-csv'],
    ['title,link', 'google-csv'],
    ['product_name,price', 'awin-csv'],
    ['product_id|product_name|price', 'awin-csv'],
    ['product_id\tproduct_name\tprice\tdeep_link', 'awin-csv'],
  ])('%j - is %s', (text, format) => {
    expect(detectFormat(text.replace(/^\ufeff/, ''), 'feed')).toBe(format)
  })

  it.each(['', '\n\n', 'hello', 'title', 'product_name,shoe', 'a,b,c\n1,2,3', '%PDF-1.7'])(
    '%j - ImportError that lists the expected formats',
    (text) => {
      const detect = (): string => detectFormat(text, 'a/feed')
      expect(detect).toThrow(
        /^the format of a\/feed is not recognised: .*gtin, title.*aw_deep_link.*Set --format to one of ndjson/s,
      )
    },
  )

  it.each([
    ['504b0304', 'zip'],
    ['425a6839', 'bzip2'],
    ['fd377a585a00', 'xz'],
    ['28b52ffd', 'zstd'],
    ['377abcaf271c', '7-zip'],
  ])('archive %s - ImportError: unpack it first', async (hex, name) => {
    await expect(readFeedText(Buffer.from(hex, 'hex'))).rejects.toThrow(
      `feed is a ${name} file: unpack it first`,
    )
  })

  it('unknown format name - UsageError that lists all names', () => {
    expect(parseFeedFormat('awin-csv')).toBe('awin-csv')
    expect(() => parseFeedFormat('csv')).toThrow(
      'ndjson, json, google-xml, google-tsv, google-csv, google-json, awin-csv, awin-json, awin-xml, cj, impact, rakuten',
    )
  })
})
