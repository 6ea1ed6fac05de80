import { expect, test } from 'vitest'
import { runBuilt } from '../../cli/run-cli.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import {
  type CrashFixture,
  PAGE_PRODUCTS,
  expectIntact,
  makeWalkedFixture,
  setPrices,
  walkInProcess,
} from './crash-fixture.ts'
import { killAtStatement } from './kill-at-statement.ts'

const PRODUCTS: number = 4 * PAGE_PRODUCTS
const [OLD, NEW] = ['49.90', '39.90'] as const

/** Read the observed prices of every product, each day once. */
async function readHistory({ catalog, path }: CrashFixture): Promise<readonly string[]> {
  const history = { keptDays: 400, priceMaxAgeSeconds: 86_400 }
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url, history })
  const histories: string[] = []
  for (let index = 0; index < PRODUCTS; index += 1)
    histories.push(JSON.stringify(await store.findPriceSeries(CHANNEL_ID, toGtin(index))))
  await store.close()
  return histories
}

async function makeFixture(): Promise<CrashFixture> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  return fixture
}

test.each([
  ['the first price', /^insert into "price_histories"/, 1],
  ['a price of the third page', /^insert into "price_histories"/, 2 * PAGE_PRODUCTS + 7],
  ['the deals after the prices', /^insert into "deals"/, 5],
  ['the row of a page', /^insert into "walk_pages"/, 3],
  ['the end of the walk', /update copies set current_walk = \?, running_walk/, 1],
] as const)('sync, killed just before %s, and again - records the same as without', async (...row) => {
  const [, pattern, count] = row
  const [fixture, undisturbed] = [await makeFixture(), await makeFixture()]
  const killed = { ...fixture.settings, ...killAtStatement(fixture.folder, pattern, count) }
  expect((await runBuilt(['sync'], killed)).code).toBeNull()
  expectIntact(fixture.path)
  await walkInProcess(fixture)
  await walkInProcess(undisturbed)
  const expected = await readHistory(undisturbed)
  expect(await readHistory(fixture)).toEqual(expected)
  expect(expected[0]).toContain('"last":399000')
})
