import { type CallGate, createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClient, type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import { type Clock, DAY_MS, systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { createFixedKey } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import { VitrineError } from '../errors.ts'
import { describeFailure } from '../storage/unavailable.ts'
import { type SqlStore, openSqlStore } from '../storage/sql-store.ts'
import { checkWalkClock } from './walk-channels.ts'
import type { WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'
import { RESUME_WITHIN_MS, walkCatalog } from './walk.ts'

/** What a walk works with, made for it and closed with it. */
type Tools = Readonly<{ store: SqlStore; gate: CallGate; client: CatalogClient }>

/** What a walk learns from its calls. */
type Learned = { clockDifferenceMs?: number; calls: Map<string, WalkReport['calls'][number]> }

/** Walks in this thread, with a client and a connection of its own: the whole of a walk, wherever it runs. */
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
