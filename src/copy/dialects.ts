import { Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import type { DatabaseAddress } from '../config/config.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { migrateDatabase } from '../database/migrate.ts'
import { openSqlite } from '../database/sqlite.ts'
import { COPY_MIGRATIONS } from './migrations/index.ts'
import type { CopyTables } from './schema.ts'

/** Reading and writing connections to one database: on SQLite reads never queue behind a transaction. */
export type CopyDatabase = Readonly<{
  reader: Kysely<CopyTables>
  writer: Kysely<CopyTables>
  close(): Promise<void>
}>

/**
 * Opens the stored copy's database and brings it to this version. `busyTimeoutMs`: how long a write waits for another
 * process's transaction once it is open; SQLite waits on the calling thread.
 * @throws StoreError, StoreNewerError
 */
export async function openCopyDatabase(
  address: DatabaseAddress,
  busyTimeoutMs?: number,
): Promise<CopyDatabase> {
  const writer = openKysely(address, 'writer')
  try {
    await migrateDatabase(writer, COPY_MIGRATIONS)
    if (busyTimeoutMs !== undefined)
      await sql`pragma busy_timeout = ${sql.lit(busyTimeoutMs)}`.execute(writer)
    const reader = address.path === ':memory:' ? writer : openKysely(address, 'reader')
    return {
      reader,
      writer,
      async close() {
        if (reader !== writer) await reader.destroy()
        await writer.destroy()
      },
    }
  } catch (error) {
    await writer.destroy().catch(() => {})
    throw error instanceof VitrineError
      ? error
      : new StoreError(`the database ${address.path} cannot be opened`, { cause: error })
  }
}

function openKysely(address: DatabaseAddress, role: 'reader' | 'writer'): Kysely<CopyTables> {
  // A reader is opened at its first statement: a walk needs none, and Kysely does not close what it never used.
  const open = (): SqliteDatabase => openSqlite({ path: address.path, role })
  const database = role === 'reader' ? () => Promise.resolve(open()) : open()
  return new Kysely<CopyTables>({ dialect: new SqliteDialect({ database }) })
}
