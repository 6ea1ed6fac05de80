import type { Kysely } from 'kysely'
import { findMerchant, insertMerchant, setMerchantReference } from '../store/merchants.ts'
import { insertNetworkChannel, setChannel } from '../store/network-channels.ts'
import { type Network, findNetwork, insertNetwork } from '../store/networks.ts'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import type { FeedOffer } from './feed-product.ts'
import type { ImportTarget } from './target.ts'

/** Shops whose ids are kept at hand; a feed of marketplace sellers has many. */
const MAX_CACHED_SHOPS = 50_000

/** Networks of which it is told what becomes of their links. */
const MAX_NAMED_NETWORKS = 5

/** A shop in a network, as the tables know it, and the network channel whose offers they are. */
export type ShopIds = Readonly<{
  networkId: number
  networkChannelId: number
  /** Does the channel have it, so that its offers are shown? */
  isAssigned: boolean
  merchantId: number
  /** What the network makes a tracking link of a shop's page with; `null`: it cannot. */
  linkTemplate: string | null
}>

/** A shop as offers are written for it. Its `key` stands for all that the import found out about it. */
export type MetShop = ShopIds & Readonly<{ key: string; channelOfOffers: number }>

/** What tells shops apart. `isNamedByLink`: the shop is named after the host of a link. */
type ShopOffer = Pick<FeedOffer, 'network' | 'merchant' | 'merchantReference' | 'link'> &
  Readonly<{ isNamedByLink?: boolean | undefined }>

/** Networks by what becomes of links to the pages of shops: nothing, without a template, or tracking links. */
export type PageNetworks = Readonly<{ untracked: readonly string[]; byTemplate: readonly string[] }>

/** What an import tells of its shops. Of networks a few are named, if there are many. */
export type ShopsReport = Readonly<{
  pageNetworks: PageNetworks
  /** Networks whose offers nobody sees until the channel has their network channel again. */
  unassignedNetworks: readonly string[]
  /** Was a shop named after the host of its link, as the feed names none? */
  hasLinkMerchants: boolean
}>

/** The shops of a feed; those that were met stand in `import_shops`, with what the import replaces of theirs. */
export type Shops = Readonly<{
  /** Return the shop: network, network channel, merchant and approval are made where they are missing. */
  get(offer: ShopOffer): MetShop | Promise<MetShop>
  /** Was the shop with this key met? */
  hasMet(key: string): boolean
  report(): ShopsReport
}>

/** Begin with no shop at all. */
export async function createShops(database: Kysely<CatalogTables>, target: ImportTarget): Promise<Shops> {
  const cache = new Map<string, MetShop>()
  const keys = new Set<string>()
  const untracked = new Set<string>()
  const byTemplate = new Set<string>()
  const unassigned = new Set<string>()
  let hasLinkMerchants = false
  await database.deleteFrom('import_shops').execute()

  const meet = async (offer: ShopOffer): Promise<MetShop> => {
    const shop = toMetShop(await getOrMakeIds(database, target, offer), offer)
    await noteShop(database, shop)
    hasLinkMerchants ||= offer.isNamedByLink === true
    const named = shop.linkTemplate === null ? untracked : byTemplate
    if (offer.link === 'page' && named.size < MAX_NAMED_NETWORKS) named.add(offer.network)
    if (!shop.isAssigned && unassigned.size < MAX_NAMED_NETWORKS) unassigned.add(offer.network)
    if (cache.size >= MAX_CACHED_SHOPS) {
      cache.clear()
      keys.clear()
    }
    cache.set(nameShop(offer), shop)
    keys.add(shop.key)
    return shop
  }
  return {
    get: (offer) => cache.get(nameShop(offer)) ?? meet(offer),
    hasMet: (key) => keys.has(key),
    report: () => ({
      pageNetworks: { untracked: [...untracked], byTemplate: [...byTemplate] },
      unassignedNetworks: [...unassigned],
      hasLinkMerchants,
    }),
  }
}

function nameShop({ network, merchant, link, isNamedByLink }: ShopOffer): string {
  return `${isNamedByLink === true ? 'host' : link}\u0000${network}\u0000${merchant}`
}

/** Of a network with a template, offers are the shop's own pages, for every network channel. */
function toMetShop(ids: ShopIds, { link, isNamedByLink }: ShopOffer): MetShop {
  const { networkId, merchantId, networkChannelId, linkTemplate } = ids
  const channelOfOffers = link === 'page' && linkTemplate !== null ? PAGE_OF_SHOP : networkChannelId
  const kind = isNamedByLink === true ? 'h' : link.charAt(0)
  return { ...ids, channelOfOffers, key: `${kind}${networkId}.${merchantId}.${channelOfOffers}` }
}

/** A shop's pages stand for the links that the feed had of it before, too: the network may have got its template since. */
async function noteShop(database: Kysely<CatalogTables>, shop: MetShop): Promise<void> {
  const channels = new Set([shop.networkChannelId, shop.channelOfOffers])
  await database
    .insertInto('import_shops')
    .values(
      [...channels].map((channel) => ({
        network_id: shop.networkId,
        merchant_id: shop.merchantId,
        network_channel_id: channel,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function getOrMakeIds(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  offer: ShopOffer,
): Promise<ShopIds> {
  const network = await getOrMakeNetwork(database, offer.network)
  const networkChannel = await getOrMakeNetworkChannel(database, target, network.id)
  const networkChannelId = networkChannel.id
  const merchantId = await getOrMakeMerchant(database, offer.merchant)
  const { id: networkId } = network
  if (offer.merchantReference !== null)
    await setMerchantReference(database, { networkId, merchantId }, offer.merchantReference)
  // A revoked approval has a row: it stays revoked.
  await database
    .insertInto('approvals')
    .values({ network_channel_id: networkChannelId, merchant_id: merchantId, revoked_at_ms: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return {
    networkId,
    networkChannelId,
    isAssigned: networkChannel.isAssigned,
    merchantId,
    linkTemplate: network.linkTemplate,
  }
}

async function getOrMakeNetwork(database: Kysely<CatalogTables>, name: string): Promise<Network> {
  const known = await findNetwork(database, name)
  if (known !== undefined) return known
  const network = { name, linkTemplate: null }
  return { ...network, id: await insertNetwork(database, network) }
}

async function getOrMakeMerchant(database: Kysely<CatalogTables>, name: string): Promise<number> {
  const known = await findMerchant(database, name)
  return known?.id ?? insertMerchant(database, name)
}

type NetworkChannel = Readonly<{ id: number; isAssigned: boolean }>

/**
 * The channel's own; else one of the organization that serves no channel, which stays so: somebody has taken it away; else a
 * new one. An import cannot know the publisher's reference: the new one has none.
 */
async function getOrMakeNetworkChannel(
  database: Kysely<CatalogTables>,
  target: ImportTarget,
  networkId: number,
): Promise<NetworkChannel> {
  const known = await database
    .selectFrom('network_channels')
    .select(['id', 'channel_id'])
    .where('network_id', '=', networkId)
    .where('organization_id', '=', target.organizationId)
    .orderBy('id')
    .execute()
  const own = known.find((one) => one.channel_id === target.channelId)
  if (own !== undefined) return { id: own.id, isAssigned: true }
  const free = known.find((one) => one.channel_id === null)
  if (free !== undefined) return { id: free.id, isAssigned: false }
  const { organizationId, channelId } = target
  const id = await insertNetworkChannel(database, { organizationId, networkId, reference: '' })
  await setChannel(database, id, channelId)
  return { id, isAssigned: true }
}
