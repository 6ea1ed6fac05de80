import createClient from 'openapi-fetch'
import type { components, paths } from './made/openapi-typescript'
import type { Visit } from './visit'

type Product = components['schemas']['Product']

export const visit: Visit = async ({ baseUrl, key, gtin, missingGtin }) => {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } })
  const channels = await client.GET('/v0/channels')
  const items = channels.data?.items ?? []
  const channelId = items[0]?.id ?? ''

  const products: Product[] = []
  let pages = 0
  let cursor: string | null = null
  do {
    const query: { limit: number; cursor?: string } = cursor === null ? { limit: 2 } : { limit: 2, cursor }
    const params = { path: { channelId }, query }
    const page = await client.GET('/v0/channels/{channelId}/products', { params })
    if (page.error !== undefined) throw new Error(page.error.error)
    products.push(...page.data.items)
    cursor = page.data.next_cursor
    pages += 1
  } while (cursor !== null)

  const path = '/v0/channels/{channelId}/products/{gtin}'
  const found = await client.GET(path, { params: { path: { channelId, gtin } } })
  const missing = await client.GET(path, { params: { path: { channelId, gtin: missingGtin } } })
  const stranger = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer wrong' } })
  const refused = await stranger.GET('/v0/channels')
  return {
    channelNames: items.map(({ name }) => name),
    gtins: products.map((product) => product.gtin),
    pages,
    merchants: (found.data?.offers ?? []).map(({ merchant }) => merchant.name),
    brand: found.data?.brand,
    missing: missing.response.status,
    refused: refused.response.status,
  }
}
