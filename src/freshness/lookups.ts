import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { CatalogCallBlockedError, StoreError } from '../errors.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'

/** How often a process reads the copy for what another process fetches. In real time: this is between processes. */
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 100
const WAIT_FACTOR = 1.5
/** A claim outlives the longest call by this: the result is being written. */
const WRITING_MS: number = 2 * SECOND_MS
/** Memory of all look-ups that are being written; beyond, one is not written. */
const MAX_BYTES: number = 8 * 1_024 * 1_024

type ProductId = Readonly<{ channelId: string; gtin: string }>

/** What a call brought; `bytes` of memory. */
export type Fetched = Readonly<{ entry: CopyEntry; bytes: number }>

/** The look-ups of one process: who fetches a product, and what of it is still being written. */
export type Lookups = Readonly<{
  /**
   * Return a product that `fetch` gives and write it behind, so that visitors do not wait for the copy. Of the processes that
   * share a store one fetches, and the others read its result from the copy; when there is none, the next one fetches. While
   * the store fails, every process fetches for itself.
   */
  run(product: ProductId, fetch: () => Promise<Fetched>): Promise<CopyEntry>
  /** Find what is being written: memory may have had no room for it. */
  findUnwritten(product: ProductId): CopyEntry | undefined
  /** Resolve when nothing is being written. */
  settle(): Promise<void>
  /** The same, end the waits for other processes, and resolve when nothing here uses the store any more. */
  stop(): Promise<void>
}>

/** `isShared`: do other processes use the store? `timeoutMs`: of the longest call. `isFresh`: is an entry of that time as good as a call? */
export type LookupsDetails = Readonly<{
  store: Pick<CopyStore, 'claimLookup' | 'releaseLookup' | 'findProduct' | 'putLookups'>
  isShared: boolean
  clock: Clock
  timeoutMs: number
  isFresh(asOfMs: number): boolean
  onStoreFailure(error: unknown): void
}>

/** Create the look-ups of one process. */
export function createLookups(details: LookupsDetails): Lookups {
  const { store, clock, onStoreFailure } = details
  const stopping = new AbortController()
  // There is no limit to the number of products that are waited for.
  setMaxListeners(0, stopping.signal)
  const writes = createWrites(details)
  const running = new Set<Promise<unknown>>()
  const claimMs = details.timeoutMs + WRITING_MS

  const claim = (product: ProductId, owner: string): Promise<boolean> =>
    store.claimLookup(product, { owner, forMs: claimMs }).catch((error: unknown) => {
      onStoreFailure(error)
      return true
    })
  const findFresh = async ({ channelId, gtin }: ProductId): Promise<CopyEntry | undefined> => {
    const entry = await store.findProduct(channelId, gtin).catch(() => undefined)
    return entry !== undefined && details.isFresh(entry.asOfMs) ? entry : undefined
  }
  const fetchClaimed = async (
    product: ProductId,
    owner: string,
    fetch: () => Promise<Fetched>,
  ): Promise<CopyEntry> => {
    let written: Promise<void> | undefined
    try {
      // Another process may have written it since the copy was read.
      const found = await findFresh(product)
      if (found !== undefined) return found
      const fetched = await fetch()
      written = writes.put(product, fetched)
      return fetched.entry
    } finally {
      // The next owner reads the copy before it calls.
      void track(
        Promise.resolve(written).then(() => store.releaseLookup(product, { owner }).catch(onStoreFailure)),
      )
    }
  }
  const fetchOrWait = async (product: ProductId, fetch: () => Promise<Fetched>): Promise<CopyEntry> => {
    const beganMs = clock.nowMs()
    // An owner for each claim: the release of an earlier one of this process, which may come late, must not end this one.
    const owner = randomUUID()
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_FACTOR, LONGEST_WAIT_MS)) {
      if (await claim(product, owner)) return fetchClaimed(product, owner, fetch)
      const found = await findFresh(product)
      if (found !== undefined) return found
      if (!isWithin(beganMs, claimMs, clock.nowMs()))
        throw new CatalogCallBlockedError('another process fetches the product, and has found nothing')
      await systemClock.wait(waitMs, stopping.signal)
      if (stopping.signal.aborted) throw new CatalogCallBlockedError('the server is stopping')
    }
  }
  const track = <T>(task: Promise<T>): Promise<T> => {
    running.add(task)
    const remove = (): void => void running.delete(task)
    task.then(remove, remove)
    return task
  }
  return {
    async run(product, fetch) {
      if (details.isShared) return track(fetchOrWait(product, fetch))
      const fetched = await fetch()
      void writes.put(product, fetched)
      return fetched.entry
    },
    findUnwritten: writes.find,
    settle: writes.settle,
    async stop() {
      await writes.settle()
      stopping.abort()
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}

/** What is being written: at most `MAX_BYTES`, unless it is one look-up alone. */
function createWrites({ store, onStoreFailure }: LookupsDetails) {
  const writing = new Map<string, Readonly<{ entry: CopyEntry; done: Promise<void> }>>()
  let bytesWriting = 0
  return {
    /** Resolve when the copy has what was fetched, or failed to take it. */
    async put(product: ProductId, { entry, bytes }: Fetched): Promise<void> {
      if (writing.size > 0 && bytesWriting + bytes > MAX_BYTES)
        return onStoreFailure(new StoreError('too many look-ups are being written'))
      bytesWriting += bytes
      const key = toKey(product)
      const { channelId, gtin } = product
      const done = store.putLookups([{ channelId, gtin, entry }]).catch(onStoreFailure)
      writing.set(key, { entry, done })
      await done
      bytesWriting -= bytes
      if (writing.get(key)?.done === done) writing.delete(key)
    },
    find: (product: ProductId) => writing.get(toKey(product))?.entry,
    async settle(): Promise<void> {
      while (writing.size > 0) await Promise.all([...writing.values()].map(({ done }) => done))
    },
  }
}

function toKey({ channelId, gtin }: ProductId): string {
  return `${channelId} ${gtin}`
}
