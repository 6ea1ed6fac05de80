import { createCallPolicy } from '../catalog/call-policy.ts'
import { type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, DAY_MS, HOUR_MS, SECOND_MS, UNKNOWN_TIME_MS, isWithin, systemClock } from '../clock.ts'
import { isServed } from '../config/config.ts'
import { parseSerializedAddress } from '../config/database-address.ts'
import { createFixedKeySource } from '../config/key-source.ts'
import { parseSerializedProxies } from '../config/proxies.ts'
import { Secret } from '../config/secrets.ts'
import { NoChannelsError, VitrineError, WalkHeldError } from '../errors.ts'
import { pluralize } from '../lib/format.ts'
import { openStoredCopy } from '../storage/stored-copy.ts'
import { describeFailure } from '../database/failures.ts'
import { walkChannel } from './channel-walk.ts'
import { findLastWalkStart, isConfirmed } from './held-walk.ts'
import { MAX_PARALLEL_CHANNELS, countChannelCalls } from './walk-plan.ts'
import { readServedCopies } from './walk-schedule.ts'
import { createWalkStoppedError, hasUnusableData, isFirstWalk, retryCall } from './walk-retries.ts'
import { checkWalkClock } from './walk-clock.ts'
import type { ChannelWalkResult, WalkContext, WalkJob, WalkReport, WalkControl } from './walk-runner.ts'

/** Maximum age of the last page of an interrupted walk that is resumed; an older walk starts again. */
const RESUME_WITHIN_MS: number = HOUR_MS

/** The list of channels is leased like a product, under this key. */
const LIST_LEASE_KEY = { channelId: '', gtin: 'channels' } as const

/** Lease on fetching the list of channels, and how often other machines poll for the result, in real time. */
const LIST_LEASE_MS: number = 5 * SECOND_MS
const POLL_INTERVAL_MS = 50

/** A list this recent was fetched by another machine for the same scheduled run. */
const SHARED_LIST_MAX_AGE_MS: number = 30 * SECOND_MS

type WalkResources = Pick<WalkContext, 'store' | 'callPolicy' | 'client'>

/** Run a whole walk in this thread, with its own client and database connection. */
export async function runWalk(
  job: WalkJob,
  control: WalkControl,
  clock: Clock = systemClock,
): Promise<WalkReport> {
  const calls = new Map<string, WalkReport['calls'][number]>()
  let clockSkewMs: number | undefined
  let resources: WalkResources | undefined
  const closeClient = (): void => void resources?.client.close()
  const report = (walks: WalkReport['walks'], error: VitrineError | null): WalkReport => ({
    walks,
    failure: error?.code ?? null,
    reason: error === null ? null : describeFailure(error),
    pausedUntilMs: resources?.callPolicy.getRateLimitedUntilMs() ?? 0,
    clockSkewMs,
    calls: [...calls.values()],
  })
  try {
    resources = await openResources(job, clock, {
      onCall({ operation, outcome }) {
        const name = `${operation} ${outcome}`
        calls.set(name, { operation, outcome, count: (calls.get(name)?.count ?? 0) + 1 })
      },
      onClockSkew: (skewMs) => void (clockSkewMs = skewMs),
    })
    const { store, callPolicy } = resources
    // Without this check, a read-only database would be reported as a request limit.
    await store.checkWritable()
    await callPolicy.pauseUntil(job.pausedUntilMs)
    const { limit } = await callPolicy.readState()
    // A stop must not wait for a catalog that hangs.
    control.signal.addEventListener('abort', closeClient)
    const walks = await walkCatalog({
      ...job,
      ...control,
      ...resources,
      clock,
      checkClock: () => checkWalkClock({ store, clock, catalogSkewMs: clockSkewMs }),
      // With a daily limit, resuming yesterday's walk saves calls.
      resumeWithinMs: limit === undefined ? RESUME_WITHIN_MS : DAY_MS + RESUME_WITHIN_MS,
    })
    // On failure, the next walk shrinks the file.
    await store.shrink(control.signal).catch(() => {})
    return report(walks, null)
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    return report([], error)
  } finally {
    control.signal.removeEventListener('abort', closeClient)
    await resources?.client.close()
    await resources?.store.close()
  }
}

async function openResources(
  job: WalkJob,
  clock: Clock,
  listeners: Pick<CatalogClientOptions, 'onCall' | 'onClockSkew'>,
): Promise<WalkResources> {
  const database = parseSerializedAddress(job.database)
  const store = await openStoredCopy({ database, catalog: job.catalog, clock, history: job.history })
  const callPolicy = createCallPolicy({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: job.dailyLimit,
    // A pause that cannot be stored is in the report; a page that cannot be stored ends the walk.
    store,
    isShared: database.kind === 'postgres',
    breakerThreshold: Infinity,
  })
  const key = createFixedKeySource(new Secret(job.key))
  const proxies = parseSerializedProxies(job.proxies)
  const client = createCatalogClient({ ...job, ...listeners, key, proxies, clock, callPolicy })
  return { store, callPolicy, client }
}

/**
 * Walk every served channel, several at a time, those without a copy and with the oldest first: if the daily limit ends a walk, the
 * next one begins where it is needed most. A channel that fails keeps its previous copy and does not stop the others.
 * @throws CatalogError when the channels cannot be listed, WalkHeldError when their list is held, NoChannelsError when no channel is
 * served, WalkError when the walk is stopped before that or the clock is wrong
 */
async function walkCatalog(context: WalkContext): Promise<readonly ChannelWalkResult[]> {
  if (context.signal.aborted) throw createWalkStoppedError()
  const channels = await listWalkedChannels(context)
  const { isUnreliable: isClockUnreliable } = await context.checkClock()
  const runStartedAtMs = context.clock.nowMs()
  const waiting = await sortByAge(context, channels)
  const walks: ChannelWalkResult[] = []
  const running = new Set<PlannedChannel>()
  /** While the limit does not suffice for all, one channel is walked at a time: a whole copy is worth more than two halves. */
  const hasCalls = (next: PlannedChannel): boolean => {
    const calls = [...running, next].reduce((sum, planned) => sum + planned.calls, 0)
    return running.size === 0 || !context.canWait || context.callPolicy.computeWalkWaitMs(calls) === 0
  }
  const walkWaiting = async (): Promise<void> => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (context.signal.aborted || !hasCalls(next)) return
      waiting.shift()
      running.add(next)
      walks.push(await walkChannel({ ...context, channel: next.channel, runStartedAtMs, isClockUnreliable }))
      running.delete(next)
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: MAX_PARALLEL_CHANNELS }, walkWaiting))
  for (const result of ended) if (result.status === 'rejected') throw result.reason
  const ids = channels.map(({ id }) => id)
  return walks.sort((a, b) => ids.indexOf(a.channelId) - ids.indexOf(b.channelId))
}

/** `calls`: of its pages; infinite without a copy, whose size is not known. */
type PlannedChannel = Readonly<{ channel: Channel; calls: number }>

/** Sort channels by their copies: none first, then from the oldest. Those with unusable data come last: they may fail again. */
async function sortByAge(
  { store, clock }: Pick<WalkContext, 'store' | 'clock'>,
  channels: readonly Channel[],
): Promise<PlannedChannel[]> {
  const nowMs = clock.nowMs()
  const planned = await Promise.all(
    channels.map(async (channel) => {
      const state = await store.getCopyState(channel.id)
      const walkedAtMs = state.currentWalk === 0 ? -1 : (findLastWalkStart(state, nowMs) ?? 0)
      const calls = state.currentWalk === 0 ? Infinity : countChannelCalls(state)
      return { channel, calls, hasFailed: hasUnusableData(state), walkedAtMs }
    }),
  )
  return planned.sort((a, b) => Number(a.hasFailed) - Number(b.hasFailed) || a.walkedAtMs - b.walkedAtMs)
}

/** @throws CatalogError, WalkHeldError, NoChannelsError */
async function listWalkedChannels(context: WalkContext): Promise<readonly Channel[]> {
  const listed = await getChannelList(context)
  const walked = listed.filter(({ id }) => isServed(context, id))
  if (walked.length > 0) return walked
  throw listed.length === 0
    ? new NoChannelsError('the catalog lists no channels for this key')
    : new NoChannelsError(
        `the catalog lists ${pluralize(listed.length, 'channel')}, but none that this server serves`,
      )
}

/** Get the list of channels from the catalog, or from another machine that started the same run and fetched it. */
async function getChannelList(context: WalkContext): Promise<readonly Channel[]> {
  const sharedChannels = context.skipWalkedSinceMs === null ? undefined : await findSharedList(context)
  if (sharedChannels !== undefined) return sharedChannels
  const purpose = (await hasFirstWalk(context)) ? 'first-walk' : 'walk'
  const { value, asOfMs } = await retryCall(context, () => context.client.fetchChannels(purpose))
  if (value.length === 0) await checkEmptyList(context, asOfMs)
  await context.store.putChannelList(value, asOfMs)
  return value
}

/** Whether a channel of the last list has no copy. Then the calls that its walk may borrow also pay for the list. */
async function hasFirstWalk(context: WalkContext): Promise<boolean> {
  const states = await readServedCopies({ store: context.store, config: context })
  return states.length === 0 || states.some(isFirstWalk)
}

/** @throws WalkHeldError when the list was not empty before, until a later walk confirms the empty list */
async function checkEmptyList(context: WalkContext, asOfMs: number): Promise<void> {
  const { store, isListAccepted, confirmAfterMs } = context
  const list = await store.findChannelList()
  if (isListAccepted || list === undefined || list.channels.length === 0) return
  const { heldSinceMs } = list
  const { isUnreliable: isClockUnreliable } = await context.checkClock()
  const wasHeldBefore = heldSinceMs !== null && heldSinceMs <= asOfMs
  if (wasHeldBefore && isConfirmed(heldSinceMs, asOfMs, { confirmAfterMs, isClockUnreliable })) return
  await store.recordEmptyChannelList(isClockUnreliable ? UNKNOWN_TIME_MS : asOfMs)
  throw new WalkHeldError(
    `the catalog lists no channels, but listed ${list.channels.length} before; the stored copies are kept`,
  )
}

async function findSharedList(context: WalkContext): Promise<readonly Channel[] | undefined> {
  const { store, clock, owner, signal } = context
  for (let remainingMs = LIST_LEASE_MS; remainingMs > 0 && !signal.aborted; remainingMs -= POLL_INTERVAL_MS) {
    const list = await store.findChannelList()
    if (list !== undefined && isWithin(list.asOfMs, SHARED_LIST_MAX_AGE_MS, clock.nowMs()))
      return list.channels
    if (await store.acquireLookupLease(LIST_LEASE_KEY, { owner, forMs: LIST_LEASE_MS })) return undefined
    await systemClock.wait(POLL_INTERVAL_MS, signal)
  }
  return undefined
}
