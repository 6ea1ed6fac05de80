import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { StoreError, StoreNewerError } from '../errors.ts'
import { type Pause, createPause } from '../lib/backoff.ts'
import type { BusyTimeouts } from './copy-database.ts'
import type { CopyStore } from './store.ts'
import { isFileDamaged, isLocked, isReadOnly, isTimeout, isUnavailable } from './store-failures.ts'
import { retryWhileLocked } from './with-retries.ts'

/** How long after a failure a database is probed again. Opening a file is dear, and a server is soon back. */
const PROBE_INTERVAL_MS = { file: 30 * SECOND_MS, server: SECOND_MS } as const

/** How long writes to a file fail at once after another process held it for longer than a write is retried. */
const WRITE_PAUSE_MS: number = SECOND_MS

/** How long a probe under way may take when the store is closed. */
const CLOSE_TIMEOUT_MS: number = SECOND_MS

/** A server that sends nothing at all for this long fails a visitor's read, so that the visitor still gets an answer in time. */
const MAX_SILENCE_MS = 700
const MAX_SILENCE_SHARE = 7 / 8

/**
 * The serving thread never waits within SQLite: a write that finds the file locked is retried from the event loop. At a start
 * nobody is served yet, and processes that start together wait for the one that creates the tables.
 */
const STARTUP_TIMEOUTS: BusyTimeouts = { openingMs: 5 * SECOND_MS, openMs: 0 }
/** While visitors are served. */
const SERVING_TIMEOUTS: BusyTimeouts = { openingMs: 0, openMs: 0 }

export type ReconnectingDetails = Readonly<{
  open(timeouts: BusyTimeouts): Promise<CopyStore>
  /** How long visitors wait for a database on a server; without it the database is a file. */
  visitorTimeoutMs?: number
  /** Return which file lies at the path now, `null` for none: a replaced one is noticed. */
  readFileId?(): string | null
  /** When a file is opened again; by default the machine's. */
  clock?: Clock
  /** Called once each time that the database becomes unavailable. */
  onFailure(error: unknown): void
  /** The database is available again, perhaps as an empty one. */
  onRecovered?(): void
  /** Called once each time that a server begins to refuse writes, and when it accepts them again. */
  onReadOnly?(error: unknown): void
  onWritable?(): void
}>

/**
 * Open a store whose database may be unavailable. Meanwhile every method throws a `StoreError` at once, and the caller goes on
 * with memory and catalog. A file is opened again by a later call, a server is probed in the background.
 * @throws StoreNewerError when a newer version created the database: the operator has to decide.
 */
export async function openReconnectingStore(details: ReconnectingDetails): Promise<CopyStore> {
  const connection = new Connection(details)
  await connection.open()
  const rejectOnSilence = createSilenceTimeout()
  const { visitorTimeoutMs } = details
  const longSilenceMs = visitorTimeoutMs === undefined ? undefined : visitorTimeoutMs * MAX_SILENCE_SHARE
  const shortSilenceMs = longSilenceMs === undefined ? undefined : Math.min(MAX_SILENCE_MS, longSilenceMs)

  const run = async <T>(action: Action<T>, kind: CallKind, maxSilenceMs?: number): Promise<T> => {
    const store = connection.getStore(kind) ?? (await connection.reopen())
    const isFileWrite = kind === 'write' && visitorTimeoutMs === undefined
    const call = isFileWrite ? retryWhileLocked(() => action(store)) : action(store)
    // After silence the call goes on: its own end, which may come later, tells whether the database is unavailable.
    call.catch((error: unknown) => connection.recordFailure(error, kind, store))
    return maxSilenceMs === undefined ? call : rejectOnSilence(call, maxSilenceMs)
  }
  const readShort = <T>(action: Action<T>): Promise<T> => run(action, 'short read', shortSilenceMs)
  const read = <T>(action: Action<T>): Promise<T> => run(action, 'read')
  const write = <T>(action: Action<T>): Promise<T> => run(action, 'write')
  return {
    findProduct: (channelId, gtin) => readShort((store) => store.findProduct(channelId, gtin)),
    findChannelList: () => readShort((store) => store.findChannelList()),
    getCopyState: (channelId) => readShort((store) => store.getCopyState(channelId)),
    findDealCurrency: (channelId) => readShort((store) => store.findDealCurrency(channelId)),
    // A grid may take nearly as long as a visitor waits.
    findDeals: (query, withinMs) => run((store) => store.findDeals(query, withinMs), 'read', longSilenceMs),
    countDeals: (query) => read((store) => store.countDeals(query)),
    searchProducts: (channelId, text, limit) => read((store) => store.searchProducts(channelId, text, limit)),
    findUnfinishedWalks: () => read((store) => store.findUnfinishedWalks()),
    findFutureCopies: () => read((store) => store.findFutureCopies()),
    readDatabaseTime: () => read((store) => store.readDatabaseTime()),
    ping: () => read((store) => store.ping()),
    checkWritable: () => read((store) => store.checkWritable()),
    putLookups: (lookups) => write((store) => store.putLookups(lookups)),
    acquireLookupLease: (product, lease) => write((store) => store.acquireLookupLease(product, lease)),
    releaseLookupLease: (product, lease) => write((store) => store.releaseLookupLease(product, lease)),
    putChannelList: (channels, asOfMs) => write((store) => store.putChannelList(channels, asOfMs)),
    recordEmptyChannelList: (asOfMs) => write((store) => store.recordEmptyChannelList(asOfMs)),
    updateQuota: (...parameters) => write((store) => store.updateQuota(...parameters)),
    close: () => connection.close(),
  }
}

type Action<T> = (store: CopyStore) => Promise<T>

/**
 * Visitors wait for short reads, and these wait for no lock: a server that ends one because it takes too long counts as
 * unavailable. A write may wait for a lock while reads go on.
 */
type CallKind = 'short read' | 'read' | 'write'

/** The open store, and what is wrong with its database at the moment. */
class Connection {
  readonly #details: ReconnectingDetails
  readonly #clock: Clock
  readonly #isServer: boolean
  readonly #unavailable: Problem
  readonly #readOnly: Problem
  readonly #writePause: Pause
  readonly #stopping = new AbortController()
  #store: CopyStore | undefined
  #opening: Promise<CopyStore> | undefined
  #probing: Promise<void> | undefined
  #failedAtMs = -Infinity
  /** Which file was opened, and when the path was looked at last. */
  #fileId: string | null | undefined
  #fileCheckedAtMs = -Infinity

  constructor(details: ReconnectingDetails) {
    this.#details = details
    this.#clock = details.clock ?? systemClock
    this.#isServer = details.visitorTimeoutMs !== undefined
    this.#unavailable = createProblem(details.onFailure)
    this.#readOnly = createProblem(details.onReadOnly, details.onWritable)
    this.#writePause = createPause(this.#clock, { initialMs: WRITE_PAUSE_MS, maxMs: WRITE_PAUSE_MS })
  }

  /** Open the store for the first time. @throws StoreNewerError */
  async open(): Promise<void> {
    try {
      await this.#open(this.#isServer ? SERVING_TIMEOUTS : STARTUP_TIMEOUTS)
    } catch (error) {
      if (error instanceof StoreNewerError) throw error
      this.#fail(error)
    }
    this.#probeUntilHealthy()
  }

  /**
   * Return the open store, or `undefined` when a file is to be opened again now.
   * @throws StoreError while the database is unavailable, and for a write while it accepts none.
   */
  getStore(kind: CallKind): CopyStore | undefined {
    if (kind === 'write') this.#checkWritesAccepted()
    if (this.#store !== undefined && this.#isFileReplaced()) this.#drop(this.#store)
    const cause = this.#unavailable.error
    const canReopen =
      !this.#isServer && !isWithin(this.#failedAtMs, PROBE_INTERVAL_MS.file, this.#clock.nowMs())
    if (this.#stopping.signal.aborted || (cause !== undefined && !canReopen))
      throw this.#isServer
        ? new StoreError('the database could not be reached a moment ago', { cause, isUnreachable: true })
        : new StoreError('the database could not be opened a moment ago', { cause })
    return this.#store
  }

  /** Open the store again, once for all calls that need it. */
  reopen(): Promise<CopyStore> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** Take the failure of a call into account. */
  recordFailure(error: unknown, kind: CallKind, store: CopyStore): void {
    if (this.#isServer) {
      const isTooSlow = kind === 'short read' && isTimeout(error)
      if (isReadOnly(error)) this.#readOnly.begin(error)
      else if (isUnavailable(error) || isTooSlow) this.#unavailable.begin(error)
      this.#probeUntilHealthy()
      return
    }
    // A write that fails on a full disk leaves a copy that can be read.
    if (isFileDamaged(error) && kind !== 'write' && this.#store === store) {
      this.#fail(error)
      this.#drop(store)
    }
    if (isLocked(error)) this.#writePause.start()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    // A server that sends nothing must not hold up the stop.
    await Promise.race([this.#opening?.catch(() => {}) ?? this.#probing, systemClock.wait(CLOSE_TIMEOUT_MS)])
    await this.#store?.close()
  }

  #checkWritesAccepted(): void {
    const cause = this.#readOnly.error
    if (cause !== undefined) throw new StoreError('the database only read a moment ago', { cause })
    if (this.#writePause.isOn()) throw new StoreError('another process held the database a moment ago')
  }

  #drop(store: CopyStore): void {
    this.#store = undefined
    void store.close().catch(() => {})
  }

  /** A file that was removed or replaced stays open without a name, while walks write to another one. */
  #isFileReplaced(): boolean {
    const { readFileId } = this.#details
    const nowMs = this.#clock.nowMs()
    if (readFileId === undefined || isWithin(this.#fileCheckedAtMs, PROBE_INTERVAL_MS.file, nowMs))
      return false
    this.#fileCheckedAtMs = nowMs
    return readFileId() !== this.#fileId
  }

  #fail(error: unknown): void {
    this.#failedAtMs = this.#clock.nowMs()
    this.#unavailable.begin(error)
  }

  async #open(timeouts: BusyTimeouts): Promise<CopyStore> {
    const openedStore = await this.#details.open(timeouts)
    if (this.#stopping.signal.aborted) {
      await openedStore.close()
      throw new StoreError('the store is closed')
    }
    this.#fileId = this.#details.readFileId?.()
    this.#fileCheckedAtMs = this.#clock.nowMs()
    this.#store = openedStore
    return openedStore
  }

  async #reopen(): Promise<CopyStore> {
    try {
      const openedStore = await this.#open(SERVING_TIMEOUTS)
      this.#unavailable.end()
      this.#details.onRecovered?.()
      return openedStore
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  /** Probe a server in the background until nothing is wrong with it. */
  #probeUntilHealthy(): void {
    const hasProblem = (): boolean => (this.#unavailable.error ?? this.#readOnly.error) !== undefined
    const probeRepeatedly = async (): Promise<void> => {
      while (hasProblem()) {
        await systemClock.wait(PROBE_INTERVAL_MS.server, this.#stopping.signal)
        if (this.#stopping.signal.aborted) return
        await this.#probe()
      }
      this.#probing = undefined
    }
    if (this.#isServer && !this.#stopping.signal.aborted && hasProblem()) this.#probing ??= probeRepeatedly()
  }

  async #probe(): Promise<void> {
    try {
      const store = this.#store ?? (await this.reopen())
      await store.ping()
      if (this.#unavailable.end()) this.#details.onRecovered?.()
      // A check that fails for want of a connection says nothing about reads, which have just worked.
      if (this.#readOnly.error !== undefined)
        await store
          .checkWritable()
          .then(() => this.#readOnly.end())
          .catch(() => {})
    } catch (error) {
      // Without tables of this version there is nothing to read.
      const problem = this.#store !== undefined && isReadOnly(error) ? this.#readOnly : this.#unavailable
      problem.begin(error)
    }
  }
}

/** Something that is wrong for a while; its begin and its end are reported once. */
type Problem = {
  /** `undefined`: nothing is wrong. */
  error: unknown
  begin(error: unknown): void
  /** Return whether something was wrong until now. */
  end(): boolean
}

function createProblem(onBegin?: (error: unknown) => void, onEnd?: () => void): Problem {
  return {
    error: undefined,
    begin(error) {
      const isFirst = this.error === undefined
      this.error = error
      if (isFirst) onBegin?.(error)
    },
    end() {
      const wasActive = this.error !== undefined
      this.error = undefined
      if (wasActive) onEnd?.()
      return wasActive
    },
  }
}

/** Let a read fail when the database has answered nothing for `silentMs`; a database that is only slow is waited for. */
function createSilenceTimeout(): <T>(call: Promise<T>, maxSilenceMs: number) => Promise<T> {
  let respondedAtMs = -Infinity
  return <T>(call: Promise<T>, maxSilenceMs: number) => {
    const sinceMs = performance.now()
    return new Promise<T>((resolve, reject) => {
      const failIfSilent = async (): Promise<void> => {
        // Read first what arrived while this process was busy.
        await yieldToEventLoop()
        if (respondedAtMs <= sinceMs)
          reject(new StoreError(`the database said nothing for ${maxSilenceMs} ms`))
      }
      const cancel = systemClock.startTimer(maxSilenceMs, () => void failIfSilent())
      const end = (result: T): void => {
        respondedAtMs = performance.now()
        resolve(result)
      }
      void call.then(end, reject).finally(cancel)
    })
  }
}
