import { type RawBuilder, sql } from 'kysely'
import type { WireOffer, WireProduct } from '../../catalog/contract.ts'
import { makeAffiliateLink } from '../affiliate-link.ts'
import type { CatalogStore } from './open-store.ts'

/** One visible offer with its product and what its link is made of. */
type VisibleRow = {
  gtin: string
  title: string
  brand: string | null
  images: string
  price: string
  old_price: string | null
  currency: string
  availability: string
  merchant_url: string | null
  feed_url: string | null
  link_template: string | null
  reference: string
  network: string
  merchant: string
}

/** Which page of a channel's products: those after `afterGtin` (`''`: from the start). */
export type ProductPageQuery = Readonly<{ channelId: string; afterGtin: string; limit: number }>

/** `lastGtin` is where the next page starts after; `null` on the last page. */
export type ProductPage = Readonly<{ items: readonly WireProduct[]; lastGtin: string | null }>

/** A page of the products that the channel may show, ordered by GTIN. It seeks: a deep page costs as much as the first. */
export async function fetchProductPage(store: CatalogStore, query: ProductPageQuery): Promise<ProductPage> {
  const { channelId, afterGtin, limit } = query
  const chosen = sql`
    select p.* from products p
    where p.gtin > ${afterGtin} and exists (select 1 from ${visibleOffers(channelId)} where o.gtin = p.gtin)
    order by p.gtin limit ${limit + 1}`
  const products = toProducts(await fetchRows(store, chosen, channelId))
  const items = products.slice(0, limit)
  return { items, lastGtin: products.length > limit ? (items.at(-1)?.gtin ?? null) : null }
}

/** A product with the offers that the channel may show; `undefined` when there is none. `gtin` has 14 digits. */
export async function findVisibleProduct(
  store: CatalogStore,
  channelId: string,
  gtin: string,
): Promise<WireProduct | undefined> {
  const chosen = sql`select p.* from products p where p.gtin = ${gtin}`
  return toProducts(await fetchRows(store, chosen, channelId))[0]
}

/** One statement, so that products and offers are of one state even when an import commits in between. */
async function fetchRows(
  store: CatalogStore,
  chosen: RawBuilder<unknown>,
  channelId: string,
): Promise<readonly VisibleRow[]> {
  const result = await sql<VisibleRow>`
    with chosen as (${chosen})
    select chosen.gtin, chosen.title, chosen.brand, chosen.images, o.price, o.old_price, o.currency, o.availability,
      o.merchant_url, o.feed_url, n.link_template, n.name as network, nc.reference, m.name as merchant
    from chosen cross join ${visibleOffers(channelId)} join merchants m on m.id = o.merchant_id
    where o.gtin = chosen.gtin
    order by chosen.gtin, o.id`.execute(store.reader)
  return result.rows
}

/** The rule of visibility: assigned to the channel, approved for the merchant, and with a link of its own. */
function visibleOffers(channelId: string): RawBuilder<unknown> {
  return sql`offers o
    join network_channels nc on nc.network_id = o.network_id and nc.channel_id = ${channelId}
    join approvals a on a.network_channel_id = nc.id and a.merchant_id = o.merchant_id and a.revoked_at_ms is null
    join networks n on n.id = o.network_id and (
      (o.feed_url is not null and o.network_channel_id = nc.id)
      or (o.network_channel_id is null and o.merchant_url is not null and n.link_template is not null))`
}

function toProducts(rows: readonly VisibleRow[]): WireProduct[] {
  const products: (WireProduct & { offers: WireOffer[] })[] = []
  for (const row of rows) {
    let product = products.at(-1)
    if (product?.gtin !== row.gtin) {
      product = { ...toProductHead(row), offers: [] }
      products.push(product)
    }
    product.offers.push(toOffer(row))
  }
  return products
}

function toProductHead(row: VisibleRow): Omit<WireProduct, 'offers'> {
  const images = JSON.parse(row.images) as string[]
  return {
    gtin: row.gtin,
    title: row.title,
    ...(row.brand === null ? {} : { brand: row.brand }),
    images: images.map((url) => ({ url })),
  }
}

function toOffer(row: VisibleRow): WireOffer {
  return {
    merchant: { name: row.merchant },
    network: row.network,
    price: row.price,
    ...(row.old_price === null ? {} : { old_price: row.old_price }),
    currency: row.currency,
    availability: row.availability,
    affiliate_url: toLink(row),
  }
}

function toLink(row: VisibleRow): string {
  if (row.feed_url !== null) return row.feed_url
  return makeAffiliateLink({
    template: row.link_template ?? '',
    merchantUrl: row.merchant_url ?? '',
    merchant: row.merchant,
    publisher: row.reference,
  })
}
