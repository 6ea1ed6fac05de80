import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type Clock, ENOUGH, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import type { LookupWriter } from '../storage/lookup-writer.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { CallNotMadeError } from '../errors.ts'

/**
 * How soon a process looks for what another one has asked for; each further look comes half as late again, up to the longest. Of
 * the machine's clock: a matter between processes, and not of any rule.
 */
const FIRST_LOOK_MS = 10
const LONGEST_LOOK_MS = 100
const LATER_BY = 1.5
/** How often the owner looks whether what it found is written. */
const WRITTEN_LOOK_MS = 3
/** While the database is away that takes as long as it is. */
const LONGEST_WRITTEN_LOOK_MS: number = SECOND_MS
/** A claim outlives the longest call by this: what it found is being written. */
const WRITING_MS: number = 2 * SECOND_MS

/** One product of a channel. */
export type ClaimedProduct = Readonly<{ channelId: string; gtin: string }>

/** Asks the catalog for a product, unless another process has. */
export type Claims = ((product: ClaimedProduct, ask: () => Promise<CopyEntry>) => Promise<CopyEntry>) &
  Readonly<{
    /** Ends what waits for others, and resolves when nothing here uses the store any more. */
    stop(): Promise<void>
  }>

/** What claims are made of. `isFresh`: is an entry of that time as good as a call? `timeoutMs`: the longest call. */
export type ClaimsDetails = Readonly<{
  store: Pick<CopyStore, 'claimLookup' | 'giveBackLookup' | 'findProduct'>
  lookups: Pick<LookupWriter, 'find' | 'hurry'>
  clock: Clock
  timeoutMs: number
  isFresh(asOfMs: number): boolean
  onStoreFailure(error: unknown): void
}>

/** A process that shares its store with nobody asks at once. */
export const askAtOnce: Claims = Object.assign(
  (_product: ClaimedProduct, ask: () => Promise<CopyEntry>) => ask(),
  { stop: () => Promise.resolve() },
)

/**
 * One of the processes that share a store asks for a product; the others have from the store what it found. When that gives
 * nothing, because the call failed or its process died, the next one asks. Without a store everybody asks for himself.
 */
export function createClaims(details: ClaimsDetails): Claims {
  const { clock } = details
  const stopping = new AbortController()
  // As many may wait as have been asked.
  setMaxListeners(0, stopping.signal)
  const { track, waitForAll } = createTracker()
  const lastsMs = details.timeoutMs + WRITING_MS
  const { claim, giveBack, findFresh } = createSteps(details, lastsMs, stopping.signal)
  const askClaimed = async (product: ClaimedProduct, ask: () => Promise<CopyEntry>): Promise<CopyEntry> => {
    const beganMs = clock.nowMs()
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * LATER_BY, LONGEST_LOOK_MS)) {
      const isMine = await claim(product)
      try {
        // Another process may have found it since the store was looked into.
        const found = await findFresh(product)
        if (found !== undefined) return found
        if (isMine) return await ask()
      } finally {
        if (isMine) void track(giveBack(product))
      }
      if (!isWithin(beganMs, lastsMs, clock.nowMs()))
        throw new CallNotMadeError('another process asks for the product, and has found nothing')
      await systemClock.wait(waitMs, stopping.signal)
      if (stopping.signal.aborted) throw new CallNotMadeError('the server is stopping')
    }
  }
  return Object.assign(
    (product: ClaimedProduct, ask: () => Promise<CopyEntry>) => track(askClaimed(product, ask)),
    {
      stop() {
        stopping.abort(ENOUGH)
        return waitForAll()
      },
    },
  )
}

type Steps = Readonly<{
  claim(product: ClaimedProduct): Promise<boolean>
  giveBack(product: ClaimedProduct): Promise<void>
  findFresh(product: ClaimedProduct): Promise<CopyEntry | undefined>
}>

function createSteps(details: ClaimsDetails, lastsMs: number, stopping: AbortSignal): Steps {
  const { store, lookups, onStoreFailure } = details
  const owner = randomUUID()
  return {
    async claim(product) {
      try {
        return await store.claimLookup(product, { owner, forMs: lastsMs })
      } catch (error) {
        onStoreFailure(error)
        return true
      }
    },
    async giveBack(product) {
      const isWaiting = (): boolean =>
        lookups.find(product.channelId, product.gtin) !== undefined && !stopping.aborted
      // The next owner reads the store before it calls.
      lookups.hurry()
      for (let waitMs = WRITTEN_LOOK_MS; isWaiting(); waitMs = Math.min(waitMs * 2, LONGEST_WRITTEN_LOOK_MS))
        await systemClock.wait(waitMs, stopping)
      await store.giveBackLookup(product, { owner }).catch(onStoreFailure)
    },
    async findFresh({ channelId, gtin }) {
      const entry = await store.findProduct(channelId, gtin).catch(() => undefined)
      return entry !== undefined && details.isFresh(entry.asOfMs) ? entry : undefined
    },
  }
}

/** Work that is under way, so that its end can be waited for. */
function createTracker(): Readonly<{
  track<T>(work: Promise<T>): Promise<T>
  waitForAll(): Promise<void>
}> {
  const underWay = new Set<Promise<unknown>>()
  return {
    track(work) {
      underWay.add(work)
      const forget = (): void => void underWay.delete(work)
      work.then(forget, forget)
      return work
    },
    async waitForAll() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}
