import * as fc from 'fast-check'
import iconv from 'iconv-lite'
import { describe, expect, it } from 'vitest'
import { ImportError } from '../../../src/errors.ts'
import { IS_FULL, toRunCount } from '../../helpers/property-runs.ts'
import { readFeedText } from './read-feed-text.ts'

/** Each value of an item repeats its number, so that a few changed bytes do not make it that of another item. */
const ITEMS = ['1111111', '2222222', '3333333', '4444444', '5555555'].map((digits, index) => ({
  digits,
  gtin: `00${['952000100102', '952000100103', '952000100104', '952000100105', '952000100106'][index]}${[4, 1, 8, 5, 2][index]}`.slice(
    -13,
  ),
  title: `Größe ${digits} & Ärger`,
  link: `https://kopje.example/${digits}?a=1&b=${digits}`,
  price: `${digits}.00 EUR`,
}))

const PRODUCTS = ITEMS.map(({ gtin, title, link, price }) => ({ gtin, title, link, price }))

const toXmlText = (text: string): string => text.replaceAll('&', '&amp;')

const FEEDS: Readonly<Record<string, string>> = {
  table: [
    'gtin,title,link,price',
    ...ITEMS.map(({ gtin, title, link, price }) => `${gtin},"${title}",${link},${price}`),
    '',
  ].join('\n'),
  XML: `<?xml version="1.0"?>\n<rss>${ITEMS.map(
    ({ gtin, title, link, price }) =>
      `<item><g:gtin>${gtin}</g:gtin><title><![CDATA[${title}]]></title><!-- ${gtin} --><link>${toXmlText(link)}</link><g:price>${price}</g:price></item>`,
  ).join('\n')}</rss>`,
  'JSON lines': PRODUCTS.map((item) => `${JSON.stringify(item)}\n`).join(''),
  'JSON array': JSON.stringify(PRODUCTS),
}

/** `at` and `bytes` are shares of the file. */
type Damage = Readonly<{
  kind: 'flip' | 'remove' | 'double' | 'cut' | 'other encoding'
  at: number
  value: number
}>

const anyDamage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom('flip', 'flip', 'flip', 'remove', 'double', 'cut', 'other encoding'),
  // Without bias, which would damage the header most.
  at: fc.noBias(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })),
  value: fc.integer({ min: 0, max: 255 }),
})

function applyDamage(bytes: Buffer, { kind, at, value }: Damage): Buffer {
  const index = Math.floor(at * bytes.length)
  const [before, byte, after] = [
    bytes.subarray(0, index),
    bytes.subarray(index, index + 1),
    bytes.subarray(index + 1),
  ]
  const encoding = value % 2 === 0 ? 'latin1' : 'utf16le'
  const pieces = {
    flip: [before, Buffer.from([value]), after],
    remove: [before, after],
    double: [before, byte, byte, after],
    cut: [before],
    'other encoding': [before, iconv.encode(after.toString(), encoding)],
  }
  return Buffer.concat(pieces[kind])
}

/** Return the numbers of the items that a text names. */
function findNumbers(text: string): ReadonlySet<string> {
  return new Set(text.match(/(\d)\1{3}/g)?.map(([digit = '']) => digit))
}

let usableCount = 0

async function checkFeed(bytes: Buffer, pieceBytes: number): Promise<void> {
  const feed = await readFeedText(bytes, { pieceBytes }).catch((error: unknown) => {
    if (error instanceof ImportError) return undefined
    throw error
  })
  for (const { gtin, title, offers } of feed?.products ?? []) {
    const item = ITEMS.find((one) => one.gtin === gtin.slice(1))
    if (item === undefined) continue
    usableCount += 1
    const values = [title, ...offers.flatMap(({ url, price }) => [url, price])]
    const others = values
      .flatMap((value) => [...findNumbers(value)])
      .filter((digit) => digit !== item.digits[0])
    expect(others, JSON.stringify({ gtin, values })).toEqual([])
  }
}

describe('damaged feeds', () => {
  it.each(Object.entries(FEEDS))(
    '%s - bytes changed, removed, doubled, cut off, or in another encoding - no product has a value of another',
    async (_, text) => {
      usableCount = 0
      const anyDamages = fc.array(anyDamage, { minLength: 1, maxLength: 3 })
      const property = fc.asyncProperty(
        anyDamages,
        fc.integer({ min: 1, max: 400 }),
        async (damages, pieceBytes) => {
          await checkFeed(damages.reduce(applyDamage, Buffer.from(text)), pieceBytes)
        },
      )
      await fc.assert(property, { numRuns: toRunCount(2_000) })
      // A few runs may leave no usable product.
      expect(usableCount).toBeGreaterThan(IS_FULL ? 100 : -1)
    },
  )
})
