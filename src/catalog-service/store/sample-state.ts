import { type Kysely, sql } from 'kysely'
import { findMeta, removeMeta } from './meta.ts'
import type { CatalogTables } from './schema.ts'

/** Tables that sample data fills, children first. Organizations and keys are not among them. */
const CONTENT_TABLES = [
  'offers',
  'products',
  'approvals',
  'network_channels',
  'networks',
  'merchants',
  'channels',
] as const

/** Has the catalog no channel, network, merchant or product? Organizations and keys do not count. */
export async function isCatalogEmpty(database: Kysely<CatalogTables>): Promise<boolean> {
  const found = await sql<{ found: number | boolean }>`
    select exists (select 1 from channels) or exists (select 1 from networks)
      or exists (select 1 from merchants) or exists (select 1 from products) as found`.execute(database)
  return !found.rows[0]?.found
}

/** Does the catalog hold sample data and nothing else? The mark goes with the first import. */
export async function isSampleOnly(database: Kysely<CatalogTables>): Promise<boolean> {
  return (await findMeta(database, 'sample_base')) !== undefined
}

/** What a catalog holds: nothing but sample data, nothing at all, or something of its operator's. */
export type CatalogContent = 'sample' | 'empty' | 'own'

/** What does the catalog hold now? */
export async function readContent(database: Kysely<CatalogTables>): Promise<CatalogContent> {
  if (await isSampleOnly(database)) return 'sample'
  return (await isCatalogEmpty(database)) ? 'empty' : 'own'
}

/** Removes the sample data and its mark. Call it only when `isSampleOnly`, in a transaction. */
export async function removeSampleData(database: Kysely<CatalogTables>): Promise<void> {
  for (const table of CONTENT_TABLES) await database.deleteFrom(table).execute()
  await removeMeta(database, 'sample_base')
}
