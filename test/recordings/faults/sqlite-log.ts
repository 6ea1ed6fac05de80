import { createRequire } from 'node:module'
import type { StatementLog } from './statement-log.ts'
import type { VirtualTime } from './virtual-time.ts'

type NativeStatement = Readonly<Record<'all' | 'run' | 'iterate', (...parameters: unknown[]) => unknown>>
type NativeDatabase = {
  exec(text: string): void
  prepare(text: string): NativeStatement
  function(name: string, implementation: () => number): void
  close(): void
}
type NativeModule = { DatabaseSync: new (path: string, options?: object) => NativeDatabase }

export type SqliteHooks = Readonly<{
  time: VirtualTime
  log: StatementLog
  /** Prepare a connection for the fault before each of its statements, as with `pragma query_only`. */
  prepareFault(database: Pick<NativeDatabase, 'exec'>): void
  /** Release the lock of the other connection if that happens within this time; return after how long. */
  releaseLock(withinMs: number): number | undefined
}>

const SQLITE_BUSY = 5
/** SQLite does not wait when a transaction reads an old state. */
const SQLITE_BUSY_SNAPSHOT = 517

function isBusy(error: unknown): boolean {
  const { errcode, message } = error as { errcode?: number; message: string }
  // Some errors of one driver have no code.
  if (errcode === undefined) return message === 'database is locked'
  return (errcode & 0xff) === SQLITE_BUSY && errcode !== SQLITE_BUSY_SNAPSHOT
}

/** Load the driver of this version of Node. */
export function loadSqlite(): NativeModule {
  const builtIn = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as NativeModule | undefined
  return builtIn ?? (createRequire(import.meta.url)('@photostructure/sqlite') as NativeModule)
}

/** Log all statements of connections that are opened from now on, and let their waits for a lock pass in virtual time. */
export function installSqliteLog(hooks: SqliteHooks): () => void {
  const { DatabaseSync: Native } = loadSqlite()
  const { getBuiltinModule } = process
  class LoggedDatabase {
    readonly #native: NativeDatabase
    #busyTimeoutMs = 0

    constructor(path: string, options: object = {}) {
      hooks.log.recordConnection()
      this.#native = new Native(path, options)
    }

    exec(text: string): void {
      this.#run(text, () => this.#native.exec(text))
    }

    prepare(text: string): NativeStatement {
      const statement = this.#run('pragma', () => this.#native.prepare(text))
      const wrap =
        (method: keyof NativeStatement) =>
        (...parameters: unknown[]): unknown =>
          this.#run(text, () => statement[method](...parameters))
      return { all: wrap('all'), run: wrap('run'), iterate: wrap('iterate') }
    }

    function(name: string, implementation: () => number): void {
      this.#native.function(name, implementation)
    }

    close(): void {
      this.#native.close()
    }

    #run<T>(text: string, run: () => T): T {
      hooks.prepareFault(this.#native)
      hooks.log.record(this, text)
      const busyTimeout = /busy_timeout = (\d+)/i.exec(text)?.[1]
      if (busyTimeout !== undefined) this.#busyTimeoutMs = Number(busyTimeout)
      try {
        return this.#runOrWait(run)
      } catch (error) {
        hooks.log.recordFailure(this, text)
        throw error
      } finally {
        // SQLite's own wait would take real time.
        if (busyTimeout !== undefined) this.#native.exec('pragma busy_timeout = 0')
      }
    }

    #runOrWait<T>(run: () => T): T {
      try {
        return run()
      } catch (error) {
        if (!isBusy(error)) throw error
        const waitedMs = hooks.releaseLock(this.#busyTimeoutMs)
        hooks.time.block(waitedMs ?? this.#busyTimeoutMs)
        if (waitedMs === undefined) throw error
        return run()
      }
    }
  }
  process.getBuiltinModule = (name: string) =>
    name === 'node:sqlite' ? { DatabaseSync: LoggedDatabase } : getBuiltinModule(name as 'node:fs')
  return () => {
    process.getBuiltinModule = getBuiltinModule
  }
}
