import type { CatalogStore } from '../../src/catalog-service/store/catalog-store.ts'
import type { Catalog, UsageTables } from '../../src/catalog-service/store/schema.ts'
import type { Kysely } from 'kysely'

/** Return the connection that reads the catalog, for statements of tests. */
export function getReader({ read }: Pick<CatalogStore, 'read'>): Promise<Catalog> {
  return read((reader) => Promise.resolve(reader))
}

/** Return the connection that writes usage. */
export function getUsage({ usage }: Pick<CatalogStore, 'usage'>): Promise<Kysely<UsageTables>> {
  return usage.write(({ writer }) => Promise.resolve(writer))
}
