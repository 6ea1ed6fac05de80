import { array, assert, asyncProperty, integer, stringMatching } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_ROW_BYTES } from '../../../src/catalog-service/import/feed-row.ts'
import { readLines } from '../../../src/catalog-service/import/json-items.ts'
import { readJsonRows } from '../../../src/catalog-service/import/json-rows.ts'

async function* splitChunks(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

/** Collect the lines as `row:text`; the text of a line that is not JSON is in its reject. */
async function collect(bytes: Buffer, sizes: readonly number[]): Promise<string[]> {
  const lines: string[] = []
  for await (const rows of readJsonRows(readLines(splitChunks(bytes, sizes), 'feed'), {}, ''))
    for (const { row, parse } of rows) {
      const [reject] = parse().rejects
      lines.push(
        `${row}:${reject?.raw ?? ''}${reject?.reason === 'longer than 8388608 bytes' ? ' too long' : ''}`,
      )
    }
  return lines
}

describe('lines', () => {
  it('stream - split anywhere - gives the same lines', async () => {
    await assert(
      asyncProperty(
        stringMatching(/^[ab\n]{0,40}$/),
        array(integer({ min: 0, max: 7 }), { maxLength: 12 }),
        async (text, sizes) => {
          const expected = text.split('\n').map((line, index) => `${index + 1}:${line}`)
          if (text === '' || text.endsWith('\n')) expected.pop()
          expect(await collect(Buffer.from(text), sizes)).toEqual(expected)
        },
      ),
    )
  })

  it('line - exactly at the limit - is complete; one byte more - only its beginning', async () => {
    const longest = 'a'.repeat(MAX_ROW_BYTES)
    const bytes = Buffer.from(`${longest}\n${longest}b\na`)
    const head = longest.slice(0, 2_000)
    expect(await collect(bytes, [MAX_ROW_BYTES - 2, 2, MAX_ROW_BYTES + 1])).toEqual([
      `1:${head}`,
      `2:${head} too long`,
      '3:a',
    ])
  })
})
