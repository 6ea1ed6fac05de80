import { statSync } from 'node:fs'
import type { SqliteDatabase } from 'kysely'
import { MoveError, StoreNewerError, StoreOlderError } from '../errors.ts'
import { type Migrations, isUnreleased } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

/** A SQLite file whose rows are read in one snapshot. Nothing is written to it. */
export type MoveSource = Readonly<{
  path: string
  database: SqliteDatabase
  /** Whether another process seems to have the file open: SQLite empties the write-ahead log when the last one closes it. */
  isInUse: boolean
  /** End the snapshot; `true` when another process has written to the file since it began. */
  endSnapshot(): boolean
  close(): void
}>

/**
 * Open a file that exists, and begin the snapshot. `what` names its content in messages.
 * @throws StoreError when the file cannot be read; StoreVersionError; MoveError when it needs migrations or is another database.
 */
export function openMoveSource(path: string, migrations: Migrations, what: string): MoveSource {
  const isInUse = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  const database = openSqlite({ path, role: 'reader' })
  try {
    const version = readVersion(database)
    database.prepare('begin').run([])
    assertMigrated(database, migrations, { path, what })
    return {
      path,
      database,
      isInUse,
      endSnapshot() {
        database.prepare('commit').run([])
        return readVersion(database) !== version
      },
      close: () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Changes with each commit of another connection. */
function readVersion(database: SqliteDatabase): unknown {
  const [row] = database.prepare('pragma data_version').all([]) as { data_version: number }[]
  return row?.data_version
}

function assertMigrated(
  database: SqliteDatabase,
  migrations: Migrations,
  { path, what }: Readonly<{ path: string; what: string }>,
): void {
  const names = listMigrations(database)
  if (isUnreleased(names))
    throw new StoreOlderError(
      `A build of Vitrine before 1.0.0 created "${path}", and this version cannot read it; nothing was moved`,
      { remedy: 'Start with an empty database instead.' },
    )
  const known = names.filter((name) => Object.hasOwn(migrations, name))
  if (known.length === 0) throw new MoveError(`"${path}" is not the ${what} of Vitrine; nothing was moved`)
  if (known.length < names.length)
    throw new StoreNewerError(
      `A newer version of Vitrine has migrated "${path}"; nothing was moved. Move it with that version`,
    )
  if (known.length < Object.keys(migrations).length)
    throw new MoveError(
      `an older version of Vitrine wrote "${path}"; nothing was moved. Open it once with this version and its own settings: run "vitrine check", for a separate catalog service "vitrine catalog keys"`,
    )
}

function listMigrations(database: SqliteDatabase): readonly string[] {
  const tables = database.prepare(`select 1 from sqlite_master where name = 'kysely_migration'`).all([])
  if (tables.length === 0) return []
  const rows = database.prepare('select name from kysely_migration').all([]) as { name: string }[]
  return rows.map(({ name }) => name)
}
