import { createAtHand } from './at-hand.ts'
import type { CatalogReads } from './catalog-store.ts'
import { fetchChannels } from './channels.ts'
import { fetchProductPage, findVisibleProduct } from './products.ts'
import type { SqliteCatalogStore } from './open-sqlite.ts'

/** What answers requests from a file: everything at once, but for the list of channels, which is asked for rarely. */
export function createSqliteReads(store: SqliteCatalogStore): CatalogReads {
  const atHand = createAtHand(store)
  const { read } = store
  return {
    findKeyHolder: atHand.findKeyHolder,
    findFirstCaller() {
      const organization = atHand.findFirstOrganization()
      return organization && { organization, keyId: null, state: '' }
    },
    fetchChannels: (organizationId) => fetchChannels(store, organizationId),
    findProduct({ organizationId, channelId }, gtin) {
      const view = atHand.findView(organizationId, channelId)
      return view && (findVisibleProduct(read, view, gtin) ?? null)
    },
    fetchPage({ organizationId, channelId }, query) {
      const view = atHand.findView(organizationId, channelId)
      return view && fetchProductPage(read, { view, ...query })
    },
  }
}
