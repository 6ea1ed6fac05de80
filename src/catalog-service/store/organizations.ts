import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { updateRow } from '../../database/dialect.ts'
import type { Organization } from './catalog-store.ts'
import type { Catalog } from './schema.ts'

export type NamedOrganization = Organization & Readonly<{ name: string; createdAtMs: number }>

export async function findDefaultOrganization(database: Catalog): Promise<Organization | undefined> {
  const { rows } = await sql<Organization>`
    select id, daily_limit as "dailyLimit" from organizations order by created_at_ms, id limit 1`.execute(
    database,
  )
  return rows[0]
}

export async function getOrCreateOrganizationId(database: Catalog, nowMs: number): Promise<string> {
  const existing = await findDefaultOrganization(database)
  if (existing !== undefined) return existing.id
  return insertOrganization(database, { name: 'My organization', dailyLimit: null, createdAtMs: nowMs })
}

/** Return every organization, oldest first. An embedded service uses the first. */
export async function fetchOrganizations(database: Catalog): Promise<readonly NamedOrganization[]> {
  const { rows } = await sql<NamedOrganization>`
    select id, name, daily_limit as "dailyLimit", created_at_ms as "createdAtMs" from organizations
    order by created_at_ms, id`.execute(database)
  return rows
}

export async function insertOrganization(
  database: Catalog,
  { name, dailyLimit, createdAtMs }: Omit<NamedOrganization, 'id'>,
): Promise<string> {
  const id = randomUUID()
  await sql`
    insert into organizations (id, name, daily_limit, created_at_ms)
    values (${id}, ${name}, ${dailyLimit}, ${createdAtMs})`.execute(database)
  return id
}

/** Change an organization; absent values stay. A new limit takes effect with the next request. */
export async function updateOrganization(
  database: Catalog,
  id: string,
  { name, dailyLimit }: Readonly<{ name?: string; dailyLimit?: number | null }>,
): Promise<void> {
  await updateRow(database, 'organizations', id, { name, daily_limit: dailyLimit })
}

export async function countOrganizationRecords(database: Catalog, organizationId: string) {
  const { rows } = await sql<{ keys: number; channels: number; networkChannels: number }>`
    select (select count(*) from api_keys where organization_id = o.id) as keys,
      (select count(*) from channels where organization_id = o.id) as channels,
      (select count(*) from network_channels where organization_id = o.id) as "networkChannels"
    from organizations o where o.id = ${organizationId}`.execute(database)
  return rows[0] ?? { keys: 0, channels: 0, networkChannels: 0 }
}
