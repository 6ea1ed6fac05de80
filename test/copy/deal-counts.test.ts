import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { openCopyDatabase } from '../../src/copy/dialects.ts'
import { findCopy } from '../../src/copy/sql-copies.ts'
import { type ReadCopy, countDeals } from '../../src/copy/sql-deal-counts.ts'
import { openSqlStore } from '../../src/copy/sql-store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, begin, makePage, makeQuery, walkAll } from './conformance/subject.ts'

/** Offers of a product, each of another merchant: so many deals. */
const SHOPS = 50

/** Products from `first` on, of one brand and at one price, with a deal at each of the shops. */
function makeCatalog(brand: string, [first, count]: readonly [number, number], price: string): Product[] {
  return Array.from({ length: count }, (_, index) =>
    makeProduct({
      gtin: toGtin(first + index),
      brand,
      offers: Array.from({ length: SHOPS }, (_shop, shop) =>
        makeParsedOffer({ merchant: `${brand} shop ${shop}`, price, oldPrice: '100.00' }),
      ),
    }),
  )
}

test('walk that completes between two parts of a count - only the deals of the new walk are counted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-counts-'))
  const address = { kind: 'sqlite', path: join(folder, 'copy.db') } as const
  const store = await openSqlStore({ database: address, catalog: 'c' })
  const { reader, close } = await openCopyDatabase(address)
  onTestFinished(async () => {
    await close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  await walkAll(store, makeCatalog('Old', [0, 25], '40.00'), 100)
  const walk = await begin(store, 200)
  await store.applyPage(CHANNEL, makePage(walk, makeCatalog('New', [100, 22], '60.00'), { asOfMs: 200 }))
  const walks: number[] = []
  const readCopy: ReadCopy = async (read) => {
    const copy = await findCopy(reader, 'c', CHANNEL)
    if (copy === undefined) return undefined
    const found = await read(reader, copy)
    walks.push(copy.currentWalk)
    if (walks.length === 1) await store.completeWalk(CHANNEL, walk, 200)
    return found
  }
  const counts = await countDeals(readCopy, makeQuery())
  // One part of the old walk, two parts of the new one, and the names.
  expect(walks).toEqual([1, 2, 2, 2])
  expect(counts).toMatchObject({ total: 22, isBounded: false, brands: [{ name: 'New', count: 22 }] })
  expect(counts.brands).toHaveLength(1)
  expect(counts.merchants.filter(({ name }) => !name.startsWith('New'))).toEqual([])
  expect(counts.discounts.map(({ count }) => count)).toEqual([22, 22, 22, 22, 22, 0, 0, 0])
  expect(counts).toEqual(await store.countDeals(makeQuery()))
})
