import createClient from 'openapi-fetch'
import type { paths } from './made/openapi-typescript'
import type { Visit } from './visit'

export const visit: Visit = async ({ baseUrl, channel, gtin }) => {
  const client = createClient<paths>({ baseUrl })
  const boxPath = '/data/{channel}/where-to-buy/{gtin}'
  const { data: box } = await client.GET(boxPath, { params: { path: { channel, gtin } } })
  if (box?.state !== 'shown') throw new Error(box?.reason)

  const query = { merchant: ['nobody', 'no one'] }
  const { data: hidden } = await client.GET(boxPath, { params: { path: { channel, gtin }, query } })

  const { data: deals } = await client.GET('/data/{channel}/deals', {
    params: { path: { channel }, query: { limit: 2, sort: 'price' } },
  })
  if (deals?.state !== 'shown') throw new Error(deals?.reason)

  const gtins = [gtin, ...deals.deals.slice(0, 1).map((deal) => deal.gtin)]
  const { data: picks } = await client.GET('/data/{channel}/picks/{gtins}', {
    params: { path: { channel, gtins }, query: { label: ['Best overall', ''] } },
  })
  if (picks?.state !== 'shown') throw new Error(picks?.reason)

  const unknown = await client.GET(boxPath, { params: { path: { channel: UNKNOWN_CHANNEL, gtin } } })
  const url = `${baseUrl}/embeds/${channel}/where-to-buy/${gtin}`
  const { data: oembed } = await client.GET('/oembed', { params: { query: { url } } })
  return {
    box: {
      title: box.product.title,
      merchants: [...box.offers, ...box.moreOffers].map(({ merchant }) => merchant.name),
      hasPrices: box.offers.every(({ price }) => price !== null && Number(price.amount) > 0),
    },
    hidden: hidden?.state === 'hidden' ? hidden.reason : '',
    picks: picks.products.map((product) => product.gtin),
    discounts: deals.deals.map(({ offer }) => offer.price?.reference?.discountPercent ?? 0),
    hasNextPage: deals.nextPage !== null,
    unknown: [unknown.response.status, unknown.error?.state ?? ''],
    oembedType: typeof oembed === 'object' ? oembed.type : '',
  }
}

const UNKNOWN_CHANNEL = '952a0000-0000-4000-8000-0000000000ff'
