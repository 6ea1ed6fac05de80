import type { Kysely, Migration } from 'kysely'

/** How many offers of a product were left out: an empty box says so. Products that were stored before have it from the next walk. */
export const droppedOffersMigration: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema.alterTable('products').addColumn('drops', 'text').execute()
  },
}
