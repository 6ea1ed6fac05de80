import { Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import type { DatabaseAddress } from '../config/config.ts'
import { SECOND_MS } from '../clock.ts'
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

/** How long statements wait for another process's transaction: while the database is opened, and afterwards. */
export type BusyTimeouts = Readonly<{ openingMs: number; openMs: number }>

/** Reads wait only while another process mends or shrinks the log. */
const READING_MS = 100

/** A walk gives up before it would be ended by force: that may end the process where SQLite is an addon. */
const WALK_TIMEOUTS: BusyTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/**
 * Opens the stored copy's database and brings it to this version.
 * @throws StoreError, StoreNewerError
 */
export async function openCopyDatabase(
  address: DatabaseAddress,
  timeouts: BusyTimeouts = WALK_TIMEOUTS,
): Promise<CopyDatabase> {
  const writer = openKysely(address, 'writer', timeouts.openingMs)
  try {
    await migrateDatabase(writer, COPY_MIGRATIONS)
    await sql`pragma busy_timeout = ${sql.lit(timeouts.openMs)}`.execute(writer)
    const readingMs = Math.max(timeouts.openMs, READING_MS)
    const reader = address.path === ':memory:' ? writer : openKysely(address, 'reader', readingMs)
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

function openKysely(
  address: DatabaseAddress,
  role: 'reader' | 'writer',
  busyTimeoutMs: number,
): Kysely<CopyTables> {
  // A reader is opened at its first statement: a walk needs none, and Kysely does not close what it never used.
  const open = (): SqliteDatabase => openSqlite({ path: address.path, role, busyTimeoutMs })
  const database = role === 'reader' ? () => Promise.resolve(open()) : open()
  return new Kysely<CopyTables>({ dialect: new SqliteDialect({ database }) })
}
