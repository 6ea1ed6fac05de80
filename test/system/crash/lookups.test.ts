import { describe, expect, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import type { DatabaseAddress } from '../../../src/config/database-address.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { useDatabase } from '../use-database.ts'
import {
  type CrashFixture,
  expectIntact,
  makeCrashFixture,
  startListening,
  toBox,
  visit,
} from './crash-fixture.ts'
import { killAtStatement } from './kill-at-statement.ts'

const PRODUCTS = 6
/** The look-up of this product is being written when the process is killed. */
const KILLED = 3
const PRICE = '49.90'
const NO_WALKS: Environment = { VITRINE_SYNC_CRON: 'off' }

const postgres = useDatabase()

/** Return the products that are stored, and the number of prices in the history of each product. */
async function readStored(
  { catalog }: CrashFixture,
  database: DatabaseAddress,
): Promise<Readonly<{ stored: readonly number[]; prices: readonly number[] }>> {
  const copy = await openStoredCopy({
    database,
    catalog: catalog.url,
    history: { keptDays: 400, priceMaxAgeSeconds: 86_400 },
  })
  const stored: number[] = []
  const prices: number[] = []
  for (let index = 0; index < PRODUCTS; index += 1) {
    if ((await copy.findProduct(CHANNEL_ID, toGtin(index))) !== undefined) stored.push(index)
    prices.push((await copy.findPriceSeries(CHANNEL_ID, toGtin(index))).length)
  }
  await copy.close()
  return { stored, prices }
}

/** Visit the boxes before `KILLED`, each of which is stored before the next visit, and then that one. */
async function visitUntilKilled(
  url: string,
  fixture: CrashFixture,
  database: DatabaseAddress,
): Promise<void> {
  for (let index = 0; index < KILLED; index += 1) {
    expect(await visit(url, toBox(index))).toEqual({ state: 'shown', prices: [PRICE] })
    await vi.waitFor(async () => expect((await readStored(fixture, database)).stored).toContain(index))
  }
  // The process may be killed before or after its response.
  await visit(url, toBox(KILLED)).catch(() => {})
}

/** Expect all boxes after a restart, with calls only for what was not stored. */
async function expectRecovered(
  fixture: CrashFixture,
  database: DatabaseAddress,
  settings: Environment,
): Promise<void> {
  const complete = Array.from({ length: KILLED }, (_, index) => index)
  const rest = Array.from({ length: PRODUCTS - KILLED }, (_, index) => KILLED + index)
  expect(await readStored(fixture, database)).toEqual({
    stored: complete,
    prices: [...complete.map(() => 1), ...rest.map(() => 0)],
  })
  fixture.catalog.calls.length = 0
  const { url } = await startListening(settings)
  for (const index of [...complete, ...rest])
    expect(await visit(url, toBox(index))).toEqual({ state: 'shown', prices: [PRICE] })
  const called = fixture.catalog.calls.flatMap(({ path }) => /products\/(\d+)/.exec(path)?.[1] ?? [])
  expect(called).toEqual(rest.map(toGtin))
  await vi.waitFor(async () => expect((await readStored(fixture, database)).stored).toHaveLength(PRODUCTS))
}

describe('kill -9 while a look-up is written - it is lost as a whole, and is made again; those before it are not', () => {
  test.each([
    ['the product', /^insert into "products"/, KILLED + 1],
    ['its price', /^insert into "price_histories"/, KILLED + 1],
    ['its deal', /^insert into "deals"/, KILLED + 1],
  ])('SQLite, before %s', async (_name, pattern, count) => {
    const fixture = await makeCrashFixture(PRODUCTS, PRICE)
    const database = { kind: 'sqlite', path: fixture.path } as const
    const settings = { ...fixture.settings, ...NO_WALKS }
    const { running, url } = await startListening({
      ...settings,
      ...killAtStatement(fixture.folder, pattern, count),
    })
    await visitUntilKilled(url, fixture, database)
    await vi.waitFor(() => expect(running.child.signalCode).toBe('SIGKILL'))
    expectIntact(fixture.path)
    await expectRecovered(fixture, database, settings)
  })

  test('PostgreSQL, in the middle of the transaction', async () => {
    const fixture = await makeCrashFixture(PRODUCTS, PRICE)
    const settings = {
      ...fixture.settings,
      ...NO_WALKS,
      VITRINE_DATABASE_URL: postgres.url,
      // The killed process holds the lease of its look-up for this time and two seconds: the next visitor waits as long.
      VITRINE_CATALOG_TIMEOUT_MS: '500',
    }
    // Create the tables.
    await readStored(fixture, postgres.address)
    await postgres.run(`create function vitrine_copy.wait_long() returns trigger language plpgsql as
      'begin perform pg_sleep(600); return new; end'`)
    await postgres.run(`create trigger wait_long before insert on vitrine_copy.products for each row
      when (new.gtin = '${toGtin(KILLED)}') execute function vitrine_copy.wait_long()`)
    const { running, url } = await startListening(settings)
    await visitUntilKilled(url, fixture, postgres.address)
    const findWaiting = "select pid from pg_stat_activity where wait_event = 'PgSleep'"
    await vi.waitFor(async () => expect(await postgres.run(findWaiting)).toHaveLength(1))
    await running.stop('SIGKILL')
    await postgres.run(`select pg_terminate_backend(pid) from (${findWaiting}) waiting`)
    await postgres.run('drop function vitrine_copy.wait_long cascade')
    await expectRecovered(fixture, postgres.address, settings)
  })
})
