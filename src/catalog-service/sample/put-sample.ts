import type { Kysely } from 'kysely'
import {
  findMeta,
  isCatalogEmpty,
  isSampleOnly,
  putMeta,
  removeSampleData,
  renewCatalogId,
} from '../store/meta.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { getOrMakeOrganizationId } from '../store/organizations.ts'
import { type CatalogTables, PAGE_OF_SHOP } from '../store/schema.ts'
import { makePictureUrl } from './listing.ts'
import { formatCents, getSampleOffers, makePageUrl } from './offers.ts'
import { SAMPLE_PRODUCTS, SHOWCASE_GTIN } from './products/all.ts'
import {
  SAMPLE_CHANNELS,
  SAMPLE_NETWORKS,
  SAMPLE_SHOPS,
  type SampleChannel,
  makeLinkTemplate,
} from './shops.ts'

/** Rows of one INSERT: with eight values each, below SQLite's limit of variables in any version. */
const ROWS_AT_ONCE = 100

/** What the studio shows first: a box that looks good, and the channel that has every offer. */
export const SAMPLE_SHOWCASE: Readonly<{ channelId: string; gtin: string }> = {
  channelId: SAMPLE_CHANNELS[0].id,
  gtin: SHOWCASE_GTIN,
}

/**
 * Fills an empty catalog with sample data whose pictures and links lead to `base`, the public address of the widget
 * server, without a slash at its end. Answers `false`, and changes nothing, when the catalog is not empty.
 */
export async function putSampleData(store: CatalogStore, base: string): Promise<boolean> {
  // Looking needs no turn: a server starts while an import runs.
  if (!(await isCatalogEmpty(store.reader))) return false
  return store.write(async (transaction) => {
    if (!(await isCatalogEmpty(transaction))) return false
    await writeSample(transaction, { base, nowMs: store.clock.nowMs() })
    return true
  })
}

/**
 * Makes the sample data again when the catalog holds only sample data, made for another address: the catalog then has
 * a new id. Answers `false`, and changes nothing, in every other case.
 */
export async function refreshSampleData(store: CatalogStore, base: string): Promise<boolean> {
  if (!(await isSampleOfElsewhere(store.reader, base))) return false
  return store.write(async (transaction) => {
    if (!(await isSampleOfElsewhere(transaction, base))) return false
    await removeSampleData(transaction)
    await writeSample(transaction, { base, nowMs: store.clock.nowMs() })
    return true
  })
}

async function isSampleOfElsewhere(database: Kysely<CatalogTables>, base: string): Promise<boolean> {
  return (await isSampleOnly(database)) && (await findMeta(database, 'sample_base')) !== base
}

type SampleOptions = Readonly<{ base: string; nowMs: number }>

async function writeSample(database: Kysely<CatalogTables>, options: SampleOptions): Promise<void> {
  const organizationId = await getOrMakeOrganizationId(database, options.nowMs)
  const networkIds = await writeNetworks(database, options.base)
  const merchantIds = await writeMerchants(database)
  for (const [index, channel] of SAMPLE_CHANNELS.entries()) {
    await writeChannel(database, channel, {
      organizationId,
      createdAtMs: options.nowMs + index,
      networkIds,
      merchantIds,
    })
  }
  await writeProducts(database, options.base)
  await writeOffers(database, networkIds, merchantIds)
  await putMeta(database, 'sample_base', options.base)
  await renewCatalogId(database)
}

type Ids = ReadonlyMap<string, number>

async function writeNetworks(database: Kysely<CatalogTables>, base: string): Promise<Ids> {
  const rows = await database
    .insertInto('networks')
    .values(
      SAMPLE_NETWORKS.map((network) => ({
        name: network.name,
        link_template: makeLinkTemplate(network, base),
      })),
    )
    .returning(['id', 'name'])
    .execute()
  return new Map(rows.map((row) => [row.name, row.id]))
}

async function writeMerchants(database: Kysely<CatalogTables>): Promise<Ids> {
  const rows = await database
    .insertInto('merchants')
    .values(SAMPLE_SHOPS.map((shop) => ({ name: shop.name })))
    .returning(['id', 'name'])
    .execute()
  return new Map(rows.map((row) => [row.name, row.id]))
}

type ChannelOptions = Readonly<{
  organizationId: string
  /** A millisecond apart: channels are listed in this order. */
  createdAtMs: number
  networkIds: Ids
  merchantIds: Ids
}>

async function writeChannel(
  database: Kysely<CatalogTables>,
  channel: SampleChannel,
  options: ChannelOptions,
): Promise<void> {
  const { organizationId, createdAtMs, networkIds, merchantIds } = options
  const { id, name, kind, url } = channel
  await database
    .insertInto('channels')
    .values({ id, organization_id: organizationId, name, kind, url, created_at_ms: createdAtMs })
    .execute()
  for (const [network, networkId] of networkIds) {
    if (!isAmong(channel.networks, network)) continue
    const reference = `${network.slice(0, 2).toLowerCase()}-${id.slice(-4)}`
    const made = await database
      .insertInto('network_channels')
      .values({ organization_id: organizationId, network_id: networkId, reference, channel_id: id })
      .returning('id')
      .executeTakeFirstOrThrow()
    const approved = [...merchantIds].filter(([shop]) => isAmong(channel.shops, shop))
    await database
      .insertInto('approvals')
      .values(
        approved.map(([, merchantId]) => ({
          network_channel_id: made.id,
          merchant_id: merchantId,
          revoked_at_ms: null,
        })),
      )
      .execute()
  }
}

function isAmong(names: readonly string[] | 'all', name: string): boolean {
  return names === 'all' || names.includes(name)
}

async function writeProducts(database: Kysely<CatalogTables>, base: string): Promise<void> {
  const rows = SAMPLE_PRODUCTS.map(({ gtin, title, brand, pictureName }) => ({
    gtin,
    title,
    brand,
    images: JSON.stringify(pictureName === null ? [] : [makePictureUrl(base, pictureName)]),
  }))
  for (const chunk of toChunks(rows)) await database.insertInto('products').values(chunk).execute()
}

async function writeOffers(
  database: Kysely<CatalogTables>,
  networkIds: Ids,
  merchantIds: Ids,
): Promise<void> {
  const rows = getSampleOffers().map((offer) => ({
    gtin: offer.product.gtin,
    network_id: networkIds.get(offer.network) ?? 0,
    merchant_id: merchantIds.get(offer.shop.name) ?? 0,
    network_channel_id: PAGE_OF_SHOP,
    variant: 0,
    price: formatCents(offer.priceCents),
    old_price: offer.oldPriceCents === null ? null : formatCents(offer.oldPriceCents),
    currency: offer.currency,
    availability: offer.availability,
    url: makePageUrl(offer),
  }))
  for (const chunk of toChunks(rows)) await database.insertInto('offers').values(chunk).execute()
}

function toChunks<T>(rows: readonly T[]): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    chunks.push(rows.slice(start, start + ROWS_AT_ONCE))
  return chunks
}
