import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { computePeriodMs } from '../copy/schedule.ts'
import type { CopyEntry, CopyStore } from '../copy/store.ts'
import type { Memory } from '../freshness/memory.ts'
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
  const walkPeriodMs = computePeriodMs(config.syncCron, clock.nowMs())
  const remembered = memories.products.get([channelId, gtin].join(' '))
  const stored = await store.findProduct(channelId, gtin)
  return {
    channelId,
    gtin,
    list: await store.findChannelList(),
    state: await store.getCopyState(channelId),
    entry: (remembered?.asOfMs ?? 0) > (stored?.asOfMs ?? 0) ? remembered : stored,
    isCopyComplete: (await findCompleteWalkTime({ store, clock, walkPeriodMs }, channelId)) !== undefined,
    catalog,
  }
}
