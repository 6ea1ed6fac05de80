import { type Clock, SECOND_MS } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { CopyState, CopyStore, DealEntry, DealQuery } from '../copy/store.ts'
import { UnavailableError } from '../errors.ts'
import { judgeAge } from './age.ts'
import type { Cached } from './cached.ts'
import type { Memory } from './memory.ts'

/** A page of deals as it was read from the copy at `readAtMs`. `hasNext`: there are more behind it. */
export type DealPage = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean; readAtMs: number }>

/** Deals from the stored copy; the catalog is never called for them. */
export type DealSource = Readonly<{
  /**
   * The page that `toQuery` describes, in the given currency or the one most deals have. `asOfMs` is the age of the
   * oldest product on it, or of the walk when it is empty.
   * @throws UnavailableError before the first complete walk, and when the copy is older than it may be shown.
   */
  getDeals(wanted: WantedDeals): Promise<Cached<DealPage>>
}>

/** Which deals; `key` is equal for equal questions, `limit` is one more than shown. */
export type WantedDeals = Readonly<{
  channelId: string
  key: string
  currency: string | null
  toQuery(currency: string): DealQuery
}>

/** What a deal source is made of. */
export type DealSourceDetails = Readonly<{
  store: Pick<CopyStore, 'getCopyState' | 'findDeals' | 'findDealCurrency'>
  memory: Memory<RememberedDeals>
  clock: Clock
  config: FreshnessConfig
  onStoreFailure(error: unknown): void
}>

/** A page in memory: for one walk of the copy, for as long as an answer is fresh. */
export type RememberedDeals = Readonly<{ page: DealPage; asOfMs: number; walk: number }>

/** Bytes of a deal in memory, roughly. */
const DEAL_BYTES = 4_000

/** Makes the one way to deals: memory, then the stored copy. A failing store leaves what is in memory. */
export function createDealSource(details: DealSourceDetails): DealSource {
  return {
    async getDeals(wanted) {
      const key = `${wanted.channelId} ${wanted.key}`
      const remembered = details.memory.get(key)
      try {
        const state = await details.store.getCopyState(wanted.channelId)
        const walkedAtMs = getWalkTime(state)
        if (remembered !== undefined && isUsable(remembered, state, details))
          return toCached(remembered, details)
        const page = await readPage(details, wanted)
        const asOfMs = page.deals.length > 0 ? Math.min(...page.deals.map((deal) => deal.asOfMs)) : walkedAtMs
        const read = { page, asOfMs, walk: state.currentWalk }
        details.memory.set(key, read, page.deals.length * DEAL_BYTES)
        return toCached(read, details)
      } catch (error) {
        if (error instanceof UnavailableError) throw error
        details.onStoreFailure(error)
        if (remembered !== undefined) return toCached(remembered, details)
        throw new UnavailableError('the stored copy cannot be read', { cause: error })
      }
    },
  }
}

function isUsable(
  remembered: RememberedDeals,
  state: CopyState,
  { clock, config }: DealSourceDetails,
): boolean {
  const heldMs = clock.nowMs() - remembered.page.readAtMs
  return remembered.walk === state.currentWalk && heldMs < config.freshSeconds * SECOND_MS
}

function getWalkTime(state: CopyState): number {
  if (state.currentWalk === 0 || state.completedStartedAtMs === null) {
    throw new UnavailableError('the catalog was not walked yet')
  }
  return state.completedStartedAtMs
}

async function readPage({ store, clock }: DealSourceDetails, wanted: WantedDeals): Promise<DealPage> {
  const readAtMs = clock.nowMs()
  const currency = wanted.currency ?? (await store.findDealCurrency(wanted.channelId))
  if (currency === undefined) return { deals: [], hasNext: false, readAtMs }
  const query = wanted.toQuery(currency)
  const found = await store.findDeals(query)
  return { deals: found.slice(0, query.limit - 1), hasNext: found.length === query.limit, readAtMs }
}

function toCached(read: RememberedDeals, { clock, config }: DealSourceDetails): Cached<DealPage> {
  const age = judgeAge(read.asOfMs, clock.nowMs(), config)
  if (age === 'gone') throw new UnavailableError('the copy is older than it may be shown')
  const status = age === 'fresh' ? 'hit' : age === 'stale' ? 'stale' : 'rescued'
  return { value: read.page, asOfMs: read.asOfMs, status }
}
