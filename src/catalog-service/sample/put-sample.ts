import { OFFERS, PRODUCTS, writeRows } from '../import/batch.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { insertChannel } from '../store/channels.ts'
import { insertMerchant } from '../store/merchants.ts'
import { findMeta, isCatalogEmpty, putMeta, removeSampleData, renewCatalogId } from '../store/meta.ts'
import { insertNetwork, insertNetworkChannel } from '../store/networks.ts'
import { getOrMakeOrganizationId } from '../store/organizations.ts'
import { type Catalog, PAGE_OF_SHOP } from '../store/schema.ts'
import { getSample, toPageUrl, toPictureUrl } from './sample-data.ts'

/**
 * Put sample data into a catalog that is empty, or that holds only sample data made for another address: the catalog then has a
 * new id. Pictures and links lead to `base`, the public address of the widget server, without a slash at its end. Return
 * `false`, and change nothing, for any other catalog.
 */
export async function putSampleData(store: CatalogStore, base: string): Promise<boolean> {
  // Reading first needs no write lock: a server may start while an import runs.
  if (!(await needsSample(store.reader, base))) return false
  return store.write(async (transaction) => {
    if (!(await needsSample(transaction, base))) return false
    await removeSampleData(transaction)
    await writeSample(transaction, base, store.clock.nowMs())
    return true
  })
}

async function needsSample(database: Catalog, base: string): Promise<boolean> {
  const madeFor = await findMeta(database, 'sample_base')
  return madeFor === undefined ? isCatalogEmpty(database) : madeFor !== base
}

async function writeSample(database: Catalog, base: string, nowMs: number): Promise<void> {
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
    const approved = [...merchantIds].filter(([shop]) => isAmong(channel.shops, shop))
    for (const [network, networkId] of networkIds) {
      if (!isAmong(channel.networks, network)) continue
      const reference = `${network.slice(0, 2).toLowerCase()}-${channel.id.slice(-4)}`
      const made = { organizationId, networkId, reference, channelId: channel.id }
      const network_channel_id = await insertNetworkChannel(database, made)
      const rows = approved.map(([, merchant_id]) => ({
        network_channel_id,
        merchant_id,
        revoked_at_ms: null,
      }))
      await database.insertInto('approvals').values(rows).execute()
    }
  }
  const productRows = products.map(({ gtin, title, brand, picture }) => {
    const images = picture === undefined ? [] : [toPictureUrl(base, picture)]
    return [gtin, title, brand, JSON.stringify(images), null] as const
  })
  await writeRows(database, PRODUCTS, null, productRows)
  const offerRows = products.flatMap(({ gtin, offers }) =>
    offers.map((offer) => {
      const { network, shop, currency, price, oldPrice = null, availability = 'in_stock' } = offer
      const ids = [networkIds.get(network) ?? 0, merchantIds.get(shop) ?? 0, PAGE_OF_SHOP] as const
      return [gtin, ...ids, currency, 0, price, oldPrice, availability, toPageUrl(gtin, offer)] as const
    }),
  )
  await writeRows(database, OFFERS, null, offerRows)
  await putMeta(database, 'sample_base', base)
  await renewCatalogId(database)
}

function isAmong(names: readonly string[] | 'all', name: string): boolean {
  return names === 'all' || names.includes(name)
}
