import type { Offer } from '../catalog/contract.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import { createBoxOrder } from '../offers/ranking.ts'
import {
  type AddressParsers,
  type AnyAddress,
  type BoxAddress,
  type GridAddress,
  type PicksAddress,
  type ProductAddressParts,
  createAddressParsers,
} from './address.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { getBox } from './box.ts'
import { getGrid } from './grid.ts'
import type { WidgetKind } from './option-list.ts'
import type { OptionDefaults } from './options.ts'
import { parseLocale } from './parameters.ts'
import { getPicks } from './picks.ts'
import { computeOfferId } from './view-parts.ts'
import type { BoxView } from './box.ts'
import type { GridView } from './grid.ts'
import type { PicksView } from './picks.ts'
import type { AnyView } from './view-models.ts'
import { type Widget, type WidgetsOptions, openChannel } from './widget.ts'

export type AnyWidget = Widget<AnyView>

/** A widget whose data are not read yet. `visitor`: who waits. */
export type OpenedWidget = Readonly<{ address: AnyAddress; getWidget(visitor: Visitor): Promise<AnyWidget> }>

/** Reads the data of the widgets. */
export type Widgets = AddressParsers &
  Readonly<{
    /** @throws UnknownChannelError, UnavailableError */
    getBox(address: BoxAddress): Promise<Widget<BoxView>>
    /** @throws UnknownChannelError, UnavailableError */
    getPicks(address: PicksAddress): Promise<Widget<PicksView>>
    /** `visitor`: who waits, so that one visitor cannot block the others. */
    getGrid(address: GridAddress, visitor: Visitor): Promise<Widget<GridView>>
    /** Parse the address of a widget of any kind. @throws BadOptionError, InvalidGtinError, GtinCountError */
    open(kind: WidgetKind, parts: ProductAddressParts): OpenedWidget
    /** Find an offer by its id, the best of several; `undefined` when it no longer exists. `gtin`: padded. */
    findOffer(key: Readonly<{ channelId: string; gtin: string; offerId: string }>): Promise<Offer | undefined>
    defaults: OptionDefaults
  }>

export function createWidgets(dependencies: WidgetsOptions): Widgets {
  const { locale, currency } = dependencies.config
  const defaults = { locale: parseLocale(locale) ?? locale, currency }
  const widgets: Widgets = {
    ...createAddressParsers(defaults),
    open: (kind, parts) => openWidget(widgets, kind, parts),
    defaults,
    getBox: (address) => getBox(dependencies, defaults, address),
    getPicks: (address) => getPicks(dependencies, defaults, address),
    getGrid: (address, visitor) => getGrid(dependencies, defaults, { address, visitor }),
    findOffer: (key) => findOffer(dependencies, key),
  }
  return widgets
}

function openWidget(widgets: Widgets, kind: WidgetKind, parts: ProductAddressParts): OpenedWidget {
  if (kind === 'deals') {
    const address = widgets.parseGridAddress(parts)
    return { address, getWidget: (visitor) => widgets.getGrid(address, visitor) }
  }
  if (kind === 'picks') {
    const address = widgets.parsePicksAddress(parts)
    return { address, getWidget: () => widgets.getPicks(address) }
  }
  const address = widgets.parseBoxAddress(parts)
  return { address, getWidget: () => widgets.getBox(address) }
}

async function findOffer(
  dependencies: WidgetsOptions,
  { channelId, gtin, offerId }: Readonly<{ channelId: string; gtin: string; offerId: string }>,
): Promise<Offer | undefined> {
  const { clock, config } = dependencies
  const { findProduct } = await openChannel(dependencies, { channelId, surface: 'fragment' })
  const { found, failure } = await findProduct(gtin)
  if (failure !== null) throw failure
  const matches = found.value?.offers.filter((offer) => computeOfferId(offer) === offerId) ?? []
  const rules = { nowMs: clock.nowMs(), priceMaxAgeSeconds: config.priceMaxAgeSeconds }
  return matches.sort(createBoxOrder(createPriceCheck(found.asOfMs, rules)))[0]
}
