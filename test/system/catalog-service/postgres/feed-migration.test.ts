import { sql } from 'kysely'
import { POSTGRES_CATALOG_MIGRATIONS } from '../../../../src/catalog-service/store/migrations.ts'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import { MINUTE_MS } from '../../../../src/clock.ts'
import { migratePostgres } from '../../../../src/database/migrate.ts'
import { openPostgres } from '../../../../src/database/postgres.ts'
import { describeFeedMigration, selectMigrations } from '../../../catalog-service/feeds/migration-cases.ts'
import { createFolder } from '../../../catalog-service/harness.ts'
import { addCleanup } from '../../../helpers/cleanup.ts'
import { createFakeClock } from '../../../helpers/fake-clock.ts'
import { usePostgres } from '../../../helpers/postgres.ts'

const SCHEMA = 'vitrine_catalog'

const server = usePostgres()

describeFeedMigration('PostgreSQL', async (rows) => {
  const { address, drop } = await server.makeDatabase()
  addCleanup(drop)
  const former = openPostgres({ address, schema: SCHEMA, size: 1, statementTimeoutMs: MINUTE_MS })
  const migrations = selectMigrations(POSTGRES_CATALOG_MIGRATIONS, 'postgres-0002-sources')
  await migratePostgres(former.database, SCHEMA, migrations)
  for (const row of rows) await sql.raw(row).execute(former.database)
  await former.close()
  const clock = createFakeClock(Date.UTC(2026, 4, 1))
  const store = await openCatalogStore({ database: address, clock })
  addCleanup(() => store.close())
  return { store, folder: createFolder(), database: address, clock }
})
