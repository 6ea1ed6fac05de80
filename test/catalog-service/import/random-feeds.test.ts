import { array, assert, asyncProperty, constantFrom, integer } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ImportError } from '../../../src/errors.ts'
import { readFeedText } from './read-feed-text.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

const TABLE_PIECES = [
  '9520001001024,T,https://a.example/,1 EUR\n',
  '96385074,"a ""b"",\nc",https://b.example/,2 EUR\r\n',
  '"',
  '""',
  ',',
  '\n',
  '\r\n',
  '\r',
  ' ',
  'a',
  '00000000000017',
  '=',
  '\u00e9',
  '\u0000',
  'https://a.example/',
  '1 EUR',
]
const GOOD_ITEM =
  '<item><g:gtin>9520001001024</g:gtin><title>T <b>x</b></title><link>https://a.example/</link><g:price>1 EUR</g:price></item>'
const XML_PIECES = [
  GOOD_ITEM,
  GOOD_ITEM,
  GOOD_ITEM,
  '<item>',
  '</item>',
  '<title>',
  '</title>',
  '<g:gtin>00000000000017</g:gtin>',
  '<g:price>1 EUR</g:price>',
  '<link>https://a.example/</link>',
  '<title>T</title>',
  '<![CDATA[',
  ']]>',
  '<!--',
  '-->',
  '<?a?>',
  '&amp;',
  '&#55296;',
  '&',
  '<a b="c"/>',
  '"',
  'x',
  '\u{1f600}',
]

const GOOD_PRODUCT =
  '{"gtin":"9520001001024","title":"T","offers":[{"merchant":{"name":"A"},"price":"1","currency":"EUR","affiliate_url":"https://a.example/"}]}'
const JSON_PIECES = [
  `${GOOD_PRODUCT}\n`,
  `${GOOD_PRODUCT}\n`,
  `${GOOD_PRODUCT}\n`,
  `${GOOD_PRODUCT},`,
  `${GOOD_PRODUCT},`,
  GOOD_PRODUCT,
  ',',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  '\\"',
  '"items":',
  '\n',
  '1',
  '\u00e9',
]

/** Number of feeds with products: the property must cover rows, not only rejected feeds. */
let usableCount = 0

/** Return the result of a feed as text: it must not depend on how the feed is split. */
async function describeFeed(content: string, pieceBytes: number): Promise<string> {
  try {
    const read = await readFeedText(content, { pieceBytes })
    if (read.products.length > 0) usableCount += 1
    return JSON.stringify(read)
  } catch (error) {
    if (error instanceof ImportError) return error.message
    throw error
  }
}

describe('random feeds', () => {
  it.each([
    ['table', 'gtin,title,link,price\n', TABLE_PIECES],
    ['XML', '<rss><channel>', XML_PIECES],
    ['JSON array', '[', JSON_PIECES],
    ['JSON object', '{"items":[', JSON_PIECES],
    ['JSON lines', '', JSON_PIECES],
  ])(
    '%s - any pieces, split anywhere - the same rows and rejects, or the same ImportError',
    async (_, head, pieces) => {
      const end = { '<': '</channel></rss>', '[': ']', '{': ']}' }[head.charAt(0)] ?? ''
      usableCount = 0
      const words = array(constantFrom(...pieces), { maxLength: 30 })
      await assert(
        asyncProperty(words, integer({ min: 1, max: 9 }), async (selected, pieceBytes) => {
          const content = head + selected.join('') + end
          expect(await describeFeed(content, pieceBytes)).toBe(
            await describeFeed(content, content.length * 4),
          )
        }),
        { numRuns: toRunCount(1_000) },
      )
      // A few runs may produce no usable product.
      const isFull = toRunCount(1_000) === 1_000
      expect(usableCount).toBeGreaterThan(isFull ? 20 : -1)
    },
  )
})
