import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { type StoredCopy, openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { DealSort } from '../../../src/offers/deals.ts'
import type { DealQuery } from '../../../src/storage/store.ts'
import { toPriceText } from '../../../src/offers/price-history.ts'
import { isOnSale } from '../../../src/offers/sale.ts'
import { foldCase } from '../../../src/offers/text.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { usePostgres } from '../../helpers/postgres.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { computeGrid, describeOffer } from '../../storage/conformance/deals-property.ts'
import { DAY_0, RULES, toIndex, toMs } from '../../storage/conformance/price-history-fixture.ts'
import { CHANNEL, begin, makePage, makeQuery } from '../../storage/conformance/subject.ts'

/** Enough products that only the "rare" filters match few deals, and that the first deals are not all of them. */
const PRODUCTS = 3_500

const products = Array.from({ length: PRODUCTS }, (_, index): Product => {
  const old = (100 + (index % 400)).toFixed(2)
  return makeProduct({
    gtin: toGtin(index),
    title: index === 77 ? 'Samovar' : `${index % 3 === 0 ? 'Table lamp' : 'Lamp'} ${index}`,
    brand: index % 50 === 0 ? 'Rare' : 'Common',
    offers: [
      makeParsedOffer({ merchant: 'Alpha', price: (20 + (index % 90)).toFixed(2), oldPrice: old }),
      makeParsedOffer({
        merchant: index % 100 === 1 ? 'Corner' : 'Beta',
        price: (30 + (index % 70)).toFixed(2),
        oldPrice: old,
        availability: index % 5 === 0 ? 'out_of_stock' : 'in_stock',
      }),
    ],
  })
})

const FILTERS: Readonly<Record<string, Partial<DealQuery>>> = {
  'no filter': {},
  'in stock': { isInStockOnly: true },
  'common brand': { brand: 'common' },
  'rare brand': { brand: 'RARE' },
  'unknown brand': { brand: 'nobody' },
  'common merchant': { merchants: ['beta'] },
  'rare merchant': { merchants: ['corner'] },
  'excluded merchants': { excluded: ['alpha', 'corner'] },
  'all excluded': { excluded: ['alpha', 'beta', 'corner'] },
  'high price bound': { maxPrice: '60' },
  'low price bound': { maxPrice: '20' },
  'no price': { maxPrice: '0.5' },
  'common words': { searchText: 'lamp' },
  'beginning of words': { searchText: 'tab lam' },
  'rare words': { searchText: 'samovar' },
  'text within words': { searchText: 'amova' },
  'unknown words': { searchText: 'kettle' },
  'high discount': { minDiscountPercent: 90 },
  'common filters that no deal passes together': { brand: 'Common', merchants: ['beta'], maxPrice: '29.99' },
  'all filters': {
    brand: 'Common',
    searchText: 'lamp',
    excluded: ['corner'],
    maxPrice: '50',
    isInStockOnly: true,
  },
}

const SORTS: readonly DealSort[] = ['discount', 'saving', 'price']

const clock = createFakeClock(toMs(40))

/** Return the price in ten-thousandths before the walk, on the 30 days before; `undefined` when nothing was observed. */
function findReference(offer: Offer, index: number): number | undefined {
  const isFallen = offer.merchant === 'Alpha' ? index % 3 === 0 : index % 4 === 0
  return isFallen ? Number(offer.price) * 10_000 + (1 + (index % 7)) * 20_000 : undefined
}

/** The same catalog as the confirmed deals show it: with the reference as old price. */
const observedProducts: readonly Product[] = products.map((product, index) => ({
  ...product,
  offers: product.offers.map((offer) => {
    const reference = findReference(offer, index)
    return { ...offer, oldPrice: reference === undefined || !isOnSale(offer) ? null : toPriceText(reference) }
  }),
}))

/** Return the price of a card as a part of its reference price; 1 when it has not fallen. */
function findRatio(card: string): number {
  const [, merchant, price] = JSON.parse(card.slice(15)) as string[]
  const index = toIndex(card.slice(0, 14))
  const offer = products[index]?.offers.find((one) => one.merchant === merchant)
  const reference = offer && findReference(offer, index)
  return reference === undefined ? 1 : (Number(price) * 10_000) / reference
}

/** Import what was observed before the walk. */
async function importHistory(copy: StoredCopy): Promise<void> {
  const runs = products.flatMap(({ gtin, offers }, index) =>
    offers.flatMap((offer) => {
      const price = findReference(offer, index)
      if (price === undefined) return []
      const days = { day: DAY_0 + 10, untilDay: DAY_0 + 39, isImported: true }
      return {
        gtin,
        merchantKey: foldCase(offer.merchant),
        currency: 'EUR',
        low: price,
        last: price,
        ...days,
      }
    }),
  )
  for (let first = 0; first < runs.length; first += 500)
    await copy.importRuns(CHANNEL, runs.slice(first, first + 500))
}

async function fill(copy: StoredCopy): Promise<void> {
  await importHistory(copy)
  const nowMs = clock.nowMs()
  const walk = await begin(copy, nowMs)
  for (let first = 0; first < PRODUCTS; first += 200) {
    const page = products.slice(first, first + 200)
    const afterGtin = first === 0 ? '' : toGtin(first - 1)
    await copy.applyPage(CHANNEL, makePage(walk, page, { asOfMs: nowMs, afterGtin, nextCursor: afterGtin }))
  }
  await copy.completeWalk(CHANNEL, walk, { nowMs, isMalformed: false })
}

const grids = new Map<string, readonly string[]>()

/** Compute a complete grid, once for all its pages and both databases. */
function computeFullGrid(over: Partial<DealQuery>): readonly string[] {
  const key = JSON.stringify(over)
  const source = over.evidence === 'observed' ? observedProducts : products
  const grid = grids.get(key) ?? computeGrid(source, makeQuery({ ...over, offset: 0, limit: PRODUCTS * 2 }))
  grids.set(key, grid)
  return grid
}

const options = { catalog: 'c', clock, history: RULES }
const stores: Record<string, StoredCopy> = {}
const closings: (() => Promise<void>)[] = []

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-large-'))
  const { address, drop } = await usePostgres().makeDatabase()
  stores['SQLite'] = await openStoredCopy({
    database: { kind: 'sqlite', path: join(folder, 'copy.db') },
    ...options,
  })
  stores['PostgreSQL'] = await openStoredCopy({ database: address, ...options })
  closings.push(() => rm(folder, { recursive: true, force: true }), drop)
  await Promise.all(Object.values(stores).map(fill))
})

afterAll(async () => {
  await Promise.all(Object.values(stores).map((store) => store.close()))
  for (const close of closings) await close()
})

describe.each(['SQLite', 'PostgreSQL'])('grids of a large copy - %s', (name) => {
  describe.each(Object.entries(FILTERS))('%s', (_filter, over) => {
    test.each([...SORTS, 'drop'] as const)(
      'confirmed deals sorted by %s - every page equals the computation',
      async (sort) => {
        const grid = computeFullGrid({ ...over, sort, evidence: 'observed' })
        for (const offset of [0, 60, 960]) {
          const query = makeQuery({ ...over, sort, evidence: 'observed', offset, limit: 13 })
          const deals = (await stores[name]?.findDeals(query)) ?? []
          const found = deals.map(({ gtin, offer }) => `${gtin} ${describeOffer(offer)}`)
          expect(found).toEqual(grid.slice(offset, offset + 13))
        }
      },
    )

    test('sorted by fall - those with a fall come first, then the others, each in the order of discounts', async () => {
      // The sort is stable.
      const grid = computeFullGrid(over).toSorted((a, b) => findRatio(a) - findRatio(b))
      for (const offset of [0, 960]) {
        const query = makeQuery({ ...over, sort: 'drop', offset, limit: 13 })
        const deals = (await stores[name]?.findDeals(query)) ?? []
        const found = deals.map(({ gtin, offer }) => `${gtin} ${describeOffer(offer)}`)
        expect(found).toEqual(grid.slice(offset, offset + 13))
      }
    })

    test.each(SORTS)('sorted by %s - every page equals the reference computation', async (sort) => {
      const grid = computeFullGrid({ ...over, sort })
      for (const offset of [0, 60, 960, 2_400]) {
        const query = makeQuery({ ...over, sort, offset, limit: 13 })
        const deals = (await stores[name]?.findDeals(query)) ?? []
        const found = deals.map(({ gtin, offer }) => `${gtin} ${describeOffer(offer)}`)
        expect(found).toEqual(grid.slice(offset, offset + 13))
      }
    })
  })
})

test('PostgreSQL, timeout exceeded - the server cancels the statement, and the store has not failed', async () => {
  const store = stores['PostgreSQL']
  const query = makeQuery({ excluded: ['alpha'], sort: 'saving', offset: 2_400 })
  await expect(store?.findDeals(query, 0)).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
  expect(await store?.findDeals(query, 60_000)).toHaveLength(61)
})
