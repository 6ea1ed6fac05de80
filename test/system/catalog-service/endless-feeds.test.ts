import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readFeed } from '../../../src/catalog-service/import/read-feed.ts'
import { importText, openTestStore } from '../../catalog-service/harness.ts'

const MIB = 1024 * 1024

/** Additional memory that an import may use: rows of up to 8 MiB, some copies of a row, and garbage. */
const MAX_GROWTH_BYTES = 400 * MIB

const HEAD = 'gtin,title,link,price\n'
const GOOD_ROW = '00000000000017,T,https://shop.example/,1.00 EUR\n'
const ITEM =
  '<item><g:gtin>00000000000017</g:gtin><title>T</title><link>https://shop.example/</link><g:price>1 EUR</g:price>'
const LONG = 'A long description, with words enough. '.repeat(100).replaceAll(',', '')
const RSS = `<rss><channel>${ITEM}</item>`

type Repeat = { count: number; end?: string }

async function* repeat(head: string, piece: string, { count, end = '' }: Repeat): AsyncGenerator<Buffer> {
  yield Buffer.from(head)
  const bytes = Buffer.from(piece.repeat(Math.ceil((64 * 1024) / piece.length)))
  for (let index = 0; index < count; index++) yield Buffer.from(bytes)
  yield Buffer.from(end)
}

async function* watchEach(chunks: AsyncIterable<Buffer>, onChunk: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onChunk()
    yield chunk
  }
  onChunk()
}

/** Record the maximum growth of memory while the feed is read. */
function watchMemory(chunks: AsyncIterable<Buffer>): { chunks: AsyncIterable<Buffer>; growthBytes: number } {
  const before = measureBytes()
  const watched = {
    growthBytes: 0,
    chunks: watchEach(chunks, () => {
      watched.growthBytes = Math.max(watched.growthBytes, measureBytes() - before)
    }),
  }
  return watched
}

/** Return the memory in use, not the resident memory, which is released late. */
function measureBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<void> {
  const feed = await readFeed({ file: 'feed', chunks, format: undefined, names: {} })
  for await (const rows of feed.batches) void rows
}

describe('endless and huge feeds', () => {
  it.each([
    ['cell in quotes', `${HEAD}${GOOD_ROW}00000000000017,"`, 'x'],
    ['cell without quotes', `${HEAD}${GOOD_ROW}00000000000017,`, 'x'],
    ['row of empty cells', `${HEAD}${GOOD_ROW}`, ','],
    ['row of quotes', `${HEAD}${GOOD_ROW}00000000000017,`, '"'],
    ['header', 'gtin,title,', 'x'],
    ['cell of U+0000', `${HEAD}${GOOD_ROW}"`, '\u0000'],
    ['text of an element', `${RSS}<item><title>`, 'x'],
    ['CDATA', `${RSS}<item><title><![CDATA[`, 'x'],
    ['comment', `${RSS}<!--`, 'x'],
    ['instruction', `${RSS}<?x `, 'x'],
    ['attribute', `${RSS}<item a="`, 'x'],
    ['attributes', `${RSS}<item `, 'a b c'],
    ['name of an element', `${RSS}<item><`, 'x'],
    ['name of an entity', `${RSS}<item><title>&`, 'x'],
    ['white space', RSS, ' '],
    ['elements in an item', `${RSS}<item>`, '<a>b</a>'],
    ['elements that are no items', '<rss><channel>', '<product><g:gtin>00000000000017</g:gtin></product>'],
    ['document type', '<!DOCTYPE rss [', '<!ENTITY a "b">'],
    ['document type of brackets', '<!DOCTYPE rss [', '['],
    ['name of the root element', '<', 'x'],
    ['declaration', '<?xml ', ' '],
  ])('%s - ends with an ImportError, in bounded memory', async (_, head, piece) => {
    const endless = watchMemory(repeat(head, piece, { count: Number.POSITIVE_INFINITY }))
    await expect(readAll(endless.chunks)).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
    expect(endless.growthBytes).toBeLessThan(MAX_GROWTH_BYTES)
  })

  it('JSON line - 1 GB - is one reject, in bounded memory', async () => {
    const watched = watchMemory(repeat('{"gtin":"17","title":"', 'x', { count: 16 * 1024 }))
    await readAll(watched.chunks)
    expect(watched.growthBytes).toBeLessThan(MAX_GROWTH_BYTES)
  })

  it.each([
    ['table', [`note,${HEAD}`, `${LONG},${GOOD_ROW}`, '']],
    ['XML', ['<rss><channel>', `${ITEM}<note>${LONG}</note></item>`, '</channel></rss>']],
  ])('%s - 50 MB of rows - is read in bounded memory', async (_, [head = '', row = '', end = '']) => {
    const watched = watchMemory(repeat(head, row, { count: 800, end }))
    await readAll(watched.chunks)
    expect(watched.growthBytes).toBeLessThan(MAX_GROWTH_BYTES)
  })

  it('gzip - a small file that unpacks to a row of 200 MiB - throws an ImportError, in bounded memory', async () => {
    const fixture = await openTestStore()
    const filler = Buffer.alloc(200 * MIB, 'x')
    const packed = Buffer.concat([gzipSync(`${HEAD}00000000000017,"`), gzipSync(filler, { level: 1 })])
    await expect(importText(fixture, packed)).rejects.toThrow('a row is longer than')
  })
})
