import type { WireOffer, WireProduct } from '../../catalog/contract.ts'
import { makeAffiliateLink } from '../affiliate-link.ts'
import type { ChannelView } from './channel-view.ts'
import { PAGE_OF_SHOP } from './schema.ts'

/** A product as it lies in the database, with all its offers; `images` is JSON, and so are `offers` where they are text. */
export type ProductRow = Readonly<{
  gtin: string
  title: string
  brand: string | null
  images: string
  offers: string | readonly OfferRow[]
}>

/** An offer as it lies in the database. */
export type OfferRow = readonly [
  networkId: number,
  merchantId: number,
  networkChannelId: number,
  price: string,
  oldPrice: string | null,
  currency: string,
  availability: string,
  url: string,
]

/** A product with the offers that the channel may show; `undefined` when there are none. */
export function toProduct(row: ProductRow, view: ChannelView): WireProduct | undefined {
  const offers = toOffers(
    typeof row.offers === 'string' ? (JSON.parse(row.offers) as OfferRow[]) : row.offers,
    view,
  )
  if (offers.length === 0) return undefined
  const images = JSON.parse(row.images) as string[]
  return {
    gtin: row.gtin,
    title: row.title,
    ...(row.brand === null ? {} : { brand: row.brand }),
    images: images.map((url) => ({ url })),
    offers,
  }
}

/** Where the channel has the feed's own links of a shop, those stand for the shop; else the links of the template do. */
function toOffers(rows: readonly OfferRow[], view: ChannelView): WireOffer[] {
  const own = new Set<string>()
  for (const row of rows) {
    if (row[2] !== PAGE_OF_SHOP && view.get(row[0])?.networkChannelId === row[2]) own.add(nameShop(row))
  }
  const offers: WireOffer[] = []
  for (const row of rows) {
    if (row[2] === PAGE_OF_SHOP && own.has(nameShop(row))) continue
    const offer = toOffer(row, view)
    if (offer !== undefined) offers.push(offer)
  }
  return offers
}

function nameShop([networkId, merchantId, , , , currency]: OfferRow): string {
  return `${networkId} ${merchantId} ${currency}`
}

function toOffer(row: OfferRow, view: ChannelView): WireOffer | undefined {
  const [networkId, merchantId, networkChannelId, price, oldPrice, currency, availability, url] = row
  const network = view.get(networkId)
  const merchant = network?.merchants.get(merchantId)
  if (network === undefined || merchant === undefined) return undefined
  const link = findLink(url, { networkChannelId, network, merchant })
  if (link === undefined) return undefined
  return {
    merchant: { name: merchant.name },
    network: network.name,
    price,
    ...(oldPrice === null ? {} : { old_price: oldPrice }),
    currency,
    availability,
    affiliate_url: link,
  }
}

type ViewNetwork = ChannelView extends ReadonlyMap<number, infer Network> ? Network : never
type Via = Readonly<{ networkChannelId: number; network: ViewNetwork; merchant: { reference: string } }>

/** The network channel's own tracking link; `undefined` where it has none. */
function findLink(url: string, { networkChannelId, network, merchant }: Via): string | undefined {
  if (networkChannelId === network.networkChannelId) return url
  const { linkTemplate: template, publisher } = network
  if (networkChannelId !== PAGE_OF_SHOP || template === null) return undefined
  return makeAffiliateLink({ template, merchantUrl: url, merchant: merchant.reference, publisher })
}
