import type { Generated, Kysely } from 'kysely'
import type { ChannelKind } from '../../catalog/contract.ts'

/** Value of `feed_id` in sample data, which belongs to no feed. */
export const SAMPLE_FEED_ID = 0

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
  /** Sources of offers (ADR 0028). Values after `created_at_ms` describe the last successful run. */
  feeds: {
    id: Generated<number>
    name: string
    organization_id: string
    /** `null` when the channel was removed: the feed cannot run. */
    channel_id: string | null
    /** An address with `${NAME}` for secrets; it may contain secrets itself. `null`: the feed is imported by a command. */
    url: string | null
    /** Path of a file with request headers. */
    header_file: string | null
    format: string | null
    /** A column map as JSON. */
    map: string | null
    /** Names that replace those of the feed. */
    network: string | null
    merchant: string | null
    /** Of prices that name none. */
    currency: string | null
    /** Decimal sign of prices. */
    decimal: string | null
    encoding: string | null
    /** `null`: no schedule. */
    every_seconds: number | null
    max_removed_percent: number
    created_at_ms: number
    fetched_at_ms: number | null
    /** Validators of the response. */
    etag: string | null
    last_modified: string | null
    /** Hashes of the file, and of everything else that determines what an import writes. */
    content_digest: string | null
    settings_digest: string | null
    /** Whether the file ended with a line end: one that does not any more is cut. `null`: unknown. */
    is_line_ended: number | null
    row_count: number
    product_count: number
    offer_count: number
    rejected_count: number
    removed_count: number
    /** Rows without a usable offer. */
    rejected_row_count: number
    /** The most frequent reasons as JSON: `[["gtin: there is no gtin", 12]]`. */
    top_reasons: string | null
    rejects_path: string | null
  }
  /** Shops of a feed, by network channel and kind of link. `import_id`: the import that wrote the row last. */
  feed_shops: {
    feed_id: number
    network_id: number
    merchant_id: number
    network_channel_id: number
    is_page: number
    import_id: number | null
  }
  /** What a feed says about a product. */
  products: {
    gtin: string
    feed_id: number
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
    feed_id: number
    network_id: number
    merchant_id: number
    /** The network channel for which the feed was imported; 0 in sample data. */
    network_channel_id: number
    /** 1: `url` is the shop's page, and the network's link template makes links for every channel. 0: a tracking link. */
    is_page: number
    currency: string
    /** A number derived from `url`. It distinguishes several offers of one shop for one product. */
    variant: number
    price: string
    old_price: string | null
    availability: string
    url: string
    /** Limits of the sale: see `SalePeriod`. Both are `null` when the prices have no dates. */
    sale_starts_ms: number | null
    sale_ends_ms: number | null
    /** When the price was checked according to the feed; `null`: when the feed was fetched. */
    checked_ms: number | null
    /** The import that wrote the row last; `null` for sample data. */
    import_id: number | null
  }
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
  /** The last attempt to run a feed, and who runs it now. Not in the catalog, which an import locks. */
  feed_attempts: {
    feed_id: number
    /** When the last attempt began; `null`: none yet. */
    attempted_at_ms: number | null
    /** Failed attempts since the last success, and the last failure. */
    failure_count: number
    error_code: string | null
    error: string | null
    /** Process that runs the feed, until the lease ends. */
    lease_owner: string | null
    lease_until_ms: number
    /** When the server of the feed may be called again, as it asked; `null`: it did not ask. */
    retry_at_ms: number | null
  }
}
