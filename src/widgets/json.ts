import type {
  DealJson,
  DealsJson,
  OfferJson,
  OmittedOffersJson,
  PicksJson,
  PriceJson,
  ProductJson,
  ProductWithOffersJson,
  ShownJson,
  WhereToBuyJson,
} from './json-types.ts'
import { joinTextParts } from './locales/index.ts'
import { listNotices } from './view-parts.ts'
import type { BoxView, OfferView } from './box.ts'
import type { DealView, GridView } from './grid.ts'
import type { PicksView } from './picks.ts'
import type { AnyView } from './view-models.ts'

/**
 * Convert the view that the HTML is rendered from. Links contain slots for the id of a placement (`lib/sub-template.ts`).
 * `reason`: which products are missing; `null`: none.
 */
export function toWidgetJson(view: AnyView, reason: string | null): WhereToBuyJson | PicksJson | DealsJson {
  if (view.kind === 'deals') return toDealsJson(view, reason)
  return view.kind === 'picks' ? toPicksJson(view, reason) : toBoxJson(view, reason)
}

function toBoxJson(view: BoxView, reason: string | null): WhereToBuyJson {
  const { lowestLabel, more, history } = view
  return {
    kind: 'where-to-buy',
    ...toShownJson(view, reason),
    product: toProductJson(view),
    standIn: view.standIn,
    sentence: joinTextParts(view.sentence) || null,
    offers: view.offers.map((offer) => toOfferJson(offer, lowestLabel)),
    moreOffers: more.map((offer) => toOfferJson(offer, lowestLabel)),
    moreOffersLabel: more.length === 0 ? null : view.moreLabel,
    omittedOffers: toOmittedJson(view.omitted),
    variants: (view.variants?.rows ?? []).map((row) => toProductWithOffers(row, lowestLabel)),
    variantsLabel: view.variants?.label ?? null,
    history:
      history === null
        ? null
        : {
            text: joinTextParts(history.sentence),
            chartText: history.chart?.label ?? null,
          },
  }
}

function toPicksJson(view: PicksView, reason: string | null): PicksJson {
  return {
    kind: 'picks',
    ...toShownJson(view, reason),
    products: view.products.map((product) => ({
      ...toProductWithOffers(product, view.lowestLabel),
      label: product.label,
    })),
  }
}

function toDealsJson(view: GridView, reason: string | null): DealsJson {
  return {
    kind: 'deals',
    ...toShownJson(view, reason),
    deals: view.deals.map((deal) => toDealJson(deal, view.linkText)),
    nextPage: view.paging?.next?.href ?? null,
  }
}

function toShownJson({ wrapper, label, header, notices }: AnyView, reason: string | null): ShownJson {
  return {
    state: 'shown',
    reason,
    lang: wrapper.lang,
    dir: wrapper.dir,
    heading: header.heading,
    accessibleName: label,
    disclosure: header.disclosure,
    checkedAt: notices.checkedAt?.iso ?? null,
    notices: listNotices(notices),
  }
}

function toProductJson({
  gtin,
  title,
  brand,
  picture,
}: Pick<BoxView, 'gtin' | 'title' | 'brand' | 'picture'>): ProductJson {
  return {
    gtin,
    title,
    brand,
    // `sizes` is that of the own layouts.
    picture: picture === null ? null : { src: picture.src, srcset: picture.srcset },
  }
}

type ProductRow = Omit<PicksView['products'][number], 'label' | 'number'>

function toProductWithOffers(
  { title, brand, picture, offer, shops }: ProductRow,
  lowestLabel: string,
): ProductWithOffersJson {
  return {
    ...toProductJson({ gtin: offer.gtin, title, brand, picture }),
    offers: (shops === null || shops.offers.length === 0 ? [offer] : shops.offers).map((one) =>
      toOfferJson(one, lowestLabel),
    ),
    offersLabel: shops?.label ?? null,
    omittedOffers: toOmittedJson(shops?.omitted ?? null),
  }
}

function toOmittedJson(omitted: BoxView['omitted']): OmittedOffersJson | null {
  return omitted === null ? null : { count: omitted.count, text: omitted.label }
}

/** A grid never says that a price is the lowest one. */
function toDealJson(deal: DealView, linkText: string): DealJson {
  const offer = toOfferJson({ ...deal, isBest: false, linkText }, null)
  return { ...toProductJson(deal), offer, firstSeenAt: deal.firstSeen }
}

function toOfferJson(offer: OfferView, lowestLabel: string | null): OfferJson {
  const { id, merchant, logo, terms, href, linkText, linkLabel, availability, price } = offer
  return {
    id,
    merchant: { name: merchant, logo: logo.url, terms },
    link: href,
    linkText,
    linkLabel,
    availability: { kind: availability.kind, text: availability.text },
    price: price === null ? null : toPriceJson(price),
    priceText: price === null ? offer.seePrice : price.price,
    lowestLabel: offer.isBest ? lowestLabel : null,
  }
}

function toPriceJson({
  oldPrice,
  oldPriceHint,
  discount,
  exact,
}: NonNullable<OfferView['price']>): PriceJson {
  const { amount, oldAmount, currency, evidence, discountPercent } = exact
  return {
    amount,
    currency,
    reference:
      oldAmount === null || oldPrice === null
        ? null
        : {
            amount: oldAmount,
            text: oldPrice,
            evidence,
            label: oldPriceHint,
            discountPercent,
            discountText: discount,
          },
  }
}
