import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../database/is-postgres.ts'

/**
 * Add the names of pictures to the products of a copy. `picture-filling.ts` names the pictures of existing products later, because
 * this transaction locks the table. Never change it: it is part of a released migration.
 */
export async function addPictureHashes(database: Kysely<unknown>): Promise<void> {
  // Other processes may run the migration of a server at the same time.
  const ifNotExists = isPostgres(database) ? sql`if not exists` : sql``
  await sql`alter table products add column ${ifNotExists} picture_hash text`.execute(database)
  // It also finds products whose picture has no name yet.
  await sql`create index ${ifNotExists} products_by_picture on products (picture_hash)
    where images <> '[]'`.execute(database)
}
