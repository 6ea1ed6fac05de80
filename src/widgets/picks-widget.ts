import type { PicksAddress } from './address.ts'
import { combineProducts, openChannel, selectProducts } from './found-products.ts'
import { CHANNEL_GONE_REASON, explainHiddenProducts, explainMissingProducts } from './hidden-reasons.ts'
import { expandShops } from './offer-selection.ts'
import type { OptionDefaults } from './options.ts'
import { toPicksView } from './picks.ts'
import { limitPicksRows } from './row-limits.ts'
import type { PicksView } from './view-models.ts'
import {
  type Widget,
  type WidgetDetails,
  createDigestFunction,
  createViewContext,
  limitToPrices,
} from './widget.ts'

/** Read the data of a round-up. @throws UnknownChannelError, UnavailableError */
export async function getPicks(
  details: WidgetDetails,
  defaults: OptionDefaults,
  address: PicksAddress,
): Promise<Widget<PicksView>> {
  const { gtins } = address
  const options = expandShops(address.options, details.shops)
  const { channel, isGone, isOutdated, findProduct } = await openChannel(details, address)
  const products = await Promise.all(gtins.map(findProduct))
  const viewContext = createViewContext(details, address)
  const shown = limitPicksRows(selectProducts(products, options, viewContext), viewContext)
  const combined = combineProducts({ products, shown, isGone, options }, viewContext)
  const labelled = shown.map((one) => ({
    ...one,
    label: options.labels[gtins.indexOf(one.product.gtin)] || null,
  }))
  const explainDetails = { options, defaults, shops: details.shops }
  return {
    address,
    computeDigest: createDigestFunction(combined.digestState, combined.digestData),
    get hiddenReason() {
      return isGone
        ? CHANNEL_GONE_REASON
        : explainHiddenProducts(products, combined.productStates, explainDetails)
    },
    get missingReason() {
      return explainMissingProducts(products, combined.productStates, explainDetails)
    },
    gtins,
    productStates: combined.productStates,
    isShown: shown.length > 0,
    getView: () => toPicksView(labelled, options, viewContext),
    channel,
    asOfMs: combined.asOfMs,
    oldestPriceMs: combined.oldestPriceMs,
    saleEndMs: combined.saleEndMs,
    status: combined.status,
    validUntilMs: limitToPrices(details, combined.validUntilMs, combined),
    isOutdated,
    isPartial: combined.isPartial,
  }
}
