import type { Generated, Kysely } from 'kysely'
import type { ChannelKind } from '../../catalog/contract.ts'

/** Value of `offers.network_channel_id` when `url` is the shop's own page. */
export const NO_NETWORK_CHANNEL = 0

export type CatalogTables = {
  /** `daily_limit`: requests per UTC day; `null`: no limit. */
  organizations: { id: string; name: string; daily_limit: number | null; created_at_ms: number }
  /** Only the first characters of a key and its SHA-256 (hex) are stored. */
  api_keys: {
    id: string
    organization_id: string
    name: string
    prefix: string
    hash: string
    created_at_ms: number
    revoked_at_ms: number | null
  }
  channels: {
    id: string
    organization_id: string
    name: string
    kind: ChannelKind
    url: string | null
    created_at_ms: number
  }
  /** `link_template` may contain `{url}`, `{merchant}` and `{publisher}`. */
  networks: { id: Generated<number>; name: string; link_template: string | null }
  /** An organization's account at a network, and the channel that it is assigned to. */
  network_channels: {
    id: Generated<number>
    organization_id: string
    network_id: number
    /** `{publisher}` of the network's link template; empty while unknown. */
    reference: string
    channel_id: string | null
  }
  /** Shops, by the exact name in their feed. */
  merchants: { id: Generated<number>; name: string }
  /** A network's id of a merchant: `{merchant}` of its link template. Without a row, the merchant's name is used. */
  network_merchants: { network_id: number; merchant_id: number; reference: string }
  /** Revoked rows stay, so that an import does not approve the merchant again. */
  approvals: { network_channel_id: number; merchant_id: number; revoked_at_ms: number | null }
  products: {
    gtin: string
    title: string
    brand: string | null
    images: string
    /** The import that wrote the row last; `null` for sample data. */
    import_id: number | null
    /** Digest of the only feed row of the product; an import skips an equal row (ADR 0024). `null`: several rows, or none. */
    source: string | null
  }
  offers: {
    gtin: string
    network_id: number
    merchant_id: number
    /** The network channel whose tracking link `url` is; `NO_NETWORK_CHANNEL`: `url` is a page, links come from the template. */
    network_channel_id: number
    currency: string
    /** A number derived from `url`. It distinguishes several offers of one shop for one product. */
    variant: number
    price: string
    old_price: string | null
    availability: string
    url: string
    /** The import that wrote the row last; `null` for sample data. */
    import_id: number | null
  }
  /** Shops of the current import, and the network channels in which it replaces their offers. Empty between imports. */
  import_shops: { network_id: number; merchant_id: number; network_channel_id: number }
  /** Products that the current import leaves as import `import_id` wrote them. Empty between imports. */
  unchanged_products: { gtin: string; import_id: number }
  /** Products from which the current transaction removes offers. Empty between transactions. */
  touched_gtins: { gtin: string }
  meta: { key: string; value: string }
}

export type Catalog = Kysely<CatalogTables>

export type UsageTables = {
  /** Requests of an organization on a UTC day (`2026-05-01`). */
  usage: { organization_id: string; day: string; requests: number }
  /** When a key was last used, to the minute. */
  key_uses: { key_id: string; used_at_ms: number }
}
