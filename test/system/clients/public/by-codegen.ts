import { ApiError, DataService, FramesService, OpenAPI } from './made/codegen'
import type { Visit } from './visit'

export const visit: Visit = async ({ baseUrl, channel, gtin }) => {
  OpenAPI.BASE = baseUrl
  const box = await DataService.getWhereToBuy({ channel, gtin })
  if (box.state !== 'shown') throw new Error(box.reason)
  const hidden = await DataService.getWhereToBuy({ channel, gtin, merchant: ['nobody', 'no one'] })
  const deals = await DataService.getDeals({ channel, limit: 2, sort: 'price' })
  if (deals.state !== 'shown') throw new Error(deals.reason)
  const gtins = [gtin, ...deals.deals.slice(0, 1).map((deal) => deal.gtin)]
  const picks = await DataService.getPicks({ channel, gtins, label: ['Best overall', ''] })
  if (picks.state !== 'shown') throw new Error(picks.reason)
  const url = `${baseUrl}/embeds/${channel}/where-to-buy/${gtin}`
  const oembed = await FramesService.getOembed({ url })
  return {
    box: {
      title: box.product.title,
      merchants: [...box.offers, ...box.moreOffers].map(({ merchant }) => merchant.name),
      hasPrices: box.offers.every(({ price }) => price !== null && Number(price.amount) > 0),
    },
    hidden: hidden.state === 'hidden' ? hidden.reason : '',
    picks: picks.products.map((product) => product.gtin),
    discounts: deals.deals.map(({ offer }) => offer.price?.reference?.discountPercent ?? 0),
    hasNextPage: deals.nextPage !== null,
    unknown: await findFailure(DataService.getWhereToBuy({ channel: UNKNOWN_CHANNEL, gtin })),
    oembedType: typeof oembed === 'object' ? oembed.type : '',
  }
}

const UNKNOWN_CHANNEL = '952a0000-0000-4000-8000-0000000000ff'

async function findFailure(call: Promise<unknown>): Promise<[number, string]> {
  try {
    await call
    return [200, '']
  } catch (error) {
    if (error instanceof ApiError) return [error.status, (error.body as { state: string }).state]
    throw error
  }
}
