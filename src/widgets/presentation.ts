import { hash } from 'node:crypto'
import type { Offer } from '../catalog/contract.ts'
import { SECOND_MS, isFuture } from '../clock.ts'
import type { Disclosure } from '../config/readers.ts'
import { toOfferKey } from '../offers/deals.ts'
import { isInStock } from '../offers/ranking.ts'
import { computeDiscountPercent, isOnSale } from '../offers/sale.ts'
import { formatDiscount, formatPrice, formatTime } from './format.ts'
import type { AvailabilityWord, Speech, Words } from './locales/index.ts'
import type { CommonOptions, Surface } from './options.ts'
import type { Frame, HonestyView, OfferView, PriceView } from './view-models.ts'

/** What every view needs beside its data. */
export type Presentation = Readonly<{
  /** Absolute addresses: fragments stand in other sites' pages. */
  publicUrl: string
  /** Path of the style sheet with its hash. */
  stylePath: string
  disclosure: Disclosure
  priceMaxAgeSeconds: number
  nowMs: number
  surface: Surface
}>

/** An offer as the views need it. */
type ShownOffer = Readonly<{
  merchant: string
  price: string
  oldPrice: string | null
  currency: string
  availability: string
}>

/** The outside of a fragment. */
export function toFrame(options: CommonOptions, speech: Speech, presentation: Presentation): Frame {
  return {
    lang: speech.lang,
    dir: speech.dir,
    theme: options.theme,
    styles: options.css === 'link' ? listStyles(options.accent, presentation) : [],
    isolate: options.isolate,
    accent: options.accent,
  }
}

/** Addresses of the style sheets, the accent's after the widget's own. */
export function listStyles(
  accent: string | null,
  { publicUrl, stylePath }: Pick<Presentation, 'publicUrl' | 'stylePath'>,
): string[] {
  const styles = [`${publicUrl}${stylePath}`]
  if (accent !== null) styles.push(`${publicUrl}/accents/${accent}.css`)
  return styles
}

/** Is a price of that time still to be shown? Not when its age is unknown. */
export function isPriceShown(
  asOfMs: number,
  { nowMs, priceMaxAgeSeconds }: Pick<Presentation, 'nowMs' | 'priceMaxAgeSeconds'>,
): boolean {
  return nowMs - asOfMs <= priceMaxAgeSeconds * SECOND_MS && !isFuture(asOfMs, nowMs)
}

/** A price with its former price and discount. */
export function toPriceView(offer: ShownOffer, speech: Speech): PriceView {
  const { words: labels, locale } = speech
  const price = formatPrice(offer.price, offer.currency, locale)
  const words = { price, priceHint: labels.priceNow, oldPriceHint: labels.formerPrice }
  if (!isOnSale(offer)) return { ...words, oldPrice: null, discount: null }
  const percent = computeDiscountPercent(offer.price, offer.oldPrice)
  return {
    ...words,
    oldPrice: formatPrice(offer.oldPrice, offer.currency, locale),
    discount: percent > 0 ? formatDiscount(percent, locale) : null,
  }
}

/** The accessible name of a link: it names shop and price. */
export function toLinkLabel(offer: ShownOffer, price: PriceView | null, { messages }: Speech): string {
  return price === null
    ? messages.nameLinkWithoutPrice({ merchant: offer.merchant })
    : messages.nameLinkWithPrice({ merchant: offer.merchant, price: price.price })
}

/** What makes an offer the same one over time: prices and links change. */
type OfferIdentity = Pick<Offer, 'network' | 'merchant' | 'currency'>

/** Characters of an offer's id. */
const ID_CHARACTERS = 16

/** The offer in `/go/{channel}/{gtin}/{offer}`: the beginning of a SHA-256 over network, merchant and currency. */
export function computeOfferId(offer: OfferIdentity): string {
  return hash('sha256', toOfferKey(offer)).slice(0, ID_CHARACTERS)
}

/** The place of an offer's link below `/go/{channel}/`; `null` outside of frames, which alone need it. */
export function toGo(
  offer: OfferIdentity,
  { gtin, surface }: Readonly<{ gtin: string; surface: Surface }>,
): string | null {
  return surface === 'embed' ? `${gtin}/${computeOfferId(offer)}` : null
}

/** Words for `availability`; unknown ones send the reader to the shop. */
export function toAvailabilityView(offer: ShownOffer, { words }: Speech): OfferView['availability'] {
  if (isInStock(offer)) return { text: words.availability.in_stock, kind: 'in' }
  const word = AVAILABILITY_WORDS.get(offer.availability.toLowerCase().replace(/[^a-z]/g, '')) ?? 'other'
  const isOut = word === 'out_of_stock' || word === 'discontinued'
  return { text: words.availability[word], kind: isOut ? 'out' : 'other' }
}

/** Spellings of feeds, without case and punctuation. */
const AVAILABILITY_WORDS: ReadonlyMap<string, AvailabilityWord> = new Map([
  ['outofstock', 'out_of_stock'],
  ['soldout', 'out_of_stock'],
  ['preorder', 'preorder'],
  ['backorder', 'backorder'],
  ['onbackorder', 'backorder'],
  ['availablefororder', 'backorder'],
  ['discontinued', 'discontinued'],
])

/** The small print, at `nowMs`. `order` says how the offers are sorted. */
export function toHonesty(
  asOfMs: number,
  order: string,
  details: Readonly<{ speech: Speech; presentation: Pick<Presentation, 'disclosure' | 'nowMs'> }>,
): HonestyView {
  const { words } = details.speech
  const { disclosure, nowMs } = details.presentation
  return {
    checked: isFuture(asOfMs, nowMs) ? null : toChecked(asOfMs, details.speech),
    order,
    shipping: words.shippingNotIncluded,
    coverage: words.coverage,
    disclosure: toDisclosureText(disclosure, words),
  }
}

function toChecked(asOfMs: number, { messages, locale }: Speech): HonestyView['checked'] {
  const { before, after } = messages.pricesChecked
  return { before, iso: new Date(asOfMs).toISOString(), time: formatTime(asOfMs, locale), after }
}

function toDisclosureText(disclosure: Disclosure, words: Words): string | null {
  if (disclosure.kind === 'off') return null
  return disclosure.kind === 'text' ? disclosure.text : words.disclosure
}
