import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statfsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { BackupError, StoreError } from '../errors.ts'
import { SECOND_MS } from '../clock.ts'
import { toOpenError } from './open-error.ts'
import { DEADLINE_FUNCTION, checkReadDeadline } from './read-deadline.ts'

/** The part of `node:sqlite` that is used; `@photostructure/sqlite` offers the same. */
type NativeStatement = {
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): IterableIterator<unknown>
}
type NativeDatabase = {
  exec(sql: string): void
  prepare(sql: string): NativeStatement
  function(name: string, implementation: () => number): void
  close(): void
}
type NativeModule = { DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => NativeDatabase }

/** Prepared statements kept per connection; the code has fewer shapes of query than this. */
const MAX_CACHED_STATEMENTS = 200

/** How long a writer waits for another process's transaction, on the calling thread, before it gives up. */
const BUSY_TIMEOUT_MS: number = 5 * SECOND_MS

/** SQLite's own defaults: pages that a connection caches, and the length of the log at which a commit copies it; in bytes. */
const CACHE_BYTES: number = 2_000 * 1_024
const CHECKPOINT_BYTES: number = 4_096 * 1_000

/** A log that one large transaction made longer is cut back to this; in bytes. */
const MAX_LOG_BYTES: number = 64 * 1_024 * 1_024

/** Bytes of a page of the file, as SQLite makes it. */
const PAGE_BYTES = 4_096

/** The log may take this part of the free space. Copying it into the file may need as much again, or the log stays for ever. */
const MAX_LOG_SHARE = 1 / 4

/** Copying a shorter log costs more than the space is worth; in pages. */
const MIN_CHECKPOINT_PAGES = 64

export type SqliteOptions = Readonly<{
  /** A file, whose folder is created, or `:memory:`. */
  path: string
  /** A `writer` takes the write lock at the start of each transaction. */
  role: 'reader' | 'writer'
  busyTimeoutMs?: number
  checkpointBytes?: number
  /** Create a new file so that `shrinkFile` can make it smaller; one that has tables stays as it is. */
  canShrink?: boolean
  cacheBytes?: number
  /**
   * Bytes of the file that are read as mapped memory; by default none. A disk that fails, or a file that is cut off, then ends
   * the process instead of one query.
   */
  mapBytes?: number
}>

/**
 * Open a SQLite database in WAL mode for Kysely's SQLite dialect, with a cache of prepared statements.
 * @throws StoreError when Node has no SQLite, or the file cannot be opened.
 */
export function openSqlite(options: SqliteOptions): SqliteDatabase {
  const { DatabaseSync } = loadSqlite()
  const { path, role } = options
  let database: NativeDatabase | undefined
  try {
    if (path !== ':memory:') createFolder(dirname(path))
    database = new DatabaseSync(path)
    configure(database, options)
    database.function(DEADLINE_FUNCTION, checkReadDeadline)
    return toKyselyDatabase(database, role)
  } catch (error) {
    database?.close()
    throw toOpenError(path, error)
  }
}

function configure(database: NativeDatabase, options: SqliteOptions): void {
  database.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs ?? BUSY_TIMEOUT_MS}`)
  if (options.canShrink === true) enableAutoVacuum(database)
  database.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    PRAGMA cache_size = ${-Math.ceil((options.cacheBytes ?? CACHE_BYTES) / 1_024)};
    PRAGMA mmap_size = ${options.mapBytes ?? 0};
    PRAGMA wal_autocheckpoint = ${computeCheckpointPages(options)};
    PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`)
  if (options.role === 'reader' && options.path !== ':memory:') database.exec('PRAGMA query_only = ON')
}

/**
 * Write a consistent copy of the SQLite file at `source` to the empty file `target`, also while other processes write to the
 * source: the copy is what one reading transaction sees. The copy is on the disk when this returns.
 * @throws StoreError when the source cannot be opened; BackupError when the copy cannot be made.
 */
export function copySqlite(source: string, target: string): void {
  const database = openSqlite({ path: source, role: 'writer' })
  try {
    database.prepare('vacuum into ?').run([target])
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown reason'
    throw new BackupError(`Cannot copy "${source}" to "${target}": ${reason}`, { cause: error })
  } finally {
    database.close()
  }
  const file = openSync(target, 'r+')
  fsyncSync(file)
  closeSync(file)
}

/** Possible only before anything is written, as the change to WAL does; later it would be a write at each opening. */
function enableAutoVacuum(database: NativeDatabase): void {
  const [row] = database.prepare('PRAGMA page_count').all() as { page_count: number }[]
  if (row?.page_count === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
}

function computeCheckpointPages({ path, checkpointBytes = CHECKPOINT_BYTES }: SqliteOptions): number {
  const bytes =
    path === ':memory:' ? checkpointBytes : Math.min(checkpointBytes, findFreeBytes(path) * MAX_LOG_SHARE)
  return Math.max(MIN_CHECKPOINT_PAGES, Math.ceil(bytes / PAGE_BYTES))
}

/** Return the space that is left on the disk of a file, in bytes; no limit where the system does not say. */
function findFreeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** Create a folder and those above it. Node's recursive mkdir never ends where a file system refuses with ENOENT, as /proc does. */
function createFolder(path: string): void {
  if (existsSync(path)) return
  createFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function toKyselyDatabase(database: NativeDatabase, role: SqliteOptions['role']): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const cached = statements.get(sql)
      if (cached !== undefined) return cached
      const text = sql === 'begin' && role === 'writer' ? 'begin immediate' : sql
      const statement = toKyselyStatement(database, text)
      if (statements.size >= MAX_CACHED_STATEMENTS) statements.clear()
      statements.set(sql, statement)
      return statement
    },
    close() {
      statements.clear()
      if (role === 'writer') shrinkLog(database)
      database.close()
    },
  }
}

function toKyselyStatement(database: NativeDatabase, sql: string): SqliteStatement {
  const statement = database.prepare(sql)
  return {
    reader: /^\s*(?:select|with|values|pragma)\b|\breturning\b/i.test(sql),
    all: (parameters) => statement.all(...parameters),
    run: (parameters) => (sql === 'rollback' ? rollBack(statement) : statement.run(...parameters)),
    iterate: (parameters) => statement.iterate(...parameters),
  }
}

/** A full disk makes SQLite roll back by itself; a second rollback must not hide what went wrong. */
function rollBack(statement: NativeStatement): ReturnType<NativeStatement['run']> {
  try {
    return statement.run()
  } catch {
    return { changes: 0, lastInsertRowid: 0 }
  }
}

/** Leave no log behind, unless the disk is full or another process writes: a command that has its result does not wait for an import. */
function shrinkLog(database: NativeDatabase): void {
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // The log holds everything that was committed.
  }
}

function loadSqlite(): NativeModule {
  const builtIn = loadBuiltIn()
  if (builtIn !== undefined) return builtIn
  try {
    return createRequire(import.meta.url)('@photostructure/sqlite') as NativeModule
  } catch (error) {
    throw new StoreError('no SQLite: use Node 22.13 or newer, or install with optional dependencies', {
      cause: error,
    })
  }
}

/** `node:sqlite` where Node has it, without its line about being experimental. */
function loadBuiltIn(): NativeModule | undefined {
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as NativeModule | undefined
  } finally {
    process.emitWarning = warn
  }
}
