import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { CatalogStore } from './catalog-store.ts'
import type { CatalogTables, MetaTable } from './schema.ts'

/**
 * - `catalog_id`: uuid of this catalog's content
 * - `sample_base`: the address that the sample data was made for; absent when the catalog holds something else
 * - `import_id`: number of the last import
 * - `state`: changes with every change of the catalog, where the database does not count them itself (docs/adr/0024)
 */
type MetaKey = 'catalog_id' | 'sample_base' | 'import_id' | 'state'

/**
 * The uuid of the catalog's content. It changes when sample data is made, or made again for another address. An
 * import keeps it, so that a running widget server goes on with the copy that it has open.
 */
export async function getCatalogId(store: CatalogStore): Promise<string> {
  const known = await findMeta(store.reader, 'catalog_id')
  if (known !== undefined) return known
  return store.write(async (database) => {
    await database
      .insertInto('meta')
      .values({ key: 'catalog_id', value: randomUUID() })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return (await findMeta(database, 'catalog_id')) ?? ''
  })
}

/** Gives the catalog a new id; call it in the transaction that changes the content. */
export async function renewCatalogId(database: Kysely<CatalogTables>): Promise<void> {
  await putMeta(database, 'catalog_id', randomUUID())
}

/** A fact about the catalog; `undefined` when it was never set. */
export async function findMeta(database: Kysely<CatalogTables>, key: MetaKey): Promise<string | undefined> {
  const row = await database.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst()
  return row?.value
}

/** Sets a fact about the catalog. */
export async function putMeta(database: Kysely<CatalogTables>, key: MetaKey, value: string): Promise<void> {
  const row: MetaTable = { key, value }
  await database
    .insertInto('meta')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

/** Forgets a fact about the catalog. */
export async function removeMeta(database: Kysely<CatalogTables>, key: MetaKey): Promise<void> {
  await database.deleteFrom('meta').where('key', '=', key).execute()
}
