import type { Product } from '../catalog/contract.ts'
import { isNewer } from '../clock.ts'
import type { Context } from '../context.ts'
import { findCompleteWalkTime } from '../freshness/products.ts'
import type { ChannelList, CopyEntry, CopyState } from '../storage/store.ts'

/** The catalog's current response for the product, or why the catalog was not called. */
export type CatalogLookupResult =
  | Readonly<{ kind: 'product'; product: Product }>
  | Readonly<{ kind: 'not-found' }>
  | Readonly<{ kind: 'failed'; text: string; remedy: string | null }>
  | Readonly<{ kind: 'skipped'; reason: string }>

export type BoxInputs = Readonly<{
  channelId: string
  /** 14 digits. */
  gtin: string
  /** `undefined` if no list was ever fetched. */
  list: ChannelList | undefined
  state: CopyState
  entry: CopyEntry | undefined
  /** `true` when the last complete walk is recent: a product that the copy lacks is then not sold. */
  isCopyComplete: boolean
  catalog: CatalogLookupResult
}>

/** Read what a request for the box would find in memory and in the stored copy, without calling the catalog. */
export async function readBoxInputs(
  { store, caches, clock, config }: Context,
  { channelId, gtin }: Readonly<{ channelId: string; gtin: string }>,
  catalog: CatalogLookupResult,
): Promise<BoxInputs> {
  const nowMs = clock.nowMs()
  const details = { store, clock, findWalkPeriodMs: config.findWalkPeriodMs, config: config.freshness }
  const deadlineMs = nowMs + config.freshness.visitorTimeoutMs
  const cached = caches.products.get([channelId, gtin].join(' '))
  return {
    channelId,
    gtin,
    list: await store.findChannelList(),
    state: await store.getCopyState(channelId),
    entry: findNewer(await store.findProduct(channelId, gtin), cached, nowMs),
    isCopyComplete: (await findCompleteWalkTime(details, { channelId, deadlineMs })) !== undefined,
    catalog,
  }
}

function findNewer(
  stored: CopyEntry | undefined,
  cached: CopyEntry | undefined,
  nowMs: number,
): CopyEntry | undefined {
  if (stored === undefined || cached === undefined) return stored ?? cached
  return isNewer(cached.asOfMs, stored.asOfMs, nowMs) ? cached : stored
}
