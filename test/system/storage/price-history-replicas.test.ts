import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { Lookup } from '../../../src/storage/store.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { toGtin } from '../../helpers/products.ts'
import { RULES, makeLamp, toMs } from '../../storage/conformance/price-history-fixture.ts'
import { CHANNEL, type Copy, makeQuery, walkAll } from '../../storage/conformance/subject.ts'
import { useDatabase } from '../use-database.ts'

const PRODUCTS = 12
const DAYS = 36

const database = useDatabase()
beforeEach(() => database.truncate())

const clock = createFakeClock(0)

async function open(isServer: boolean): Promise<Copy> {
  const address = isServer ? database.address : ({ kind: 'sqlite', path: ':memory:' } as const)
  const copy = await openStoredCopy({ database: address, catalog: 'c', clock, history: RULES })
  onTestFinished(() => copy.close())
  return copy
}

/** Return the price in the morning, which falls now and then, and the one in the afternoon. */
const toMorningPrice = (index: number, day: number): number => 100 - ((index + day) % 11 === 0 ? 30 : 0)
const toNoonPrice = (index: number, day: number): number =>
  day === DAYS - 1 ? 60 + index : toMorningPrice(index, day) - (day % 5)

const makeAll = (day: number, toPrice: typeof toNoonPrice): Product[] =>
  Array.from({ length: PRODUCTS }, (_, index) => makeLamp(index, String(toPrice(index, day))))

const makeLookups = (products: readonly Product[], asOfMs: number): Lookup[] =>
  products.map((product) => ({ channelId: CHANNEL, gtin: product.gtin, entry: { product, asOfMs } }))

/** Read every series and the confirmed deals. */
async function readAll(copy: Copy): Promise<unknown> {
  const series = []
  for (let index = 0; index < PRODUCTS; index += 1)
    series.push(await copy.findPriceSeries(CHANNEL, toGtin(index)))
  const deals = await copy.findDeals(makeQuery({ evidence: 'observed', sort: 'drop' }))
  return {
    series,
    deals: deals.map(({ gtin, offer }) => [gtin, offer.price, offer.oldPrice]),
    days: await copy.countObservedDays(CHANNEL),
  }
}

test('two machines that walk and look up the same products at once - record the same as one', async () => {
  const [walker, other, single] = [await open(true), await open(true), await open(false)]
  for (let day = 0; day < DAYS; day += 1) {
    clock.step(toMs(day) - clock.nowMs())
    const morning = makeAll(day, toMorningPrice)
    const noon = makeAll(day, toNoonPrice)
    // Each machine sees the same prices, a moment apart, and the second one in reverse order.
    await Promise.all([
      walkAll(walker, morning, toMs(day, 10)),
      other.putLookups(makeLookups(morning, toMs(day, 9)).toReversed()),
      other.putLookups(makeLookups(morning, toMs(day, 11)).toReversed()),
    ])
    await Promise.all([
      walker.putLookups(makeLookups(noon, toMs(day, 11.5))),
      other.putLookups(makeLookups(noon, toMs(day, 12)).toReversed()),
    ])
    await walkAll(single, morning, toMs(day, 10))
    await single.putLookups(makeLookups(noon, toMs(day, 12)))
  }
  const expected = await readAll(single)
  expect(await readAll(walker)).toEqual(expected)
  expect(await readAll(other)).toEqual(expected)
  expect(expected).toMatchObject({ days: { all: DAYS } })
  expect((expected as { deals: unknown[] }).deals.length).toBeGreaterThan(PRODUCTS / 2)
})
