import { hash } from 'node:crypto'
import type { Offer } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import type { Disclosure } from '../config/parsers.ts'
import { createSubSlot } from '../lib/sub-template.ts'
import { type Evidence, toOfferKey } from '../offers/deals.ts'
import { type PriceRules, createPriceCheck } from '../offers/price-age.ts'
import { isInStock } from '../offers/ranking.ts'
import { computeDiscountPercent, isOnSale } from '../offers/sale.ts'
import type { Shop, ShopBook } from '../offers/shop-book.ts'
import { type SubRules, toLinkWithSlot } from '../offers/sub-ids.ts'
import { foldCase } from '../offers/text.ts'
import type { WidgetKind } from './option-list.ts'
import { formatDiscount, formatShownPrice, formatShownTime, formatCount } from './format.ts'
import {
  type AvailabilityKey,
  type Localization,
  type LocaleTexts,
  getLocalization,
} from './locales/index.ts'
import type { ShownProduct } from './offer-selection.ts'
import type { CommonOptions, Surface } from './options.ts'
import { type PictureContext, findMainImage, toPictureView } from './picture.ts'

export type ViewContext = PriceRules &
  PictureContext &
  Readonly<{
    /** Path of the style sheet with its hash. */
    stylePath: string
    disclosure: Disclosure
    /** IANA name. */
    timeZone: string
    shops: ShopBook
    surface: Surface
    subRules: SubRules
    /** Address of `/go/{channel}/` if clicks are counted there; `null`: links lead to the shops. */
    countedBaseUrl: string | null
  }>

/** Build the outer element of a fragment. */
export function toWrapperView(options: CommonOptions, localization: Localization, viewContext: ViewContext) {
  return {
    lang: localization.lang,
    dir: localization.dir,
    theme: options.theme,
    /** Absolute addresses of the style sheets to link, in order; empty with `css=none`. */
    styles: options.css === 'link' ? listStyles(options.accent, viewContext) : [],
    isolate: options.isolate,
    /** Six hex digits, with rules in `/accents/{hex}.css`; `null`: the colour of the theme. */
    accent: options.accent,
    /** Slot of the id of the placement, for scripts of the page; `null` in a frame, which knows it from its address. */
    sub: viewContext.surface === 'fragment' ? createSubSlot('') : null,
  }
}

/** Return the heading of a widget in a language. */
export function getDefaultHeading(kind: WidgetKind, { texts }: Pick<Localization, 'texts'>): string {
  return { 'where-to-buy': texts.boxHeading, picks: texts.picksHeading, deals: texts.gridHeading }[kind]
}

/** List the addresses of the style sheets; the accent's is last. */
export function listStyles(
  accent: string | null,
  { publicUrl, stylePath }: Pick<ViewContext, 'publicUrl' | 'stylePath'>,
): string[] {
  const styles = [`${publicUrl}${stylePath}`]
  if (accent !== null) styles.push(`${publicUrl}/accents/${accent}.css`)
  return styles
}

/** Build the header of a widget. `heading`: the text of the language. */
export function toHeaderView(
  options: Pick<CommonOptions, 'head' | 'heading' | 'locale'>,
  heading: string,
  { disclosure }: Pick<ViewContext, 'disclosure'>,
) {
  return {
    head: options.head,
    heading: options.heading ?? heading,
    /** `null` when the operator has turned it off. */
    disclosure: toDisclosureText(disclosure, getLocalization(options.locale).texts),
  }
}

/** Return the brand; `null` if there is none, or if the title already contains it. */
export function findShownBrand({
  title,
  brand,
}: Readonly<{ title: string; brand: string | null }>): string | null {
  return brand === null || toWords(title).includes(toWords(brand)) ? null : brand
}

/** Case-folded words, with a space around each. */
function toWords(text: string): string {
  return ` ${foldCase(text)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .join(' ')
    .trim()} `
}

/** `isPriced`: whether the price is shown (`offers/price-age.ts`). `evidence`: whose former price it is; default: the shop's. */
type OfferOptions = Readonly<{
  gtin: string
  isPriced: boolean
  evidence?: Evidence
  localization: Localization
  viewContext: Pick<ViewContext, 'surface' | 'shops' | 'publicUrl' | 'subRules' | 'countedBaseUrl'>
}>

/** Build the view of an offer in all widgets. */
export function toOfferView(
  offer: Offer,
  { gtin, isPriced, evidence = 'shop', localization, viewContext }: OfferOptions,
) {
  const { messages, texts } = localization
  const shop = viewContext.shops.find(offer.merchant)
  const merchant = viewContext.shops.toShownName(offer.merchant)
  const availability = toAvailabilityView(offer, texts)
  // What cannot be bought has no reduction.
  const isReduced = isOnSale(offer) && availability.kind !== 'out'
  const price = isPriced ? toPriceView(offer, { evidence, isReduced }, localization) : null
  const id = computeOfferId(offer)
  const redirectPath = `${gtin}/${id}${createSubSlot('?sub=')}`
  const { countedBaseUrl } = viewContext
  return {
    /** Unique within the product. */
    id,
    gtin,
    merchant,
    /** The name in the catalog, the same for all names of a shop, for the publisher's own counts. */
    countedMerchant: viewContext.shops.toMainName(offer.merchant),
    logo: toLogoView(merchant, shop, viewContext.publicUrl),
    /** A line of the publisher about the shop, or `null`. */
    terms: shop?.terms ?? null,
    href:
      countedBaseUrl === null
        ? toLinkWithSlot(offer, viewContext.subRules)
        : `${countedBaseUrl}${redirectPath}`,
    price,
    /** Shown instead of a price that is too old or whose sale has ended. */
    seePrice: texts.seePrice,
    availability,
    /** The accessible name of the link, with shop and price. */
    linkLabel:
      price === null
        ? messages.formatLinkWithoutPrice({ merchant })
        : messages.formatLinkWithPrice({ merchant, price: price.price }),
    /** Path of its redirect below `/go/{channel}/`, for sandboxed frames; `null` in fragments. */
    redirectPath: viewContext.surface === 'embed' ? redirectPath : null,
  }
}

/** `url`: `null` without a logo; then `initial` stands in its place if another shop of the box has one. */
function toLogoView(merchant: string, shop: Shop | undefined, publicUrl: string) {
  const logoPath = shop?.logoPath ?? null
  return {
    url: logoPath === null ? null : `${publicUrl}${logoPath}`,
    initial: /[\p{L}\p{N}]/u.exec(merchant)?.[0].toUpperCase() ?? '',
  }
}

/** Build a price, with hints that tell it from the former price for users of screen readers. */
function toPriceView(
  offer: Offer,
  { evidence, isReduced }: Readonly<{ evidence: Evidence; isReduced: boolean }>,
  { texts, locale }: Localization,
) {
  const oldPrice = isReduced ? offer.oldPrice : null
  const percent = oldPrice === null ? 0 : computeDiscountPercent(offer.price, oldPrice)
  const { text, digits } = formatShownPrice(offer.price, offer.currency, locale)
  return {
    price: text,
    /** How long the number is; `null`: as usual. */
    digits,
    /** Values for JSON: the amounts are the decimal texts of the catalog. */
    exact: {
      amount: offer.price,
      oldAmount: oldPrice,
      currency: offer.currency,
      evidence,
      discountPercent: percent,
    },
    priceHint: texts.priceNow,
    /** `null` when not on sale. */
    oldPrice: oldPrice === null ? null : formatShownPrice(oldPrice, offer.currency, locale).text,
    oldPriceHint: evidence === 'observed' ? texts.observedPrice : texts.formerPrice,
    /** Such as `−20%`; `null` when not on sale or below one per cent. */
    discount: percent > 0 ? formatDiscount(percent, locale) : null,
  }
}

const OFFER_ID_CHARACTERS = 16

/** Compute the id of an offer in `/go/{channel}/{gtin}/{offer}`: the start of SHA-256 of network, merchant and currency. */
export function computeOfferId(offer: Pick<Offer, 'network' | 'merchant' | 'currency'>): string {
  return hash('sha256', toOfferKey(offer)).slice(0, OFFER_ID_CHARACTERS)
}

/** Spellings in feeds, without case and punctuation. */
const AVAILABILITY_SPELLINGS: ReadonlyMap<string, AvailabilityKey> = new Map([
  ['outofstock', 'out_of_stock'],
  ['soldout', 'out_of_stock'],
  ['preorder', 'preorder'],
  ['backorder', 'backorder'],
  ['onbackorder', 'backorder'],
  ['availablefororder', 'backorder'],
  ['discontinued', 'discontinued'],
])

/** Convert `availability` to a text and a kind. For an unknown value, the text refers to the shop. */
function toAvailabilityView(
  offer: Offer,
  { availability }: LocaleTexts,
): Readonly<{ text: string; kind: 'in' | 'out' | 'other' }> {
  if (isInStock(offer)) return { text: availability.in_stock, kind: 'in' }
  const key = AVAILABILITY_SPELLINGS.get(offer.availability.toLowerCase().replace(/[^a-z]/g, '')) ?? 'other'
  const isOut = key === 'out_of_stock' || key === 'discontinued'
  return { text: availability[key], kind: isOut ? 'out' : 'other' }
}

/** `checkedAtMs`: of the oldest price. `order`: texts about the order of the offers. */
type NoticeOptions = Readonly<{
  checkedAtMs: number
  order: readonly string[]
  offers: readonly Pick<ReturnType<typeof toOfferView>, 'price'>[]
}>

/** Build the notices at `nowMs`. */
export function toNoticesView(
  { checkedAtMs, order, offers }: NoticeOptions,
  { texts, messages, locale }: Localization,
  { nowMs, timeZone }: Pick<ViewContext, 'nowMs' | 'timeZone'>,
) {
  const struck = offers.find(({ price }) => price !== null && price.oldPrice !== null)?.price ?? null
  return {
    /** `Prices checked on 21 Nov 2026, 05:12 UTC`, split at the time; `null` when the time is unknown. */
    checkedAt: isFuture(checkedAtMs, nowMs)
      ? null
      : {
          ...messages.pricesChecked,
          iso: new Date(checkedAtMs).toISOString(),
          time: formatShownTime(checkedAtMs, locale, timeZone),
        },
    order,
    shipping: texts.shippingNotIncluded,
    /** What a struck price is; `null` without any. */
    formerPrice: struck === null ? null : { price: texts.columns.price, text: struck.oldPriceHint },
    coverage: texts.coverage,
  }
}

/** List the notices as sentences, besides what a struck price is. */
export function listNotices({
  order,
  shipping,
  checkedAt,
  coverage,
}: ReturnType<typeof toNoticesView>): readonly string[] {
  const times = checkedAt === null ? [] : [`${checkedAt.before}${checkedAt.time}${checkedAt.after}`]
  return [...order, shipping, ...times, coverage]
}

function toDisclosureText(disclosure: Disclosure, texts: LocaleTexts): string | null {
  if (disclosure.kind === 'off') return null
  return disclosure.kind === 'text' ? disclosure.text : texts.disclosure
}

type OfferRowOptions = Readonly<{ localization: Localization; viewContext: ViewContext }>

/** Build the views of the listed offers of a product in their order. `isBest` marks the lowest price of several in stock. */
export function toOfferRows(
  { product: { gtin }, asOfMs, offers, isLowestOfSeveral }: ShownProduct,
  { localization, viewContext }: OfferRowOptions,
) {
  const isPriced = createPriceCheck(asOfMs, viewContext)
  return offers.map((offer, index) => ({
    isBest: index === 0 && isLowestOfSeveral,
    linkText: localization.texts.toShop,
    ...toOfferView(offer, { gtin, isPriced: isPriced(offer), localization, viewContext }),
  }))
}

/** Build the view of offers that are left out of a list that is too long; `null`: none. */
export function toOmittedView(count: number, { messages, locale }: Localization) {
  if (count === 0) return null
  return { count, label: messages.formatOmittedShops({ count, shown: formatCount(count, locale) }) }
}

/** Build the view of a product in a row or card: its first offer, and its shops in a fold; `undefined` without offers. */
export function toProductRow(
  shown: ShownProduct,
  { widthPx, ...options }: OfferRowOptions & Readonly<{ widthPx: number }>,
) {
  const rows = toOfferRows(shown, options)
  const [offer] = rows
  if (offer === undefined) return undefined
  const { product, offerCount } = shown
  const { messages, locale } = options.localization
  const count = { count: offerCount, shown: formatCount(offerCount, locale) }
  return {
    title: product.title,
    brand: findShownBrand(product),
    picture: toPictureView(findMainImage(product.images, options.viewContext), widthPx, options.viewContext),
    offer,
    /** The first offers, folded below "25 shops"; `null` for a single one. */
    shops:
      offerCount < 2
        ? null
        : {
            label: messages.formatShopCount(count),
            // The first one is shown above the fold.
            offers: rows.length < 2 ? [] : rows,
            omitted: toOmittedView(offerCount - rows.length, options.localization),
          },
  }
}
