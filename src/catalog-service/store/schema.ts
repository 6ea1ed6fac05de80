import type { Generated, Kysely } from 'kysely'
import type { ChannelKind } from '../../catalog/contract.ts'

/** The caller's company: keys, channels and the daily limit belong to it. */
type OrganizationsTable = {
  id: string
  name: string
  /** Requests a UTC day; `null`: no limit. */
  daily_limit: number | null
  created_at_ms: number
}

/** API keys: only their SHA-256 is kept, and the first characters to tell them apart. */
type ApiKeysTable = {
  id: string
  organization_id: string
  name: string
  prefix: string
  /** SHA-256 of the key, hex. */
  hash: string
  created_at_ms: number
  revoked_at_ms: number | null
}

/** Places where an organization publishes. */
type ChannelsTable = {
  id: string
  organization_id: string
  name: string
  kind: ChannelKind
  url: string | null
  created_at_ms: number
}

/** Affiliate networks. `link_template` knows `{url}`, `{merchant}` and `{publisher}`. */
type NetworksTable = { id: Generated<number>; name: string; link_template: string | null }

/** An organization's account at a network. `channel_id` is the channel that it is assigned to. */
type NetworkChannelsTable = {
  id: Generated<number>
  organization_id: string
  network_id: number
  /** What the network knows the publisher as: `{publisher}` of its link template; empty while nobody has said. */
  reference: string
  channel_id: string | null
}

/** Shops, by the exact name that their feed gives. */
type MerchantsTable = { id: Generated<number>; name: string }

/** What a network calls a merchant: `{merchant}` of its link template. Without a row it is the merchant's name. */
type NetworkMerchantsTable = { network_id: number; merchant_id: number; reference: string }

/** Which merchants a network channel may advertise. A revoked row stays, so that an import does not approve again. */
type ApprovalsTable = { network_channel_id: number; merchant_id: number; revoked_at_ms: number | null }

/** Products, by their padded GTIN. */
type ProductsTable = {
  gtin: string
  title: string
  brand: string | null
  /** JSON array of addresses. */
  images: string
  /** Which import wrote the row last; `null` for sample data. */
  import_id: number | null
  /** The feed row that alone made the product, by which an import skips it: docs/adr/0039. `null`: several did, or none. */
  source: string | null
}

/** In the place of a network channel: the offer's address is the shop's own page. */
export const PAGE_OF_SHOP = 0

/** Offers, in the order of their products. Prices are text and stay as they came. */
type OffersTable = {
  gtin: string
  network_id: number
  merchant_id: number
  /**
   * The one network channel that `url` serves, as its own tracking link; `PAGE_OF_SHOP`: `url` is the shop's own page, and every
   * network channel makes its link of it.
   */
  network_channel_id: number
  currency: string
  /** Tells offers of one shop for one product apart: a number made of `url`. */
  variant: number
  price: string
  old_price: string | null
  availability: string
  url: string
  /** Which import wrote the row last; `null` for sample data. */
  import_id: number | null
}

/** Shops of the import under way, and the network channels of which it replaces their offers. Empty between imports. */
type ImportShopsTable = { network_id: number; merchant_id: number; network_channel_id: number }

/** Products that the import under way leaves as the import of that number wrote them. Empty between imports. */
type UnchangedProductsTable = { gtin: string; import_id: number }

/** The tables of the catalog's database. */
export type CatalogTables = {
  organizations: OrganizationsTable
  api_keys: ApiKeysTable
  channels: ChannelsTable
  networks: NetworksTable
  network_channels: NetworkChannelsTable
  merchants: MerchantsTable
  network_merchants: NetworkMerchantsTable
  approvals: ApprovalsTable
  products: ProductsTable
  offers: OffersTable
  import_shops: ImportShopsTable
  unchanged_products: UnchangedProductsTable
  /** Products that the transaction under way takes offers from. */
  touched_gtins: { gtin: string }
  /** Single facts about the catalog; see meta.ts for the names. */
  meta: { key: string; value: string }
}

/** The catalog's tables, in a transaction or not. */
export type Catalog = Kysely<CatalogTables>

/** The tables of the usage database. */
export type UsageTables = {
  /** Requests of an organization on a UTC day (`2026-05-01`). */
  usage: { organization_id: string; day: string; requests: number }
  /** When a key was last used, to the minute. */
  key_uses: { key_id: string; used_at_ms: number }
}
