import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createXmlRepair } from '../../../src/catalog-service/import/xml-syntax.ts'
import { ImportError } from '../../../src/errors.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { readFeedText } from './read-feed-text.ts'

/** Repair a text in pieces of `size` characters. */
function repair(text: string, size: number = text.length): string {
  const stage = createXmlRepair((content) => content.includes('</item><item>'))
  let repaired = ''
  for (let at = 0; at < text.length; at += size) repaired += stage.repair(text.slice(at, at + size))
  return repaired + stage.finish()
}

describe('repaired XML', () => {
  it.each([
    ['a & b', 'a &amp; b'],
    ['a &b; c', 'a &amp;b; c'],
    ['&', '&amp;'],
    ['&&amp;', '&amp;&amp;'],
    ['&amp;&lt;&gt;&quot;&apos;', '&amp;&lt;&gt;&quot;&apos;'],
    ['&eacute;&xxe;', '&eacute;&amp;xxe;'],
    ['a="x&y=1"', 'a="x&amp;y=1"'],
    ['&#65;&#x41;&#X41;', '&#65;&#x41;&#x41;'],
    ['&#11;&#xD83D;&#0;&#x110000;&#65534;', '     '],
    ['&#;&#x;&#xg;', '&amp;#;&amp;#x;&amp;#xg;'],
    ['a\u0003b\u0000c\ufffed', 'a b c d'],
    ['5 < 6 <3 <a><b/></a><?p?><!DOCTYPE a>', '5 &lt; 6 &lt;3 <a><b/></a><?p?><!DOCTYPE a>'],
    ['a ]]> b', 'a ]]&gt; b'],
    ['<![CDATA[a & b &amp; <c> ]] ]]>&', '<![CDATA[a & b &amp; <c> ]] ]]>&amp;'],
    ['a<!-- & -- <b> \n ]]> -->b', 'a\nb'],
    ['a<!-- b<!-- c -->d', 'ad'],
    ['a<!--> b<!---->', 'a'],
    ['a<!-- </item><item> -->b', 'a<?unclosed-section?>b'],
    ['<![CDATA[a</b><![CDATA[c]]>', '<![CDATA[a</b><![CDATA[c]]>'],
    ['<![CDATA[</item><item><![CDATA[c]]>d', '<![CDATA[</item><item><![CDATA[c]]><?unclosed-section?>d'],
    ['<![CDATA[a <!-- b ]]> <!-- c -->', '<![CDATA[a <!-- b ]]> '],
    ['<a>b<!-- </a>', '<a>b&lt;!-- </a>'],
    ['<a><![CDATA[b</a> & <!-- c -->d', '<a>&lt;![CDATA[b</a> &amp; d'],
    ['<!-- a <!-- b <![CDATA[ c', '&lt;!-- a &lt;!-- b &lt;![CDATA[ c'],
    ['&Amp;&QUOT;&AMP;', '&amp;Amp;&QUOT;&AMP;'],
    ['\ufeff\n \n<?xml\nversion="1.0" encoding="{charset}"><a/>', '\n<a/>'],
    ['<a><?php echo 1 ?><b/><?php echo "<c/>" ?></a>', '<a><?php echo 1 ?><b/>&lt;?php echo "<c/>" ?></a>'],
    [`&${'a'.repeat(40)};`, `&amp;${'a'.repeat(40)};`],
  ])('%j - is %j, however it is split', (text, expected) => {
    for (const size of [1, 2, 3, 5, 100]) expect([size, repair(text, size)]).toEqual([size, expected])
  })

  it('well-formed text - stays unchanged', () => {
    const text = '<a b="&amp;"><![CDATA[<&>]]>x &lt; y &#233; é 😀</a>'
    expect(repair(text, 4)).toBe(text)
  })
})

const TITLES = [
  'Salt & Pepper',
  'Tom &amp; Jerry',
  'A &b; C',
  '&',
  'x &copy y',
  'AT&T',
  '5 < 6',
  '&#11;bell',
  '&nbsp;space',
  ']]>',
  'A --> B',
  'A <?php echo $x;',
  'A ?> B',
]
const INSERTS = [
  '',
  '<!-- & <item> -- -->',
  '<enclosure url="https://e.example/?a&b=1"/>',
  '<x><![CDATA[ </item> & ]]></x>',
  '\u0003',
  '&',
]

const makeItem = (at: number, text = ''): string =>
  `<item><title>${at}</title>${text}<g:gtin>9520001001024</g:gtin><link>https://shop.example/${at}</link><g:price>${at}.00 EUR</g:price></item>`

const makeProduct = (name: string): string =>
  `<prod><text><name>${name}</name></text><price><buynow>1.00</buynow></price><uri><awTrack>https://track.example/${name}</awTrack></uri><ean>9520001001024</ean></prod>`

const makeOffer = (shop: string, price: number, comment = ''): string =>
  `<offer><programName>${shop}${comment}</programName><productUrl>https://${shop}.example/x</productUrl><priceHistory><price currency="EUR">${price}.00</price></priceHistory></offer>`

describe('items of damaged XML', () => {
  it('any sequence of bare and escaped ampersands, broken entities, CDATA and comments - each item has its own values', async () => {
    const itemArbitrary = fc.record({
      title: fc.constantFrom(...TITLES),
      isCdata: fc.boolean(),
      before: fc.constantFrom(...INSERTS),
      after: fc.constantFrom(...INSERTS),
      isUndecoded: fc.boolean(),
    })
    const property = fc.asyncProperty(
      fc.array(itemArbitrary, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 200 }),
      async (items, pieceBytes) => {
        const texts = items.map(({ title, isCdata, before, after, isUndecoded }, index) => {
          const text = isCdata && !title.includes(']]>') ? `<![CDATA[${title}]]>` : title
          const link = `https://shop.example/p${index}?a=1&b=${index}`
          const damage = isUndecoded ? '\u00e9' : ''
          return `<item>${before}<title>${index}: ${text}${damage}</title>${after}<g:gtin>9520001001024</g:gtin><link>${link}</link><g:price>${index + 1}.00 EUR</g:price></item>`
        })
        const xml = Buffer.from(`<rss>${texts.join('\n')}</rss>`, 'latin1')
        const { products, rejects } = await readFeedText(xml, { pieceBytes, encoding: 'utf-8' })
        const expected = items.flatMap(({ isUndecoded }, index) => (isUndecoded ? [] : [index]))
        expect(
          products.map(({ title, offers }) => [title.split(':')[0], offers[0]?.price, offers[0]?.url]),
        ).toEqual(
          expected.map((index) => [
            `${index}`,
            `${index + 1}.00`,
            `https://shop.example/p${index}?a=1&b=${index}`,
          ]),
        )
        expect(rejects.map(({ row, reason }) => [row, reason])).toEqual(
          items.flatMap(({ isUndecoded }, index) =>
            isUndecoded ? [[index + 1, 'has bytes that cannot be decoded']] : [],
          ),
        )
      },
    )
    await fc.assert(property, { numRuns: toRunCount(200) })
  })

  it.each(['<item>', '<item&x;>', 'item>'])(
    'comment that is not closed before %s - rejects its item',
    async (start) => {
      const first = makeItem(1).replace('</title>', '</title><!-- ')
      const second = makeItem(2).replace('<item>', start).replace('</title>', '</title><!-- -->')
      const { products, rejects } = await readFeedText(`<rss>${first}\n${second}\n${makeItem(3)}</rss>`)
      expect(products.map(({ title }) => title)).toEqual(['3'])
      expect(rejects).toMatchObject([{ reason: expect.stringContaining('probably not closed') }])
    },
  )

  it.each([
    ['tag of HTML', '<title>Line<br>two</title>', 'the closing tag does not match <br> of line 4'],
    ['size as a tag', '<title>Shirt <XL></title>', 'the closing tag does not match <XL> of line 4'],
    ['comparison', '<title>a<b and 5 < 6</title>', 'line 4'],
    ['end without a start', '<title>A</b></title>', 'the closing tag does not match <title> of line 4'],
    ['element closed twice', '<title>A</title>\n</title>', 'line 5'],
    [
      'element that is not closed',
      '<title>A</title>\n<price>1 EUR',
      'line 5: the closing tag does not match <price> of line 5',
    ],
    ['attribute without quotes', '<title><a href=foo>A</a></title>', 'line 4: unquoted attribute value'],
    ['attribute twice', '<x a="1" a="2"/>', 'line 4: duplicate attribute: a'],
    ['declaration', '<title>A <! B</title>', 'line 4'],
    ['tag in an address', '<enclosure url="https://x.example/<b>"/>', 'line 4: disallowed character'],
    [
      'missing end of the item',
      '<title>A</title></item><item><title>B',
      'line 4: the closing tag does not match <title> of line 4',
    ],
  ])('%s - rejects its item alone, with the line', async (_, damage, message) => {
    const description = '<description><![CDATA[<item><g:price>9 EUR</g:price></item>]]></description>'
    const xml = `\n<?xml version="1.0"?><rss xmlns:a="b">\n${makeItem(1)}\n<item>${damage}<g:gtin>9520001001024</g:gtin>${description}<g:price>5 EUR</g:price></item>\n${makeItem(2)}\n<item><x></item>${makeItem(3)}\n</rss>`
    for (const pieceBytes of [1, 7, 100_000]) {
      const { products, rejects } = await readFeedText(xml, { pieceBytes })
      expect(products.map(({ title, offers }) => [title, offers[0]?.price])).toEqual([
        ['1', '1.00'],
        ['2', '2.00'],
        ['3', '3.00'],
      ])
      const reasons = rejects.filter(({ field }) => field === 'row').map(({ reason }) => reason)
      expect(reasons).toHaveLength(2)
      expect(reasons[0]).toMatch(/^is not well-formed XML: line \d+: /)
      expect(reasons[0]).toContain(message)
      const lines = damage.split('\n').length + 5
      expect(reasons[1]).toContain(`line ${lines}: the closing tag does not match <x> of line ${lines}`)
    }
  })

  it('item within an item - rejects the outer one', async () => {
    const xml = `<rss>${makeItem(1).replace('</item>', '')}${makeItem(2)}${makeItem(3)}</rss>`
    for (const pieceBytes of [1, 7, 100_000]) {
      const { products, rejects } = await readFeedText(xml, { pieceBytes })
      expect(products.map(({ title }) => title)).toEqual(['2', '3'])
      expect(rejects).toMatchObject([
        { row: 1, reason: expect.stringContaining('another item begins before it ends') },
      ])
    }
  })

  it('any sections that are not closed - no item has a value of another', async () => {
    const inserts = fc.constantFrom(
      '',
      '',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '<!-- x -->',
      '<![CDATA[x]]>',
      '<b>',
      '</b>',
    )
    const anyItems = fc.array(fc.tuple(inserts, inserts, inserts, inserts), { minLength: 2, maxLength: 6 })
    const property = fc.asyncProperty(
      anyItems,
      fc.integer({ min: 1, max: 200 }),
      async (items, pieceBytes) => {
        const texts = items.map(
          ([one, two, three, four], index) =>
            `<item>${one}<g:gtin>9520001001024</g:gtin><title>item ${index} ${two}</title>${three}<link>https://shop.example/${index}</link><g:price>${index + 1}.00 EUR</g:price>${four}</item>`,
        )
        const read = readFeedText(`<rss>${texts.join('\n')}</rss>`, { pieceBytes })
        const { products } = await read.catch((error: unknown) => {
          if (error instanceof ImportError) return { products: [] }
          throw error
        })
        for (const { title, offers } of products) {
          const [index] = /\d+/.exec(title) ?? []
          expect(offers).toMatchObject([
            { price: `${Number(index) + 1}.00`, url: `https://shop.example/${index}` },
          ])
        }
      },
    )
    await fc.assert(property, { numRuns: toRunCount(1_000) })
  })

  it('item in a comment or CDATA section - is not read', async () => {
    const hidden = `</description></item>${makeItem(9)}<item><description>`
    for (const xml of [
      `<rss><!-- <channel>${makeItem(9)}</channel> -->${makeItem(1)}</rss>`,
      `<rss>${makeItem(1, '<description><![CDATA[how to close: </description><g:sale_price>0.50 EUR</g:sale_price>]]></description>')}</rss>`,
      `<rss>${makeItem(1, '<summary><![CDATA[<details><summary>More</summary>a<br>b</details>]]></summary>')}</rss>`,
      `<rss>${makeItem(5, `<description><![CDATA[${hidden}]]></description>`)}${makeItem(1)}</rss>`,
      `<rss>${makeItem(1)}</rss><!-- ${hidden} -->`,
      `<rss>${makeItem(1)}</rss>\n<script>alert('x & y')</script><p>Array`,
    ]) {
      const { products } = await readFeedText(xml)
      expect(products.map(({ title, offers }) => [title, offers[0]?.price])).toEqual([['1', '1.00']])
    }
  })

  it('comment without an end - is said with its line', async () => {
    const items = `<item><title>A</title></item>\n<!-- ${'<x/>'.repeat(2 * 1024 * 1024 + 1)}`
    await expect(readFeedText(`\n<?xml version="1.0"?><rss>\n${items}</rss>`)).rejects.toThrow(
      'the comment or CDATA section of line 4 does not end',
    )
  })

  it.each([
    ['an item closed twice', `${makeItem(1)}</item>`, ['1', '2']],
    ['an item that begins too late', `<item></item>${makeItem(1).slice('<item>'.length)}`, ['2']],
    ['an item without its start', makeItem(1).slice('<item>'.length), ['2']],
    ['a stray end', `${makeItem(1)}</p>`, ['1', '2']],
    ['a stray start', `${makeItem(1)}<br>`, ['1', '2']],
    ['an attribute twice', makeItem(1).replace('<item>', '<item a="1" a="2">'), ['2']],
    ['an attribute without quotes', makeItem(1).replace('<item>', '<item a=1>'), ['2']],
    ['an attribute without a value', makeItem(1).replace('<item>', '<item new>'), ['2']],
    ['a quote in an attribute', makeItem(1).replace('<item>', '<item name="19" tv">'), ['2']],
    ['a tag in an attribute', makeItem(1).replace('<item>', '<item a="x<y">'), ['2']],
    ['a start in a start', makeItem(1).replace('<item>', '<item <>'), ['2']],
  ])('%s, first, between and last - costs at most its item', async (_, damaged, expected) => {
    for (const items of [
      [damaged, makeItem(2)],
      [makeItem(2), damaged],
      [makeItem(3), damaged, makeItem(2)],
    ]) {
      const xml = `<rss><channel><title>A <br> B</title>\n${items.join('\n')}\n</channel></rss>`
      for (const pieceBytes of [1, 1_000]) {
        const { products, rejects } = await readFeedText(xml, { pieceBytes })
        const titles = products.map(({ title }) => title)
        expect(titles.filter((title) => title !== '3').toSorted()).toEqual(expected)
        expect(products.every(({ title, offers }) => offers[0]?.price === `${title}.00`)).toBe(true)
        expect(rejects.length).toBeGreaterThan(0)
      }
    }
  })

  it('damage before the end of an element around items - leaves its attributes to its own items', async () => {
    for (const damage of [
      '<prod><text><name>B <b></name></text></prod>',
      '</x>',
      '<br>',
      '<prod a="1" a="2"/>',
    ]) {
      const xml = `<cafProductFeed><datafeed merchantName="A">${makeProduct('1')}${damage}</datafeed><datafeed merchantName="C">${makeProduct('2')}</datafeed></cafProductFeed>`
      const { products } = await readFeedText(xml, { currency: 'EUR' })
      expect(products.map(({ title, offers }) => [title, offers[0]?.merchant])).toEqual([
        ['1', 'A'],
        ['2', 'C'],
      ])
    }
  })

  it('comment in an offer that is not closed - rejects the product', async () => {
    const product = `<product><name>T</name><identifiers><ean>9520001001024</ean></identifiers><offers>${makeOffer('a', 1, '<!-- ')}${makeOffer('b', 2, '<!-- -->')}</offers></product>`
    const { products, rejects } = await readFeedText(`<result><products>${product}</products></result>`)
    expect(products).toEqual([])
    expect(rejects).toMatchObject([{ reason: expect.stringContaining('probably not closed') }])
  })

  it.each(['<item><title>A<br></title>', '<item><title>A<br></title></item>', '<item><title>A', '<!-- '])(
    'file that ends in or after damage, %s - is not complete',
    async (end) => {
      await expect(readFeedText(`<rss><item/>${end}`)).rejects.toThrow(/not complete|the file ends before/)
    },
  )

  it('many starts of sections without an end - are read in linear time', async () => {
    const text = `<rss><item><description>${'<!--'.repeat(100_000)}${'<![CDATA['.repeat(50_000)}</description></item></rss>`
    expect((await readFeedText(text)).rejects).toMatchObject([{ field: 'gtin' }])
  })

  it('no item - the element that is repeated is named with its path', async () => {
    const offers = '<offer><price>1</price><url>u</url></offer>'.repeat(3)
    const xml = `<yml_catalog><shop><name>S</name><categories><category>1</category></categories><offers>${offers}</offers></shop></yml_catalog>`
    await expect(readFeedText(xml)).rejects.toThrow(
      'has no <item> and no <entry>; it seems to repeat <offer>: set --format, or describe it in a file for --map with "items": "yml_catalog/shop/offers/offer"',
    )
  })
})
