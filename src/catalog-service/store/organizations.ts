import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { CatalogTables } from './schema.ts'

/** Whose key it is, and how many requests a UTC day its plan allows (`null`: no limit). */
export type Organization = Readonly<{ id: string; dailyLimit: number | null }>

/** An organization as its owner sees it. */
export type NamedOrganization = Organization & Readonly<{ name: string; createdAtMs: number }>

/** What of an organization is to be different; what is absent stays. */
export type OrganizationChange = Readonly<{ name?: string; dailyLimit?: number | null }>

/** The oldest organization; `undefined` in a catalog without any. */
export async function findFirstOrganization(
  database: Kysely<CatalogTables>,
): Promise<Organization | undefined> {
  const row = await database
    .selectFrom('organizations')
    .select(['id', 'daily_limit'])
    .orderBy('created_at_ms')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : { id: row.id, dailyLimit: row.daily_limit }
}

/** The id of the oldest organization, which is made when there is none. */
export async function getOrMakeOrganizationId(
  database: Kysely<CatalogTables>,
  nowMs: number,
): Promise<string> {
  const known = await findFirstOrganization(database)
  if (known !== undefined) return known.id
  return insertOrganization(database, { name: 'My organization', dailyLimit: null, createdAtMs: nowMs })
}

/** Every organization, oldest first: the first is the one that an embedded service shows. */
export async function fetchOrganizations(
  database: Kysely<CatalogTables>,
): Promise<readonly NamedOrganization[]> {
  const rows = await database
    .selectFrom('organizations')
    .selectAll()
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    dailyLimit: row.daily_limit,
    createdAtMs: row.created_at_ms,
  }))
}

/** Makes an organization and answers its id. */
export async function insertOrganization(
  database: Kysely<CatalogTables>,
  made: Omit<NamedOrganization, 'id'>,
): Promise<string> {
  const id = randomUUID()
  await database
    .insertInto('organizations')
    .values({ id, name: made.name, daily_limit: made.dailyLimit, created_at_ms: made.createdAtMs })
    .execute()
  return id
}

/** Changes an organization; a new limit holds from its next request on. */
export async function updateOrganization(
  database: Kysely<CatalogTables>,
  id: string,
  change: OrganizationChange,
): Promise<void> {
  await database
    .updateTable('organizations')
    .set({
      ...(change.name !== undefined && { name: change.name }),
      ...(change.dailyLimit !== undefined && { daily_limit: change.dailyLimit }),
    })
    .where('id', '=', id)
    .execute()
}

/** How much an organization has. */
export type Belongings = Readonly<{ keys: number; channels: number; networkChannels: number }>

/** What goes with an organization when it is removed. */
export async function countBelongings(
  database: Kysely<CatalogTables>,
  organizationId: string,
): Promise<Belongings> {
  const count = async (table: 'api_keys' | 'channels' | 'network_channels'): Promise<number> => {
    const row = await database
      .selectFrom(table)
      .select((build) => build.fn.countAll<number>().as('rows'))
      .where('organization_id', '=', organizationId)
      .executeTakeFirstOrThrow()
    return row.rows
  }
  return {
    keys: await count('api_keys'),
    channels: await count('channels'),
    networkChannels: await count('network_channels'),
  }
}

/**
 * Removes an organization with its keys, channels, network channels and their approvals. Call `removeOrganizationOffers`
 * before it: a network channel that gets the same number later must not find offers under it.
 */
export async function removeOrganization(database: Kysely<CatalogTables>, id: string): Promise<void> {
  await database.deleteFrom('organizations').where('id', '=', id).execute()
}
