import { ApiError, DefaultService, OpenAPI, type Product } from './made/codegen'
import type { Visit } from './visit'

export const visit: Visit = async ({ baseUrl, key, gtin, missingGtin }) => {
  OpenAPI.BASE = baseUrl
  OpenAPI.TOKEN = key
  const { items } = await DefaultService.listChannels({})
  const channelId = items[0]?.id ?? ''

  const products: Product[] = []
  let pages = 0
  let cursor: string | null = null
  do {
    const page = await DefaultService.listProducts(
      cursor === null ? { channelId, limit: 2 } : { channelId, limit: 2, cursor },
    )
    products.push(...page.items)
    cursor = page.next_cursor
    pages += 1
  } while (cursor !== null)

  const found = await DefaultService.getProduct({ channelId, gtin })
  const missing = await findStatus(DefaultService.getProduct({ channelId, gtin: missingGtin }))
  OpenAPI.TOKEN = 'wrong'
  return {
    channelNames: items.map(({ name }) => name),
    gtins: products.map((product) => product.gtin),
    pages,
    merchants: found.offers.map(({ merchant }) => merchant.name),
    brand: found.brand,
    missing,
    refused: await findStatus(DefaultService.listChannels({})),
  }
}

async function findStatus(call: Promise<unknown>): Promise<number> {
  try {
    await call
    return 200
  } catch (error) {
    if (error instanceof ApiError) return error.status
    throw error
  }
}
