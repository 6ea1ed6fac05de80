import { setMaxListeners } from 'node:events'
import { type Transaction, sql } from 'kysely'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { StoreError, StoreVersionError, VitrineError } from '../errors.ts'
import { type Pause, createPause } from '../lib/backoff.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { type Problem, type SilenceLimit, createProblem, createSilenceLimit } from './availability.ts'
import {
  describeStoreFailure,
  isFileDamaged,
  isProgramFault,
  isLocked,
  isReadOnly,
  isTimeout,
  isUnavailable,
} from './failures.ts'
import type { LockTimeouts, OpenDatabase } from './open-database.ts'
import { type RetryRules, retry } from './retries.ts'

/** Time between two probes of an unavailable server, which usually recovers soon. */
const PROBE_INTERVAL_MS: number = SECOND_MS

/** Writes to a file fail immediately for this long after a write's retries ran out because the file was locked. */
const WRITE_PAUSE_MS: number = SECOND_MS

/** How long `close` waits for a running probe. */
const CLOSE_TIMEOUT_MS: number = SECOND_MS

/** Fail a visitor's short read after this much silence of the server, so that the visitor still gets a response in time. */
const MAX_SHORT_SILENCE_MS = 700

/** At startup no visitor waits yet, and processes that start together wait for the one that creates the tables. */
const STARTUP_TIMEOUTS: LockTimeouts = { openingMs: 5 * SECOND_MS, openMs: 0 }
/** SQLite must not block the thread that serves visitors: `retry` waits for a locked file. */
const SERVING_TIMEOUTS: LockTimeouts = { openingMs: 0, openMs: 0 }

/** How a service uses a database that can be unavailable. */
export type ServiceOptions = Readonly<{
  /** How long a visitor's read may wait for a database server that is silent. */
  maxSilenceMs: number
  /** How long a write waits for a locked file. */
  lockedMs: number
  /** Time between a failure of a file and the next attempt to open it, and between two checks whether it was replaced. */
  reopenMs: number
  /** Return an id of the file at the path, `null` for none, so that a replaced file is detected. */
  readFileId?(): string | null
  /** Whether the first attempt to open must succeed. */
  mustOpen?: boolean
  /** How long the start waits for a server; by default, until it responds or fails. */
  startMs?: number
  /** Called once each time the database becomes unavailable. */
  onFailure(error: unknown): void
  /** Called when the database is available again; it may be empty. */
  onRecovered?(): void
  /** Called once each time a server begins to refuse writes. */
  onReadOnly?(error: unknown): void
  /** Called once when it accepts writes again. */
  onWritable?(): void
}>

export type ConnectionOptions<Opened> = Readonly<{
  /** `timeouts`: of a service. */
  open(timeouts?: LockTimeouts): Promise<Opened>
  kind: 'file' | 'server'
  /** A table that every version has, for checks. */
  table: string
  /** What failed, for messages: `the stored copy failed`. */
  failure: string
  clock?: Clock
  /** How long calls of a command or walk wait for an unavailable server; by default, not at all. */
  unavailableMs?: number
  /** Absent for commands and walks, which need the database. */
  service?: ServiceOptions | undefined
}>

type IsolationLevel = 'serializable' | 'read committed'

/**
 * Open a connection. Without the database a service starts too: every call then throws a `StoreError` immediately. A later call
 * reopens a file; a server is probed in the background.
 * @throws StoreVersionError when another version created the database; without a service, StoreError.
 */
export async function openConnection<Tables, Opened extends OpenDatabase<Tables>>(
  options: ConnectionOptions<Opened>,
): Promise<Connection<Tables, Opened>> {
  const connection = new Connection<Tables, Opened>(options)
  await connection.open()
  return connection
}

/**
 * How long a call may take decides its lane:
 * - short read: a visitor waits, and it waits for no lock. A server that times out on it counts as unavailable
 * - read: may wait for a lock, or read much
 * - write: is repeated after a conflict
 */
type Lane = 'short read' | 'read' | 'write'

/** A database in use: it opens, reopens and probes it, repeats what failed, limits how long visitors wait, and converts errors. */
export class Connection<Tables, Opened extends OpenDatabase<Tables> = OpenDatabase<Tables>> {
  readonly #options: ConnectionOptions<Opened>
  readonly #service: ServiceOptions | undefined
  readonly #clock: Clock
  readonly #isServer: boolean
  /** How long a visitor waits for a silent server; `undefined`: nobody waits, or the database is a file. */
  readonly #maxSilenceMs: number | undefined
  readonly #unavailable: Problem
  readonly #readOnly: Problem
  readonly #writePause: Pause
  readonly #limitSilence: SilenceLimit = createSilenceLimit()
  readonly #stopping = new AbortController()
  #opened: Opened | undefined
  #opening: Promise<Opened> | undefined
  #probing: Promise<void> | undefined
  #failedAtMs = -Infinity
  #recoveredMs = -Infinity
  #fileId: string | null | undefined
  #fileCheckedAtMs = -Infinity

  constructor(options: ConnectionOptions<Opened>) {
    const { service } = options
    this.#options = options
    this.#service = service
    this.#clock = options.clock ?? systemClock
    this.#isServer = options.kind === 'server'
    this.#maxSilenceMs = this.#isServer ? service?.maxSilenceMs : undefined
    this.#unavailable = createProblem(service?.onFailure)
    this.#readOnly = createProblem(service?.onReadOnly, service?.onWritable)
    this.#writePause = createPause(this.#clock, { initialMs: WRITE_PAUSE_MS, maxMs: WRITE_PAUSE_MS })
    // Any number of calls can wait for a server, so disable the warning about too many listeners.
    setMaxListeners(0, this.#stopping.signal)
  }

  async open(): Promise<void> {
    const isNeeded = this.#service === undefined || this.#service.mustOpen === true
    const opening = this.#open(this.#service && (this.#isServer ? SERVING_TIMEOUTS : STARTUP_TIMEOUTS))
    try {
      const startMs = isNeeded ? undefined : this.#service?.startMs
      await (startMs === undefined ? opening : this.#waitForStart(opening, startMs))
    } catch (error) {
      if (isNeeded || error instanceof StoreVersionError) throw error
      this.#fail(error)
    }
    this.#probeUntilHealthy()
  }

  /** Why the database cannot be used now; `undefined` when it can. */
  get problem(): VitrineError | undefined {
    const { error } = this.#unavailable
    return error === undefined ? undefined : this.#toStoreError(error)
  }

  readShort<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    const maxSilenceMs = this.#maxSilenceMs && Math.min(MAX_SHORT_SILENCE_MS, this.#maxSilenceMs)
    return this.#run('short read', work, maxSilenceMs)
  }

  /** A read that has no cheaper source, so that a visitor waits nearly as long as for the whole response. */
  readForVisitor<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    return this.#run('read', work, this.#maxSilenceMs)
  }

  read<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    return this.#run('read', work)
  }

  /** Run work that is atomic or idempotent, because it can run twice. */
  write<T>(work: (opened: Opened) => Promise<T>, rules?: Pick<RetryRules, 'canRepeat'>): Promise<T> {
    return this.#run('write', work, undefined, rules)
  }

  /**
   * Run a transaction. Use `read committed` when `work` first locks a row and must then see what other transactions committed;
   * SQLite has one writer, so each of its transactions is serializable.
   */
  transact<T>(
    work: (transaction: Transaction<Tables>) => Promise<T>,
    level: IsolationLevel = 'serializable',
    rules?: Pick<RetryRules, 'canRepeat'>,
  ): Promise<T> {
    return this.write(({ writer }) => {
      const transaction = writer.transaction()
      return (this.#isServer ? transaction.setIsolationLevel(level) : transaction).execute(work)
    }, rules)
  }

  /** @throws StoreError when the database cannot be read. */
  ping(): Promise<void> {
    return this.read((opened) => this.#ping(opened))
  }

  /** @throws StoreError when a server is read-only. A file is not checked. */
  checkWritable(): Promise<void> {
    return this.read((opened) => this.#checkWritable(opened))
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    // A silent server must not delay the shutdown.
    await Promise.race([this.#opening?.catch(() => {}) ?? this.#probing, systemClock.wait(CLOSE_TIMEOUT_MS)])
    await this.#opened?.close()
  }

  /** Wait for some seconds; a probe goes on with the same attempt. */
  async #waitForStart(opening: Promise<Opened>, startMs: number): Promise<void> {
    const forget = (): void => void (this.#opening = undefined)
    this.#opening = opening
    opening.then(forget, (error: unknown) => {
      forget()
      this.#fail(error)
    })
    const createError = (): StoreError => new StoreError(`the database was not open after ${startMs} ms`)
    await failAfter({ clock: systemClock, timeoutMs: startMs }, createError, opening)
  }

  async #run<T>(
    lane: Lane,
    work: (opened: Opened) => Promise<T>,
    maxSilenceMs?: number,
    rules?: Pick<RetryRules, 'canRepeat'>,
  ): Promise<T> {
    const opened = this.#getOpened(lane) ?? (await this.#reopen())
    const call = this.#repeat(lane, () => work(opened), { ...rules, repair: opened.repair })
    // A call that timed out continues: its later result tells whether the database is unavailable.
    call.catch((error: unknown) => this.#recordFailure(error, lane, opened))
    return maxSilenceMs === undefined ? call : this.#limitSilence(call, maxSilenceMs)
  }

  async #repeat<T>(lane: Lane, work: () => Promise<T>, rules: RetryRules): Promise<T> {
    const isFileWrite = lane === 'write' && !this.#isServer
    try {
      return await retry(work, {
        ...rules,
        lockedMs: isFileWrite ? this.#service?.lockedMs : 0,
        unavailableMs: this.#isServer ? this.#options.unavailableMs : 0,
        signal: this.#stopping.signal,
      })
    } catch (error) {
      throw this.#toStoreError(error)
    }
  }

  #toStoreError(error: unknown): VitrineError {
    if (error instanceof VitrineError) return error
    return new StoreError(`${this.#options.failure}: ${describeStoreFailure(error)}`, { cause: error })
  }

  /**
   * Return the open database, or `undefined` when the caller must reopen the file.
   * @throws StoreError while the database is unavailable, and for a write while it accepts no writes.
   */
  #getOpened(lane: Lane): Opened | undefined {
    if (lane === 'write') this.#checkWritesAccepted()
    if (this.#opened !== undefined && this.#isFileReplaced()) this.#drop(this.#opened)
    if (this.#stopping.signal.aborted) throw new StoreError('the database is closed')
    const cause = this.#unavailable.error
    const canReopen = !this.#isServer && !this.#isRecent(this.#failedAtMs)
    if (cause !== undefined && !canReopen)
      throw this.#isServer
        ? new StoreError('the database could not be reached a moment ago', { cause, isUnreachable: true })
        : new StoreError('the database could not be opened a moment ago', { cause })
    return this.#opened
  }

  #isRecent(timeMs: number): boolean {
    return isWithin(timeMs, this.#service?.reopenMs ?? 0, this.#clock.nowMs())
  }

  /** Reopen the database; concurrent callers share one attempt. */
  #reopen(): Promise<Opened> {
    this.#opening ??= this.#openAgain().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openAgain(): Promise<Opened> {
    try {
      const opened = await this.#open(SERVING_TIMEOUTS)
      this.#unavailable.end()
      this.#service?.onRecovered?.()
      return opened
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  async #open(timeouts?: LockTimeouts): Promise<Opened> {
    const opened = await this.#options.open(timeouts)
    if (this.#stopping.signal.aborted) {
      await opened.close()
      throw new StoreError('the database is closed')
    }
    this.#fileId = this.#service?.readFileId?.()
    this.#fileCheckedAtMs = this.#clock.nowMs()
    this.#opened = opened
    return opened
  }

  #recordFailure(error: unknown, lane: Lane, opened: Opened): void {
    if (this.#service === undefined || isProgramFault(error)) return
    if (this.#isServer) this.#recordServerFailure(error, lane)
    // A failed write, for example on a full disk, leaves a readable file.
    else if (isFileDamaged(error) && lane !== 'write' && this.#opened === opened) {
      this.#fail(error)
      this.#drop(opened)
    } else if (isLocked(error) && lane === 'write' && this.#service.lockedMs > 0) this.#writePause.start()
  }

  #recordServerFailure(error: unknown, lane: Lane): void {
    const isTooSlow = lane === 'short read' && isTimeout(error)
    const isLost = !isReadOnly(error) && isUnavailable(error)
    if (isReadOnly(error)) this.#readOnly.begin(error)
    else if (isLost || isTooSlow) this.#unavailable.begin(error)
    // A lost connection is often the only one, so the first probe is at once, unless the last one was misleading.
    const isFirst = performance.now() - this.#recoveredMs > PROBE_INTERVAL_MS
    this.#probeUntilHealthy(isLost && isFirst ? 0 : PROBE_INTERVAL_MS)
  }

  #checkWritesAccepted(): void {
    const cause = this.#readOnly.error
    if (cause !== undefined) throw new StoreError('the database was read-only a moment ago', { cause })
    if (this.#writePause.isActive())
      throw new StoreError('another process was writing to the database a moment ago')
  }

  #drop(opened: Opened): void {
    this.#opened = undefined
    void opened.close().catch(() => {})
  }

  /** Detect a removed or replaced file: the open handle still reads the old one, while walks write to the new one. */
  #isFileReplaced(): boolean {
    const readFileId = this.#service?.readFileId
    if (readFileId === undefined || this.#isRecent(this.#fileCheckedAtMs)) return false
    this.#fileCheckedAtMs = this.#clock.nowMs()
    return readFileId() !== this.#fileId
  }

  #fail(error: unknown): void {
    this.#failedAtMs = this.#clock.nowMs()
    this.#unavailable.begin(error)
  }

  /** Probe a server in the background until it has no problem. */
  #probeUntilHealthy(firstWaitMs = PROBE_INTERVAL_MS): void {
    const hasProblem = (): boolean => (this.#unavailable.error ?? this.#readOnly.error) !== undefined
    const probeRepeatedly = async (): Promise<void> => {
      let waitMs = firstWaitMs
      while (hasProblem()) {
        await systemClock.wait(waitMs, this.#stopping.signal)
        waitMs = PROBE_INTERVAL_MS
        if (this.#stopping.signal.aborted) return
        await this.#probe()
      }
      this.#probing = undefined
    }
    if (this.#isServer && !this.#stopping.signal.aborted && hasProblem()) this.#probing ??= probeRepeatedly()
  }

  async #probe(): Promise<void> {
    try {
      const opened = this.#opened ?? (await this.#reopen())
      await this.#ping(opened)
      this.#recoveredMs = performance.now()
      if (this.#unavailable.end()) this.#service?.onRecovered?.()
      // A failed check can be a lack of connections; the database is still readable.
      if (this.#readOnly.error !== undefined)
        await this.#checkWritable(opened)
          .then(() => this.#readOnly.end())
          .catch(() => {})
    } catch (error) {
      // A read-only server that cannot be opened has no tables of this version, so it is unavailable.
      const problem = this.#opened !== undefined && isReadOnly(error) ? this.#readOnly : this.#unavailable
      problem.begin(error)
    }
  }

  async #ping({ reader }: Opened): Promise<void> {
    await sql`select count(*) from ${sql.table(this.#options.table)}`.execute(reader)
  }

  /** A rejected write closes its connection, so the next check opens a new one. */
  async #checkWritable({ writer }: Opened): Promise<void> {
    if (this.#isServer)
      await sql`select 1 from ${sql.table(this.#options.table)} where false for update`.execute(writer)
  }
}
