import { SECOND_MS, isFuture } from './clock.ts'
import { isServed } from './config/config.ts'
import type { Context } from './context.ts'
import { tryWithTimeout } from './lib/with-timeout.ts'
import { type FeedReport, toFeedGauges } from './catalog/feed-report.ts'
import { planWalks } from './sync/walk-plan.ts'

/** The state that `/readyz` and `/metrics` report. */
export type ServerState = Awaited<ReturnType<typeof readServerState>>

/** Read the state without a catalog call. A slow store counts as down after the timeout of a visitor. */
export async function readServerState(context: Context) {
  const { store, callPolicy, clock, config } = context
  const withTimeout = <T>(call: Promise<T>): Promise<T | undefined> =>
    tryWithTimeout(clock, config.freshness.visitorTimeoutMs, call)
  const [isStoreUp = false, isStoreWritable = false, callPolicyState, copies] = await Promise.all([
    withTimeout(store.ping().then(() => true)),
    withTimeout(store.checkWritable().then(() => true)),
    withTimeout(callPolicy.readState()),
    withTimeout(readCopies(context)),
  ])
  const periodMs = config.findWalkPeriodMs?.(clock.nowMs()) ?? null
  const policyState = callPolicyState ?? callPolicy.getLocalState()
  return {
    isStoreUp,
    /** What the walks of the schedule need; `null` without a schedule, and before the first walk. */
    walkPlan: copies === undefined ? null : planWalks(copies.states, { periodMs, limit: policyState.limit }),
    /** `false` when the database is read-only, such as a standby server. */
    isStoreWritable: isStoreUp && isStoreWritable,
    callPolicy: policyState,
    ...((isStoreUp && copies) || { channelCount: null, channelsHeldSinceMs: null, copies: [] }),
  }
}

/** Return the feeds of the embedded catalog; `undefined` with a remote one, or when it does not respond. */
export async function readFeeds({ demo }: Context): Promise<FeedReport | undefined> {
  return demo?.readFeeds(false).catch(() => undefined)
}

/** Return `undefined` before there is a list of channels. */
async function readCopies({ store, config, clock }: Context) {
  const list = await store.findChannelList()
  if (list === undefined) return undefined
  const servedChannels = list.channels.filter(({ id }) => isServed(config, id))
  const states = await Promise.all(
    servedChannels.map(async ({ id }) => ({
      channel: id,
      ...(await store.getCopyState(id)),
      observedDays: await store.countObservedDays(id),
    })),
  )
  return {
    states,
    /** Number of listed channels that this server serves. */
    channelCount: servedChannels.length,
    /** Since when an empty channel list is held, Unix milliseconds; `null`: it is not. */
    channelsHeldSinceMs: list.heldSinceMs,
    /** Channels with at least one complete walk. */
    copies: states.flatMap(({ channel, completedAtMs, productCount, dealCount, held, observedDays }) =>
      completedAtMs === null
        ? []
        : [
            {
              channel,
              ageMs: computeAgeMs(completedAtMs, clock.nowMs()),
              productCount,
              dealCount,
              held,
              observedDays,
            },
          ],
    ),
  }
}

/** Return the age of a copy; `null` when it is unknown because a clock was wrong. */
function computeAgeMs(completedAtMs: number, nowMs: number): number | null {
  return isFuture(completedAtMs, nowMs) ? null : Math.max(0, nowMs - completedAtMs)
}

const BREAKER_VALUES = { closed: 0, probing: 1, open: 2 } as const

/** Set the gauges of this process to the current state. */
export async function updateStateGauges(context: Context): Promise<void> {
  const { caches, clockMonitor, metrics } = context
  const [state, feedReport] = await Promise.all([readServerState(context), readFeeds(context)])
  const { quota, limit, remaining, keyRefusedUntilMs, breaker } = state.callPolicy
  const { products, deals, histories, responses } = caches
  const cachesByLabel = Object.entries({ products, deals, histories, responses })
  metrics.setGauges({
    vitrine_store_up: Number(state.isStoreUp),
    vitrine_store_writable: Number(state.isStoreWritable),
    vitrine_catalog_calls_today: quota.calls,
    vitrine_catalog_calls_left: remaining ?? {},
    vitrine_catalog_daily_limit:
      limit === undefined ? {} : { [limit.isLearned ? 'learned' : 'set']: limit.calls },
    vitrine_catalog_paused_until_timestamp_seconds: {
      limit: quota.limitedUntilMs / SECOND_MS,
      key: keyRefusedUntilMs / SECOND_MS,
    },
    vitrine_catalog_breaker_state: BREAKER_VALUES[breaker],
    vitrine_walk_calls_needed_per_day: state.walkPlan?.callsPerDay ?? null,
    vitrine_walk_behind_schedule: state.walkPlan === null ? null : Number(state.walkPlan.problem !== null),
    vitrine_channels: state.channelCount,
    vitrine_channel_list_held: Number(state.channelsHeldSinceMs !== null),
    vitrine_walk_held: toChannelSeries(state.copies, ({ held }) => Number(held !== null)),
    vitrine_copy_age_seconds: toChannelSeries(
      state.copies.filter(({ ageMs }) => ageMs !== null),
      ({ ageMs }) => Number(ageMs) / SECOND_MS,
    ),
    vitrine_copy_products: toChannelSeries(state.copies, ({ productCount }) => productCount),
    vitrine_copy_deals: toChannelSeries(state.copies, ({ dealCount }) => dealCount),
    vitrine_observed_days: toChannelSeries(
      state.copies.filter(({ observedDays }) => observedDays !== null),
      ({ observedDays }) => observedDays?.all ?? 0,
    ),
    ...toFeedGauges(feedReport, context.clock.nowMs()),
    vitrine_clock_difference_seconds: Object.fromEntries(
      Object.entries(clockMonitor.getSkewsMs()).map(([other, differenceMs]) => [
        other,
        differenceMs / SECOND_MS,
      ]),
    ),
    vitrine_cache_entries: Object.fromEntries(
      cachesByLabel.map(([name, cache]) => [name, cache.entryCount()]),
    ),
    vitrine_picture_bytes: context.pictures?.byteCount() ?? null,
    vitrine_cache_bytes: Object.fromEntries(cachesByLabel.map(([name, cache]) => [name, cache.byteCount()])),
  })
}

type Copies = ServerState['copies']

function toChannelSeries(copies: Copies, getValue: (copy: Copies[number]) => number): Record<string, number> {
  return Object.fromEntries(copies.map((copy) => [copy.channel, getValue(copy)]))
}
