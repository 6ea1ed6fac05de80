import { type RawBuilder, sql } from 'kysely'
import type { WireOffer, WireProduct } from '../../catalog/contract.ts'
import { isPostgres } from '../../database/is-postgres.ts'
import type { ChannelQuery, PageQuery, ProductPage } from './catalog-store.ts'
import { createAffiliateLink } from './networks.ts'
import { type Catalog, NO_NETWORK_CHANNEL } from './schema.ts'

/** Limit on the products that one statement reads to find those that the channel may show. */
const MAX_PRODUCTS_READ = 1_000

/** How much the number of GTINs per shop grows with each round. */
const LIMIT_GROWTH_FACTOR = 4

type Sql = RawBuilder<unknown>

function getSqlDialect(database: Catalog) {
  const isPostgresDialect = isPostgres(database)
  return {
    jsonGroupArray: isPostgresDialect ? sql`json_agg` : sql`json_group_array`,
    jsonObject: isPostgresDialect ? sql`json_build_object` : sql`json_object`,
    /** Pass any number of values as one parameter. */
    toList(values: readonly string[] | readonly number[]): Sql {
      if (!isPostgresDialect) return sql`(select value from json_each(${JSON.stringify(values)}))`
      const type = typeof values[0] === 'number' ? sql`bigint` : sql`text`
      return sql`(select unnest(${values}::${type}[]))`
    },
  }
}

/** Return a JSON value: the PostgreSQL client has already parsed it, SQLite returns text. */
function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}

type ProductRow = Readonly<{
  gtin: string
  title: string
  brand: string | null
  images: string
  offers: unknown
}>

/** An offer with the parts of its link. `reference` is the network's id of the merchant. */
type OfferRow = Readonly<{
  networkId: number
  network: string
  template: string | null
  publisher: string
  merchantId: number
  merchant: string
  reference: string
  networkChannelId: number
  price: string
  oldPrice: string | null
  currency: string
  availability: string
  url: string
}>

const OFFER_JSON_FIELDS = sql`'networkId', n.id, 'network', n.name, 'template', n.link_template, 'publisher', nc.reference,
  'merchantId', m.id, 'merchant', m.name, 'reference', coalesce(nm.reference, m.name), 'networkChannelId', o.network_channel_id,
  'price', o.price, 'oldPrice', o.old_price, 'currency', o.currency, 'availability', o.availability, 'url', o.url`

/** A link without the publisher's reference earns no commission, and networks may reject it. */
const HAS_USABLE_TEMPLATE = sql`(n.link_template is not null
  and (nc.reference <> '' or n.link_template = replace(n.link_template, '{publisher}', '')))`

function selectOwnedChannelId({ organizationId, channelId }: ChannelQuery): Sql {
  return sql`(select c.id from channels c where c.id = ${channelId} and c.organization_id = ${organizationId})`
}

/** The visibility rule (contract, sections 1 and 4.2). `cross join` fixes SQLite's join order; it would read all approvals. */
function selectProducts(database: Catalog, channel: ChannelQuery): Sql {
  const { jsonGroupArray, jsonObject } = getSqlDialect(database)
  return sql`select p.gtin, p.title, p.brand, p.images, (
    select ${jsonGroupArray}(${jsonObject}(${OFFER_JSON_FIELDS})
      order by o.network_id, o.merchant_id, o.network_channel_id, o.currency, o.variant)
    from offers o cross join network_channels nc cross join approvals a cross join networks n cross join merchants m
      left join network_merchants nm on nm.network_id = o.network_id and nm.merchant_id = o.merchant_id
    where o.gtin = p.gtin and nc.network_id = o.network_id and nc.channel_id = ${selectOwnedChannelId(channel)}
      and a.network_channel_id = nc.id and a.merchant_id = o.merchant_id and a.revoked_at_ms is null
      and n.id = o.network_id and m.id = o.merchant_id
      and (o.network_channel_id = nc.id or (o.network_channel_id = ${sql.lit(NO_NETWORK_CHANNEL)} and ${HAS_USABLE_TEMPLATE}))
  ) as offers from products p`
}

export async function findVisibleProduct(
  database: Catalog,
  channel: ChannelQuery,
  gtin: string,
): Promise<WireProduct | undefined> {
  const products = selectProducts(database, channel)
  const { rows } = await sql<ProductRow>`${products} where p.gtin = ${gtin}`.execute(database)
  return toProducts(rows)[0]
}

/** Return a page of the products that the channel may show, ordered by GTIN. A deep page costs as much as the first. */
export async function fetchVisiblePage(database: Catalog, query: PageQuery): Promise<ProductPage> {
  // One more than the page needs, to know whether another page follows.
  const found = await collectVisibleProducts(database, { ...query, limit: query.limit + 1 })
  const items = found.slice(0, query.limit)
  return { items, lastGtin: found.length > query.limit ? (items.at(-1)?.gtin ?? null) : null }
}

/** Scan products in GTIN order, until querying each shop of the channel for its next GTINs is cheaper. */
async function collectVisibleProducts(database: Catalog, query: PageQuery): Promise<WireProduct[]> {
  const { limit } = query
  const products = selectProducts(database, query)
  const found: WireProduct[] = []
  let afterGtin = query.afterGtin
  let merchantCount: number | undefined
  let productsRead = 0
  let batchSize = limit
  while (found.length < limit) {
    const { rows } = await sql<ProductRow>`
      ${products} where p.gtin > ${afterGtin} order by p.gtin limit ${batchSize}`.execute(database)
    found.push(...toProducts(rows))
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize || found.length >= limit) break
    afterGtin = last.gtin
    productsRead += rows.length
    // Products still to be scanned for the rest of the page, at the hit rate so far.
    const expected = ((limit - found.length) * productsRead) / Math.max(found.length, 1 / 2)
    merchantCount ??= await countMerchantNetworks(database, query)
    if (expected > merchantCount + limit) {
      const restQuery = { ...query, afterGtin, limit: limit - found.length }
      const gtins = await findVisibleGtins(database, restQuery, merchantCount)
      const { rows: restRows } = await sql<ProductRow>`
        ${products} where p.gtin in ${getSqlDialect(database).toList(gtins)} order by p.gtin`.execute(
        database,
      )
      return [...found, ...toProducts(restRows)]
    }
    batchSize = Math.min(MAX_PRODUCTS_READ, Math.ceil(expected))
  }
  return found.slice(0, limit)
}

/** The shops of a channel: once for tracking links of the feed (`is_page` 0), once for pages with a link template (1). */
function fromMerchantNetworks(channel: ChannelQuery): Sql {
  return sql`from network_channels nc cross join networks n
      cross join (select 0 as is_page union all select 1) kind cross join approvals a
    where nc.channel_id = ${selectOwnedChannelId(channel)} and n.id = nc.network_id
      and a.network_channel_id = nc.id and a.revoked_at_ms is null
      and (kind.is_page = 0 or ${HAS_USABLE_TEMPLATE})`
}

async function countMerchantNetworks(database: Catalog, channel: ChannelQuery): Promise<number> {
  const { rows } = await sql<{
    shops: number
  }>`select count(*) as shops ${fromMerchantNetworks(channel)}`.execute(database)
  return rows[0]?.shops ?? 0
}

type NextGtinsQuery = PageQuery & Readonly<{ merchantIds: readonly number[] | null }>

/** Query shop by shop. The result is complete up to the smallest last GTIN of shops that have more; only those are read again. */
async function findVisibleGtins(
  database: Catalog,
  query: PageQuery,
  merchantCount: number,
): Promise<string[]> {
  const { limit } = query
  const found = new Set<string>()
  let nextQuery: NextGtinsQuery = {
    ...query,
    merchantIds: null,
    limit: Math.ceil((2 * limit) / Math.max(1, merchantCount)) + 1,
  }
  for (;;) {
    const batches = await fetchNextGtins(database, nextQuery)
    for (const { gtins } of batches) for (const gtin of gtins) found.add(gtin)
    const unfinished = batches.filter(({ gtins }) => gtins.length === nextQuery.limit)
    const completeUntil = unfinished.map(({ gtins }) => gtins.at(-1) ?? '').toSorted()[0]
    const complete = [...found]
      .filter((gtin) => completeUntil === undefined || gtin <= completeUntil)
      .toSorted()
    if (completeUntil === undefined || complete.length >= limit) return complete.slice(0, limit)
    const merchantIds = unfinished.map(({ merchantId }) => merchantId)
    nextQuery = {
      ...query,
      afterGtin: completeUntil,
      merchantIds,
      limit: Math.min(limit, nextQuery.limit * LIMIT_GROWTH_FACTOR),
    }
  }
}

/** Return the next GTINs of each shop; `distinct`, because a shop may have several offers of a product. */
async function fetchNextGtins(database: Catalog, query: NextGtinsQuery) {
  const { jsonGroupArray, toList } = getSqlDialect(database)
  const { merchantIds, afterGtin, limit } = query
  const { rows } = await sql<{ merchantId: number; gtins: unknown }>`
    select a.merchant_id as "merchantId", (
      select ${jsonGroupArray}(g.gtin order by g.gtin) from (
        select distinct o.gtin from offers o
        where o.merchant_id = a.merchant_id and o.network_id = nc.network_id
          and o.network_channel_id = case kind.is_page when 1 then ${sql.lit(NO_NETWORK_CHANNEL)} else nc.id end
          and o.gtin > ${afterGtin}
        order by o.gtin limit ${limit}) g) as gtins
    ${fromMerchantNetworks(query)} ${merchantIds === null ? sql`` : sql`and a.merchant_id in ${toList(merchantIds)}`}`.execute(
    database,
  )
  return rows.map(({ merchantId, gtins }) => ({ merchantId, gtins: (readJson(gtins) ?? []) as string[] }))
}

function toProducts(rows: readonly ProductRow[]): WireProduct[] {
  return rows.map(toProduct).filter((product) => product !== undefined)
}

function toProduct({ gtin, title, brand, images, offers }: ProductRow): WireProduct | undefined {
  const rows = (readJson(offers) ?? []) as readonly OfferRow[]
  if (rows.length === 0) return undefined
  return {
    gtin,
    title,
    ...(brand === null ? {} : { brand }),
    images: (JSON.parse(images) as string[]).map((url) => ({ url })),
    offers: toOffers(rows),
  }
}

/** Prefer the feed's tracking links of a shop to links from the template. */
function toOffers(rows: readonly OfferRow[]): WireOffer[] {
  const shopsWithTrackingLinks = new Set(rows.filter((row) => !isMerchantPage(row)).map(toShopKey))
  return rows
    .filter((row) => !isMerchantPage(row) || !shopsWithTrackingLinks.has(toShopKey(row)))
    .map(toOffer)
}

function isMerchantPage({ networkChannelId }: OfferRow): boolean {
  return networkChannelId === NO_NETWORK_CHANNEL
}

function toShopKey({ networkId, merchantId, currency }: OfferRow): string {
  return `${networkId} ${merchantId} ${currency}`
}

function toOffer(row: OfferRow): WireOffer {
  const { network, merchant, price, oldPrice, currency, availability, url, template, publisher } = row
  return {
    merchant: { name: merchant },
    network,
    price,
    ...(oldPrice === null ? {} : { old_price: oldPrice }),
    currency,
    availability,
    affiliate_url:
      isMerchantPage(row) && template !== null
        ? createAffiliateLink({ template, merchantUrl: url, merchant: row.reference, publisher })
        : url,
  }
}
