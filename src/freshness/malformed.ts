import type { ParsedProduct } from '../catalog/parse.ts'
import type { Clock } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { CopyEntry, CopyStore } from '../storage/store.ts'
import { CatalogInvalidError } from '../errors.ts'
import { judgeAge } from './age.ts'
import type { Memory } from '../lib/lru-cache.ts'

type Details = Readonly<{
  memory: Memory<CopyEntry>
  store: Pick<CopyStore, 'findProduct'>
  clock: Clock
  config: FreshnessConfig
  onDrops(drops: ParsedProduct['drops'], channelId: string): void
}>

/**
 * Counts what was left out of a look-up's answer.
 * @throws CatalogInvalidError when every offer was malformed and others are known that may still be shown.
 */
export async function takeDrops(
  details: Details,
  wanted: Readonly<{ channelId: string; gtin: string; key: string }>,
  { product, drops }: ParsedProduct,
): Promise<void> {
  details.onDrops(drops, wanted.channelId)
  // A product that the catalog lists without any offer has lost them, which is believed.
  if (product.offers.length > 0 || product.drops === undefined) return
  const { memory, store, clock, config } = details
  const stored = memory.get(wanted.key) ?? store.findProduct(wanted.channelId, wanted.gtin)
  const known = await Promise.resolve(stored).catch(() => undefined)
  if (known === undefined || judgeAge(known.asOfMs, clock.nowMs(), config) === 'gone') return
  if ((known.product?.offers.length ?? 0) > 0)
    throw new CatalogInvalidError('every offer of the product is malformed; the offers known before stay')
}
