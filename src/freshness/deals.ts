import { type Clock, SECOND_MS, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import {
  type CopyState,
  type CopyStore,
  type DealEntry,
  type DealQuery,
  isShortRead,
} from '../storage/store.ts'
import { UnavailableError } from '../errors.ts'
import { type Cached, judgeAge } from './age.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { waitInTime } from '../lib/in-time.ts'
import type { Memory } from '../lib/lru-cache.ts'

export type { DealEntry, DealQuery } from '../storage/store.ts'

/** A page of deals as it was read from the copy at `readAtMs`. `hasNext`: there are more behind it. */
export type DealPage = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean; readAtMs: number }>

/** Deals from the stored copy; the catalog is never called for them. */
export type DealSource = Readonly<{
  /**
   * The page that `toQuery` describes, in the given currency or the one most deals have. `asOfMs` is the age of the
   * oldest product on it, or of the walk when it is empty. Products that are too old to be shown are left out.
   * @throws UnavailableError before the first complete walk, when the copy is older than it may be shown, and when the page
   * cannot be read within the time that a visitor waits.
   */
  getDeals(wanted: WantedDeals): Promise<Cached<DealPage>>
}>

/** Which deals; `key` is equal for equal questions, `limit` is one more than shown. `visitor`: who waits for them, such as an address. */
export type WantedDeals = Readonly<{
  visitor?: string
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

/** How soon a finished walk, also of another process, shows in grids. */
const WALK_SEEN_WITHIN_MS: number = SECOND_MS

/** A page in memory: for one walk of the copy, for as long as an answer is fresh. */
export type RememberedDeals = Readonly<{ page: DealPage; asOfMs: number; walk: number }>

/** Makes the one way to deals: memory, then the stored copy. A failing store leaves what is in memory. */
export function createDealSource(details: DealSourceDetails): DealSource {
  const reads = createDealReads(details)
  const find = async (key: string, wanted: WantedDeals): Promise<Cached<DealPage>> => {
    const remembered = details.memory.get(key)
    const state = await details.store.getCopyState(wanted.channelId)
    getWalkTime(state)
    const isCurrent = remembered !== undefined && isUsable(remembered, state, details)
    return limitByPage(isCurrent ? remembered : await reads.read(key, wanted, state), details)
  }
  return {
    async getDeals(wanted) {
      const key = `${wanted.channelId} ${wanted.key}`
      const remembered = details.memory.get(key)
      let failure: UnavailableError | undefined
      const finding = find(key, wanted).catch((error: unknown) => {
        failure = toUnavailable(error, details)
        throw failure
      })
      // A database that is slow is waited for no longer than a catalog that is.
      const found = await waitInTime(details.clock, details.config.visitorTimeoutMs, finding)
      if (found !== undefined) return found
      if (remembered !== undefined) return toCached(remembered, details)
      throw failure ?? createTooLate(reads.findLastFailure())
    },
  }
}

/** Reads of pages, in two queues: one that goes through all deals delays no ordinary one. */
type DealReads = Readonly<{
  read(key: string, wanted: WantedDeals, state: CopyState): Promise<RememberedDeals>
  /** Return why the last read failed; `undefined` where none did, or longer ago than a visitor waits. */
  findLastFailure(): unknown
}>

function createDealReads(details: DealSourceDetails): DealReads {
  const { clock, config, memory } = details
  const flights = createSingleFlight<RememberedDeals>()
  const shortReads = createFairQueue(clock)
  const longReads = createFairQueue(clock)
  let last: Readonly<{ error: unknown; atMs: number }> | undefined
  const findLastFailure = (): unknown =>
    last !== undefined && clock.nowMs() - last.atMs <= config.visitorTimeoutMs ? last.error : undefined
  const readOnTurn = async (wanted: WantedDeals): Promise<DealPage> => {
    const isShort = isShortRead(wanted.toQuery(''))
    const withinMs = config.visitorTimeoutMs
    // A long read leaves time for the next one.
    const longestMs = isShort ? withinMs : withinMs / 2
    const request = { visitor: wanted.visitor ?? '', withinMs }
    try {
      const page = await (isShort ? shortReads : longReads).run(request, (leftMs) =>
        readPage(details, wanted, Math.min(leftMs, longestMs)),
      )
      last = undefined
      return page
    } catch (error) {
      // A store that fails makes the queue full or slow.
      const cause = findLastFailure()
      if (error instanceof UnavailableError) throw cause === undefined ? error : createTooLate(cause)
      last = { error, atMs: clock.nowMs() }
      throw error
    }
  }
  return {
    findLastFailure,
    read: (key, wanted, state) =>
      flights.run(`${key} ${state.currentWalk}`, async () => {
        const page = await readOnTurn(wanted)
        const asOfMs = findOldestMs(page.deals, getWalkTime(state))
        const remembered = { page, asOfMs, walk: state.currentWalk }
        memory.set(key, remembered, JSON.stringify(page.deals).length * 2)
        return remembered
      }),
  }
}

/** `cause`: why reads fail; `undefined` where they are only slow. */
function createTooLate(cause: unknown): UnavailableError {
  return new UnavailableError('the stored copy was not read in time', { cause })
}

function toUnavailable(error: unknown, { onStoreFailure }: DealSourceDetails): UnavailableError {
  if (error instanceof UnavailableError) return error
  onStoreFailure(error)
  return new UnavailableError('the stored copy cannot be read', { cause: error })
}

function isUsable(
  remembered: RememberedDeals,
  state: CopyState,
  { clock, config }: DealSourceDetails,
): boolean {
  const withinMs = config.freshSeconds * SECOND_MS
  return remembered.walk === state.currentWalk && isWithin(remembered.page.readAtMs, withinMs, clock.nowMs())
}

function getWalkTime(state: CopyState): number {
  if (state.currentWalk === 0 || state.completedStartedAtMs === null) {
    throw new UnavailableError('the catalog was not walked yet')
  }
  return state.completedStartedAtMs
}

async function readPage(
  { store, clock }: DealSourceDetails,
  wanted: WantedDeals,
  withinMs: number,
): Promise<DealPage> {
  const readAtMs = clock.nowMs()
  const currency = wanted.currency ?? (await store.findDealCurrency(wanted.channelId))
  if (currency === undefined) return { deals: [], hasNext: false, readAtMs }
  const query = wanted.toQuery(currency)
  const found = await store.findDeals(query, withinMs)
  return { deals: found.slice(0, query.limit - 1), hasNext: found.length === query.limit, readAtMs }
}

/** What may still be shown. One product that is too old costs its card, not the grid; a visit to a warm page looks at none. */
function toCached(read: RememberedDeals, { clock, config }: DealSourceDetails): Cached<DealPage> {
  const nowMs = clock.nowMs()
  const { page, asOfMs } =
    judgeAge(read.asOfMs, nowMs, config) === 'gone' ? dropGone(read, nowMs, config) : read
  const age = judgeAge(asOfMs, nowMs, config)
  if (age === 'gone') throw new UnavailableError('the copy is older than it may be shown')
  const status = age === 'fresh' ? 'hit' : age === 'stale' ? 'stale' : 'rescued'
  return { value: page, asOfMs, status, currentUntilMs: 0 }
}

/** A page is of one walk. It is current until another process can have made a newer one, or it becomes older or shorter. */
function limitByPage(read: RememberedDeals, details: DealSourceDetails): Cached<DealPage> {
  const cached = toCached(read, details)
  if (cached.status === 'rescued') return cached
  const { freshSeconds, staleSeconds } = details.config
  const agesAtMs =
    cached.status === 'hit'
      ? read.asOfMs + freshSeconds * SECOND_MS
      : read.asOfMs + staleSeconds * SECOND_MS + 1
  const readUntilMs = read.page.readAtMs + freshSeconds * SECOND_MS
  return {
    ...cached,
    currentUntilMs: Math.min(details.clock.nowMs() + WALK_SEEN_WITHIN_MS, readUntilMs, agesAtMs),
  }
}

function dropGone(read: RememberedDeals, nowMs: number, config: FreshnessConfig): RememberedDeals {
  const deals = read.page.deals.filter((deal) => judgeAge(deal.asOfMs, nowMs, config) !== 'gone')
  return deals.length === 0
    ? read
    : { ...read, page: { ...read.page, deals }, asOfMs: findOldestMs(deals, read.asOfMs) }
}

/** The age of a page: that of its oldest product, or of the walk when it is empty. */
function findOldestMs(deals: readonly DealEntry[], walkedAtMs: number): number {
  return deals.length === 0 ? walkedAtMs : Math.min(...deals.map((deal) => deal.asOfMs))
}
