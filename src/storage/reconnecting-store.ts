import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { StoreError, StoreVersionError } from '../errors.ts'
import { type Pause, createPause } from '../lib/backoff.ts'
import type { LockTimeouts } from './copy-database.ts'
import type { CopyStore } from './store.ts'
import { isFileDamaged, isLocked, isReadOnly, isTimeout, isUnavailable } from '../database/store-failures.ts'
import { retryWhileLocked } from './with-retries.ts'

/** Time between a failure and the next probe. Opening a file is expensive; a server usually recovers soon. */
const PROBE_INTERVAL_MS = { file: 30 * SECOND_MS, server: SECOND_MS } as const

/** Writes to a file fail immediately for this long after a write's retries ran out because the file was locked. */
const WRITE_PAUSE_MS: number = SECOND_MS

/** How long `close` waits for a running probe. */
const CLOSE_TIMEOUT_MS: number = SECOND_MS

/** Fail a visitor's read after this much silence of the server, so that the visitor still gets a response in time. */
const MAX_SILENCE_MS = 700
const MAX_SILENCE_SHARE = 7 / 8

/** At startup no visitor waits yet, and processes that start together wait for the one that creates the tables. */
const STARTUP_TIMEOUTS: LockTimeouts = { openingMs: 5 * SECOND_MS, openMs: 0 }
/** SQLite must not block the thread that serves visitors: the event loop retries a write to a locked file. */
const SERVING_TIMEOUTS: LockTimeouts = { openingMs: 0, openMs: 0 }

export type ReconnectingDetails = Readonly<{
  open(timeouts: LockTimeouts): Promise<CopyStore>
  /** How long visitors wait for a database server; absent when the database is a file. */
  visitorTimeoutMs?: number
  /** Return an id of the file at the path, `null` for none, so that a replaced file is detected. */
  readFileId?(): string | null
  clock?: Clock
  /** Called once each time the database becomes unavailable. */
  onFailure(error: unknown): void
  /** Called when the database is available again; it may be empty. */
  onRecovered?(): void
  /** Called once each time a server begins to refuse writes. */
  onReadOnly?(error: unknown): void
  /** Called once when it accepts writes again. */
  onWritable?(): void
}>

/**
 * Open a store whose database may be unavailable. Every method then throws a `StoreError` immediately, and callers use memory
 * and catalog. A later call reopens a file; a server is probed in the background.
 * @throws StoreVersionError when another version created the database.
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
    // A call that timed out continues: its later result tells whether the database is unavailable.
    call.catch((error: unknown) => connection.recordFailure(error, kind, store))
    return maxSilenceMs === undefined ? call : rejectOnSilence(call, maxSilenceMs)
  }
  const readShort = <T>(action: Action<T>): Promise<T> => run(action, 'short read', shortSilenceMs)
  const read = <T>(action: Action<T>): Promise<T> => run(action, 'read')
  const write = <T>(action: Action<T>): Promise<T> => run(action, 'write')
  return {
    findProduct: (channelId, gtin) => readShort((store) => store.findProduct(channelId, gtin)),
    findProducts: (...parameters) => read((store) => store.findProducts(...parameters)),
    findPicture: (pictureHash) => readShort((store) => store.findPicture(pictureHash)),
    findChannelList: () => readShort((store) => store.findChannelList()),
    getCopyState: (channelId) => readShort((store) => store.getCopyState(channelId)),
    findMalformedEntry: (...parameters) => readShort((store) => store.findMalformedEntry(...parameters)),
    findDealCurrency: (channelId) => readShort((store) => store.findDealCurrency(channelId)),
    findPriceSeries: (channelId, gtin) => readShort((store) => store.findPriceSeries(channelId, gtin)),
    countObservedDays: (channelId) => readShort((store) => store.countObservedDays(channelId)),
    // A grid has no cheaper source, so it may use nearly the whole visitor timeout.
    findDeals: (query, timeoutMs) => run((store) => store.findDeals(query, timeoutMs), 'read', longSilenceMs),
    countDeals: (...parameters) => read((store) => store.countDeals(...parameters)),
    searchProducts: (channelId, text, limit) => read((store) => store.searchProducts(channelId, text, limit)),
    listAskedProducts: (...parameters) => read((store) => store.listAskedProducts(...parameters)),
    listPlacements: (...parameters) => read((store) => store.listPlacements(...parameters)),
    listClicks: (...parameters) => read((store) => store.listClicks(...parameters)),
    sumClicks: (...parameters) => read((store) => store.sumClicks(...parameters)),
    findLastShownDays: (...parameters) => read((store) => store.findLastShownDays(...parameters)),
    listEvents: (limit) => read((store) => store.listEvents(limit)),
    readDeliveryState: () => read((store) => store.readDeliveryState()),
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
    addCounts: (counts) => write((store) => store.addCounts(counts)),
    recordFeeds: (...parameters) => write((store) => store.recordFeeds(...parameters)),
    leaseEvent: (lease) => write((store) => store.leaseEvent(lease)),
    recordDelivery: (result) => write((store) => store.recordDelivery(result)),
    releaseDelivery: (owner) => write((store) => store.releaseDelivery(owner)),
    updateQuota: (...parameters) => write((store) => store.updateQuota(...parameters)),
    close: () => connection.close(),
  }
}

type Action<T> = (store: CopyStore) => Promise<T>

/** A server that times out on a short read counts as unavailable: such a read waits for no lock. Other calls may wait for one. */
type CallKind = 'short read' | 'read' | 'write'

/** The open store and the current problems of its database. */
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

  /** Open the store for the first time. @throws StoreVersionError */
  async open(): Promise<void> {
    try {
      await this.#open(this.#isServer ? SERVING_TIMEOUTS : STARTUP_TIMEOUTS)
    } catch (error) {
      if (error instanceof StoreVersionError) throw error
      this.#fail(error)
    }
    this.#probeUntilHealthy()
  }

  /**
   * Return the open store, or `undefined` when the caller must reopen the file.
   * @throws StoreError while the database is unavailable, and for a write while it accepts no writes.
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

  /** Reopen the store; concurrent callers share one attempt. */
  reopen(): Promise<CopyStore> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  recordFailure(error: unknown, kind: CallKind, store: CopyStore): void {
    if (this.#isServer) {
      const isTooSlow = kind === 'short read' && isTimeout(error)
      if (isReadOnly(error)) this.#readOnly.begin(error)
      else if (isUnavailable(error) || isTooSlow) this.#unavailable.begin(error)
      this.#probeUntilHealthy()
      return
    }
    // A failed write, for example on a full disk, leaves a readable copy.
    if (isFileDamaged(error) && kind !== 'write' && this.#store === store) {
      this.#fail(error)
      this.#drop(store)
    }
    if (isLocked(error)) this.#writePause.start()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    // A silent server must not delay the shutdown.
    await Promise.race([this.#opening?.catch(() => {}) ?? this.#probing, systemClock.wait(CLOSE_TIMEOUT_MS)])
    await this.#store?.close()
  }

  #checkWritesAccepted(): void {
    const cause = this.#readOnly.error
    if (cause !== undefined) throw new StoreError('the database was read-only a moment ago', { cause })
    if (this.#writePause.isActive())
      throw new StoreError('another process was writing to the database a moment ago')
  }

  #drop(store: CopyStore): void {
    this.#store = undefined
    void store.close().catch(() => {})
  }

  /** Detect a removed or replaced file: the open handle still reads the old one, while walks write to the new one. */
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

  async #open(timeouts: LockTimeouts): Promise<CopyStore> {
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

  /** Probe a server in the background until it has no problem. */
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
      // A failed check can be a lack of connections; the database is still readable.
      if (this.#readOnly.error !== undefined)
        await store
          .checkWritable()
          .then(() => this.#readOnly.end())
          .catch(() => {})
    } catch (error) {
      // A read-only server that cannot be opened has no tables of this version, so it is unavailable.
      const problem = this.#store !== undefined && isReadOnly(error) ? this.#readOnly : this.#unavailable
      problem.begin(error)
    }
  }
}

/** A condition whose begin and end are each reported once; its begin again when a remedy becomes known. */
type Problem = {
  /** `undefined` while there is no problem. */
  error: unknown
  begin(error: unknown): void
  /** Return whether the problem existed until now. */
  end(): boolean
}

function createProblem(onBegin?: (error: unknown) => void, onEnd?: () => void): Problem {
  return {
    error: undefined,
    begin(error) {
      // A server that was away may turn out to have a lasting problem.
      const isNews = this.error === undefined || (hasRemedy(error) && !hasRemedy(this.error))
      this.error = error
      if (isNews) onBegin?.(error)
    },
    end() {
      const wasActive = this.error !== undefined
      this.error = undefined
      if (wasActive) onEnd?.()
      return wasActive
    },
  }
}

function hasRemedy(error: unknown): boolean {
  return error instanceof StoreError && error.remedy !== null
}

/** Create a function that fails a read after `maxSilenceMs` without any response to other reads: a slow database is not silent. */
function createSilenceTimeout(): <T>(call: Promise<T>, maxSilenceMs: number) => Promise<T> {
  let respondedAtMs = -Infinity
  return <T>(call: Promise<T>, maxSilenceMs: number) => {
    const sinceMs = performance.now()
    return new Promise<T>((resolve, reject) => {
      const failIfSilent = async (): Promise<void> => {
        // First process responses that arrived while this process was busy.
        await yieldToEventLoop()
        if (respondedAtMs <= sinceMs)
          reject(new StoreError(`the database did not respond for ${maxSilenceMs} ms`))
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
