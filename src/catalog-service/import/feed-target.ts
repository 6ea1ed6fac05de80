import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { sql } from 'kysely'
import { uuid } from 'zod'
import { UsageError } from '../../errors.ts'
import { insertChannel } from '../store/channels.ts'
import { type Feed, findFeed } from '../store/feeds.ts'
import { findMerchant, insertMerchant, setMerchantReference } from '../store/merchants.ts'
import { isSampleOnly, removeSampleData } from '../store/meta.ts'
import { findNetwork, insertNetwork, insertNetworkChannel } from '../store/networks.ts'
import { getOrCreateOrganizationId } from '../store/organizations.ts'
import type { Catalog, CatalogTables } from '../store/schema.ts'
import type { FeedOffer } from './feed-row.ts'
import type { ImportRun } from './import-statements.ts'

export type ImportTarget = Readonly<{
  organizationId: string
  channelId: string
  replacedSample: boolean
}>

/**
 * Find the channel of an import: by id, or else the catalog's only one. Remove sample data first, but keep its organization,
 * which a running server's internal key uses. A catalog without channels gets a website channel.
 * @throws UsageError when the channel is unknown, or when there are several and no id is given.
 */
export async function prepareTarget(
  database: Catalog,
  options: Readonly<{ channelId: string | undefined; nowMs: number }>,
): Promise<ImportTarget> {
  const channelId = parseChannelId(options.channelId)
  const replacedSample = await isSampleOnly(database)
  if (replacedSample) await removeSampleData(database)
  const organizationId = await getOrCreateOrganizationId(database, options.nowMs)
  const { rows: channels } = await sql<Pick<CatalogTables['channels'], 'id' | 'organization_id'>>`
    select id, organization_id from channels order by id`.execute(database)
  const isOnlyChannel = channelId === undefined && channels.length === 1
  const existing = isOnlyChannel ? channels[0] : channels.find(({ id }) => id === channelId)
  if (existing !== undefined)
    return { organizationId: existing.organization_id, channelId: existing.id, replacedSample }
  const ids = channels.map(({ id }) => id).join(', ')
  if (ids !== '' && channelId === undefined)
    throw new UsageError(`name the channel with --channel; the catalog has ${ids}`)
  if (ids !== '') throw new UsageError(`--channel: there is no such channel; the catalog has ${ids}`)
  const id = channelId ?? randomUUID()
  const channel = { id, name: 'My website', kind: 'website', url: null } as const
  await insertChannel(database, { ...channel, organizationId, createdAtMs: options.nowMs })
  return { organizationId, channelId: id, replacedSample }
}

function parseChannelId(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const id = uuid().safeParse(text)
  if (!id.success) throw new UsageError('--channel accepts the id of a channel, a uuid')
  return id.data.toLowerCase()
}

const MAX_CACHED_SHOPS = 50_000

const MAX_REPORTED_NETWORKS = 5

export type Shop = Readonly<{
  networkId: number
  merchantId: number
  networkChannelId: number
  linkTemplate: string | null
  /** Identifies the ids above and the kind of link. */
  key: string
}>

type ShopOffer = Pick<FeedOffer, 'network' | 'merchant' | 'merchantReference' | 'link'> &
  Readonly<{ isNamedByHost?: boolean | undefined }>

/** Facts about the shops for the summary of an import. At most `MAX_REPORTED_NETWORKS` networks are named. */
export type ShopReport = Readonly<{
  /** Networks with links to shop pages: without a link template (`untracked`) or with one (`byTemplate`). */
  pageNetworks: Readonly<{ untracked: readonly string[]; byTemplate: readonly string[] }>
  /** Networks whose offers stay hidden until the channel is assigned to their network channel. */
  unassignedNetworks: readonly string[]
  hasLinkMerchants: boolean
}>

/** The shops of a feed. `feed_shops` records them. */
export type ShopRegistry = ReturnType<typeof createShopRegistry>

export function createShopRegistry(database: Catalog, target: ImportTarget, run: ImportRun) {
  const shopsByName = new Map<string, Shop>()
  const shopKeys = new Set<string>()
  const untracked = new Set<string>()
  const byTemplate = new Set<string>()
  const unassigned = new Set<string>()
  let hasLinkMerchants = false

  const resolveShop = async (offer: ShopOffer): Promise<Shop> => {
    const { shop, isAssigned } = await findOrCreateShop(database, { target, run }, offer)
    hasLinkMerchants ||= offer.isNamedByHost === true
    const networkNames = shop.linkTemplate === null ? untracked : byTemplate
    if (offer.link === 'page' && networkNames.size < MAX_REPORTED_NETWORKS) networkNames.add(offer.network)
    if (!isAssigned && unassigned.size < MAX_REPORTED_NETWORKS) unassigned.add(offer.network)
    if (shopsByName.size >= MAX_CACHED_SHOPS) {
      shopsByName.clear()
      shopKeys.clear()
    }
    shopsByName.set(toShopName(offer), shop)
    shopKeys.add(shop.key)
    return shop
  }
  return {
    /** Return the shop. Create network, network channel, merchant and approval when they are missing. */
    get: (offer: ShopOffer): Shop | Promise<Shop> => shopsByName.get(toShopName(offer)) ?? resolveShop(offer),
    hasShop: (key: string): boolean => shopKeys.has(key),
    report: (): ShopReport => ({
      pageNetworks: { untracked: [...untracked], byTemplate: [...byTemplate] },
      unassignedNetworks: [...unassigned],
      hasLinkMerchants,
    }),
  }
}

/** `t`: tracking links; `p`: shop pages; `h`: pages of a shop that is named after their host. */
function toShopKind({ link, isNamedByHost }: ShopOffer): string {
  return isNamedByHost === true ? 'h' : link === 'page' ? 'p' : 't'
}

/** Offers with a reference have their own name: the first offers of a shop may have none. */
function toShopName(offer: ShopOffer): string {
  const name = `${toShopKind(offer)}\u0000${offer.network}\u0000${offer.merchant}`
  return offer.merchantReference === null ? name : `${name}\u0000`
}

async function findOrCreateShop(
  database: Catalog,
  { target, run }: Readonly<{ target: ImportTarget; run: ImportRun }>,
  offer: ShopOffer,
) {
  const network = await findNetwork(database, offer.network)
  const linkTemplate = network?.linkTemplate ?? null
  const networkId = network?.id ?? (await insertNetwork(database, { name: offer.network, linkTemplate }))
  const { id: networkChannelId, isAssigned } = await findOrCreateNetworkChannel(database, target, networkId)
  const merchant = await findMerchant(database, offer.merchant)
  const merchantId = merchant?.id ?? (await insertMerchant(database, offer.merchant))
  if (offer.merchantReference !== null)
    await setMerchantReference(database, { networkId, merchantId }, offer.merchantReference)
  // A revoked approval has a row, so it stays revoked.
  await sql`
    insert into approvals (network_channel_id, merchant_id) values (${networkChannelId}, ${merchantId})
    on conflict do nothing`.execute(database)
  await sql`
    insert into feed_shops (feed_id, network_id, merchant_id, network_channel_id, is_page, import_id)
    values (${run.feedId}, ${networkId}, ${merchantId}, ${networkChannelId}, ${toIsPage(offer)}, ${run.importId})
    on conflict (feed_id, network_id, merchant_id, network_channel_id, is_page)
    do update set import_id = excluded.import_id`.execute(database)
  const key = `${toShopKind(offer)}${networkId}.${merchantId}.${networkChannelId}`
  const shop: Shop = { networkId, merchantId, networkChannelId, linkTemplate, key }
  return { shop, isAssigned }
}

/** Return the value of the column `is_page`. */
export function toIsPage({ link }: Pick<FeedOffer, 'link'>): number {
  return link === 'page' ? 1 : 0
}

/** Find the channel's, else an unassigned one (it stays unassigned: that may be deliberate), else create one. */
async function findOrCreateNetworkChannel(
  database: Catalog,
  target: ImportTarget,
  networkId: number,
): Promise<{ id: number; isAssigned: boolean }> {
  const { organizationId, channelId } = target
  const { rows } = await sql<{ id: number; channelId: string | null }>`
    select id, channel_id as "channelId" from network_channels
    where network_id = ${networkId} and organization_id = ${organizationId} order by id`.execute(database)
  const assigned = rows.find((row) => row.channelId === channelId)
  if (assigned !== undefined) return { id: assigned.id, isAssigned: true }
  const unassigned = rows.find((row) => row.channelId === null)
  if (unassigned !== undefined) return { id: unassigned.id, isAssigned: false }
  const id = await insertNetworkChannel(database, { organizationId, networkId, reference: '', channelId })
  return { id, isAssigned: true }
}

export const FEED_NAME: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/i

const FEED_NAME_RULE =
  'a name of a feed has at most 64 letters, digits, dots, hyphens and underscores, and begins with a letter or digit'

/** Endings of file names that say nothing about the feed. */
const FILE_ENDINGS = /(?:\.(?:gz|zip|csv|tsv|txt|xml|json|jsonl|ndjson))+$/i

const MAX_NAME_CHARACTERS = 60

/** @throws UsageError when the name is not usable. */
export function parseFeedName(text: string): string {
  if (!FEED_NAME.test(text)) throw new UsageError(FEED_NAME_RULE)
  return text
}

export function hasFeedEnding(path: string): boolean {
  return FILE_ENDINGS.test(path)
}

/** Name a feed after its file: `data/Shop A.csv.gz` gives `Shop-A`. */
export function toFeedName(path: string): string {
  const name = basename(path)
    .replace(FILE_ENDINGS, '')
    .replace(/[^a-z0-9._-]+/gi, '-')
    .replace(/^[^a-z0-9]+|-+$/gi, '')
    .slice(0, MAX_NAME_CHARACTERS)
  return name === '' ? 'feed' : name
}

/**
 * Find the feed that an import by a command replaces, or a free name for a new one. A name that was derived from a file gets a
 * number when another channel or a feed with an address has it.
 * @throws UsageError when the name was chosen and belongs to another channel.
 */
export async function findFeedForImport(
  database: Catalog,
  channelId: string,
  { name, isNameChosen }: Readonly<{ name: string; isNameChosen: boolean }>,
): Promise<Readonly<{ name: string; existing: Feed | undefined }>> {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`
    const existing = await findFeed(database, candidate)
    if (existing === undefined) return { name: candidate, existing }
    const isOfChannel = existing.channelId === channelId
    if (isOfChannel && (isNameChosen || existing.url === null)) return { name: candidate, existing }
    if (isNameChosen && existing.channelId === null)
      throw new UsageError(
        `the channel of the feed ${name} was removed; choose another one with "vitrine catalog feeds set ${name} --channel ID"`,
      )
    if (isNameChosen)
      throw new UsageError(`the feed ${name} belongs to another channel; choose another name with --feed`)
  }
}
