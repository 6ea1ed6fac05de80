import type { Generated } from 'kysely'

/** One row for each catalog address and channel. Times are Unix milliseconds, counts of drops JSON of reason and count. */
export type CopiesTable = {
  id: Generated<number>
  catalog: string
  channel_id: string
  /** The walk that readers see; 0 before the first complete one. */
  current_walk: number
  /** The walk that is being written; equal to `current_walk` when none is. */
  running_walk: number
  /** When the current walk began and ended; `null` before the first. */
  completed_started_at_ms: number | null
  completed_at_ms: number | null
  /** Of the current walk: products, those with a deal, and the currency of most deals. */
  product_count: number
  deal_count: number
  deal_currency: string | null
  drops: string
  /** 1: most offers of the current walk were malformed. */
  is_malformed: number
  /** A held walk: why, when the first and the last of those that agree began, and the products of the last; else `null`. */
  held_reason: string | null
  held_since_ms: number | null
  held_started_at_ms: number | null
  held_product_count: number | null
  /** When the running or last walk began, and the error code with which the last one broke. */
  started_at_ms: number | null
  failure: string | null
  failed_at_ms: number | null
  lease_owner: string | null
  lease_until_ms: number
  /** Grows with each new holder of the lease, so that a former holder's writes are refused. */
  lease_fence: number
}

/** The channels of a catalog as last listed. `gone_at_ms`: when one was first missing; `null` while it is listed. */
export type ChannelsTable = {
  catalog: string
  channel_id: string
  position: number
  name: string
  kind: string
  url: string | null
  gone_at_ms: number | null
}

/** When the list of channels was last fetched; `held_since_ms`: since when the catalog lists no channels, and is not believed. */
export type ChannelListsTable = { catalog: string; as_of_ms: number; held_since_ms: number | null }

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

/** One version of a product: visible from one walk on until another. */
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
  /** JSON lists of addresses and of offers. */
  images: string
  offers: string
  /** How many of its offers were left out; `null`: none. */
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
  /** Its place among the product's offers: decides between equals. */
  offer_index: number
  /** The offer as JSON: a card needs no other. */
  offer: string
  /** network, merchant and currency: the same offer over time. */
  offer_key: string
  currency: string
  /** Names without case. */
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
  /** When this offer was first seen on sale. */
  first_seen_ms: number
}

/** The tables that Kysely's query builder is used for; SQL names the others (`migrations/`). */
export type CopyTables = {
  copies: CopiesTable
  channels: ChannelsTable
  channel_lists: ChannelListsTable
  walk_pages: WalkPagesTable
  products: ProductsTable
  deals: DealsTable
  absences: { copy_id: number; gtin: string; as_of_ms: number }
  /** How far the index of words is filled; no row: wholly. Products below the row are still to come. */
  search_backlog: { below_id: number }
  /** A row in it: the transaction under way puts the words of its new products into the index by itself. */
  deferred_words: { is_deferred: number }
}
