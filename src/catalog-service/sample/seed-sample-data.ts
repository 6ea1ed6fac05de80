import { sql } from 'kysely'
import { insertRows } from '../../database/dialect.ts'
import { upsertOffers, upsertProducts } from '../import/import-statements.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { insertChannel } from '../store/channels.ts'
import { insertMerchant } from '../store/merchants.ts'
import { findMeta, isCatalogEmpty, setMeta, removeSampleData, renewCatalogId } from '../store/meta.ts'
import { insertNetwork, insertNetworkChannel } from '../store/networks.ts'
import { getOrCreateOrganizationId } from '../store/organizations.ts'
import { type Catalog, SAMPLE_FEED_ID } from '../store/schema.ts'
import { getSampleData, includesName, toPageUrl, toPictureUrl } from './sample-data.ts'

/** Write sample data linking to `base`. Return `false` unless the catalog is empty or has sample data for another address. */
export async function seedSampleData(store: CatalogStore, base: string): Promise<boolean> {
  // Reading first needs no write lock: a server may start while an import runs.
  if (!(await store.read((reader) => shouldSeed(reader, base)))) return false
  return store.write(async (transaction) => {
    if (!(await shouldSeed(transaction, base))) return false
    await removeSampleData(transaction)
    await writeSampleData(transaction, base, store.clock.nowMs())
    return true
  })
}

async function shouldSeed(database: Catalog, base: string): Promise<boolean> {
  const storedBase = await findMeta(database, 'sample_base')
  return storedBase === undefined ? isCatalogEmpty(database) : storedBase !== base
}

async function writeSampleData(database: Catalog, base: string, nowMs: number): Promise<void> {
  const { networks, shops, channels, products } = getSampleData()
  const organizationId = await getOrCreateOrganizationId(database, nowMs)
  const networkIds = new Map<string, number>()
  for (const { name, query } of networks) {
    const linkTemplate = `${base}/demo/shop?network=${name.toLowerCase()}&${query}&url={url}`
    networkIds.set(name, await insertNetwork(database, { name, linkTemplate }))
  }
  const merchantIds = new Map<string, number>()
  for (const { name } of shops) merchantIds.set(name, await insertMerchant(database, name))
  for (const [index, channel] of channels.entries()) {
    // One millisecond apart, because channels are listed by creation time.
    await insertChannel(database, { ...channel, organizationId, createdAtMs: nowMs + index })
    const approved = [...merchantIds].filter(([shop]) => includesName(channel.shops, shop))
    for (const [network, networkId] of networkIds) {
      if (!includesName(channel.networks, network)) continue
      const reference = `${network.slice(0, 2).toLowerCase()}-${channel.id.slice(-4)}`
      const networkChannel = { organizationId, networkId, reference, channelId: channel.id }
      const network_channel_id = await insertNetworkChannel(database, networkChannel)
      const rows = approved.map(([, merchant_id]) => ({
        network_channel_id,
        merchant_id,
        revoked_at_ms: null,
      }))
      await insertRows(database, 'approvals', rows)
    }
  }
  const productRows = products.map(({ gtin, title, brand, picture }) => {
    const images = JSON.stringify(picture === undefined ? [] : [toPictureUrl(base, picture)])
    return { gtin, feed_id: SAMPLE_FEED_ID, title, brand, images, source: null, import_id: null }
  })
  await upsertProducts(database, productRows)
  const offerRows = products.flatMap(({ gtin, offers }) =>
    offers.map((offer) => {
      const { network, shop, currency, price, oldPrice = null, availability = 'in_stock' } = offer
      return {
        gtin,
        feed_id: SAMPLE_FEED_ID,
        network_id: networkIds.get(network) ?? 0,
        merchant_id: merchantIds.get(shop) ?? 0,
        network_channel_id: 0,
        is_page: 1,
        currency,
        variant: 0,
        price,
        old_price: oldPrice,
        availability,
        url: toPageUrl(gtin, offer),
        sale_starts_ms: null,
        sale_ends_ms: null,
        checked_ms: null,
        import_id: null,
      }
    }),
  )
  await upsertOffers(database, offerRows)
  await sql`
    insert into feed_shops (feed_id, network_id, merchant_id, network_channel_id, is_page)
    select distinct feed_id, network_id, merchant_id, network_channel_id, is_page from offers`.execute(
    database,
  )
  await setMeta(database, 'sample_base', base)
  await renewCatalogId(database)
}
