import type { Channel } from '../catalog/contract.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, isFuture } from '../clock.ts'
import type { Context } from '../context.ts'
import { readServerState } from '../server-status.ts'
import type { CopyState } from '../storage/store.ts'
import { HOLD_REMEDY, describeHold } from '../sync/held-walk.ts'
import { computePeriodMs } from '../sync/walk-schedule.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { TIME_UNKNOWN, formatCount, formatSince, formatTime, formatWhen } from '../widgets/format.ts'

/** Channels that the table has; each is one read of the copy. */
const MAX_CHANNELS = 50

/** What the health tab is made of. */
export type HealthData = Awaited<ReturnType<typeof readHealth>>

/** Read what the health tab shows of these channels; nothing is called. */
export async function readHealth(context: Context, channels: readonly Channel[]) {
  const { store, clock, config } = context
  const { gate, isStoreUp, isStoreWritable, channelsHeldSinceMs } = await readServerState(context)
  const listed = channels.slice(0, MAX_CHANNELS)
  return {
    nowMs: clock.nowMs(),
    gate,
    isCatalogEmpty: (await context.demo?.readContent()) === 'empty',
    /** What the database of the stored copy says; `null`: it works. */
    storeFailure: isStoreUp ? null : (context.findStoreFailure()?.reason ?? 'it cannot be read'),
    /** Does the database answer reads and refuse writes, as a standby does? */
    isStoreReadOnly: isStoreUp && !isStoreWritable,
    channels: await Promise.all(
      listed.map(async (channel) => ({ channel, state: await store.getCopyState(channel.id) })),
    ),
    channelCount: channels.length,
    channelsHeldSinceMs,
    walkPeriodMs: computePeriodMs(config.syncCron, clock.nowMs()),
  }
}

/** A fact for the operator; one that is not good says what to do. */
type HealthLine = Readonly<{ label: string; value: string; isGood: boolean; advice: string | null }>

/** The health tab; `moreChannels`: those beyond the table. */
export type HealthView = ReturnType<typeof toHealth>

/** Build what an operator asks first: is the copy young, does the catalog answer, is anything left of the day’s calls? */
export function toHealth(data: HealthData) {
  return {
    lines: [toCatalogLine(data), toQuotaLine(data), toStoreLine(data), toChannelsLine(data)],
    channels: data.channels.map((entry) => toChannelRow(entry, data)),
    moreChannels: Math.max(0, data.channelCount - data.channels.length),
  }
}

function toCatalogLine({ gate, isCatalogEmpty, nowMs }: HealthData): HealthLine {
  const label = 'Catalog'
  if (isCatalogEmpty)
    return bad(
      label,
      'is empty',
      'Readers get the copy, where there is one. Restore the catalog’s database from its backup, or import your feeds: "vitrine check" says how.',
    )
  if (gate.keyRefusedUntilMs > nowMs)
    return bad(
      label,
      'refused the key',
      'Give this server a key that is valid: VITRINE_CATALOG_KEY or its file.',
    )
  if (gate.breaker !== 'closed')
    return bad(
      label,
      'does not answer',
      'Readers get the copy. "vitrine check" says what is wrong with the connection.',
    )
  return good(label, 'answers')
}

function toQuotaLine({ gate, nowMs }: HealthData): HealthLine {
  const label = 'Calls today'
  const { walk, refresh, lookup } = gate.quota.calls
  const made = walk + refresh + lookup
  if (gate.quota.limitedUntilMs > nowMs) {
    const until = formatTime(gate.quota.limitedUntilMs, 'en')
    return bad(
      label,
      `${formatCount(made, 'en')} made, none left until ${until}`,
      'Readers get the copy until then.',
    )
  }
  const { limit } = gate
  if (limit === undefined) return good(label, `${formatCount(made, 'en')} made; no daily limit is known`)
  const left = formatCount(Math.max(0, limit.calls - made), 'en')
  const of = `${formatCount(limit.calls, 'en')}${limit.isLearned ? ' (learned)' : ''}`
  return good(label, `${formatCount(made, 'en')} made, ${left} left of ${of}`)
}

function toStoreLine({ storeFailure, isStoreReadOnly }: HealthData): HealthLine {
  const label = 'Stored copy'
  if (isStoreReadOnly)
    return bad(
      label,
      'can be read and not written',
      'Readers get what is stored. Point VITRINE_DATABASE_URL to the database that takes writes.',
    )
  return storeFailure === null
    ? good(label, 'can be read and written')
    : bad(label, `failed: ${storeFailure}`, 'Boxes go on from memory and catalog. "vitrine check" says why.')
}

function toChannelsLine({ channelCount, channelsHeldSinceMs, nowMs }: HealthData): HealthLine {
  const label = 'Channels'
  if (channelsHeldSinceMs !== null) {
    const since = formatSince(channelsHeldSinceMs, nowMs)
    return bad(label, `the catalog lists none ${since}; the copies stay`, HOLD_REMEDY)
  }
  return channelCount > 0
    ? good(label, formatCount(channelCount, 'en'))
    : bad(label, 'none', 'The catalog lists no channel for this key, or has not answered yet.')
}

function toChannelRow(
  { channel, state }: HealthData['channels'][number],
  { nowMs, walkPeriodMs }: HealthData,
) {
  const ageMs = state.completedAtMs === null ? null : Math.max(0, nowMs - state.completedAtMs)
  const isUnknown = isFuture(state.completedAtMs ?? 0, nowMs)
  const isYoung = ageMs !== null && !isUnknown && (walkPeriodMs === null || ageMs <= 2 * walkPeriodMs)
  return {
    name: channel.name,
    products: formatCount(state.productCount, 'en'),
    deals: formatCount(state.dealCount, 'en'),
    age: ageMs === null ? 'no copy yet' : isUnknown ? TIME_UNKNOWN : formatAge(ageMs),
    walk: describeWalk(state, nowMs),
    dropped: describeDrops(state.drops),
    isGood: isYoung && state.failure === null && state.held === null,
  }
}

function describeWalk(state: CopyState, nowMs: number): string {
  if (state.failure !== null) {
    const at = state.failedAtMs === null ? '' : `, ${formatWhen(state.failedAtMs, nowMs)}`
    return `failed with ${state.failure}${at}`
  }
  if (state.held !== null) {
    const since = formatSince(state.held.sinceMs, nowMs)
    return `held ${since}: ${describeHold(state.held, state.productCount)}. ${HOLD_REMEDY}`
  }
  if (state.isRunning) return 'under way'
  if (state.completedAtMs === null) return 'none yet'
  // The age beside it says that the time is unknown.
  return isFuture(state.completedAtMs, nowMs)
    ? 'complete'
    : `complete, ${formatTime(state.completedAtMs, 'en')}`
}

/** An age in its two largest units: `3 h 20 min`. */
export function formatAge(ageMs: number): string {
  const days = Math.floor(ageMs / DAY_MS)
  const hours = Math.floor((ageMs % DAY_MS) / HOUR_MS)
  const minutes = Math.floor((ageMs % HOUR_MS) / MINUTE_MS)
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : 'less than a minute'
}

function good(label: string, value: string): HealthLine {
  return { label, value, isGood: true, advice: null }
}

function bad(label: string, value: string, advice: string): HealthLine {
  return { label, value, isGood: false, advice }
}
