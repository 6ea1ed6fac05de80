import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { CatalogClient } from '../catalog/client.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product } from '../catalog/contract.ts'
import type { ParsedPage } from '../catalog/parse.ts'
import {
  CallNotMadeError,
  CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  VitrineError,
  WalkError,
} from '../errors.ts'
import type { WalkPlace, WalkStore } from './store.ts'

/** A broken walk goes on where it stopped when its last page is at most this old; else it begins anew. */
const RESUME_WITHIN_MS: number = HOUR_MS
/** How long a walk may go without a page before another process may take it over. */
const LEASE_MS: number = MINUTE_MS
/** Waits before the second, third and fourth try of a page. Only the walk retries, never a visitor's call. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/** What a walk tells while it goes. */
export type WalkProgress = Readonly<{ channel: Channel; productCount: number; isDone: boolean }>

/** How the walk of one channel ended. */
export type ChannelWalk = Readonly<{
  channelId: string
  channelName: string
  outcome: 'complete' | 'failed' | 'busy'
  productCount: number
  durationMs: number
  /** Code of the error when it failed. */
  failure: string | null
}>

/** What a walk works with; `owner` names this walk in leases. */
export type WalkDetails = Readonly<{
  client: CatalogClient
  store: WalkStore
  clock: Clock
  owner: string
  /** Ids to walk; `null`: every channel of the key. */
  channels: readonly string[] | null
  signal: AbortSignal
  onProgress?: (progress: WalkProgress) => void
}>

/**
 * Walks every served channel, one after the other. A channel that fails keeps its old copy and does not stop the rest.
 * @throws CatalogError when not even the list of channels can be had.
 */
export async function walkCatalog(details: WalkDetails): Promise<readonly ChannelWalk[]> {
  const { value, asOfMs } = await withRetries(details, () => details.client.fetchChannels())
  await details.store.putChannelList(value, asOfMs)
  const served = value.filter((channel) => details.channels === null || details.channels.includes(channel.id))
  const walks: ChannelWalk[] = []
  for (const channel of served) {
    if (details.signal.aborted) break
    walks.push(await walkChannel(details, channel))
  }
  return walks
}

async function walkChannel(details: WalkDetails, channel: Channel): Promise<ChannelWalk> {
  const { store, clock, owner } = details
  const startedAtMs = clock.nowMs()
  const end = (
    outcome: ChannelWalk['outcome'],
    productCount: number,
    failure: string | null,
  ): ChannelWalk => {
    const durationMs = clock.nowMs() - startedAtMs
    return { channelId: channel.id, channelName: channel.name, outcome, productCount, durationMs, failure }
  }
  if (!(await extendLease(details, channel.id))) return end('busy', 0, null)
  try {
    const productCount = await walkPages(details, channel)
    return end('complete', productCount, null)
  } catch (error) {
    const code = error instanceof VitrineError ? error.code : new WalkError('unexpected').code
    await store.failWalk(channel.id, code, clock.nowMs())
    if (!(error instanceof VitrineError)) throw error
    return end('failed', 0, code)
  } finally {
    await store.releaseLease(channel.id, owner)
  }
}

async function walkPages(details: WalkDetails, channel: Channel): Promise<number> {
  const { store, clock, signal } = details
  const begin = (resumableSinceMs: number): Promise<WalkPlace> =>
    store.beginWalk(channel.id, { nowMs: clock.nowMs(), resumableSinceMs })
  let place = await begin(clock.nowMs() - RESUME_WITHIN_MS)
  let mayBeginAnew = place.cursor !== null
  while (!place.isWalked) {
    if (signal.aborted) throw new WalkError('the walk was told to stop')
    const next = await walkPage(details, channel, place).catch((error: unknown) => {
      if (mayBeginAnew && isCursorRefused(error)) return undefined
      throw error
    })
    // Only the first cursor of a resumed walk may be one that the catalog no longer knows; the pages stored so far go.
    place = next ?? (await begin(Infinity))
    mayBeginAnew = false
    details.onProgress?.({ channel, productCount: place.productCount, isDone: place.isWalked })
  }
  await store.completeWalk(channel.id, place.walk, clock.nowMs())
  return place.productCount
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof CatalogStatusError && error.upstreamStatus === 400
}

/** Fetches one page, and stores it when the lease is still held. */
async function walkPage(details: WalkDetails, channel: Channel, place: WalkPlace): Promise<WalkPlace> {
  const { client, store } = details
  const query = { channelId: channel.id, cursor: place.cursor, limit: MAX_PAGE_PRODUCTS }
  const { value, asOfMs } = await withRetries(details, () => client.fetchProductPage(query))
  const products = getProductsInOrder(value, place)
  if (!(await extendLease(details, channel.id))) throw new WalkError('another process took the walk over')
  await store.applyPage(channel.id, {
    walk: place.walk,
    afterGtin: place.afterGtin,
    products,
    nextCursor: value.nextCursor,
    asOfMs,
    drops: value.drops,
  })
  return {
    walk: place.walk,
    cursor: value.nextCursor,
    afterGtin: products.at(-1)?.gtin ?? place.afterGtin,
    productCount: place.productCount + products.length,
    isWalked: value.nextCursor === null,
  }
}

/** A page must go on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone products. */
function getProductsInOrder(page: ParsedPage, place: WalkPlace): readonly Product[] {
  let last = place.afterGtin
  for (const product of page.products) {
    if (product.gtin <= last)
      throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    last = product.gtin
  }
  const isStuck = page.nextCursor !== null && (page.nextCursor === place.cursor || page.products.length === 0)
  if (isStuck) throw new CatalogInvalidError('the page of products leads nowhere')
  return page.products
}

function extendLease(details: WalkDetails, channelId: string): Promise<boolean> {
  const nowMs = details.clock.nowMs()
  return details.store.takeLease(channelId, { owner: details.owner, nowMs, untilMs: nowMs + LEASE_MS })
}

async function withRetries<T>(details: WalkDetails, call: () => Promise<T>): Promise<T> {
  for (const waitMs of RETRY_WAITS_MS) {
    try {
      return await call()
    } catch (error) {
      if (!isWorthRetrying(error) || details.signal.aborted) throw error
      await details.clock.wait(waitMs, details.signal)
    }
  }
  return call()
}

/** A refused key, a reached limit, a pause, or a request that the catalog calls wrong are the same a second later. */
function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof CatalogError)) return false
  if (error instanceof CatalogStatusError) return error.upstreamStatus >= 500
  return !(
    error instanceof CatalogRateLimitedError ||
    error instanceof CatalogKeyRefusedError ||
    error instanceof CallNotMadeError
  )
}
