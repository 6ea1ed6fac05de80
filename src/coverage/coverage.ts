import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Clock, SECOND_MS } from '../clock.ts'
import { createSerialQueue } from '../lib/concurrency.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { toDay } from '../offers/price-history.ts'
import {
  type CountedPlacement,
  type CountStore,
  type Counts,
  type StateCounts,
  type WidgetState,
  sumStates,
  type ClickCount,
  type WidgetCount,
} from '../storage/counts.ts'
import { isInvalidValue } from '../database/failures.ts'

/** Time from a count until it is stored. A crash loses as much. */
const FLUSH_MS: number = SECOND_MS

/** Time until the next attempt after the store has failed. */
const RETRY_MS: number = 5 * SECOND_MS

/** Entries of each table in one transaction: SQLite delays visitors meanwhile. */
const BATCH_ENTRIES = 500

const ONE: Readonly<Record<WidgetState, StateCounts>> = {
  shown: { shown: 1, hidden: 0, unavailable: 0 },
  hidden: { shown: 0, hidden: 1, unavailable: 0 },
  unavailable: { shown: 0, hidden: 0, unavailable: 1 },
}

/** Counts widgets and clicks for the day of the call, in memory, and stores the counts every second (ADR 0034). */
export type Coverage = Readonly<{
  /** Count a response with a widget of a product. Never throws, and does not wait. */
  countWidget(count: CountedPlacement & Readonly<{ state: WidgetState }>): void
  /** Count a click on an offer. Never throws, and does not wait. */
  countClick(count: CountedPlacement & Readonly<{ merchant: string }>): void
  /** Store the counts. When the store fails, they stay in memory. */
  flush(): Promise<void>
  /** Store the counts for the last time, before the store is closed. */
  stop(): Promise<void>
}>

export type CoverageOptions = Readonly<{
  clock: Clock
  store: Pick<CountStore, 'addCounts'>
  logger: Logger
  metrics: Pick<Metrics, 'countClick' | 'countOverLimit'>
  onStoreFailure(error: unknown): void
  /** For tests. */
  bounds?: PendingBounds
}>

export function createCoverage(options: CoverageOptions): Coverage {
  const { clock, store, logger, metrics, onStoreFailure } = options
  const pending = createPendingCounts(options.bounds)
  const queue = createSerialQueue()
  let cancelTimer: (() => void) | undefined
  let isStopped = false

  const recordOutcome = (outcome: AddOutcome, count: number): void => {
    if (outcome !== 'added') metrics.countOverLimit(outcome, count)
  }
  const schedule = (delayMs: number): void => {
    if (!isStopped) cancelTimer ??= clock.startTimer(delayMs, () => void flush())
  }
  const putBack = ({ widgets, clicks }: Counts): void => {
    for (const count of widgets) recordOutcome(pending.addWidget(count, count), sumStates(count))
    for (const count of clicks) recordOutcome(pending.addClick(count, count.clicks), count.clicks)
  }
  /** Return `false` when the store fails, so that the counts must be stored later. */
  const storeBatch = async (batch: Counts): Promise<boolean> => {
    try {
      recordOutcome('without_sub', await store.addCounts(batch))
      return true
    } catch (error) {
      onStoreFailure(error)
      // The database will never accept it.
      if (!isInvalidValue(error)) return false
      recordOutcome('lost', sumCounts(batch))
      return true
    }
  }
  const storeAll = async (): Promise<void> => {
    cancelTimer?.()
    cancelTimer = undefined
    const batches = toBatches(pending.take())
    for (const [index, batch] of batches.entries()) {
      if (index > 0) await yieldToEventLoop()
      if (await storeBatch(batch)) continue
      for (const rest of batches.slice(index)) putBack(rest)
      return schedule(RETRY_MS)
    }
  }
  const flush = (): Promise<void> => queue.run(storeAll)
  return {
    countWidget({ channelId, gtin, sub, state }) {
      const key = { channelId, day: toDay(clock.nowMs()), gtin, sub }
      recordOutcome(pending.addWidget(key, ONE[state]), 1)
      schedule(FLUSH_MS)
    },
    countClick({ channelId, gtin, merchant, sub }) {
      metrics.countClick(channelId)
      const key = { channelId, day: toDay(clock.nowMs()), gtin, merchant, sub }
      recordOutcome(pending.addClick(key, 1), 1)
      schedule(FLUSH_MS)
    },
    flush,
    async stop() {
      isStopped = true
      await flush()
      const lostCount = sumCounts(pending.take())
      if (lostCount > 0)
        logger.warn({ counts: lostCount }, 'counts lost: the database was unavailable at the stop')
    },
  }
}

function toBatches({ widgets, clicks }: Counts): readonly Counts[] {
  const batchCount = Math.ceil(Math.max(widgets.length, clicks.length) / BATCH_ENTRIES)
  return Array.from({ length: batchCount }, (_, index) => {
    const [from, to] = [index * BATCH_ENTRIES, (index + 1) * BATCH_ENTRIES]
    return { widgets: widgets.slice(from, to), clicks: clicks.slice(from, to) }
  })
}

function sumCounts({ widgets, clicks }: Counts): number {
  const widgetCount = widgets.reduce((sum, count) => sum + sumStates(count), 0)
  return clicks.reduce((sum, count) => sum + count.clicks, widgetCount)
}

/** Entries with a sub-id in each table, about 5 MB. Counts of further placements lose their sub-id. */
const MAX_ENTRIES = 20_000

/** Counts of further products are lost. */
const MAX_ENTRIES_WITHOUT_SUB: number = 2 * MAX_ENTRIES

export type PendingBounds = Readonly<{ maxEntries: number; maxEntriesWithoutSub: number }>

const BOUNDS: PendingBounds = { maxEntries: MAX_ENTRIES, maxEntriesWithoutSub: MAX_ENTRIES_WITHOUT_SUB }

/** What became of counts: added, added without their sub-id, or lost. */
export type AddOutcome = 'added' | 'without_sub' | 'lost'

type CountKey = CountedPlacement & Readonly<{ day: number }>

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
type WidgetEntry = Omit<WidgetCount, WidgetState> & Mutable<StateCounts>
type ClickEntry = Omit<ClickCount, 'clicks'> & Mutable<Pick<ClickCount, 'clicks'>>

/** Create a table of counts that are not stored yet, in bounded memory. `bounds` is for tests. */
function createPendingCounts(bounds: PendingBounds = BOUNDS) {
  const widgets = new Map<string, WidgetEntry>()
  const clicks = new Map<string, ClickEntry>()
  return {
    addWidget({ channelId, day, gtin, sub }: CountKey, added: StateCounts): AddOutcome {
      const prefix = `${day} ${channelId} ${gtin}`
      const create = (keptSub: string): WidgetEntry => ({
        channelId,
        day,
        gtin,
        sub: keptSub,
        shown: 0,
        hidden: 0,
        unavailable: 0,
      })
      const entry = findOrCreate(widgets, { prefix, sub, create, bounds })
      if (entry === undefined) return 'lost'
      entry.shown += added.shown
      entry.hidden += added.hidden
      entry.unavailable += added.unavailable
      return entry.sub === sub ? 'added' : 'without_sub'
    },
    addClick({ channelId, day, gtin, merchant, sub }: Omit<ClickCount, 'clicks'>, added: number): AddOutcome {
      const prefix = `${day} ${channelId} ${gtin} ${merchant}`
      const create = (keptSub: string): ClickEntry => ({
        channelId,
        day,
        gtin,
        merchant,
        sub: keptSub,
        clicks: 0,
      })
      const entry = findOrCreate(clicks, { prefix, sub, create, bounds })
      if (entry === undefined) return 'lost'
      entry.clicks += added
      return entry.sub === sub ? 'added' : 'without_sub'
    },
    hasAny: (): boolean => widgets.size + clicks.size > 0,
    /** Return all counts and forget them. */
    take(): Counts {
      const taken = { widgets: [...widgets.values()], clicks: [...clicks.values()] }
      widgets.clear()
      clicks.clear()
      return taken
    },
  }
}

type EntryRequest<Entry> = Readonly<{
  /** The key without the sub-id. */
  prefix: string
  sub: string
  create(sub: string): Entry
  bounds: PendingBounds
}>

/** Return the entry of a sub-id, or the one without a sub-id when there is no room; `undefined`: there is no room for that either. */
function findOrCreate<Entry>(
  entries: Map<string, Entry>,
  { prefix, sub, create, bounds }: EntryRequest<Entry>,
): Entry | undefined {
  const key = `${prefix}\n${sub}`
  const existing = entries.get(key)
  if (existing !== undefined) return existing
  const maxEntries = sub === '' ? bounds.maxEntriesWithoutSub : bounds.maxEntries
  if (entries.size < maxEntries) {
    const entry = create(sub)
    entries.set(key, entry)
    return entry
  }
  return sub === '' ? undefined : findOrCreate(entries, { prefix, sub: '', create, bounds })
}
