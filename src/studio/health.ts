import type { Channel } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import type { Context } from '../context.ts'
import { readServerState } from '../server-status.ts'
import { formatAge, formatNumber, pluralize } from '../lib/format.ts'
import type { DeliveryState } from '../storage/events.ts'
import type { CopyState } from '../storage/store.ts'
import { HOLD_REMEDY, describeHold, describeRetry, describeWalkFailure } from '../sync/held-walk.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { describeObservedDays } from '../explain/observed-prices.ts'
import { TIME_UNKNOWN, formatSince, formatTime, formatPastTime } from '../widgets/format.ts'

/** Each channel of the table costs one read of the stored copy. */
const MAX_CHANNELS = 50

export type HealthData = Awaited<ReturnType<typeof readHealth>>

/** Read the data of the health tab without calling the catalog. */
export async function readHealth(context: Context, channels: readonly Channel[]) {
  const { store, clock, config } = context
  const { callPolicy, isStoreUp, isStoreWritable, channelsHeldSinceMs } = await readServerState(context)
  const listed = channels.slice(0, MAX_CHANNELS)
  return {
    nowMs: clock.nowMs(),
    callPolicy,
    isCatalogEmpty: (await context.demo?.readCatalogContent()) === 'empty',
    /** Error message of the stored copy's database; `null` if it works. */
    storeFailure: isStoreUp ? null : (context.findStoreFailure()?.reason ?? 'the database cannot be read'),
    /** `true` when the database accepts reads but not writes, such as a PostgreSQL standby. */
    isStoreReadOnly: isStoreUp && !isStoreWritable,
    channels: await Promise.all(
      listed.map(async (channel) => ({
        channel,
        state: await store.getCopyState(channel.id),
        observedDays: await store.countObservedDays(channel.id),
      })),
    ),
    channelCount: channels.length,
    channelsHeldSinceMs,
    /** `null` without a webhook. */
    delivery: context.webhook === null ? null : await store.readDeliveryState(),
    findWalkPeriodMs: (timeMs: number) => config.findWalkPeriodMs?.(timeMs) ?? Infinity,
  }
}

/** `remedy` is `null` when nothing needs to be done. */
type CheckResult = Readonly<{ value: string; remedy: string | null }>

export type HealthView = ReturnType<typeof toHealthView>

/** Build the view of the health tab. `moreChannels` counts the channels that the table omits. */
export function toHealthView(data: HealthData) {
  return {
    lines: [
      toStatusLine('Catalog', checkCatalog(data)),
      toStatusLine('Calls today', checkQuota(data)),
      toStatusLine('Stored copy', checkStore(data)),
      toStatusLine('Channels', checkChannels(data)),
      ...(data.delivery === null ? [] : [toStatusLine('Webhook', checkWebhook(data.delivery, data.nowMs))]),
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
        'Readers get the stored copy, if there is one. Restore the catalog’s database from a backup, or import your feeds: run "vitrine check" for the steps.',
    }
  if (callPolicy.keyRefusedUntilMs > nowMs)
    return {
      value: 'rejected the key',
      remedy: 'Set a valid key: VITRINE_CATALOG_KEY or VITRINE_CATALOG_KEY_FILE.',
    }
  if (callPolicy.breaker !== 'closed')
    return {
      value: 'fails',
      remedy: 'Readers get the stored copy. Run "vitrine check" to find out what is wrong.',
    }
  return { value: 'responds', remedy: null }
}

function checkQuota({ callPolicy: { quota, limit }, nowMs }: HealthData): CheckResult {
  const calls = quota.calls.walk + quota.calls.refresh + quota.calls.lookup
  const callsText = `${formatNumber(calls)} made`
  if (quota.limitedUntilMs > nowMs)
    return {
      value: `${callsText}, none left until ${formatTime(quota.limitedUntilMs, 'en')}`,
      remedy: 'Readers get the stored copy until then.',
    }
  if (limit === undefined) return { value: `${callsText}; no daily limit is known`, remedy: null }
  const left = formatNumber(Math.max(0, limit.calls - calls))
  const limitText = `${formatNumber(limit.calls)}${limit.isLearned ? ' (learned)' : ''}`
  return { value: `${callsText}, ${left} left of ${limitText}`, remedy: null }
}

function checkStore({ storeFailure, isStoreReadOnly }: HealthData): CheckResult {
  if (isStoreReadOnly)
    return {
      value: 'is read-only',
      remedy: 'Readers get the stored data. Set VITRINE_DATABASE_URL to a database that accepts writes.',
    }
  if (storeFailure !== null)
    return {
      value: `failed: ${storeFailure}`,
      remedy:
        'Boxes come from memory and, with SQLite, from the catalog. Run "vitrine check" to find the cause.',
    }
  return { value: 'is readable and writable', remedy: null }
}

function checkChannels({ channelCount, channelsHeldSinceMs, nowMs }: HealthData): CheckResult {
  if (channelsHeldSinceMs !== null) {
    const since = formatSince(channelsHeldSinceMs, nowMs)
    return { value: `the catalog lists none ${since}; the stored copies are kept`, remedy: HOLD_REMEDY }
  }
  if (channelCount > 0) return { value: formatNumber(channelCount), remedy: null }
  return {
    value: 'none',
    remedy: 'The catalog lists no channel for this key, or has not responded yet.',
  }
}

function checkWebhook(
  { deliveredAtMs, failure, failedAtMs, pendingCount }: DeliveryState,
  nowMs: number,
): CheckResult {
  const last =
    deliveredAtMs === null
      ? 'no event delivered yet'
      : `last delivery ${formatPastTime(deliveredAtMs, nowMs)}`
  const waiting = pendingCount === 0 ? '' : `; ${pluralize(pendingCount, 'event')} waiting`
  if (failure === null) return { value: `${last}${waiting}`, remedy: null }
  const failed = `failed ${formatPastTime(failedAtMs ?? nowMs, nowMs)}: ${failure}; ${last}${waiting}`
  return {
    value: failed,
    remedy: 'The server tries again for three days. Run "vitrine check" to test the webhook.',
  }
}

function toChannelRow(
  { channel, state, observedDays }: HealthData['channels'][number],
  { nowMs, findWalkPeriodMs }: HealthData,
) {
  const ageMs = state.completedAtMs === null ? null : Math.max(0, nowMs - state.completedAtMs)
  const endedAtMs = state.completedAtMs ?? 0
  const isTimeUnknown = isFuture(endedAtMs, nowMs)
  const isRecent = ageMs !== null && !isTimeUnknown && ageMs <= 2 * findWalkPeriodMs(endedAtMs)
  return {
    name: channel.name,
    products: formatNumber(state.productCount),
    deals: formatNumber(state.dealCount),
    prices:
      observedDays === null ? 'not recorded (VITRINE_HISTORY_DAYS=0)' : describeObservedDays(observedDays),
    age: ageMs === null ? 'no copy yet' : isTimeUnknown ? TIME_UNKNOWN : formatAge(ageMs),
    walk: describeWalk(state, nowMs),
    dropped: describeDrops(state.drops),
    isHealthy: isRecent && state.failure === null && state.held === null,
  }
}

function describeWalk(state: CopyState, nowMs: number): string {
  if (state.failure !== null) {
    const at = state.failedAtMs === null ? '' : `, ${formatPastTime(state.failedAtMs, nowMs)}`
    return `${describeWalkFailure(state.failure, state.failureReason)}${at}`
  }
  if (state.held !== null) {
    const since = formatSince(state.held.sinceMs, nowMs)
    return `held ${since}: ${describeHold(state.held, state.productCount)}. ${HOLD_REMEDY}`
  }
  if (state.retry !== null) return describeRetry(state.retry)
  if (state.isRunning) return 'running'
  if (state.completedAtMs === null) return 'none yet'
  // The column with the age already shows that the time is unknown.
  return isFuture(state.completedAtMs, nowMs)
    ? 'complete'
    : `complete, ${formatTime(state.completedAtMs, 'en')}`
}
