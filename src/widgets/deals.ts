import type { DealEntry, DealQuery } from '../storage/store.ts'
import { type GridOptions, type OptionDefaults, toQuery, withQuery } from './options.ts'
import { type Speech, findSpeech } from './locales/index.ts'
import {
  type Presentation,
  isPriceShown,
  toAvailabilityView,
  toFrame,
  toGo,
  toHonesty,
  toLinkLabel,
  toPriceView,
} from './presentation.ts'
import type { DealView, GridView } from './view-models.ts'

/** A page of deals; `asOfMs` is the age of the oldest price on it, Unix milliseconds. */
export type GridData = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean; asOfMs: number }>

/** Where the pages of a grid are; only frames have links to them. */
export type GridPages = Readonly<{ path: string; defaults: OptionDefaults }>

/** The question to the stored copy that a grid's options ask, with one deal more than shown: is there another page? */
export function toDealQuery<Currency extends string | null>(
  channelId: string,
  currency: Currency,
  options: GridOptions,
): Omit<DealQuery, 'currency'> & Readonly<{ currency: Currency }> {
  return {
    channelId,
    currency,
    isInStockOnly: options.stock === 'in',
    merchants: options.merchants,
    excluded: options.excluded,
    minDiscountPercent: options.minDiscountPercent,
    maxPrice: options.maxPrice,
    brand: options.brand,
    words: options.words,
    sort: options.sort,
    limit: options.limit + 1,
    offset: (options.page - 1) * options.limit,
  }
}

/** The view of a deal grid; `undefined` when there is nothing to show and the grid hides. */
export function toGridView(
  data: GridData,
  options: GridOptions,
  details: Readonly<{ presentation: Presentation; pages: GridPages | null }>,
): GridView | undefined {
  const speech = findSpeech(options.locale)
  const deals = data.deals.map((entry) => toDealView(entry, speech, details.presentation))
  if (deals.length === 0) return undefined
  const { words } = speech
  const { presentation } = details
  return {
    frame: toFrame(options, speech, presentation),
    layout: options.layout,
    label: words.gridHeading,
    heading: words.gridHeading,
    deals,
    scrolling: { previous: words.previousDeals, next: words.nextDeals },
    honesty: toHonesty(data.asOfMs, words.gridOrder[options.sort], { speech, presentation }),
    paging: details.pages === null ? null : toPaging(data, options, { speech, pages: details.pages }),
  }
}

function toDealView(entry: DealEntry, speech: Speech, presentation: Presentation): DealView {
  const { offer } = entry
  const price = isPriceShown(entry.asOfMs, presentation) ? toPriceView(offer, speech) : null
  return {
    title: entry.title,
    brand: entry.brand,
    imageUrl: entry.imageUrl,
    merchant: offer.merchant,
    merchantText: speech.messages.placeAt({ merchant: offer.merchant }),
    href: offer.affiliateUrl,
    price,
    seePrice: speech.words.seePrice,
    availability: toAvailabilityView(offer, speech),
    linkLabel: toLinkLabel(offer, price, speech),
    go: toGo(offer, { gtin: entry.gtin, surface: presentation.surface }),
  }
}

function toPaging(
  data: GridData,
  options: GridOptions,
  details: Readonly<{ speech: Speech; pages: GridPages }>,
): GridView['paging'] {
  const { words } = details.speech
  const toLink = (page: number, text: string): Readonly<{ href: string; text: string }> => {
    const query = toQuery({ ...options, page }, details.pages.defaults)
    return { href: withQuery(details.pages.path, query), text }
  }
  const previous = options.page > 1 ? toLink(options.page - 1, words.previousPage) : null
  const next = data.hasNext && options.page < 1_000 ? toLink(options.page + 1, words.nextPage) : null
  return previous === null && next === null ? null : { previous, next, label: words.pages }
}
