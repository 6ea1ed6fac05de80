import { type CallGate, createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClient, type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import { createFixedKey } from '../catalog/key-source.ts'
import { createFleetLedger } from '../catalog/fleet-ledger.ts'
import { type QuotaLedger, createSharedLedger } from '../catalog/quota-ledger.ts'
import { type Clock, DAY_MS, systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { Secret } from '../config/secrets.ts'
import { VitrineError } from '../errors.ts'
import { describeFailure } from '../storage/reconnecting-store.ts'
import { type SqlStore, openSqlStore } from '../storage/sql-store.ts'
import { type PageSource, createPageSource } from './page-source.ts'
import type { CopyStore } from '../storage/store.ts'
import type { WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'
import { checkWalkClock } from './walk-clock.ts'
import { RESUME_WITHIN_MS, walkCatalog } from './walk.ts'

/** What a walk works with, made for it and closed with it. */
type Tools = Readonly<{
  store: SqlStore
  gate: CallGate
  client: CatalogClient
  pages: PageSource
}>

/** How a walk is watched, and who fetches and reads its pages; by default the thread that walks. */
type WatchHere = WalkWatch & Readonly<{ makePages?: (order: WalkOrder, gated: Gated) => PageSource }>

/** What every call passes, and who is told of it. */
type Gated = Pick<CatalogClientOptions, 'gate' | 'onCall'>

/** What a walk learns from its calls. */
type Learned = { clockDifferenceMs?: number }

type CountedCalls = Map<string, WalkReport['calls'][number]>

/** Walks in this thread, with a client and a connection of its own: the whole of a walk, wherever it runs. */
export async function runWalkHere(
  order: WalkOrder,
  watch: WatchHere,
  clock: Clock = systemClock,
): Promise<WalkReport> {
  const calls: CountedCalls = new Map()
  const learned: Learned = {}
  let tools: Tools | undefined
  const report = (walks: WalkReport['walks'], error: VitrineError | null): WalkReport => ({
    walks,
    failure: error?.code ?? null,
    reason: error === null ? null : describeFailure(error),
    pausedUntilMs: tools?.gate.limitedUntilMs() ?? 0,
    ...learned,
    calls: [...calls.values()],
  })
  try {
    tools = await openTools({ order, watch, clock }, calls, learned)
    // Else the first count would fail, and the report would speak of the request limit.
    await tools.store.checkWritable()
    const walks = await walkWith(tools, { order, watch, clock }, learned)
    // A file that cannot be made smaller now is after the next walk.
    await tools.store.shrink(watch.signal).catch(() => {})
    return report(walks, null)
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    return report([], error)
  } finally {
    await tools?.client.close()
    await tools?.pages.close()
    await tools?.store.close()
  }
}

type WalkHere = Readonly<{ order: WalkOrder; watch: WatchHere; clock: Clock }>

async function openTools(
  { order, watch, clock }: WalkHere,
  calls: CountedCalls,
  learned: Learned,
): Promise<Tools> {
  const store = await openSqlStore({
    database: parseDatabaseText(order.database),
    catalog: order.catalog,
    clock,
  })
  const gate = createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: order.dailyLimit,
    // A pause that cannot be stored is handed on with the report; the walk itself ends at the first page it cannot store.
    ledger: createLedger(order, store, clock),
  })
  const onCall: Gated['onCall'] = (call) => {
    const key = `${call.operation} ${call.outcome}`
    calls.set(key, { ...call, count: (calls.get(key)?.count ?? 0) + 1 })
  }
  const client = createCatalogClient({
    baseUrl: order.baseUrl,
    key: createFixedKey(new Secret(order.key)),
    timeoutMs: order.timeoutMs,
    maxBytes: order.maxBytes,
    ownOrigin: order.ownOrigin,
    clock,
    gate,
    onCall,
    onClockDifference: (differenceMs) => void (learned.clockDifferenceMs = differenceMs),
  })
  const pages = watch.makePages?.(order, { gate, onCall }) ?? createPageSource(client, order)
  return { store, gate, client, pages }
}

function createLedger({ database, dailyLimit }: WalkOrder, store: CopyStore, clock: Clock): QuotaLedger {
  return parseDatabaseText(database).kind === 'postgres'
    ? createFleetLedger(store, { clock, dailyLimit, mayReserve: false, onFailure: untold })
    : createSharedLedger(store, { clock, onFailure: untold })
}

/** A walk whose counts cannot be stored ends at the first page that it cannot store. */
function untold(): void {}

async function walkWith(
  tools: Tools,
  { order, watch, clock }: WalkHere,
  learned: Learned,
): Promise<WalkReport['walks']> {
  await tools.gate.pauseUntil(order.pausedUntilMs)
  const { limit } = await tools.gate.readState()
  // A call under way ends with the walk: whoever stops does not wait for a hanging catalog.
  const hangUp = (): void => {
    void tools.client.close()
    void tools.pages.close()
  }
  watch.signal.addEventListener('abort', hangUp)
  try {
    return await walkCatalog({
      ...watch,
      ...tools,
      clock,
      owner: order.owner,
      channels: order.channels,
      mayWait: order.mayWait,
      walkedSinceMs: order.walkedSinceMs,
      isTakeOver: order.isTakeOver,
      isAccepted: order.isAccepted,
      isListAccepted: order.isListAccepted,
      confirmAfterMs: order.confirmAfterMs,
      checkClock: () =>
        checkWalkClock({ store: tools.store, clock, catalogDifferenceMs: learned.clockDifferenceMs }),
      // With a limit, the pages of the day before are worth more than beginning anew.
      resumeWithinMs: limit === undefined ? RESUME_WITHIN_MS : DAY_MS + RESUME_WITHIN_MS,
    })
  } finally {
    watch.signal.removeEventListener('abort', hangUp)
  }
}
