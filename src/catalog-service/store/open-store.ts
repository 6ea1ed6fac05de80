import type { Clock } from '../../clock.ts'
import type { DatabaseAddress } from '../../config/database-address.ts'
import type { MigrationListener } from '../../database/migrate.ts'
import type { CatalogDatabase, CatalogRole, CatalogStore } from './catalog-store.ts'
import { fetchChannels, hasChannel } from './channels.ts'
import { findCaller } from './keys.ts'
import { findDefaultOrganization } from './organizations.ts'
import { openSqliteCatalog } from './sqlite.ts'
import { createKeyUseRecorder, createUsageCounter } from './usage.ts'
import { fetchVisiblePage, findVisibleProduct } from './visible-products.ts'

type CatalogStoreOptions = Readonly<{
  database: DatabaseAddress
  clock: Clock
  role?: CatalogRole
  onMigrated?: MigrationListener
}>

/** Open and migrate the database. @throws StoreError when it cannot be opened; StoreVersionError when another version made it. */
export async function openCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { clock } = options
  const { run, runInSnapshot, ...connections } = await openDatabase(options)
  const { reader, usage } = connections
  return {
    ...connections,
    clock,
    findCaller: (key) => run(() => findCaller(reader, key)),
    async findDefaultCaller() {
      const organization = await run(() => findDefaultOrganization(reader))
      return organization && { organization, keyId: null }
    },
    fetchChannels: (organizationId) => run(() => fetchChannels(reader, organizationId)),
    async findProduct(channel, gtin) {
      const query = { gtin, nowMs: clock.nowMs() }
      const product = await run(() => findVisibleProduct(reader, channel, query))
      if (product !== undefined) return product
      return (await run(() => hasChannel(reader, channel))) ? null : undefined
    },
    fetchPage: (query) =>
      runInSnapshot(async (transaction) =>
        (await hasChannel(transaction, query))
          ? fetchVisiblePage(transaction, query, clock.nowMs())
          : undefined,
      ),
    countRequest: createUsageCounter({ usage, run }, clock),
    recordKeyUse: createKeyUseRecorder({ usage, run }, clock),
  }
}

async function openDatabase({
  database,
  role = 'command',
  onMigrated = () => {},
}: CatalogStoreOptions): Promise<CatalogDatabase> {
  if (database.kind === 'sqlite') return openSqliteCatalog(database.path, role === 'standalone', onMigrated)
  const { openPostgresCatalog } = await import('./postgres.ts')
  return openPostgresCatalog(database, role, onMigrated)
}
