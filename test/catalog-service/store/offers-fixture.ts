import { type Kysely, sql } from 'kysely'
import { type CatalogTables, SAMPLE_FEED_ID } from '../../../src/catalog-service/store/schema.ts'

/** The channel that may show the merchants 1 and 2. */
export const CHANNEL = '952a0000-0000-4000-8000-0000000000c1'
/** The channel that may show all of them. */
export const OTHER_CHANNEL = '952a0000-0000-4000-8000-0000000000c2'
const TEMPLATE = 'https://net.example/c?m={merchant}&p={publisher}&u={url}'

/** Value of `networkChannel` for a shop's page. */
export const NO_NETWORK_CHANNEL = 0

/** An offer by ids; `networkChannel`: of its tracking link, or `NO_NETWORK_CHANNEL`. */
export type OfferSpec = Readonly<{
  gtin: number
  network: number
  merchant: number
  networkChannel: number
  currency?: string
}>

/** Pad a number to a GTIN; its check digit is not validated. */
export const toGtin = (number: number): string => String(number).padStart(14, '0')

/**
 * Two channels of one organization. Network 1 has a template, network 2 none; the first channel has network channel n in
 * network n, the second one n + 10. Merchants 1 to 4; the first channel is approved for 1 and 2 only, the second for all.
 */
export async function insertAccounts(writer: Kysely<CatalogTables>): Promise<void> {
  await writer
    .insertInto('organizations')
    .values({ id: 'o', name: 'O', daily_limit: null, created_at_ms: 0 })
    .execute()
  for (const id of [CHANNEL, OTHER_CHANNEL]) {
    const channel = {
      id,
      organization_id: 'o',
      name: id,
      kind: 'website',
      url: null,
      created_at_ms: 0,
    } as const
    await writer.insertInto('channels').values(channel).execute()
  }
  for (const id of [1, 2]) {
    const link_template = id === 1 ? TEMPLATE : null
    await writer
      .insertInto('networks')
      .values({ id, name: `N${id}`, link_template })
      .execute()
    for (const [index, channel_id] of [CHANNEL, OTHER_CHANNEL].entries()) {
      const networkChannel = { id: id + 10 * index, organization_id: 'o', network_id: id, channel_id }
      await writer
        .insertInto('network_channels')
        .values({ ...networkChannel, reference: `pub-${networkChannel.id}` })
        .execute()
    }
  }
  for (const id of [1, 2, 3, 4]) {
    await writer
      .insertInto('merchants')
      .values({ id, name: `M${id}` })
      .execute()
    for (const network_channel_id of id <= 2 ? [1, 2, 11, 12] : [11, 12])
      await writer
        .insertInto('approvals')
        .values({ network_channel_id, merchant_id: id, revoked_at_ms: null })
        .execute()
  }
}

/** Replace all offers and products. */
export async function replaceOffers(
  writer: Kysely<CatalogTables>,
  offers: readonly OfferSpec[],
): Promise<void> {
  await writer.deleteFrom('offers').execute()
  await writer.deleteFrom('products').execute()
  await writer.deleteFrom('feed_shops').execute()
  const gtins = [...new Set(offers.map(({ gtin }) => toGtin(gtin)))]
  for (const gtin of gtins)
    await writer
      .insertInto('products')
      .values({ gtin, feed_id: SAMPLE_FEED_ID, title: gtin, brand: null, images: '[]' })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  for (const { gtin, network, merchant, networkChannel, currency = 'EUR' } of offers)
    await writer
      .insertInto('offers')
      .values({
        gtin: toGtin(gtin),
        feed_id: SAMPLE_FEED_ID,
        is_page: networkChannel === NO_NETWORK_CHANNEL ? 1 : 0,
        network_id: network,
        merchant_id: merchant,
        network_channel_id: networkChannel,
        currency,
        // A page and a tracking link have different addresses in feeds.
        variant: networkChannel,
        price: '1',
        availability: 'in_stock',
        url: `https://shop.example/${merchant}`,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  await sql`
    insert into feed_shops (feed_id, network_id, merchant_id, network_channel_id, is_page)
    select distinct feed_id, network_id, merchant_id, network_channel_id, is_page from offers`.execute(writer)
}
