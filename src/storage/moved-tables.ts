import type { LeftTables, MovedTable } from '../database/move-tables.ts'

/** The tables of the stored copy that `vitrine move` copies: what no walk and no look-up brings back. */
export const MOVED_COPY_TABLES: readonly MovedTable[] = [
  // Only which channels there are: what a walk stores is in tables that stay.
  {
    name: 'copies',
    key: ['id'],
    select: 'select id, catalog, channel_id, had_products from copies',
    hasGeneratedId: true,
  },
  // Commands and the studio name channels by this list, which a server without a catalog cannot fetch.
  { name: 'channels', key: ['catalog', 'channel_id'] },
  { name: 'channel_lists', key: ['catalog'] },
  { name: 'price_changes', key: ['copy_id', 'gtin', 'merchant_key', 'currency', 'day'] },
  { name: 'observed_days', key: ['copy_id', 'day', 'after_gtin'] },
  { name: 'widget_counts', key: ['copy_id', 'day', 'sub', 'gtin'] },
  { name: 'click_counts', key: ['copy_id', 'day', 'sub', 'gtin', 'merchant'] },
  { name: 'count_days', key: ['copy_id', 'day'] },
  // When offers were first seen: the first walk takes it from here, as that of products that were absent.
  {
    name: 'lapsed_deals',
    key: ['copy_id', 'gtin', 'offer_key'],
    select: `select copy_id, gtin, offer_key, min(first_seen_ms) as first_seen_ms, max(lapsed_at_ms) as lapsed_at_ms
      from (select copy_id, gtin, offer_key, first_seen_ms, lapsed_at_ms from lapsed_deals
        union all select d.copy_id, d.gtin, d.offer_key, d.first_seen_ms, coalesce(c.completed_at_ms, d.first_seen_ms)
        from deals d join copies c on c.id = d.copy_id)
      group by copy_id, gtin, offer_key`,
    targetOrder: 'copy_id, gtin, offer_key collate "C"',
  },
  { name: 'product_states', key: ['copy_id', 'gtin'] },
  { name: 'feed_states', key: ['catalog', 'feed'] },
  { name: 'events', key: ['id'] },
  {
    name: 'event_deliveries',
    key: ['catalog'],
    select: `select catalog, failures, next_attempt_ms, delivered_at_ms, failure, failed_at_ms from event_deliveries`,
  },
  { name: 'quotas', key: ['catalog'], isReplaced: true },
  { name: 'quota_days', key: ['catalog', 'day'], isReplaced: true },
]

const WALKED = 'the first walk reads it from the catalog'

export const LEFT_COPY_TABLES: LeftTables = {
  walk_pages: WALKED,
  products: WALKED,
  deals: WALKED,
  absences: WALKED,
  quota_minutes: 'counts of the last hour',
  lookup_leases: 'work of running servers',
  search_backlog: 'index of SQLite',
  deferred_words: 'index of SQLite',
  product_words: 'index of SQLite',
}
