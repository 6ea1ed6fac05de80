import { array, assert, asyncProperty, integer, stringMatching } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJsonRows } from '../../../src/catalog-service/import/json-rows.ts'

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

/** Each line with its number; a line that is no JSON is shown by its reject. */
async function collect(bytes: Buffer, sizes: readonly number[], maxRowBytes = 100): Promise<string[]> {
  const lines: string[] = []
  const options = { names: {}, salt: '', maxRowBytes }
  for await (const rows of readJsonRows(cut(bytes, sizes), options))
    for (const { row, parse } of rows) {
      const [reject] = parse().rejects
      lines.push(`${row}:${reject?.raw ?? ''}${reject?.reason === 'the line is too long' ? ' too long' : ''}`)
    }
  return lines
}

describe('lines', () => {
  it('stream - cut anywhere - the same lines', async () => {
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

  it('line - exactly the limit - is whole; one byte more - only its head', async () => {
    expect(await collect(Buffer.from('abcd\nabcde\na'), [2, 2, 5], 4)).toEqual([
      '1:abcd',
      '2:abcde too long',
      '3:a',
    ])
  })
})
