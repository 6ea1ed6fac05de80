import { isFuture } from '../clock.ts'
import type { DealPage } from '../freshness/deals.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { findPriceTimes, findSaleEndMs, isPriceShown } from '../offers/price-age.ts'
import type { GridAddress } from './address.ts'
import { toDealQuery, toGridView } from './deals.ts'
import { CHANNEL_GONE_REASON, MAIL_GRID_NOTE, explainHiddenGrid } from './hidden-reasons.ts'
import { expandShops } from './offer-selection.ts'
import type { OptionDefaults, Surface } from './options.ts'
import type { GridView } from './view-models.ts'
import {
  type Widget,
  type WidgetDetails,
  createDigestFunction,
  createViewContext,
  findAllowedNetworks,
  limitToPrices,
  toEmptyResult,
} from './widget.ts'

const NO_DEALS: DealPage = { deals: [], hasNext: false }

/** Surfaces with links to the next page, and the prefixes of their addresses. */
const PAGED_SURFACES: ReadonlyMap<Surface, string> = new Map([
  ['embed', 'embeds'],
  ['data', 'data'],
])

/** Read the data of a grid. `visitor`: who waits. @throws UnknownChannelError, UnavailableError */
export async function getGrid(
  details: WidgetDetails,
  defaults: OptionDefaults,
  { address, visitor }: Readonly<{ address: GridAddress; visitor: Visitor }>,
): Promise<Widget<GridView>> {
  const { surface } = address
  const options = expandShops(address.options, details.shops)
  const { channel, isGone } = await details.channels.getChannel(address.channelId)
  const networks = findAllowedNetworks(details, surface)
  const query = toDealQuery(channel.id, options.currency, options, networks)
  const { value, asOfMs, status, validUntilMs } = isGone
    ? toEmptyResult(details, NO_DEALS)
    : await details.deals.getDeals({ ...visitor, query })
  const viewContext = createViewContext(details, address)
  const { oldestPriceMs, ...times } = findPriceTimes(value.deals, viewContext)
  const checkedAtMs = times.checkedAtMs ?? asOfMs
  // A deal disappears at the end of its sale, even if its price is not shown.
  const saleEndMs = findSaleEndMs(value.deals.map(({ offer }) => offer))
  const prefix = PAGED_SURFACES.get(surface)
  const pages =
    prefix === undefined ? null : { path: `${details.publicUrl}/${prefix}/${channel.id}/deals`, defaults }
  return {
    address,
    computeDigest: createDigestFunction(
      [
        isGone ? 'gone' : checkedAtMs,
        isFuture(checkedAtMs, viewContext.nowMs),
        value.hasNext,
        ...(surface === 'feed' ? [channel.name, channel.url ?? ''] : []),
        ...value.deals.map((deal) => isPriceShown(deal, viewContext)),
      ],
      [value.deals],
    ),
    get hiddenReason() {
      if (isGone) return CHANNEL_GONE_REASON
      const reason = explainHiddenGrid(address.options, defaults)
      return surface === 'mail' ? `${reason} ${MAIL_GRID_NOTE}` : reason
    },
    missingReason: null,
    gtins: [],
    productStates: [],
    isShown: value.deals.length > 0,
    getView: () => toGridView({ ...value, asOfMs: checkedAtMs }, address.options, { viewContext, pages }),
    channel,
    asOfMs,
    oldestPriceMs,
    saleEndMs,
    status,
    validUntilMs: limitToPrices(details, validUntilMs, { oldestPriceMs, saleEndMs }),
    // It is valid for at most a second (`DealSource`).
    isOutdated: () => false,
    isPartial: false,
  }
}
