import { describe, expect, it } from 'vitest'
import { readFeedText } from './read-feed-text.ts'

const HEAD = 'gtin,title,link,price'
const row = (gtin: string, title: string): string =>
  `${gtin.padStart(14, '0')},${title},https://shop.example/p,1.00 EUR`

describe('table', () => {
  it('split anywhere, quotes and line breaks inside - the same rows', async () => {
    const text = `\ufeff${HEAD}\r\n${row('17', '"a ""b"", \r\n€ c"')}\r\n\n${row('24', '5" tablet')}`
    for (const pieceBytes of [1, 2, 3, 7, 1_000]) {
      const { products, rejects } = await readFeedText(text, { pieceBytes })
      expect(products.map(({ title }) => title)).toEqual(['a "b", € c', '5" tablet'])
      expect(rejects).toEqual([])
    }
  })

  it.each([',', ';', '|', '\t'])('delimiter %j - in Google and Awin tables - is read', async (delimiter) => {
    const google = [HEAD, row('17', 'T')].join('\n').replaceAll(',', delimiter)
    const awin = google.replace('title', 'product_name').replace('link', 'deep_link')
    expect((await readFeedText(google)).products).toHaveLength(1)
    expect(await readFeedText(awin)).toMatchObject({
      format: 'awin-csv',
      products: [{ gtin: '00000000000017' }],
    })
  })

  it.each(['\r', '\r\n', '\n'])(
    'line end %j, and the first line that Excel writes - are read',
    async (end) => {
      const lines = ['sep=;', HEAD, row('17', 'A'), row('24', 'B'), row('18', 'C')]
      const text = lines.join(end).replaceAll(',', ';')
      for (const content of [text, text.slice(5 + end.length)]) {
        const { products, rejects } = await readFeedText(content, { pieceBytes: 3 })
        expect(products.map(({ title }) => title)).toEqual(['A', 'B'])
        expect(rejects).toMatchObject([{ field: 'gtin', reason: 'the check digit is wrong' }])
      }
    },
  )

  it('format - given - overrides the detection', async () => {
    const text = `${HEAD}\n${row('17', 'T')}`
    expect(await readFeedText(text, { format: 'google-csv' })).toMatchObject({ products: [{ title: 'T' }] })
    await expect(readFeedText(text, { format: 'google-tsv' })).rejects.toThrow(
      'its columns are gtin,title,link,price',
    )
  })

  it('header - spelling variants - are recognized; of columns with the same name the first non-empty one is used', async () => {
    const text =
      'G:GTIN,"Title ",title,LINK,Price,Image Link\n00000000000017,,Second,https://a.example/,1 EUR,https://i.example/1'
    expect((await readFeedText(text)).products).toMatchObject([
      { title: 'Second', images: ['https://i.example/1'] },
    ])
  })

  it.each([
    ['title,link,price\nA,https://a.example/,1 EUR', '"gtin" or "ean"', 'title, link, price'],
    ['gtin,title,link\n00000000000017,T,https://a.example/', '"price" or "sale_price"', 'gtin, title, link'],
    ['GTIN;Titel;Link;Preis\n1;T;L;1', '"title"', 'gtin, titel, link, preis'],
  ])(
    '%j - ImportError that names the missing column and those that are there',
    async (text, missing, found) => {
      await expect(readFeedText(text)).rejects.toThrow(
        new RegExp(`has no column ${missing}.* needs; its columns are ${found}\\. .*--map`),
      )
    },
  )

  it.each(['# Required | a "comment', 'Feed of 2026-11-28', '"info, with a comma"'])(
    'line %j before the header - is skipped, and rows keep their numbers',
    async (line) => {
      const { products, rejects } = await readFeedText(
        `${line}\n${HEAD}\n${row('17', 'T')}\n${row('18', 'T')}\n`,
      )
      expect(products).toMatchObject([{ title: 'T' }])
      expect(rejects).toMatchObject([{ row: 4 }])
    },
  )

  it('row - too few or too many cells - a reject with the unchanged row, the others stay', async () => {
    const text = `${HEAD}\n17,"T"\n${row('24', 'T')}\n${row('17', 'T')},more\n`
    const { products, rejects } = await readFeedText(text)
    expect(products).toMatchObject([{ gtin: '00000000000024' }])
    expect(rejects).toEqual([
      { row: 2, field: 'row', reason: 'has 2 cells, the header has 4', raw: '17,"T"' },
      { row: 4, field: 'row', reason: 'has 5 cells, the header has 4', raw: `${row('17', 'T')},more` },
    ])
  })

  it('row - not UTF-8, or with U+0000 - one reject, the others stay', async () => {
    const bad = row('17', 'T\u00e9')
    const text = Buffer.concat([
      Buffer.from(`${HEAD}\n${bad}\n`, 'latin1'),
      Buffer.from(`${row('17', 'a\u0000b')}\n${row('24', 'Größe')}\n`),
    ])
    const { products, rejects } = await readFeedText(text)
    expect(products).toMatchObject([{ title: 'Größe' }])
    expect(rejects.map(({ row, reason }) => [row, reason])).toEqual([
      [2, 'has bytes that cannot be decoded'],
      [3, 'contains the character U+0000'],
    ])
  })

  it('raw of a reject - of a long row - is truncated', async () => {
    const { rejects } = await readFeedText(`${HEAD}\n${row('18', 'x'.repeat(10_000))}`)
    expect(rejects[0]?.raw).toHaveLength(2_000)
  })

  it('UTF-16 - either byte order - is read', async () => {
    const bytes = Buffer.from(`\ufeff${HEAD}\r\n${row('17', 'Größe 5')}\r\n`, 'utf16le')
    expect((await readFeedText(bytes, { pieceBytes: 3 })).products).toMatchObject([{ title: 'Größe 5' }])
    expect((await readFeedText(Buffer.from(bytes).swap16())).products).toMatchObject([{ title: 'Größe 5' }])
  })

  it('quote - not closed - ImportError', async () => {
    await expect(readFeedText(`${HEAD}\n${row('17', '"T')}\n${row('24', 'T')}\n`)).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
      message: expect.stringContaining('a quoted cell is not closed'),
    })
  })

  it('quotes - around a part of a cell - rejected between commas, ordinary characters between tabs', async () => {
    const rows = [HEAD, row('17', '"Arne" 2 "x"'), row('24', 'T "x"')]
    const { products, rejects } = await readFeedText(rows.join('\n'))
    expect(products.map(({ title }) => title)).toEqual(['T "x"'])
    expect(rejects).toMatchObject([{ row: 2, reason: 'a cell begins with a quote that is not closed' }])
    const tabs = await readFeedText(rows.join('\n').replaceAll(',', '\t'))
    expect(tabs.products.map(({ title }) => title)).toEqual(['"Arne" 2 "x"', 'T "x"'])
  })

  it('header - 10,000 columns - ImportError', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `c${index}`)
    await expect(readFeedText(`${HEAD},${names.join(',')}\n`)).rejects.toThrow(
      'has 10004 columns; at most 1000',
    )
  })
})
