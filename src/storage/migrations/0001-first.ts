import { type Kysely, type Migration, sql } from 'kysely'

/** The stored copy's first tables (ADR 0003). */
export const firstMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await createChannelTables(database)
    await createCopies(database)
    await createProducts(database)
    await createDeals(database)
  },
}

async function createChannelTables(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('channels')
    .addColumn('catalog', 'text', (column) => column.notNull())
    .addColumn('channel_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('url', 'text')
    .addColumn('gone_at_ms', 'bigint')
    .addPrimaryKeyConstraint('channels_pk', ['catalog', 'channel_id'])
    .execute()
  await database.schema
    .createTable('channel_lists')
    .addColumn('catalog', 'text', (column) => column.primaryKey())
    .addColumn('as_of_ms', 'bigint', (column) => column.notNull())
    .execute()
}

async function createCopies(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('copies')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('catalog', 'text', (column) => column.notNull())
    .addColumn('channel_id', 'text', (column) => column.notNull())
    .addColumn('current_walk', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('running_walk', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('completed_started_at_ms', 'bigint')
    .addColumn('completed_at_ms', 'bigint')
    .addColumn('product_count', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('deal_count', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('deal_currency', 'text')
    .addColumn('drops', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('started_at_ms', 'bigint')
    .addColumn('failure', 'text')
    .addColumn('failed_at_ms', 'bigint')
    .addColumn('lease_owner', 'text')
    .addColumn('lease_until_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .addUniqueConstraint('copies_of', ['catalog', 'channel_id'])
    .execute()
  await database.schema
    .createTable('walk_pages')
    .addColumn('copy_id', 'integer', (column) => column.notNull())
    .addColumn('walk', 'integer', (column) => column.notNull())
    .addColumn('after_gtin', 'text', (column) => column.notNull())
    .addColumn('until_gtin', 'text', (column) => column.notNull())
    .addColumn('as_of_ms', 'bigint', (column) => column.notNull())
    .addColumn('next_cursor', 'text')
    .addColumn('product_count', 'integer', (column) => column.notNull())
    .addColumn('drops', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('walk_pages_pk', ['copy_id', 'walk', 'after_gtin'])
    .execute()
}

async function createProducts(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('products')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('copy_id', 'integer', (column) => column.notNull())
    .addColumn('gtin', 'text', (column) => column.notNull())
    .addColumn('from_walk', 'integer', (column) => column.notNull())
    .addColumn('until_walk', 'integer')
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('brand', 'text')
    .addColumn('search_text', 'text', (column) => column.notNull())
    .addColumn('images', 'text', (column) => column.notNull())
    .addColumn('offers', 'text', (column) => column.notNull())
    .addColumn('as_of_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('products_version', ['copy_id', 'gtin', 'from_walk'])
    .execute()
  await database.schema
    .createIndex('products_ended')
    .on('products')
    .columns(['copy_id', 'until_walk'])
    .where(sql.ref('until_walk'), 'is not', null)
    .execute()
  await database.schema
    .createTable('absences')
    .addColumn('copy_id', 'integer', (column) => column.notNull())
    .addColumn('gtin', 'text', (column) => column.notNull())
    .addColumn('as_of_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('absences_pk', ['copy_id', 'gtin'])
    .execute()
}

async function createDeals(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('deals')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('product_id', 'integer', (column) => column.notNull())
    .addColumn('copy_id', 'integer', (column) => column.notNull())
    .addColumn('gtin', 'text', (column) => column.notNull())
    .addColumn('from_walk', 'integer', (column) => column.notNull())
    .addColumn('until_walk', 'integer')
    .addColumn('offer_index', 'integer', (column) => column.notNull())
    .addColumn('offer', 'text', (column) => column.notNull())
    .addColumn('offer_key', 'text', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('merchant_key', 'text', (column) => column.notNull())
    .addColumn('brand_key', 'text', (column) => column.notNull())
    .addColumn('search_text', 'text', (column) => column.notNull())
    .addColumn('is_in_stock', 'integer', (column) => column.notNull())
    .addColumn('is_best', 'integer', (column) => column.notNull())
    .addColumn('is_best_in_stock', 'integer', (column) => column.notNull())
    .addColumn('discount_percent', 'integer', (column) => column.notNull())
    .addColumn('ratio_key', 'text', (column) => column.notNull())
    .addColumn('price_key', 'text', (column) => column.notNull())
    .addColumn('saving_key', 'text', (column) => column.notNull())
    .addColumn('first_seen_ms', 'bigint', (column) => column.notNull())
    .execute()
  await createDealIndexes(database)
}

/** One index for each order of grids, so that a page is read from its start and not sorted. */
const DEAL_INDEXES: Readonly<Record<string, readonly string[]>> = {
  ratio: ['ratio_key', 'price_key', 'gtin'],
  saving: ['saving_key desc', 'price_key', 'gtin'],
  price: ['price_key', 'ratio_key', 'gtin'],
  newest: ['first_seen_ms desc', 'ratio_key', 'price_key', 'gtin'],
}

async function createDealIndexes(database: Kysely<unknown>): Promise<void> {
  await database.schema.createIndex('deals_of_product').on('deals').column('product_id').execute()
  for (const [order, columns] of Object.entries(DEAL_INDEXES)) {
    await database.schema
      .createIndex(`deals_by_${order}`)
      .on('deals')
      .columns(['copy_id', 'currency', ...columns])
      .execute()
  }
}
