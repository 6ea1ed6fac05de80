import { StoreError } from '../errors.ts'
import type { CopyEntry, CopyStore, Lookup } from '../storage/store.ts'

/** What look-ups under way take in memory together, at most; a larger one is written alone. */
const MAX_BYTES: number = 8 * 1_024 * 1_024

/** Writes of look-ups that are under way. Visitors do not wait for them. */
export type LookupWrites = Readonly<{
  /** Write a look-up that takes `bytes` in memory. The promise resolves when the copy has it, or failed to take it. */
  put(lookup: Lookup, bytes: number): Promise<void>
  /** Find what is being written: memory may have had no room for it. */
  find(channelId: string, gtin: string): CopyEntry | undefined
  /** Resolve when nothing is being written. */
  settle(): Promise<void>
}>

/** Create the writes of one process. */
export function createLookupWrites(
  store: Pick<CopyStore, 'putLookups'>,
  onFailure: (error: unknown) => void,
): LookupWrites {
  const writes = new Map<string, Readonly<{ entry: CopyEntry; done: Promise<void> }>>()
  let bytesUnderWay = 0
  return {
    async put(lookup, bytes) {
      if (writes.size > 0 && bytesUnderWay + bytes > MAX_BYTES)
        return onFailure(new StoreError('too many look-ups are being written'))
      bytesUnderWay += bytes
      const key = toKey(lookup.channelId, lookup.gtin)
      const done = store.putLookups([lookup]).catch(onFailure)
      writes.set(key, { entry: lookup.entry, done })
      await done
      bytesUnderWay -= bytes
      if (writes.get(key)?.done === done) writes.delete(key)
    },
    find: (channelId, gtin) => writes.get(toKey(channelId, gtin))?.entry,
    async settle() {
      while (writes.size > 0) await Promise.all([...writes.values()].map(({ done }) => done))
    },
  }
}

function toKey(channelId: string, gtin: string): string {
  return `${channelId} ${gtin}`
}
