import type { Product, ProductProblem } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { isReplacement, readCompleteness } from '../freshness/products.ts'
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
  /** What the entry of the product lacked in the last complete walk; `undefined`: it was not malformed. */
  malformed: ProductProblem | undefined
  /** `true` when the last complete walk is recent and found products: a product that the copy lacks is then not sold. */
  isCopyComplete: boolean
  catalog: CatalogLookupResult
}>

type ProductKey = Readonly<{ channelId: string; gtin: string }>

/** Read what a request for the box of a product would find in memory and in the stored copy, without calling the catalog. */
export async function readBoxInputs(
  context: Context,
  { channelId, gtin }: ProductKey,
  catalog: CatalogLookupResult,
): Promise<BoxInputs> {
  const channel = await readChannelInputs(context, channelId)
  return { ...channel, ...(await readProduct(context, { channelId, gtin })), catalog }
}

/** The same for several products of a channel. */
export async function readProductInputs(
  context: Context,
  { channelId, gtins }: Readonly<{ channelId: string; gtins: readonly string[] }>,
  catalog: CatalogLookupResult,
): Promise<readonly BoxInputs[]> {
  const channel = await readChannelInputs(context, channelId)
  return Promise.all(
    gtins.map(async (gtin) => ({
      ...channel,
      ...(await readProduct(context, { channelId, gtin })),
      catalog,
    })),
  )
}

async function readChannelInputs({ store, clock, config }: Context, channelId: string) {
  const isCatalogEmbedded = config.catalog.kind === 'embedded'
  const { findWalkPeriodMs, freshness } = config
  const details = { store, clock, findWalkPeriodMs, isCatalogEmbedded, config: freshness }
  const deadlineMs = clock.nowMs() + config.freshness.visitorTimeoutMs
  const { walkedAtMs } = await readCompleteness(details, { channelId, deadlineMs })
  return {
    channelId,
    list: await store.findChannelList(),
    state: await store.getCopyState(channelId),
    isCopyComplete: walkedAtMs !== undefined,
  }
}

async function readProduct(context: Context, { channelId, gtin }: ProductKey) {
  const entry = await readEntry(context, { channelId, gtin })
  const malformed = entry === undefined ? await context.store.findMalformedEntry(channelId, gtin) : undefined
  return { gtin, entry, malformed }
}

async function readEntry(
  { store, caches, clock }: Context,
  { channelId, gtin }: ProductKey,
): Promise<CopyEntry | undefined> {
  const cached = caches.products.get([channelId, gtin].join(' '))
  return findNewer(await store.findProduct(channelId, gtin), cached, clock.nowMs())
}

function findNewer(
  stored: CopyEntry | undefined,
  cached: CopyEntry | undefined,
  nowMs: number,
): CopyEntry | undefined {
  if (stored === undefined || cached === undefined) return stored ?? cached
  return isReplacement(stored, cached, nowMs) ? stored : cached
}
