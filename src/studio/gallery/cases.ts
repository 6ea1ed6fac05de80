import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Offer, Product } from '../../catalog/contract.ts'
import { type PriceSeries, toDay, toObservedPrice } from '../../offers/price-history.ts'
import { type ShopFile, openShopFile, readShopData } from '../../config/shop-file.ts'

export type GalleryCase = Readonly<{
  id: string
  title: string
  note: string
  query: Readonly<{ box: string; grid: string }>
  product: Product
  dealProducts: readonly Product[]
  /** The products of a round-up; the third has no picture. */
  picks: readonly Product[]
  /** Labels of a round-up, by position. */
  labels: readonly string[]
  /** Whether the boxes have the other products of the round-up as variants. */
  hasVariants: boolean
  /** Whether the product of the boxes stands in for another one. */
  isStandIn: boolean
  /** Shown in a column of 280 px, regardless of the selected width. */
  isNarrow: boolean
  /** Whether the prices are too old to show. */
  isOld: boolean
  /** Whether to show the page links that only frames have. */
  isPaged: boolean
  /** Whether the shop file of the gallery applies. */
  hasShops: boolean
  /** The observed prices of a shop, oldest first. */
  observed: readonly ObservedRun[]
}>

/** Days with one price, counted back from the day of the gallery. */
type ObservedRun = Readonly<{ from: number; to: number; price: string }>

/** When the gallery's prices were checked: fixed, so that screenshots do not change. */
export const PRICES_CHECKED_AT_MS: number = Date.UTC(2026, 10, 21, 5, 12)

/** The accent colour of one case; the page links its style sheet. */
export const GALLERY_ACCENT = 'ffd400'

/** The accent colour of the theme "magazine"; the page links its style sheet. */
export const MAGAZINE_ACCENT = '8a1c2b'

/** An offer in short. Defaults: in stock, EUR. */
type CaseOffer = Readonly<{
  shop: string
  price: string
  was?: string
  currency?: string
  availability?: string
}>

type ProductFields = Omit<Product, 'offers'>

/** The shape of `cases.json`. A case without `data` uses the data named `usual`. */
type GalleryData = Readonly<{
  cases: readonly (Partial<GalleryCase> &
    Pick<GalleryCase, 'id' | 'title' | 'note'> &
    Readonly<{ data?: string }>)[]
  /** The product of every box; the data of a case override its fields. */
  product: ProductFields
  /** One product per card; a longer grid repeats them. */
  deals: readonly (Omit<ProductFields, 'gtin'> & Readonly<{ offer: CaseOffer }>)[]
  data: Readonly<
    Record<'usual', CaseData & Required<Pick<CaseData, 'offers'>>> & Partial<Record<string, CaseData>>
  >
}>

type CaseData = Partial<ProductFields> &
  Readonly<{ offers?: readonly CaseOffer[]; deals: readonly DealRange[] }>

/** `count` cards of a grid, beginning at index `from`, with overrides. */
type DealRange = Readonly<{
  from?: number
  count: number
  product?: Partial<ProductFields>
  offer?: Partial<CaseOffer>
}>

/** Most products of a round-up. */
const MAX_PICKS = 20

const DATA = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as GalleryData

export const GALLERY_CASES: readonly GalleryCase[] = DATA.cases.map(({ data = 'usual', ...fields }) => {
  const { offers = DATA.data.usual.offers, deals, ...fieldsOfProduct } = DATA.data[data] ?? DATA.data.usual
  const product = { ...DATA.product, ...fieldsOfProduct, offers: offers.map(toOffer) }
  const dealProducts = deals.flatMap(toDeals)
  return {
    query: { box: '', grid: '' },
    labels: ['Best overall', '', 'Best value'],
    hasVariants: false,
    isStandIn: false,
    isNarrow: false,
    isOld: false,
    isPaged: false,
    hasShops: false,
    observed: [],
    ...fields,
    product,
    dealProducts,
    picks: toPicks(product, dealProducts),
  }
})

function toOffer({ shop, price, was, currency, availability }: CaseOffer): Offer {
  return {
    merchant: shop,
    network: 'awin',
    price,
    oldPrice: was ?? null,
    currency: currency ?? 'EUR',
    availability: availability ?? 'in_stock',
    affiliateUrl: `https://tracking.example/click?shop=${encodeURIComponent(shop)}&to=https%3A%2F%2Fshop.example%2Flamp`,
    checkedAtMs: null,
    saleEndsAtMs: null,
  }
}

/** Convert runs of observed prices to the series of a shop. */
export function toObservedSeries(runs: readonly ObservedRun[]): PriceSeries {
  const today = toDay(PRICES_CHECKED_AT_MS)
  const days = runs.flatMap(({ from, to, price }) => {
    const low = toObservedPrice(price) ?? 0
    const toObservedDay = (_: unknown, index: number) => ({
      day: today - from + index,
      low,
      last: low,
      isImported: false,
    })
    return Array.from({ length: from - to + 1 }, toObservedDay)
  })
  return { merchantKey: 'invented', currency: 'EUR', days }
}

function toDeals({ from = 0, count, product, offer }: DealRange): readonly Product[] {
  const { length } = DATA.deals
  const rounds = Array.from({ length: Math.ceil((from + count) / length) }, (_, round) => round)
  const repeated = rounds.flatMap((round) =>
    DATA.deals.map((deal) => (round === 0 ? deal : { ...deal, title: `${deal.title}, no. ${round + 1}` })),
  )
  return repeated.slice(from, from + count).map(({ offer: base, ...fields }, index) => ({
    gtin: String(from + index + 1).padStart(14, '0'),
    ...fields,
    ...product,
    offers: [toOffer({ ...base, ...offer })],
  }))
}

/** Return a product and those of the deals with other titles. Every second one has other shops, at the former price. */
function toPicks(product: Product, dealProducts: readonly Product[]): readonly Product[] {
  const others = dealProducts.filter(({ title }) => title !== product.title)
  return [product, ...others].slice(0, MAX_PICKS).map((one, index) => ({
    ...one,
    gtin: String(index + 1).padStart(14, '0'),
    images: index === 2 ? [] : one.images,
    offers: index % 2 === 0 ? one.offers : one.offers.flatMap(toOffersOfMoreShops),
  }))
}

function toOffersOfMoreShops(offer: Offer): readonly Offer[] {
  const price = offer.oldPrice ?? offer.price
  const shops = ['Tindra Home', 'Kestrel Row', 'Maison Verlay'].filter((shop) => shop !== offer.merchant)
  return [offer, ...shops.map((merchant) => ({ ...offer, merchant, price, oldPrice: null }))]
}

let galleryShops: ShopFile | undefined

/** Read the logos and terms of the invented shops, once. */
export function getGalleryShops(): ShopFile {
  const path = fileURLToPath(new URL('shops.json', import.meta.url))
  return (galleryShops ??= openShopFile(readShopData(path, '/studio/gallery/logos')))
}

/** Types of the gallery's pictures by file name. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  ...['square', 'tall', 'wide', 'bench', 'bottle', 'dark', 'cutout'].map(
    (name) => [`${name}.webp`, 'image/webp'] as const,
  ),
  ['logo.svg', 'image/svg+xml'],
  ['broken.svg', 'image/svg+xml'],
])

/** Find a picture of an invented product. `broken.svg` is empty, like a file that the shop removed. */
export function findGalleryPicture(name: string): Readonly<{ type: string; content: Buffer }> | undefined {
  const type = PICTURES.get(name)
  if (type === undefined) return undefined
  return { type, content: readFileSync(new URL(`pictures/${name}`, import.meta.url)) }
}
