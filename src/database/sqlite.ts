import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statfsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import {
  type SqliteDatabase,
  type SqliteStatement,
  type QueryExecutorProvider,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { SECOND_MS } from '../clock.ts'
import { BackupError, StoreError } from '../errors.ts'
import { isPostgres } from './dialect.ts'
import { toOpenError } from './failures.ts'

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

/** Prepared statements per connection; the code has fewer distinct queries. */
const MAX_CACHED_STATEMENTS = 200

/** How long a writer blocks the calling thread while another process holds the write lock. */
const BUSY_TIMEOUT_MS: number = 5 * SECOND_MS

/** SQLite's defaults in bytes: the page cache, and the size of the write-ahead log (WAL) that triggers a checkpoint. */
const CACHE_BYTES: number = 2_000 * 1_024
const CHECKPOINT_BYTES: number = 4_096 * 1_000

/** SQLite truncates a larger WAL to this size after a checkpoint. */
const MAX_LOG_BYTES: number = 64 * 1_024 * 1_024

/** SQLite's default page size. */
const PAGE_BYTES = 4_096

/** Part of the free disk space that the WAL may use: a checkpoint can need the same amount again. */
const MAX_LOG_SHARE = 1 / 4

/** More frequent checkpoints would cost more than the saved space is worth. */
const MIN_CHECKPOINT_PAGES = 64

export type SqliteOptions = Readonly<{
  /** A file (missing folders are created) or `:memory:`. */
  path: string
  /** A `writer` takes the write lock at the start of each transaction. */
  role: 'reader' | 'writer'
  busyTimeoutMs?: number
  checkpointBytes?: number
  /** Create a new file so that `shrinkFile` can make it smaller. Has no effect on a file with tables. */
  canShrink?: boolean
  cacheBytes?: number
  /** Memory-mapped bytes; default 0. With a mapping, a disk error or truncated file crashes the process, not one query. */
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
 * Write a consistent snapshot of the SQLite file `source` to the empty file `target`, even while other processes write to the
 * source. The snapshot is synced to disk.
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

/** Must run before the first write, which switching to WAL is. SQLite ignores the setting later. */
function enableAutoVacuum(database: NativeDatabase): void {
  const [row] = database.prepare('PRAGMA page_count').all() as { page_count: number }[]
  if (row?.page_count === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
}

function computeCheckpointPages({ path, checkpointBytes = CHECKPOINT_BYTES }: SqliteOptions): number {
  const bytes =
    path === ':memory:' ? checkpointBytes : Math.min(checkpointBytes, findFreeBytes(path) * MAX_LOG_SHARE)
  return Math.max(MIN_CHECKPOINT_PAGES, Math.ceil(bytes / PAGE_BYTES))
}

/** Return the free disk space in bytes; `Infinity` when the system does not report it. */
function findFreeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** Create a folder and its parents. Node's recursive mkdir loops forever on file systems that fail with ENOENT, such as /proc. */
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

/** On a full disk SQLite rolls back by itself. The failure of a second rollback must not hide the original error. */
function rollBack(statement: NativeStatement): ReturnType<NativeStatement['run']> {
  try {
    return statement.run()
  } catch {
    return { changes: 0, lastInsertRowid: 0 }
  }
}

/** Empty the WAL without waiting: a finished command must not wait for another process's import. */
function shrinkLog(database: NativeDatabase): void {
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Nothing is lost: the WAL contains all committed data.
  }
}

function loadSqlite(): NativeModule {
  const builtIn = loadBuiltIn()
  if (builtIn !== undefined) return builtIn
  try {
    return createRequire(import.meta.url)('@photostructure/sqlite') as NativeModule
  } catch (error) {
    throw new StoreError(
      'SQLite is not available. Use Node 22.13 or newer, or install the optional dependencies',
      {
        cause: error,
      },
    )
  }
}

/** Load `node:sqlite`, if Node has it, without its warning about being experimental. */
function loadBuiltIn(): NativeModule | undefined {
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as NativeModule | undefined
  } finally {
    process.emitWarning = warn
  }
}

/** SQLite runs statements on the calling thread, so only a function inside the statement can stop it. */
export const DEADLINE_FUNCTION = 'check_read_deadline'

/** Must be a power of two. */
const ROWS_BETWEEN_CHECKS = 256

/** In the time of `performance.now()`. A thread runs one such read at a time. */
let deadlineMs = Infinity

/** Implement the SQL function `check_read_deadline`. */
function checkReadDeadline(): number {
  if (performance.now() > deadlineMs) throw new Error('the read exceeded its deadline')
  return 1
}

/** Create a condition that is always true, but fails a SQLite statement after the deadline of `runWithDeadline`. */
export function createDeadlineCheck(idColumn: string): RawBuilder<SqlBool> {
  const id = sql.ref(idColumn)
  return sql<SqlBool>`(${id} & ${sql.lit(ROWS_BETWEEN_CHECKS - 1)} <> 0 or ${sql.raw(DEADLINE_FUNCTION)}())`
}

/** Create the deadline check of a SQLite statement that scans many rows. PostgreSQL has a statement timeout instead. */
export function createDeadlineCondition(
  database: QueryExecutorProvider,
  idColumn: string,
): RawBuilder<SqlBool> {
  return isPostgres(database) ? sql<SqlBool>`1 = 1` : createDeadlineCheck(idColumn)
}

/**
 * Run one SQLite read whose statements contain a deadline check. Such reads must not overlap in a thread.
 * @returns `undefined` when the deadline stopped the read
 */
export async function runWithDeadline<T>(timeoutMs: number, read: () => Promise<T>): Promise<T | undefined> {
  deadlineMs = performance.now() + timeoutMs
  try {
    return await read()
  } catch (error) {
    if (performance.now() > deadlineMs) return undefined
    throw error
  } finally {
    deadlineMs = Infinity
  }
}
