import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { CallNotMadeError } from '../errors.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'

/**
 * How soon a process reads the copy for what another process fetches; each further read comes half as late again, up to the
 * longest wait. In real time: this is a matter between processes.
 */
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 100
const WAIT_FACTOR = 1.5
/** A claim outlives the longest call by this: the result is being written. */
const WRITING_MS: number = 2 * SECOND_MS

/** One product of a channel. */
export type ClaimedProduct = Readonly<{ channelId: string; gtin: string }>

/** What a call brought. `written` resolves when the copy has it, or failed to take it. */
export type Fetched = Readonly<{ entry: CopyEntry; written: Promise<void> }>

/** Fetch a product from the catalog, unless another process does. */
export type Claims = ((product: ClaimedProduct, fetch: () => Promise<Fetched>) => Promise<CopyEntry>) &
  Readonly<{
    /** End the waits for other processes, and resolve when nothing here uses the store any more. */
    stop(): Promise<void>
  }>

/** `timeoutMs`: of the longest call. `isFresh`: is an entry of that time as good as a call? */
export type ClaimsDetails = Readonly<{
  store: Pick<CopyStore, 'claimLookup' | 'releaseLookup' | 'findProduct'>
  clock: Clock
  timeoutMs: number
  isFresh(asOfMs: number): boolean
  onStoreFailure(error: unknown): void
}>

/** For a process that shares its store with no other: every product is fetched at once. */
export const fetchUnclaimed: Claims = Object.assign(
  async (_product: ClaimedProduct, fetch: () => Promise<Fetched>) => (await fetch()).entry,
  { stop: () => Promise.resolve() },
)

/**
 * Create the claims of one process. Of the processes that share a store one fetches a product, and the others read its result
 * from the copy. If there is none, because the call failed or its process crashed, the next one fetches. While the store fails,
 * every process fetches for itself.
 */
export function createClaims(details: ClaimsDetails): Claims {
  const { store, clock, onStoreFailure } = details
  const stopping = new AbortController()
  // There is no limit to the number of products that are waited for.
  setMaxListeners(0, stopping.signal)
  const tasks = new Set<Promise<unknown>>()
  const track = <T>(task: Promise<T>): Promise<T> => {
    tasks.add(task)
    const remove = (): void => void tasks.delete(task)
    task.then(remove, remove)
    return task
  }
  const claimMs = details.timeoutMs + WRITING_MS

  const claim = async (product: ClaimedProduct, owner: string): Promise<boolean> => {
    try {
      return await store.claimLookup(product, { owner, forMs: claimMs })
    } catch (error) {
      onStoreFailure(error)
      return true
    }
  }
  const release = (product: ClaimedProduct, owner: string): Promise<void> =>
    store.releaseLookup(product, { owner }).catch(onStoreFailure)
  const findFresh = async ({ channelId, gtin }: ClaimedProduct): Promise<CopyEntry | undefined> => {
    const entry = await store.findProduct(channelId, gtin).catch(() => undefined)
    return entry !== undefined && details.isFresh(entry.asOfMs) ? entry : undefined
  }
  const fetchClaimed = async (
    product: ClaimedProduct,
    owner: string,
    fetch: () => Promise<Fetched>,
  ): Promise<CopyEntry> => {
    let written: Promise<void> | undefined
    try {
      // Another process may have written it since the copy was read.
      const found = await findFresh(product)
      if (found !== undefined) return found
      const fetched = await fetch()
      written = fetched.written
      return fetched.entry
    } finally {
      // The next owner reads the copy before it calls. The visitor does not wait for the write.
      void track(Promise.resolve(written).then(() => release(product, owner)))
    }
  }
  const fetchOrWait = async (product: ClaimedProduct, fetch: () => Promise<Fetched>): Promise<CopyEntry> => {
    const beganMs = clock.nowMs()
    // An owner for each claim: the release of an earlier one of this process, which may come late, must not end this one.
    const owner = randomUUID()
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_FACTOR, LONGEST_WAIT_MS)) {
      if (await claim(product, owner)) return fetchClaimed(product, owner, fetch)
      const found = await findFresh(product)
      if (found !== undefined) return found
      if (!isWithin(beganMs, claimMs, clock.nowMs()))
        throw new CallNotMadeError('another process fetches the product, and has found nothing')
      await systemClock.wait(waitMs, stopping.signal)
      if (stopping.signal.aborted) throw new CallNotMadeError('the server is stopping')
    }
  }
  return Object.assign(
    (product: ClaimedProduct, fetch: () => Promise<Fetched>) => track(fetchOrWait(product, fetch)),
    {
      async stop() {
        stopping.abort()
        while (tasks.size > 0) await Promise.allSettled(tasks)
      },
    },
  )
}
