import { createCallGate } from '../catalog/call-gate.ts'
import { createCatalogClient } from '../catalog/client.ts'
import { createFixedKey } from '../catalog/key-source.ts'
import { type Clock, systemClock } from '../clock.ts'
import { Secret } from '../config/secrets.ts'
import { VitrineError } from '../errors.ts'
import { openSqlStore } from './sql-store.ts'
import type { WalkOrder, WalkReport, WalkWatch } from './walk-runner.ts'
import { type ChannelWalk, walkCatalog } from './walk.ts'

/** Walks in this thread, with a client and a connection of its own: the whole of a walk, wherever it runs. */
export async function runWalkHere(
  order: WalkOrder,
  watch: WalkWatch,
  clock: Clock = systemClock,
): Promise<WalkReport> {
  const gate = createCallGate({ clock, unknownLookupsPerHour: 0 })
  gate.pauseUntil(order.pausedUntilMs)
  const calls = new Map<string, Readonly<{ operation: string; outcome: string; count: number }>>()
  const client = createCatalogClient({
    baseUrl: order.baseUrl,
    key: createFixedKey(new Secret(order.key)),
    timeoutMs: order.timeoutMs,
    maxBytes: order.maxBytes,
    ownOrigin: order.ownOrigin,
    clock,
    gate,
    onCall(call) {
      const key = `${call.operation} ${call.outcome}`
      calls.set(key, { ...call, count: (calls.get(key)?.count ?? 0) + 1 })
    },
  })
  const report = (walks: readonly ChannelWalk[], failure: string | null): WalkReport => ({
    walks,
    failure,
    pausedUntilMs: gate.limitedUntilMs(),
    calls: [...calls.values()],
  })
  const store = await openSqlStore({ database: order.database, catalog: order.catalog })
  // A call under way ends with the walk: whoever stops does not wait for a hanging catalog.
  const hangUp = (): void => void client.close()
  watch.signal.addEventListener('abort', hangUp)
  try {
    return report(
      await walkCatalog({ ...watch, client, store, clock, owner: order.owner, channels: order.channels }),
      null,
    )
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    return report([], error.code)
  } finally {
    watch.signal.removeEventListener('abort', hangUp)
    await client.close()
    await store.close()
  }
}
