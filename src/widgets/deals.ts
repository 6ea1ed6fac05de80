import type { DealEntry, DealQuery } from '../storage/store.ts'
import { type GridOptions, type OptionDefaults, toQuery, withQuery } from './options.ts'
import { type Localization, type LocaleTexts, getLocalization } from './locales/index.ts'
import { type ViewContext, isPriceShown, toWrapperView, toNoticesView, toOfferView } from './view-parts.ts'

/** A page of deals; `asOfMs` is the age of the oldest price on it, Unix milliseconds. */
export type GridData = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean; asOfMs: number }>

/** Where the pages of a grid are; only frames have links to them. */
export type GridPageLinks = Readonly<{ path: string; defaults: OptionDefaults }>

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
    searchText: options.searchText,
    sort: options.sort,
    limit: options.limit + 1,
    offset: (options.page - 1) * options.limit,
  }
}

/** The view of a deal grid; `undefined` when there is nothing to show and the grid hides. */
export function toGridView(
  data: GridData,
  options: GridOptions,
  { viewContext, pages }: Readonly<{ viewContext: ViewContext; pages: GridPageLinks | null }>,
) {
  if (data.deals.length === 0) return undefined
  const localization = getLocalization(options.locale)
  const { texts } = localization
  return {
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    label: texts.gridHeading,
    heading: texts.gridHeading,
    deals: data.deals.map((entry) => toDealView(entry, localization, viewContext)),
    /** Accessible names of the buttons that move a carousel. */
    carouselLabels: { previous: texts.previousDeals, next: texts.nextDeals },
    notices: toNoticesView(data.asOfMs, texts.gridOrder[options.sort], localization, viewContext),
    paging: pages === null ? null : toPaging(data, options, { words: texts, pages }),
  }
}

function toDealView(
  { gtin, title, brand, imageUrl, offer, asOfMs }: DealEntry,
  localization: Localization,
  viewContext: ViewContext,
) {
  const isPriced = isPriceShown(asOfMs, viewContext)
  return {
    title,
    brand,
    imageUrl,
    merchantText: localization.messages.formatAtMerchant({ merchant: offer.merchant }),
    ...toOfferView(offer, { gtin, isPriced, localization, surface: viewContext.surface }),
  }
}

/** Links to the pages before and after; `null` without any. */
function toPaging(
  data: GridData,
  options: GridOptions,
  { words: texts, pages }: Readonly<{ words: LocaleTexts; pages: GridPageLinks }>,
) {
  const toLink = (page: number, text: string): Readonly<{ href: string; text: string }> => {
    const query = toQuery({ ...options, page }, pages.defaults)
    return { href: withQuery(pages.path, query), text }
  }
  const previous = options.page > 1 ? toLink(options.page - 1, texts.previousPage) : null
  const next = data.hasNext && options.page < 1_000 ? toLink(options.page + 1, texts.nextPage) : null
  return previous === null && next === null ? null : { previous, next, label: texts.pages }
}
