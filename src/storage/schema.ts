import type { Generated } from 'kysely'

/** One row for each catalog address and channel: a copy belongs to both. */
export type CopiesTable = {
  id: Generated<number>
  catalog: string
  channel_id: string
  /** The walk that readers see; 0 before the first complete one. */
  current_walk: number
  /** The walk that is being written; equal to `current_walk` when none is. */
  running_walk: number
  /** When the current walk began and ended, Unix milliseconds; `null` before the first. */
  completed_started_at_ms: number | null
  completed_at_ms: number | null
  /** Products of the current walk, those with a deal, and what it left out, as JSON of reason and count. */
  product_count: number
  deal_count: number
  /** The currency that most deals of the current walk have; `null` without any. */
  deal_currency: string | null
  drops: string
  /** Were most offers of the current walk malformed? */
  is_malformed: Generated<number>
  /**
   * A walk that was held, instead of becoming the current one: why, when the first of those that agree began, when the last one
   * began, Unix milliseconds, and how many products that one found. `null`: none is held.
   */
  held_reason: Generated<string | null>
  held_since_ms: Generated<number | null>
  held_started_at_ms: Generated<number | null>
  held_product_count: Generated<number | null>
  /** When the running or last walk began, and why the last one broke; an error code. */
  started_at_ms: number | null
  failure: string | null
  failed_at_ms: number | null
  /** Who walks, and until when nobody else may. */
  lease_owner: string | null
  lease_until_ms: number
  /** Grows by one each time that another one takes the lease: what its former holder still writes is told by it. */
  lease_fence: number
}

/** The channels of a catalog as last listed. */
export type ChannelsTable = {
  catalog: string
  channel_id: string
  position: number
  name: string
  kind: string
  url: string | null
  /** When the channel was first missing in a list; `null` while it is listed. */
  gone_at_ms: number | null
}

/** When the list of channels was last fetched; `held_since_ms`: since when the catalog lists no channels, and is not believed. */
export type ChannelListsTable = { catalog: string; as_of_ms: number; held_since_ms: Generated<number | null> }

/** A page of the current or running walk: products in (`after_gtin`, `until_gtin`] are at least as fresh as it. */
export type WalkPagesTable = {
  copy_id: number
  walk: number
  after_gtin: string
  until_gtin: string
  as_of_ms: number
  /** `null` on the last page. */
  next_cursor: string | null
  product_count: number
  drops: string
}

/** One version of a product. */
export type ProductsTable = {
  id: Generated<number>
  copy_id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  /** Of all that is shown: equal ones show the same (`rows.ts`). */
  digest: string
  title: string
  brand: string | null
  /** Title and brand without case and accents. */
  search_text: string
  /** JSON list of addresses. */
  images: string
  /** JSON list of offers. */
  offers: string
  /** How many of its offers were left out, as JSON of reason and count; `null`: none. */
  drops: string | null
  as_of_ms: number
  /** On PostgreSQL: the words of `search_text`; SQLite has a table of them. */
  words?: string
}

/** An offer on sale, ready for grids; it lives and ends with its product's row. */
export type DealsTable = {
  id: Generated<number>
  product_id: number
  copy_id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  /** Its place among the product's offers, which are in the order of merchants: the last word between equals. */
  offer_index: number
  /** The offer itself, as JSON: a card needs no other. */
  offer: string
  /** network, merchant and currency: the same offer over time. */
  offer_key: string
  currency: string
  /** Merchant's name without case. */
  merchant_key: string
  brand_key: string
  search_text: string
  is_in_stock: number
  /** The product's best deal in its currency, among all offers and among those in stock. */
  is_best: number
  is_best_in_stock: number
  discount_percent: number
  ratio_key: string
  price_key: string
  saving_key: string
  /** When this offer was first seen on sale, Unix milliseconds. */
  first_seen_ms: number
}

/** When an offer of a product that is absent now was first seen on sale: the product may come back. */
export type LapsedDealsTable = {
  copy_id: number
  gtin: string
  offer_key: string
  first_seen_ms: number
  lapsed_at_ms: number
}

/** A remembered "no shop sells it". */
export type AbsencesTable = { copy_id: number; gtin: string; as_of_ms: number }

/** What is known of a catalog's daily limit (catalog/quota.ts says what the columns mean). */
export type QuotasTable = {
  catalog: string
  limited_until_ms: number
  pause_count: number
  limited_at_ms: number
  learned_calls: number | null
}

/** Calls of a catalog on a UTC day, in days since 1970. */
export type QuotaDaysTable = {
  catalog: string
  day: number
  walk: number
  refresh: number
  lookup: number
}

/** First look-ups of a catalog in a minute, in minutes since 1970. */
export type QuotaMinutesTable = { catalog: string; minute: number; lookups: number }

/** Who asks the catalog for a product, and until when nobody else does. */
export type LookupClaimsTable = {
  catalog: string
  channel_id: string
  gtin: string
  owner: string
  until_ms: number
}

/** How far the index of words is filled; no row: wholly. Products below the row are still to come. */
export type SearchBacklogTable = { below_id: number }

/** A row in it: the transaction under way puts the words of its new products into the index by itself. Nobody else sees one. */
export type HeldWordsTable = { held: number }

/** The stored copy's tables. */
export type CopyTables = {
  copies: CopiesTable
  channels: ChannelsTable
  channel_lists: ChannelListsTable
  walk_pages: WalkPagesTable
  products: ProductsTable
  deals: DealsTable
  lapsed_deals: LapsedDealsTable
  absences: AbsencesTable
  quotas: QuotasTable
  quota_days: QuotaDaysTable
  quota_minutes: QuotaMinutesTable
  lookup_claims: LookupClaimsTable
  search_backlog: SearchBacklogTable
  held_words: HeldWordsTable
}
