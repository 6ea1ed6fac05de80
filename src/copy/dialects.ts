import { Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import type { DatabaseAddress } from '../config/config.ts'
import { SECOND_MS } from '../clock.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { migrateDatabase } from '../database/migrate.ts'
import { type SqliteOptions, openSqlite } from '../database/sqlite.ts'
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

type Sizes = Pick<SqliteOptions, 'checkpointBytes'>

/**
 * What a walk writes twice goes into the file once. The one who serves leaves the copying of the log to walks, and does it
 * only where it grows without any. A larger cache of pages made walks no faster, and stayed with the server after them.
 */
const WALK_SIZES: Sizes = { checkpointBytes: 12 * 1_024 * 1_024 }
const SERVING_SIZES: Sizes = { checkpointBytes: 48 * 1_024 * 1_024 }

/**
 * Opens the stored copy's database and brings it to this version.
 * @throws StoreError, StoreNewerError
 */
export async function openCopyDatabase(
  address: DatabaseAddress,
  timeouts: BusyTimeouts = WALK_TIMEOUTS,
): Promise<CopyDatabase> {
  const sizes = timeouts === WALK_TIMEOUTS ? WALK_SIZES : SERVING_SIZES
  const writer = openKysely({
    ...sizes,
    path: address.path,
    role: 'writer',
    busyTimeoutMs: timeouts.openingMs,
  })
  try {
    await migrateDatabase(writer, COPY_MIGRATIONS)
    await sql`pragma busy_timeout = ${sql.lit(timeouts.openMs)}`.execute(writer)
    const readingMs = Math.max(timeouts.openMs, READING_MS)
    const reader =
      address.path === ':memory:'
        ? writer
        : openKysely({ path: address.path, role: 'reader', busyTimeoutMs: readingMs })
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

function openKysely(options: SqliteOptions): Kysely<CopyTables> {
  // A reader is opened at its first statement: a walk needs none, and Kysely does not close what it never used.
  const open = (): SqliteDatabase => openSqlite(options)
  const database = options.role === 'reader' ? () => Promise.resolve(open()) : open()
  return new Kysely<CopyTables>({ dialect: new SqliteDialect({ database }) })
}
