import { setImmediate as breathe } from 'node:timers/promises'
import { ENOUGH, SECOND_MS, systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { isHeldElsewhere } from './healing-store.ts'
import { createLookupQueue, toKey } from './lookup-queue.ts'
import type { CopyEntry, CopyStore, Lookup } from './store.ts'

/**
 * How long look-ups wait for others: a transaction for each costs more than what is in it. Both times are of the machine's
 * clock, since they are matters between processes and not of any rule.
 */
const GATHERED_MS = 50
/** How long those wait that came while another process held the database. */
const HELD_WAIT_MS: number = SECOND_MS

/** Look-ups on their way into the copy: whoever waits for an answer need not wait for that. */
export type LookupWriter = Readonly<{
  /** Will be written soon; of two for one product the later. */
  put(lookup: Lookup): void
  /** What waits to be written, or is being written. */
  find(channelId: string, gtin: string): CopyEntry | undefined
  /** Writes now what waits, and resolves when it is written, or has failed. */
  settle(): Promise<void>
}>

/** Makes the writer of one process. */
export function createLookupWriter(
  store: Pick<CopyStore, 'putLookups'>,
  onFailure: (error: unknown) => void,
): LookupWriter {
  const waiting = createLookupQueue()
  let underWay: readonly Lookup[] = []
  let writing: Promise<void> | undefined
  let haste = new AbortController()
  const add = (lookup: Lookup): void => {
    if (!waiting.add(lookup)) onFailure(new StoreError('too many look-ups wait to be written'))
  }
  /** One that cannot be written takes no other with it. */
  const write = async (some: readonly Lookup[]): Promise<void> => {
    try {
      await store.putLookups(some)
    } catch (error) {
      if (isHeldElsewhere(error) && !haste.signal.aborted) {
        for (const lookup of some) if (waiting.get(toKey(lookup)) === undefined) add(lookup)
        await systemClock.wait(HELD_WAIT_MS, haste.signal)
      } else if (some.length === 1) onFailure(error)
      else for (const one of some) await write([one])
    }
  }
  const writeAll = async (): Promise<void> => {
    await systemClock.wait(GATHERED_MS, haste.signal)
    while (!waiting.isEmpty()) {
      underWay = waiting.takeSome()
      await write(underWay)
      underWay = []
      await breathe()
    }
    writing = undefined
  }
  return {
    put(lookup) {
      add(lookup)
      if (writing !== undefined) return
      haste = new AbortController()
      writing = writeAll()
    },
    find(channelId, gtin) {
      const key = toKey({ channelId, gtin })
      return (waiting.get(key) ?? underWay.find((lookup) => toKey(lookup) === key))?.entry
    },
    async settle() {
      haste.abort(ENOUGH)
      await writing
    },
  }
}
