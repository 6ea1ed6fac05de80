import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Drops } from '../catalog/parse.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { computePeriodMs } from '../sync/walk-schedule.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { judgeAge } from './age.ts'
import { type ChannelSource, createChannelSource } from './channels.ts'
import { createClaims, fetchUnclaimed } from './claims.ts'
import { type DealSource, type RememberedDeals, createDealSource } from './deals.ts'
import { createFailures } from './failures.ts'
import { createLookupWrites } from './lookup-writes.ts'
import type { Memory } from '../lib/lru-cache.ts'
import { type ProductSource, createProductSource } from './products.ts'

/** What the sources of a process share. */
export type SourcesDetails = Readonly<{
  config: Config
  clock: Clock
  client: CatalogClient
  gate: CallGate
  store: CopyStore
  memories: Readonly<{ products: Memory<CopyEntry>; deals: Memory<RememberedDeals> }>
  onStoreFailure(error: unknown): void
  onDrops(drops: Drops, channelId: string): void
}>

/** Where widgets get their data from. */
export type Sources = Readonly<{
  channels: ChannelSource
  products: ProductSource
  deals: DealSource
  /** Resolves when the store knows what the sources do. */
  settle(): Promise<void>
  /** The same, and nothing uses the store afterwards. The client is closed before. */
  stop(): Promise<void>
}>

/** Makes the sources of one process. */
export function createSources(details: SourcesDetails): Sources {
  const { config, clock, client, gate, store, memories, onStoreFailure, onDrops } = details
  const shared = { client, gate, store, clock, config: config.freshness, onStoreFailure }
  const failures = createFailures(clock)
  const channels = createChannelSource({ ...shared, failures, served: config.channels })
  const writes = createLookupWrites(store, onStoreFailure)
  const isFresh = (asOfMs: number): boolean => judgeAge(asOfMs, clock.nowMs(), config.freshness) === 'fresh'
  const claims =
    config.workers === 1 && config.database.kind === 'sqlite'
      ? fetchUnclaimed
      : createClaims({ ...shared, timeoutMs: config.catalogTimeoutMs, isFresh })
  const products = createProductSource({
    ...shared,
    claims,
    writes,
    channels,
    failures,
    memory: memories.products,
    walkPeriodMs: computePeriodMs(config.syncCron, clock.nowMs()),
    onDrops,
  })
  const deals = createDealSource({ ...shared, memory: memories.deals })
  return {
    channels,
    products,
    deals,
    settle: writes.settle,
    async stop() {
      await writes.settle()
      await claims.stop()
    },
  }
}
