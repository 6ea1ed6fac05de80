import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ImportError } from '../../../src/errors.ts'
import { type FeedResult, readFeedText } from './read-feed-text.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

const NAMES = ['gtin', 'title', 'link', 'price']

/** GTINs of eight digits with valid check digits. */
const GTINS = ['10000007', '10000014', '10000021', '10000038', '10000045', '10000052']

const createRow = (index: number, title = `Title ${index}`): string[] => [
  GTINS[index] ?? '',
  title,
  `https://shop.example/${index}`,
  `${index + 1}.00 EUR`,
]

const toTable = (rows: readonly (readonly string[])[], delimiter: string): string =>
  `${[NAMES, ...rows].map((cells) => cells.join(delimiter)).join('\n')}\n`

/** Return the price and link of each product by its GTIN. */
const listOffers = ({ products }: FeedResult): Record<string, string> =>
  Object.fromEntries(
    products.map(({ gtin, offers: [offer] }) => [gtin.slice(6), `${offer?.price} ${offer?.url}`]),
  )

const OFFERS = Object.fromEntries(
  GTINS.map((gtin, index) => [gtin, `${index + 1}.00 https://shop.example/${index}`]),
)

async function readOrFail(text: string): Promise<FeedResult | undefined> {
  try {
    return await readFeedText(text)
  } catch (error) {
    if (error instanceof ImportError) return undefined
    throw error
  }
}

describe('unclosed quote', () => {
  const pairs = [
    ['two at the beginnings of cells', '"Best title', '"Other title'],
    ['an inch mark later', '"Best title', 'Monitor 24"'],
  ] as const

  it.each(pairs)('%s, comma-separated - both rows are rejected, the others stay', async (_, one, other) => {
    const rows = [createRow(0), createRow(1, one), createRow(2, other), createRow(3)]
    const result = await readFeedText(toTable(rows, ','))
    expect(listOffers(result)).toEqual({ 10000007: OFFERS['10000007'], 10000038: OFFERS['10000038'] })
    expect(result.rejects).toMatchObject([
      { row: 3, field: 'row', reason: expect.stringContaining('lines 3 to 4 of the file are left out') },
    ])
  })

  it.each(pairs)('%s - between tabs - every row is unchanged', async (_, one, other) => {
    const result = await readFeedText(toTable([createRow(0), createRow(1, one), createRow(2, other)], '\t'))
    expect(result.products.map(({ title }) => title)).toEqual(['Title 0', one, other])
    expect(listOffers(result)).toEqual(Object.fromEntries(Object.entries(OFFERS).slice(0, 3)))
  })

  it('quoted cells - between tabs - the quotes are removed', async () => {
    const result = await readFeedText(toTable([createRow(0, '"A ""b"", c"'), createRow(1, '"')], '\t'))
    expect(result.products.map(({ title }) => title)).toEqual(['A "b", c', '"'])
  })

  it('quoted line breaks - between commas - are text, like quoted commas and quotes', async () => {
    const result = await readFeedText(toTable([createRow(0, '"A, ""b""\n\r\nc, d"'), createRow(1)], ','))
    expect(result.products.map(({ title }) => title)).toEqual(['A, "b" c, d', 'Title 1'])
    expect(result.rejects).toEqual([])
  })

  it('header with an unclosed quote - ImportError with the reason', async () => {
    const text = toTable([createRow(0, '"A"')], ',').replace('title', '"title')
    await expect(readFeedText(text)).rejects.toThrow('in its first line a cell begins with a quote')
  })

  it.each([',', ';', '|', '\t'])(
    'quotes anywhere, delimiter %j - a product has the price and the link of its own row, or is rejected',
    async (delimiter) => {
      const clean = toTable(
        GTINS.map((_, index) => createRow(index, index % 2 === 0 ? `Title ${index}` : `"Title, ${index}"`)),
        delimiter,
      )
      const start = clean.indexOf('\n') + 1
      const anywhere = integer({ min: start, max: clean.length })
      const borders = [...clean.slice(start).matchAll(/[,;|\t\n]/g)].flatMap(({ index }) => [
        start + index,
        start + index + 1,
      ])
      const positions = array(
        record({ at: oneof(anywhere, constantFrom(...borders)), quote: constantFrom('"', '""') }),
        { maxLength: 8 },
      )
      await assert(
        asyncProperty(positions, async (selected) => {
          let text = clean
          for (const { at, quote } of selected.toSorted((a, b) => b.at - a.at))
            text = text.slice(0, at) + quote + text.slice(at)
          const result = await readOrFail(text)
          for (const { gtin, offers } of result?.products ?? []) {
            expect(`${offers[0]?.price} ${offers[0]?.url}`).toBe(OFFERS[gtin.slice(6)])
          }
        }),
        { numRuns: toRunCount(500) },
      )
    },
  )
})
