import type {
  ClickCount,
  CountedPlacement,
  Counts,
  StateCounts,
  WidgetCount,
  WidgetState,
} from '../storage/counts.ts'

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
export function createPendingCounts(bounds: PendingBounds = BOUNDS) {
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
