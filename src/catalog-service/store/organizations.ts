import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { CatalogTables } from './schema.ts'

/** Whose key it is, and how many requests a UTC day its plan allows (`null`: no limit). */
export type Organization = Readonly<{ id: string; dailyLimit: number | null }>

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
  const id = randomUUID()
  await database
    .insertInto('organizations')
    .values({ id, name: 'My organization', daily_limit: null, created_at_ms: nowMs })
    .execute()
  return id
}
