import type { Kysely } from 'kysely'
import type { CatalogTables } from './schema.ts'

/** An affiliate network. Without a template it has only offers that come with links of their own. */
export type Network = Readonly<{ id: number; name: string; linkTemplate: string | null }>

/** All networks, by name. */
export async function fetchNetworks(database: Kysely<CatalogTables>): Promise<readonly Network[]> {
  const rows = await database.selectFrom('networks').selectAll().orderBy('name').execute()
  return rows.map((row) => ({ id: row.id, name: row.name, linkTemplate: row.link_template }))
}

/** The network of exactly this name. */
export async function findNetwork(
  database: Kysely<CatalogTables>,
  name: string,
): Promise<Network | undefined> {
  const row = await database.selectFrom('networks').selectAll().where('name', '=', name).executeTakeFirst()
  return row && { id: row.id, name: row.name, linkTemplate: row.link_template }
}

/** Makes a network and answers its number. */
export async function insertNetwork(
  database: Kysely<CatalogTables>,
  network: Omit<Network, 'id'>,
): Promise<number> {
  const row = await database
    .insertInto('networks')
    .values({ name: network.name, link_template: network.linkTemplate })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Changes a network; what is absent stays. Links are made while answering: a new template holds at once. */
export async function updateNetwork(
  database: Kysely<CatalogTables>,
  id: number,
  change: Partial<Omit<Network, 'id'>>,
): Promise<void> {
  await database
    .updateTable('networks')
    .set({
      ...(change.name !== undefined && { name: change.name }),
      ...(change.linkTemplate !== undefined && { link_template: change.linkTemplate }),
    })
    .where('id', '=', id)
    .execute()
}

/**
 * Removes a network with its network channels, their approvals, and what it calls merchants. Call `removeNetworkOffers`
 * before it: a network that gets the same number later must not find offers under it.
 */
export async function removeNetwork(database: Kysely<CatalogTables>, id: number): Promise<void> {
  await database.deleteFrom('networks').where('id', '=', id).execute()
}
