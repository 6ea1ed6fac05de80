import { randomUUID } from 'node:crypto'
import type { Organization } from './catalog-store.ts'
import type { Catalog } from './schema.ts'

export type NamedOrganization = Organization & Readonly<{ name: string; createdAtMs: number }>

export async function findFirstOrganization(database: Catalog): Promise<Organization | undefined> {
  return database
    .selectFrom('organizations')
    .select(['id', 'daily_limit as dailyLimit'])
    .orderBy('created_at_ms')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

export async function getOrMakeOrganizationId(database: Catalog, nowMs: number): Promise<string> {
  const known = await findFirstOrganization(database)
  if (known !== undefined) return known.id
  return insertOrganization(database, { name: 'My organization', dailyLimit: null, createdAtMs: nowMs })
}

/** Return every organization, oldest first: the first is the one that an embedded service shows. */
export async function fetchOrganizations(database: Catalog): Promise<readonly NamedOrganization[]> {
  return database
    .selectFrom('organizations')
    .select(['id', 'name', 'daily_limit as dailyLimit', 'created_at_ms as createdAtMs'])
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute()
}

export async function insertOrganization(
  database: Catalog,
  { name, dailyLimit, createdAtMs }: Omit<NamedOrganization, 'id'>,
): Promise<string> {
  const id = randomUUID()
  const row = { id, name, daily_limit: dailyLimit, created_at_ms: createdAtMs }
  await database.insertInto('organizations').values(row).execute()
  return id
}

/** Change an organization; what is absent stays. A new limit holds from the next request on. */
export async function updateOrganization(
  database: Catalog,
  id: string,
  { name, dailyLimit }: Readonly<{ name?: string; dailyLimit?: number | null }>,
): Promise<void> {
  const change = { name, daily_limit: dailyLimit }
  await database.updateTable('organizations').set(change).where('id', '=', id).execute()
}

export type Belongings = Readonly<{ keys: number; channels: number; networkChannels: number }>

export async function countBelongings(database: Catalog, organizationId: string): Promise<Belongings> {
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
 * Remove an organization with its keys, channels, network channels and their approvals. Call `removeOrganizationOffers`
 * before it: a network channel that gets the same number later must not find offers under it.
 */
export async function removeOrganization(database: Catalog, id: string): Promise<void> {
  await database.deleteFrom('organizations').where('id', '=', id).execute()
}
