import { Kysely, SqliteDialect } from 'kysely'
import { onTestFinished } from 'vitest'
import { openSqlite } from '../../src/database/sqlite.ts'
import { describeDialect } from './dialect-model.ts'

describeDialect('SQLite', {
  id: 'integer primary key',
  open() {
    const database = openSqlite({ path: ':memory:', role: 'writer' })
    const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
    onTestFinished(() => kysely.destroy())
    return kysely
  },
})
