import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { getCatalogId } from '../../../src/catalog-service/store/meta.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { importRows, createProduct, fetchProducts, openTestStore } from '../harness.ts'
import { getReader, getUsage } from '../store-handles.ts'

test('new catalog, opened again - has one migration a database, the same id and the same products', async () => {
  const fixture = await openTestStore()
  const { store, database, clock } = fixture
  const { channelId } = await importRows(fixture, [createProduct('17')])
  const migrated: string[] = []
  const other = await openCatalogStore({
    database,
    clock,
    onMigrated: (names) => void migrated.push(...names),
  })
  expect(migrated).toEqual([])
  expect(await getCatalogId(await getReader(other))).toBe(await getCatalogId(await getReader(store)))
  expect(await fetchProducts({ ...fixture, store: other }, channelId)).toEqual(
    await fetchProducts(fixture, channelId),
  )
  for (const [place, name] of [
    [await getReader(other), 'catalog-0001-tables'],
    [await getUsage(other), database.kind === 'sqlite' ? 'usage-0001-tables' : 'catalog-0001-tables'],
  ] as const) {
    const { rows } = await sql`select name from kysely_migration`.execute(place)
    expect(rows).toEqual([{ name }])
  }
  await other.close()
})
