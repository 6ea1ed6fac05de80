import type { DealEntry, DealQuery } from '../storage/store.ts'
import { type GridOptions, type OptionDefaults, toQuery, withQuery } from './options.ts'
import { type Speech, type Words, findSpeech } from './locales/index.ts'
import { type Presentation, isPriceShown, toFrame, toHonesty, toOfferView } from './presentation.ts'

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
  { presentation, pages }: Readonly<{ presentation: Presentation; pages: GridPages | null }>,
) {
  if (data.deals.length === 0) return undefined
  const speech = findSpeech(options.locale)
  const { words } = speech
  return {
    frame: toFrame(options, speech, presentation),
    layout: options.layout,
    label: words.gridHeading,
    heading: words.gridHeading,
    deals: data.deals.map((entry) => toDealView(entry, speech, presentation)),
    /** Accessible names of the buttons that move a carousel. */
    scrolling: { previous: words.previousDeals, next: words.nextDeals },
    honesty: toHonesty(data.asOfMs, words.gridOrder[options.sort], speech, presentation),
    paging: pages === null ? null : toPaging(data, options, { words, pages }),
  }
}

function toDealView(
  { gtin, title, brand, imageUrl, offer, asOfMs }: DealEntry,
  speech: Speech,
  presentation: Presentation,
) {
  const isPriced = isPriceShown(asOfMs, presentation)
  return {
    title,
    brand,
    imageUrl,
    merchantText: speech.messages.placeAt({ merchant: offer.merchant }),
    ...toOfferView(offer, { gtin, isPriced, speech, surface: presentation.surface }),
  }
}

/** Links to the pages before and after; `null` without any. */
function toPaging(
  data: GridData,
  options: GridOptions,
  { words, pages }: Readonly<{ words: Words; pages: GridPages }>,
) {
  const toLink = (page: number, text: string): Readonly<{ href: string; text: string }> => {
    const query = toQuery({ ...options, page }, pages.defaults)
    return { href: withQuery(pages.path, query), text }
  }
  const previous = options.page > 1 ? toLink(options.page - 1, words.previousPage) : null
  const next = data.hasNext && options.page < 1_000 ? toLink(options.page + 1, words.nextPage) : null
  return previous === null && next === null ? null : { previous, next, label: words.pages }
}
