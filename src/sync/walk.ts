import { createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import { type Clock, DAY_MS, HOUR_MS, systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { createFixedKey } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import { VitrineError } from '../errors.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { walkChannel } from './channel-walk.ts'
import { createStopped } from './walk-calls.ts'
import { checkWalkClock, listWalkedChannels } from './walk-channels.ts'
import type { ChannelWalk, Walk, WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
const RESUME_WITHIN_MS: number = HOUR_MS

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
