import type { Channel } from '../catalog/contract.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, isFuture } from '../clock.ts'
import type { Context } from '../context.ts'
import { readServerState } from '../server-status.ts'
import type { CopyState } from '../storage/store.ts'
import { HOLD_REMEDY, describeHold } from '../sync/held-walk.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { TIME_UNKNOWN, formatCount, formatSince, formatTime, formatPastTime } from '../widgets/format.ts'

/** Channels that the table has; each is one read of the copy. */
const MAX_CHANNELS = 50

/** What the health tab is made of. */
export type HealthData = Awaited<ReturnType<typeof readHealth>>

/** Read what the health tab shows of these channels; nothing is called. */
export async function readHealth(context: Context, channels: readonly Channel[]) {
  const { store, clock, config } = context
  const { callPolicy, isStoreUp, isStoreWritable, channelsHeldSinceMs } = await readServerState(context)
  const listed = channels.slice(0, MAX_CHANNELS)
  return {
    nowMs: clock.nowMs(),
    callPolicy,
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
    findWalkPeriodMs: (timeMs: number) => config.findWalkPeriodMs?.(timeMs) ?? Infinity,
  }
}

/** A fact for the operator, and what to do about one that is not good. */
type CheckResult = Readonly<{ value: string; remedy: string | null }>

/** The health tab; `moreChannels`: those beyond the table. */
export type HealthView = ReturnType<typeof toHealthView>

/** Build what an operator asks first: is the copy young, does the catalog answer, is anything left of the day’s calls? */
export function toHealthView(data: HealthData) {
  return {
    lines: [
      toStatusLine('Catalog', checkCatalog(data)),
      toStatusLine('Calls today', checkQuota(data)),
      toStatusLine('Stored copy', checkStore(data)),
      toStatusLine('Channels', checkChannels(data)),
    ],
    channels: data.channels.map((entry) => toChannelRow(entry, data)),
    moreChannels: Math.max(0, data.channelCount - data.channels.length),
  }
}

function toStatusLine(label: string, { value, remedy }: CheckResult) {
  return { label, value, remedy, isHealthy: remedy === null }
}

function checkCatalog({ callPolicy, isCatalogEmpty, nowMs }: HealthData): CheckResult {
  if (isCatalogEmpty)
    return {
      value: 'is empty',
      remedy:
        'Readers get the copy, where there is one. Restore the catalog’s database from its backup, or import your feeds: "vitrine check" says how.',
    }
  if (callPolicy.keyRefusedUntilMs > nowMs)
    return {
      value: 'refused the key',
      remedy: 'Give this server a key that is valid: VITRINE_CATALOG_KEY or its file.',
    }
  if (callPolicy.breaker !== 'closed')
    return {
      value: 'does not answer',
      remedy: 'Readers get the copy. "vitrine check" says what is wrong with the connection.',
    }
  return { value: 'answers', remedy: null }
}

function checkQuota({ callPolicy: { quota, limit }, nowMs }: HealthData): CheckResult {
  const calls = quota.calls.walk + quota.calls.refresh + quota.calls.lookup
  const callsText = `${formatCount(calls, 'en')} made`
  if (quota.limitedUntilMs > nowMs)
    return {
      value: `${callsText}, none left until ${formatTime(quota.limitedUntilMs, 'en')}`,
      remedy: 'Readers get the copy until then.',
    }
  if (limit === undefined) return { value: `${callsText}; no daily limit is known`, remedy: null }
  const left = formatCount(Math.max(0, limit.calls - calls), 'en')
  const limitText = `${formatCount(limit.calls, 'en')}${limit.isLearned ? ' (learned)' : ''}`
  return { value: `${callsText}, ${left} left of ${limitText}`, remedy: null }
}

function checkStore({ storeFailure, isStoreReadOnly }: HealthData): CheckResult {
  if (isStoreReadOnly)
    return {
      value: 'can be read and not written',
      remedy: 'Readers get what is stored. Point VITRINE_DATABASE_URL to the database that takes writes.',
    }
  if (storeFailure !== null)
    return {
      value: `failed: ${storeFailure}`,
      remedy: 'Boxes go on from memory and catalog. "vitrine check" says why.',
    }
  return { value: 'can be read and written', remedy: null }
}

function checkChannels({ channelCount, channelsHeldSinceMs, nowMs }: HealthData): CheckResult {
  if (channelsHeldSinceMs !== null) {
    const since = formatSince(channelsHeldSinceMs, nowMs)
    return { value: `the catalog lists none ${since}; the copies stay`, remedy: HOLD_REMEDY }
  }
  if (channelCount > 0) return { value: formatCount(channelCount, 'en'), remedy: null }
  return {
    value: 'none',
    remedy: 'The catalog lists no channel for this key, or has not answered yet.',
  }
}

function toChannelRow(
  { channel, state }: HealthData['channels'][number],
  { nowMs, findWalkPeriodMs }: HealthData,
) {
  const ageMs = state.completedAtMs === null ? null : Math.max(0, nowMs - state.completedAtMs)
  const endedAtMs = state.completedAtMs ?? 0
  const isTimeUnknown = isFuture(endedAtMs, nowMs)
  const isRecent = ageMs !== null && !isTimeUnknown && ageMs <= 2 * findWalkPeriodMs(endedAtMs)
  return {
    name: channel.name,
    products: formatCount(state.productCount, 'en'),
    deals: formatCount(state.dealCount, 'en'),
    age: ageMs === null ? 'no copy yet' : isTimeUnknown ? TIME_UNKNOWN : formatAge(ageMs),
    walk: describeWalk(state, nowMs),
    dropped: describeDrops(state.drops),
    isHealthy: isRecent && state.failure === null && state.held === null,
  }
}

function describeWalk(state: CopyState, nowMs: number): string {
  if (state.failure !== null) {
    const at = state.failedAtMs === null ? '' : `, ${formatPastTime(state.failedAtMs, nowMs)}`
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
