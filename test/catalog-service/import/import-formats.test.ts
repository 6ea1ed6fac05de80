import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Reject } from '../../../src/catalog-service/import/feed-row.ts'
import { importText, openTestStore } from '../harness.ts'
import { getReader } from '../store-handles.ts'

const TABLE =
  'gtin\ttitle\tlink\tprice\n00000000000017\tT\thttps://www.shop.example/\t1.00 EUR\n00000000000018\tT\thttps://www.shop.example/\t1 EUR\n'

function readRejects(path: string | null): Reject[] {
  const lines = readFileSync(path ?? '', 'utf8').trimEnd()
  return lines.split('\n').map((line) => JSON.parse(line) as Reject)
}

describe('import of other formats', () => {
  it('gzipped table - without options - format and shop are detected', async () => {
    const fixture = await openTestStore()
    const summary = await importText(fixture, gzipSync(TABLE))
    expect(summary).toMatchObject({
      format: 'google-tsv',
      products: 1,
      offers: 1,
      rejected: 1,
      hasLinkMerchants: true,
    })
    const merchants = await (await getReader(fixture.store)).selectFrom('merchants').select('name').execute()
    expect(merchants).toEqual([{ name: 'shop.example' }])
    expect(readRejects(summary.rejectsPath)).toMatchObject([{ row: 3, field: 'gtin' }])
  })

  it('format - given - is used', async () => {
    const fixture = await openTestStore()
    await expect(importText(fixture, TABLE, { format: 'google-xml' })).rejects.toThrow(
      'is not well-formed XML',
    )
    expect((await importText(fixture, TABLE, { format: 'google-tsv' })).format).toBe('google-tsv')
  })

  it('progress - counts the rows of the file, usable or not', async () => {
    const fixture = await openTestStore()
    const seen: number[] = []
    await importText(fixture, TABLE, { onProgress: ({ rows }) => seen.push(rows) })
    expect(seen).toEqual([2])
  })

  it('nothing usable - the error has the number of rejects, the most frequent reasons and the rejects file', async () => {
    const fixture = await openTestStore()
    const rows = ['9520001001023', '9520001001023', '9520001001023', 'a', 'a', '00000000', ''].map(
      (gtin) => `${gtin},T,https://shop.example/,1 EUR`,
    )
    await expect(importText(fixture, ['gtin,title,link,price', ...rows].join('\n'))).rejects.toThrow(
      'no usable product: 0 products, 7 rejected; most often: gtin: the check digit is wrong (3); ' +
        `gtin: not 8, 12, 13 or 14 digits (2); gtin: only zeros (1); see ${join(fixture.folder, 'feed.rejects')}; nothing was changed`,
    )
  })
})
