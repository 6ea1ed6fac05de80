import type { Generated } from 'kysely'

/** One row per catalog address and channel. Times are Unix milliseconds; `drops` is JSON with a count per reason. */
export type CopiesTable = {
  id: Generated<number>
  catalog: string
  channel_id: string
  /** The walk that readers see; 0 before the first complete one. */
  current_walk: number
  /** The walk that is being written; equal to `current_walk` when there is none. */
  running_walk: number
  /** When the current walk began and ended; `null` before the first one. */
  completed_started_at_ms: number | null
  completed_at_ms: number | null
  /** Of the current walk: products, products with a deal, and the currency of most deals. */
  product_count: number
  deal_count: number
  deal_currency: string | null
  /** 1 when any complete walk found products. */
  had_products: Generated<number>
  drops: string
  /** 1 when most offers of the current walk were malformed. */
  is_malformed: number
  /** The held walk, else `null`: reason, start of the first and last walk with this result, and products of the last. */
  held_reason: string | null
  held_since_ms: number | null
  held_started_at_ms: number | null
  held_product_count: number | null
  /** When the running or last walk began, and the error code if it failed. */
  started_at_ms: number | null
  failure: string | null
  failed_at_ms: number | null
  /** The error code of a call that the running walk retries; `null` when it does not. */
  retry_code: string | null
  /** Why the last walk failed, or the running one retries a call. */
  failure_reason: string | null
  lease_owner: string | null
  lease_until_ms: number
  /** Grows with each new owner of the lease, so that writes of a former owner are rejected. */
  lease_fence: number
}

/** The channels of a catalog. `gone_at_ms`: when a channel was first missing from the list; `null` while it is listed. */
export type ChannelsTable = {
  catalog: string
  channel_id: string
  position: number
  name: string
  kind: string
  url: string | null
  gone_at_ms: number | null
}

/** When the channel list was fetched. `held_since_ms`: since when the catalog returns an empty list, which is held. */
export type ChannelListsTable = { catalog: string; as_of_ms: number; held_since_ms: number | null }

/** A page of the current or running walk: products in (`after_gtin`, `until_gtin`] are at least as fresh as the page. */
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
  /** JSON: the merchants of the page. */
  merchants: string
  /** JSON: what the malformed entries of the page lack, by GTIN; `null` without any. */
  malformed: string | null
}

/** One version of a product, visible from `from_walk` until before `until_walk`. */
export type ProductsTable = {
  id: Generated<number>
  copy_id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  /** Hash of the visible content (`rows.ts`). */
  digest: string
  title: string
  brand: string | null
  /** Title and brand without case and accents. */
  search_text: string
  /** JSON arrays. */
  images: string
  offers: string
  /** Name of the first picture (`offers/pictures.ts`); `null` without a picture. */
  picture_hash: string | null
  /** JSON: when the prices of the offers were checked (`rows.ts`); `null` when the catalog gives no times. */
  checked_at: string | null
  /** Counts of dropped offers; `null` when there were none. */
  drops: string | null
  as_of_ms: number
  /** PostgreSQL only: the words of `search_text`. SQLite has an FTS5 table instead. */
  words?: string
}

/**
 * An offer on sale, prepared for grids. It belongs to one version of a product. An offer whose fall our own observation confirms
 * has a second row, with the reference price in place of the shop's former price.
 */
export type DealsTable = {
  id: Generated<number>
  product_id: number
  copy_id: number
  gtin: string
  /** 1 on the row with the reference price. */
  is_observed: number
  from_walk: number
  until_walk: number | null
  /** Position among the product's offers; breaks ties. */
  offer_index: number
  /** JSON. */
  offer: string
  /** Network, merchant and currency, which identify the offer over time. */
  offer_key: string
  currency: string
  /** Case-folded names. */
  merchant_key: string
  brand_key: string
  network_key: string
  search_text: string
  is_in_stock: number
  /** 1 for the product's best deal in its currency, among all offers and among offers in stock. */
  is_best: number
  is_best_in_stock: number
  discount_percent: number
  ratio_key: string
  price_key: string
  saving_key: string
  first_seen_ms: number
  /** From then on, grids do not show the deal. */
  sale_ends_ms: number | null
  /** Sorts by the observed fall of the price, largest first; `NO_FALL_KEY` without one. */
  drop_key: string
}

/** The changes of the prices of a product (`offers/price-history.ts`). */
export type PriceHistoriesTable = {
  copy_id: number
  gtin: string
  /** From this first kept day on, a change can be removed; `null` while all of them are needed. */
  due_day: number | null
  /** Of the last change. */
  last_day: number
  /** JSON: the changes of each merchant and currency (`price-history.ts`). */
  changes: string
}

/** Walks saw the products in (`after_gtin`, `until_gtin`] on `day`. An empty range only records that there was an observation. */
export type ObservedDaysTable = {
  copy_id: number
  day: number
  after_gtin: string
  until_gtin: string
  is_imported: number
}

/** How often widgets of a placement showed a product on a UTC day, had no offer, or could not be built. `sub`: empty without a sub-id. */
export type WidgetCountsTable = {
  copy_id: number
  day: number
  sub: string
  gtin: string
  shown: number
  hidden: number
  unavailable: number
}

export type ClickCountsTable = {
  copy_id: number
  day: number
  sub: string
  gtin: string
  merchant: string
  clicks: number
}

/** What is bounded of the counts of a day: different sub-ids, and rows with a sub-id. `new_`: of sub-ids without an earlier day. */
export type CountDaysTable = {
  copy_id: number
  day: number
  subs: number
  widget_rows: number
  click_rows: number
  new_subs: number
  new_widget_rows: number
  new_click_rows: number
}

/** Tables whose rows have a type here; `tables.ts` defines all tables. */
export type CopyTables = {
  copies: CopiesTable
  channels: ChannelsTable
  channel_lists: ChannelListsTable
  walk_pages: WalkPagesTable
  products: ProductsTable
  deals: DealsTable
  price_histories: PriceHistoriesTable
  observed_days: ObservedDaysTable
  widget_counts: WidgetCountsTable
  click_counts: ClickCountsTable
  count_days: CountDaysTable
  absences: { copy_id: number; gtin: string; as_of_ms: number }
  /** The search index lacks products with an id below `below_id`; it is complete when there is no row. */
  search_backlog: { below_id: number }
  /** While it has a row, the trigger skips new products: the transaction indexes them itself. */
  deferred_words: { is_deferred: number }
}
