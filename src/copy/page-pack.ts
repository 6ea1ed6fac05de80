import type { ReadPage } from './page-source.ts'
import type { DealContent, PageProduct, ProductContent } from './rows.ts'

/**
 * A page as it travels between threads: flat lists of values. Objects would send the name of every column with every row,
 * which costs more than the values.
 */
export type PackedPage = Pick<ReadPage, 'nextCursor' | 'drops'> &
  Readonly<{
    /** Columns of product after product. */
    products: readonly (string | null)[]
    /** How many deals each product has; `null`: they were not made. */
    dealCounts: readonly number[] | null
    /** Columns of deal after deal, without those that are its product's. */
    deals: readonly (string | number)[]
  }>

const PRODUCT_VALUES = 7
const DEAL_VALUES = 13

/** Packs a page; deals travel where all products have them. */
export function packPage({ products, nextCursor, drops }: ReadPage): PackedPage {
  const hasDeals = products.every(({ deals }) => deals !== null)
  const packed: (string | null)[] = []
  const deals: (string | number)[] = []
  for (const product of products) {
    packContent(product.content, packed)
    if (hasDeals) for (const deal of product.deals ?? []) packDeal(deal, deals)
  }
  const dealCounts = hasDeals ? products.map((product) => product.deals?.length ?? 0) : null
  return { products: packed, dealCounts, deals, nextCursor, drops }
}

/** The page that was packed. */
export function unpackPage({ products, dealCounts, deals, nextCursor, drops }: PackedPage): ReadPage {
  const unpacked: PageProduct[] = []
  let dealStart = 0
  for (let start = 0; start < products.length; start += PRODUCT_VALUES) {
    const content = unpackContent(products.slice(start, start + PRODUCT_VALUES))
    const dealCount = dealCounts?.[start / PRODUCT_VALUES]
    const own: DealContent[] = []
    for (let left = dealCount ?? 0; left > 0; left--, dealStart += DEAL_VALUES)
      own.push(unpackDeal(deals.slice(dealStart, dealStart + DEAL_VALUES), content))
    unpacked.push({ content, deals: dealCount === undefined ? null : own })
  }
  return { products: unpacked, nextCursor, drops }
}

function packContent(content: ProductContent, to: (string | null)[]): void {
  const { gtin, digest, title, brand, search_text: searchText, images, offers } = content
  to.push(gtin, digest, title, brand, searchText, images, offers)
}

function unpackContent(values: readonly (string | null)[]): ProductContent {
  const [gtin, digest, title, brand, searchText, images, offers] = values as ProductValues
  return { gtin, digest, title, brand, search_text: searchText, images, offers }
}

type ProductValues = [string, string, string, string | null, string, string, string]

function packDeal(deal: DealContent, to: (string | number)[]): void {
  to.push(deal.offer_index, deal.offer, deal.offer_key, deal.currency, deal.merchant_key, deal.brand_key)
  to.push(deal.is_in_stock, deal.is_best, deal.is_best_in_stock)
  to.push(deal.discount_percent, deal.ratio_key, deal.price_key, deal.saving_key)
}

function unpackDeal(values: readonly (string | number)[], product: ProductContent): DealContent {
  const [index, offer, offerKey, currency, merchantKey, brandKey, ...more] = values as DealValues
  const [isInStock, isBest, isBestInStock, discountPercent, ratioKey, priceKey, savingKey] = more
  return {
    gtin: product.gtin,
    offer_index: index,
    offer,
    offer_key: offerKey,
    currency,
    merchant_key: merchantKey,
    brand_key: brandKey,
    search_text: product.search_text,
    is_in_stock: isInStock,
    is_best: isBest,
    is_best_in_stock: isBestInStock,
    discount_percent: discountPercent,
    ratio_key: ratioKey,
    price_key: priceKey,
    saving_key: savingKey,
  }
}

type DealTexts = [string, string, string, string, string]
type DealValues = [number, ...DealTexts, number, number, number, number, string, string, string]
