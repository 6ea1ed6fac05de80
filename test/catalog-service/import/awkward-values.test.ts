import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { simplifyDecimals } from '../../../src/catalog-service/import/prices.ts'
import { readCells, readFeedText } from './read-feed-text.ts'

const CELLS = {
  gtin: '9520001001024',
  title: 'T',
  link: 'https://kopje.example/p?id=7&color=red',
  image_link: 'https://kopje.example/p.jpg?a=1&b=2',
  price: '100.00 EUR',
}

describe('links and pictures with characters that no address may contain', () => {
  it('spaces and angle brackets - are encoded as a browser does', async () => {
    const link = 'https://kopje.example/a b?q=<c> d&x=ü'
    const { products, rejects } = await readCells({
      ...CELLS,
      link,
      image_link: 'https://kopje.example/a b.jpg',
    })
    expect(rejects).toEqual([])
    expect(products).toMatchObject([
      {
        images: ['https://kopje.example/a%20b.jpg'],
        offers: [{ url: 'https://kopje.example/a%20b?q=%3Cc%3E%20d&x=ü' }],
      },
    ])
  })

  it.each(['https://kopje.example/a"b', 'https://kopje.example/a\nhttps://kopje.example/b'])(
    '%j - quote or line break - is rejected: the quotes of the table are damaged',
    async (link) => {
      const { products, rejects } = await readCells({ ...CELLS, link })
      expect(products).toEqual([])
      expect(rejects).toMatchObject([{ field: 'link' }])
    },
  )
})

describe('decimals of prices', () => {
  it.each([
    ['16.510000 EUR', '16.51'],
    ['16,510000 EUR', '16.51'],
    ['1.299,500000 EUR', '1299.50'],
    ['27.989999999999998 EUR', '27.99'],
    ['1299.0000000000001 EUR', '1299.00'],
    ['0.30000000000000004 EUR', '0.30'],
    ['99.99999999999999 EUR', '100'],
    ['19.989999771118164 EUR', '19.99'],
    ['1299.000000 EUR', '1299.00'],
    ['12.99000 EUR', '12.99'],
  ])('%s - is %s', async (price, amount) => {
    const { products, rejects } = await readCells({ ...CELLS, price })
    expect({ rejects, price: products[0]?.offers[0]?.price }).toEqual({ rejects: [], price: amount })
  })

  it.each(['27.98765 EUR', '16.123456 EUR', '12.990 EUR', '0.0000000001 EUR'])(
    '%s - is rejected: another amount may be meant',
    async (price) => {
      const { products, rejects } = await readCells({ ...CELLS, price })
      expect(products).toEqual([])
      expect(rejects).toMatchObject([{ field: 'price' }])
    },
  )

  it('any amount as a floating-point number or with zeros - is the amount', () => {
    const cents = fc.integer({ min: 1, max: 10_000_000 })
    const property = fc.property(cents, fc.integer({ min: 1, max: 1_000 }), (whole, parts) => {
      const exact = (whole / 100).toFixed(2)
      expect(simplifyDecimals(`${exact}0000`)).toBe(exact)
      // A sum of parts has the noise of real programs.
      const noisy = Array.from({ length: parts }, () => whole / 100 / parts).reduce(
        (sum, part) => sum + part,
        0,
      )
      const simplified = simplifyDecimals(String(noisy))
      expect(Number(simplified).toFixed(2)).toBe(exact)
    })
    fc.assert(property)
  })
})

describe('currency and decimal sign that are set for a feed', () => {
  it('price without currency - has it; the reject without it names the option', async () => {
    const cells = { ...CELLS, price: '15.00' }
    expect((await readCells(cells)).rejects).toMatchObject([
      { field: 'price', reason: 'there is no currency: set one with --currency' },
    ])
    expect((await readCells(cells, { currency: 'CHF' })).products[0]?.offers).toMatchObject([
      { price: '15.00', currency: 'CHF' },
    ])
    const own = await readCells({ ...cells, price: '15.00 SEK' }, { currency: 'CHF' })
    expect(own.products[0]?.offers).toMatchObject([{ currency: 'SEK' }])
  })

  it('ambiguous price - is read by the sign; the reject without it names the option', async () => {
    const cells = { ...CELLS, price: '1.299 EUR' }
    expect((await readCells(cells)).rejects).toMatchObject([
      { reason: '1.299 is ambiguous, thousands or decimals: set --decimal' },
    ])
    const priceOf = async (decimal: '.' | ','): Promise<string | undefined> =>
      (await readCells(cells, { decimal })).products[0]?.offers[0]?.price
    expect([await priceOf('.'), await priceOf(',')]).toEqual(['1.299', '1299'])
  })

  it('price that contradicts the sign - is rejected, and named', async () => {
    expect((await readCells({ ...CELLS, price: '12,99 EUR' }, { decimal: '.' })).rejects).toMatchObject([
      { reason: '12,99 contradicts the decimal sign "." that is set with --decimal' },
    ])
  })

  it.each([
    ['12,99 €', 'EUR', '12.99', 'EUR'],
    ['€ 12.99', 'EUR', '12.99', 'EUR'],
    ['$12.99', 'CAD', '12.99', 'CAD'],
    ['£1,299.00', 'GBP', '1299.00', 'GBP'],
  ])('%s with the currency %s - is read', async (price, currency, amount, code) => {
    for (const { products } of [
      await readCells({ ...CELLS, price, currency }),
      await readCells({ ...CELLS, price }, { currency }),
    ])
      expect(products[0]?.offers).toMatchObject([{ price: amount, currency: code }])
  })

  it('sale price in JSON with another currency than the price - is left out', async () => {
    const item = { ...CELLS, price: { value: '500.00', currency: 'SEK' } }
    const read = (salePrice: object): ReturnType<typeof readFeedText> =>
      readFeedText(`${JSON.stringify({ ...item, sale_price: salePrice })}\n`)
    expect((await read({ value: '45.00', currency: 'EUR' })).products[0]?.offers).toMatchObject([
      { price: '500.00', oldPrice: null, currency: 'SEK' },
    ])
    expect((await read({ value: '450.00', currency: 'SEK' })).products[0]?.offers).toMatchObject([
      { price: '450.00', oldPrice: '500.00', currency: 'SEK' },
    ])
  })

  it('price without an amount - says so', async () => {
    for (const [price, reason] of [
      ['USD', 'there is no amount'],
      ['0.00 USD', 'the price is zero'],
      ['', 'there is no price'],
    ] as const)
      expect((await readCells({ ...CELLS, price })).rejects).toMatchObject([{ reason }])
  })
})

describe('sale dates', () => {
  it.each([
    '/',
    ' / ',
    '0000-00-00/0000-00-00',
    '0000-00-00 00:00:00/0000-00-00 00:00:00',
    '1970-01-01T00:00:00+00:00/1970-01-01T00:00:00+00:00',
    '-0001-11-30T00:00:00+00:00/-0001-11-30T00:00:00+00:00',
    '0001-01-01T00:00:00/0001-01-01T00:00:00',
    'null/null',
    'N/A',
    'N/A / N/A',
    'T00:00+0100/T23:59+0100',
    'Invalid date/Invalid date',
    'undefined',
  ])('empty, as %j - count as none', async (dates) => {
    const { products, rejects } = await readCells({
      ...CELLS,
      sale_price: '80.00 EUR',
      sale_price_effective_date: dates,
    })
    expect(rejects).toEqual([])
    expect(products[0]?.offers).toMatchObject([{ price: '80.00', oldPrice: '100.00', salePeriod: null }])
  })
})

describe('lists of codes', () => {
  it.each([
    '123;9520001001024',
    '123|9520001001024',
    '123, 9520001001024',
    '123/9520001001024',
    '12345678 9520001001024',
    '9520001001024\n9520001001031',
    '9520001001024;9520001001024',
    '9520001001024.00',
  ])('%s - has the GTIN', async (gtin) => {
    const { products } = await readCells({ ...CELLS, gtin })
    expect(products.map((product) => product.gtin)).toEqual(['09520001001024'])
  })
})

const escape = (address: string): string => address.replaceAll('&', '&amp;')

describe('addresses', () => {
  it.each([
    ['escaped once', escape(CELLS.link)],
    ['escaped twice', escape(escape(CELLS.link))],
    ['escaped by number', CELLS.link.replaceAll('&', '&#38;')],
    ['correct', CELLS.link],
  ])('link and picture %s - are the same in a table, a CDATA section and JSON', async (_, link) => {
    const image = link.replace('/p?', '/p.jpg?')
    const xml = `<rss><item><g:gtin>${CELLS.gtin}</g:gtin><title>T</title><link><![CDATA[${link}]]></link><g:image_link><![CDATA[${image}]]></g:image_link><g:price>1 EUR</g:price></item></rss>`
    const json = JSON.stringify({ ...CELLS, link, image_link: image })
    for (const { products } of [
      await readCells({ ...CELLS, link, image_link: image }),
      await readFeedText(xml),
      await readFeedText(`${json}\n`),
    ])
      expect(products).toMatchObject([
        { images: [CELLS.link.replace('/p?', '/p.jpg?')], offers: [{ url: CELLS.link }] },
      ])
  })

  it('address with other escapes - is undone with them', async () => {
    const link = 'https://kopje.example/it&#039;s?a=1&amp;b=2'
    expect((await readCells({ ...CELLS, link })).products[0]?.offers[0]?.url).toBe(
      "https://kopje.example/it's?a=1&b=2",
    )
  })

  it('any correct address - stays byte for byte', async () => {
    const parameter = fc.stringMatching(/^[a-z]{1,5}=(?:[a-zA-Z0-9;%.~-]|&amp;){0,12}$/)
    const property = fc.asyncProperty(
      fc.array(parameter, { minLength: 2, maxLength: 5 }),
      async (parameters) => {
        const link = `https://kopje.example/p?${parameters.join('&')}`
        const { products } = await readCells({ ...CELLS, link })
        expect(products[0]?.offers[0]?.url).toBe(link)
      },
    )
    await fc.assert(property)
  })

  it('Atom with a path in a changed map - has all that it has without one, too', async () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><entry><title>T</title><link rel="self" href="https://kopje.example/self"/><link href="https://kopje.example/1"/><author><name>Kopje</name></author><price>9 EUR</price><g:gtin>${CELLS.gtin}</g:gtin><g:price>1 EUR</g:price></entry></feed>`
    const map = parseFeedMap({ fields: { merchant: 'author/name' } })
    const { products, rejects } = await readFeedText(atom, { map })
    expect(rejects).toEqual([])
    expect(products).toMatchObject([
      { title: 'T', offers: [{ merchant: 'Kopje', price: '1', url: 'https://kopje.example/1' }] },
    ])
  })

  it('Google with paths and a name of another namespace in a changed map - all are read', async () => {
    const rss = `<rss xmlns:g="http://base.google.com/ns/1.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>T</title><link>https://kopje.example/1</link><g:gtin>${CELLS.gtin}</g:gtin><price><amount>9 EUR</amount></price><media:thumbnail>https://kopje.example/1.jpg</media:thumbnail></item></channel></rss>`
    const map = parseFeedMap({ fields: { price: ['price/amount', 'price'], image: 'media:thumbnail' } })
    const { products, rejects } = await readFeedText(rss, { map })
    expect(rejects).toEqual([])
    expect(products).toMatchObject([{ images: ['https://kopje.example/1.jpg'], offers: [{ price: '9' }] }])
  })

  it('Atom, link as text - is the page', async () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><entry><title>T</title><link>https://kopje.example/1</link><g:gtin>${CELLS.gtin}</g:gtin><g:price>1 EUR</g:price></entry></feed>`
    expect((await readFeedText(atom)).products[0]?.offers).toMatchObject([{ url: 'https://kopje.example/1' }])
  })
})
