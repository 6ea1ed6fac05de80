import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Reject } from '../../../src/catalog-service/import/feed-row.ts'
import { importText, openTestStore } from '../harness.ts'
import { getReader } from '../store-handles.ts'

/** A row of one product; its price is 1000 more than its number. */
const toRow = (number: number, price = 1_000 + number): string =>
  `9520001001024,Cup,https://shop.example/${number},${price}.00 EUR\n`
const toRows = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => toRow(from + index)).join('')

async function importRows(rows: string) {
  const fixture = await openTestStore()
  const summary = await importText(fixture, `gtin,title,link,price\n${rows}`)
  const stored = await (await getReader(fixture.store)).selectFrom('offers').select('price').execute()
  const numbers = stored.map(({ price }) => Number(price) - 1_000).toSorted((one, other) => one - other)
  const rejects = readFileSync(summary.rejectsPath ?? '', 'utf8')
    .trimEnd()
    .split('\n')
  return { summary, numbers, rejects: rejects.map((line) => (JSON.parse(line) as Reject).reason) }
}

test('more than 500 offers of a product - the cheapest are stored, whenever they come, and rejects count the others', async () => {
  const { summary, numbers, rejects } = await importRows(toRows(400, 550) + toRows(0, 7))
  expect(summary).toMatchObject({ products: 1, offers: 500 })
  expect(numbers).toEqual([...Array(7).keys(), ...Array.from({ length: 493 }, (_, index) => 400 + index)])
  const counts = rejects.map((reason) => Number(/: (\d+) others are left out/.exec(reason)?.[1]))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(57)
})

test('cheap offer that becomes the most expensive one - its old price goes, too', async () => {
  const { summary, numbers } = await importRows(toRows(0, 500) + toRow(7, 9_999) + toRow(501, 1))
  expect(summary.offers).toBe(500)
  expect(numbers).not.toContain(7)
  expect(numbers).toContain(1 - 1_000)
})
