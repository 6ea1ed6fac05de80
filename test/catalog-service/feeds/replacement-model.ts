import type { WireOffer, WireProduct } from '../../../src/catalog/contract.ts'
import {
  type RankableOffer,
  compareForBox,
  compareTexts,
  findMainCurrency,
} from '../../../src/offers/ranking.ts'

// A catalog of feeds as plain lists, and what its channels show according to ADR 0028.

/** Channels with their organization. */
export const CHANNELS = {
  '952a0000-0000-4000-8000-0000000000a1': 'first',
  '952a0000-0000-4000-8000-0000000000a2': 'first',
  '952a0000-0000-4000-8000-0000000000b1': 'second',
} as const

export type ChannelId = keyof typeof CHANNELS

export const CHANNEL_IDS = Object.keys(CHANNELS) as ChannelId[]

const [FIRST, SECOND, THIRD] = CHANNEL_IDS as [ChannelId, ChannelId, ChannelId]

/** Feeds with their channel. */
export const FEEDS = { one: FIRST, two: FIRST, three: SECOND, four: THIRD } as const

export type FeedName = keyof typeof FEEDS

export const NETWORKS = ['Net A', 'Net B'] as const

export type NetworkName = (typeof NETWORKS)[number]

export const MERCHANTS = ['Shop A', 'Shop B'] as const

export type MerchantName = (typeof MERCHANTS)[number]

/** The publisher's reference of a channel; one is unknown. */
export function toPublisher(channelId: ChannelId, network: NetworkName): string {
  return channelId === SECOND && network === 'Net B' ? '' : `pub ${channelId.slice(-2)}`
}

/** Times are Unix milliseconds. `salePrice` is the price until `saleEndsMs`. */
export type ModelOffer = Readonly<{
  network: NetworkName
  merchant: MerchantName
  link: 'tracked' | 'page'
  url: string
  currency: string
  price: string
  salePrice: string | null
  saleEndsMs: number | null
  availability: string
  checkedMs: number | null
}>

export type ModelProduct = Readonly<{
  gtin: string
  title: string
  brand: string | null
  image: string | null
  offers: readonly ModelOffer[]
}>

type ModelFeed = Readonly<{ name: FeedName; fetchedMs: number; products: readonly ModelProduct[] }>

/** `feeds`: in the order in which they were created. */
export type Model = Readonly<{
  feeds: Map<FeedName, ModelFeed>
  templates: Map<NetworkName, string | null>
  merchants: Set<MerchantName>
  /** `true`: approved, `false`: revoked. */
  approvals: Map<string, boolean>
}>

export function createModel(): Model {
  return {
    feeds: new Map(),
    templates: new Map(NETWORKS.map((name) => [name, null])),
    merchants: new Set(),
    approvals: new Map(),
  }
}

function toApprovalKey(
  channelId: ChannelId,
  { network, merchant }: Pick<ModelOffer, 'network' | 'merchant'>,
): string {
  return `${channelId} ${network} ${merchant}`
}

export function importIntoModel(
  model: Model,
  name: FeedName,
  products: readonly ModelProduct[],
  nowMs: number,
) {
  model.feeds.set(name, { name, fetchedMs: nowMs, products: products.map(withoutRepeatedOffers) })
  for (const offer of products.flatMap(({ offers }) => offers)) {
    model.merchants.add(offer.merchant)
    const key = toApprovalKey(FEEDS[name], offer)
    if (!model.approvals.has(key)) model.approvals.set(key, true)
  }
}

/** Of offers of a row with the same link, the last one counts. */
function withoutRepeatedOffers(product: ModelProduct): ModelProduct {
  const offers = new Map(product.offers.map((offer) => [toLinkKey(offer), offer]))
  return { ...product, offers: [...offers.values()] }
}

export function removeMerchantFromModel(model: Model, merchant: MerchantName): void {
  model.merchants.delete(merchant)
  for (const key of model.approvals.keys()) if (key.endsWith(merchant)) model.approvals.delete(key)
  for (const feed of model.feeds.values()) {
    const products = feed.products.map((product) => ({
      ...product,
      offers: product.offers.filter((offer) => offer.merchant !== merchant),
    }))
    model.feeds.set(feed.name, { ...feed, products: products.filter(({ offers }) => offers.length > 0) })
  }
}

/** `merchant: null`: all that have offers in the network, or an approval that can be revoked. */
export function approveInModel(
  model: Model,
  {
    channelId,
    network,
    merchant,
  }: Readonly<{ channelId: ChannelId; network: NetworkName; merchant: MerchantName | null }>,
  isApproved: boolean,
): void {
  const offers = listOffers(model).filter((offer) => offer.network === network)
  for (const name of model.merchants) {
    const key = toApprovalKey(channelId, { network, merchant: name })
    const isChosen =
      merchant === null
        ? offers.some((offer) => offer.merchant === name) || (!isApproved && model.approvals.has(key))
        : merchant === name
    if (isChosen) model.approvals.set(key, isApproved)
  }
}

function listOffers(model: Model): readonly ModelOffer[] {
  return [...model.feeds.values()].flatMap(({ products }) => products.flatMap(({ offers }) => offers))
}

/** An offer that the channel may show, with its feed's text about the product. */
type Candidate = Readonly<{
  offer: ModelOffer
  product: ModelProduct
  affiliateUrl: string
  checkedMs: number
}>

/** Return all products that the channel shows, ordered by GTIN, with their offers in any order. */
export function computeProducts(model: Model, channelId: ChannelId, nowMs: number): WireProduct[] {
  const byGtin = new Map<string, Candidate[]>()
  for (const feed of model.feeds.values()) {
    for (const product of feed.products) {
      const candidates = listCandidates(model, channelId, { feed, product })
      byGtin.set(product.gtin, [...(byGtin.get(product.gtin) ?? []), ...candidates])
    }
  }
  return [...byGtin]
    .toSorted(([one], [other]) => compareTexts(one, other))
    .flatMap(([gtin, candidates]) => toProduct(gtin, chooseLinks(candidates), nowMs))
}

function listCandidates(
  model: Model,
  channelId: ChannelId,
  { feed, product }: Readonly<{ feed: ModelFeed; product: ModelProduct }>,
): Candidate[] {
  return product.offers.flatMap((offer) => {
    const affiliateUrl = findLink(model, channelId, { feed, offer })
    if (affiliateUrl === undefined || model.approvals.get(toApprovalKey(channelId, offer)) !== true) return []
    return [{ offer, product, affiliateUrl, checkedMs: offer.checkedMs ?? feed.fetchedMs }]
  })
}

/** Return the offer's link for the channel; `undefined` when the channel does not show it. */
function findLink(
  model: Model,
  channelId: ChannelId,
  { feed, offer }: Readonly<{ feed: ModelFeed; offer: ModelOffer }>,
): string | undefined {
  const isOwn = FEEDS[feed.name] === channelId
  if (offer.link === 'tracked') return isOwn ? offer.url : undefined
  if (toDistance(feed, channelId) > findNearestDistance(model, channelId, offer)) return undefined
  const template = model.templates.get(offer.network) ?? null
  if (template === null) return isOwn ? offer.url : undefined
  const publisher = toPublisher(channelId, offer.network)
  if (publisher === '' && template.includes('{publisher}')) return undefined
  return template
    .replace('{url}', encodeURIComponent(offer.url))
    .replace('{merchant}', encodeURIComponent(offer.merchant))
    .replace('{publisher}', encodeURIComponent(publisher))
}

function toDistance({ name }: ModelFeed, channelId: ChannelId): number {
  if (FEEDS[name] === channelId) return 0
  return CHANNELS[FEEDS[name]] === CHANNELS[channelId] ? 1 : 2
}

/** The distance of the nearest feed with pages of the shop. The channel's own feeds count with tracking links too. */
function findNearestDistance(model: Model, channelId: ChannelId, shop: ModelOffer): number {
  const distances = [...model.feeds.values()].flatMap((feed) => {
    const distance = toDistance(feed, channelId)
    const offers = feed.products.flatMap((product) => product.offers)
    const links = offers
      .filter(({ network, merchant }) => network === shop.network && merchant === shop.merchant)
      .filter(({ link }) => link === 'page' || distance === 0)
    return links.length === 0 ? [] : [distance]
  })
  return Math.min(...distances)
}

/** Prefer tracking links to pages of the same shop and currency. Of the same link, the offer checked last counts. */
function chooseLinks(candidates: readonly Candidate[]): Candidate[] {
  const tracked = candidates.filter(({ offer }) => offer.link === 'tracked')
  const trackedShops = new Set(tracked.map(({ offer }) => toShopKey(offer)))
  const chosen = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { offer, checkedMs } = candidate
    if (offer.link === 'page' && trackedShops.has(toShopKey(offer))) continue
    const other = chosen.get(toLinkKey(offer))
    if (other === undefined || checkedMs >= other.checkedMs) chosen.set(toLinkKey(offer), candidate)
  }
  return [...chosen.values()]
}

function toShopKey({ network, merchant, currency }: ModelOffer): string {
  return `${network} ${merchant} ${currency}`
}

function toLinkKey(offer: ModelOffer): string {
  return `${toShopKey(offer)} ${offer.url}`
}

function toProduct(gtin: string, candidates: readonly Candidate[], nowMs: number): WireProduct[] {
  const priced = candidates.map((candidate) => ({ ...candidate, wire: toWireOffer(candidate, nowMs) }))
  const currency = findMainCurrency(priced.map(({ wire }) => wire))
  const ranked = priced.toSorted(
    ({ wire: one }, { wire: other }) =>
      Number(other.currency === currency) - Number(one.currency === currency) ||
      compareForBox(toRankable(one), toRankable(other)),
  )
  const products = ranked.map(({ product }) => product)
  const [best] = products
  if (best === undefined) return []
  const brand = products.find((product) => product.brand !== null)?.brand
  const image = products.find((product) => product.image !== null)?.image
  return [
    {
      gtin,
      title: best.title,
      ...(typeof brand === 'string' && { brand }),
      images: typeof image === 'string' ? [{ url: image }] : [],
      offers: priced.map(({ wire }) => wire),
    },
  ]
}

function toWireOffer({ offer, affiliateUrl, checkedMs }: Candidate, nowMs: number): WireOffer {
  const { network, merchant, currency, availability, price, salePrice, saleEndsMs } = offer
  const isOnSale = salePrice !== null && nowMs < (saleEndsMs ?? Infinity)
  return {
    merchant: { name: merchant },
    network,
    price: isOnSale ? salePrice : price,
    ...(isOnSale && { old_price: price }),
    currency,
    availability,
    affiliate_url: affiliateUrl,
    checked_at: new Date(checkedMs).toISOString(),
    ...(isOnSale && saleEndsMs !== null && { sale_ends_at: new Date(saleEndsMs).toISOString() }),
  }
}

function toRankable({ merchant, old_price, affiliate_url, ...offer }: WireOffer): RankableOffer {
  return { ...offer, merchant: merchant.name, oldPrice: old_price ?? null, affiliateUrl: affiliate_url }
}
