import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../database/postgres.ts'
import { findMerchant, insertMerchant, setMerchantReference } from '../store/merchants.ts'
import {
  type Network,
  findNetwork,
  insertNetwork,
  insertNetworkChannel,
  setChannel,
} from '../store/networks.ts'
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

/** What tells shops apart. */
type ShopOffer = Pick<FeedOffer, 'network' | 'merchant' | 'merchantReference' | 'link'>

/** The shops of a feed; those that were met stand in `import_shops`, with what the import replaces of theirs. */
export type Shops = Readonly<{
  /** The ids of a shop that was met a while ago. */
  find(offer: ShopOffer): ShopIds | undefined
  /** The ids of any shop: network, network channel, merchant and approval are made where they are missing. */
  make(offer: ShopOffer): Promise<ShopIds>
  /** Networks that have pages of shops; a few of them, if there are many. */
  listPageNetworks(): PageNetworks
  /** Networks whose offers nobody sees until the channel has their network channel again; a few of them. */
  listUnassigned(): readonly string[]
}>

/** Networks by what becomes of links to the pages of shops: nothing, without a template, or tracking links. */
export type PageNetworks = Readonly<{ untracked: readonly string[]; byTemplate: readonly string[] }>

/** Begins with no shop at all. */
export async function createShops(database: Kysely<CatalogTables>, target: ImportTarget): Promise<Shops> {
  const cache = new Map<string, ShopIds>()
  const untracked = new Set<string>()
  const byTemplate = new Set<string>()
  const unassigned = new Set<string>()
  await beginShops(database)
  return {
    find: (offer) => cache.get(nameShop(offer)),
    async make(offer) {
      const ids = await getOrMakeIds(database, target, offer)
      await noteShop(database, ids, offer.link === 'page' && ids.linkTemplate !== null)
      const named = ids.linkTemplate === null ? untracked : byTemplate
      if (offer.link === 'page' && named.size < MAX_NAMED_NETWORKS) named.add(offer.network)
      if (!ids.isAssigned && unassigned.size < MAX_NAMED_NETWORKS) unassigned.add(offer.network)
      if (cache.size >= MAX_CACHED_SHOPS) cache.clear()
      cache.set(nameShop(offer), ids)
      return ids
    },
    listUnassigned: () => [...unassigned],
    listPageNetworks: () => ({ untracked: [...untracked], byTemplate: [...byTemplate] }),
  }
}

/** Of a server the table is the one of whoever writes: it holds what the import before this one met. */
async function beginShops(database: Kysely<CatalogTables>): Promise<void> {
  if (isPostgres(database)) return void (await sql`delete from import_shops`.execute(database))
  await sql`drop table if exists temp.import_shops`.execute(database)
  await sql`
    create temp table import_shops (network_id integer not null, merchant_id integer not null,
      network_channel_id integer not null, primary key (network_id, merchant_id, network_channel_id)) without rowid`.execute(
    database,
  )
}

function nameShop({ network, merchant, link }: ShopOffer): string {
  return `${link}\u0000${network}\u0000${merchant}`
}

/** A shop's pages stand for the links that the feed had of it before, too: the network may have got its template since. */
async function noteShop(database: Kysely<CatalogTables>, ids: ShopIds, isPage: boolean): Promise<void> {
  for (const channel of isPage ? [ids.networkChannelId, PAGE_OF_SHOP] : [ids.networkChannelId])
    await sql`insert into import_shops (network_id, merchant_id, network_channel_id)
      values (${ids.networkId}, ${ids.merchantId}, ${channel}) on conflict do nothing`.execute(database)
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
