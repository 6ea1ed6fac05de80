import { Kysely, SqliteDialect } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { EXPECTED_HISTORIES, migrateHistories } from './history-migration.ts'

test('SQLite: observed prices of version 1.0 - are kept', async () => {
  const sqlite = openSqlite({ path: ':memory:', role: 'writer' })
  const database = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database: sqlite }) })
  onTestFinished(() => database.destroy())
  const migrated = migrateHistories(database, (migrations) => migrateDatabase(database, migrations))
  expect(await migrated).toEqual(EXPECTED_HISTORIES)
})
