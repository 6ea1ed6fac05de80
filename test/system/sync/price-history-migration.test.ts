import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import { parseSerializedAddress } from '../../../src/config/database-address.ts'
import { openCopyDatabase } from '../../../src/storage/copy-database.ts'
import { openSqlStore } from '../../../src/storage/sql-store.ts'
import { isPostgres } from '../../../src/database/is-postgres.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { makeQuery } from '../../storage/conformance/subject.ts'
import { undoPriceHistory } from '../../storage/undo-migrations.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from '../../sync/walk-fixture.ts'
import { useDatabase } from '../use-database.ts'

const PRODUCTS = 120

const database = useDatabase()

const START: Readonly<Record<string, () => Promise<WalkFixture>>> = {
  'SQLite file': () => makeWalkFixture(),
  async PostgreSQL() {
    await database.truncate()
    return makeWalkFixture(database.address)
  },
}

test.each(Object.entries(START))(
  '%s: copy of a version without observed prices - has the same grids, and its next walk records every product',
  async (_name, start) => {
    const fixture = await start()
    fixture.catalog.nowMs = fixture.clock.nowMs
    const address = parseSerializedAddress(fixture.job.database)
    setProducts(fixture.catalog, makeWireProducts(PRODUCTS))
    fixture.clock.advance(HOUR_MS)
    await fixture.walk()
    const grid = await fixture.copy.findDeals(makeQuery())
    const { writer, close } = await openCopyDatabase(address)
    await undoPriceHistory(writer)
    const name = isPostgres(writer) ? '0007' : '0012'
    await sql`delete from kysely_migration where name >= ${name}`.execute(writer)
    await close()

    const copy = await openSqlStore({
      database: address,
      catalog: fixture.job.catalog,
      clock: fixture.clock,
      history: fixture.job.history,
    })
    expect(await copy.findDeals(makeQuery())).toEqual(grid)
    expect(await copy.findDeals(makeQuery({ sort: 'drop' }))).toEqual(grid)
    expect(await copy.findDeals(makeQuery({ evidence: 'observed' }))).toEqual([])
    expect(await copy.countObservedDays(CHANNEL_ID)).toEqual({ all: 0, imported: 0 })
    fixture.clock.advance(DAY_MS)
    const { walks } = await fixture.walk()
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: PRODUCTS }])
    for (const index of [0, PRODUCTS - 1])
      expect(await copy.findPriceSeries(CHANNEL_ID, toGtin(index))).toMatchObject([
        { days: [{ isImported: false }] },
      ])
    await copy.close()
  },
)
