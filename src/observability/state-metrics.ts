import { Gauge, type Registry } from 'prom-client'
import { SECOND_MS } from '../clock.ts'
import type { HeldWalk } from '../storage/store.ts'

type Labelled = Readonly<Record<string, number>>

/** The state of the whole, as it is measured when the page is read. Ages in milliseconds, times in Unix milliseconds. */
export type MeasuredState = Readonly<{
  isStoreUp: boolean
  isStoreWritable: boolean
  callsToday: Labelled
  /** `undefined` where no daily limit is known. */
  callsLeft: Labelled | undefined
  /** By how it is known, `set` or `learned`. */
  dailyLimit: Labelled | undefined
  limitedUntilMs: number
  keyRefusedUntilMs: number
  breaker: 'closed' | 'probing' | 'open'
  /** Served channels of the list; `null` before there is one, and while it cannot be read. */
  channelCount: number | null
  areChannelsHeld: boolean
  /** `ageMs: null`: the age is unknown, because a clock was wrong. */
  copies: readonly Readonly<{
    channel: string
    ageMs: number | null
    productCount: number
    dealCount: number
    held: HeldWalk | null
  }>[]
  /** By whose clock; positive: it is ahead of this machine's. */
  clockDifferencesMs: Labelled
  /** By cache. */
  caches: Readonly<{ entries: Labelled; bytes: Labelled }>
}>

/** How the breaker's state is written as a number. */
const BREAKER_VALUES = { closed: 0, probing: 1, open: 2 } as const

/** Gauges for what is looked up when somebody reads the page; every label comes from a closed list. */
export function createStateMetrics(registry: Registry): (state: MeasuredState) => void {
  const sets = GAUGES.map(({ name, help, label, across, read }) => {
    const labelNames = [label ?? ''].filter(Boolean)
    const gauge = new Gauge({ name, help, labelNames, aggregator: across, registers: [registry] })
    return (state: MeasuredState): void => {
      gauge.reset()
      const values = read(state)
      if (values === null) gauge.remove()
      else if (typeof values === 'number') gauge.set(values)
      else for (const [key, value] of Object.entries(values)) gauge.set({ [label ?? '']: key }, value)
    }
  })
  return (state) => {
    for (const set of sets) set(state)
  }
}

/** One gauge; with a `label` it has a value for each of its keys, and none where there is nothing to tell. */
type GaugeRow = Readonly<{
  name: string
  help: string
  label?: string
  /** How several processes that see the same are told as one; caches, which each has, are summed. */
  across: 'sum' | 'min' | 'max'
  /** `null`: there is nothing to tell. */
  read(state: MeasuredState): Labelled | number | null
}>

const GAUGES: readonly GaugeRow[] = [
  {
    name: 'vitrine_store_up',
    help: 'Can the stored copy be read? 1 or 0',
    across: 'min',
    read: ({ isStoreUp }) => Number(isStoreUp),
  },
  {
    name: 'vitrine_store_writable',
    help: 'Does the database take writes? 0 while it is away or only reads, as a standby does; a SQLite file counts as 1',
    across: 'min',
    read: ({ isStoreWritable }) => Number(isStoreWritable),
  },
  {
    name: 'vitrine_catalog_calls_today',
    help: 'Calls since 00:00 UTC by share of the daily limit, of all processes',
    label: 'share',
    across: 'max',
    read: ({ callsToday }) => callsToday,
  },
  {
    name: 'vitrine_catalog_calls_left',
    help: 'Calls left until 00:00 UTC by share; absent without a known limit',
    label: 'share',
    across: 'min',
    read: ({ callsLeft }) => callsLeft ?? {},
  },
  {
    name: 'vitrine_catalog_daily_limit',
    help: 'Calls a day by how the limit is known, set or learned; absent without one',
    label: 'known',
    across: 'max',
    read: ({ dailyLimit }) => dailyLimit ?? {},
  },
  {
    name: 'vitrine_catalog_paused_until_timestamp_seconds',
    help: 'Until when nothing is called, by cause, Unix seconds',
    label: 'cause',
    across: 'max',
    read: (state) => ({
      limit: state.limitedUntilMs / SECOND_MS,
      key: state.keyRefusedUntilMs / SECOND_MS,
    }),
  },
  {
    name: 'vitrine_catalog_breaker_state',
    help: 'Circuit breaker: 0 closed, 1 probing, 2 open',
    across: 'max',
    read: ({ breaker }) => BREAKER_VALUES[breaker],
  },
  {
    name: 'vitrine_channels',
    help: 'Served channels that the catalog lists; absent while no list can be read',
    across: 'max',
    read: ({ channelCount }) => channelCount,
  },
  {
    name: 'vitrine_channel_list_held',
    help: 'Does the catalog list no channels where it listed some, which is not believed yet? 1 or 0',
    across: 'max',
    read: ({ areChannelsHeld }) => Number(areChannelsHeld),
  },
  {
    name: 'vitrine_walk_held',
    help: 'Is the last walk of a channel held, so that the copy before it stays current? 1 or 0, by channel',
    label: 'channel',
    across: 'max',
    read: ({ copies }) => toLabelled(copies, ({ held }) => Number(held !== null)),
  },
  {
    name: 'vitrine_copy_age_seconds',
    help: 'Age of the last complete walk by channel; absent while it is unknown, because a clock was wrong',
    label: 'channel',
    across: 'min',
    read: ({ copies }) => toLabelled(copies, ({ ageMs }) => (ageMs === null ? null : ageMs / SECOND_MS)),
  },
  {
    name: 'vitrine_copy_products',
    help: 'Products of the last complete walk by channel',
    label: 'channel',
    across: 'max',
    read: ({ copies }) => toLabelled(copies, ({ productCount }) => productCount),
  },
  {
    name: 'vitrine_copy_deals',
    help: 'Products with an offer on sale by channel',
    label: 'channel',
    across: 'max',
    read: ({ copies }) => toLabelled(copies, ({ dealCount }) => dealCount),
  },
  {
    name: 'vitrine_clock_difference_seconds',
    help: 'By how much the clock of the catalog or of the database is ahead of that of this machine',
    label: 'with',
    across: 'max',
    read: ({ clockDifferencesMs }) =>
      Object.fromEntries(
        Object.entries(clockDifferencesMs).map(([other, differenceMs]) => [other, differenceMs / SECOND_MS]),
      ),
  },
  {
    name: 'vitrine_cache_entries',
    help: 'Entries in memory by cache',
    label: 'cache',
    across: 'sum',
    read: ({ caches }) => caches.entries,
  },
  {
    name: 'vitrine_cache_bytes',
    help: 'Bytes in memory by cache',
    label: 'cache',
    across: 'sum',
    read: ({ caches }) => caches.bytes,
  },
]

function toLabelled(
  copies: MeasuredState['copies'],
  read: (copy: MeasuredState['copies'][number]) => number | null,
): Labelled {
  return Object.fromEntries(
    copies.flatMap((copy): [string, number][] => {
      const value = read(copy)
      return value === null ? [] : [[copy.channel, value]]
    }),
  )
}
