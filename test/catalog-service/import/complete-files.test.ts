import { assert, asyncProperty, integer } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ImportError } from '../../../src/errors.ts'
import { readJsonArray } from '../../../src/catalog-service/import/json-items.ts'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import type { FeedProduct } from '../../../src/catalog-service/import/feed-row.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'

const TABLE_HEAD = 'gtin,title,link,availability,price\n'
const PRODUCTS = ['9520001001024', '96385074', '9780306406157'].map((gtin, index) => ({
  gtin,
  title: `Größe ${index}`,
  offers: [
    {
      merchant: { name: 'A' },
      price: `1${index}.50`,
      currency: 'EUR',
      availability: 'in_stock',
      affiliate_url: `https://a.example/${index}`,
    },
  ],
}))

const toRow = (cells: readonly string[], delimiter = ','): string => `${cells.join(delimiter)}\n`
const ROWS = PRODUCTS.map(({ gtin, title, offers }) => [
  gtin,
  title,
  offers[0]?.affiliate_url ?? '',
  'in_stock',
  `${offers[0]?.price} EUR`,
])
const TABLE = TABLE_HEAD + ROWS.map((row) => toRow(row)).join('')
const TITLE_LAST = ROWS.map(([gtin = '', title = '', link = '', stock = '', price = '']) =>
  toRow([price, gtin, link, stock, `"${title}, ""x"""`]),
)
const LINES = PRODUCTS.map((product) => `${JSON.stringify(product)}\n`).join('')
const XML_ITEMS = ROWS.map(
  ([gtin, title, link, , price]) =>
    `<item><gtin>${gtin}</gtin><title>${title}</title><link>${link}</link><price>${price}</price></item>`,
).join('')
const RAKUTEN_ROWS = ROWS.map(([gtin = '', title = '', link = '', stock = '', price = '']) => {
  const cells = Array.from({ length: 26 }, () => '')
  Object.assign(cells, { 1: title, 5: link, 13: price.split(' ')[0], 22: stock, 23: gtin, 25: 'EUR' })
  return toRow(cells, '|')
})
const XML_MAP = parseFeedMap({
  format: 'xml',
  items: 'rss/item',
  fields: { gtin: 'gtin', title: 'title', price: 'price', pageLink: 'link' },
})

type Feed = Readonly<{ text: string; isPlain?: true; map?: typeof XML_MAP }>

/** `isPlain`: the file may end after any row without anything that shows it. */
const FEEDS: Readonly<Record<string, Feed>> = {
  'table, price last': { text: TABLE, isPlain: true },
  'table with tabs': { text: TABLE.replaceAll(',', '\t'), isPlain: true },
  'table, quoted title last': {
    text: `price,gtin,link,availability,title\n${TITLE_LAST.join('')}`,
    isPlain: true,
  },
  'JSON lines': { text: LINES, isPlain: true },
  'JSON array': { text: JSON.stringify(PRODUCTS, null, 1) },
  'JSON object': { text: JSON.stringify({ items: PRODUCTS, next_cursor: null }) },
  XML: { text: `<rss><channel>${XML_ITEMS}</channel></rss>` },
  'XML by a map': { text: `<rss>${XML_ITEMS}</rss>`, map: XML_MAP },
  rakuten: { text: `HDR|1|A|09/03/2026 00:02:32\n${RAKUTEN_ROWS.join('')}TRL|3\n` },
}

async function readCut(bytes: Buffer, map: Feed['map']): Promise<readonly FeedProduct[] | undefined> {
  try {
    return (await readFeedText(bytes, { map, format: undefined })).products
  } catch (error) {
    if (error instanceof ImportError) return undefined
    throw error
  }
}

/**
 * Whether the rows are unchanged. Only in the last cell may a file of rows be cut without a sign. Of others, only a last line end, and
 * the count in Rakuten's last line, may be missing.
 */
function isPrefix(products: readonly FeedProduct[], complete: readonly FeedProduct[], cut: string): boolean {
  const exact = cut.endsWith('\n') ? products : products.slice(0, -1)
  return JSON.stringify(exact) === JSON.stringify(complete.slice(0, exact.length))
}

describe('file that ends early', () => {
  it.each(Object.keys(FEEDS))('%s - cut at any byte - ImportError, or unchanged rows', async (name) => {
    const { text = '', isPlain = false, map } = FEEDS[name] ?? {}
    const bytes = Buffer.from(text)
    const { products: complete } = await readFeedText(bytes, { map })
    expect(complete).toHaveLength(3)
    await assert(
      asyncProperty(integer({ min: 0, max: bytes.length - 1 }), async (length) => {
        const cut = bytes.subarray(0, length)
        const products = await readCut(cut, map)
        if (products === undefined) return true
        return isPlain
          ? isPrefix(products, complete, cut.toString())
          : JSON.stringify(products) === JSON.stringify(complete)
      }),
      { numRuns: toRunCount(300) },
    )
  })

  it.each([
    ['table', `${TABLE}9520001001024,T`, 'feed ends in the middle of a row: it is not complete'],
    ['table in quotes', `${TABLE}9520001001024,"T`, 'a quoted cell is not closed'],
    ['JSON lines', LINES.slice(0, -5), 'feed ends in the middle of line 3: it is not complete'],
    [
      'JSON array',
      JSON.stringify(PRODUCTS).slice(0, -1),
      'feed ends in the middle of its JSON: it is not complete',
    ],
    ['JSON object', '{"items":[]', 'feed ends in the middle of its JSON: it is not complete'],
  ])('%s - ImportError', async (_, text, message) => {
    const read = readFeedText(text)
    await expect(read).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
    await expect(readFeedText(text)).rejects.toThrow(message)
  })

  it('last row without a line end, but with all cells - is read', async () => {
    expect((await readFeedText(TABLE.trimEnd())).products).toHaveLength(3)
    expect((await readFeedText(LINES.trimEnd())).products).toHaveLength(3)
  })

  it('last line that is no JSON object - is rejected alone', async () => {
    const { products, rejects } = await readFeedText(`${LINES}3 products`)
    expect([products.length, rejects.length]).toEqual([3, 1])
  })

  it.each([TABLE_HEAD, '[]', '{"items": []}', '[ \n ]'])(
    '%j - has no rows, and is no error',
    async (text) => {
      expect(await readFeedText(text)).toMatchObject({ products: [], rejects: [] })
    },
  )
})

describe('file that is no feed', () => {
  it.each(['', ' \n\t\r\n', '\ufeff', '\ufeff\n'])('%j - is empty', async (text) => {
    await expect(readFeedText(text)).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
      message: 'feed is empty',
    })
  })

  it.each([
    ['<!DOCTYPE html><html><head><title>Sign &amp; in</title>', '"Sign & in"'],
    ['\n<HTML lang="en"><body>Not found', 'is the address complete, with its key?'],
    ['<!-- generated --><!doctype html>', 'is the address complete'],
    ['<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"/>', 'is the address complete'],
  ])('%j - is a web page, whatever the format', async (text, detail) => {
    const message = `feed is a web page, not a feed: ${detail}`
    await expect(readFeedText(text)).rejects.toThrow(message)
    await expect(readFeedText(text, { format: 'awin-csv' })).rejects.toThrow(message)
  })

  it('HTML in a feed - is no web page', async () => {
    const xml = `<rss><item><gtin>9520001001024</gtin><title>&lt;html&gt;x</title><link>https://a.example/</link><price>1 EUR</price></item></rss>`
    expect((await readFeedText(xml)).products).toHaveLength(1)
  })
})

describe('products in one JSON document', () => {
  it.each([
    ['array', JSON.stringify(PRODUCTS)],
    ['object', `{"items":${JSON.stringify(PRODUCTS)},"next_cursor":null}`],
  ])('%s - the products are those of JSON lines', async (_, text) => {
    const lines = await readFeedText(LINES)
    for (const pieceBytes of [1, 13, 100_000]) {
      const feed: FeedResult = await readFeedText(text, { pieceBytes })
      expect(feed).toMatchObject({ format: 'json', products: lines.products, rejects: [] })
    }
  })

  it.each([
    ['[1]]', [], 'has text after the end of its JSON'],
    ['[1] x', [], 'has text after the end of its JSON'],
    ['{"items":[1]}{"items":[2]}', ['items'], 'has text after the end of its JSON'],
    ['[1}', [], 'is not valid JSON'],
    ['}', [], 'is not valid JSON'],
    ['{"a":{"items":[1]}}', ['items'], 'has no JSON array at "items"'],
    ['{"items":{"items":[1]}}', ['items'], 'has no JSON array at "items"'],
    ['{"x":"items","y":[1]}', ['items'], 'has no JSON array at "items"'],
    ['{"items":"[1]"}', ['items'], 'has no JSON array at "items"'],
    ['{"items":[1', ['items'], 'ends in the middle of its JSON'],
    ['{"items', ['items'], 'ends in the middle of its JSON'],
    ['"a"', [], 'has no JSON array'],
  ])('%j at %j - ImportError: %s', async (text, path, message) => {
    await expect(collectItems(text, path, 1)).rejects.toThrow(message)
  })

  it.each([
    ['[1,"a]",{"b":"}\\""},[2,[3]]]', [], ['1', '"a]"', '{"b":"}\\""}', '[2,[3]]']],
    [' [ 1 , 2 , ] ', [], ['1', '2']],
    ['{"a":[0],"b":{"items":[0]},"items":[1,{"items":[2]}],"c":[3]}', ['items'], ['1', '{"items":[2]}']],
    ['{"data":{"items":0},"data":{"x":{"items":[0]},"items":[1]}}', ['data', 'items'], ['1']],
    ['{"items":{"data":[0]},"data":{"items":[1,2]}}', ['data', 'items'], ['1', '2']],
  ])('%j at %j - its items are %j', async (text, path, items) => {
    for (const pieceBytes of [1, 3, 1_000]) expect(await collectItems(text, path, pieceBytes)).toEqual(items)
  })
})

async function collectItems(text: string, path: readonly string[], pieceBytes: number): Promise<string[]> {
  const items: string[] = []
  const chunks = async function* (): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  for await (const batch of readJsonArray(chunks(), 'feed', path))
    items.push(...batch.map(({ bytes }) => bytes.toString().trim()))
  return items
}
