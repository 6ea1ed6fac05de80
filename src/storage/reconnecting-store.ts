import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { StoreError, StoreNewerError } from '../errors.ts'
import { type Pause, createPause } from '../lib/backoff.ts'
import type { BusyTimeouts } from './dialects.ts'
import type { CopyStore } from './store.ts'
import { isFileDamaged, isLocked, isReadOnly, isTooLong, isUnavailable } from './unavailable.ts'
import { retryWhileLocked } from './with-retries.ts'

/** How long after a failure a database is probed again. Opening a file is dear, and a server is soon back. */
const PROBE_AFTER_MS = { file: 30 * SECOND_MS, server: SECOND_MS } as const

/** How long writes to a file fail at once after another process held it for longer than a write is retried. */
const WRITE_PAUSE_MS: number = SECOND_MS

/** How long a probe under way may take when the store is closed. */
const CLOSE_TIMEOUT_MS: number = SECOND_MS

/** A server that sends nothing at all for this long fails a visitor's read, so that the visitor still gets an answer in time. */
const SILENT_MS = 700
const SILENT_SHARE = 7 / 8

/**
 * The serving thread never waits within SQLite: a write that finds the file locked is retried from the event loop. At a start
 * nobody is served yet, and processes that start together wait for the one that creates the tables.
 */
const AT_START: BusyTimeouts = { openingMs: 5 * SECOND_MS, openMs: 0 }
/** While visitors are served. */
const LATER: BusyTimeouts = { openingMs: 0, openMs: 0 }

export type ReconnectingDetails = Readonly<{
  open(timeouts: BusyTimeouts): Promise<CopyStore>
  /** How long visitors wait for a database on a server; without it the database is a file. */
  visitorTimeoutMs?: number
  /** Return which file lies at the path now, `null` for none: a replaced one is noticed. */
  identify?(): string | null
  /** When a file is opened again; by default the machine's. */
  clock?: Clock
  /** Called once each time that the database becomes unavailable. */
  onFailure(error: unknown): void
  /** The database is available again, perhaps as an empty one. */
  onHealed?(): void
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
  const failWhenSilent = createSilenceLimit()
  const { visitorTimeoutMs } = details
  const longMs = visitorTimeoutMs === undefined ? undefined : visitorTimeoutMs * SILENT_SHARE
  const shortMs = longMs === undefined ? undefined : Math.min(SILENT_MS, longMs)

  const run = async <T>(action: Action<T>, kind: CallKind, silentMs?: number): Promise<T> => {
    const store = connection.current(kind) ?? (await connection.reopen())
    const isFileWrite = kind === 'write' && visitorTimeoutMs === undefined
    const call = isFileWrite ? retryWhileLocked(() => action(store)) : action(store)
    // After silence the call goes on: its own end, which may come later, tells whether the database is unavailable.
    call.catch((error: unknown) => connection.note(error, kind, store))
    return silentMs === undefined ? call : failWhenSilent(call, silentMs)
  }
  const readShort = <T>(action: Action<T>): Promise<T> => run(action, 'short read', shortMs)
  const read = <T>(action: Action<T>): Promise<T> => run(action, 'read')
  const write = <T>(action: Action<T>): Promise<T> => run(action, 'write')
  return {
    findProduct: (channelId, gtin) => readShort((store) => store.findProduct(channelId, gtin)),
    findChannelList: () => readShort((store) => store.findChannelList()),
    getCopyState: (channelId) => readShort((store) => store.getCopyState(channelId)),
    findDealCurrency: (channelId) => readShort((store) => store.findDealCurrency(channelId)),
    // A grid may take nearly as long as a visitor waits.
    findDeals: (query, withinMs) => run((store) => store.findDeals(query, withinMs), 'read', longMs),
    countDeals: (query) => read((store) => store.countDeals(query)),
    searchProducts: (channelId, text, limit) => read((store) => store.searchProducts(channelId, text, limit)),
    findUnfinishedWalks: () => read((store) => store.findUnfinishedWalks()),
    findFutureCopies: () => read((store) => store.findFutureCopies()),
    readTime: () => read((store) => store.readTime()),
    ping: () => read((store) => store.ping()),
    checkWritable: () => read((store) => store.checkWritable()),
    putLookups: (lookups) => write((store) => store.putLookups(lookups)),
    claimLookup: (product, claim) => write((store) => store.claimLookup(product, claim)),
    releaseLookup: (product, claim) => write((store) => store.releaseLookup(product, claim)),
    putChannelList: (channels, asOfMs) => write((store) => store.putChannelList(channels, asOfMs)),
    holdChannelList: (asOfMs) => write((store) => store.holdChannelList(asOfMs)),
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
  readonly #unavailable: Trouble
  readonly #readOnly: Trouble
  readonly #writePause: Pause
  readonly #stopping = new AbortController()
  #store: CopyStore | undefined
  #opening: Promise<CopyStore> | undefined
  #probing: Promise<void> | undefined
  #failedAtMs = -Infinity
  /** Which file was opened, and when the path was looked at last. */
  #file: string | null | undefined
  #lookedAtMs = -Infinity

  constructor(details: ReconnectingDetails) {
    this.#details = details
    this.#clock = details.clock ?? systemClock
    this.#isServer = details.visitorTimeoutMs !== undefined
    this.#unavailable = createTrouble(details.onFailure)
    this.#readOnly = createTrouble(details.onReadOnly, details.onWritable)
    this.#writePause = createPause(this.#clock, { firstMs: WRITE_PAUSE_MS, longestMs: WRITE_PAUSE_MS })
  }

  /** Open the store for the first time. @throws StoreNewerError */
  async open(): Promise<void> {
    try {
      await this.#open(this.#isServer ? LATER : AT_START)
    } catch (error) {
      if (error instanceof StoreNewerError) throw error
      this.#fail(error)
    }
    this.#probeWhileTroubled()
  }

  /**
   * Return the open store, or `undefined` when a file is to be opened again now.
   * @throws StoreError while the database is unavailable, and for a write while it accepts none.
   */
  current(kind: CallKind): CopyStore | undefined {
    if (kind === 'write') this.#checkWritesAccepted()
    if (this.#store !== undefined && this.#isFileReplaced()) this.#drop(this.#store)
    const cause = this.#unavailable.error
    const mayReopen = !this.#isServer && !isWithin(this.#failedAtMs, PROBE_AFTER_MS.file, this.#clock.nowMs())
    if (this.#stopping.signal.aborted || (cause !== undefined && !mayReopen))
      throw this.#isServer
        ? new StoreError('the database could not be reached a moment ago', { cause, isUnreached: true })
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
  note(error: unknown, kind: CallKind, store: CopyStore): void {
    if (this.#isServer) {
      const isTooSlow = kind === 'short read' && isTooLong(error)
      if (isReadOnly(error)) this.#readOnly.begin(error)
      else if (isUnavailable(error) || isTooSlow) this.#unavailable.begin(error)
      this.#probeWhileTroubled()
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
    const { identify } = this.#details
    const nowMs = this.#clock.nowMs()
    if (identify === undefined || isWithin(this.#lookedAtMs, PROBE_AFTER_MS.file, nowMs)) return false
    this.#lookedAtMs = nowMs
    return identify() !== this.#file
  }

  #fail(error: unknown): void {
    this.#failedAtMs = this.#clock.nowMs()
    this.#unavailable.begin(error)
  }

  async #open(timeouts: BusyTimeouts): Promise<CopyStore> {
    const opened = await this.#details.open(timeouts)
    if (this.#stopping.signal.aborted) {
      await opened.close()
      throw new StoreError('the store is closed')
    }
    this.#file = this.#details.identify?.()
    this.#lookedAtMs = this.#clock.nowMs()
    this.#store = opened
    return opened
  }

  async #reopen(): Promise<CopyStore> {
    try {
      const opened = await this.#open(LATER)
      this.#unavailable.end()
      this.#details.onHealed?.()
      return opened
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  /** Probe a server in the background until nothing is wrong with it. */
  #probeWhileTroubled(): void {
    const isTroubled = (): boolean => (this.#unavailable.error ?? this.#readOnly.error) !== undefined
    const probeRepeatedly = async (): Promise<void> => {
      while (isTroubled()) {
        await systemClock.wait(PROBE_AFTER_MS.server, this.#stopping.signal)
        if (this.#stopping.signal.aborted) return
        await this.#probe()
      }
      this.#probing = undefined
    }
    if (this.#isServer && !this.#stopping.signal.aborted && isTroubled()) this.#probing ??= probeRepeatedly()
  }

  async #probe(): Promise<void> {
    try {
      const store = this.#store ?? (await this.reopen())
      await store.ping()
      if (this.#unavailable.end()) this.#details.onHealed?.()
      // A check that fails for want of a connection says nothing about reads, which have just worked.
      if (this.#readOnly.error !== undefined)
        await store
          .checkWritable()
          .then(() => this.#readOnly.end())
          .catch(() => {})
    } catch (error) {
      // Without tables of this version there is nothing to read.
      const trouble = this.#store !== undefined && isReadOnly(error) ? this.#readOnly : this.#unavailable
      trouble.begin(error)
    }
  }
}

/** Something that is wrong for a while; its begin and its end are reported once. */
type Trouble = {
  /** `undefined`: nothing is wrong. */
  error: unknown
  begin(error: unknown): void
  /** Return whether something was wrong until now. */
  end(): boolean
}

function createTrouble(onBegin?: (error: unknown) => void, onEnd?: () => void): Trouble {
  return {
    error: undefined,
    begin(error) {
      const isNew = this.error === undefined
      this.error = error
      if (isNew) onBegin?.(error)
    },
    end() {
      const wasWrong = this.error !== undefined
      this.error = undefined
      if (wasWrong) onEnd?.()
      return wasWrong
    },
  }
}

/** Let a read fail when the database has answered nothing for `silentMs`; a database that is only slow is waited for. */
function createSilenceLimit(): <T>(call: Promise<T>, silentMs: number) => Promise<T> {
  let answeredAtMs = -Infinity
  return <T>(call: Promise<T>, silentMs: number) => {
    const sinceMs = performance.now()
    return new Promise<T>((resolve, reject) => {
      const failIfSilent = async (): Promise<void> => {
        // Read first what arrived while this process was busy.
        await yieldToEventLoop()
        if (answeredAtMs <= sinceMs) reject(new StoreError(`the database said nothing for ${silentMs} ms`))
      }
      const cancel = systemClock.startTimer(silentMs, () => void failIfSilent())
      const end = (result: T): void => {
        answeredAtMs = performance.now()
        resolve(result)
      }
      void call.then(end, reject).finally(cancel)
    })
  }
}
