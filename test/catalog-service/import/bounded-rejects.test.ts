import fs, { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Reject } from '../../../src/catalog-service/import/feed-row.ts'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { createRejectsFile, listRejectsPaths } from '../../../src/catalog-service/import/rejects-file.ts'
import { createFolder, openTestStore } from '../harness.ts'
import { readFeedText } from './read-feed-text.ts'

const ROW: Reject = { row: 1, field: 'price', reason: 'r', raw: 'x' }
const HEAD = 'gtin,title,link,price,additional_image_link'

/** Return the size of the rejects as JSON. */
const measure = (rejects: readonly Reject[]): number => JSON.stringify(rejects).length

describe('rejects of one row', () => {
  it.each([
    ['codes', `"${'18,'.repeat(500_000)}",T,https://shop.example/,1.00 EUR,`],
    ['pictures', `9520001001024,T,https://shop.example/,1.00 EUR,"${'x,https://[,'.repeat(200_000)}"`],
  ])('table - a million invalid %s - the rejects stay small', async (_, row) => {
    const { rejects } = await readFeedText(`${HEAD}\n${row}\n`)
    expect(rejects.length).toBeLessThanOrEqual(21)
    expect(measure(rejects)).toBeLessThan(100_000)
    expect(Math.max(...rejects.map(({ raw }) => raw.length))).toBe(2_000)
  })

  it('XML - thousands of invalid pictures, and long fields - the rejects stay small', async () => {
    const pictures = '<g:additional_image_link>/x.jpg</g:additional_image_link>'.repeat(5_000)
    const text = `<rss><channel><item><title>T</title><description>${'x'.repeat(2_000_000)}</description>${pictures}</item></channel></rss>`
    const { rejects } = await readFeedText(text)
    expect(measure(rejects)).toBeLessThan(100_000)
    const priced = '<g:gtin>9520001001024</g:gtin><link>https://a.example/</link><g:price>1 EUR</g:price>'
    const { products, rejects: more } = await readFeedText(text.replace('<title>', `${priced}<title>`))
    expect(products).toHaveLength(1)
    expect(more).toHaveLength(21)
    expect(more.at(-1)?.reason).toBe('and 81 more')
  })
})

describe('rejects file', () => {
  it('reasons and fields - very long, with control characters - are cleaned and truncated', () => {
    const file = join(createFolder(), 'feed')
    const rejects = createRejectsFile(listRejectsPaths(file, createFolder()))
    rejects.add([{ ...ROW, field: 'f'.repeat(10_000), reason: `a\u001b[31m\n${'b'.repeat(1_000_000)}` }])
    rejects.close()
    const written = JSON.parse(readFileSync(`${file}.rejects`, 'utf8')) as Reject
    expect([written.field.length, written.reason.length]).toEqual([100, 300])
    expect(written.reason).toMatch(/^a \[31m b/)
    expect(rejects.getTopReasons()[0]?.[0].length).toBeLessThan(500)
  })

  it('more rejects than are kept - counts go on, and the last line says how many are left out', () => {
    const file = join(createFolder(), 'feed')
    const rejects = createRejectsFile(listRejectsPaths(file, createFolder()))
    for (let row = 1; row <= 12_000; row += 1) rejects.add([{ ...ROW, row }])
    rejects.close()
    const lines = readFileSync(`${file}.rejects`, 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(10_001)
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      row: 12_000,
      field: 'row',
      reason: 'and 2000 more',
      raw: '',
    })
    expect([rejects.getCount(), rejects.getTopReasons()]).toEqual([12_000, [['price: r', 12_000]]])
  })

  it('reasons that differ in a value - count together, with the first three values', () => {
    const rejects = createRejectsFile(listRejectsPaths(join(createFolder(), 'feed'), createFolder()))
    const add = (...words: readonly string[]): void =>
      rejects.add(words.map((word, row) => ({ ...ROW, row, reason: `the word "${word}" is unknown` })))
    add('used', 'B', 'used')
    expect(rejects.getTopReasons()).toEqual([['price: the word "used", "B" is unknown', 3]])
    add('demo', 'C')
    expect(rejects.getTopReasons()).toEqual([['price: the word "used", "B", "demo" … is unknown', 5]])
    rejects.close()
  })

  it('long rejects - the file stays below some 20 MB', () => {
    const file = join(createFolder(), 'feed')
    const rejects = createRejectsFile(listRejectsPaths(file, createFolder()))
    for (let row = 1; row <= 9_000; row += 1) rejects.add([{ ...ROW, row, raw: '\u0001'.repeat(2_000) }])
    rejects.close()
    expect(statSync(`${file}.rejects`).size).toBeLessThan(22_000_000)
  })

  it('file of another feed with the same name - in the current folder - is preserved', () => {
    const [feedFolder, current] = [createFolder(), createFolder()]
    writeFileSync(join(current, 'feed.rejects'), 'of another')
    writeFileSync(join(feedFolder, 'feed.rejects'), 'of an earlier import')
    createRejectsFile(listRejectsPaths(join(feedFolder, 'feed'), current)).close()
    expect(readFileSync(join(current, 'feed.rejects'), 'utf8')).toBe('of another')
    expect(existsSync(join(feedFolder, 'feed.rejects'))).toBe(false)
  })

  it('disk full - close does not throw, getPath does', () => {
    const folder = createFolder()
    const rejects = createRejectsFile(listRejectsPaths(join(folder, 'feed'), folder))
    const full = vi.spyOn(fs, 'writeFileSync').mockImplementation(() => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    })
    onTestFinished(() => {
      full.mockRestore()
      syncBuiltinESMExports()
    })
    syncBuiltinESMExports()
    rejects.add([ROW])
    expect(() => rejects.close()).not.toThrow()
    expect(() => rejects.getPath()).toThrow('(ENOSPC)')
  })
})

describe('file that cannot be read', () => {
  it('error - has the reason in plain words, and that nothing was changed', async () => {
    const fixture = await openTestStore()
    const importPath = (file: string): Promise<unknown> => importFile({ store: fixture.store, file })
    await expect(importPath(join(fixture.folder, 'none'))).rejects.toThrow(
      'cannot be opened (there is no such file); nothing was changed',
    )
    const damaged = join(fixture.folder, 'damaged.gz')
    writeFileSync(
      damaged,
      Buffer.concat([gzipSync(`${HEAD}\n`), Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9])]),
    )
    await expect(importPath(damaged)).rejects.toThrow('(the compressed data is damaged); nothing was changed')
    const empty = join(fixture.folder, 'empty')
    writeFileSync(empty, '')
    await expect(importPath(empty)).rejects.toThrow('is empty; nothing was changed')
  })
})
