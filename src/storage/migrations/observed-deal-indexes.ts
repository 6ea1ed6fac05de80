/**
 * Indexes of the confirmed deals, for both engines. They are few, so one index per sort order and filter is enough. Never change
 * them: they are part of released migrations.
 */
export const OBSERVED_DEAL_INDEXES: readonly string[] = Object.entries({
  observed_deals_of_product: 'product_id, sale_ends_ms',
  observed_deals_of_gtin: 'copy_id, gtin',
  observed_deals_by_discount: 'copy_id, currency, ratio_key, price_key, gtin',
  observed_deals_by_saving: 'copy_id, currency, saving_key desc, price_key, gtin',
  observed_deals_by_price: 'copy_id, currency, price_key, ratio_key, gtin',
  observed_deals_by_newest: 'copy_id, currency, first_seen_ms desc, ratio_key, price_key, gtin',
  observed_deals_by_brand: 'copy_id, currency, brand_key',
  observed_deals_by_merchant: 'copy_id, currency, merchant_key',
}).map(([name, columns]) => `create index if not exists ${name} on observed_deals (${columns})`)

/** Added by a later migration. */
export const OBSERVED_NETWORK_INDEX = `create index if not exists observed_deals_by_network
  on observed_deals (copy_id, currency, network_key)`
