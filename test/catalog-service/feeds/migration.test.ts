import { join } from 'node:path'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { CATALOG_MIGRATIONS } from '../../../src/catalog-service/store/migrations.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { migrateDatabase } from '../../../src/database/migrate.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { createFolder } from '../harness.ts'
import { describeFeedMigration, selectMigrations } from './migration-cases.ts'

describeFeedMigration('SQLite', async (rows) => {
  const folder = createFolder()
  const path = join(folder, 'catalog.db')
  const dialect = new SqliteDialect({ database: openSqlite({ path, role: 'writer' }) })
  const former = new Kysely<unknown>({ dialect })
  await migrateDatabase(former, selectMigrations(CATALOG_MIGRATIONS, '0006-touched-gtins'))
  for (const row of rows) await sql.raw(row).execute(former)
  await former.destroy()
  const clock = createFakeClock(Date.UTC(2026, 4, 1))
  const database = { kind: 'sqlite', path } as const
  const store = await openCatalogStore({ database, clock })
  addCleanup(() => store.close())
  return { store, folder, database, clock }
})
