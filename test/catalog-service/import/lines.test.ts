import { array, assert, asyncProperty, integer, stringMatching } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLines } from '../../../src/catalog-service/import/json-rows.ts'

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

async function collect(bytes: Buffer, sizes: readonly number[]): Promise<string[]> {
  const lines: string[] = []
  for await (const read of readLines(cut(bytes, sizes)))
    lines.push(...read.map(({ row, bytes }) => `${row}:${bytes.toString('latin1')}`))
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
    const lines = []
    for await (const read of readLines(cut(Buffer.from('1234\n12345\n1'), [2, 2, 5]), 4)) lines.push(...read)
    expect(lines.map(({ isTooLong }) => isTooLong)).toEqual([false, true, false])
    expect(lines.map(({ row }) => row)).toEqual([1, 2, 3])
  })
})
