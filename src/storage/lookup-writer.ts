import { setImmediate as breathe } from 'node:timers/promises'
import { ENOUGH, SECOND_MS, systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { isHeldElsewhere } from './reconnecting-store.ts'
import { type WaitingLookup, createLookupQueue, toKey } from './lookup-queue.ts'
import type { CopyEntry, CopyStore } from './store.ts'

/**
 * How long look-ups wait for others: a transaction for each costs more than what is in it. All times are of the machine's
 * clock, since they are matters between processes and not of any rule.
 */
const GATHERED_MS = 50
/** How long those wait that came while another process held the database. */
const HELD_WAIT_MS: number = SECOND_MS
/** The same when somebody waits for them. */
const HELD_WAIT_IN_HASTE_MS = 50
/** How long a stop tries: a healing store's write and its rest, and as much again; then what waits is lost, and told. */
const HELD_AT_STOP_MS: number = 2 * SECOND_MS

/** Look-ups on their way into the copy: whoever waits for an answer need not wait for that. */
export type LookupWriter = Readonly<{
  /** Will be written soon; of two for one product the later. */
  put(lookup: WaitingLookup): void
  /** What waits to be written, or is being written. */
  find(channelId: string, gtin: string): CopyEntry | undefined
  /** Somebody waits for what waits here: gathers no more, and lets the database rest only shortly. */
  hurry(): void
  /**
   * Writes now what waits, and resolves when it is written, or has failed. While another process holds the database, that
   * takes two seconds at most.
   */
  settle(): Promise<void>
}>

type LookupStore = Pick<CopyStore, 'putLookups'>

/** Makes the writer of one process. */
export function createLookupWriter(store: LookupStore, onFailure: (error: unknown) => void): LookupWriter {
  const waiting = createLookupQueue()
  let underWay: readonly WaitingLookup[] = []
  let writing: Promise<void> | undefined
  let haste = createHaste()
  const add = (lookup: WaitingLookup): void => {
    if (!waiting.add(lookup)) onFailure(new StoreError('too many look-ups wait to be written'))
  }
  /** One that cannot be written takes no other with it. Throws when another process holds the database for too long. */
  const write = async (some: readonly WaitingLookup[]): Promise<void> => {
    try {
      await store.putLookups(some)
    } catch (error) {
      if (isHeldElsewhere(error)) {
        if (haste.isOver()) throw error
        for (const lookup of some) if (waiting.get(toKey(lookup)) === undefined) add(lookup)
        await haste.waitWhileHeld()
      } else if (some.length === 1) onFailure(error)
      else for (const one of some) await write([one])
    }
  }
  const writeAll = async (): Promise<void> => {
    await systemClock.wait(GATHERED_MS, haste.signal)
    while (!waiting.isEmpty()) {
      underWay = waiting.takeSome()
      await write(underWay).catch((error: unknown) => {
        // What happened to all of them is told once.
        waiting.clear()
        onFailure(error)
      })
      underWay = []
      await breathe()
    }
    writing = undefined
  }
  return {
    put(lookup) {
      add(lookup)
      if (writing !== undefined) return
      haste = createHaste()
      writing = writeAll()
    },
    find(channelId, gtin) {
      const key = toKey({ channelId, gtin })
      return (waiting.get(key) ?? underWay.find((lookup) => toKey(lookup) === key))?.entry
    },
    hurry: () => haste.begin(),
    settle: () => haste.waitFor(writing),
  }
}

/** Whether somebody waits for what is being written, and for how long yet. */
type Haste = Readonly<{
  /** From now on waits are short. */
  begin(): void
  /** Begins, and ends in time. The process lives until the writing has ended. */
  waitFor(writing: Promise<void> | undefined): Promise<void>
  signal: AbortSignal
  /** Has what another process held been tried for long enough? Without haste never. */
  isOver(): boolean
  waitWhileHeld(): Promise<void>
}>

function createHaste(): Haste {
  const begun = new AbortController()
  let endsAtMs = Infinity
  return {
    begin: () => begun.abort(ENOUGH),
    async waitFor(writing) {
      endsAtMs = Math.min(endsAtMs, performance.now() + HELD_AT_STOP_MS)
      begun.abort(ENOUGH)
      // The clock's waits keep no process alive, and at a stop nothing else may.
      const alive = setInterval(() => {}, HELD_AT_STOP_MS)
      try {
        await writing
      } finally {
        clearInterval(alive)
      }
    },
    signal: begun.signal,
    isOver: () => performance.now() >= endsAtMs,
    waitWhileHeld: () =>
      begun.signal.aborted
        ? systemClock.wait(HELD_WAIT_IN_HASTE_MS)
        : systemClock.wait(HELD_WAIT_MS, begun.signal),
  }
}
