import { describe, expect, it } from 'vitest'
import { readFeedText } from './read-feed-text.ts'

const NAMESPACE = 'http://base.google.com/ns/1.0'

const rss = (items: string, prefix = 'g'): string =>
  `<?xml version="1.0"?>\n<rss version="2.0" xmlns:${prefix}="${NAMESPACE}"><channel><title>Shop</title>` +
  `<link>https://shop.example/</link>${items}</channel></rss>`

const FIELDS =
  '<g:gtin>9520001001024</g:gtin><g:price>15.00 EUR</g:price><title>Arne 2</title><link>https://shop.example/arne?a=1&amp;b=2</link>'

const item = (more = ''): string => rss(`<item>${FIELDS}${more}</item>`)

describe('xml feed', () => {
  it.each([
    ['google-xml', 'item'],
    ['google-xml', 'entry'],
    ['cj', 'item'],
    ['cj', 'entry'],
    ['cj', 'product'],
    ['impact', 'item'],
    ['impact', 'product'],
    ['webgains', 'item'],
    ['webgains', 'entry'],
    ['webgains', 'product'],
  ] as const)('%s, XML with the items <%s> - are read', async (format, item) => {
    const text = `<feed><${item}><title>Arne 2</title><gtin>12</gtin></${item}></feed>`
    const { rejects } = await readFeedText(text, { format })
    expect(rejects.map(({ row, field }) => [row, field])).toEqual([[1, 'gtin']])
  })

  it('RSS - split anywhere - the same items', async () => {
    const text = rss(`<item>${FIELDS}</item><item>${FIELDS.replace('Arne 2', 'Größe €')}</item>`)
    for (const pieceBytes of [1, 2, 3, 10, 1_000]) {
      const { format, products, rejects } = await readFeedText(text, { pieceBytes })
      expect([format, rejects]).toEqual(['google-xml', []])
      expect(products.map(({ title }) => title)).toEqual(['Arne 2', 'Größe €'])
      expect(products[0]?.offers[0]).toMatchObject({
        price: '15.00',
        url: 'https://shop.example/arne?a=1&b=2',
      })
    }
  })

  it('Atom with the link in an attribute - is supported', async () => {
    const text =
      `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="${NAMESPACE}"><title>Shop</title><entry>` +
      '<title type="html">Arne &amp;amp; 2</title><link rel="self" href="https://shop.example/feed"/>' +
      '<link href=" https://shop.example/arne "/><g:gtin>9520001001024</g:gtin><g:price>15.00 EUR</g:price></entry></feed>'
    const { products, rejects } = await readFeedText(text)
    expect(rejects).toEqual([])
    expect(products).toMatchObject([{ title: 'Arne & 2', offers: [{ url: 'https://shop.example/arne' }] }])
  })

  it.each([
    ['under another prefix', rss(`<item>${FIELDS.replaceAll('g:', 'goog:')}</item>`, 'goog')],
    ['under no prefix', `<rss><channel><item>${FIELDS.replaceAll('g:', '')}</item></channel></rss>`],
    ['under a prefix that is not declared', `<rss><channel><item>${FIELDS}</item></channel></rss>`],
    [
      'as the default',
      `<rss xmlns="${NAMESPACE}"><channel><item>${FIELDS.replaceAll('g:', '')}</item></channel></rss>`,
    ],
  ])('namespace - %s - is recognized', async (_, text) => {
    expect(await readFeedText(text)).toMatchObject({ products: [{ title: 'Arne 2' }], rejects: [] })
  })

  it('namespaces - foreign ones - are ignored', async () => {
    const more =
      '<media:title xmlns:media="urn:m">Other</media:title><x:price>1.00 EUR</x:price><atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="https://other.example/"/>'
    const { products } = await readFeedText(rss(`<item>${more}${FIELDS}</item>`))
    const url = 'https://shop.example/arne?a=1&b=2'
    expect(products).toMatchObject([{ title: 'Arne 2', offers: [{ price: '15.00', url }] }])
  })

  it('fields - in both namespaces - those of Google take precedence', async () => {
    const { products } = await readFeedText(item('<g:title>Better</g:title><g:link></g:link>'))
    expect(products).toMatchObject([
      { title: 'Better', offers: [{ url: 'https://shop.example/arne?a=1&b=2' }] },
    ])
  })

  it('nested elements - a shipping price - are not fields of the item', async () => {
    const shipping = '<g:shipping><g:country>DE</g:country><g:price>4.90 EUR</g:price></g:shipping>'
    const { products } = await readFeedText(rss(`<item>${shipping}${FIELDS}${shipping}</item>`))
    expect(products[0]?.offers[0]?.price).toBe('15.00')
  })

  it('CDATA, comments and repeated elements - are read correctly', async () => {
    const more =
      '<g:title><![CDATA[Arne & <b>2</b>]]> and<!-- not --> more</g:title>' +
      '<g:additional_image_link>https://img.example/1,2.jpg</g:additional_image_link>' +
      '<g:additional_image_link>/relative.jpg</g:additional_image_link>'
    const { products, rejects } = await readFeedText(item(more))
    expect(products).toMatchObject([{ title: 'Arne & 2 and more', images: ['https://img.example/1,2.jpg'] }])
    expect(rejects).toMatchObject([{ row: 1, field: 'additional_image_link' }])
  })

  it('elements within a text - their text is part of it', async () => {
    const title = '<g:title>Sony <b>WH-<i>1000</i></b> case<br/>black</g:title>'
    expect((await readFeedText(item(title))).products[0]?.title).toBe('Sony WH-1000 case black')
    const xhtml =
      '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>2</b></div></title>' +
      '<link type="application/pdf" href="https://a.example/x.pdf"/><link type="text/html" href="https://a.example/"/>' +
      '<link href="https://a.example/second"/><gtin>9520001001024</gtin><price>1 EUR</price></entry></feed>'
    const { products } = await readFeedText(xhtml)
    expect(products).toMatchObject([{ title: 'A 2', offers: [{ url: 'https://a.example/' }] }])
    const pdf = await readFeedText(xhtml.replace(/<link type="text.*second"\/>/, ''))
    expect(pdf.products[0]?.offers[0]?.url).toBe('https://a.example/x.pdf')
  })

  it.each([
    ['20th', 19, 1],
    ['21st', 20, 0],
  ])('repeated gtins, only the %s is valid - at most 20 are tried', async (_case, invalidCount, count) => {
    const invalid = `<g:gtin>${Array.from({ length: invalidCount - 1 }, () => '1').join(',')}</g:gtin><g:gtin>2</g:gtin>`
    const text = rss(`<item>${invalid}${FIELDS}</item>`)
    expect((await readFeedText(text)).products).toHaveLength(count)
  })

  it.each(['gtin', 'link', 'price', 'sale_price', 'availability'])(
    'elements in %s - the item is rejected, because its value is ambiguous',
    async (name) => {
      const text = item(`<g:${name}>100<i/>5.00 EUR</g:${name}>`)
      const { products, rejects } = await readFeedText(
        name === 'price' || name === 'gtin'
          ? text.replace(new RegExp(`<g:${name}>[^<]*</g:${name}>`), '')
          : text,
      )
      expect(products).toEqual([])
      expect(rejects).toMatchObject([
        { row: 1, field: name, reason: 'contains elements where only text is allowed' },
      ])
    },
  )

  it('pictures - with commas - one address per element', async () => {
    const address = 'https://img.example/1,https://img.example/2.jpg'
    const { products } = await readFeedText(
      item(`<g:additional_image_link>${address}</g:additional_image_link>`),
    )
    expect(products[0]?.images).toEqual([address])
  })

  it('entities escaped twice, and HTML entities - are decoded at most once more', async () => {
    const { products } = await readFeedText(item('<g:title>a &amp;gt; b &amp;amp;gt; c&nbsp;d</g:title>'))
    expect(products[0]?.title).toBe('a > b &gt; c d')
  })

  it('item - without a price - one reject with its fields, numbered from 1', async () => {
    const text = rss(
      `<item>${FIELDS}</item><item><title>T</title><g:gtin>00000000000017</g:gtin><link>https://a.example/</link><g:price/></item>`,
    )
    const { rejects } = await readFeedText(text)
    expect(rejects).toEqual([
      {
        row: 2,
        field: 'price',
        reason: 'there is no price',
        raw: '{"title":["T"],"link":["https://a.example/"],"gtin":["00000000000017"]}',
      },
    ])
  })
})

describe('XML feed, encodings', () => {
  const declared = (encoding: string): string =>
    item('<g:title>Größe ’5’</g:title>').replace('1.0"', `1.0" encoding="${encoding}"`)

  it.each(['ISO-8859-1', 'windows-1252', 'latin1'])('%s - as declared - is decoded', async (encoding) => {
    const bytes = Buffer.from(declared(encoding).replaceAll('’', '\u0092'), 'latin1')
    expect((await readFeedText(bytes, { pieceBytes: 100 })).products[0]?.title).toBe('Größe ’5’')
  })

  it.each(['utf-8', 'UTF-16'])(
    'UTF-8 with a byte order mark - declared as %s - is UTF-8',
    async (encoding) => {
      expect((await readFeedText(`\ufeff${declared(encoding)}`)).products[0]?.title).toBe('Größe ’5’')
    },
  )

  it('UTF-16 - with and without a byte order mark - is decoded', async () => {
    for (const mark of ['\ufeff', '']) {
      const bytes = Buffer.from(mark + declared('utf-16'), 'utf16le')
      expect((await readFeedText(bytes, { pieceBytes: 7 })).products[0]?.title).toBe('Größe ’5’')
      expect((await readFeedText(Buffer.from(bytes).swap16())).products[0]?.title).toBe('Größe ’5’')
    }
  })

  it.each([
    ['U+0000', item('<g:brand>A\u0000B</g:brand>'), 'A B'],
    ['a bare &', item('<g:brand>A & B</g:brand>'), 'A & B'],
    ['an undeclared entity', item('<g:brand>&xxe;</g:brand>'), '&xxe;'],
    [
      'an unknown encoding',
      Buffer.from(declared('klingon').replace('</item>', '<brand>A</brand></item>')),
      'A',
    ],
  ])('%s - the item is read', async (_, content, brand) => {
    expect(await readFeedText(content)).toMatchObject({ products: [{ brand }], rejects: [] })
  })

  it('invalid bytes, also at the end of the file - reject their item alone', async () => {
    const bytes = Buffer.concat([
      Buffer.from(
        rss(`<item>${FIELDS.replace('Arne 2', 'Größe')}</item>`)
          .replace('?>', ' encoding="utf-8"?>')
          .replace('</channel></rss>', ''),
        'latin1',
      ),
      Buffer.from(`<item>${FIELDS}</item></channel></rss>`),
      Buffer.from([0xe2]),
    ])
    const read = await readFeedText(bytes.subarray(0, -1), { pieceBytes: 11 })
    expect(read).toMatchObject({
      encoding: 'utf-8',
      products: [{ title: 'Arne 2' }],
      rejects: [{ row: 1, field: 'row', reason: 'has bytes that cannot be decoded' }],
    })
    expect((await readFeedText(bytes)).products).toHaveLength(1)
  })
})

describe('malformed xml feed', () => {
  it.each([
    ['cut off', rss(`<item>${FIELDS}`).slice(0, -20), 'the file ends before <'],
    ['an attribute without quotes, before any item', '<rss a=b/>', 'unquoted'],
    ['no item after a stray end', rss('</a>'), 'line 2: the closing tag does not match <channel>'],
    ['no item', rss(''), 'has no <item> and no <entry>'],
    ['no element', '<?xml version="1.0"?>', 'root element'],
    ['deep nesting', '<a>'.repeat(101), 'more than 100 deep'],
  ])('%s - ImportError', async (_, text, message) => {
    await expect(readFeedText(text)).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
      message: expect.stringContaining(message),
    })
  })

  it.each([
    ['entity bomb', '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">', '&b;'],
    ['local file', '<!ENTITY xxe SYSTEM "file:///etc/passwd">', '&xxe;'],
    ['parameter entity', '<!ENTITY % p SYSTEM "http://evil.example/x.dtd"> %p;', 'x'],
  ])('document type - %s - ImportError', async (_, declarations, use) => {
    const text = item(`<g:brand>${use}</g:brand>`).replace('<rss', `<!DOCTYPE rss [${declarations}]><rss`)
    await expect(readFeedText(text)).rejects.toThrow('has a document type with declarations')
  })

  it('document type - without declarations - is ignored, and nothing is fetched', async () => {
    const text = item().replace('<rss', '<!DOCTYPE rss SYSTEM "http://evil.example/x.dtd"><rss')
    expect((await readFeedText(text)).products).toHaveLength(1)
  })
})
