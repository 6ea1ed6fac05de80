import { insertChannel } from '../store/channels.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { insertMerchant } from '../store/merchants.ts'
import {
  findMeta,
  isCatalogEmpty,
  isSampleOnly,
  putMeta,
  removeSampleData,
  renewCatalogId,
} from '../store/meta.ts'
import { insertNetwork, insertNetworkChannel, setChannel } from '../store/networks.ts'
import { getOrMakeOrganizationId } from '../store/organizations.ts'
import { type Catalog, PAGE_OF_SHOP } from '../store/schema.ts'
import { type Sample, type SampleChannel, getSample, toPageUrl, toPictureUrl } from './sample-data.ts'

/** Rows of one INSERT: with ten values each, below SQLite's limit of variables in any version. */
const ROWS_PER_INSERT = 90

/**
 * Fill an empty catalog with sample data whose pictures and links lead to `base`, the public address of the widget
 * server, without a slash at its end. Return `false`, and change nothing, when the catalog is not empty.
 */
export async function putSampleData(store: CatalogStore, base: string): Promise<boolean> {
  // Reading first needs no write lock: a server may start while an import runs.
  if (!(await isCatalogEmpty(store.reader))) return false
  return store.write(async (transaction) => {
    if (!(await isCatalogEmpty(transaction))) return false
    await writeSample(transaction, { base, nowMs: store.clock.nowMs() })
    return true
  })
}

/**
 * Make the sample data again when the catalog holds only sample data, made for another address: the catalog then has
 * a new id. Return `false`, and change nothing, in every other case.
 */
export async function refreshSampleData(store: CatalogStore, base: string): Promise<boolean> {
  if (!(await isSampleOfOtherBase(store.reader, base))) return false
  return store.write(async (transaction) => {
    if (!(await isSampleOfOtherBase(transaction, base))) return false
    await removeSampleData(transaction)
    await writeSample(transaction, { base, nowMs: store.clock.nowMs() })
    return true
  })
}

async function isSampleOfOtherBase(database: Catalog, base: string): Promise<boolean> {
  return (await isSampleOnly(database)) && (await findMeta(database, 'sample_base')) !== base
}

type SampleOptions = Readonly<{ base: string; nowMs: number }>

type Ids = ReadonlyMap<string, number>

async function writeSample(database: Catalog, { base, nowMs }: SampleOptions): Promise<void> {
  const { networks, shops, channels, products } = getSample()
  const organizationId = await getOrMakeOrganizationId(database, nowMs)
  const networkIds = new Map<string, number>()
  for (const { name, query } of networks) {
    const linkTemplate = `${base}/demo/shop?network=${name.toLowerCase()}&${query}&url={url}`
    networkIds.set(name, await insertNetwork(database, { name, linkTemplate }))
  }
  const merchantIds = new Map<string, number>()
  for (const { name } of shops) merchantIds.set(name, await insertMerchant(database, name))
  for (const [index, channel] of channels.entries()) {
    // A millisecond apart: channels are listed in this order.
    await insertChannel(database, { ...channel, organizationId, createdAtMs: nowMs + index })
    await approve(database, channel, { organizationId, networkIds, merchantIds })
  }
  await writeProducts(database, products, base)
  await writeOffers(database, products, { networkIds, merchantIds })
  await putMeta(database, 'sample_base', base)
  await renewCatalogId(database)
}

type ApproveOptions = Readonly<{ organizationId: string; networkIds: Ids; merchantIds: Ids }>

async function approve(
  database: Catalog,
  channel: SampleChannel,
  { organizationId, networkIds, merchantIds }: ApproveOptions,
): Promise<void> {
  for (const [network, networkId] of networkIds) {
    if (!isAmong(channel.networks, network)) continue
    const reference = `${network.slice(0, 2).toLowerCase()}-${channel.id.slice(-4)}`
    const id = await insertNetworkChannel(database, { organizationId, networkId, reference })
    await setChannel(database, id, channel.id)
    const rows = [...merchantIds]
      .filter(([shop]) => isAmong(channel.shops, shop))
      .map(([, merchantId]) => ({ network_channel_id: id, merchant_id: merchantId, revoked_at_ms: null }))
    await database.insertInto('approvals').values(rows).execute()
  }
}

function isAmong(names: readonly string[] | 'all', name: string): boolean {
  return names === 'all' || names.includes(name)
}

async function writeProducts(database: Catalog, products: Sample['products'], base: string): Promise<void> {
  const rows = products.map(({ gtin, title, brand, picture }) => ({
    gtin,
    title,
    brand,
    images: JSON.stringify(picture === undefined ? [] : [toPictureUrl(base, picture)]),
  }))
  for (const chunk of toChunks(rows)) await database.insertInto('products').values(chunk).execute()
}

async function writeOffers(
  database: Catalog,
  products: Sample['products'],
  { networkIds, merchantIds }: Readonly<{ networkIds: Ids; merchantIds: Ids }>,
): Promise<void> {
  const rows = products.flatMap(({ gtin, offers }) =>
    offers.map((offer) => ({
      gtin,
      network_id: networkIds.get(offer.network) ?? 0,
      merchant_id: merchantIds.get(offer.shop) ?? 0,
      network_channel_id: PAGE_OF_SHOP,
      variant: 0,
      price: offer.price,
      old_price: offer.oldPrice ?? null,
      currency: offer.currency,
      availability: offer.availability ?? 'in_stock',
      url: toPageUrl(gtin, offer),
    })),
  )
  for (const chunk of toChunks(rows)) await database.insertInto('offers').values(chunk).execute()
}

function toChunks<T>(rows: readonly T[]): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT)
    chunks.push(rows.slice(start, start + ROWS_PER_INSERT))
  return chunks
}
