import { type RawBuilder, sql } from 'kysely'
import type { WireOffer } from '../../catalog/contract.ts'
import { getJsonFunctions, inList } from '../../database/dialect.ts'
import { MAX_PUBLISHED_BYTES, computeOfferBytes, limitOffers } from '../../offers/offer-limits.ts'
import type { RankableOffer } from '../../offers/ranking.ts'
import type { ChannelQuery, PageQuery, ProductPage, VisibleProduct } from './catalog-store.ts'
import { createAffiliateLink } from './networks.ts'
import { mergeDetails } from './merge-details.ts'
import { type Page, createPage } from './product-page.ts'
import type { Catalog } from './schema.ts'

/** Limit on the products that one statement reads to find those that the channel may show. */
const MAX_PRODUCTS_READ = 1_000

/** Larger offers have a link that no client accepts. */
const MAX_OFFER_BYTES: number = 32 * 1024

/** How much the number of GTINs per shop grows with each round. */
const LIMIT_GROWTH_FACTOR = 4

type Sql = RawBuilder<unknown>

/** Return a JSON value: the PostgreSQL client has already parsed it, SQLite returns text. */
function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}

type ProductRow = Readonly<{ gtin: string; details: unknown; offers: unknown }>

type DetailsRow = Readonly<{ feedId: number; title: string; brand: string | null; images: string }>

/** An offer with the parts of its link. `reference` is the network's id of the merchant. */
type OfferRow = Readonly<{
  feedId: number
  networkId: number
  network: string
  template: string | null
  publisher: string
  merchantId: number
  merchant: string
  reference: string
  isPage: number
  price: string
  oldPrice: string | null
  currency: string
  availability: string
  url: string
  saleStartsMs: number | null
  saleEndsMs: number | null
  checkedMs: number | null
}>

const OFFER_JSON_FIELDS = sql`'feedId', o.feed_id, 'networkId', n.id, 'network', n.name, 'template', n.link_template,
  'publisher', nc.reference, 'merchantId', m.id, 'merchant', m.name, 'reference', coalesce(nm.reference, m.name),
  'isPage', o.is_page, 'price', o.price, 'oldPrice', o.old_price, 'currency', o.currency, 'availability', o.availability,
  'url', o.url, 'saleStartsMs', o.sale_starts_ms, 'saleEndsMs', o.sale_ends_ms,
  'checkedMs', coalesce(o.checked_ms, f.fetched_at_ms)`

/** A link without the publisher's reference earns no commission, and networks may reject it. */
const HAS_USABLE_TEMPLATE = sql`(n.link_template is not null
  and (nc.reference <> '' or n.link_template = replace(n.link_template, '{publisher}', '')))`

function selectOwnedChannelId({ organizationId, channelId }: ChannelQuery): Sql {
  return sql`(select c.id from channels c where c.id = ${channelId} and c.organization_id = ${organizationId})`
}

/** How near a feed is to the channel: 0 its own, 1 its organization's, 2 another's. */
function createFeedDistance({ organizationId, channelId }: ChannelQuery, feed: 'f' | 'f2'): Sql {
  return sql`(case when ${sql.ref(`${feed}.channel_id`)} = ${channelId} then 0
    when ${sql.ref(`${feed}.organization_id`)} = ${organizationId} then 1 else 2 end)`
}

/**
 * Whether the channel shows an offer (`o`) or shop of a feed (`s`) of the feed `f`: tracking links of its network channel, and pages
 * from the nearest feeds that have the shop (ADR 0028). The channel's own feeds count with tracking links too.
 */
function createVisibilityCondition(channel: ChannelQuery, row: 'o' | 's'): Sql {
  const getColumn = (name: string): Sql => sql.ref(`${row}.${name}`)
  const distance = createFeedDistance(channel, 'f2')
  const isOfNetworkChannel = sql`${getColumn('network_channel_id')} = nc.id`
  return sql`((${getColumn('is_page')} = 0 and ${isOfNetworkChannel})
    or (${getColumn('is_page')} = 1 and ((n.link_template is null and ${isOfNetworkChannel}) or ${HAS_USABLE_TEMPLATE})
      and ${createFeedDistance(channel, 'f')} <= (
        select min(${distance}) from feed_shops s2 left join feeds f2 on f2.id = s2.feed_id
        where s2.merchant_id = ${getColumn('merchant_id')} and s2.network_id = ${getColumn('network_id')}
          and (s2.is_page = 1 or ${distance} = 0))))`
}

/** The visibility rule (contract, sections 1 and 4.2). `cross join` fixes SQLite's join order; it would read all approvals. */
function selectProducts(database: Catalog, channel: ChannelQuery, gtins: Sql): Sql {
  const json = getJsonFunctions(database)
  const [groupArray, object] = [sql.raw(json.groupArray), sql.raw(json.object)]
  return sql`select g.gtin, (
    select ${groupArray}(${object}('feedId', p.feed_id, 'title', p.title, 'brand', p.brand, 'images', p.images))
    from products p where p.gtin = g.gtin
  ) as details, (
    select ${groupArray}(${object}(${OFFER_JSON_FIELDS})
      order by o.network_id, o.merchant_id, o.currency, o.variant, o.feed_id)
    from offers o cross join network_channels nc cross join approvals a cross join networks n cross join merchants m
      left join feeds f on f.id = o.feed_id
      left join network_merchants nm on nm.network_id = o.network_id and nm.merchant_id = o.merchant_id
    where o.gtin = g.gtin and nc.network_id = o.network_id and nc.channel_id = ${selectOwnedChannelId(channel)}
      and a.network_channel_id = nc.id and a.merchant_id = o.merchant_id and a.revoked_at_ms is null
      and n.id = o.network_id and m.id = o.merchant_id and ${createVisibilityCondition(channel, 'o')}
  ) as offers from (${gtins}) g`
}

export async function findVisibleProduct(
  database: Catalog,
  channel: ChannelQuery,
  { gtin, nowMs }: Readonly<{ gtin: string; nowMs: number }>,
): Promise<VisibleProduct | undefined> {
  const gtins = sql`select distinct gtin from products where gtin = ${gtin}`
  const { rows } = await sql<ProductRow>`${selectProducts(database, channel, gtins)}`.execute(database)
  return rows[0] && toVisibleProduct(rows[0], nowMs)
}

/** Return a page of the products that the channel may show, ordered by GTIN. A deep page costs as much as the first. */
export async function fetchVisiblePage(
  database: Catalog,
  query: PageQuery,
  nowMs: number,
): Promise<ProductPage> {
  const page = createPage(query.limit)
  await collectVisibleProducts(database, query, { page, nowMs })
  const changes = page.items.flatMap(({ changesAtMs }) => changesAtMs ?? [])
  return {
    items: page.items.map(({ product }) => product),
    lastGtin: page.hasMore() ? (page.items.at(-1)?.product.gtin ?? null) : null,
    changesAtMs: changes.length === 0 ? null : Math.min(...changes),
  }
}

/** A page being filled, and the time at which its prices count. */
type PageTask = Readonly<{ page: Page; nowMs: number }>

/** Scan products in GTIN order, until querying each shop of the channel for its next GTINs is cheaper. */
async function collectVisibleProducts(
  database: Catalog,
  query: PageQuery,
  { page, nowMs }: PageTask,
): Promise<void> {
  const read = async (gtins: Sql): Promise<readonly ProductRow[]> => {
    const selected = sql<ProductRow>`${selectProducts(database, query, gtins)} order by g.gtin`
    const { rows } = await selected.execute(database)
    for (const row of rows) {
      const found = toVisibleProduct(row, nowMs)
      if (found !== undefined) page.add(found)
    }
    return rows
  }
  let afterGtin = query.afterGtin
  let merchantCount: number | undefined
  let productsRead = 0
  let batchSize = page.countNextRead()
  while (!page.hasMore()) {
    const rows = await read(
      sql`select distinct gtin from products where gtin > ${afterGtin} order by gtin limit ${batchSize}`,
    )
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize || page.hasMore()) break
    afterGtin = last.gtin
    productsRead += rows.length
    // Products still to be scanned for the rest of the page, at the hit rate so far.
    const expected = (page.countNextRead() * productsRead) / Math.max(page.items.length, 1 / 2)
    merchantCount ??= await countMerchantNetworks(database, query)
    if (expected > merchantCount + query.limit) {
      await readByShop(database, { ...query, afterGtin }, { page, merchantCount, read })
      break
    }
    batchSize = Math.min(MAX_PRODUCTS_READ, Math.ceil(expected))
  }
}

/** Add the products of a page after `afterGtin`. A candidate may be invisible, for example after the end of its sale. */
async function readByShop(
  database: Catalog,
  query: PageQuery,
  {
    page,
    merchantCount,
    read,
  }: Readonly<{
    page: Page
    merchantCount: number
    read(gtins: Sql): Promise<readonly ProductRow[]>
  }>,
): Promise<void> {
  let { afterGtin } = query
  while (!page.hasMore()) {
    const limit = page.countMissing()
    const gtins = await findCandidateGtins(database, { ...query, afterGtin, limit }, merchantCount)
    if (gtins.length === 0) return
    for (let start = 0; start < gtins.length && !page.hasMore();) {
      const end = start + page.countNextRead()
      await read(
        sql`select distinct gtin from products where ${inList(database, 'gtin', gtins.slice(start, end))}`,
      )
      start = end
    }
    if (gtins.length < limit) return
    afterGtin = gtins.at(-1) ?? ''
  }
}

/** The shops of the feeds whose offers a channel may show. */
function fromMerchantNetworks(channel: ChannelQuery): Sql {
  return sql`from network_channels nc cross join networks n cross join approvals a cross join feed_shops s
      left join feeds f on f.id = s.feed_id
    where nc.channel_id = ${selectOwnedChannelId(channel)} and n.id = nc.network_id
      and a.network_channel_id = nc.id and a.revoked_at_ms is null
      and s.merchant_id = a.merchant_id and s.network_id = nc.network_id
      and ${createVisibilityCondition(channel, 's')}`
}

async function countMerchantNetworks(database: Catalog, channel: ChannelQuery): Promise<number> {
  const { rows } = await sql<{
    shops: number
  }>`select count(*) as shops ${fromMerchantNetworks(channel)}`.execute(database)
  return rows[0]?.shops ?? 0
}

type NextGtinsQuery = PageQuery & Readonly<{ merchantIds: readonly number[] | null }>

/** Query shop by shop. The result is complete up to the smallest last GTIN of shops that have more; only those are read again. */
async function findCandidateGtins(
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

/** Return the next GTINs of each shop of a feed; `distinct`, because a shop may have several offers of a product. */
async function fetchNextGtins(database: Catalog, query: NextGtinsQuery) {
  const { merchantIds, afterGtin, limit } = query
  const groupArray = sql.raw(getJsonFunctions(database).groupArray)
  const isChosen = merchantIds === null ? sql`` : sql`and ${inList(database, 's.merchant_id', merchantIds)}`
  const { rows } = await sql<{ merchantId: number; gtins: unknown }>`
    select s.merchant_id as "merchantId", (
      select ${groupArray}(g.gtin order by g.gtin) from (
        select distinct o.gtin from offers o
        where o.feed_id = s.feed_id and o.merchant_id = s.merchant_id and o.network_id = s.network_id
          and o.gtin > ${afterGtin}
        order by o.gtin limit ${limit}) g) as gtins
    ${fromMerchantNetworks(query)} ${isChosen}`.execute(database)
  return rows.map(({ merchantId, gtins }) => ({ merchantId, gtins: (readJson(gtins) ?? []) as string[] }))
}

function toVisibleProduct({ gtin, details, offers }: ProductRow, nowMs: number): VisibleProduct | undefined {
  const rows = (readJson(offers) ?? []) as readonly OfferRow[]
  const current = rows.filter((row) => findPrices(row, nowMs) !== undefined)
  const detailsByFeed = new Map(
    ((readJson(details) ?? []) as readonly DetailsRow[]).map(({ feedId, title, brand, images }) => [
      feedId,
      { title, brand, images: JSON.parse(images) as string[] },
    ]),
  )
  const detailed = selectOffers(current).flatMap((row) => {
    const wireOffer = toWireOffer(row, nowMs)
    const offerDetails = detailsByFeed.get(row.feedId)
    if (wireOffer === undefined || offerDetails === undefined) return []
    return [{ ...toRankableOffer(wireOffer), wireOffer, details: offerDetails }]
  })
  const { offers: limited } = limitOffers(detailed.filter(isUsableSize), MAX_PUBLISHED_BYTES)
  if (limited.length === 0) return undefined
  const { title, brand, images } = mergeDetails(limited.map((offer) => ({ offer, details: offer.details })))
  return {
    product: {
      gtin,
      title,
      ...(brand === null ? {} : { brand }),
      images: images.map((url) => ({ url })),
      offers: limited.map(({ wireOffer }) => wireOffer),
    },
    changesAtMs: findNextSaleChange(rows, nowMs),
  }
}

function isUsableSize(offer: RankableOffer): boolean {
  return computeOfferBytes(offer, offer.affiliateUrl) <= MAX_OFFER_BYTES
}

/**
 * Prefer the feed's tracking links of a shop to links from the template. Of one link from several feeds, the one checked last
 * counts.
 */
function selectOffers(rows: readonly OfferRow[]): readonly OfferRow[] {
  if (rows.length < 2) return rows
  const shopsWithTrackingLinks = new Set(rows.filter(({ isPage }) => isPage === 0).map(toShopKey))
  const byLink = new Map<string, OfferRow>()
  for (const row of rows) {
    if (row.isPage === 1 && shopsWithTrackingLinks.has(toShopKey(row))) continue
    const key = `${toShopKey(row)} ${row.url}`
    const other = byLink.get(key)
    if (other === undefined || (row.checkedMs ?? 0) >= (other.checkedMs ?? 0)) byLink.set(key, row)
  }
  return [...byLink.values()]
}

function toShopKey({ networkId, merchantId, currency }: OfferRow): string {
  return `${networkId} ${merchantId} ${currency}`
}

/** Return `undefined` for an offer without a price at this time. */
function toWireOffer(row: OfferRow, nowMs: number): WireOffer | undefined {
  const prices = findPrices(row, nowMs)
  if (prices === undefined) return undefined
  const { network, merchant, currency, availability, checkedMs } = row
  return {
    merchant: { name: merchant },
    network,
    price: prices.price,
    ...(prices.oldPrice !== null && { old_price: prices.oldPrice }),
    currency,
    availability,
    affiliate_url: toLink(row),
    ...(checkedMs !== null && { checked_at: new Date(checkedMs).toISOString() }),
    ...(prices.endsMs !== null && { sale_ends_at: new Date(prices.endsMs).toISOString() }),
  }
}

/** Apply the sale period: outside it, the regular price applies. */
function findPrices({ price, oldPrice, saleStartsMs, saleEndsMs }: OfferRow, nowMs: number) {
  const isOnTime = (saleStartsMs ?? -Infinity) <= nowMs && nowMs < (saleEndsMs ?? Infinity)
  if (isOnTime) return { price, oldPrice, endsMs: saleEndsMs }
  return oldPrice === null ? undefined : { price: oldPrice, oldPrice: null, endsMs: null }
}

function toLink({ isPage, template, url, reference, publisher }: OfferRow): string {
  if (isPage === 0 || template === null) return url
  return createAffiliateLink({ template, merchantUrl: url, merchant: reference, publisher })
}

function toRankableOffer({
  merchant,
  old_price: oldPrice,
  affiliate_url,
  ...offer
}: WireOffer): RankableOffer {
  return { ...offer, merchant: merchant.name, oldPrice: oldPrice ?? null, affiliateUrl: affiliate_url }
}

function findNextSaleChange(rows: readonly OfferRow[], nowMs: number): number | null {
  const times = rows
    .flatMap(({ saleStartsMs, saleEndsMs }) => [saleStartsMs ?? 0, saleEndsMs ?? 0])
    .filter((timeMs) => timeMs > nowMs)
  return times.length === 0 ? null : Math.min(...times)
}
