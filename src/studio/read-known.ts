import { type Clock, isNewer } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { computePeriodMs } from '../sync/walk-schedule.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import type { Memory } from '../lib/lru-cache.ts'
import { findCompleteWalkTime } from '../freshness/products.ts'
import type { CatalogAnswer, Known } from './explain.ts'

/** Where what is known is read. */
type Parts = Readonly<{
  store: CopyStore
  memories: Readonly<{ products: Memory<CopyEntry> }>
  clock: Clock
  config: Config
}>

/** Read what a visit of a box would find in memory and in the stored copy. Nothing is called. */
export async function readKnown(
  { store, memories, clock, config }: Parts,
  { channelId, gtin }: Readonly<{ channelId: string; gtin: string }>,
  catalog: CatalogAnswer,
): Promise<Known> {
  const nowMs = clock.nowMs()
  const walkPeriodMs = computePeriodMs(config.syncCron, nowMs)
  const details = { store, clock, walkPeriodMs, config: config.freshness }
  const patientUntilMs = nowMs + config.freshness.visitorTimeoutMs
  const remembered = memories.products.get([channelId, gtin].join(' '))
  const stored = await store.findProduct(channelId, gtin)
  return {
    channelId,
    gtin,
    list: await store.findChannelList(),
    state: await store.getCopyState(channelId),
    entry: findNewer(stored, remembered, nowMs),
    isCopyComplete: (await findCompleteWalkTime(details, { channelId, patientUntilMs })) !== undefined,
    catalog,
  }
}

function findNewer(
  stored: CopyEntry | undefined,
  remembered: CopyEntry | undefined,
  nowMs: number,
): CopyEntry | undefined {
  if (stored === undefined || remembered === undefined) return stored ?? remembered
  return isNewer(remembered.asOfMs, stored.asOfMs, nowMs) ? remembered : stored
}
