import { statSync } from 'node:fs'
import { type Kysely, type SqliteDatabase, sql } from 'kysely'
import { MoveError, StoreNewerError, StoreOlderError } from '../errors.ts'
import { insertNewRows } from './dialect.ts'
import { findPostgresFailure, findSqlState } from './failures.ts'
import { type Migrations, isUnreleased } from './migrate.ts'
import { readInSnapshot } from './open-database.ts'
import { openSqlite } from './sqlite.ts'

/** A table that `vitrine move` copies from SQLite to PostgreSQL. */
export type MovedTable = Readonly<{
  name: string
  /** Columns of the primary key. Both databases list the rows in its order, texts bytewise. */
  key: readonly string[]
  /** Statement that gives the rows of the source; by default all of the table, with all columns. */
  select?: string
  /** Order of the rows in the target, where it is not that of `key`. */
  targetOrder?: string
  /** The database generates the column `id`. */
  hasGeneratedId?: true
  /** Migrations or `vitrine check` add rows to the table of an unused database. Other rows than the source's are replaced. */
  isReplaced?: true
}>

/** Tables that are not moved, by name, with the reason. */
export type LeftTables = Readonly<Record<string, string>>

/** `source`: `null` when the file does not exist, as if it had no rows. */
export type BoundTable = MovedTable & Readonly<{ source: SqliteDatabase | null }>

/** A database to move. */
export type Move = Readonly<{
  /** Parents before the tables that refer to them. */
  tables: readonly BoundTable[]
  /** Host, port and database of the target, and how it is emptied. */
  label: string
  schema: string
  read<T>(work: (reader: Kysely<unknown>) => Promise<T>): Promise<T>
  /** Execute work in a transaction, as other writers of the target do. */
  write<T>(work: (transaction: Kysely<unknown>) => Promise<T>): Promise<T>
}>

/** Rows of a table: those that this run inserted, and all of the source. */
export type MovedRows = Readonly<{ table: string; moved: number; total: number }>

type Row = Readonly<Record<string, unknown>>

/** Bounds of one statement. */
const BATCH_ROWS = 2_000
const BATCH_CHARACTERS = 4_000_000

/** SQLSTATE classes of values that do not fit into their column, and of rows without what they refer to. */
const INVALID_VALUE = /^2[23]/

/** Rows that are fetched at once to compare them. */
const FETCHED_ROWS = 1_000

/** Say how to empty a schema, as a clause. */
export function describeCleanup(schema: string): string {
  return `empty it with "drop schema if exists ${schema} cascade" (a user who may not create schemas needs it again: "create schema ${schema} authorization USER")`
}

/**
 * Check that the target has nothing but rows of the source, from an earlier run. Return the names of tables to replace.
 * @throws MoveError when it has other rows.
 */
export async function checkTarget(move: Move): Promise<ReadonlySet<string>> {
  const replaced = new Set<string>()
  for (const table of move.tables) {
    const { hasOther } = await compareTable(move, table)
    if (hasOther && table.isReplaced === true) replaced.add(table.name)
    else if (hasOther)
      throw new MoveError(
        `the database ${move.label} has other rows in ${move.schema}.${table.name} than the SQLite file, because a server has used it or the file has changed; nothing was changed. Choose an empty database, or ${describeCleanup(move.schema)}`,
      )
  }
  return replaced
}

/** Copy the rows that are missing. `onBatch` gets the rows of each batch, and throws to stop the move. */
export async function moveTables(
  move: Move,
  { replaced, onBatch }: Readonly<{ replaced: ReadonlySet<string>; onBatch(rows: number): void }>,
): Promise<readonly MovedRows[]> {
  const result: MovedRows[] = []
  for (const table of move.tables) {
    let [moved, total] = [0, 0]
    if (replaced.has(table.name))
      await move.write((transaction) => sql`delete from ${sql.table(table.name)}`.execute(transaction))
    for (const rows of readBatches(table)) {
      moved += await move.write((transaction) => insertBatch(transaction, table.name, rows))
      total += rows.length
      onBatch(rows.length)
    }
    if (table.hasGeneratedId === true) await move.write((transaction) => setNextId(transaction, table))
    if (moved > 0) await move.read((reader) => sql`analyze ${sql.table(table.name)}`.execute(reader))
    result.push({ table: table.name, moved, total })
  }
  return result
}

/** Compare all rows of both databases. @throws MoveError when they differ. */
export async function verifyTables(move: Move, moved: readonly MovedRows[]): Promise<void> {
  for (const [index, { table, total }] of moved.entries()) {
    const { count, hasOther } = await compareTable(move, move.tables[index] as BoundTable)
    if (hasOther || count !== total)
      throw new MoveError(
        `after the move, ${move.label} has ${count} rows in ${move.schema}.${table} where the SQLite file has ${total}, or rows with other values, so another process writes to it. Stop it, ${describeCleanup(move.schema)}, and repeat the move`,
      )
  }
}

/**
 * Count the rows of the target up to the first that the source does not have. Both lists have the same order, so the target's is
 * a part of the source's.
 */
function compareTable(
  move: Move,
  table: BoundTable,
): Promise<Readonly<{ count: number; hasOther: boolean }>> {
  return move.read(async (reader) => {
    const rows = readSource(table)
    try {
      return await readInSnapshot(reader, (snapshot) => compareRows(snapshot, table, rows))
    } finally {
      rows.return(undefined)
    }
  })
}

async function compareRows(
  snapshot: Kysely<unknown>,
  table: BoundTable,
  sourceRows: Generator<Row, void>,
): Promise<Readonly<{ count: number; hasOther: boolean }>> {
  let row = sourceRows.next()
  const columns = row.done === true ? table.key : Object.keys(row.value)
  const targetOrder = table.targetOrder ?? table.key.map(quote).join(', ')
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(snapshot)
  await sql
    .raw(
      `declare moved_rows no scroll cursor for
      select ${columns.map(quote).join(', ')} from ${quote(table.name)} order by ${targetOrder}`,
    )
    .execute(snapshot)
  for (let count = 0; ;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(FETCHED_ROWS)} from moved_rows`.execute(snapshot)
    if (rows.length === 0) return { count, hasOther: false }
    for (const targetRow of rows) {
      while (row.done !== true && !isEqual(row.value, targetRow, columns)) row = sourceRows.next()
      if (row.done === true) return { count, hasOther: true }
      count += 1
      row = sourceRows.next()
    }
  }
}

function isEqual(a: Row, b: Row, columns: readonly string[]): boolean {
  return columns.every((column) => a[column] === b[column])
}

/** @yields the rows of the source in batches */
function* readBatches(table: BoundTable): Generator<readonly Row[]> {
  let batch: Row[] = []
  let characters = 0
  for (const row of readSource(table)) {
    batch.push(row)
    for (const value of Object.values(row)) characters += typeof value === 'string' ? value.length : 0
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}

/** @yields the rows of the source as the target stores them */
function* readSource({ name, key, select, source }: BoundTable): Generator<Row, undefined> {
  if (source === null) return
  const order = key.map(quote).join(', ')
  const statement = source.prepare(
    `select * from (${select ?? `select * from ${quote(name)}`}) order by ${order}`,
  )
  const rows = statement.iterate([]) as IterableIterator<Row>
  try {
    for (;;) {
      const next = readNext(rows, name)
      if (next.done === true) return
      yield toStorable(next.value, name)
    }
  } finally {
    rows.return?.()
  }
}

/** SQLite stores any value in any column, also numbers that JavaScript does not have. */
function readNext(rows: IterableIterator<Row>, name: string): IteratorResult<Row> {
  try {
    return rows.next()
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown reason'
    throw new MoveError(`the table ${name} of the SQLite file cannot be read: ${reason}`, { cause: error })
  }
}

/** Remove U+0000, which PostgreSQL cannot store. An import removes it, too. @throws MoveError for bytes. */
function toStorable(row: Row, table: string): Row {
  let isClean = true
  for (const [column, value] of Object.entries(row)) {
    if (value instanceof Uint8Array)
      throw new MoveError(`the column ${column} of the table ${table} of the SQLite file has bytes, not text`)
    if (typeof value === 'string' && value.includes('\u0000')) isClean = false
  }
  if (isClean) return row
  const entries = Object.entries(row).map(([column, value]) => [
    column,
    typeof value === 'string' ? value.replaceAll('\u0000', '') : value,
  ])
  return Object.fromEntries(entries) as Row
}

async function insertBatch(database: Kysely<unknown>, table: string, rows: readonly Row[]): Promise<number> {
  try {
    return await insertNewRows(database, table, rows)
  } catch (error) {
    if (!INVALID_VALUE.test(findSqlState(error) ?? '')) throw error
    const reason = findPostgresFailure(error)?.message ?? 'unknown reason'
    throw new MoveError(`the table ${table} of the SQLite file has an invalid value: ${reason}`)
  }
}

/** Let generated ids continue after all that the source has given, also those of removed rows. */
async function setNextId(database: Kysely<unknown>, { name, source }: BoundTable): Promise<void> {
  if (source === null) return
  const statement = `select max(id) as id from (select id from ${quote(name)}
    union all select seq from sqlite_sequence where name = '${name}')`
  const [row] = source.prepare(statement).all([]) as { id: number | null }[]
  if (row === undefined || row.id === null) return
  await sql`select setval(pg_get_serial_sequence(${name}, 'id'),
    greatest(nextval(pg_get_serial_sequence(${name}, 'id')), ${row.id}))`.execute(database)
}

function quote(name: string): string {
  return `"${name}"`
}

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
