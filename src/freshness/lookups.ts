import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { CatalogCallBlockedError, StoreError } from '../errors.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'

/** Poll interval for a product that another process fetches, in real time because it is between processes. */
const INITIAL_WAIT_MS = 10
const MAX_WAIT_MS = 100
const WAIT_FACTOR = 1.5
/** A lease outlives the longest call by this time, in which the result is written. */
const WRITE_GRACE_MS: number = 2 * SECOND_MS
/** Memory limit for pending writes; look-ups beyond it are not written. */
const MAX_BYTES: number = 8 * 1_024 * 1_024

type ProductKey = Readonly<{ channelId: string; gtin: string }>

/** `bytes`: estimated memory of the entry. */
export type FetchedProduct = Readonly<{ entry: CopyEntry; bytes: number }>

/** Coordinates the look-ups of one process: which process fetches a product, and which results are still being written. */
export type Lookups = Readonly<{
  /**
   * Fetch a product and write it to the copy in the background. Of several processes that share a store, one fetches and the others
   * read its result from the copy. While the store fails, every process fetches for itself.
   */
  run(product: ProductKey, fetch: () => Promise<FetchedProduct>): Promise<CopyEntry>
  /** Find an entry that is still being written: the memory cache may have had no room for it. */
  findPending(product: ProductKey): CopyEntry | undefined
  /** Resolve when all pending writes have ended. */
  waitForWrites(): Promise<void>
  /** Wait for writes, stop waiting for other processes, and resolve when nothing here uses the store. */
  stop(): Promise<void>
}>

/** `isShared`: other processes use the store. `timeoutMs`: of the longest call. `isFresh`: an entry of that time needs no call. */
export type LookupsOptions = Readonly<{
  store: Pick<CopyStore, 'acquireLookupLease' | 'releaseLookupLease' | 'findProduct' | 'putLookups'>
  isShared: boolean
  clock: Clock
  timeoutMs: number
  isFresh(asOfMs: number): boolean
  onStoreFailure(error: unknown): void
}>

export function createLookups(options: LookupsOptions): Lookups {
  const { store, clock, onStoreFailure } = options
  const stopping = new AbortController()
  // Any number of look-ups may wait at once.
  setMaxListeners(0, stopping.signal)
  const pendingWrites = createPendingWrites(options)
  const running = new Set<Promise<unknown>>()
  const leaseMs = options.timeoutMs + WRITE_GRACE_MS

  const acquireLease = (product: ProductKey, owner: string): Promise<boolean> =>
    store.acquireLookupLease(product, { owner, forMs: leaseMs }).catch((error: unknown) => {
      onStoreFailure(error)
      return true
    })
  const findFresh = async ({ channelId, gtin }: ProductKey): Promise<CopyEntry | undefined> => {
    const entry = await store.findProduct(channelId, gtin).catch(() => undefined)
    return entry !== undefined && options.isFresh(entry.asOfMs) ? entry : undefined
  }
  const fetchUnderLease = async (
    product: ProductKey,
    owner: string,
    fetch: () => Promise<FetchedProduct>,
  ): Promise<CopyEntry> => {
    let write: Promise<void> | undefined
    try {
      // Another process may have written the product since the copy was read.
      const found = await findFresh(product)
      if (found !== undefined) return found
      const fetched = await fetch()
      write = pendingWrites.put(product, fetched)
      return fetched.entry
    } finally {
      // Release only after the write: the next owner reads the copy before it calls.
      void track(
        Promise.resolve(write).then(() => store.releaseLookupLease(product, { owner }).catch(onStoreFailure)),
      )
    }
  }
  const fetchOrWait = async (
    product: ProductKey,
    fetch: () => Promise<FetchedProduct>,
  ): Promise<CopyEntry> => {
    const startedAtMs = clock.nowMs()
    // One owner per lease: a late release of an earlier lease of this process must not end this one.
    const owner = randomUUID()
    for (let waitMs = INITIAL_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_FACTOR, MAX_WAIT_MS)) {
      if (await acquireLease(product, owner)) return fetchUnderLease(product, owner, fetch)
      const found = await findFresh(product)
      if (found !== undefined) return found
      if (!isWithin(startedAtMs, leaseMs, clock.nowMs()))
        throw new CatalogCallBlockedError(
          'another process fetches the product, but has stored no result in time',
        )
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
      if (options.isShared) return track(fetchOrWait(product, fetch))
      const fetched = await fetch()
      void pendingWrites.put(product, fetched)
      return fetched.entry
    },
    findPending: pendingWrites.find,
    waitForWrites: pendingWrites.settle,
    async stop() {
      await pendingWrites.settle()
      stopping.abort()
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}

/** Holds at most `MAX_BYTES`, but always accepts a single look-up. */
function createPendingWrites({ store, onStoreFailure }: LookupsOptions) {
  const pending = new Map<string, Readonly<{ entry: CopyEntry; done: Promise<void> }>>()
  let bytesWriting = 0
  return {
    /** Resolve when the entry is written or the write has failed. */
    async put(product: ProductKey, { entry, bytes }: FetchedProduct): Promise<void> {
      if (pending.size > 0 && bytesWriting + bytes > MAX_BYTES)
        return onStoreFailure(new StoreError('too many look-ups are being written'))
      bytesWriting += bytes
      const key = toKey(product)
      const { channelId, gtin } = product
      const done = store.putLookups([{ channelId, gtin, entry }]).catch(onStoreFailure)
      pending.set(key, { entry, done })
      await done
      bytesWriting -= bytes
      if (pending.get(key)?.done === done) pending.delete(key)
    },
    find: (product: ProductKey) => pending.get(toKey(product))?.entry,
    async settle(): Promise<void> {
      while (pending.size > 0) await Promise.all([...pending.values()].map(({ done }) => done))
    },
  }
}

function toKey({ channelId, gtin }: ProductKey): string {
  return `${channelId} ${gtin}`
}
