import { createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, DAY_MS, HOUR_MS, SECOND_MS, UNKNOWN_TIME_MS, isWithin, systemClock } from '../clock.ts'
import { isServed } from '../config/config.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { createFixedKey } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import { NoChannelsError, VitrineError, WalkHeldError } from '../errors.ts'
import { pluralize } from '../lib/plural.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { walkChannel } from './channel-walk.ts'
import { isLater } from './held-walk.ts'
import { createStopped, withRetries } from './walk-calls.ts'
import { checkWalkClock } from './walk-clock.ts'
import type { ChannelWalk, Walk, WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
const RESUME_WITHIN_MS: number = HOUR_MS

/** In the place of a product, among the claims. */
const LIST_CLAIM = { channelId: '', gtin: 'channels' } as const

/** How long one machine has the list to itself, and how often the others look for it; of the machine's clock. */
const CLAIM_MS: number = 5 * SECOND_MS
const LOOK_EVERY_MS = 50

/** A list that another machine has fetched so lately is that of the same occasion. */
const SHARED_MS: number = 30 * SECOND_MS

/** What a walk works with, made for it and closed with it. */
type Tools = Pick<Walk, 'store' | 'gate' | 'client'>

/** Walk in this thread, with a client and a connection of its own: the whole of a walk, wherever it runs. */
export async function runWalk(
  order: WalkOrder,
  watch: WalkWatch,
  clock: Clock = systemClock,
): Promise<WalkReport> {
  const calls = new Map<string, WalkReport['calls'][number]>()
  let clockDifferenceMs: number | undefined
  let tools: Tools | undefined
  const report = (walks: WalkReport['walks'], error: VitrineError | null): WalkReport => ({
    walks,
    failure: error?.code ?? null,
    reason: error === null ? null : describeFailure(error),
    pausedUntilMs: tools?.gate.limitedUntilMs() ?? 0,
    clockDifferenceMs,
    calls: [...calls.values()],
  })
  try {
    tools = await openTools(order, clock, {
      onCall({ operation, outcome }) {
        const name = `${operation} ${outcome}`
        calls.set(name, { operation, outcome, count: (calls.get(name)?.count ?? 0) + 1 })
      },
      onClockDifference: (differenceMs) => void (clockDifferenceMs = differenceMs),
    })
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
      checkClock: () => checkWalkClock({ store, clock, catalogDifferenceMs: clockDifferenceMs }),
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

async function openTools(
  order: WalkOrder,
  clock: Clock,
  listeners: Pick<CatalogClientOptions, 'onCall' | 'onClockDifference'>,
): Promise<Tools> {
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
  const key = createFixedKey(new Secret(order.key))
  const client = createCatalogClient({ ...order, ...listeners, key, clock, gate })
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

/**
 * Return the channels to walk.
 * @throws CatalogError, WalkHeldError, NoChannelsError
 */
async function listWalkedChannels(details: Walk): Promise<readonly Channel[]> {
  const listed = await getChannelList(details)
  const walked = listed.filter(({ id }) => isServed(details, id))
  if (walked.length > 0) return walked
  throw listed.length === 0
    ? new NoChannelsError('the catalog lists no channels for this key')
    : new NoChannelsError(
        `the catalog lists ${pluralize(listed.length, 'channel')}, and none that this server serves`,
      )
}

/** The list of channels, from the catalog or, where several machines begin a walk at the same time, from the one who asked. */
async function getChannelList(details: Walk): Promise<readonly Channel[]> {
  const shared = details.walkedSinceMs === null ? undefined : await findShared(details)
  if (shared !== undefined) return shared
  const { value, asOfMs } = await withRetries(details, () => details.client.fetchChannels('walk'))
  if (value.length === 0) await judgeEmptyList(details, asOfMs)
  await details.store.putChannelList(value, asOfMs)
  return value
}

/**
 * Hold a list without channels where there were some, until a later walk finds the same.
 * @throws WalkHeldError when it is held
 */
async function judgeEmptyList(details: Walk, asOfMs: number): Promise<void> {
  const { store, isListAccepted, confirmAfterMs } = details
  const list = await store.findChannelList()
  if (isListAccepted || list === undefined || list.channels.length === 0) return
  const { heldSinceMs } = list
  const { isDoubtful: isClockDoubtful } = await details.checkClock()
  const isEarlier = heldSinceMs !== null && heldSinceMs <= asOfMs
  if (isEarlier && isLater(heldSinceMs, asOfMs, { confirmAfterMs, isClockDoubtful })) return
  await store.holdChannelList(isClockDoubtful ? UNKNOWN_TIME_MS : asOfMs)
  throw new WalkHeldError(
    `the catalog lists no channels where it listed ${list.channels.length} before; the copies stay`,
  )
}

async function findShared(details: Walk): Promise<readonly Channel[] | undefined> {
  const { store, clock, owner, signal } = details
  for (let leftMs = CLAIM_MS; leftMs > 0 && !signal.aborted; leftMs -= LOOK_EVERY_MS) {
    const list = await store.findChannelList()
    if (list !== undefined && isWithin(list.asOfMs, SHARED_MS, clock.nowMs())) return list.channels
    if (await store.claimLookup(LIST_CLAIM, { owner, forMs: CLAIM_MS })) return undefined
    await systemClock.wait(LOOK_EVERY_MS, signal)
  }
  return undefined
}
