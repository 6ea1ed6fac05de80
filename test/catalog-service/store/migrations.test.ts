import { join } from 'node:path'
import { Kysely, SqliteDialect } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CATALOG_MIGRATIONS } from '../../../src/catalog-service/store/migrations.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { migrateDatabase } from '../../../src/database/migrate.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { fetchProducts, importRows, createFolder, createOffer, createProduct } from '../harness.ts'

/** A catalog before the migration to offers by GTIN: a tracking link, a shop page, and an offer without a link. */
const FORMER_ROWS = [
  `insert into organizations values ('o', 'O', null, 0)`,
  `insert into channels values ('c', 'o', 'C', 'website', null, 0)`,
  `insert into networks values (1, 'Net', 'https://net.example/?p={publisher}&u={url}')`,
  `insert into network_channels values (5, 'o', 1, 'pub', 'c')`,
  `insert into merchants values (1, 'A'), (2, 'B')`,
  `insert into approvals values (5, 1, null), (5, 2, null)`,
  `insert into products values ('00000000000017', 'T', null, '[]'), ('00000000000024', 'no offers', null, '[]')`,
  `insert into offers values
    (1, '00000000000017', 1, 1, 5, '10', '12', 'EUR', 'in_stock', null, 'https://track.example/1', 3),
    (2, '00000000000017', 1, 1, 5, '11', null, 'EUR', 'in_stock', null, 'https://track.example/2', 3),
    (3, '00000000000017', 2, 1, null, '9', null, 'EUR', 'in_stock', 'https://shop.example/', null, null),
    (4, '00000000000017', 2, 1, null, '8', null, 'EUR', 'in_stock', null, null, null)`,
] as const

describe('migrations of the catalog', () => {
  test('catalog in the former layout - opened - has the same offers, and the next import of their shop replaces them', async () => {
    const folder = createFolder()
    const path = join(folder, 'catalog.db')
    const sqlite = openSqlite({ path, role: 'writer' })
    const former = new Kysely<unknown>({ dialect: new SqliteDialect({ database: sqlite }) })
    const names = ['0001-accounts', '0002-offers'] as const
    await migrateDatabase(
      former,
      Object.fromEntries(names.map((name) => [name, CATALOG_MIGRATIONS[name] ?? { up: fail }])),
    )
    for (const statement of FORMER_ROWS) sqlite.prepare(statement).run([])
    await former.destroy()

    const clock = createFakeClock(0)
    const store = await openCatalogStore({ database: { kind: 'sqlite', path }, clock })
    const [product] = await fetchProducts(
      { store, folder, database: { kind: 'sqlite', path }, clock } as const,
      'c',
    )
    expect(product?.offers.map((offer) => [offer.price, offer.old_price, offer.affiliate_url])).toEqual([
      ['10', '12', 'https://track.example/1'],
      ['11', undefined, 'https://track.example/2'],
      ['9', undefined, 'https://net.example/?p=pub&u=https%3A%2F%2Fshop.example%2F'],
    ])
    const orphans = await store.reader.selectFrom('products').select('gtin').execute()
    expect(orphans).toEqual([{ gtin: '00000000000017' }])
    const fixture = { store, folder, database: { kind: 'sqlite', path }, clock } as const
    const tracked = { network: 'Net', merchant: { name: 'A' }, affiliate_url: 'https://track.example/1' }
    const { removedOffers } = await importRows(fixture, [
      createProduct('17', { offers: [createOffer(tracked)] }),
    ])
    expect(removedOffers).toBe(2)
    const prices = (await fetchProducts(fixture, 'c')).flatMap(({ offers }) =>
      offers.map(({ price }) => price),
    )
    expect(prices.toSorted()).toEqual(['10.00', '9'])
    await store.close()
  })
})

function fail(): Promise<void> {
  throw new Error('there is no such migration')
}
