import { expect, onTestFinished, test } from 'vitest'
import { migratePostgres } from '../../../src/database/migrate.ts'
import { openPostgres } from '../../../src/database/postgres.ts'
import type { CopyTables } from '../../../src/storage/schema.ts'
import { EXPECTED_HISTORIES, migrateHistories } from '../../storage/history-migration.ts'
import { useDatabase } from '../use-database.ts'

const SCHEMA = 'vitrine_migrated'

const server = useDatabase()

test('PostgreSQL: observed prices of version 1.0 - are kept', async () => {
  const { address } = server
  const { database, close } = openPostgres<CopyTables>({
    address,
    schema: SCHEMA,
    size: 1,
    statementTimeoutMs: 60_000,
  })
  onTestFinished(close)
  const migrated = migrateHistories(database, (migrations) => migratePostgres(database, SCHEMA, migrations))
  expect(await migrated).toEqual(EXPECTED_HISTORIES)
})
