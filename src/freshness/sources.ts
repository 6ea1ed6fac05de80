import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { DropCounts } from '../catalog/parse.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { LruCache } from '../lib/lru-cache.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { classifyAge } from './age.ts'
import { ChannelSource } from './channels.ts'
import { type CachedDeals, DealSource } from './deals.ts'
import { type CachedHistory, createHistorySource } from './histories.ts'
import { createLookups } from './lookups.ts'
import { createNegativeCache } from './negative-cache.ts'
import { ProductSource } from './products.ts'

type SourcesOptions = Readonly<{
  config: Config
  clock: Clock
  client: CatalogClient
  callPolicy: CallPolicy
  store: CopyStore
  caches: Readonly<{
    products: LruCache<CopyEntry>
    deals: LruCache<CachedDeals>
    histories: LruCache<CachedHistory>
  }>
  onStoreFailure(error: unknown): void
  onDrops(drops: DropCounts, channelId: string): void
}>

export function createSources({ config, caches, onDrops, ...parts }: SourcesOptions) {
  const { clock } = parts
  const shared = { ...parts, config: config.freshness }
  const failures = createNegativeCache(clock)
  const channels = new ChannelSource({ ...shared, failures, channels: config.channels })
  const lookups = createLookups({
    ...parts,
    isShared: config.workers > 1 || config.database.kind === 'postgres',
    timeoutMs: config.catalogTimeoutMs,
    isFresh: (asOfMs) => classifyAge(asOfMs, clock.nowMs(), config.freshness) === 'fresh',
  })
  const products = new ProductSource({
    ...shared,
    lookups,
    channels,
    failures,
    cache: caches.products,
    findWalkPeriodMs: config.findWalkPeriodMs,
    isCatalogEmbedded: config.catalog.kind === 'embedded',
    onDrops,
  })
  const deals = new DealSource({ ...shared, cache: caches.deals })
  const histories = createHistorySource({ ...shared, cache: caches.histories })
  return {
    channels,
    products,
    deals,
    histories,
    /** Resolve when all pending writes have ended. */
    settle: lookups.waitForWrites,
    /** Stop using the store. Close the catalog client first. */
    stop: lookups.stop,
  }
}
