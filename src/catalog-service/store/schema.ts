import type { Generated, Kysely } from 'kysely'
import type { ChannelKind } from '../../catalog/contract.ts'

/** In the place of a network channel: the offer's address is the shop's own page. */
export const NO_NETWORK_CHANNEL = 0

export type CatalogTables = {
  /** `daily_limit`: requests a UTC day; `null`: no limit. */
  organizations: { id: string; name: string; daily_limit: number | null; created_at_ms: number }
  /** Of a key, only its first characters and its SHA-256 (hex) are kept. */
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
  /** `link_template` has `{url}`, `{merchant}` and `{publisher}` in it. */
  networks: { id: Generated<number>; name: string; link_template: string | null }
  /** An organization's account at a network, and the channel that it is assigned to. */
  network_channels: {
    id: Generated<number>
    organization_id: string
    network_id: number
    /** `{publisher}` of the network's link template; empty while it is not known. */
    reference: string
    channel_id: string | null
  }
  /** Shops, by the exact name that their feed gives. */
  merchants: { id: Generated<number>; name: string }
  /** What a network calls a merchant: `{merchant}` of its link template. Without a row it is the merchant's name. */
  network_merchants: { network_id: number; merchant_id: number; reference: string }
  /** A revoked row stays, so that an import does not approve again. */
  approvals: { network_channel_id: number; merchant_id: number; revoked_at_ms: number | null }
  products: {
    gtin: string
    title: string
    brand: string | null
    images: string
    /** Which import wrote the row last; `null` for sample data. */
    import_id: number | null
    /** The feed row that alone made the product, by which an import skips it: ADR 0024. `null`: several did, or none. */
    source: string | null
  }
  /** Offers, in the order of their products. Prices are text and stay as they came. */
  offers: {
    gtin: string
    network_id: number
    merchant_id: number
    /**
     * The one network channel that `url` serves, as its own tracking link; `PAGE_OF_SHOP`: `url` is the shop's own page, and
     * every network channel makes its link of it.
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
  import_shops: { network_id: number; merchant_id: number; network_channel_id: number }
  /** Products that the import under way leaves as the import of that number wrote them. Empty between imports. */
  unchanged_products: { gtin: string; import_id: number }
  /** Products that the transaction under way takes offers from. Empty between transactions. */
  touched_gtins: { gtin: string }
  /** Single facts about the catalog; see meta.ts for the names. */
  meta: { key: string; value: string }
}

export type Catalog = Kysely<CatalogTables>

export type UsageTables = {
  /** Requests of an organization on a UTC day (`2026-05-01`). */
  usage: { organization_id: string; day: string; requests: number }
  /** When a key was last used, to the minute. */
  key_uses: { key_id: string; used_at_ms: number }
}
