import type { Clock } from '../../clock.ts'
import type { DatabaseAddress } from '../../config/database-address.ts'
import type { CatalogStore } from './catalog-store.ts'
import { openSqliteStore } from './open-sqlite.ts'

/**
 * Who opens the catalog. `command`: it does one thing, which may take long, and says at once when the database is away.
 * `embedded`: a service beside others in one process. `alone`: a service that has its process to itself, and goes on when
 * the database is away.
 */
export type CatalogRole = 'command' | 'embedded' | 'alone'

/** `role` is `command` by default. */
export type CatalogStoreOptions = Readonly<{ database: DatabaseAddress; clock: Clock; role?: CatalogRole }>

/**
 * Opens the catalog's database and brings it to this version.
 * @throws StoreError when it cannot be opened; StoreNewerError when a newer version made it.
 */
export async function openCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { database, clock, role = 'command' } = options
  if (database.kind === 'sqlite')
    return openSqliteStore({ path: database.path, clock, isServedAlone: role === 'alone' })
  // Whoever keeps files never loads it.
  const { openPostgresStore } = await import('./postgres/open-postgres.ts')
  return openPostgresStore({ address: database, clock, role })
}
