import type { ReadPage } from './page-source.ts'
import type { DealContent, PageProduct, ProductContent } from '../storage/rows.ts'

/**
 * A page as it travels between threads: all values of a product in one text, a line each. A text travels by copying its bytes,
 * where a list of values is taken apart and put together again value by value. One text for the whole page would be as fast,
 * but V8 keeps such large ones until it collects everything.
 */
export type PackedPage = Pick<ReadPage, 'nextCursor' | 'drops' | 'droppedGtins'> &
  Readonly<{
    /** Values of each product, then of its deals without what is their product's. */
    texts: readonly string[]
    /** How many deals each product has, or one of the numbers below. */
    dealCounts: readonly number[]
  }>

/** The product is known: it has a GTIN and a digest, and nothing else. */
const KNOWN = -1
/** Its deals were not made. */
const NO_DEALS = -2

/** No value has a line break: texts are clean (`cleanText`), and JSON writes it as two letters. */
const BREAK = '\n'

/** Stands for a brand that the answer did not bring, or for drops where nothing was dropped: no text has it, either. */
const NOTHING = '\r'

const PRODUCT_VALUES = 8
const DEAL_VALUES = 13

type Values = (string | number)[]
type Nothings = [brand: string | null, drops: string | null]

/** Packs a page. */
export function packPage({ products, ...page }: ReadPage): PackedPage {
  const texts: string[] = []
  const dealCounts: number[] = []
  for (const product of products) {
    const values: Values = []
    dealCounts.push(packProduct(product, values))
    texts.push(values.join(BREAK))
  }
  return { ...page, texts, dealCounts }
}

/**
 * The page that was packed.
 * @throws RangeError when a value had a line break.
 */
export function unpackPage({ texts, dealCounts, ...page }: PackedPage): ReadPage {
  const products = texts.map((text, index) => unpackProduct(text.split(BREAK), dealCounts[index] ?? KNOWN))
  return { ...page, products }
}

function packProduct({ gtin, digest, content, deals }: PageProduct, to: Values): number {
  to.push(gtin, digest)
  if (content === null) return KNOWN
  const { title, brand, search_text: searchText, images, offers, drops } = content
  to.push(title, brand ?? NOTHING, searchText, images, offers, drops ?? NOTHING)
  if (deals === null) return NO_DEALS
  for (const deal of deals) packDeal(deal, to)
  return deals.length
}

function unpackProduct(values: readonly string[], dealCount: number): PageProduct {
  const wanted = dealCount === KNOWN ? 2 : PRODUCT_VALUES + Math.max(0, dealCount) * DEAL_VALUES
  if (values.length !== wanted) throw new RangeError('a product has not the values that were packed')
  const at = (place: number): string => values[place] ?? ''
  const [gtin, digest] = [at(0), at(1)]
  if (dealCount === KNOWN) return { gtin, digest, content: null, deals: null }
  const [brand, drops] = [at(3), at(7)].map((value) => (value === NOTHING ? null : value)) as Nothings
  const texts = { title: at(2), brand, search_text: at(4), images: at(5), offers: at(6), drops }
  const content = { gtin, digest, ...texts }
  if (dealCount === NO_DEALS) return { gtin, digest, content, deals: null }
  const deals: DealContent[] = []
  for (let start = PRODUCT_VALUES; start < wanted; start += DEAL_VALUES)
    deals.push(unpackDeal((place) => at(start + place), content))
  return { gtin, digest, content, deals }
}

function packDeal(deal: DealContent, to: Values): void {
  to.push(deal.offer_index, deal.offer, deal.offer_key, deal.currency, deal.merchant_key, deal.brand_key)
  to.push(deal.is_in_stock, deal.is_best, deal.is_best_in_stock)
  to.push(deal.discount_percent, deal.ratio_key, deal.price_key, deal.saving_key)
}

function unpackDeal(at: (place: number) => string, product: ProductContent): DealContent {
  return {
    gtin: product.gtin,
    offer_index: Number(at(0)),
    offer: at(1),
    offer_key: at(2),
    currency: at(3),
    merchant_key: at(4),
    brand_key: at(5),
    search_text: product.search_text,
    is_in_stock: Number(at(6)),
    is_best: Number(at(7)),
    is_best_in_stock: Number(at(8)),
    discount_percent: Number(at(9)),
    ratio_key: at(10),
    price_key: at(11),
    saving_key: at(12),
  }
}
