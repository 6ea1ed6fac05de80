import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SkimmedPage, skimPage } from '../../src/catalog/skim-page.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const INVALID = { code: 'VITRINE_CATALOG_INVALID' }

async function* toChunks(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const skim = (text: string, chunkBytes = 7): Promise<SkimmedPage> => skimPage(toChunks(text, chunkBytes))

/** Any other property, also with the names that are searched, at any depth. */
const anyValue = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(fc.constantFrom('gtin', 'next_cursor', 'items', 'a"\\b'), fc.jsonValue()),
)
const anyProperties = fc.dictionary(fc.string(), anyValue).map((properties) => {
  const { gtin: _gtin, next_cursor: _cursor, items: _items, ...others } = properties
  return Object.entries(others)
})

/** Insert entries at any position. */
const toObject = (
  entries: readonly [string, unknown][],
  own: readonly [string, unknown][],
  at: number,
): object => Object.fromEntries([...entries.slice(0, at), ...own, ...entries.slice(at)])

describe('page of one product that is too large', () => {
  test('any other fields, any order, chunks and white space - GTIN and cursor are found', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          ofPage: anyProperties,
          ofProduct: anyProperties,
          cursor: fc.option(fc.string()),
          at: fc.nat(4),
          isCursorFirst: fc.boolean(),
          indent: fc.constantFrom(0, 2),
          chunkBytes: fc.integer({ min: 1, max: 20 }),
        }),
        async ({ ofPage, ofProduct, cursor, at, isCursorFirst, indent, chunkBytes }) => {
          const product = toObject(ofProduct, [['gtin', '09521234567899']], at)
          const own: [string, unknown][] = [
            ['items', [product]],
            ['next_cursor', cursor],
          ]
          const page = toObject(ofPage, isCursorFirst ? own.toReversed() : own, at)
          const text = JSON.stringify(page, null, indent)
          const nextCursor = cursor === '' ? null : cursor
          expect(await skim(text, chunkBytes)).toEqual({ gtin: '09521234567899', nextCursor })
        },
      ),
      { numRuns: toRunCount(200) },
    )
  })

  test('product without GTIN - the cursor is found', async () => {
    expect(await skim('{"items":[{"gtin":17,"x":{"gtin":"1"}}],"next_cursor":"a\\u0062"}')).toEqual({
      gtin: undefined,
      nextCursor: 'ab',
    })
  })

  test('title of 100 kB that ends in an escape - is skipped', async () => {
    const title = `${'\\"'.repeat(50_000)}\\\\`
    const page = `{"items":[{"title":"${title}","gtin":"1"}],"next_cursor":null}`
    expect(await skim(page, 1_000)).toEqual({ gtin: '1', nextCursor: null })
  })

  test('two products - are too large: the catalog ignores the limit', async () => {
    await expect(skim('{"items":[{"gtin":"1"},{"gtin":"2"}],"next_cursor":null}')).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_TOO_LARGE',
    })
  })

  test.each([
    ['no product', '{"items":[],"next_cursor":"x"}'],
    ['cut off', '{"items":[{"gtin":"1"}],"next_cursor":"x"'],
    ['cursor as number', '{"items":[{"gtin":"1"}],"next_cursor":5}'],
    ['cursor as object', '{"items":[{"gtin":"1"}],"next_cursor":{}}'],
    ['cursor of 20 kB', `{"items":[{"gtin":"1"}],"next_cursor":"${'x'.repeat(20_000)}"}`],
    ['list', '[{"gtin":"1"}]'],
    ['empty', ''],
  ])('%s - is invalid', async (_name, text) => {
    await expect(skim(text)).rejects.toMatchObject(INVALID)
  })
})
