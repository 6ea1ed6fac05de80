import { Kysely, SqliteDialect } from 'kysely'
import { onTestFinished, test } from 'vitest'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { testHistoryMigration } from './history-migration.ts'

test('SQLite: observed prices of version 1.0 - are kept', async () => {
  const sqlite = openSqlite({ path: ':memory:', role: 'writer' })
  const database = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database: sqlite }) })
  onTestFinished(() => database.destroy())
  await testHistoryMigration(database, (migrations) => migrateDatabase(database, migrations))
})
