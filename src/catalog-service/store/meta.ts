import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { StoreError } from '../../errors.ts'
import type { Catalog } from './schema.ts'

/**
 * - `catalog_id`: uuid of the catalog's content
 * - `sample_base`: the address that the sample data links to; absent without sample data
 * - `import_id`: number of the last import
 */
type MetaKey = 'catalog_id' | 'sample_base' | 'import_id'

/** Return the uuid of the content. Sample data renews it; an import keeps it, so that a server's stored copy stays valid. */
export async function getCatalogId(database: Catalog): Promise<string> {
  const id = await findMeta(database, 'catalog_id')
  if (id === undefined) throw new StoreError('the catalog has no id; restore the database from a backup')
  return id
}

export async function renewCatalogId(database: Catalog): Promise<string> {
  const id = randomUUID()
  await setMeta(database, 'catalog_id', id)
  return id
}

export async function findMeta(database: Catalog, key: MetaKey): Promise<string | undefined> {
  const { rows } = await sql<{ value: string }>`select value from meta where key = ${key}`.execute(database)
  return rows[0]?.value
}

export async function setMeta(database: Catalog, key: MetaKey, value: string): Promise<void> {
  await sql`
    insert into meta (key, value) values (${key}, ${value})
    on conflict (key) do update set value = excluded.value`.execute(database)
}

/** Tables that sample data fills, children first. Organizations and keys are kept. */
const CONTENT_TABLES = [
  'offers',
  'products',
  'feed_shops',
  'approvals',
  'network_channels',
  'networks',
  'merchants',
  'channels',
] as const

export async function isCatalogEmpty(database: Catalog): Promise<boolean> {
  const found = await sql<{ found: number | boolean }>`
    select exists (select 1 from channels) or exists (select 1 from networks)
      or exists (select 1 from merchants) or exists (select 1 from products) as found`.execute(database)
  return !found.rows[0]?.found
}

/** `true` when the catalog contains only sample data. The first import removes `sample_base`. */
export async function isSampleOnly(database: Catalog): Promise<boolean> {
  return (await findMeta(database, 'sample_base')) !== undefined
}

export type CatalogContent = 'sample' | 'empty' | 'own'

export async function readCatalogContent(database: Catalog): Promise<CatalogContent> {
  if (await isSampleOnly(database)) return 'sample'
  return (await isCatalogEmpty(database)) ? 'empty' : 'own'
}

export async function removeSampleData(database: Catalog): Promise<void> {
  for (const table of CONTENT_TABLES) await sql`delete from ${sql.table(table)}`.execute(database)
  await sql`delete from meta where key = 'sample_base'`.execute(database)
}
