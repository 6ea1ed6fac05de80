import { readFileSync, readdirSync } from 'node:fs'
import type { WireChannel } from '../../catalog/contract.ts'

export type SampleChannel = WireChannel & Readonly<Record<'networks' | 'shops', readonly string[] | 'all'>>

/** Prices are decimal text. Without `availability` the offer is in stock. */
export type SampleOffer = Readonly<{
  shop: string
  network: string
  price: string
  currency: string
  oldPrice?: string
  availability?: string
}>

/** GTINs begin with 952, which GS1 reserves for demonstrations. `picture`: file name in `pictures/`. */
type SampleProduct = Readonly<{
  gtin: string
  title: string
  brand: string
  picture?: string
  offers: readonly SampleOffer[]
}>

type SampleData = Readonly<{
  /** `query`: the parameters for merchant and publisher in the network's links. */
  networks: readonly Readonly<{ name: string; query: string }>[]
  /** `currency`: what the shop's pages show, unless their address has another one. */
  shops: readonly Readonly<{ name: string; host: string; currency: string }>[]
  channels: readonly [SampleChannel, SampleChannel, SampleChannel]
  products: readonly SampleProduct[]
}>

/** `catalog`: functions that read the embedded catalog. */
export function createDemo<Catalog extends object>(publicUrl: string, catalog: Catalog) {
  return {
    findPicture: findSamplePicture,
    findDemoProduct: (pageUrl: string) => findDemoProduct(pageUrl, publicUrl),
    /** The first box in the studio: the channel with every offer, a product with a picture and eight shops. */
    showcase: { channelId: '952a0000-0000-4000-8000-000000000001', gtin: '09520001001024' },
    ...catalog,
  }
}

let sample: SampleData | undefined

export function getSampleData(): SampleData {
  sample ??= {
    ...(readJson('catalog.json') as Omit<SampleData, 'products'>),
    products: readJson('products.json') as SampleData['products'],
  }
  return sample
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}

/** Whether a channel has a network or shop. */
export function includesName(names: readonly string[] | 'all', name: string): boolean {
  return names === 'all' || names.includes(name)
}

export function toPageUrl(gtin: string, offer: Pick<SampleOffer, 'shop' | 'currency'>): string {
  const shop = getSampleData().shops.find(({ name }) => name === offer.shop)
  if (shop === undefined) throw new TypeError(`the sample has no shop ${offer.shop}`)
  const query = offer.currency === shop.currency ? '' : `?currency=${offer.currency}`
  return `https://${shop.host}/p/${gtin}${query}`
}

export function toPictureUrl(base: string, picture: string): string {
  return `${base}/demo/pictures/${picture}`
}

let pages: ReadonlyMap<string, Readonly<{ product: SampleProduct; offer: SampleOffer }>> | undefined

function findDemoProduct(pageUrl: string, base: string) {
  pages ??= new Map(
    getSampleData().products.flatMap((product) =>
      product.offers.map((offer) => [toPageUrl(product.gtin, offer), { product, offer }]),
    ),
  )
  const page = pages.get(pageUrl)
  if (page === undefined) return undefined
  const { product, offer } = page
  return {
    shop: offer.shop,
    title: product.title,
    price: offer.price,
    oldPrice: offer.oldPrice ?? null,
    currency: offer.currency,
    pictureUrl: product.picture === undefined ? null : toPictureUrl(base, product.picture),
  }
}

const PICTURES_FOLDER = new URL('pictures/', import.meta.url)

let pictureNames: ReadonlySet<string> | undefined

/** Find the bytes of a WebP picture by its file name, such as `headphones-3.webp`. */
function findSamplePicture(name: string): Buffer | undefined {
  pictureNames ??= new Set(readdirSync(PICTURES_FOLDER))
  return pictureNames.has(name) ? readFileSync(new URL(name, PICTURES_FOLDER)) : undefined
}
