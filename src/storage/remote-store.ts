import { setImmediate as breathe } from 'node:timers/promises'
import { ENOUGH, SECOND_MS, systemClock } from '../clock.ts'
import { StoreError, StoreNewerError } from '../errors.ts'
import { AWAY_WORDS, READ_ONLY_WORDS, isAway, isReadOnly, isTooLong } from './unavailable.ts'
import { STORE_METHODS, WRITES } from './reconnecting-store.ts'
import type { CopyStore } from './store.ts'

/** How long after a failure, and after each further one, it is looked whether the database is back, or can be written again. */
const LOOK_EVERY_MS: number = SECOND_MS

/** How long a look that is under way may take at the end. */
const CLOSE_WITHIN_MS: number = SECOND_MS

/**
 * Short reads of visitors, which wait for no lock: a database that is too slow for them is as good as away. A write may wait for the lock
 * of a machine that was cut off, while reads go on.
 */
const READS: ReadonlySet<string> = new Set([
  'findProduct',
  'findChannelList',
  'getCopyState',
  'findDealCurrency',
])

/** A grid may take nearly as long as a visitor waits. */
const LONG_READS: ReadonlySet<string> = new Set(['findDeals'])

/** A visitor whose database says nothing at all is told so before his patience ends, and may be answered by another server. */
const SILENT_MS = 700
const SILENT_SHARE = 7 / 8

/** How the store is opened, and who is told. */
export type FleetStoreDetails = Readonly<{
  /** How long a visitor waits. */
  visitorTimeoutMs: number
  open(): Promise<CopyStore>
  /** Told once each time that the database is found to be away. */
  onFailure(error: unknown): void
  onHealed?(): void
  /** Told once each time that the database is found to only read. */
  onReadOnly?(error: unknown): void
  onWritable?(): void
}>

/**
 * A store on a server that may be away: then every method throws a `StoreError` at once, so that visitors do not wait for a
 * server that is not there, and each second it is looked whether it is back. Connections heal by themselves. While the database only
 * reads, reads go on and every write throws a `StoreError` at once.
 * @throws StoreNewerError when the database was made by a newer version: that is for the operator to decide.
 */
export async function openFleetStore(details: FleetStoreDetails): Promise<CopyStore> {
  const watch = createWatch(details)
  const failWhenSilent = createSilenceLimit()
  const longMs = details.visitorTimeoutMs * SILENT_SHARE
  const toSilentMs = (name: string): number | undefined =>
    LONG_READS.has(name) ? longMs : READS.has(name) ? Math.min(SILENT_MS, longMs) : undefined
  const methods = STORE_METHODS.map((name) => [
    name,
    async (...parameters: never[]): Promise<unknown> => {
      const store = watch.get(WRITES.has(name))
      const call = (store[name] as (...given: never[]) => Promise<unknown>)(...parameters)
      // One silent moment is no outage: the statement's own end, which may come later, says what it was.
      call.catch((error: unknown) => {
        const isTooSlow = READS.has(name) && isTooLong(error)
        if (isAway(error) || isTooSlow || isReadOnly(error)) watch.note(error)
      })
      return failWhenSilent(call, toSilentMs(name))
    },
  ])
  await watch.open()
  return { ...(Object.fromEntries(methods) as Omit<CopyStore, 'close'>), close: watch.close }
}

/** Let a read fail when the database has answered nothing for `silentMs`; one that is only slow is waited for. */
function createSilenceLimit(): (call: Promise<unknown>, silentMs: number | undefined) => Promise<unknown> {
  let answeredAtMs = -Infinity
  return async (call, silentMs) => {
    const sinceMs = performance.now()
    const answered = new AbortController()
    const silence = async (afterMs: number): Promise<unknown> => {
      await systemClock.wait(afterMs, answered.signal)
      // What has arrived while this process was busy is read first.
      await breathe()
      if (answered.signal.aborted || answeredAtMs > sinceMs) return call
      throw new StoreError(`the database said nothing for ${afterMs} ms`)
    }
    try {
      const answer = await (silentMs === undefined ? call : Promise.race([call, silence(silentMs)]))
      answeredAtMs = performance.now()
      return answer
    } finally {
      answered.abort(ENOUGH)
    }
  }
}

type Watch = Readonly<{
  open(): Promise<void>
  /** @throws StoreError while the database is away, and to write while it only reads. */
  get(isWrite: boolean): CopyStore
  /** It was found to be away or to only read: from now on it is looked whether that is over. */
  note(error: unknown): void
  close(): Promise<void>
}>

function createWatch(details: FleetStoreDetails): Watch {
  const stopping = new AbortController()
  const away = createTrouble(details.onFailure, details.onHealed)
  const readOnly = createTrouble(details.onReadOnly, details.onWritable)
  let store: CopyStore | undefined
  let looking: Promise<void> | undefined
  // Without tables of this version there is nothing to read.
  const begin = (error: unknown): void =>
    (store !== undefined && isReadOnly(error) ? readOnly : away).begin(error)
  const look = async (): Promise<void> => {
    try {
      store ??= await details.open()
      await store.ping()
      away.end()
    } catch (error) {
      return begin(error)
    }
    // A check that fails for want of a connection says nothing about reads, which have just worked.
    if (readOnly.error() !== undefined) await store.checkWritable().then(readOnly.end, () => {})
  }
  const note = (failure: unknown): void => {
    if (stopping.signal.aborted) return
    begin(failure)
    looking ??= lookWhile([away, readOnly], look, stopping.signal).finally(() => (looking = undefined))
  }
  return {
    note,
    get(isWrite) {
      const refusal = isWrite ? readOnly.error() : undefined
      if (refusal !== undefined) throw new StoreError(READ_ONLY_WORDS, { cause: refusal })
      const cause = away.error()
      if (store === undefined || cause !== undefined) throw new StoreError(AWAY_WORDS, { cause })
      return store
    },
    async open() {
      try {
        store = await details.open()
      } catch (error) {
        if (error instanceof StoreNewerError) throw error
        note(error)
      }
    },
    async close() {
      stopping.abort()
      // What is being asked of a server that says nothing is left alone.
      await Promise.race([looking, systemClock.wait(CLOSE_WITHIN_MS)])
      await store?.close()
    },
  }
}

/** Look again and again until none of the troubles is left. */
async function lookWhile(
  troubles: readonly Trouble[],
  look: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && troubles.some((trouble) => trouble.error() !== undefined)) {
    await systemClock.wait(LOOK_EVERY_MS, signal)
    if (!signal.aborted) await look()
  }
}

/** Something that is wrong for a while; its begin and its end are told once. */
type Trouble = Readonly<{
  /** `undefined`: all is well. */
  error(): unknown
  begin(error: unknown): void
  end(): void
}>

function createTrouble(onBegin?: (error: unknown) => void, onEnd?: () => void): Trouble {
  let current: unknown
  return {
    error: () => current,
    begin(error) {
      const isNew = current === undefined
      current = error
      if (isNew) onBegin?.(error)
    },
    end() {
      if (current === undefined) return
      current = undefined
      onEnd?.()
    },
  }
}
