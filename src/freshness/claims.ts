import { randomUUID } from 'node:crypto'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import type { LookupWriter } from '../copy/lookup-writer.ts'
import type { CopyEntry, CopyStore } from '../copy/store.ts'
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
export type Claims = (product: ClaimedProduct, ask: () => Promise<CopyEntry>) => Promise<CopyEntry>

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
export const askAtOnce: Claims = (_product, ask) => ask()

/**
 * One of the processes that share a store asks for a product; the others have from the store what it found. When that gives
 * nothing, because the call failed or its process died, the next one asks. Without a store everybody asks for himself.
 */
export function createClaims(details: ClaimsDetails): Claims {
  const { store, lookups, clock, onStoreFailure } = details
  const owner = randomUUID()
  const lastsMs = details.timeoutMs + WRITING_MS
  const claim = async (product: ClaimedProduct): Promise<boolean> => {
    try {
      return await store.claimLookup(product, { owner, forMs: lastsMs })
    } catch (error) {
      onStoreFailure(error)
      return true
    }
  }
  const isWaiting = ({ channelId, gtin }: ClaimedProduct): boolean =>
    lookups.find(channelId, gtin) !== undefined
  const giveBack = async (product: ClaimedProduct): Promise<void> => {
    // Whoever has it next looks into the store first.
    lookups.hurry()
    for (
      let waitMs = WRITTEN_LOOK_MS;
      isWaiting(product);
      waitMs = Math.min(waitMs * 2, LONGEST_WRITTEN_LOOK_MS)
    )
      await systemClock.wait(waitMs)
    await store.giveBackLookup(product, { owner }).catch(onStoreFailure)
  }
  const findFresh = async ({ channelId, gtin }: ClaimedProduct): Promise<CopyEntry | undefined> => {
    const entry = await store.findProduct(channelId, gtin).catch(() => undefined)
    return entry !== undefined && details.isFresh(entry.asOfMs) ? entry : undefined
  }
  return async (product, ask) => {
    const beganMs = clock.nowMs()
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * LATER_BY, LONGEST_LOOK_MS)) {
      const isMine = await claim(product)
      try {
        // Another process may have found it since the store was looked into.
        const found = await findFresh(product)
        if (found !== undefined) return found
        if (isMine) return await ask()
      } finally {
        if (isMine) void giveBack(product)
      }
      if (!isWithin(beganMs, lastsMs, clock.nowMs()))
        throw new CallNotMadeError('another process asks for the product, and has found nothing')
      await systemClock.wait(waitMs)
    }
  }
}
