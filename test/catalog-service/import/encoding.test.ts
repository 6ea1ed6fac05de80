import iconv from 'iconv-lite'
import { describe, expect, it } from 'vitest'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { readFeedText } from './read-feed-text.ts'

const HEAD = 'gtin,title,link,price\n'
const TITLE = 'Größe Café'
const toRow = (title: string): string => `9520001001024,${title},https://shop.example/,1 EUR\n`
const TEXT = HEAD + toRow(TITLE)
const MAP = {
  format: 'table',
  fields: { gtin: 'gtin', title: 'title', price: 'price', pageLink: 'link' },
}

const toLatin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const toJson = (title: string): string =>
  JSON.stringify({
    gtin: '9520001001024',
    title,
    offers: [{ merchant: { name: 'A' }, price: '1', currency: 'EUR', affiliate_url: 'https://a.example/' }],
  })

describe('encoding', () => {
  it.each([
    ['UTF-8', Buffer.from(TEXT), {}, 'utf-8'],
    [
      'UTF-8 with a byte order mark and another charset',
      Buffer.from(`\ufeff${TEXT}`),
      { charset: 'latin1' },
      'utf-8',
    ],
    ['Latin-1 that is not declared', toLatin1(TEXT), {}, 'windows-1252'],
    ['Latin-1 of JSON lines', toLatin1(`${toJson(TITLE)}\n`), {}, 'windows-1252'],
    ['Latin-1 of a JSON array', toLatin1(`[${toJson(TITLE)}]`), {}, 'windows-1252'],
    ['Latin-1 by the HTTP response', toLatin1(TEXT), { charset: 'ISO-8859-1' }, 'windows-1252'],
    ['ISO 8859-15 by the HTTP response', toLatin1(TEXT), { charset: 'iso-8859-15' }, 'iso-8859-15'],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le'), {}, 'utf-16le'],
    ['UTF-16, big-endian, with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), {}, 'utf-16be'],
    ['UTF-16 by the HTTP response', Buffer.from(TEXT, 'utf16le'), { charset: 'UTF-16' }, 'utf-16le'],
    [
      'column map before the HTTP response',
      toLatin1(TEXT),
      { charset: 'utf-8', map: parseFeedMap({ ...MAP, encoding: 'latin1' }) },
      'windows-1252',
    ],
  ])('%s - is decoded', async (_, bytes, options, encoding) => {
    for (const pieceBytes of [1, 100_000]) {
      const feed = await readFeedText(bytes, { ...options, pieceBytes })
      expect(feed).toMatchObject({ encoding, products: [{ title: TITLE }], rejects: [] })
    }
  })

  it('characters of windows-1252 that Latin-1 lacks - are decoded', async () => {
    const { products } = await readFeedText(toLatin1(`${HEAD}${toRow('5\u0080 \u0093Best\u0094')}`))
    expect(products[0]?.title).toBe('5€ “Best”')
  })

  it.each([
    ['windows-1252', 0x9d],
    ['windows-1253', 0xd2],
  ])('byte that %s does not have - the row is rejected', async (encoding, byte) => {
    const [before = '', after = ''] = `${HEAD}${toRow('A|B')}`.split('|')
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from([byte]), Buffer.from(after)])
    const { products, rejects } = await readFeedText(bytes, { encoding })
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ row: 2, field: 'row' }])
  })

  it('XML - the declaration precedes the HTTP response, which precedes UTF-8', async () => {
    const item = `<rss><item><gtin>9520001001024</gtin><title>${TITLE}</title><link>https://a.example/</link><price>1 EUR</price></item></rss>`
    const declared = `<?xml version="1.0" encoding="iso-8859-1"?>${item}`
    const feed = await readFeedText(toLatin1(declared), { charset: 'utf-8' })
    expect(feed).toMatchObject({ encoding: 'windows-1252', products: [{ title: TITLE }] })
    expect((await readFeedText(toLatin1(item), { charset: 'latin1' })).products).toMatchObject([
      { title: TITLE },
    ])
    const guessed = await readFeedText(toLatin1(item))
    expect(guessed).toMatchObject({ encoding: 'windows-1252', products: [{ title: TITLE }] })
  })

  it('invalid bytes in UTF-8 - reject their rows, and the other rows stay UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from(TEXT), toLatin1(toRow('Größe')), Buffer.from(toRow('naïve'))])
    const { encoding, products, rejects } = await readFeedText(bytes)
    expect(encoding).toBe('utf-8')
    expect(products.map(({ title }) => title)).toEqual([TITLE, 'naïve'])
    expect(rejects).toMatchObject([{ row: 3, reason: 'has bytes that cannot be decoded' }])
  })

  it('declared UTF-8, with a few other bytes - their rows are rejected', async () => {
    const { products, rejects } = await readFeedText(toLatin1(TEXT), { charset: 'utf-8' })
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ reason: 'has bytes that cannot be decoded' }])
  })

  it('declared UTF-8, with nothing but other bytes - is recognised by its letters', async () => {
    const feed = await readFeedText(toLatin1(HEAD + toRow(TITLE).repeat(20)), { charset: 'utf-8' })
    expect(feed).toMatchObject({ encoding: 'windows-1252', isEncodingGuessed: true, rejects: [] })
  })

  it.each([
    ['iso-8859-1, but UTF-8 with a damaged row', 'iso-8859-1', 1, 12],
    ['nothing, mixed from two encodings', undefined, 6, 6],
  ])('declared %s - only the damaged rows are rejected', async (_, charset, damaged, good) => {
    const bytes = Buffer.concat([
      Buffer.from(HEAD + toRow(TITLE).repeat(good)),
      toLatin1(toRow('Größe').repeat(damaged)),
    ])
    const { encoding, products, rejects } = await readFeedText(bytes, { charset })
    expect([encoding, products.length, rejects.length]).toEqual(['utf-8', good, damaged])
  })

  it('declared iso-8859-1, but Polish - is recognised by its letters', async () => {
    const bytes = iconv.encode(HEAD + toRow('Łódź żółta') + toRow('Młynek do kawy'), 'windows-1250')
    const feed = await readFeedText(bytes, { charset: 'iso-8859-1' })
    expect(feed).toMatchObject({ encoding: 'windows-1250', isEncodingGuessed: true })
  })

  it('declared gb2312, with a character that is valid UTF-8 by chance - is GB 2312', async () => {
    const bytes = iconv.encode(HEAD + toRow('卤'), 'gb2312')
    expect((await readFeedText(bytes, { charset: 'gb2312' })).products).toMatchObject([{ title: '卤' }])
  })

  it('first bytes end within a character - the file is UTF-8', async () => {
    const text = TEXT + toRow('ä'.repeat(70_000))
    const { encoding } = await readFeedText(text, { pieceBytes: text.indexOf('ä') * 2 + 65_537 })
    expect(encoding).toBe('utf-8')
  })

  it.each([
    ['unknown', 'utf8mb4', toLatin1(TEXT), 'windows-1252'],
    ['wrong, of two bytes', 'utf-16', toLatin1(TEXT), 'windows-1252'],
    ['wrong, of one byte', 'iso-8859-1', Buffer.from(TEXT), 'utf-8'],
    ['wrong, of another country', 'shift_jis', Buffer.from(TEXT), 'utf-8'],
  ])('%s charset of the HTTP response - is ignored', async (_, charset, bytes, encoding) => {
    expect(await readFeedText(bytes, { charset })).toMatchObject({ encoding, products: [{ title: TITLE }] })
  })

  it('letters after a long ASCII beginning - tell the encoding', async () => {
    const ascii = toRow('Arne').repeat(2_000)
    for (const [bytes, encoding] of [
      [Buffer.from(HEAD + ascii + toRow(TITLE)), 'utf-8'],
      [toLatin1(HEAD + ascii + toRow(TITLE)), 'windows-1252'],
    ] as const) {
      const feed = await readFeedText(bytes, { charset: 'us-ascii', pieceBytes: 10_000 })
      expect([feed.encoding, feed.products.at(-1)?.title]).toEqual([encoding, TITLE])
    }
  })

  it('encoding set for the feed - precedes all but a byte order mark', async () => {
    const polish = iconv.encode(HEAD + toRow('Łódź żółta'), 'windows-1250')
    const feed = await readFeedText(polish, { encoding: 'windows-1250', charset: 'utf-8' })
    expect(feed).toMatchObject({ encoding: 'windows-1250', products: [{ title: 'Łódź żółta' }] })
  })
})
