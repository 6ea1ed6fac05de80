import type { WireOffer, WireProduct } from '../../catalog/contract.ts'
import { makeAffiliateLink } from '../affiliate-link.ts'
import type { ChannelView } from './channel-view.ts'
import type { RunNow } from './open-store.ts'
import { PAGE_OF_SHOP } from './schema.ts'
import { countStrands, findVisibleGtins } from './visible-gtins.ts'

/** Which page of a channel's products: those after `afterGtin` (`''`: from the start). */
export type ProductPageQuery = Readonly<{ view: ChannelView; afterGtin: string; limit: number }>

/** `lastGtin` is where the next page starts after; `null` on the last page. */
export type ProductPage = Readonly<{ items: readonly WireProduct[]; lastGtin: string | null }>

/** Most products that are looked at in one statement. */
const MAX_LOOKED_AT = 1_000

/** A product with its offers, as JSON: rows of their own would cost several times as much to hand over. */
const SELECT_PRODUCT = `
  select p.gtin, p.title, p.brand, p.images,
    (select json_group_array(json_array(o.network_id, o.merchant_id, o.network_channel_id, o.price, o.old_price,
      o.currency, o.availability, o.url)) from offers o where o.gtin = p.gtin) as offers`

const SELECT_ONE = `${SELECT_PRODUCT} from products p where p.gtin = ?`
const SELECT_AFTER = `${SELECT_PRODUCT} from products p where p.gtin > ? order by p.gtin limit ?`
const SELECT_THESE = `${SELECT_PRODUCT} from json_each(?) g join products p on p.gtin = g.value order by p.gtin`

type ProductRow = Readonly<{
  gtin: string
  title: string
  brand: string | null
  images: string
  offers: string
}>

type OfferRow = readonly [
  networkId: number,
  merchantId: number,
  networkChannelId: number,
  price: string,
  oldPrice: string | null,
  currency: string,
  availability: string,
  url: string,
]

/** A product with the offers that the channel may show; `undefined` when there is none. `gtin` has 14 digits. */
export function findVisibleProduct(read: RunNow, view: ChannelView, gtin: string): WireProduct | undefined {
  const [row] = read<ProductRow>(SELECT_ONE, [gtin])
  return row === undefined ? undefined : toProduct(row, view)
}

/**
 * A page of the products that the channel may show, ordered by GTIN. It seeks: a deep page costs as much as the first, and
 * a channel that shows few products of many does not read the others. All of it is of one state when a snapshot is open.
 */
export function fetchProductPage(read: RunNow, query: ProductPageQuery): ProductPage {
  const { view, afterGtin, limit } = query
  if (view.size === 0) return { items: [], lastGtin: null }
  // One more than the page holds tells whether another page follows.
  const found = collectProducts(read, { view, afterGtin, limit: limit + 1 })
  const items = found.slice(0, limit)
  return { items, lastGtin: found.length > limit ? (items.at(-1)?.gtin ?? null) : null }
}

function collectProducts(read: RunNow, { view, afterGtin, limit }: ProductPageQuery): WireProduct[] {
  const found: WireProduct[] = []
  const strands = countStrands(view)
  let after = afterGtin
  let lookedAt = 0
  let count = limit
  while (found.length < limit) {
    const rows = read<ProductRow>(SELECT_AFTER, [after, count])
    found.push(...toProducts(rows, view))
    const last = rows.at(-1)
    if (last === undefined || rows.length < count) break
    after = last.gtin
    lookedAt += rows.length
    // So many more would have to be looked at, one by one, as far as those before tell.
    const expected = ((limit - found.length) * lookedAt) / Math.max(found.length, 1 / 2)
    if (expected > strands + limit) {
      const gtins = findVisibleGtins(read, { view, afterGtin: after, limit: limit - found.length })
      return [...found, ...toProducts(read<ProductRow>(SELECT_THESE, [JSON.stringify(gtins)]), view)]
    }
    count = Math.min(MAX_LOOKED_AT, Math.ceil(expected))
  }
  return found.slice(0, limit)
}

function toProducts(rows: readonly ProductRow[], view: ChannelView): WireProduct[] {
  return rows.map((row) => toProduct(row, view)).filter((product) => product !== undefined)
}

function toProduct(row: ProductRow, view: ChannelView): WireProduct | undefined {
  const offers = toOffers(JSON.parse(row.offers) as OfferRow[], view)
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
