import { createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import type { DroppedGtins } from '../catalog/parse.ts'
import { type Clock, DAY_MS, HOUR_MS, SECOND_MS, systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { createFixedKey } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import { VitrineError, WalkError, WalkHeldError } from '../errors.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import { LEASE_MS, createLeaseLost } from '../storage/sql-leases.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import type { CopyState, HeldWalk, WalkPlace } from '../storage/store.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { describeHold, findHoldReason, findLastWalkStart, judgeWalk } from './held-walk.ts'
import { createStopped } from './walk-calls.ts'
import { checkWalkClock, listWalkedChannels } from './walk-channels.ts'
import { walkPages } from './walk-page.ts'
import type { ChannelWalk, Walk, WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
const RESUME_WITHIN_MS: number = HOUR_MS

/** How often a walk extends its lease, at most. */
const EXTEND_EVERY_MS: number = 5 * SECOND_MS

/** The walk of one channel. `beganAtMs`: when that of the first channel began, Unix milliseconds. */
type OneWalk = Walk & Readonly<{ channel: Channel; beganAtMs: number; isClockDoubtful: boolean }>

/** What a walk works with, made for it and closed with it. */
type Tools = Pick<Walk, 'store' | 'gate' | 'client'>

/** What a walk learns from its calls. */
type Learned = { clockDifferenceMs?: number; calls: Map<string, WalkReport['calls'][number]> }

/** Walk in this thread, with a client and a connection of its own: the whole of a walk, wherever it runs. */
export async function runWalk(
  order: WalkOrder,
  watch: WalkWatch,
  clock: Clock = systemClock,
): Promise<WalkReport> {
  const learned: Learned = { calls: new Map() }
  let tools: Tools | undefined
  const report = (walks: WalkReport['walks'], error: VitrineError | null): WalkReport => ({
    walks,
    failure: error?.code ?? null,
    reason: error === null ? null : describeFailure(error),
    pausedUntilMs: tools?.gate.limitedUntilMs() ?? 0,
    ...learned,
    calls: [...learned.calls.values()],
  })
  try {
    tools = await openTools(order, clock, learned)
    const { store, gate, client } = tools
    // Else the first count would fail, and the report would speak of the request limit.
    await store.checkWritable()
    await gate.pauseUntil(order.pausedUntilMs)
    const { limit } = await gate.readState()
    // A call under way ends with the walk: whoever stops does not wait for a hanging catalog.
    watch.signal.addEventListener('abort', () => void client.close(), { once: true })
    const walks = await walkCatalog({
      ...order,
      ...watch,
      ...tools,
      clock,
      checkClock: () => checkWalkClock({ store, clock, catalogDifferenceMs: learned.clockDifferenceMs }),
      // With a limit, the pages of the day before are worth more than beginning anew.
      resumeWithinMs: limit === undefined ? RESUME_WITHIN_MS : DAY_MS + RESUME_WITHIN_MS,
    })
    // A file that cannot be made smaller now is after the next walk.
    await store.shrink(watch.signal).catch(() => {})
    return report(walks, null)
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    return report([], error)
  } finally {
    await tools?.client.close()
    await tools?.store.close()
  }
}

async function openTools(order: WalkOrder, clock: Clock, learned: Learned): Promise<Tools> {
  const database = parseDatabaseText(order.database)
  const store = await openSqlStore({ database, catalog: order.catalog, clock })
  const gate = createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: order.dailyLimit,
    // The report hands on a pause that cannot be stored; the walk itself ends at the first page it cannot store.
    store,
    isShared: database.kind === 'postgres',
  })
  const countCall: CatalogClientOptions['onCall'] = (call) => {
    const name = `${call.operation} ${call.outcome}`
    learned.calls.set(name, { ...call, count: (learned.calls.get(name)?.count ?? 0) + 1 })
  }
  const client = createCatalogClient({
    ...order,
    key: createFixedKey(new Secret(order.key)),
    clock,
    gate,
    onCall: countCall,
    onClockDifference: (differenceMs) => void (learned.clockDifferenceMs = differenceMs),
  })
  return { store, gate, client }
}

/**
 * Walk every served channel, one after the other. A channel that fails keeps its old copy and does not stop the rest.
 * @throws CatalogError when not even the list of channels can be had, WalkHeldError when that is held; NoChannelsError when it has
 * none to serve; WalkError when it was told to stop before that, or when the clock of this machine is wrong.
 */
async function walkCatalog(details: Walk): Promise<readonly ChannelWalk[]> {
  if (details.signal.aborted) throw createStopped()
  const channels = await listWalkedChannels(details)
  const { isDoubtful: isClockDoubtful } = await details.checkClock()
  const beganAtMs = details.clock.nowMs()
  const walks: ChannelWalk[] = []
  for (const channel of channels) {
    if (details.signal.aborted) break
    walks.push(await walkChannel({ ...details, channel, beganAtMs, isClockDoubtful }))
  }
  return walks
}

async function walkChannel(walk: OneWalk): Promise<ChannelWalk> {
  const { store, clock, owner, channel } = walk
  const startedAtMs = clock.nowMs()
  const droppedGtins: DroppedGtins = {}
  const end = (outcome: ChannelWalk['outcome'], over: Partial<ChannelWalk> = {}): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    const named = { channelId: channel.id, channelName: channel.name, outcome, droppedGtins, durationMs }
    return { productCount: 0, failure: null, reason: null, drops: {}, replaced: null, ...named, ...over }
  }
  if (!(await takeLease(walk))) return end('busy')
  try {
    const before = await store.getCopyState(channel.id)
    if (isJustWalked(walk, before)) return end('busy')
    const { productCount, held } = await walkToEnd(walk, before, droppedGtins)
    if (held === null) {
      const after = await store.getCopyState(channel.id)
      const reason = walk.isAccepted ? findHoldReason(before, after) : null
      const replaced = reason && { reason, productCount: before.productCount }
      return end('complete', { productCount, drops: after.drops, replaced })
    }
    const reason = describeHold(held, before.productCount)
    return end('held', { productCount, failure: WalkHeldError.code, reason })
  } catch (error) {
    const code = error instanceof VitrineError && !walk.signal.aborted ? error.code : WalkError.code
    await store.failWalk(channel.id, code, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return end('failed', { failure: code, reason: describeFailure(error) })
  } finally {
    await store.releaseLease(channel.id, owner)
  }
}

/** The lease of a walk that was killed on this machine is free at once. */
async function takeLease({ store, owner, channel }: OneWalk): Promise<boolean> {
  const lease = { owner, forMs: LEASE_MS }
  if (await store.takeLease(channel.id, lease)) return true
  const holder = await store.findLeaseOwner(channel.id)
  if (holder === null || !isOwnerGone(holder)) return false
  await store.releaseLease(channel.id, holder)
  return store.takeLease(channel.id, lease)
}

/** Has another machine walked the channel for the same occasion? */
function isJustWalked({ clock, walkedSinceMs, isTakeOver }: OneWalk, state: CopyState): boolean {
  if (walkedSinceMs === null) return false
  if (isTakeOver) return !state.isRunning
  const lastStartedAtMs = findLastWalkStart(state, clock.nowMs())
  return lastStartedAtMs !== null && lastStartedAtMs >= walkedSinceMs
}

/** Read every page, and make the walk the current one unless it is suspicious: then it is held. */
async function walkToEnd(
  walk: OneWalk,
  before: CopyState,
  droppedGtins: DroppedGtins,
): Promise<Readonly<{ productCount: number; held: HeldWalk | null }>> {
  const { store, clock, owner, channel } = walk
  let extendedAtMs = clock.nowMs()
  const extendLease = async (): Promise<void> => {
    const nowMs = clock.nowMs()
    // Each write checks by itself whether the lease is another's by now.
    if (nowMs >= extendedAtMs && nowMs < extendedAtMs + EXTEND_EVERY_MS) return
    extendedAtMs = nowMs
    if (!(await store.takeLease(channel.id, { owner, forMs: LEASE_MS }))) throw createLeaseLost()
  }
  // What is fetched ahead ends with the walk of its channel, whatever ends that.
  const ended = new AbortController()
  try {
    const pages = await walkPages({
      ...walk,
      droppedGtins,
      extendLease,
      expectedCount: before.productCount,
      signal: AbortSignal.any([walk.signal, ended.signal]),
      begin: (resumableSinceMs) => store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs }),
      judgeLast: (last) => judge(walk, before, { place: last, isMalformed: false }),
    })
    const { place } = pages
    // Whether most offers are malformed is known only once every page is written. Counting a large catalog takes its time.
    await extendLease()
    const isMalformed = pages.held === null && (await store.isWalkMalformed(channel.id, place.walk))
    await extendLease()
    const held = pages.held ?? judge(walk, before, { place, isMalformed })
    if (held !== null) await store.holdWalk(channel.id, place.walk, held)
    else await store.completeWalk(channel.id, place.walk, { nowMs: clock.nowMs(), isMalformed })
    return { productCount: place.productCount, held }
  } finally {
    ended.abort()
  }
}

/**
 * Compare the times of whole walks, not those of one channel: channels before it may take longer now than the next time. A walk
 * that was resumed counts from when it first began.
 */
function judge(
  walk: OneWalk,
  before: CopyState,
  { place, isMalformed }: Readonly<{ place: WalkPlace; isMalformed: boolean }>,
): HeldWalk | null {
  if (walk.isAccepted) return null
  const { productCount } = place
  const startedAtMs = Math.min(walk.beganAtMs, place.startedAtMs)
  return judgeWalk(before, { startedAtMs, foundAtMs: walk.clock.nowMs(), productCount, isMalformed }, walk)
}
