import type { LeftTables, MovedTable } from '../../database/move-tables.ts'

/** The tables of the catalog that `vitrine move` copies: all that is not only work of a running import. */
export const MOVED_CATALOG_TABLES: readonly MovedTable[] = [
  // First: the id of the catalog, to which the stored copy belongs.
  { name: 'meta', key: ['key'], isReplaced: true },
  { name: 'organizations', key: ['id'] },
  { name: 'api_keys', key: ['id'] },
  { name: 'channels', key: ['id'] },
  { name: 'networks', key: ['id'], hasGeneratedId: true },
  { name: 'network_channels', key: ['id'], hasGeneratedId: true },
  { name: 'merchants', key: ['id'], hasGeneratedId: true },
  { name: 'network_merchants', key: ['network_id', 'merchant_id'] },
  { name: 'approvals', key: ['network_channel_id', 'merchant_id'] },
  { name: 'feeds', key: ['id'], hasGeneratedId: true },
  {
    name: 'feed_shops',
    key: ['feed_id', 'network_id', 'merchant_id', 'network_channel_id', 'is_page'],
  },
  // With the digests in `feeds`, a feed that has not changed is not written again: its offers must be there.
  { name: 'products', key: ['gtin', 'feed_id'] },
  { name: 'offers', key: ['gtin', 'feed_id', 'network_id', 'merchant_id', 'currency', 'variant'] },
]

/** In SQLite these tables have their own file. */
export const MOVED_USAGE_TABLES: readonly MovedTable[] = [
  { name: 'usage', key: ['organization_id', 'day'] },
  { name: 'key_uses', key: ['key_id'] },
  {
    name: 'feed_attempts',
    key: ['feed_id'],
    select: `select feed_id, attempted_at_ms, failure_count, error_code, error, retry_at_ms, 0 as lease_until_ms
      from feed_attempts`,
  },
]

const IMPORT_WORK = 'work of a running import'

export const LEFT_CATALOG_TABLES: LeftTables = {
  unchanged_products: IMPORT_WORK,
  touched_gtins: IMPORT_WORK,
  write_lock: 'lock of PostgreSQL',
}
