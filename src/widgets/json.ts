import type {
  DealJson,
  DealsJson,
  OfferJson,
  PicksJson,
  PriceJson,
  ProductJson,
  ShownJson,
  WhereToBuyJson,
} from './json-types.ts'
import type { BoxView, DealView, GridView, OfferView, PicksView } from './view-models.ts'

/**
 * JSON of the views that the HTML is rendered from. Links contain slots for the id of a placement (`lib/sub-template.ts`).
 * `reason`: which products are missing; `null`: none.
 */

export function toBoxJson(view: BoxView, reason: string | null): WhereToBuyJson {
  const { gtin, title, brand, picture } = view
  return {
    kind: 'where-to-buy',
    ...toShownJson(view, reason),
    product: { gtin, title, brand, picture },
    standIn: view.standIn,
    sentence: view.sentence,
    offers: view.offers.map(toOfferJson),
    moreOffers: view.more.map(toOfferJson),
    variants: (view.variants?.rows ?? []).map(toProductJson),
    history:
      view.history === null
        ? null
        : {
            text: view.history.sentence.map(({ text }) => text).join(''),
            chart: view.history.chart?.label ?? null,
          },
  }
}

export function toPicksJson(view: PicksView, reason: string | null): PicksJson {
  return {
    kind: 'picks',
    ...toShownJson(view, reason),
    products: view.products.map((product) => ({ ...toProductJson(product), label: product.label })),
  }
}

export function toDealsJson(view: GridView, reason: string | null): DealsJson {
  return {
    kind: 'deals',
    ...toShownJson(view, reason),
    deals: view.deals.map(toDealJson),
    nextPage: view.paging?.next?.href ?? null,
  }
}

function toShownJson(
  { wrapper, label, header, notices }: BoxView | PicksView | GridView,
  reason: string | null,
): ShownJson {
  const { checkedAt, terms, coverage } = notices
  return {
    state: 'shown',
    reason,
    lang: wrapper.lang,
    dir: wrapper.dir,
    label,
    heading: header.heading,
    disclosure: header.disclosure,
    checkedAt: checkedAt?.iso ?? null,
    notices: [
      ...terms,
      ...(checkedAt === null ? [] : [`${checkedAt.before}${checkedAt.time}${checkedAt.after}`]),
      coverage,
    ],
  }
}

type ProductRow = Omit<PicksView['products'][number], 'label' | 'number'>

/** A product with its first offers, the best one first. */
function toProductJson({ title, brand, picture, offer, shops }: ProductRow): ProductJson {
  return {
    gtin: offer.gtin,
    title,
    brand,
    picture,
    offers: (shops?.offers ?? [offer]).map(toOfferJson),
  }
}

function toDealJson(deal: DealView): DealJson {
  const { gtin, title, brand, picture } = deal
  return { gtin, title, brand, picture, offer: toOfferJson({ ...deal, isBest: false }) }
}

function toOfferJson(offer: Omit<OfferView, 'linkText'>): OfferJson {
  const { id, merchant, logo, terms, href, linkLabel, availability, price, seePrice, isBest } = offer
  return {
    id,
    merchant,
    logo: logo.url,
    terms,
    link: href,
    linkLabel,
    availability: { kind: availability.kind, text: availability.text },
    isLowest: isBest,
    price: price === null ? null : toPriceJson(price),
    priceText: price === null ? seePrice : price.price,
  }
}

function toPriceJson({
  price,
  oldPrice,
  discount,
  oldPriceHint,
  exact,
}: NonNullable<OfferView['price']>): PriceJson {
  const { amount, oldAmount, currency, evidence } = exact
  return {
    amount,
    currency,
    text: price,
    reference:
      oldAmount === null || oldPrice === null
        ? null
        : { amount: oldAmount, text: oldPrice, source: evidence, label: oldPriceHint, discount },
  }
}
