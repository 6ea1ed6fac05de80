import { type Clock, SECOND_MS, isPauseOn, isWithin, systemClock } from '../clock.ts'
import { StoreError, StoreNewerError, type VitrineError } from '../errors.ts'
import { AWAY_WORDS, isAway, isReadOnly } from './unavailable.ts'
import type { BusyTimeouts } from './dialects.ts'
import type { CopyStore } from './store.ts'

/** How long after a failed opening, or after damage was met, the database is opened anew. */
const REOPEN_AFTER_MS: number = 30 * SECOND_MS

/** How long writes rest after another process held the database for that long. */
const WRITES_REST_MS: number = SECOND_MS
const LOCKED = /locked|busy/
const HELD = 'another process held the database a moment ago'

/** What SQLite says of a file that the open connection cannot come back from. Single damaged pages cost what is on them. */
const DAMAGE = /not a database|disk I\/O error|unable to open/

/** What a store that may be missing hands on. */
export const STORE_METHODS = [
  'findProduct',
  'putLookups',
  'claimLookup',
  'giveBackLookup',
  'findChannelList',
  'putChannelList',
  'holdChannelList',
  'getCopyState',
  'findDeals',
  'countDeals',
  'findDealCurrency',
  'searchProducts',
  'updateQuota',
  'findUnfinishedWalks',
  'findFutureCopies',
  'readTime',
  'ping',
  'checkWritable',
] as const satisfies readonly Exclude<keyof CopyStore, 'close'>[]

/**
 * The serving thread never waits within SQLite: a write that finds the database held is tried again from the event loop.
 * At a start nobody is served yet, and processes that start together wait for the one that makes the tables.
 */
const AT_START: BusyTimeouts = { openingMs: 5 * SECOND_MS, openMs: 0 }
/** While visitors are served. */
export const LATER: BusyTimeouts = { openingMs: 0, openMs: 0 }

/** How often, and for how long, a write is tried while another process holds the database; a walk does for milliseconds. */
const RETRY_EVERY_MS = 3
const RETRY_WITHIN_MS = 300

/** What changes something. */
export const WRITES: ReadonlySet<string> = new Set([
  'putLookups',
  'claimLookup',
  'giveBackLookup',
  'putChannelList',
  'holdChannelList',
  'updateQuota',
])

/**
 * How the store is opened, and who is told that it cannot be. `identify`: which file lies there now, so that one that was
 * replaced is noticed; `null` when there is none.
 */
export type HealingDetails = Readonly<{
  open(timeouts: BusyTimeouts): Promise<CopyStore>
  identify?(): string | null
  clock: Clock
  onFailure(error: unknown): void
  /** The database is open again, perhaps as an empty one. */
  onHealed?(): void
}>

/**
 * A store that may be missing: while its database cannot be opened, or turned out to be damaged, every method throws a
 * `StoreError`, and the one who asks goes on with memory and catalog. It is opened again by itself.
 * @throws StoreNewerError when the database was made by a newer version: that is for the operator to decide.
 */
export async function openHealingStore(details: HealingDetails): Promise<CopyStore> {
  const place = createPlace(details)
  try {
    await place.get()
  } catch (error) {
    if (error instanceof StoreNewerError) throw error
    details.onFailure(error)
  }
  let writesRestUntilMs = -Infinity
  const methods = STORE_METHODS.map((name) => [
    name,
    async (...parameters: never[]): Promise<unknown> => {
      if (
        WRITES.has(name) &&
        isPauseOn({ untilMs: writesRestUntilMs, nowMs: details.clock.nowMs(), longestMs: WRITES_REST_MS })
      )
        throw new StoreError(HELD)
      const store = await place.get()
      try {
        const call = store[name] as (...given: never[]) => Promise<unknown>
        return await (WRITES.has(name) ? retryWhileHeld(() => call(...parameters)) : call(...parameters))
      } catch (error) {
        // A write that fails on a full disk leaves a copy that can be read.
        if (isSaying(error, DAMAGE) && !WRITES.has(name)) place.drop(store, error)
        if (isSaying(error, LOCKED)) writesRestUntilMs = details.clock.nowMs() + WRITES_REST_MS
        throw error
      }
    },
  ])
  return { ...(Object.fromEntries(methods) as Omit<CopyStore, 'close'>), close: place.close }
}

/** Why the store failed, in the words of the database; it names no data. */
export function describeStoreFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  return error.cause instanceof Error ? describeStoreFailure(error.cause) : error.message
}

/** Why something failed: in the words of the database where it was the store, else in our own. */
export function describeFailure(error: VitrineError): string {
  return error instanceof StoreError ? describeStoreFailure(error) : error.message
}

type Place = Readonly<{
  /** @throws StoreError while there is none. */
  get(): Promise<CopyStore>
  /** Lets go of a store that is damaged. */
  drop(store: CopyStore, error: unknown): void
  close(): Promise<void>
}>

function createPlace({ open, identify, clock, onHealed }: HealingDetails): Place {
  let store: CopyStore | undefined
  let isFirst = true
  const watch = createFileWatch({ clock, ...(identify && { identify }) })
  let opening: Promise<CopyStore> | undefined
  let failure: Readonly<{ error: unknown; atMs: number }> = { error: undefined, atMs: -Infinity }
  let isClosed = false
  const fail = (error: unknown): void => {
    failure = { error, atMs: clock.nowMs() }
  }
  const openNow = async (): Promise<CopyStore> => {
    try {
      store = await open(isFirst ? AT_START : LATER)
      watch.begin()
      if (!isFirst) onHealed?.()
      return store
    } catch (error) {
      fail(error)
      throw error
    } finally {
      isFirst = false
      opening = undefined
    }
  }
  return {
    async get() {
      if (store !== undefined && watch.isReplaced()) {
        store.close().catch(() => {})
        store = undefined
      }
      if (store !== undefined) return store
      if (isClosed || isWithin(failure.atMs, REOPEN_AFTER_MS, clock.nowMs()))
        throw new StoreError('the database could not be opened a moment ago', { cause: failure.error })
      opening ??= openNow()
      return opening
    },
    drop(damaged, error) {
      if (store !== damaged) return
      store = undefined
      fail(error)
      damaged.close().catch(() => {})
    },
    async close() {
      isClosed = true
      await opening?.catch(() => {})
      await store?.close()
    },
  }
}

/** A file that was removed or replaced stays open under no name, and walks write another one. */
function createFileWatch({
  identify,
  clock,
}: Pick<HealingDetails, 'identify' | 'clock'>): Readonly<{ begin(): void; isReplaced(): boolean }> {
  let file: string | null | undefined
  let lookedAtMs = -Infinity
  return {
    begin() {
      file = identify?.()
      lookedAtMs = clock.nowMs()
    },
    isReplaced() {
      const nowMs = clock.nowMs()
      if (identify === undefined || isWithin(lookedAtMs, REOPEN_AFTER_MS, nowMs)) return false
      lookedAtMs = nowMs
      return identify() !== file
    },
  }
}

async function retryWhileHeld(write: () => Promise<unknown>): Promise<unknown> {
  for (let leftMs = RETRY_WITHIN_MS; leftMs > 0; leftMs -= RETRY_EVERY_MS) {
    try {
      return await write()
    } catch (error) {
      if (!isSaying(error, LOCKED)) throw error
      // The machine's clock: this is a matter of milliseconds between processes, not of any rule.
      await systemClock.wait(RETRY_EVERY_MS)
    }
  }
  return write()
}

/** Did a write fail only because another process had the database, or because its server is away or only reads for a moment? */
export function isHeldElsewhere(error: unknown): boolean {
  return (
    isSaying(error, LOCKED) ||
    (error instanceof StoreError && (error.message === HELD || error.message === AWAY_WORDS)) ||
    isAway(error) ||
    isReadOnly(error)
  )
}

function isSaying(error: unknown, words: RegExp): boolean {
  return error instanceof StoreError && words.test(describeStoreFailure(error))
}
