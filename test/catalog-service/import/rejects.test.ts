import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAX_ROW_BYTES } from '../../../src/catalog-service/import/feed-row.ts'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { createRejectsFile, listRejectsPaths } from '../../../src/catalog-service/import/rejects-file.ts'
import {
  fetchProducts,
  importRows,
  createFolder,
  createOffer,
  createProduct,
  openTestStore,
  writeFeed,
} from '../harness.ts'

function readRejects(path: string | null): { row: number; field: string; reason: string; raw: string }[] {
  const lines = readFileSync(path ?? '', 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

describe('import, rejects', () => {
  it('rows - each kind of error - one reject each, the rest is imported', async () => {
    const fixture = await openTestStore()
    const summary = await importRows(fixture, [
      '{"gtin":',
      { title: 'no gtin', offers: [createOffer()] },
      createProduct('18'),
      createProduct('123456789012345'),
      createProduct('0'),
      createProduct('17', { title: ' \u200b ' }),
      createProduct('17', { offers: [] }),
      createProduct('17', { images: 'x' }),
      Buffer.concat([Buffer.from('{"gtin":"17","title":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
      '[]',
      'null',
      '',
      createProduct('17'),
    ])
    expect(summary).toMatchObject({ products: 1, offers: 1, rejected: 11 })
    const rejects = readRejects(summary.rejectsPath)
    expect(rejects.map(({ row, field }) => [row, field])).toEqual([
      [1, 'row'],
      [2, 'gtin'],
      [3, 'gtin'],
      [4, 'gtin'],
      [5, 'gtin'],
      [6, 'title'],
      [7, 'offers'],
      [8, 'images'],
      [9, 'row'],
      [10, 'row'],
      [11, 'row'],
    ])
    expect(rejects[1]?.reason).toBe('there is no gtin')
    expect(rejects[2]).toMatchObject({
      reason: 'the check digit is wrong',
      raw: JSON.stringify(createProduct('18')),
    })
  })

  it('offers - malformed - one reject per offer, the others stay', async () => {
    const fixture = await openTestStore()
    const bad = [
      createOffer({ price: '1,00' }),
      createOffer({ merchant: { name: ' ' } }),
      createOffer({ currency: 'euro' }),
      createOffer({ affiliate_url: 'javascript:1' }),
      createOffer({ merchant: 'A' }),
      'x',
      createOffer({ price: '20', affiliate_url: 'https://b.example/', old_price: '25 EUR' }),
      createOffer({ old_price: '0.00' }),
    ]
    const rows = [createProduct('17', { offers: bad, images: [{}, { url: 'https://a.example/b.png' }] })]
    const summary = await importRows(fixture, rows)
    expect(summary).toMatchObject({ products: 1, offers: 2, rejected: 8 })
    expect(readRejects(summary.rejectsPath).map(({ field }) => field)).toEqual([
      'images[0]',
      'offers[0].price',
      'offers[1].merchant.name',
      'offers[2].currency',
      'offers[3].affiliate_url',
      'offers[4].merchant',
      'offers[5]',
      'offers[6].old_price',
    ])
    const [product] = await fetchProducts(fixture, summary.channelId)
    expect(product?.offers.every((offer) => offer.old_price === undefined)).toBe(true)
  })

  it('row - with U+0000 - is rejected, as the database would truncate the text; an escaped backslash is accepted', async () => {
    const fixture = await openTestStore()
    const rows = [
      createProduct('17', { title: 'a\u0000b' }),
      createProduct('24', { title: String.raw`a\u0000b` }),
    ]
    const summary = await importRows(fixture, rows)
    expect(summary).toMatchObject({ products: 1, rejected: 1 })
    const [product] = await fetchProducts(fixture, summary.channelId)
    expect(product?.title).toBe(String.raw`a\u0000b`)
  })

  it('line above the limit - is rejected; the next one is imported', async () => {
    const fixture = await openTestStore()
    const rows = [createProduct('17', { title: 'x'.repeat(MAX_ROW_BYTES) }), createProduct('24')]
    const summary = await importRows(fixture, rows)
    expect(summary).toMatchObject({ products: 1, rejected: 1 })
    expect(readRejects(summary.rejectsPath)[0]).toMatchObject({ row: 1, reason: 'longer than 8388608 bytes' })
  })

  it('line - nested a hundred thousand deep - only that line is rejected', async () => {
    const fixture = await openTestStore()
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const rows = [`{"gtin":"17","title":"T","offers":[${deep}]}`, createProduct('24')]
    expect(await importRows(fixture, rows)).toMatchObject({ products: 1, rejected: 1 })
  })

  it('rejects file - of an earlier import - is removed by an import without rejects', async () => {
    const fixture = await openTestStore()
    const { rejectsPath } = await importRows(fixture, ['x', createProduct('17')])
    expect(rejectsPath).toBe(join(fixture.folder, 'feed.ndjson.rejects'))
    await importRows(fixture, [createProduct('17')])
    expect(existsSync(rejectsPath ?? '')).toBe(false)
  })

  it('rejects file - a folder has its name - is written to the current folder', async () => {
    const fixture = await openTestStore()
    const folder = createFolder()
    const file = writeFeed(join(folder, 'feed.ndjson'), ['x', createProduct('17')])
    mkdirSync(`${file}.rejects`)
    const { rejectsPath } = await importFile({ store: fixture.store, file, currentFolder: fixture.folder })
    expect(rejectsPath).toBe(join(fixture.folder, 'feed.ndjson.rejects'))
  })

  it('symbolic link created at its path meanwhile - is replaced, and its target is unchanged', () => {
    const folder = createFolder()
    const victim = join(folder, 'victim')
    writeFileSync(victim, 'unchanged')
    const rejects = createRejectsFile(listRejectsPaths(join(folder, 'feed.ndjson'), folder))
    const path = join(folder, 'feed.ndjson.rejects')
    symlinkSync(victim, path)
    rejects.add([{ row: 1, field: 'gtin', reason: 'there is no gtin', raw: '{}' }])
    rejects.close()
    expect(readFileSync(victim, 'utf8')).toBe('unchanged')
    expect(lstatSync(path).isFile()).toBe(true)
    expect(readRejects(rejects.getPath())).toHaveLength(1)
  })
})
